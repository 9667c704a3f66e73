package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// mutant is a rule that contains one typical mistake.
type mutant struct {
	Rule    rulefmt.Rule
	Mistake string // the changed part, before and after
}

// flipped maps each comparison operator to the operator of a typical mistake.
var flipped = map[parser.ItemType]parser.ItemType{
	parser.EQLC: parser.NEQ, parser.NEQ: parser.EQLC,
	parser.LSS: parser.GTR, parser.GTR: parser.LSS,
	parser.LTE: parser.GTR, parser.GTE: parser.LSS,
}

// mutants returns the mutants of a rule. Each has one of these mistakes: a comparison is reversed; a number is halved or doubled
// (0 becomes 1 or -1; in a comparison for equality only one of the two); a clause after and, or, unless is removed; a duration is
// removed or doubled.
func mutants(t *testing.T, rule rulefmt.Rule) (found []mutant) {
	t.Helper()
	// replace replaces n. The text of around describes the mistake.
	replace := func(n parser.Node, with string, around parser.Node) {
		at, shown := n.PositionRange(), around.PositionRange()
		m := mutant{Rule: rule}
		m.Rule.Expr = rule.Expr[:at.Start] + with + rule.Expr[at.End:]
		grown := len(m.Rule.Expr) - len(rule.Expr)
		m.Mistake = oneLine(sourceText(rule.Expr, around)) + " -> " + oneLine(m.Rule.Expr[shown.Start:int(shown.End)+grown])
		if _, err := testworld.PromQL.ParseExpr(m.Rule.Expr); err != nil {
			t.Fatalf("the mutant is no expression: %s: %v", m.Mistake, err)
		}
		found = append(found, m)
	}
	parsed, err := testworld.PromQL.ParseExpr(rule.Expr)
	if err != nil {
		t.Fatalf("%s: %v", rule.Expr, err)
	}
	parser.Inspect(begins(rule.Alert, parsed), func(node parser.Node, path []parser.Node) error {
		if e, ok := node.(parser.Expr); ok && constant(e) {
			if !below(path, constant) {
				around := node
				if len(path) > 0 {
					around = path[len(path)-1]
				}
				for _, with := range shifted(sourceText(rule.Expr, node), below(path, equality)) {
					replace(node, with, around)
				}
			}
			return nil
		}
		n, ok := node.(*parser.BinaryExpr)
		if !ok {
			return nil
		}
		left, right := sourceText(rule.Expr, n.LHS), sourceText(rule.Expr, n.RHS)
		between := rule.Expr[n.LHS.PositionRange().End:n.RHS.PositionRange().Start]
		if other, ok := flipped[n.Op]; ok {
			replace(n, left+strings.Replace(between, n.Op.String(), other.String(), 1)+right, n)
		}
		switch n.Op {
		case parser.LAND, parser.LUNLESS:
			replace(n, left, n)
		case parser.LOR:
			replace(n, left, n)
			replace(n, right, n)
		}
		return nil
	})
	for _, other := range []model.Duration{0, 2 * rule.For} {
		if rule.For > 0 {
			m := mutant{rule, fmt.Sprintf("for: %s -> %s", rule.For, other)}
			m.Rule.For = other
			found = append(found, m)
		}
	}
	for _, other := range []model.Duration{0, 2 * rule.KeepFiringFor} {
		if rule.KeepFiringFor > 0 {
			m := mutant{rule, fmt.Sprintf("keep_firing_for: %s -> %s", rule.KeepFiringFor, other)}
			m.Rule.KeepFiringFor = other
			found = append(found, m)
		}
	}
	return found
}

