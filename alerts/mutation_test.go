//go:build mutation

package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/e2e/stack"
)

// equivalents lists the mutants that no test can tell from the rule, with the reason for each.
const equivalents = "testdata/equivalents.yml"

type equivalent struct{ Rule, Mistake, Reason string }

// TestEveryMistakeIsNoticed makes one mistake in one rule at a time, and demands that a promtool test of that rule fails. A run of promtool
// sees only the rules that the broken one needs or feeds, and only their cases. For one alert alone: -run 'TestEveryMistakeIsNoticed/AvaxNodeDown'.
func TestEveryMistakeIsNoticed(t *testing.T) {
	promtool := stack.Binary(t, "promtool")
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
	known := map[string]bool{}
	var made, noticed atomic.Int64
	start := time.Now()
	t.Cleanup(func() {
		t.Logf("%d mistakes, %d noticed, in %s", made.Load(), noticed.Load(), time.Since(start).Round(time.Second))
	})

	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		for _, r := range suite.rules {
			known[r.name] = true
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				bench := suite.bench(t, r)
				if out, err := bench.run(t, promtool, r.Rule); err != nil {
					t.Fatalf("fails its tests unbroken: %v\n%s", err, out)
				}
				possible := map[string]bool{}
				for _, m := range mutants(t, r.Rule) {
					possible[m.Mistake] = true
					made.Add(1)
					out, err := bench.run(t, promtool, m.Rule)
					switch excuse := excused[r.name][m.Mistake]; {
					case err != nil && !bytes.Contains(out, []byte("FAILED")):
						t.Errorf("%s: %v\n%s", m.Mistake, err, out)
					case err != nil && excuse:
						t.Errorf("%s: %s is noticed by a test: take it out", equivalents, m.Mistake)
					case err != nil:
						noticed.Add(1)
					case !excuse:
						t.Errorf("no test of %s notices: %s", r.name, m.Mistake)
					}
				}
				for mistake := range excused[r.name] {
					if !possible[mistake] {
						t.Errorf("%s: there is no mistake %s: take it out", equivalents, mistake)
					}
				}
			})
		}
	}
	for rule := range excused {
		if !known[rule] {
			t.Errorf("%s: there is no rule %s: take it out", equivalents, rule)
		}
	}
}

func readEquivalents(t *testing.T) (all []equivalent) {
	t.Helper()
	readYAML(t, equivalents, &all)
	return all
}

// A bench is what promtool needs to try one rule.
type bench struct {
	rule   *rule
	groups []group
	tests  []testFile
}

// bench cuts the suite down to what the rule feeds, and to what that needs.
func (s *suite) bench(t *testing.T, broken *rule) *bench {
	t.Helper()
	b := &bench{rule: broken}
	fed := map[*rule]bool{broken: true}
	s.grow(fed, func(of, candidate *rule) bool {
		return candidate.uses(of) || of.Alert != "" && of.Alert == candidate.Alert // a case demands all of one name
	})
	needed := maps.Clone(fed)
	s.grow(needed, func(of, candidate *rule) bool { return of.uses(candidate) })

	alerts := map[string]bool{}
	for r := range fed {
		if r.Alert != "" {
			alerts[r.Alert] = true
		}
	}
	var names []string
	b.groups = s.only(needed)
	for _, g := range b.groups {
		names = append(names, g.Name)
	}
	for _, file := range s.tests {
		reduced := testFile{RuleFiles: []string{"rules.yml"}, EvaluationInterval: file.EvaluationInterval, GroupEvalOrder: names}
		for _, c := range file.Tests {
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
			if len(c.Alerts)+len(c.Queries) > 0 {
				reduced.Tests = append(reduced.Tests, c)
			}
		}
		if len(reduced.Tests) > 0 {
			b.tests = append(b.tests, reduced)
		}
	}
	return b
}

// narrow returns a query for ALERTS of any name as one for the given names, with their samples alone: the bench has no other alerts.
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

// run tries the rule as it is given in the place of the one that the bench is for, and returns what promtool said; the error is nil if no
// case failed.
func (b *bench) run(t *testing.T, promtool string, given rulefmt.Rule) ([]byte, error) {
	if len(b.tests) == 0 {
		return nil, nil // nothing would notice
	}
	dir := t.TempDir()
	if err := writeRules(filepath.Join(dir, "rules.yml"), b.groups, func(r *rule) rulefmt.Rule {
		if r == b.rule {
			return given
		}
		return r.Rule
	}); err != nil {
		return nil, err
	}
	args := []string{"test", "rules"}
	for i, tests := range b.tests {
		name := filepath.Join(dir, fmt.Sprintf("%d_test.yml", i))
		if err := writeYAML(name, tests); err != nil {
			return nil, err
		}
		args = append(args, name)
	}
	command := exec.CommandContext(t.Context(), promtool, args...)
	command.Env = append(os.Environ(), "TMPDIR="+dir, "GOMAXPROCS=1")
	return command.CombinedOutput()
}
