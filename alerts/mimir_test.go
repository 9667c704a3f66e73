package alerts

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts/compile"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// groupsOf returns the groups of a rule file.
func groupsOf(t *testing.T, text []byte) []rulefmt.RuleGroup {
	t.Helper()
	var file rulefmt.RuleGroups
	must.Do(t, yaml.Unmarshal(text, &file))
	return file.Groups
}

// text tells rules apart.
func textOf(r rulefmt.Rule) string {
	return fmt.Sprint(r.Record, r.Alert, r.Expr, r.For, r.KeepFiringFor, r.Labels, r.Annotations)
}

func TestMimirsGroupsHaveTheSameRules(t *testing.T) {
	t.Parallel()
	compiled := func(name string, labels ...string) *compile.File {
		return must.Get(Compiled(name, Options{Labels: labels}))(t)
	}
	for name, f := range map[string]*compile.File{
		"rules": compiled(RulesFile), "rules with labels": compiled(RulesFile, "owner", "team"), "companion": compiled(CompanionFile),
	} {
		file, split := must.Get(f.YAML())(t), must.Get(Mimir(f).YAML())(t)
		want, names := map[string]int{}, map[string]bool{}
		for _, g := range groupsOf(t, file) {
			for _, r := range g.Rules {
				want[textOf(r)]++
			}
		}
		groups := groupsOf(t, split)
		for _, g := range groups {
			if len(g.Rules) > 20 || names[g.Name] {
				t.Errorf("%s: group %s has %d rules, or is there twice", name, g.Name, len(g.Rules))
			}
			names[g.Name] = true
			for _, r := range g.Rules {
				want[textOf(r)]--
			}
		}
		if len(groups) > 70 {
			t.Errorf("%s: %d groups, Mimir accepts 70", name, len(groups))
		}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		if len(want) > 0 {
			t.Errorf("%s: missing or added: %v", name, want)
		}
	}
}

// Mimir evaluates groups in any order. In the worst one, each record of another group is one evaluation old. Each alert still fires once, and
// begins and ends at most three evaluations later than with the groups of rules.yml.
func TestMimirsGroupsHaveTheSameAlerts(t *testing.T) {
	t.Parallel()
	split := must.Get(Mimir(must.Get(Compiled(RulesFile, Options{}))(t)).YAML())(t)
	place := map[string]int{} // a later group, which is evaluated earlier, has a lower number
	groups := groupsOf(t, split)
	slices.Reverse(groups)
	for i, g := range groups {
		for j, r := range g.Rules {
			place[fmt.Sprint(r.Record, r.Alert, r.Expr, r.Labels)] = 100*i + j
		}
	}
	suite := readSuite(t, "rules.yml")
	for n, r := range suite.rules {
		if r.Alert == "" || !r.deadline() || aboutMonitoring[r.Alert] || testing.Short() && n%10 != 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			quiet := fault{lost: never, off: never}
			for _, s := range suite.storiesOf(t, r) {
				calm := s.play(t, paces[0], quiet)
				key := steady(calm, s.horizon)
				if key == "" {
					continue
				}
				slices.SortFunc(s.rules, func(a, b rulefmt.Rule) int {
					return place[fmt.Sprint(a.Record, a.Alert, a.Expr, a.Labels)] - place[fmt.Sprint(b.Record, b.Alert, b.Expr, b.Labels)]
				})
				got, want := s.play(t, paces[0], quiet)[key], calm[key]
				late := 3 * paces[0].evaluate
				if len(got) != 1 || (got[0].from-want[0].from).Abs() > late || (got[0].to-want[0].to).Abs() > late {
					t.Errorf("%s: %v, want %v", s.name, got, want)
				}
				return
			}
		})
	}
}