// begins returns the condition with which an alert begins. That with which it ends is written by the compiler, whose tests check it, and so is that
// its node or chain has not left.
func begins(alert string, e parser.Expr) parser.Expr {
	if unless, is := e.(*parser.BinaryExpr); is && unless.Op == parser.LUNLESS {
		if left, is := unless.RHS.(*parser.VectorSelector); is && slices.Contains([]string{"avax:node_left", "avax:chain_left"}, left.Name) {
			if paren, is := unless.LHS.(*parser.ParenExpr); is {
				return begins(alert, paren.Expr)
			}
			return begins(alert, unless.LHS)
		}
	}
	or, is := e.(*parser.BinaryExpr)
	if !is || or.Op != parser.LOR {
		return e
	}
	and, is := or.RHS.(*parser.BinaryExpr)
	if !is || and.Op != parser.LAND {
		return e
	}
	_, copied := and.LHS.(*parser.ParenExpr)
	firing, is := and.RHS.(*parser.VectorSelector)
	if !copied || !is || firing.Name != "ALERTS" || !slices.ContainsFunc(firing.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == labels.AlertName && m.Value == alert }) {
		return e
	}
	return or.LHS
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// sourceText returns the text of the node in the expression.
func sourceText(expr string, n parser.Node) string {
	at := n.PositionRange()
	return strings.TrimSpace(expr[at.Start:at.End])
}

// constant reports whether e consists only of numbers: 30 * 86400 is one number.
func constant(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return true
	case *parser.ParenExpr:
		return constant(e.Expr)
	case *parser.UnaryExpr:
		return constant(e.Expr)
	case *parser.BinaryExpr:
		return constant(e.LHS) && constant(e.RHS)
	}
	return false
}

func equality(e parser.Expr) bool {
	b, ok := e.(*parser.BinaryExpr)
	return ok && (b.Op == parser.EQLC || b.Op == parser.NEQ)
}

// below reports whether the node at the end of path is inside an expression for which such returns true.
func below(path []parser.Node, such func(parser.Expr) bool) bool {
	if len(path) == 0 {
		return false
	}
	e, ok := path[len(path)-1].(parser.Expr)
	return ok && such(e)
}

func shifted(number string, once bool) []string {
	both := []string{"(" + number + " * 0.5)", "(" + number + " * 2)"}
	if number == "0" {
		both = []string{"-1", "1"}
	}
	if once {
		return both[1:]
	}
	return both
}

func TestMutantsHaveOneMistakeEach(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		"up == 0":                                   {"up != 0", "up == 1"},
		"a >= 0.9":                                  {"a < 0.9", "a >= (0.9 * 0.5)", "a >= (0.9 * 2)"},
		"rate(a[5m]) > 0":                           {"rate(a[5m]) < 0", "rate(a[5m]) > -1", "rate(a[5m]) > 1"},
		"vector(30 * 60)":                           {"vector((30 * 60 * 0.5))", "vector((30 * 60 * 2))"},
		"a and ignoring (x) b":                      {"a"},
		"a unless\n  on () b\nor c":                 {"a or c", "a unless on () b", "c"},
		"sum without (x) (a) and (b or c)":          {"sum without (x) (a)", "sum without (x) (a) and (b)", "sum without (x) (a) and (c)"},
		"a / ignoring (x) group_left () b < bool c": {"a / ignoring (x) group_left () b > bool c"},
	} {
		got := map[string]bool{}
		for _, m := range mutants(t, rulefmt.Rule{Expr: expr}) {
			got[oneLine(m.Rule.Expr)] = true
		}
		wanted := map[string]bool{}
		for _, w := range want {
			wanted[w] = true
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
	timed := rulefmt.Rule{Expr: "up", For: model.Duration(5 * time.Minute), KeepFiringFor: model.Duration(time.Hour)}
	var got []string
	for _, m := range mutants(t, timed) {
		got = append(got, fmt.Sprint(m.Mistake, " ", m.Rule.For, " ", m.Rule.KeepFiringFor))
	}
	want := []string{"for: 5m -> 0s 0s 1h", "for: 5m -> 10m 10m 1h", "keep_firing_for: 1h -> 0s 5m 0s", "keep_firing_for: 1h -> 2h 5m 2h"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
}
