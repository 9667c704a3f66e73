//go:build mutation

package alerts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
)

// play is a parsed case, used for all mistakes in one rule. It does the same as promtool, in this process.
type play struct {
	rules   []*rule // in evaluation order
	every   time.Duration
	last    time.Duration // of its expectations
	input   *memory
	alerts  []wantAlerts
	queries []wantSamples
	engine  *promql.Engine
	// What the run without a mistake left.
	known   map[*rule][]promql.Vector // results by step
	whole   *memory                   // all samples
	correct promql.Matrix             // the expression of the broken rule, at all steps; nil: not evaluated yet
}

type wantAlerts struct {
	at     time.Duration
	name   string
	labels []string // sorted
}

type wantSamples struct {
	at      time.Duration
	expr    string
	samples []string // sorted
}

// parse parses the case.
func (c benchCase) parse(t *testing.T) *play {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatalf("%s: %v", c.test.Tests[0].Name, err)
		}
	}
	duration := func(text, otherwise string) time.Duration {
		if text == "" {
			text = otherwise
		}
		d, err := model.ParseDuration(text)
		check(err)
		return time.Duration(d)
	}
	test := c.test.Tests[0]
	p := &play{every: duration(c.test.EvaluationInterval, "1m"), input: newMemory(), known: map[*rule][]promql.Vector{}}
	for _, g := range c.groups {
		p.rules = append(p.rules, g.rules...)
	}
	interval := duration(test.Interval, c.test.EvaluationInterval)
	for _, s := range test.InputSeries {
		of, values, err := promQL.ParseSeriesDesc(s.Series + " " + s.Values)
		check(err)
		for i, v := range values {
			if !v.Omitted {
				p.input.append(of, sample{(time.Duration(i) * interval).Milliseconds(), v.Value})
			}
		}
	}
	for _, a := range test.Alerts {
		var expected []struct {
			Labels      map[string]string `yaml:"exp_labels"`
			Annotations map[string]string `yaml:"exp_annotations"`
		}
		if a.ExpAlerts.Kind != 0 {
			check(a.ExpAlerts.Decode(&expected))
		}
		want := wantAlerts{at: duration(a.EvalTime, ""), name: a.Alertname}
		for _, e := range expected {
			of := labels.NewBuilder(labels.FromMap(e.Labels))
			want.labels = append(want.labels, of.Set(labels.AlertName, a.Alertname).Labels().String())
		}
		slices.Sort(want.labels)
		p.alerts, p.last = append(p.alerts, want), max(p.last, want.at)
	}
	for _, q := range test.Queries {
		var expected []struct {
			Labels string
			Value  float64
		}
		if q.ExpSamples.Kind != 0 {
			check(q.ExpSamples.Decode(&expected))
		}
		want := wantSamples{at: duration(q.EvalTime, ""), expr: q.Expr}
		for _, e := range expected {
			of, err := promQL.ParseMetric(e.Labels)
			check(err)
			want.samples = append(want.samples, fmt.Sprint(of, e.Value))
		}
		slices.Sort(want.samples)
		p.queries, p.last = append(p.queries, want), max(p.last, want.at)
	}
	p.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute, Parser: promQL,
		NoStepSubqueryIntervalFn: func(int64) int64 { return p.every.Milliseconds() },
	})
	return p
}

