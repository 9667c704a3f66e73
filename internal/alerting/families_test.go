package alerting

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// What an expression compares, and from which families its value is computed, is the same if a product copies it for each owner. What it leaves
// out is no condition.
func TestCopiesAndExceptionsAreNoConditions(t *testing.T) {
	for _, expr := range []string{
		`a < 1 unless (b > 2 or c) and d`,
		`max without (node) (joint * ignoring (node) group_left () (a < 1 unless (b > 2 or c) and d))`,
	} {
		parsed := must.Get(Parser.ParseExpr(expr))(t)
		var operands []string
		for _, o := range Operands(parsed) {
			operands = append(operands, o.Operator+" "+o.Expr.String())
		}
		if diff := cmp.Diff([]string{" a < 1", "unless (b > 2 or c)", "and d"}, operands); diff != "" {
			t.Errorf("%s: operands (-want +got):\n%s", expr, diff)
		}
		if diff := cmp.Diff([]string{"a"}, ValueFamilies(nil, expr)); diff != "" {
			t.Errorf("%s: families (-want +got):\n%s", expr, diff)
		}
	}
}
