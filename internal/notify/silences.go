package notify

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/silence/silencepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Silence suppresses the notifications of matching alerts until it ends.
type Silence struct {
	ID, By, Comment string
	Matches         string // matchers in amtool's syntax
	Starts, Ends    time.Time

	sets []labels.Matchers
}

// Mutes reports whether the silence is about an alert with these labels at this time.
func (s Silence) Mutes(of map[string]string, now time.Time) bool {
	if now.Before(s.Starts) || !now.Before(s.Ends) {
		return false
	}
	set := LabelSet(of)
	return slices.ContainsFunc(s.sets, func(m labels.Matchers) bool { return m.Matches(set) })
}

// Match is a label that an alert must have: with this value, or with a value that matches this regular expression as a whole.
type Match struct {
	Label, Value string
	Regex        bool
}

// String formats the match in amtool's syntax.
func (m Match) String() string {
	operator := "="
	if m.Regex {
		operator = "=~"
	}
	return m.Label + operator + strconv.Quote(m.Value)
}

// nodeLabels are the labels that say which node an alert is about: NodeMatches and NodesOf decide by them.
var nodeLabels = []struct {
	name   string
	isID   bool // its value is the node ID, else the configured name
	isPath bool // a chain may follow the name, such as alpha/C
}{{name: "node"}, {name: "node_id", isID: true}, {name: "upstream"}, {name: "target", isPath: true}}

// NodeMatches returns the labels that identify the alerts about a node, including alerts about calling it, and about its validators on the
// primary network and L1s. Such an alert has one of these labels. Name is the configured name, id the node ID. One of them may be empty. With
// regex, they are regular expressions of several nodes.
func NodeMatches(name, id string, regex bool) (sets [][]Match) {
	for _, l := range nodeLabels {
		m := Match{Label: l.name, Value: name, Regex: regex}
		switch {
		case l.isID:
			m.Value = id
		case name != "" && l.isPath && regex:
			m.Value = "(" + name + ")(/.*)?"
		case name != "" && l.isPath:
			m.Value, m.Regex = regexp.QuoteMeta(name)+"(/.*)?", true
		}
		if m.Value != "" {
			sets = append(sets, []Match{m})
		}
	}
	return sets
}

// NodesOf returns which nodes an alert with these labels is about: their configured names and node IDs.
func NodesOf(label func(name string) string) (found []string) {
	for _, l := range nodeLabels {
		value := label(l.name)
		if l.isPath {
			value, _, _ = strings.Cut(value, "/")
		}
		if value != "" {
			found = append(found, value)
		}
	}
	return found
}

// AlertWords returns the words that silence one alert on the page /alerts: all of its labels, but not those that are the same for all alerts of this
// process. These are the external labels and some others.
func AlertWords(of, external map[string]string) string {
	var words []string
	for _, label := range slices.Sorted(maps.Keys(of)) {
		value := of[label]
		if value != "" && external[label] != value && !slices.Contains([]string{"job", "instance", "pod"}, label) {
			words = append(words, label+"="+Quoted(value))
		}
	}
	return strings.Join(words, " ")
}

// Quoted returns a value in quotation marks if it has spaces or quotation marks.
func Quoted(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) {
		return strconv.Quote(value)
	}
	return value
}

// Silences returns active and pending silences, sorted by end.
func (n *Notifier) Silences(ctx context.Context) ([]Silence, error) {
	found, _, err := n.silences.Query(ctx, silence.QState(silence.SilenceStateActive, silence.SilenceStatePending))
	if err != nil {
		return nil, err
	}
	var all []Silence
	for _, s := range found {
		var sets []string
		var parsed []labels.Matchers
		for _, set := range s.MatcherSets {
			var matchers []string
			var one labels.Matchers
			for _, m := range set.Matchers {
				matchers = append(matchers, m.Name+operators[m.Type].String()+strconv.Quote(m.Pattern))
				matcher, err := labels.NewMatcher(operators[m.Type], m.Name, m.Pattern)
				if err != nil {
					return nil, err
				}
				one = append(one, matcher)
			}
			sets, parsed = append(sets, strings.Join(matchers, ", ")), append(parsed, one)
		}
		all = append(all, Silence{
			sets: parsed,
			ID:   s.Id, By: s.CreatedBy, Comment: s.Comment, Matches: strings.Join(sets, " or "),
			Starts: s.StartsAt.AsTime(), Ends: s.EndsAt.AsTime(),
		})
	}
	slices.SortFunc(all, func(a, b Silence) int {
		return cmp.Or(a.Ends.Compare(b.Ends), strings.Compare(a.Matches+a.ID, b.Matches+b.ID))
	})
	return all, nil
}

var operators = map[silencepb.Matcher_Type]labels.MatchType{
	silencepb.Matcher_EQUAL: labels.MatchEqual, silencepb.Matcher_NOT_EQUAL: labels.MatchNotEqual,
	silencepb.Matcher_REGEXP: labels.MatchRegexp, silencepb.Matcher_NOT_REGEXP: labels.MatchNotRegexp,
}

// Silence creates a silence for each set of labels: for the alerts that have all of them. It starts now and lasts for this duration. If one cannot be
// created, Silence ends the others.
func (n *Notifier) Silence(ctx context.Context, sets [][]Match, lasts time.Duration, by, comment string) error {
	now := time.Now()
	var created []string
	for _, set := range sets {
		var matchers []*silencepb.Matcher
		for _, m := range set {
			kind := silencepb.Matcher_EQUAL
			if m.Regex {
				kind = silencepb.Matcher_REGEXP
			}
			matchers = append(matchers, &silencepb.Matcher{Type: kind, Name: m.Label, Pattern: m.Value})
		}
		one := &silencepb.Silence{
			MatcherSets: []*silencepb.MatcherSet{{Matchers: matchers}},
			StartsAt:    timestamppb.New(now), EndsAt: timestamppb.New(now.Add(lasts)), CreatedBy: by, Comment: comment,
		}
		if err := n.silences.Set(ctx, one); err != nil {
			for _, id := range created {
				err = errors.Join(err, n.silences.Expire(ctx, id))
			}
			return err
		}
		created = append(created, one.Id)
	}
	return n.saved(ctx)
}

// EndSilence ends a silence now.
func (n *Notifier) EndSilence(ctx context.Context, id string) error {
	if err := n.silences.Expire(ctx, id); err != nil {
		return err
	}
	return n.saved(ctx)
}
