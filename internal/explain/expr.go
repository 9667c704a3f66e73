package explain

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// condition is a comparison in a rule's expression.
type condition struct {
	left, right parser.Expr
	op          parser.ItemType
}

// conditions returns the comparisons that determine whether an expression has samples, including those in recorded series.
func (e *explanation) conditions(expr parser.Node) []condition {
	switch x := expr.(type) {
	case *parser.BinaryExpr:
		switch {
		case x.Op.IsComparisonOperator() && x.LHS.Type() == parser.ValueTypeVector && !x.ReturnBool:
			if deeper := e.conditions(x.LHS); len(deeper) > 0 && isZeroTest(x) {
				return deeper // for example avax:x == 0, if avax:x is recorded from avax_y == 0
			}
			return []condition{{x.LHS, x.RHS, x.Op}}
		case x.Op == parser.LUNLESS:
			return e.conditions(x.LHS)
		}
	case *parser.VectorSelector:
		var all []condition
		e.eachRecorded(x.Name, func(recorded parser.Expr) { all = append(all, e.conditions(recorded)...) })
		return all
	case *parser.MatrixSelector, *parser.SubqueryExpr:
		return nil // a condition over a range of time
	}
	var all []condition
	for child := range parser.ChildrenIter(expr) {
		all = append(all, e.conditions(child)...)
	}
	return all
}

// unfiltered returns an expression without the right sides of `and` and `unless`. It replaces a recorded series by
// the expression of the series.
func (e *explanation) unfiltered(expr parser.Expr) parser.Expr {
	switch x := expr.(type) {
	case *parser.ParenExpr:
		return e.unfiltered(x.Expr)
	case *parser.BinaryExpr:
		if x.Op == parser.LAND || x.Op == parser.LUNLESS {
			return e.unfiltered(x.LHS)
		}
	case *parser.VectorSelector:
		if recorded := e.recorded(x.Name); len(recorded) == 1 && len(x.LabelMatchers) == 1 {
			if parsed, err := promQL.ParseExpr(recorded[0].Query); err == nil {
				return e.unfiltered(parsed)
			}
		}
	}
	return expr
}

// eachRecorded calls the function do with each expression from which a series is recorded. It skips a series that is already
// being expanded, because a rule may read its own past.
func (e *explanation) eachRecorded(name string, do func(parser.Expr)) {
	if e.reading[name] {
		return
	}
	e.reading[name] = true
	defer delete(e.reading, name)
	for _, r := range e.recorded(name) {
		if parsed, err := promQL.ParseExpr(r.Query); err == nil {
			do(parsed)
		}
	}
}

func isZeroTest(x *parser.BinaryExpr) bool {
	number, is := x.RHS.(*parser.NumberLiteral)
	return is && number.Val == 0
}

// selectors returns the names of the series that an expression reads, including recorded series and their inputs.
func (e *explanation) selectors(query string) []string {
	var names []string
	var add func(query string)
	add = func(query string) {
		parsed, err := promQL.ParseExpr(query)
		if err != nil {
			return
		}
		parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
			if s, is := n.(*parser.VectorSelector); is && s.Name != "" && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
				for _, r := range e.recorded(s.Name) {
					add(r.Query)
				}
			}
			return nil
		})
	}
	add(query)
	return names
}

// filled formats an expression twice. pretty is the expression itself. numbers is the expression with a number in place of each
// selector for which the function number returns true.
func filled(query string, number func(selector string) (text string, has bool)) (pretty, numbers string) {
	parsed, err := promQL.ParseExpr(query)
	if err != nil {
		return query, query
	}
	pretty = parsed.Pretty(0)
	if parsed, err = promQL.ParseExpr(pretty); err != nil {
		return pretty, pretty
	}
	var out strings.Builder
	at := 0
	put := func(n parser.Expr, text string) {
		out.WriteString(pretty[at:n.PositionRange().Start])
		out.WriteString(text)
		at = int(n.PositionRange().End)
	}
	var fill func(n parser.Node)
	fill = func(n parser.Node) {
		switch n := n.(type) {
		case *parser.MatrixSelector, *parser.SubqueryExpr:
			return
		case *parser.Call:
			if n.Func.Name == "scalar" {
				if s, is := n.Args[0].(*parser.VectorSelector); is {
					if text, has := number(s.String()); has {
						put(n, text)
					}
					return
				}
			}
		case *parser.VectorSelector:
			if text, has := number(n.String()); has {
				put(n, text)
			}
			return
		}
		for child := range parser.ChildrenIter(n) {
			fill(child)
		}
	}
	fill(parsed)
	out.WriteString(pretty[at:])
	return pretty, out.String()
}

// unit is the unit of an expression's values.
type unit int

const (
	plain unit = iota
	ratio
	seconds
	timestamp
	avax
)

// unitOf derives the unit of an expression from the names of its families, which end in the unit.
func (e *explanation) unitOf(expr parser.Node) unit {
	switch x := expr.(type) {
	case *parser.VectorSelector:
		of := plain
		e.eachRecorded(x.Name, func(recorded parser.Expr) { of = max(of, e.unitOf(recorded)) })
		if of != plain {
			return of
		}
		for _, s := range []struct {
			suffix string
			unit   unit
		}{{"_timestamp_seconds", timestamp}, {"_seconds", seconds}, {"_seconds_total", seconds}, {"_ratio", ratio}, {"_avax", avax}} {
			if strings.HasSuffix(x.Name, s.suffix) {
				return s.unit
			}
		}
	case *parser.BinaryExpr:
		left, right := e.unitOf(x.LHS), e.unitOf(x.RHS)
		switch {
		case x.Op == parser.SUB && left == timestamp && right == timestamp:
			return seconds
		case x.Op == parser.DIV && left == right && x.RHS.Type() == parser.ValueTypeVector:
			return ratio
		case x.Op == parser.DIV || x.Op == parser.MUL:
			return plain
		}
		return left
	case *parser.Call:
		switch x.Func.Name {
		case "time", "timestamp":
			return timestamp
		case "rate", "increase", "changes", "count_over_time", "resets", "vector", "scalar":
			return plain
		}
		for _, arg := range x.Args {
			if u := e.unitOf(arg); u != plain {
				return u
			}
		}
	case *parser.AggregateExpr:
		if x.Op == parser.COUNT || x.Op == parser.GROUP {
			return plain
		}
		return e.unitOf(x.Expr)
	case *parser.ParenExpr:
		return e.unitOf(x.Expr)
	case *parser.UnaryExpr:
		return e.unitOf(x.Expr)
	case *parser.MatrixSelector:
		return e.unitOf(x.VectorSelector)
	case *parser.SubqueryExpr:
		return e.unitOf(x.Expr)
	}
	return plain
}
