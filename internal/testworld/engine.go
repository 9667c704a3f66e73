package testworld

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"

	"github.com/avax-exporter/avax-exporter/internal/evaluation"
)

// PromQL parses like Prometheus.
var PromQL = evaluation.PromQL

// Rules returns the rules of rules files, in order.
func Rules(t testing.TB, files ...[]byte) (all []rulefmt.Rule) {
	t.Helper()
	for _, text := range files {
		file, errs := rulefmt.Parse(text, false, model.LegacyValidation, PromQL, slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

// Series is a series of samples in promtool's notation, such as 0x5.
type Series struct{ Series, Values string }

// Engine evaluates rules over series. Times are since the start.
type Engine struct {
	*evaluation.Evaluator
	start time.Time
	every time.Duration
}

// ForGracePeriod is the option that docs/alerting.md recommends for a Prometheus, and that the exporter's own engine has.
const ForGracePeriod = time.Minute

// NewEngine returns an engine with one sample of each series at each interval after the start, or the error of a rule. It evaluates the
// rules in order.
func NewEngine(t testing.TB, start time.Time, interval time.Duration, input []Series, every time.Duration, given []rulefmt.Rule) (*Engine, error) {
	t.Helper()
	e, err := evaluation.New(given, evaluation.Options{Interval: every, Lookback: 5 * time.Minute, ForGracePeriod: ForGracePeriod})
	if err != nil {
		return nil, err
	}
	for _, in := range input {
		of, values, err := PromQL.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			t.Fatalf("%s: %v", in.Series, err)
		}
		var points []promql.FPoint
		for i, v := range values {
			if !v.Omitted {
				points = append(points, promql.FPoint{T: start.Add(time.Duration(i) * interval).UnixMilli(), F: v.Value})
			}
		}
		e.Append(of, points...)
	}
	return &Engine{e, start, every}, nil
}

// Run evaluates all rules at a time, and at each interval after it until another, and returns the error of a rule.
func (e *Engine) Run(from, to time.Duration) error {
	return e.Evaluator.Run(context.Background(), e.start.Add(from), e.start.Add(to))
}

// Alerts returns the alerting rules, in order.
func (e *Engine) Alerts() (all []*evaluation.Rule) {
	for _, r := range e.Rules {
		if r.Alert != "" {
			all = append(all, r)
		}
	}
	return all
}

// Active returns the alerts of a rule that are pending or firing after the evaluation at a time.
func (e *Engine) Active(r *evaluation.Rule, at time.Duration) []evaluation.Alert {
	return r.Active(e.start.Add(at))
}

// Texts returns the annotations of an alert.
func (e *Engine) Texts(t testing.TB, r *evaluation.Rule, a evaluation.Alert) map[string]string {
	t.Helper()
	texts, err := e.Annotations(t.Context(), r, a)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// Restore restores the state of alerts from the samples of the evaluations before a restart. Prometheus does so after the second evaluation.
func (e *Engine) Restore(at time.Duration) { e.Evaluator.Restore(e.start.Add(at)) }

// Forget deletes what no evaluation after a time reads.
func (e *Engine) Forget(after time.Duration) { e.Evaluator.Forget(e.start.Add(after)) }

// Query evaluates an expression at a time, up to the last evaluation of the rules.
func (e *Engine) Query(expr string, at time.Duration) (promql.Vector, error) {
	return e.Evaluator.Query(context.Background(), expr, e.start.Add(at))
}

// With returns an engine with another rule in place of one, after the same evaluations. Neither may run afterwards.
func (e *Engine) With(number int, other rulefmt.Rule, from, to time.Duration) (*Engine, error) {
	changed, err := e.Evaluator.With(context.Background(), number, other, e.start.Add(from), e.start.Add(to))
	return &Engine{changed, e.start, e.every}, err
}
