//go:build mutation

package alerts

import (
	"bytes"
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

	"github.com/prometheus/common/model"
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

// A suite is a file of rules with the files of tests that load it.
type suite struct {
	groups []group
	rules  []*rule // of all groups
	tests  []testFile
}

type group struct {
	rulefmt.RuleGroup
	rules []*rule
}

type rule struct {
	rulefmt.Rule
	name    string                   // an alert with the values of its labels, or the series that is recorded
	feeds   labels.Labels            // the series that it makes, as far as the rule tells
	selects []*parser.VectorSelector // the series that it asks for
}

// A testFile is one of promtool's. What is not looked at stays as it is written.
type testFile struct {
	RuleFiles          []string   `yaml:"rule_files"`
	EvaluationInterval string     `yaml:"evaluation_interval,omitempty"`
	GroupEvalOrder     []string   `yaml:"group_eval_order,omitempty"`
	Tests              []testCase `yaml:"tests"`
}

type testCase struct {
	Name        string `yaml:"name,omitempty"`
	Interval    string `yaml:"interval,omitempty"`
	InputSeries []struct {
		Series, Values string
	} `yaml:"input_series"`
	Alerts  []alertCase `yaml:"alert_rule_test,omitempty"`
	Queries []queryCase `yaml:"promql_expr_test,omitempty"`
}

type alertCase struct {
	EvalTime  string    `yaml:"eval_time"`
	Alertname string    `yaml:"alertname"`
	ExpAlerts yaml.Node `yaml:"exp_alerts,omitempty"`
}

type queryCase struct {
	Expr       string    `yaml:"expr"`
	EvalTime   string    `yaml:"eval_time"`
	ExpSamples yaml.Node `yaml:"exp_samples,omitempty"`
}

func readSuite(t *testing.T, file string) *suite {
	t.Helper()
	s := new(suite)
	var all rulefmt.RuleGroups
	readYAML(t, file, &all)
	for _, g := range all.Groups {
		read := group{RuleGroup: g}
		for _, fields := range g.Rules {
			r := &rule{Rule: fields, selects: selectors(t, fields.Expr)}
			made := labels.NewBuilder(labels.FromMap(fields.Labels))
			if fields.Alert != "" {
				made.Set(model.MetricNameLabel, "ALERTS").Set(labels.AlertName, fields.Alert)
				r.name = strings.Join(append([]string{fields.Alert}, slices.Sorted(maps.Values(fields.Labels))...), " ")
			} else {
				made.Set(model.MetricNameLabel, fields.Record)
				r.name = fields.Record + labels.FromMap(fields.Labels).String()
			}
			r.feeds = made.Labels()
			read.rules = append(read.rules, r)
		}
		s.groups = append(s.groups, read)
		s.rules = append(s.rules, read.rules...)
	}
	files, err := filepath.Glob("*_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var tests testFile
		readYAML(t, f, &tests)
		if slices.Contains(tests.RuleFiles, file) {
			s.tests = append(s.tests, tests)
		}
	}
	return s
}

// uses reports whether r asks for a series that other makes.
func (r *rule) uses(other *rule) bool {
	return slices.ContainsFunc(r.selects, func(v *parser.VectorSelector) bool { return asks(v, other) })
}

// asks reports whether the selector may find what r makes: labels that the rule does not set may have any value.
func asks(v *parser.VectorSelector, r *rule) bool {
	return !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
		made := r.feeds.Get(m.Name)
		if m.Name == model.MetricNameLabel && made == "ALERTS" && m.Matches("ALERTS_FOR_STATE") {
			return false
		}
		return made != "" && !m.Matches(made)
	})
}

// grow adds the rules that next finds for one of set, until there are no more.
func (s *suite) grow(set map[*rule]bool, next func(of, candidate *rule) bool) {
	for grown := true; grown; {
		grown = false
		for _, candidate := range s.rules {
			if set[candidate] {
				continue
			}
			for of := range set {
				if next(of, candidate) {
					set[candidate], grown = true, true
					break
				}
			}
		}
	}
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
	for _, g := range s.groups {
		g.rules = slices.DeleteFunc(slices.Clone(g.rules), func(r *rule) bool { return !needed[r] })
		if len(g.rules) > 0 {
			b.groups = append(b.groups, g)
			names = append(names, g.Name)
		}
	}
	for _, file := range s.tests {
		reduced := testFile{RuleFiles: []string{"rules.yml"}, EvaluationInterval: file.EvaluationInterval, GroupEvalOrder: names}
		for _, c := range file.Tests {
			c.Alerts = slices.DeleteFunc(slices.Clone(c.Alerts), func(a alertCase) bool { return !alerts[a.Alertname] })
			c.Queries = slices.DeleteFunc(slices.Clone(c.Queries), func(q queryCase) bool {
				return !slices.ContainsFunc(selectors(t, q.Expr), func(v *parser.VectorSelector) bool {
					for r := range fed {
						if asks(v, r) {
							return true
						}
					}
					return false
				})
			})
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

// run tries the rule as it is given in the place of the one that the bench is for, and returns what promtool said; the error is nil if no
// case failed.
func (b *bench) run(t *testing.T, promtool string, given rulefmt.Rule) ([]byte, error) {
	if len(b.tests) == 0 {
		return nil, nil // nothing would notice
	}
	dir := t.TempDir()
	var all rulefmt.RuleGroups
	for _, g := range b.groups {
		g.Rules = nil
		for _, r := range g.rules {
			if r == b.rule {
				g.Rules = append(g.Rules, given)
			} else {
				g.Rules = append(g.Rules, r.Rule)
			}
		}
		all.Groups = append(all.Groups, g.RuleGroup)
	}
	if err := writeYAML(filepath.Join(dir, "rules.yml"), all); err != nil {
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

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // what is not known here would be lost
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func writeYAML(file string, content any) error {
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
