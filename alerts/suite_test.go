package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// annotationTests tests the rules with annotations; the other files test them without.
const annotationTests = "annotations_test.yml"

// thresholdUsed records each threshold with its labels.
const thresholdUsed = threshold + "_used"

var recordedName = regexp.MustCompile(`avax:\w+`)

// suite is a rules file and its test files.
type suite struct {
	groups      []group
	rules       []*rule // of all groups
	tests       []testFile
	annotations testFile // the annotationTests, if they load the file
}

type group struct {
	rulefmt.RuleGroup
	rules []*rule
}

type rule struct {
	rulefmt.Rule
	name    string                   // an alert with the values of its labels, or the recorded series
	feeds   labels.Labels            // the series that it produces, as far as the rule defines it
	parsed  parser.Expr              // the expression
	selects []*parser.VectorSelector // the series that it reads
	shows   []string                 // recorded series in its annotations
}

// testFile is a test file of promtool. Unknown parts are kept unchanged.
type testFile struct {
	name               string
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

// asks reports whether the query may match the result of r.
func (q queryCase) asks(t *testing.T, r *rule) bool {
	t.Helper()
	return slices.ContainsFunc(selectors(t, q.Expr), func(v *parser.VectorSelector) bool { return asks(v, r) })
}

func readSuite(t *testing.T, file string) *suite {
	t.Helper()
	s := new(suite)
	var all rulefmt.RuleGroups
	readYAML(t, file, &all)
	for _, g := range all.Groups {
		read := group{RuleGroup: g}
		for _, fields := range g.Rules {
			parsed, err := promQL.ParseExpr(fields.Expr)
			if err != nil {
				t.Fatalf("%s: %v", fields.Expr, err)
			}
			r := &rule{Rule: fields, parsed: parsed, selects: selectors(t, fields.Expr)}
			for _, text := range fields.Annotations {
				r.shows = append(r.shows, recordedName.FindAllString(text, -1)...)
			}
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
		tests.name = f
		switch {
		case !slices.Contains(tests.RuleFiles, file):
		case f == annotationTests:
			s.annotations = tests
		default:
			s.tests = append(s.tests, tests)
		}
	}
	return s
}

// uses reports whether r reads a series of other.
func (r *rule) uses(other *rule) bool {
	return slices.ContainsFunc(r.selects, func(v *parser.VectorSelector) bool { return asks(v, other) })
}

// isUsedAs reports whether the selector matches the thresholdUsed of threshold r.
func (r *rule) isUsedAs(v *parser.VectorSelector) bool {
	return v.Name == thresholdUsed && !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
		return m.Name != model.MetricNameLabel && !m.Matches(r.feeds.Get(m.Name))
	})
}

// asks reports whether the selector may match the result of r. Labels that the rule does not set may have any value.
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