// run evaluates the case with given in place of broken, and returns the first difference, or why a rule cannot be evaluated. Rules outside
// fed are not affected by a mistake in broken: their results are known. Without a broken rule, run remembers all results.
func (p *play) run(ctx context.Context, broken *rule, given rulefmt.Rule, fed map[*rule]bool) error {
	if broken != nil && given.Expr != broken.Expr && p.before(broken) {
		same, err := p.same(ctx, broken.Expr, given.Expr)
		if same || err != nil {
			return err
		}
	}
	store := p.input.clone()
	query := promrules.EngineQueryFunc(p.engine, store)
	evaluated := make([]promrules.Rule, len(p.rules))
	before := make([]map[string]labels.Labels, len(p.rules)) // series of the previous step, which end if a step does not have them
	for i, r := range p.rules {
		fields, parsed := r.Rule, r.parsed
		if r == broken {
			fields = given
			var err error
			if parsed, err = promQL.ParseExpr(given.Expr); err != nil {
				return err
			}
		}
		if fields.Alert == "" {
			evaluated[i] = promrules.NewRecordingRule(fields.Record, parsed, labels.FromMap(fields.Labels))
			continue
		}
		evaluated[i] = promrules.NewAlertingRule(fields.Alert, parsed, time.Duration(fields.For), time.Duration(fields.KeepFiringFor),
			labels.FromMap(fields.Labels), labels.EmptyLabels(), labels.EmptyLabels(), "", true, promslog.NewNopLogger())
	}
	for step, at := 0, time.Duration(0); at <= p.last; step, at = step+1, at+p.every {
		ts := time.Unix(0, 0).UTC().Add(at)
		for i, r := range p.rules {
			var vector promql.Vector
			if fed[r] {
				var err error
				if vector, err = evaluated[i].Eval(ctx, 0, ts, query, nil, 0); err != nil {
					return fmt.Errorf("%s at %v: %w", r.name, at, err)
				}
			} else {
				vector = p.known[r][step]
			}
			if broken == nil {
				p.known[r] = append(p.known[r], vector)
			}
			now := make(map[string]labels.Labels, len(vector))
			for _, s := range vector {
				store.append(s.Metric, sample{ts.UnixMilli(), s.F})
				now[s.Metric.String()] = s.Metric
			}
			for key, of := range before[i] {
				if _, goesOn := now[key]; !goesOn {
					store.append(of, sample{ts.UnixMilli(), math.Float64frombits(value.StaleNaN)})
				}
			}
			before[i] = now
		}
		if err := p.expected(ctx, at, evaluated, query); err != nil {
			return err
		}
	}
	if broken == nil {
		p.whole = store
	}
	return nil
}

// same reports whether a mistake has no effect: whether both expressions have the same result at all steps, over the samples of the run
// without a mistake. One query for all steps takes a tenth of the time of a run.
func (p *play) same(ctx context.Context, correct, mistaken string) (bool, error) {
	if p.correct == nil {
		var err error
		if p.correct, err = p.evaluate(ctx, correct); err != nil {
			return false, err
		}
	}
	result, err := p.evaluate(ctx, mistaken)
	return err == nil && equal(result, p.correct), nil // some mistakes can be evaluated only one step at a time
}

// before reports whether all rules that the broken one reads are evaluated before it.
func (p *play) before(broken *rule) bool {
	return !slices.ContainsFunc(p.rules[slices.Index(p.rules, broken):], broken.uses)
}

// evaluate returns the result of the expression at all steps, over the samples of the run without a mistake.
func (p *play) evaluate(ctx context.Context, expr string) (promql.Matrix, error) {
	start := time.Unix(0, 0).UTC()
	query, err := p.engine.NewRangeQuery(ctx, p.whole, nil, expr, start, start.Add(p.last), p.every)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	// Close returns the points to the engine, which uses them again.
	kept := make(promql.Matrix, len(matrix))
	for i, s := range matrix {
		kept[i] = promql.Series{Metric: s.Metric, Floats: slices.Clone(s.Floats)}
	}
	return kept, nil
}

// equal reports whether both results have the same series and points.
func equal(a, b promql.Matrix) bool {
	return slices.EqualFunc(a, b, func(x, y promql.Series) bool {
		return labels.Equal(x.Metric, y.Metric) && slices.EqualFunc(x.Floats, y.Floats, func(p, q promql.FPoint) bool {
			return p.T == q.T && math.Float64bits(p.F) == math.Float64bits(q.F)
		})
	})
}

// expected checks the expectations from the step at until the next one.
func (p *play) expected(ctx context.Context, at time.Duration, evaluated []promrules.Rule, query promrules.QueryFunc) error {
	differ := func(what string, at time.Duration, got, want []string) error {
		slices.Sort(got)
		if slices.Equal(got, want) {
			return nil
		}
		return fmt.Errorf("%s at %v:\n  got  %s\n  want %s", what, at, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
	}
	for _, want := range p.alerts {
		if want.at < at || want.at >= at+p.every {
			continue
		}
		var firing []string
		for _, r := range evaluated {
			alert, ok := r.(*promrules.AlertingRule)
			if !ok || alert.Name() != want.name {
				continue
			}
			for _, a := range alert.ActiveAlerts() {
				if a.State == promrules.StateFiring {
					firing = append(firing, a.Labels.String())
				}
			}
		}
		if err := differ(want.name, want.at, firing, want.labels); err != nil {
			return err
		}
	}
	for _, want := range p.queries {
		if want.at < at || want.at >= at+p.every {
			continue
		}
		found, err := query(ctx, want.expr, time.Unix(0, 0).UTC().Add(want.at))
		if err != nil {
			return err
		}
		var samples []string
		for _, s := range found {
			samples = append(samples, fmt.Sprint(s.Metric, s.F))
		}
		if err := differ(want.expr, want.at, samples, want.samples); err != nil {
			return err
		}
	}
	return nil
}
