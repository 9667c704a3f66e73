package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// equivalents lists the mutants that no test can distinguish from the rule, with reasons.
const equivalents = "testdata/equivalents.yml"

// TestMutationsAreDetected makes one mistake in one rule at a time, and requires that a case of promtool's tests fails. For one alert:
// -run 'TestMutationsAreDetected/AvaxNodeDown'.
func TestMutationsAreDetected(t *testing.T) {
	testworld.Full(t)
	var list []struct{ Rule, Mistake, Reason string }
	readYAML(t, equivalents, &list)
	excused := map[[2]string]bool{} // by rule and mistake; true once made
	for _, e := range list {
		if e.Reason == "" {
			t.Errorf("%s: %s: %s: no reason", equivalents, e.Rule, e.Mistake)
		}
		excused[[2]string{e.Rule, e.Mistake}] = false
	}
	var made, detected atomic.Int64
	t.Cleanup(func() { t.Logf("%d mistakes, %d detected", made.Load(), detected.Load()) })
	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		plays := suite.plays(t)
		for _, r := range suite.rules {
			wrong := mutants(t, r.Rule)
			excuse := make([]bool, len(wrong))
			for i, m := range wrong {
				key := [2]string{r.name, m.Mistake}
				if _, excuse[i] = excused[key]; excuse[i] {
					excused[key] = true
				}
			}
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				cases := suite.casesOf(t, r, plays)
				for i, m := range wrong {
					made.Add(1)
					found := slices.ContainsFunc(cases, func(c mutationCase) bool { return c.detects(t, r, m.Rule) })
					if found {
						detected.Add(1)
					}
					switch {
					case found && excuse[i]:
						t.Errorf("%s: %s is detected by a test: remove it", equivalents, m.Mistake)
					case !found && !excuse[i]:
						t.Errorf("no test of %s detects: %s", r.name, m.Mistake)
					}
				}
			})
		}
	}
	for key, made := range excused {
		if !made {
			t.Errorf("%s: %s has no mistake %s: remove it", equivalents, key[0], key[1])
		}
	}
}

// The cases pass. Promtool plays them too: see TestPromtoolTestsPass.
func TestCasesOfTheRulesPass(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		for _, tests := range suite.tests {
			t.Run(strings.TrimSuffix(tests.name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				for _, c := range tests.Tests {
					e := must.Get(c.engine(t, withoutAnnotations(suite.needed(t, c, false))))(t)
					must.Do(t, e.Run(0, c.last()))
					if err := c.fails(e); err != nil {
						t.Errorf("%s: %v", c.Name, err)
					}
				}
			})
		}
	}
}

func withoutAnnotations(rules []*rule) (given []rulefmt.Rule) {
	for _, r := range rules {
		fields := r.Rule
		fields.Annotations = nil
		given = append(given, fields)
	}
	return given
}

// mutationCase is a case whose results may depend on a rule, with the rules that it needs.
type mutationCase struct {
	testCase
	*play
	cost int
}

// play is a whole case with the rules that it needs. Its engine has evaluated them.
type play struct {
	rules  []*rule
	end    time.Duration
	engine func() (*testworld.Engine, error)
}

// plays returns the plays of all cases, by test file and position.
func (s *suite) plays(t *testing.T) map[string][]*play {
	t.Helper()
	all := map[string][]*play{}
	for _, file := range s.tests {
		for _, c := range file.Tests {
			p := &play{rules: s.needed(t, c, false), end: c.last()}
			p.engine = sync.OnceValues(func() (*testworld.Engine, error) {
				e, err := c.engine(t, withoutAnnotations(p.rules))
				return e, cmp.Or(err, e.Run(0, p.end))
			})
			all[file.name] = append(all[file.name], p)
		}
	}
	return all
}

