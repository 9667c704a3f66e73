package alerts

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
)

// engine evaluates rules over the input of one case with the code of promtool, in this process.
type engine struct {
	loader *promqltest.LazyLoader
	group  *promrules.Group
	alerts []*promrules.AlertingRule
	every  time.Duration
}

func parseDuration(t *testing.T, text, otherwise string) time.Duration {
	t.Helper()
	if text == "" {
		text = otherwise
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// newEngine returns an engine for the case and the rules in order, or the error of a rule.
func newEngine(t *testing.T, c testCase, interval string, given []rulefmt.Rule) (*engine, error) {
	t.Helper()
	load := "load " + c.Interval + "\n"
	if c.Interval == "" {
		load = "load " + interval + "\n"
	}
	for _, in := range c.InputSeries {
		load += "  " + in.Series + " " + in.Values + "\n"
	}
	loader, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	e := &engine{loader: loader, every: parseDuration(t, interval, "1m")}
	loader.SubqueryInterval = e.every
	var all []promrules.Rule
	for _, r := range given {
		parsed, err := promQL.ParseExpr(r.Expr)
		if err != nil {
			e.close(t)
			return nil, err
		}
		with := labels.FromMap(r.Labels)
		if r.Alert == "" {
			all = append(all, promrules.NewRecordingRule(r.Record, parsed, with))
			continue
		}
		alert := promrules.NewAlertingRule(r.Alert, parsed, time.Duration(r.For), time.Duration(r.KeepFiringFor), with,
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, nil)
		alert.SetRestored(true) // else there is no series ALERTS
		all, e.alerts = append(all, alert), append(e.alerts, alert)
	}
	e.group = promrules.NewGroup(promrules.GroupOptions{Name: "all", Interval: e.every, Rules: all, Opts: &promrules.ManagerOptions{
		QueryFunc:  e.query,
		Appendable: loader.Storage(),
		Context:    loader.Context(),
		NotifyFunc: func(context.Context, string, ...*promrules.Alert) {},
	}})
	return e, nil
}

func (e *engine) close(t *testing.T) {
	if err := e.loader.Close(); err != nil {
		t.Error(err)
	}
}

// eval evaluates all rules at a time since the start, and returns the error of a rule.
func (e *engine) eval(at time.Duration) (err error) {
	ts := time.Unix(0, 0).UTC().Add(at)
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

func (e *engine) query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	return promrules.EngineQueryFunc(e.loader.QueryEngine(), e.loader.Storage())(ctx, expr, at)
}
