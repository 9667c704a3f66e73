package alerting

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// Possible reports whether an expression can have a result if only the selectors have series that has returns true for.
func Possible(expr parser.Node, has func(*parser.VectorSelector) bool) bool {
	of := func(n parser.Node) bool { return Possible(n, has) }
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return e.Name == "" || has(e) // a pattern may match any name
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return of(e.LHS) || of(e.RHS)
		case parser.LUNLESS:
			return of(e.LHS)
		}
	case *parser.Call:
		switch e.Func.Name {
		case "absent", "absent_over_time", "scalar": // nothing is something
			return true
		}
	}
	for child := range parser.ChildrenIter(expr) {
		if !of(child) {
			return false
		}
	}
	return true
}

// possiblePart returns an expression that has the same result as one that is Possible, without what cannot have a result.
func possiblePart(expr parser.Expr, has func(*parser.VectorSelector) bool) parser.Expr {
	of := func(e parser.Expr) parser.Expr { return possiblePart(e, has) }
	switch e := expr.(type) {
	case *parser.ParenExpr:
		part := *e
		part.Expr = of(e.Expr)
		return &part
	case *parser.AggregateExpr:
		part := *e
		part.Expr = of(e.Expr)
		return &part
	case *parser.Call:
		if e.Func.Name == "absent" || !slices.Contains(timeless, e.Func.Name) { // such as timestamp: their result depends on the kind of their argument
			return expr
		}
		part := *e
		part.Args = slices.Clone(e.Args)
		for i, arg := range e.Args {
			if Possible(arg, has) { // scalar makes something of nothing
				part.Args[i] = of(arg)
			}
		}
		return &part
	case *parser.BinaryExpr:
		left, right := Possible(e.LHS, has), Possible(e.RHS, has)
		switch {
		case e.Op == parser.LOR && !left:
			return of(e.RHS)
		case !right: // of `or` or `unless`
			return of(e.LHS)
		}
		part := *e
		part.LHS, part.RHS = of(e.LHS), of(e.RHS)
		return &part
	}
	return expr
}

// leadOf returns an expression without whose result another one has none: most rules first select what is wrong, and then look for reasons that excuse
// it. Where nothing is wrong, no reason is needed.
func leadOf(expr parser.Expr) parser.Expr {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		lead := *e
		lead.Expr = leadOf(e.Expr)
		return &lead
	case *parser.AggregateExpr:
		return leadOf(e.Expr)
	case *parser.Call:
		if e.Func.Name == "label_replace" {
			return leadOf(e.Args[0])
		}
	case *parser.BinaryExpr:
		switch {
		case e.Op == parser.LAND || e.Op == parser.LUNLESS:
			return leadOf(e.LHS)
		case e.Op == parser.LOR:
			lead := *e
			lead.LHS, lead.RHS = leadOf(e.LHS), leadOf(e.RHS)
			return &lead
		case copies(e):
			return leadOf(e.RHS)
		}
	}
	return expr
}
