package alerts

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// thresholdUsed records each threshold with its labels.
const thresholdUsed = threshold + "_used"

// suite is a rules file and its test files.
type suite struct {
	rules []*rule
	tests []testFile
}

type rule struct {
	rulefmt.Rule
	name    string                   // an alert with the values of its labels, or the recorded series
	group   string                   // the name of its group
	makes   labels.Labels            // the series that it produces, as far as the rule defines it
	parsed  parser.Expr              // its expression
	selects []*parser.VectorSelector // the series that its expression reads
	shows   []*parser.VectorSelector // the series that its annotations read
}

// testFile is a test file of promtool.
type testFile struct {
	name               string
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	GroupEvalOrder     []string       `yaml:"group_eval_order,omitempty"`
	Tests              []testCase     `yaml:"tests"`
}

type testCase struct {
	Name     string             `yaml:"name,omitempty"`
	Interval model.Duration     `yaml:"interval,omitempty"`
	Input    []testworld.Series `yaml:"input_series"`
	Alerts   []alertCase        `yaml:"alert_rule_test,omitempty"`
	Queries  []queryCase        `yaml:"promql_expr_test,omitempty"`

	every time.Duration // the interval of evaluations
}

type alertCase struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	Alertname string         `yaml:"alertname"`
	ExpAlerts []expAlert     `yaml:"exp_alerts,omitempty"`
}

// expAlert has no annotations: testdata/texts.txt has them.
type expAlert struct {
	Labels map[string]string `yaml:"exp_labels,omitempty"`
}

type queryCase struct {
	Expr       string         `yaml:"expr"`
	EvalTime   model.Duration `yaml:"eval_time"`
	ExpSamples []expSample    `yaml:"exp_samples,omitempty"`
}

type expSample struct {
	Labels string    `yaml:"labels"`
	Value  yaml.Node `yaml:"value"`
}

func readSuite(t *testing.T, file string) *suite {
	t.Helper()
	s := new(suite)
	var all rulefmt.RuleGroups
	readYAML(t, file, &all)
	for _, g := range all.Groups {
		for _, fields := range g.Rules {
			parsed, err := testworld.PromQL.ParseExpr(fields.Expr)
			if err != nil {
				t.Fatalf("%s: %v", fields.Expr, err)
			}
			r := &rule{Rule: fields, group: g.Name, parsed: parsed, selects: reads(t, fields.Expr)}
			for _, text := range fields.Annotations {
				for _, query := range queries(t, text) {
					r.shows = append(r.shows, reads(t, query)...)
				}
			}
			made := labels.NewBuilder(labels.FromMap(fields.Labels))
			if fields.Alert != "" {
				made.Set(model.MetricNameLabel, "ALERTS").Set(labels.AlertName, fields.Alert)
				r.name = strings.Join(append([]string{fields.Alert}, slices.Sorted(maps.Values(fields.Labels))...), " ")
			} else {
				made.Set(model.MetricNameLabel, fields.Record)
				r.name = fields.Record + labels.FromMap(fields.Labels).String()
			}
			if fields.Record == thresholdUsed {
				r.selects = nil // see reads
			}
			r.makes = made.Labels()
			s.rules = append(s.rules, r)
		}
	}
	for _, tests := range readTests(t) {
		if slices.Contains(tests.RuleFiles, file) {
			s.tests = append(s.tests, tests)
		}
	}
	for _, tests := range s.tests {
		for i := range tests.Tests {
			s.expectSilence(&tests.Tests[i])
		}
	}
	return s
}

// situations are the kinds of cases in which each alert that is not named is expected to be inactive.
var situations = []string{"absent", "at the bar", "restart"}

// kind returns the kind of a case, which its name begins with.
func (c testCase) kind() string {
	kind, _, _ := strings.Cut(c.Name, ": ")
	return kind
}

// expectSilence adds to a case of a situation that at each of its times all other alerts are inactive.
func (s *suite) expectSilence(c *testCase) {
	if !slices.Contains(situations, c.kind()) {
		return
	}
	named := map[alertName]bool{}
	times := map[model.Duration]bool{}
	for _, a := range c.Alerts {
		named[alertName{a.EvalTime, a.Alertname}], times[a.EvalTime] = true, true
	}
	for _, at := range slices.Sorted(maps.Keys(times)) {
		for _, r := range s.rules {
			if key := (alertName{at, r.Alert}); r.Alert != "" && r.Alert != watchdog && !named[key] {
				named[key] = true
				c.Alerts = append(c.Alerts, alertCase{EvalTime: at, Alertname: r.Alert})
			}
		}
	}
}

type alertName struct {
	at   model.Duration
	name string
}

func readTests(t *testing.T) (all []testFile) {
	t.Helper()
	files := must.Get(filepath.Glob("*_test.yml"))(t)
	for _, file := range files {
		tests := testFile{name: file}
		readYAML(t, file, &tests)
		for i := range tests.Tests {
			c := &tests.Tests[i]
			c.every, c.Interval = time.Duration(tests.EvaluationInterval), cmp.Or(c.Interval, tests.EvaluationInterval)
		}
		all = append(all, tests)
	}
	return all
}

// last returns the time of the last expectation.
func (c testCase) last() (last time.Duration) {
	for _, a := range c.Alerts {
		last = max(last, time.Duration(a.EvalTime))
	}
	for _, q := range c.Queries {
		last = max(last, time.Duration(q.EvalTime))
	}
	return last
}

