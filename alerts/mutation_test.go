//go:build mutation

package alerts

import (
	"errors"
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
	"go.yaml.in/yaml/v3"
)

// equivalents lists the mutants that no test can distinguish from the rule, with reasons.
const equivalents = "testdata/equivalents.yml"

type equivalent struct{ Rule, Mistake, Reason string }

// TestMutationsAreDetected makes one mistake in one rule at a time, and requires that a test of that rule fails. It runs the cases of promtool in
// this process. A case has only the rules that the broken one needs or feeds. No case runs after one that fails. For one alert:
// -run 'TestMutationsAreDetected/AvaxNodeDown'.
func TestMutationsAreDetected(t *testing.T) {
	excused := map[string]map[string]bool{} // by rule and mistake
	for _, e := range readEquivalents(t) {
		if e.Reason == "" {
			t.Errorf("%s: %s: %s: no reason", equivalents, e.Rule, e.Mistake)
		}
		if excused[e.Rule] == nil {
			excused[e.Rule] = map[string]bool{}
		}
		excused[e.Rule][e.Mistake] = true
	}
	known := map[string]map[string]bool{} // mistakes by rule; both files have a rule of some names
	var made, noticed atomic.Int64
	start := time.Now()
	t.Cleanup(func() {
		t.Logf("%d mistakes, %d detected, in %s", made.Load(), noticed.Load(), time.Since(start).Round(time.Second))
	})

	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		whole := suite.wholeCases(t)
		for _, r := range suite.rules {
			wrong := mutants(t, r.Rule)
			if known[r.name] == nil {
				known[r.name] = map[string]bool{}
			}
			for _, m := range wrong {
				known[r.name][m.Mistake] = true
			}
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				bench := suite.bench(t, r, whole)
				for _, m := range wrong {
					made.Add(1)
					err := bench.run(t, m.Rule)
					switch excuse := excused[r.name][m.Mistake]; {
					case err != nil && excuse:
						t.Errorf("%s: %s is detected by a test: remove it", equivalents, m.Mistake)
					case err != nil:
						noticed.Add(1)
					case !excuse:
						t.Errorf("no test of %s detects: %s", r.name, m.Mistake)
					}
				}
			})
		}
	}
	for rule, mistakes := range excused {
		for mistake := range mistakes {
			if !known[rule][mistake] {
				t.Errorf("%s: %s has no mistake %s: remove it", equivalents, rule, mistake)
			}
		}
	}
}

func readEquivalents(t *testing.T) (all []equivalent) {
	t.Helper()
	readYAML(t, equivalents, &all)
	return all
}

// bench is everything needed to test one rule.
type bench struct {
	rule  *rule
	fed   map[*rule]bool // the rule, and those that it feeds
	cases []benchCase    // fast cases that probably detect a mistake come first
}

// benchCase is one case, with the rules that its result depends on.
type benchCase struct {
	groups []group
	test   testFile
	live   bool // the rule may have a value in this case
	cost   int  // steps of all series
	whole  *wholeCase
	ready  *play
}

// wholeCase is one case with all rules that may have a value. All benches share its run without a mistake.
type wholeCase struct {
	testCase
	interval string // between evaluations
	live     map[*rule]bool
	played   func() (*play, error)
}

func (s *suite) wholeCases(t *testing.T) (all []wholeCase) {
	t.Helper()
	for _, file := range s.tests {
		for _, c := range file.Tests {
			live := s.live(t, c)
			one := benchCase{groups: s.only(live), test: testFile{EvaluationInterval: file.EvaluationInterval, Tests: []testCase{c}}}
			all = append(all, wholeCase{c, file.EvaluationInterval, live, sync.OnceValues(func() (*play, error) {
				p := one.parse(t)
				return p, p.run(t.Context(), nil, rulefmt.Rule{}, live)
			})})
		}
	}
	return all
}

// compares reports whether a rule that compares with the threshold may have a value.
func (w *wholeCase) compares(with *rule) bool {
	for r := range w.live {
		if r.Record != thresholdUsed && r.Alert != "AvaxThresholdInvalid" && (r.uses(with) || slices.ContainsFunc(r.selects, with.isUsedAs)) {
			return true
		}
	}
	return false
}

