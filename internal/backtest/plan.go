package backtest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/evaluation"
)

// plan is what the rules of a file read.
type plan struct {
	rules  []*rule
	inputs []string      // names of the series that no rule records, sorted
	reach  time.Duration // age of the oldest sample that a rule reads
}

// rule is one rule of the file.
type rule struct {
	*evaluation.Rule
	inputs []string // names of the stored series that it needs, directly or through recorded series
}

// newPlan returns what rules read.
func newPlan(all []*evaluation.Rule) *plan {
	p := &plan{}
	recorded := map[string][]int{} // by name: positions in all
	for i, r := range all {
		p.rules = append(p.rules, &rule{Rule: r})
		p.reach = max(p.reach, alerting.LooksBack(r.Expr))
		if r.Record != "" {
			recorded[r.Record] = append(recorded[r.Record], i)
		}
	}
	inputs := map[string]bool{}
	reads, needed := make([][]int, len(all)), make([][]string, len(all))
	for i, r := range p.rules {
		for _, name := range names(r.Expr) {
			switch from, found := recorded[name]; {
			case found:
				reads[i] = append(reads[i], from...)
			case name != "ALERTS" && name != "ALERTS_FOR_STATE":
				inputs[name] = true
				// A pattern is optional, and so is a recorded series that no rule records, such as an override of a threshold.
				if !strings.ContainsAny(name, ":{") {
					needed[i] = append(needed[i], name)
				}
			}
		}
	}
	p.inputs = slices.Sorted(maps.Keys(inputs))
	for i, reached := range reachable(reads) { // without the inputs of other alerts
		for j := range reached {
			p.rules[i].inputs = append(p.rules[i].inputs, needed[j]...)
		}
	}
	return p
}

// names returns the names of the series that an expression reads, sorted. A name that is a pattern is written as {…}.
func names(expr parser.Expr) []string {
	found := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			found[nameOf(s)] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(found))
}

func nameOf(s *parser.VectorSelector) string {
	for _, m := range s.LabelMatchers {
		switch {
		case m.Name != model.MetricNameLabel:
		case m.Type == labels.MatchEqual:
			return m.Value
		case m.Type == labels.MatchRegexp:
			return "{" + m.String() + "}"
		}
	}
	return s.String()
}

// reachable returns, for each rule, itself and the rules that it reads, directly or through others.
func reachable(reads [][]int) []map[int]bool {
	reach := make([]map[int]bool, len(reads))
	for i := range reads {
		reach[i] = map[int]bool{}
		for next := []int{i}; len(next) > 0; {
			rule := next[0]
			if next = next[1:]; !reach[i][rule] {
				reach[i][rule] = true
				next = append(next, reads[rule]...)
			}
		}
	}
	return reach
}

// inputsOf returns, for each alert, the names of the stored series that it needs, sorted.
func (p *plan) inputsOf() map[string][]string {
	all := map[string][]string{}
	for _, r := range p.rules {
		if r.Alert != "" {
			found := append(all[r.Name], r.inputs...)
			slices.Sort(found)
			all[r.Name] = slices.Compact(found)
		}
	}
	return all
}

// judged returns the alerts whose expression could have a result with samples of these names.
func (p *plan) judged(stored map[string]time.Time) map[string]bool {
	there := map[string]bool{}
	for name := range stored {
		there[name] = true
	}
	alerts := map[string]bool{}
	for before := -1; before < len(there)+len(alerts); { // again, because rules may read each other
		before = len(there) + len(alerts)
		for _, r := range p.rules {
			switch {
			case !alerting.Possible(r.Expr, func(s *parser.VectorSelector) bool { return there[s.Name] }):
			case r.Alert != "":
				alerts[r.Name] = true
			default:
				there[r.Name] = true
			}
		}
	}
	return alerts
}

// queries returns selectors that read all stored series with these label matchers.
func (p *plan) queries(matchers []string) (all []string) {
	var names []string
	for _, name := range p.inputs {
		if pattern, isPattern := strings.CutPrefix(name, "{"); isPattern {
			all = append(all, "{"+strings.Join(append([]string{strings.TrimSuffix(pattern, "}")}, matchers...), ",")+"}")
		} else {
			names = append(names, name)
		}
	}
	for some := range slices.Chunk(names, namesPerQuery) {
		all = append(all, "{"+strings.Join(append([]string{`__name__=~"` + strings.Join(some, "|") + `"`}, matchers...), ",")+"}")
	}
	return all
}

// selector returns the selector of a series with label matchers.
func selector(name string, matchers []string) string {
	return name + "{" + strings.Join(matchers, ",") + "}"
}