// casesOf returns the cases whose results may depend on the rule, each with only the expectations that do, and the cheapest first.
func (s *suite) casesOf(t *testing.T, of *rule, plays map[string][]*play) (cases []mutationCase) {
	t.Helper()
	fed := map[*rule]bool{of: true}
	for grown := true; grown; {
		grown = false
		for _, r := range s.rules {
			for input := range fed {
				if !fed[r] && input.mayBe(r.selects) {
					fed[r], grown = true, true
				}
			}
		}
	}
	alerts := map[string]bool{}
	for r := range fed {
		if r.Alert != "" {
			alerts[r.Alert] = true
		}
	}
	for _, file := range s.tests {
		for i, c := range file.Tests {
			one := mutationCase{play: plays[file.name][i]}
			if !slices.Contains(one.rules, of) {
				continue
			}
			c.Alerts = slices.DeleteFunc(slices.Clone(c.Alerts), func(a alertCase) bool { return !alerts[a.Alertname] })
			c.Queries = slices.Clone(c.Queries)
			for q := range c.Queries {
				c.Queries[q].narrow(t, alerts)
			}
			c.Queries = slices.DeleteFunc(c.Queries, func(q queryCase) bool {
				selects := reads(t, q.Expr)
				for r := range fed {
					if r.mayBe(selects) {
						return false
					}
				}
				return true
			})
			if len(c.Alerts)+len(c.Queries) == 0 {
				continue
			}
			one.testCase, one.cost = c, int(one.end/c.every)*len(one.rules)
			cases = append(cases, one)
		}
	}
	slices.SortStableFunc(cases, func(a, b mutationCase) int { return a.cost - b.cost })
	if alert := of.Labels["alert"]; alert != "" { // a threshold: the cases of its alert are the most likely to depend on it
		slices.SortStableFunc(cases, func(a, b mutationCase) int { return a.mentions(alert) - b.mentions(alert) })
	}
	return cases
}

// mentions returns 0 if the case expects something of the alert, and otherwise 1.
func (c mutationCase) mentions(alert string) int {
	if slices.ContainsFunc(c.Alerts, func(a alertCase) bool { return a.Alertname == alert }) ||
		slices.ContainsFunc(c.Queries, func(q queryCase) bool { return strings.Contains(q.Expr, alert) }) {
		return 0
	}
	return 1
}

// narrow adds the names to a selector of ALERTS without a name, and removes the other expected alerts.
func (q *queryCase) narrow(t *testing.T, names map[string]bool) {
	t.Helper()
	expr := must.Get(testworld.PromQL.ParseExpr(q.Expr))(t)
	v, ok := expr.(*parser.VectorSelector)
	if !ok || v.Name != "ALERTS" || slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == labels.AlertName }) {
		return
	}
	v.LabelMatchers = append(v.LabelMatchers,
		labels.MustNewMatcher(labels.MatchRegexp, labels.AlertName, strings.Join(slices.Sorted(maps.Keys(names)), "|")))
	q.Expr = v.String()
	q.ExpSamples = slices.DeleteFunc(slices.Clone(q.ExpSamples), func(s expSample) bool {
		of := must.Get(testworld.PromQL.ParseMetric(s.Labels))(t)
		return !names[of.Get(labels.AlertName)]
	})
}

// detects returns whether the case fails with another rule in place of one.
func (c mutationCase) detects(t *testing.T, of *rule, other rulefmt.Rule) bool {
	t.Helper()
	other.Annotations = nil
	right := must.Get(c.play.engine())(t)
	e, err := right.With(slices.Index(c.rules, of), other, 0, c.end)
	return err != nil || c.fails(e) != nil
}

// fails returns the first difference of the results from what the case expects.
func (c testCase) fails(e *testworld.Engine) error {
	for at := time.Duration(0); at <= c.last(); at += c.every {
		now := func(d model.Duration) bool { return at <= time.Duration(d) && time.Duration(d) < at+c.every }
		for _, a := range c.Alerts {
			if !now(a.EvalTime) {
				continue
			}
			var got, want []string
			for _, r := range e.Alerts() {
				for _, active := range e.Active(r, at) {
					if r.Name == a.Alertname && active.State == promrules.StateFiring {
						got = append(got, active.Labels.String())
					}
				}
			}
			for _, exp := range a.ExpAlerts {
				want = append(want, labels.NewBuilder(labels.FromMap(exp.Labels)).Set(labels.AlertName, a.Alertname).Labels().String())
			}
			if err := differ(a.Alertname, at, got, want); err != nil {
				return err
			}
		}
		for _, q := range c.Queries {
			if !now(q.EvalTime) {
				continue
			}
			found, err := e.Query(q.Expr, time.Duration(q.EvalTime))
			if err != nil {
				return err
			}
			var got, want []string
			for _, s := range found {
				got = append(got, fmt.Sprint(s.Metric, s.F))
			}
			for _, exp := range q.ExpSamples {
				var value float64
				of, err := testworld.PromQL.ParseMetric(exp.Labels)
				if err == nil {
					err = exp.Value.Decode(&value)
				}
				if err != nil {
					return err
				}
				want = append(want, fmt.Sprint(of, value))
			}
			if err := differ(q.Expr, at, got, want); err != nil {
				return err
			}
		}
	}
	return nil
}

func differ(what string, at time.Duration, got, want []string) error {
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s at %v:\n  got  %s\n  want %s", what, at, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
}