// engine returns an engine for the case and the rules in order, or the error of a rule.
func (c testCase) engine(t *testing.T, rules []rulefmt.Rule) (*testworld.Engine, error) {
	t.Helper()
	return testworld.NewEngine(t, time.Unix(0, 0).UTC(), time.Duration(c.Interval), c.Input, c.every, rules)
}

// reads returns the selectors of the expression. One of thresholdUsed also reads the threshold with the same labels.
func reads(t *testing.T, expr string) []*parser.VectorSelector {
	t.Helper()
	found := selectors(t, expr)
	for _, s := range found {
		if s.Name == thresholdUsed {
			same := slices.DeleteFunc(slices.Clone(s.LabelMatchers), func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
			found = append(found, &parser.VectorSelector{
				Name:          threshold,
				LabelMatchers: append(same, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, threshold)),
			})
		}
	}
	return found
}

// queries returns the queries of an annotation's template. A matcher of a label of the alert, such as job=%q, matches every value.
func queries(t *testing.T, text string) (found []string) {
	t.Helper()
	tree := parse.New("annotation")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse("{{$labels := .}}{{$value := .}}{{$externalLabels := .}}"+text, "", "", map[string]*parse.Tree{}); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var walk func(parse.Node)
	branch := func(n *parse.BranchNode) {
		walk(n.Pipe)
		walk(n.List)
		if n.ElseList != nil {
			walk(n.ElseList)
		}
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			for _, child := range n.Nodes {
				walk(child)
			}
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.PipeNode:
			for _, command := range n.Cmds {
				walk(command)
			}
		case *parse.CommandNode:
			for i, argument := range n.Args {
				walk(argument)
				if i != 1 || n.Args[0].String() != "query" {
					continue
				}
				query, ok := argument.(*parse.StringNode)
				if ok {
					found = append(found, query.Text)
					continue
				}
				printf := argument.(*parse.PipeNode).Cmds[0]
				args := make([]any, 0, len(printf.Args)-2)
				for _, a := range printf.Args[2:] {
					if a.String() == "$site" {
						args = append(args, `job="any",`)
					} else {
						args = append(args, "any")
					}
				}
				found = append(found, strings.ReplaceAll(fmt.Sprintf(printf.Args[1].(*parse.StringNode).Text, args...), `="any"`, `!=""`))
			}
		}
	}
	walk(tree.Root)
	return found
}

// mayBe reports whether one of the selectors may match a result of r. Labels that the rule does not set may have any value. A threshold has
// no other labels.
func (r *rule) mayBe(selected []*parser.VectorSelector) bool {
	return slices.ContainsFunc(selected, func(v *parser.VectorSelector) bool {
		return !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
			made := r.makes.Get(m.Name)
			if m.Name == model.MetricNameLabel && made == "ALERTS" && m.Matches("ALERTS_FOR_STATE") {
				return false
			}
			return (made != "" || r.Record == threshold) && !m.Matches(made)
		})
	})
}

// needed returns the rules on which the results of a case depend and that may have a result for its input, in order.
func (s *suite) needed(t *testing.T, c testCase, annotations bool) []*rule {
	t.Helper()
	var asked []*parser.VectorSelector
	for _, q := range c.Queries {
		asked = append(asked, reads(t, q.Expr)...)
	}
	live, needed := s.live(c), map[*rule]bool{}
	var add func(*rule)
	add = func(r *rule) {
		if needed[r] || !live[r] {
			return
		}
		needed[r] = true
		selects := r.selects
		if annotations {
			selects = slices.Concat(selects, r.shows)
		}
		for _, other := range s.rules {
			if other.mayBe(selects) {
				add(other)
			}
		}
	}
	for _, r := range s.rules {
		if r.mayBe(asked) || slices.ContainsFunc(c.Alerts, func(a alertCase) bool { return a.Alertname == r.Alert }) {
			add(r)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool { return !needed[r] })
}

// live returns the rules that may have a result for the input of the case.
func (s *suite) live(c testCase) map[*rule]bool {
	input, live := map[string]bool{}, map[*rule]bool{}
	for _, in := range c.Input {
		name, _, _ := strings.Cut(in.Series, "{")
		input[strings.TrimSpace(name)] = true
	}
	found := func(v *parser.VectorSelector) bool {
		if v.Name == "" || input[v.Name] {
			return true
		}
		for r := range live {
			if r.mayBe([]*parser.VectorSelector{v}) {
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
func mayYield(e parser.Node, found func(*parser.VectorSelector) bool) bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return found(e)
	case *parser.MatrixSelector:
		return mayYield(e.VectorSelector, found)
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return mayYield(e.LHS, found) || mayYield(e.RHS, found)
		case parser.LUNLESS:
			return mayYield(e.LHS, found)
		}
	case *parser.Call:
		if name := e.Func.Name; name == "absent" || name == "scalar" { // they have a value if their argument has none
			return true
		}
	}
	for child := range parser.ChildrenIter(e) {
		if !mayYield(child, found) {
			return false
		}
	}
	return true
}

// groups returns the rules as groups of a rules file, without annotations: promtool would require them in each case.
func groups(rules []*rule) (all rulefmt.RuleGroups, names []string) {
	for _, r := range rules {
		if len(names) == 0 || names[len(names)-1] != r.group {
			names = append(names, r.group)
			all.Groups = append(all.Groups, rulefmt.RuleGroup{Name: r.group})
		}
		fields := r.Rule
		fields.Annotations = nil
		g := &all.Groups[len(all.Groups)-1]
		g.Rules = append(g.Rules, fields)
	}
	return all, names
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // unknown fields would be lost
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func writeYAML(t *testing.T, file string, content any) {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
