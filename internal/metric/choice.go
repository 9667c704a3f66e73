package metric

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Choice selects the series of collectors that are served. A nil Choice selects all series.
type Choice struct{ allow, deny []rule }

// rule is one item of a list, such as avax_peer_*, avax_node_peers{node=alpha*} or avax_node_info{git_commit}. Names and
// values are patterns: * matches any text without a slash, ? any one character.
type rule struct {
	family, label, value string
	valued               bool // whether the label must have the value
}

var ruleForm = regexp.MustCompile(`^([a-zA-Z0-9_:*?]+)(?:\{([a-zA-Z_][a-zA-Z0-9_]*)(?:=([^{}]*))?\})?$`)

// parseRules parses a comma-separated list.
func parseRules(list string, known []*Family) (rules []rule, errs []error) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		m := ruleForm.FindStringSubmatch(item)
		if m == nil {
			errs = append(errs, fmt.Errorf("%q: write a family such as avax_node_peers, with * for any text; to select only a part, append {label} or {label=value}", item))
			continue
		}
		r := rule{m[1], m[2], strings.Trim(m[3], `"`), strings.Contains(item, "=")}
		if _, err := path.Match(r.value, ""); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w: [ and \\ have a special meaning in a value: write ? instead", item, err))
			continue
		}
		switch {
		case !slices.ContainsFunc(known, func(f *Family) bool { return matches(r.family, f.Name) }):
			errs = append(errs, fmt.Errorf("%q: no collector has such a family: docs/metrics.md lists all families", item))
		case r.label != "" && !slices.ContainsFunc(known, r.concerns):
			errs = append(errs, fmt.Errorf("%q: the family has no label %s: docs/metrics.md lists its labels", item, r.label))
		}
		rules = append(rules, r)
	}
	return rules, errs
}

// ParseAllow parses the list of series to serve. An empty list means all. Each error contains a remedy.
func (c *Choice) ParseAllow(list string, known []*Family) []error {
	rules, errs := parseRules(list, known)
	for _, r := range rules {
		if r.label != "" && !r.valued {
			errs = append(errs, fmt.Errorf("%s{%s}: a label without a value is valid only in AVAX_METRICS_DENY: write {%[2]s=value}", r.family, r.label))
		}
	}
	c.allow = rules
	return errs
}

// ParseDeny parses the list of series that are not served, even if they are allowed.
func (c *Choice) ParseDeny(list string, known []*Family) (errs []error) {
	c.deny, errs = parseRules(list, known)
	return errs
}

// matches reports whether a text matches the pattern.
func matches(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// concerns reports whether the rule applies to the family.
func (r rule) concerns(f *Family) bool {
	return matches(r.family, f.Name) && (r.label == "" || slices.Contains(f.Labels, r.label))
}

// of returns the part of a family that the choice exports.
func (c *Choice) of(f *Family) *served {
	s := &served{as: f}
	if c == nil {
		return s
	}
	concerns := func(rules []rule) (found []rule) {
		return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return !r.concerns(f) })
	}
	allow := concerns(c.allow)
	s.none = len(c.allow) > 0 && len(allow) == 0
	if !slices.ContainsFunc(allow, func(r rule) bool { return r.label == "" }) {
		for _, r := range allow {
			s.only = append(s.only, match{slices.Index(f.Labels, r.label), r.value})
		}
	}
	var dropped []string
	for _, r := range concerns(c.deny) {
		switch {
		case r.label == "":
			s.none = true
		case r.valued:
			s.not = append(s.not, match{slices.Index(f.Labels, r.label), r.value})
		default:
			dropped = append(dropped, r.label)
		}
	}
	if len(dropped) > 0 {
		reduced := *f
		reduced.Labels = nil
		s.as = &reduced
		for i, label := range f.Labels {
			if !slices.Contains(dropped, label) {
				s.as.Labels = append(s.as.Labels, label)
				s.kept = append(s.kept, i)
			}
		}
		s.drops = true
	}
	return s
}

// served is the exported part of one family.
type served struct {
	as        *Family // with the remaining labels
	none      bool    // whether no series is exported
	drops     bool    // whether labels are dropped
	kept      []int   // positions of the remaining labels
	only, not []match // export only series that match one of only, and none of not
}

// match holds the position of a label and the pattern for its value.
type match struct {
	label int
	value string
}

func (m match) of(labels []string) bool { return matches(m.value, labels[m.label]) }

// takes reports whether a series is exported.
func (s *served) takes(labels []string) bool {
	is := func(m match) bool { return m.of(labels) }
	return !s.none && (len(s.only) == 0 || slices.ContainsFunc(s.only, is)) && !slices.ContainsFunc(s.not, is)
}

// remaining returns the values of the remaining labels.
func (s *served) remaining(labels []string) []string {
	if !s.drops {
		return labels
	}
	values := make([]string, len(s.kept))
	for i, at := range s.kept {
		values[i] = labels[at]
	}
	return values
}

// ErrTooMany is the error of a run with more series than its limit.
var ErrTooMany = errors.New("too many series")