// bench selects the cases and rules that the rule feeds, and their inputs.
func (s *suite) bench(t *testing.T, broken *rule, whole []wholeCase) *bench {
	t.Helper()
	b := &bench{rule: broken}
	fed := map[*rule]bool{broken: true}
	s.grow(fed, func(of, candidate *rule) bool {
		if broken.Record == threshold && of.Record == thresholdUsed {
			return slices.ContainsFunc(candidate.selects, broken.isUsedAs)
		}
		return candidate.uses(of) || of.Alert != "" && of.Alert == candidate.Alert // a case expects all rules of one name
	})
	b.fed = fed
	needed := maps.Clone(fed)
	s.grow(needed, func(of, candidate *rule) bool { return of.uses(candidate) })

	alerts := map[string]bool{}
	for r := range fed {
		if r.Alert != "" {
			alerts[r.Alert] = true
		}
	}
	for i := range whole {
		w, c := &whole[i], whole[i].testCase
		if broken.Record == threshold && !w.compares(broken) {
			continue
		}
		c.Alerts = slices.DeleteFunc(slices.Clone(c.Alerts), func(a alertCase) bool { return !alerts[a.Alertname] })
		c.Queries = slices.DeleteFunc(slices.Clone(c.Queries), func(q queryCase) bool {
			for r := range fed {
				if q.asks(t, r) {
					return false
				}
			}
			return true
		})
		for i, q := range c.Queries {
			c.Queries[i] = q.narrow(t, alerts)
		}
		if len(c.Alerts)+len(c.Queries) == 0 {
			continue
		}
		// A mistake may produce values in what the rule feeds. Other rules do not change.
		may := maps.Clone(needed)
		maps.DeleteFunc(may, func(r *rule, _ bool) bool { return !w.live[r] && !fed[r] })
		one := benchCase{groups: s.only(may), live: w.live[broken], cost: c.cost(t, w.interval), whole: w}
		one.test = testFile{EvaluationInterval: w.interval, Tests: []testCase{c}}
		b.cases = append(b.cases, one)
	}
	slices.SortStableFunc(b.cases, func(x, y benchCase) int {
		if x.live != y.live {
			if x.live {
				return -1
			}
			return 1
		}
		return x.cost - y.cost
	})
	return b
}

// cost returns the approximate number of samples that the case reads.
func (c testCase) cost(t *testing.T, interval string) int {
	t.Helper()
	seconds := func(text string) int {
		d, err := model.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return int(time.Duration(d).Seconds())
	}
	last := 0
	for _, a := range c.Alerts {
		last = max(last, seconds(a.EvalTime))
	}
	for _, q := range c.Queries {
		last = max(last, seconds(q.EvalTime))
	}
	return last / seconds(interval) * len(c.InputSeries)
}

// narrow replaces any name in a query for ALERTS by the given names and their samples: the bench has no other alerts.
func (q queryCase) narrow(t *testing.T, names map[string]bool) queryCase {
	t.Helper()
	expr, err := promQL.ParseExpr(q.Expr)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := expr.(*parser.VectorSelector)
	if !ok || v.Name != "ALERTS" || slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == labels.AlertName }) {
		return q
	}
	v.LabelMatchers = append(v.LabelMatchers,
		labels.MustNewMatcher(labels.MatchRegexp, labels.AlertName, strings.Join(slices.Sorted(maps.Keys(names)), "|")))
	q.Expr = v.String()
	if q.ExpSamples.Kind == 0 {
		return q
	}
	type sample struct {
		Labels string    `yaml:"labels"`
		Value  yaml.Node `yaml:"value"`
	}
	var samples []sample
	err = q.ExpSamples.Decode(&samples)
	samples = slices.DeleteFunc(samples, func(s sample) bool {
		for name := range names {
			if strings.Contains(s.Labels, fmt.Sprintf("alertname=%q", name)) {
				return false
			}
		}
		return true
	})
	var kept yaml.Node
	if err := errors.Join(err, kept.Encode(samples)); err != nil {
		t.Fatal(err)
	}
	q.ExpSamples = kept
	return q
}

// run tests a changed rule, and returns the failure of the first failing case.
func (b *bench) run(t *testing.T, given rulefmt.Rule) error {
	t.Helper()
	for i := range b.cases {
		c := &b.cases[i]
		if c.ready == nil {
			whole, err := c.whole.played()
			if err != nil {
				t.Fatalf("%s fails without a mistake: %v", c.test.Tests[0].Name, err)
			}
			c.ready = c.parse(t)
			c.ready.known, c.ready.whole = whole.known, whole.whole
		}
		if err := c.ready.run(t.Context(), b.rule, given, b.fed); err != nil {
			return fmt.Errorf("%s: %w", c.test.Tests[0].Name, err)
		}
	}
	return nil
}
