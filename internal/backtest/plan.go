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

var promQL = parser.NewParser(parser.Options{})

// rule is one rule of the file.
type rule struct {
	name    string // of the alert, or of the recorded series
	alert   *rules.AlertingRule
	record  *rules.RecordingRule
	expr    parser.Expr
	summary string
	needs   []string                 // names of the series that the expression reads, sorted
	last    map[uint64]labels.Labels // series of the last evaluation, by hash
}

// plan is the order of evaluation. A rule comes after the rules that it reads. Rules of one unit read each other, or one rule
// reads its own earlier results.
type plan struct {
	units  []unit
	inputs []string      // names of the series that no rule records, sorted
	reach  time.Duration // age of the oldest sample that a rule reads
}

// unit is a list of rules that are evaluated together. A cyclic unit reads its own earlier results.
type unit struct {
	rules  []*rule
	cyclic bool
}

// newPlan orders the rules of a file.
func newPlan(groups *rulefmt.RuleGroups, external labels.Labels) (*plan, error) {
	p := &plan{}
	var all []*rule
	recorded := map[string][]int{} // by name: positions in all
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
				recorded["ALERTS"] = append(recorded["ALERTS"], len(all))
				recorded["ALERTS_FOR_STATE"] = append(recorded["ALERTS_FOR_STATE"], len(all))
			} else {
				next.record = rules.NewRecordingRule(r.Record, placeholder, labels.FromMap(r.Labels))
				recorded[r.Record] = append(recorded[r.Record], len(all))
			}
			p.reach = max(p.reach, alerting.LooksBack(expr))
			all = append(all, next)
		}
	}
	inputs := map[string]bool{}
	reads := make([][]int, len(all))
	for i, r := range all {
		for _, name := range r.needs {
			if from, ok := recorded[name]; ok {
				reads[i] = append(reads[i], from...)
			} else {
				inputs[name] = true
			}
		}
	}
	p.inputs = slices.Sorted(maps.Keys(inputs))
	for _, component := range components(reads) {
		u := unit{cyclic: len(component) > 1 || slices.Contains(reads[component[0]], component[0])}
		for _, i := range component {
			u.rules = append(u.rules, all[i])
		}
		p.units = append(p.units, u)
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

// components returns the strongly connected components of a graph, each after the components that it reads (Tarjan's algorithm).
// The positions of a component are sorted.
func components(reads [][]int) (found [][]int) {
	const unseen = -1
	index, low, on := make([]int, len(reads)), make([]int, len(reads)), make([]bool, len(reads))
	for i := range index {
		index[i] = unseen
	}
	var stack []int
	next := 0
	var visit func(int)
	visit = func(v int) {
		index[v], low[v], on[v] = next, next, true
		next++
		stack = append(stack, v)
		for _, w := range reads[v] {
			if index[w] == unseen {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		component := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range component {
			on[w] = false
		}
		slices.Sort(component)
		found = append(found, component)
	}
	for v := range reads {
		if index[v] == unseen {
			visit(v)
		}
	}
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

// inputsOf returns, for each alert, the names of the stored series that it reads, directly or through recorded series. Names of
// recorded series that no rule records, such as overrides of thresholds, are optional and left out.
func (p *plan) inputsOf() map[string][]string {
	byName := map[string][]string{} // inputs of a recorded name
	all := map[string][]string{}
	for range 2 { // twice, because the rules of a cycle read each other
		p.each(func(r *rule) {
			var found []string
			for _, name := range r.needs {
				if inputs, recorded := byName[name]; recorded {
					found = append(found, inputs...)
				} else if slices.Contains(p.inputs, name) && !strings.ContainsAny(name, ":{") {
					found = append(found, name)
				}
			}
			of := byName
			if r.alert != nil {
				of = all
			}
			found = append(found, of[r.name]...)
			slices.Sort(found)
			of[r.name] = slices.Compact(found)
		})
	}
	return all
}

// each calls f for each rule, in the order of evaluation.
func (p *plan) each(f func(*rule)) {
	for _, u := range p.units {
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
	for range 2 { // as in inputsOf
		p.each(func(r *rule) {
			switch {
			case !possible(r.expr, there):
			case r.alert != nil:
				alerts[r.name] = true
			default:
				there[r.name] = true
			}
		})
	}
	return alerts
}

// possible reports whether an expression can have a result if only series of these names exist.
func possible(expr parser.Node, there map[string]bool) bool {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		name := nameOf(e)
		return there[name] || strings.HasPrefix(name, "{") // a pattern may match any series
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return possible(e.LHS, there) || possible(e.RHS, there)
		case parser.LUNLESS:
			return possible(e.LHS, there)
		}
	case *parser.Call:
		if e.Func.Name == "absent" || e.Func.Name == "absent_over_time" {
			return true
		}
	}
	for child := range parser.ChildrenIter(expr) {
		if !possible(child, there) {
			return false
		}
	}
	return true
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
