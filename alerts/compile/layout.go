package compile

import (
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// lineLength is the length above which an expression is broken into lines.
const lineLength = 140

// layout prints an expression: operators begin lines, and what binds more strongly is indented. It is PromQL that people can read and compare.
func layout(expr parser.Expr) string { return lay(expr, 0) }

// lay prints an expression whose lines after the first one are indented by so many spaces.
func lay(expr parser.Expr, indent int) string {
	whole := expr.String()
	if indent+len(whole) <= lineLength {
		return whole
	}
	next := "\n" + strings.Repeat(" ", indent)
	within := func(e parser.Expr) string { return next + "  " + lay(e, indent+2) }
	switch e := expr.(type) {
	case *parser.BinaryExpr:
		left, right := indent, indent
		if below, is := e.LHS.(*parser.BinaryExpr); is && strength(below) > strength(e) {
			left += 2
		}
		if _, is := e.RHS.(*parser.BinaryExpr); is {
			right += 2
		}
		return lay(e.LHS, left) + next + e.ShortString() + " " + lay(e.RHS, right)
	case *parser.AggregateExpr:
		text := e.ShortString() + "("
		if e.Param != nil {
			text += e.Param.String() + ","
		}
		return text + within(e.Expr) + next + ")"
	case *parser.ParenExpr:
		return "(" + within(e.Expr) + next + ")"
	case *parser.Call:
		text := e.Func.Name + "(" + within(e.Args[0])
		if len(e.Args) > 1 {
			text += "," + next + "  " + e.Args[1:].String()
		}
		return text + next + ")"
	}
	return whole
}

// strength orders operators by how strongly they bind.
func strength(e *parser.BinaryExpr) int {
	switch {
	case e.Op == parser.LOR:
		return 0
	case e.Op == parser.LAND || e.Op == parser.LUNLESS:
		return 1
	case e.Op.IsComparisonOperator():
		return 2
	case e.Op == parser.ADD || e.Op == parser.SUB:
		return 3
	}
	return 4
}