// only returns the groups with those of their rules that are needed.
func (s *suite) only(needed map[*rule]bool) (groups []group) {
	for _, g := range s.groups {
		g.rules = slices.DeleteFunc(slices.Clone(g.rules), func(r *rule) bool { return !needed[r] })
		if len(g.rules) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// cut writes each case of a test file to a separate file in dir, with only the rules that its result depends on, and returns the paths.
// promtool evaluates every rule of a file at every step, so this takes a tenth of the time.
func (s *suite) cut(t *testing.T, tests testFile, dir string) (files []string) {
	t.Helper()
	annotated, write := tests.name == annotationTests, writeRules
	if annotated {
		write = writeAnnotatedRules
	}
	for i, c := range tests.Tests {
		needed := map[*rule]bool{}
		for _, r := range s.rules {
			if slices.ContainsFunc(c.Alerts, func(a alertCase) bool { return a.Alertname == r.Alert }) ||
				slices.ContainsFunc(c.Queries, func(q queryCase) bool { return q.asks(t, r) }) {
				needed[r] = true
			}
		}
		live := s.live(t, c)
		maps.DeleteFunc(needed, func(r *rule, _ bool) bool { return !live[r] })
		var queried []*parser.VectorSelector
		for _, q := range c.Queries {
			queried = append(queried, selectors(t, q.Expr)...)
		}
		s.grow(needed, func(of, candidate *rule) bool {
			switch {
			case !live[candidate]:
				return false
			case of.Record == thresholdUsed && candidate.Record == threshold:
				for r := range needed {
					if slices.ContainsFunc(r.selects, candidate.isUsedAs) {
						return true
					}
				}
				return slices.ContainsFunc(queried, candidate.isUsedAs)
			case annotated && slices.Contains(of.shows, candidate.Record):
				return true
			}
			return of.uses(candidate)
		})
		groups := s.only(needed)
		one := testFile{RuleFiles: []string{fmt.Sprintf("%d.yml", i)}, EvaluationInterval: tests.EvaluationInterval, Tests: []testCase{c}}
		for _, g := range groups {
			one.GroupEvalOrder = append(one.GroupEvalOrder, g.Name)
		}
		file := filepath.Join(dir, fmt.Sprintf("%d_test.yml", i))
		if err := errors.Join(writeYAML(file, one), write(filepath.Join(dir, one.RuleFiles[0]), groups, func(r *rule) rulefmt.Rule { return r.Rule })); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// whole writes the test file tests, and all rules of the rules file to which it belongs, to dir. It returns the path of the test file.
func (s *suite) whole(t *testing.T, tests testFile, dir string) string {
	t.Helper()
	text, err := os.ReadFile(tests.name)
	file := filepath.Join(dir, tests.name)
	err = errors.Join(err, os.WriteFile(file, text, 0o600),
		writeRules(filepath.Join(dir, tests.RuleFiles[0]), s.groups, func(r *rule) rulefmt.Rule { return r.Rule }))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// live returns the rules that may have a result for the input of the case. The others never have one.
func (s *suite) live(t *testing.T, c testCase) map[*rule]bool {
	t.Helper()
	input := map[string]bool{}
	for _, series := range c.InputSeries {
		name, _, _ := strings.Cut(series.Series, "{")
		input[strings.TrimSpace(name)] = true
	}
	live := map[*rule]bool{}
	found := func(v *parser.VectorSelector) bool {
		if v.Name == "" || input[v.Name] {
			return true
		}
		for r := range live {
			if asks(v, r) {
				return true
			}
		}
		return false
	}
	for grown := true; grown; {
		grown = false
		for _, r := range s.rules {
			if !live[r] && mayYield(r.parsed, found) {
				live[r], grown = true, true
			}
		}
	}
	return live
}

// mayYield reports whether the expression may have a value; found reports it for its selectors.
func mayYield(e parser.Expr, found func(*parser.VectorSelector) bool) bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return found(e)
	case *parser.MatrixSelector:
		return mayYield(e.VectorSelector, found)
	case *parser.SubqueryExpr:
		return mayYield(e.Expr, found)
	case *parser.ParenExpr:
		return mayYield(e.Expr, found)
	case *parser.UnaryExpr:
		return mayYield(e.Expr, found)
	case *parser.AggregateExpr:
		return mayYield(e.Expr, found)
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return mayYield(e.LHS, found) || mayYield(e.RHS, found)
		case parser.LUNLESS:
			return mayYield(e.LHS, found)
		}
		return mayYield(e.LHS, found) && mayYield(e.RHS, found)
	case *parser.Call:
		switch e.Func.Name {
		case "absent", "absent_over_time", "scalar": // they have a value if their argument has none
			return true
		}
		for _, arg := range e.Args {
			if !mayYield(arg, found) {
				return false
			}
		}
	}
	return true
}

// writeRules writes the groups as a rules file, each rule as given, without annotations: promtool would require them in each case.
func writeRules(file string, groups []group, given func(*rule) rulefmt.Rule) error {
	return writeAnnotatedRules(file, groups, func(r *rule) rulefmt.Rule {
		plain := given(r)
		plain.Annotations = nil
		return plain
	})
}

// writeAnnotatedRules writes the groups as a rules file, each rule as given.
func writeAnnotatedRules(file string, groups []group, given func(*rule) rulefmt.Rule) error {
	var all rulefmt.RuleGroups
	for _, g := range groups {
		g.Rules = nil
		for _, r := range g.rules {
			g.Rules = append(g.Rules, given(r))
		}
		all.Groups = append(all.Groups, g.RuleGroup)
	}
	return writeYAML(file, all)
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // unknown fields would be lost
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
