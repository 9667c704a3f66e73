package backtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

var promQL = alerting.Parser

// rule is one rule of the file.
type rule struct {
	name    string // of the alert, or of the recorded series
	alert   *rules.AlertingRule
	record  *rules.RecordingRule
	expr    parser.Expr
	summary string
	needs   []string                 // names of the series that the expression reads, sorted
	inputs  []string                 // names of the stored series that it needs, directly or through recorded series
	last    map[uint64]labels.Labels // series of the last evaluation, by hash
}

// plan is the order of evaluation. A rule comes after the rules that it reads. Rules of one set read each other, or one rule
// reads its own earlier results.
type plan struct {
	sets   []ruleSet
	inputs []string      // names of the series that no rule records, sorted
	reach  time.Duration // age of the oldest sample that a rule reads
}

// ruleSet is a list of rules that are evaluated together. A cyclic set reads its own earlier results.
type ruleSet struct {
	rules  []*rule
	cyclic bool
}

// newPlan orders the rules of a file.
func newPlan(groups *rulefmt.RuleGroups, external labels.Labels) (*plan, error) {
	p := &plan{}
	var all []*rule
	recorded := map[string][]int{} // by name: positions in all
	var alerts []int
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			expr, err := promQL.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", cmp.Or(r.Alert, r.Record), err)
			}
			next := &rule{name: cmp.Or(r.Alert, r.Record), expr: expr, needs: names(expr), summary: r.Annotations["summary"]}
			// The rules below get their results from outside, so that their own expression is never evaluated.
			placeholder := &parser.NumberLiteral{}
			if r.Alert != "" {
				next.alert = rules.NewAlertingRule(r.Alert, placeholder, time.Duration(r.For), time.Duration(r.KeepFiringFor),
					labels.FromMap(r.Labels), labels.EmptyLabels(), external, "", true, discard)
				alerts = append(alerts, len(all))
			} else {
				next.record = rules.NewRecordingRule(r.Record, placeholder, labels.FromMap(r.Labels))
				recorded[r.Record] = append(recorded[r.Record], len(all))
			}
			p.reach = max(p.reach, alerting.LooksBack(expr))
			all = append(all, next)
		}
	}
	inputs := map[string]bool{}
	reads, afterAlerts := make([][]int, len(all)), make([]bool, len(all))
	needed := make([][]string, len(all))
	for i, r := range all {
		for _, name := range r.needs {
			switch from, found := recorded[name]; {
			case found:
				reads[i] = append(reads[i], from...)
			case name == "ALERTS" || name == "ALERTS_FOR_STATE":
				afterAlerts[i] = true
			default:
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
			all[i].inputs = append(all[i].inputs, needed[j]...)
		}
	}
	for i, after := range afterAlerts {
		if after {
			reads[i] = append(reads[i], alerts...)
		}
	}
	reach := reachable(reads)
	for _, component := range components(reach) {
		u := ruleSet{cyclic: len(component) > 1 || slices.Contains(reads[component[0]], component[0])}
		for _, i := range component {
			u.rules = append(u.rules, all[i])
		}
		p.sets = append(p.sets, u)
	}
	return p, nil
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

// components returns the rules in groups of those that read each other. A group comes after those that it reads.
func components(reach []map[int]bool) (found [][]int) {
	for i := range reach {
		component := []int{}
		for j := range reach {
			if reach[i][j] && reach[j][i] {
				component = append(component, j)
			}
		}
		if component[0] == i {
			found = append(found, component)
		}
	}
	// A rule reaches more rules than a rule that it reads, unless both read each other.
	slices.SortStableFunc(found, func(a, b []int) int { return cmp.Compare(len(reach[a[0]]), len(reach[b[0]])) })
	return found
}

// alerts returns the alerting rules in the order of evaluation.
func (p *plan) alerts() (found []*rule) {
	p.each(func(r *rule) {
		if r.alert != nil {
			found = append(found, r)
		}
	})
	return found
}

// inputsOf returns, for each alert, the names of the stored series that it needs, sorted.
func (p *plan) inputsOf() map[string][]string {
	all := map[string][]string{}
	for _, r := range p.alerts() {
		found := append(all[r.name], r.inputs...)
		slices.Sort(found)
		all[r.name] = slices.Compact(found)
	}
	return all
}

// each calls f for each rule, in the order of evaluation.
func (p *plan) each(f func(*rule)) {
	for _, u := range p.sets {
		for _, r := range u.rules {
			f(r)
		}
	}
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
		p.each(func(r *rule) {
			switch {
			case !alerting.Possible(r.expr, func(name string) bool { return there[name] }):
			case r.alert != nil:
				alerts[r.name] = true
			default:
				there[r.name] = true
			}
		})
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
