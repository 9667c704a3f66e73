package compile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The source means the rules that were written by hand: the same syntax trees, labels, durations and texts.
func TestSourceMeansTheRules(t *testing.T) {
	type file struct {
		Groups []struct{ Rules []rulefmt.Rule }
	}
	var want, got file
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("../rules.yml"))(t), &want))
	groups := must.Get(Rules(os.DirFS("../source"), Options{}))(t)
	must.Do(t, yaml.Unmarshal(must.Get(Write("", groups))(t), &got))
	byKey := map[string][]rulefmt.Rule{}
	for _, g := range got.Groups {
		for _, r := range g.Rules {
			byKey[keyOf(r)] = append(byKey[keyOf(r)], r)
		}
	}
	compared := 0
	for _, g := range want.Groups {
		for _, r := range g.Rules {
			all := byKey[keyOf(r)]
			if len(all) == 0 {
				t.Errorf("no rule %s", keyOf(r))
				continue
			}
			byKey[keyOf(r)] = all[1:]
			compared++
			if a, b := normal(t, r), normal(t, all[0]); a != b {
				t.Errorf("%s:\n%s\n%s", keyOf(r), a, b)
			}
		}
	}
	for key, rest := range byKey {
		if len(rest) > 0 {
			t.Errorf("one rule more: %s", key)
		}
	}
	t.Logf("%d rules are equal", compared)
}

func keyOf(r rulefmt.Rule) string { return fmt.Sprint(r.Alert, r.Record, r.Labels) }

// normal returns a rule without differences that mean nothing: the order of labels, quotes in templates, and urlquery of a node ID.
func normal(t *testing.T, r rulefmt.Rule) string {
	t.Helper()
	expr := must.Get(promQL.ParseExpr(r.Expr))(t)
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch e := n.(type) {
		case *parser.AggregateExpr:
			slices.Sort(e.Grouping)
		case *parser.BinaryExpr:
			if e.VectorMatching != nil {
				slices.Sort(e.VectorMatching.MatchingLabels)
			}
		case *parser.VectorSelector:
			slices.SortFunc(e.LabelMatchers, func(a, b *labels.Matcher) int { return strings.Compare(a.Name, b.Name) })
		}
		return nil
	})
	text := fmt.Sprint(expr, r.For, r.KeepFiringFor)
	for _, name := range sortedKeys(r.Annotations) {
		text += "\n" + strings.NewReplacer(" | urlquery", "", `"`, "`").Replace(r.Annotations[name])
	}
	return text
}
