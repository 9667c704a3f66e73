package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Names are the series that expressions may read, and their labels.
type Names struct {
	families    map[string][]string // labels that families have
	distinguish map[string]set      // labels that distinguish the series of a name
	otherwise   set                 // those of a name that is not known
	labels      set                 // of all, and of rules
}

// others are series that the rules may read, and that no collector and no rule of ours makes.
var others = setOf("up", "ALERTS", "ALERTS_FOR_STATE", "avax_exporter_build_info", "avax:threshold_override", "avax:exporter_retired")

// natives begin the names of series of the exporter's process, of nodes and of hosts.
var natives = []string{"go_", "process_", "avalanche_", "node_"}

// fromScrape are the labels that a scrape and a rule engine add. The first three distinguish the series of a family.
var fromScrape = slices.Concat([]string{"job"}, replica, alerts, exporterLabels)

// Declared returns the names of families with their labels, and of the records of rule files.
func Declared(families map[string][]string, files ...*File) *Names {
	n := &Names{families: families, distinguish: map[string]set{"up": setOf(fromScrape[:3]...)}, labels: setOf(fromScrape...)}
	for name, of := range families {
		n.distinguish[name] = setOf(slices.Concat(fromScrape[:3], of)...)
		maps.Copy(n.labels, n.distinguish[name])
	}
	var records []record
	for _, f := range files {
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				expr, err := promQL.ParseExpr(r.Expr)
				if err != nil {
					continue // Prometheus reports it
				}
				fixed := sortedKeys(r.Labels)
				n.labels = n.labels.with(setOf(fixed...)).with(setOf(made(expr)...))
				if r.Record != "" {
					records = append(records, record{r.Record, expr, fixed, r.Determined})
				}
			}
		}
	}
	n.derive(records)
	return n
}

// All returns the names of the series.
func (n *Names) All() []string { return slices.Concat(sortedKeys(n.distinguish), sortedKeys(others)) }

// record is a recorded series, with the labels that its rule sets, and those that its other labels determine.
type record struct {
	name              string
	expr              parser.Expr
	fixed, determined []string
}

// derive adds records, whose labels follow from their expressions. Records read each other and themselves.
func (n *Names) derive(records []record) {
	for _, r := range records {
		n.distinguish[r.name] = n.distinguish[r.name].with(setOf(r.fixed...))
	}
	for grown := true; grown; {
		grown = false
		for _, r := range records {
			before := n.distinguish[r.name]
			n.distinguish[r.name] = n.of(r.expr).without(r.determined...).with(before)
			grown = grown || len(n.distinguish[r.name]) > len(before)
		}
	}
}

type set map[string]bool

func setOf(names ...string) set {
	s := make(set, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

func (s set) without(names ...string) set {
	left := s.with(nil)
	for _, name := range names {
		delete(left, name)
	}
	return left
}

func (s set) only(names ...string) set { return s.without(sortedKeys(s.without(names...))...) }

func (s set) with(more set) set {
	all := make(set, len(s))
	maps.Copy(all, s)
	maps.Copy(all, more)
	return all
}

// of returns the labels that may distinguish the results of an expression.
func (n *Names) of(expr parser.Expr) set {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		left, known := n.distinguish[e.Name]
		if !known {
			left = n.otherwise
		}
		for _, m := range e.LabelMatchers {
			if m.Type == labels.MatchEqual {
				left = left.without(m.Name)
			}
		}
		return left
	case *parser.MatrixSelector:
		return n.of(e.VectorSelector)
	case *parser.SubqueryExpr:
		return n.of(e.Expr)
	case *parser.ParenExpr:
		return n.of(e.Expr)
	case *parser.UnaryExpr:
		return n.of(e.Expr)
	case *parser.AggregateExpr:
		of := n.of(e.Expr)
		if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
			if one, is := e.Param.(*parser.NumberLiteral); !is || one.Val != 1 || e.Without {
				return of
			}
		}
		if e.Without {
			of = of.without(e.Grouping...)
		} else {
			of = of.only(e.Grouping...)
		}
		return of.with(setOf(madeBy(e)...))
	case *parser.Call:
		of := set{}
		if e.Func.Name != "absent" && e.Func.Name != "scalar" {
			for _, arg := range e.Args {
				of = of.with(n.of(arg))
			}
		}
		if e.Func.Name == "label_replace" && e.Args[2].String() == `""` {
			return of.without(madeBy(e)...) // it removes the label
		}
		return of.with(setOf(madeBy(e)...))
	case *parser.BinaryExpr:
		left, right, m := n.of(e.LHS), n.of(e.RHS), e.VectorMatching
		switch {
		case m == nil || e.Op == parser.LOR:
			return left.with(right)
		case e.Op == parser.LAND && countsOne(e.RHS) && m.On:
			return left.only(m.MatchingLabels...)
		case e.Op == parser.LAND && countsOne(e.RHS):
			return left.without(m.MatchingLabels...)
		case e.Op == parser.LAND || e.Op == parser.LUNLESS:
			return left
		case m.Card == parser.CardManyToOne:
			return left.with(setOf(m.Include...))
		case m.Card == parser.CardOneToMany:
			return right.with(setOf(m.Include...))
		case m.On:
			return left.only(m.MatchingLabels...)
		}
		return left.without(m.MatchingLabels...)
	}
	return set{}
}

