package explain

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// rule is a rule of a rules file.
type rule struct {
	Record      string
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string

	// companion says that a Prometheus evaluates it, and the exporter does not.
	companion bool
}

type ruleSet []rule

// builtIn returns the rules that are built in. Tests read the same files with
// Prometheus' own parser: they cannot be malformed here.
var builtIn = sync.OnceValue(func() ruleSet {
	var all ruleSet
	for i, text := range [][]byte{alerts.Rules, alerts.Companion} {
		var file struct{ Groups []struct{ Rules []rule } }
		if err := yaml.Unmarshal(text, &file); err != nil {
			panic(err)
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				r.companion = i > 0
				all = append(all, r)
			}
		}
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

// like returns names of alerts and families: those that are spelt like a name,
// then those that have the most of its letters in the same words, and more than half.
func (rs ruleSet) like(name string) []string {
	var known []string
	for _, r := range rs {
		if r.Alert != "" && !slices.Contains(known, r.Alert) {
			known = append(known, r.Alert)
		}
	}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			known = append(known, f.Name)
		}
	}
	words := strings.FieldsFunc(wordStart.ReplaceAllString(name, "_$0"), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	scores, letters := map[string]int{}, 0
	for _, w := range words {
		if w = strings.ToLower(w); w == "avax" {
			continue
		}
		letters += len(w)
		for _, k := range known {
			if strings.Contains(strings.ToLower(k), w) {
				scores[k] += len(w)
			}
		}
	}
	found := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return scores[k] == 0 || 2*scores[k] <= letters })
	slices.SortStableFunc(found, func(a, b string) int { return scores[b] - scores[a] })
	near := spelling.Near(name, known)
	for _, k := range found {
		if len(near) < 3 && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	return near
}

var wordStart = regexp.MustCompile(`[A-Z]`)

// selector is where an expression reads a series.
type selector struct {
	text, name, matchers string
	ranged               bool // of a span of time, or of another time
}

// What the built-in rules and formulas are written in is a part of PromQL that
// a pattern finds: a test holds it to Prometheus' own parser.
var selectorPattern = regexp.MustCompile(`\b(avax[_:][a-z0-9_:]+|up\b|(?:avalanche|app|node_timex|node_memory)_\w+)(\{[^}]*\})?(\[[^\]]*\])?(\s+offset\s+\w+)?`)

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
