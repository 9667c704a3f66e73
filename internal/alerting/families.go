package alerting

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// ValueFamilies returns the families from which the value of a rule's expression is computed. For a recorded series it returns
// the families of the recording rule. It omits the families to the right of `and` and `unless`, because they only filter, the families inside
// scalar(), and the series of a product that only copies its values.
func ValueFamilies(groups []Group, expr string) []string {
	return RecordingsOf(groups).ValueFamilies(expr)
}

// Recordings are recording rules by name, in the order of their groups.
type Recordings map[string][]*Rule

// RecordingsOf returns the recording rules of groups, for several calls of ValueFamilies.
func RecordingsOf(groups []Group) Recordings {
	all := Recordings{}
	for _, g := range groups {
		for i := range g.Rules { // not copied: there are hundreds
			if r := &g.Rules[i]; r.Type == RecordingRule {
				all[r.Name] = append(all[r.Name], r)
			}
		}
	}
	return all
}

// ValueFamilies is the function ValueFamilies for these rules.
func (all Recordings) ValueFamilies(expr string) []string {
	var families []string
	seen := map[string]bool{} // expressions
	var add func(expr string, chosen []*labels.Matcher)
	add = func(expr string, chosen []*labels.Matcher) {
		if seen[expr] {
			return
		}
		seen[expr] = true
		for _, selector := range selectors.of(expr) {
			recorded := all[selector.Name]
			if len(recorded) == 0 && !slices.Contains(families, selector.Name) {
				families = append(families, selector.Name)
			}
			chosen := slices.Concat(chosen, selector.LabelMatchers)
			for _, r := range recorded {
				if !slices.ContainsFunc(chosen, func(m *labels.Matcher) bool { value, set := r.Labels[m.Name]; return set && !m.Matches(value) }) {
					add(r.Query, chosen)
				}
			}
		}
	}
	add(expr, nil)
	return families
}

// selectors are those of the expressions that were asked for: the status page asks for those of the active alerts each time that it is shown.
var selectors = valueSelectorsOf{by: map[string][]*parser.VectorSelector{}}

type valueSelectorsOf struct {
	mu sync.Mutex
	by map[string][]*parser.VectorSelector
}

// of returns none for an expression that cannot be parsed: a rule of a Prometheus may use functions that this parser does not know.
func (v *valueSelectorsOf) of(expr string) []*parser.VectorSelector {
	v.mu.Lock()
	all, known := v.by[expr]
	v.mu.Unlock()
	if known {
		return all
	}
	if parsed, err := Parser.ParseExpr(expr); err == nil {
		all = valueSelectors(parsed)
	}
	v.keep(expr, all)
	return all
}

func (v *valueSelectorsOf) keep(expr string, all []*parser.VectorSelector) {
	const most = 4096 // several times as many as there are rules
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.by) >= most {
		clear(v.by)
	}
	v.by[expr] = all
}

// AlertsByFamily returns the names of a rules file's alerts, by the families from which their values are computed.
func AlertsByFamily(rules []byte) (map[string][]string, error) {
	set, err := builtInRules(rules)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, g := range set.groups.Groups {
		group := Group{Name: g.Name}
		for _, r := range g.Rules {
			rule := Rule{Name: r.Record, Type: RecordingRule, Query: r.Expr, Labels: r.Labels}
			if r.Alert != "" {
				rule.Name, rule.Type = r.Alert, AlertingRule
			}
			group.Rules = append(group.Rules, rule)
		}
		groups = append(groups, group)
	}
	of, recordings := map[string][]string{}, RecordingsOf(groups)
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Type != AlertingRule {
				continue
			}
			for _, family := range recordings.ValueFamilies(r.Query) {
				of[family] = append(of[family], r.Name)
			}
		}
	}
	return of, nil
}

// ValueNames returns the names of the series from which the value of an expression is computed, each once. It omits the same series as
// ValueFamilies.
func ValueNames(e parser.Expr) (names []string) {
	for _, selector := range valueSelectors(e) {
		if !slices.Contains(names, selector.Name) {
			names = append(names, selector.Name)
		}
	}
	return names
}

func valueSelectors(e parser.Node) (all []*parser.VectorSelector) {
	switch e := e.(type) {
	case *parser.VectorSelector:
		if e.Name == "" {
			return nil
		}
		return []*parser.VectorSelector{e}
	case *parser.BinaryExpr:
		if e.Op == parser.LAND || e.Op == parser.LUNLESS {
			return valueSelectors(e.LHS)
		}
		if copies(e) {
			return valueSelectors(e.RHS)
		}
	case *parser.Call:
		if e.Func.Name == "scalar" {
			return nil
		}
	}
	for child := range parser.ChildrenIter(e) {
		all = append(all, valueSelectors(child)...)
	}
	return all
}

// copies reports whether a product has the values of its right side, once for each series of the left side. Such series are always 1.
func copies(e *parser.BinaryExpr) bool {
	_, selector := e.LHS.(*parser.VectorSelector)
	return selector && e.Op == parser.MUL && e.VectorMatching != nil && e.VectorMatching.Card == parser.CardManyToOne
}

// Operand is a part of an expression: the whole has a result according to the operands, joined by their operators.
type Operand struct {
	Operator string // and, or or unless; empty for the first
	parser.Expr
}

// Operands splits an expression at the set operators, also within an aggregation, and within what a product copies. What follows `unless` is one
// operand.
func Operands(expr parser.Expr) []Operand {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return Operands(e.Expr)
	case *parser.BinaryExpr:
		if copies(e) {
			return Operands(e.RHS)
		}
		if e.Op.IsSetOperator() {
			right := []Operand{{Expr: e.RHS}}
			if e.Op != parser.LUNLESS {
				right = Operands(e.RHS)
			}
			right[0].Operator = e.Op.String()
			return append(Operands(e.LHS), right...)
		}
	case *parser.AggregateExpr:
		inner := Operands(e.Expr)
		if c, ok := inner[0].Expr.(*parser.BinaryExpr); len(inner) > 1 || ok && c.Op.IsComparisonOperator() {
			return inner
		}
	}
	return []Operand{{Expr: expr}}
}