// countsOne reports whether an expression selects what is there once.
func countsOne(expr parser.Expr) bool {
	equal, is := expr.(*parser.BinaryExpr)
	if !is || equal.Op != parser.EQLC {
		return false
	}
	count, is := equal.LHS.(*parser.AggregateExpr)
	one, literal := equal.RHS.(*parser.NumberLiteral)
	return is && literal && count.Op == parser.COUNT && one.Val == 1
}

// madeBy returns the labels that a node of the syntax tree adds.
func madeBy(n parser.Node) (all []string) {
	var name parser.Expr
	switch e := n.(type) {
	case *parser.Call:
		if e.Func.Name == "label_replace" || e.Func.Name == "label_join" {
			name = e.Args[1]
		}
	case *parser.AggregateExpr:
		if e.Op == parser.COUNT_VALUES {
			name = e.Param
		}
	}
	if text, is := name.(*parser.StringLiteral); is {
		all = append(all, text.Val)
	}
	return all
}

func made(expr parser.Expr) (all []string) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		all = append(all, madeBy(n)...)
		return nil
	})
	return all
}

// Check returns what an expression reads or groups by that is not declared, and the joins of which one side may have several series for one of the
// other.
func (n *Names) Check(expr parser.Expr) error {
	var wrong []error
	known := func(names ...string) {
		for _, name := range names {
			if !n.labels[name] {
				wrong = append(wrong, fmt.Errorf("label %q: no family, record or alert has it", name))
			}
		}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch e := node.(type) {
		case *parser.VectorSelector:
			wrong = append(wrong, n.selector(e))
		case *parser.AggregateExpr:
			known(e.Grouping...)
		case *parser.BinaryExpr:
			m := e.VectorMatching
			if m == nil {
				break
			}
			known(m.MatchingLabels...)
			known(m.Include...)
			if e.Op.IsSetOperator() {
				wrong = append(wrong, n.leaves(e))
				break
			}
			if m.Card != parser.CardManyToOne {
				wrong = append(wrong, n.one(e.LHS, m))
			}
			if m.Card != parser.CardOneToMany {
				wrong = append(wrong, n.one(e.RHS, m))
			}
		}
		return nil
	})
	return errors.Join(wrong...)
}

// leaves returns an error if the labels of an alert differ from those of the subjects that have left, so that it would not end with one.
func (n *Names) leaves(e *parser.BinaryExpr) error {
	left, is := e.RHS.(*parser.VectorSelector)
	if !is || e.Op != parser.LUNLESS || !strings.HasSuffix(left.Name, leftRecord) {
		return nil
	}
	of := n.of(e.LHS).without(e.VectorMatching.MatchingLabels...).without(sortedKeys(n.distinguish[left.Name])...)
	if len(of) == 0 {
		return nil
	}
	return fmt.Errorf("%s: does not end with its subject: add %s to the others of its kind in source.go", e.LHS, strings.Join(sortedKeys(of), ", "))
}

// one returns an error if several series of a side of a join may match one of the other side.
func (n *Names) one(side parser.Expr, m *parser.VectorMatching) error {
	if call, is := side.(*parser.Call); is && call.Func.Name == "label_replace" && call.Args[2].String() != `""` && !n.of(call.Args[0])[madeBy(call)[0]] {
		side = call.Args[0] // a label that others determine
	}
	of := n.of(side)
	if m.On {
		of = of.without(m.MatchingLabels...)
	} else {
		of = of.only(m.MatchingLabels...)
	}
	if len(of) == 0 {
		return nil
	}
	return fmt.Errorf("%s: several may match one: aggregate %s, or select what is there once with and … count (…) == 1", side,
		strings.Join(sortedKeys(of), ", "))
}

func (n *Names) selector(v *parser.VectorSelector) error {
	native := slices.ContainsFunc(natives, func(of string) bool { return strings.HasPrefix(v.Name, of) })
	if _, known := n.distinguish[v.Name]; !known && !others[v.Name] && !native && v.Name != "" {
		return fmt.Errorf("%s: neither a family of a collector nor a record", v.Name)
	}
	of := n.families[v.Name] // a family without labels is asked for those that collide with them
	for _, m := range v.LabelMatchers {
		if len(of) > 0 && !strings.HasPrefix(m.Name, "__") && !slices.Contains(of, m.Name) && !slices.Contains(fromScrape, m.Name) {
			return fmt.Errorf("%s: has no label %q: it has %s", v.Name, m.Name, strings.Join(of, ", "))
		}
	}
	return nil
}

// CheckNames checks all rules of a file.
func (f *File) CheckNames(n *Names) error {
	var wrong []error
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			expr, err := promQL.ParseExpr(r.Expr)
			if err == nil {
				err = n.Check(expr)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", r.Record+r.Alert, err))
			}
		}
	}
	return errors.Join(wrong...)
}
