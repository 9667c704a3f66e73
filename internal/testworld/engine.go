package testworld

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// PromQL parses like Prometheus.
var PromQL = parser.NewParser(parser.Options{})

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

// Engine evaluates rules over series with the code of promtool, in this process.
type Engine struct {
	Alerts []*rules.AlertingRule // in the order of the rules

	loader *promqltest.LazyLoader
	group  *rules.Group
	start  time.Time
}

// NewEngine returns an engine with one sample of each series at each interval after the start, or the error of a rule. It evaluates the
// rules in order. The caller closes it.
func NewEngine(t testing.TB, start time.Time, interval time.Duration, input []Series, every time.Duration, given []rulefmt.Rule) (*Engine, error) {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", model.Duration(interval))
	for _, in := range input {
		fmt.Fprintf(&load, "  %s %s\n", in.Series, in.Values)
	}
	loader, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, StartTime: start})
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{loader: loader, start: start}
	loader.SubqueryInterval = every
	var all []rules.Rule
	for _, r := range given {
		parsed, err := PromQL.ParseExpr(r.Expr)
		if err != nil {
			e.Close(t)
			return nil, err
		}
		with := labels.FromMap(r.Labels)
		if r.Alert == "" {
			all = append(all, rules.NewRecordingRule(r.Record, parsed, with))
			continue
		}
		alert := rules.NewAlertingRule(r.Alert, parsed, time.Duration(r.For), time.Duration(r.KeepFiringFor), with,
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, nil)
		alert.SetRestored(true) // else there is no series ALERTS
		all, e.Alerts = append(all, alert), append(e.Alerts, alert)
	}
	e.group = rules.NewGroup(rules.GroupOptions{Name: "all", Interval: every, Rules: all, Opts: &rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		Appendable: loader.Storage(),
		Context:    loader.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	}})
	return e, nil
}

// Close removes the samples.
func (e *Engine) Close(t testing.TB) {
	t.Helper()
	if err := e.loader.Close(); err != nil {
		t.Error(err)
	}
}

// Eval evaluates all rules at a time since the start, and returns the error of a rule.
func (e *Engine) Eval(at time.Duration) (err error) {
	ts := e.start.Add(at)
	e.loader.WithSamplesTill(ts, func(loaded error) { err = loaded })
	if err != nil {
		return err
	}
	e.group.Eval(e.loader.Context(), ts)
	for _, r := range e.group.Rules() {
		if err := r.LastError(); err != nil {
			return fmt.Errorf("%s at %v: %w", r.Name(), at, err)
		}
	}
	return nil
}

// Query evaluates an expression at a time since the start, up to the last evaluation of the rules.
func (e *Engine) Query(expr string, at time.Duration) (promql.Vector, error) {
	return rules.EngineQueryFunc(e.loader.QueryEngine(), e.loader.Storage())(e.loader.Context(), expr, e.start.Add(at))
}
