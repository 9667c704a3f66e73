package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// passes evaluates the case and returns the first difference from what the case expects.
func (e *engine) passes(c testCase) error {
	last := time.Duration(0)
	for _, a := range c.Alerts {
		last = max(last, time.Duration(a.EvalTime))
	}
	for _, q := range c.Queries {
		last = max(last, time.Duration(q.EvalTime))
	}
	for at := time.Duration(0); at <= last; at += e.every {
		if err := e.eval(at); err != nil {
			return err
		}
		now := func(d model.Duration) bool { return at <= time.Duration(d) && time.Duration(d) < at+e.every }
		for _, a := range c.Alerts {
			if !now(a.EvalTime) {
				continue
			}
			var got, want []string
			for _, r := range e.alerts {
				for _, active := range r.ActiveAlerts() {
					if r.Name() == a.Alertname && active.State == promrules.StateFiring {
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
			found, err := e.query(e.loader.Context(), q.Expr, time.Unix(0, 0).UTC().Add(time.Duration(q.EvalTime)))
			if err != nil {
				return err
			}
			var got, want []string
			for _, s := range found {
				got = append(got, fmt.Sprint(s.Metric, s.F))
			}
			for _, exp := range q.ExpSamples {
				var value float64
				of, err := promQL.ParseMetric(exp.Labels)
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

func (e *engine) query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	return promrules.EngineQueryFunc(e.loader.QueryEngine(), e.loader.Storage())(ctx, expr, at)
}

func differ(what string, at time.Duration, got, want []string) error {
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s at %v:\n  got  %s\n  want %s", what, at, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
}
