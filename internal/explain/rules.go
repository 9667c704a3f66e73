package explain

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
)

// rule is a rule of a rules file.
type rule struct {
	Record      string
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

type ruleSet []rule

// builtIn returns the rules that are built in. Tests read the same file with
// Prometheus' own parser: it cannot be malformed here.
var builtIn = sync.OnceValue(func() ruleSet {
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(alerts.Rules, &file); err != nil {
		panic(err)
	}
	var all ruleSet
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
})

// alerts returns the rules of an alert.
func (rs ruleSet) alerts(name string) ruleSet {
	return slices.DeleteFunc(slices.Clone(rs), func(r rule) bool { return r.Alert == "" || r.Alert != name })
}

// records returns the rules that record a series name.
func (rs ruleSet) records(name string) ruleSet {
	return slices.DeleteFunc(slices.Clone(rs), func(r rule) bool { return r.Record == "" || r.Record != name })
}

// reads names what an expression reads, and what the recordings in it read.
func (rs ruleSet) reads(expr string) []string {
	var names []string
	var add func(expr string)
	add = func(expr string) {
		for _, s := range selectors(expr) {
			if slices.Contains(names, s.name) {
				continue
			}
			names = append(names, s.name)
			if s.name != threshold {
				for _, r := range rs.records(s.name) {
					add(r.Expr)
				}
			}
		}
	}
	add(expr)
	return names
}

// like returns names of alerts and families that hold a word of the name, or
// the first alerts where none does.
func (rs ruleSet) like(name string) []string {
	var known []string
	for _, r := range rs {
		if r.Alert != "" && !slices.Contains(known, r.Alert) {
			known = append(known, r.Alert)
		}
	}
	first := slices.Clone(known[:min(3, len(known))])
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			known = append(known, f.Name)
		}
	}
	words := strings.FieldsFunc(wordStart.ReplaceAllString(name, "_$0"), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, k := range known {
		score := 0
		for _, w := range words {
			if w = strings.ToLower(w); w != "avax" && strings.Contains(strings.ToLower(k), w) {
				score += len(w)
			}
		}
		if score > 0 {
			found = append(found, scored{k, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	if len(found) == 0 {
		return first
	}
	var names []string
	for _, f := range found[:min(3, len(found))] {
		names = append(names, f.name)
	}
	return names
}

var wordStart = regexp.MustCompile(`[A-Z]`)

// selector is where an expression reads a series name of ours.
type selector struct {
	text, name, matchers string
	ranged               bool // of a span of time, or of another time
}

// What the built-in rules and formulas are written in is a part of PromQL that
// a pattern finds: a test holds it to Prometheus' own parser.
var selectorPattern = regexp.MustCompile(`\b(avax[_:][a-z0-9_:]+|up\b)(\{[^}]*\})?(\[[^\]]*\])?(\s+offset\s+\w+)?`)

func selectors(expr string) []selector {
	var all []selector
	replaceSelectors(expr, func(s selector) string {
		all = append(all, s)
		return s.text
	})
	return all
}

// replaceSelectors replaces each selector, leaving out what stands in quotes,
// and the space around the whole.
func replaceSelectors(expr string, by func(selector) string) string {
	expr = strings.TrimSpace(expr)
	var out strings.Builder
	at := 0
	for _, m := range selectorPattern.FindAllStringSubmatchIndex(expr, -1) {
		if m[0] < at || strings.Count(expr[:m[0]], `"`)%2 == 1 {
			continue
		}
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return expr[m[2*i]:m[2*i+1]]
		}
		s := selector{text: group(0), name: group(1), matchers: group(2), ranged: group(3) != "" || group(4) != ""}
		out.WriteString(expr[at:m[0]])
		out.WriteString(by(s))
		at = m[1]
	}
	out.WriteString(expr[at:])
	return out.String()
}

var matcherPattern = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)

// matches tells whether labels fit matchers such as {alert="A", node!~"x.*"}.
func matches(matchers string, labels map[string]string) bool {
	for _, m := range matcherPattern.FindAllStringSubmatch(matchers, -1) {
		value, op, want := labels[m[1]], m[2], m[3]
		fits := value == want
		if strings.HasSuffix(op, "~") {
			fits = regexp.MustCompile(`^(?:` + want + `)$`).MatchString(value)
		}
		if fits == strings.HasPrefix(op, "!") {
			return false
		}
	}
	return true
}
