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
	every  time.Duration
	given  []rulefmt.Rule
}

// forGracePeriod is the option that docs/alerting.md recommends for a Prometheus, and that the exporter's own engine has.
const forGracePeriod = time.Minute

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
	e := &Engine{loader: loader, start: start, every: every, given: given}
	loader.SubqueryInterval = every
	if err := e.load(true); err != nil {
		e.Close(t)
		return nil, err
	}
	return e, nil
}

// load makes the rules. Those that are not restored write no series ALERTS until Restore.
func (e *Engine) load(restored bool) error {
	var all []rules.Rule
	e.Alerts = nil
	for _, r := range e.given {
		parsed, err := PromQL.ParseExpr(r.Expr)
		if err != nil {
			return err
		}
		with := labels.FromMap(r.Labels)
		if r.Alert == "" {
			all = append(all, rules.NewRecordingRule(r.Record, parsed, with))
			continue
		}
		alert := rules.NewAlertingRule(r.Alert, parsed, time.Duration(r.For), time.Duration(r.KeepFiringFor), with,
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, slog.Default())
		alert.SetRestored(restored)
		all, e.Alerts = append(all, alert), append(e.Alerts, alert)
	}
	e.group = rules.NewGroup(rules.GroupOptions{Name: "all", Interval: e.every, Rules: all, Opts: &rules.ManagerOptions{
		QueryFunc:       rules.EngineQueryFunc(e.loader.QueryEngine(), e.loader.Storage()),
		Appendable:      e.loader.Storage(),
		Queryable:       e.loader.Storage(),
		Context:         e.loader.Context(),
		NotifyFunc:      func(context.Context, string, ...*rules.Alert) {},
		OutageTolerance: time.Hour, ForGracePeriod: forGracePeriod,
	}})
	return nil
}

// Restart forgets the state of the rules, as a restart of Prometheus does. Prometheus calls Restore after the second evaluation.
func (e *Engine) Restart() error { return e.load(false) }

// Restore restores the state of alerts from the samples of the evaluations before the restart.
func (e *Engine) Restore(at time.Duration) {
	e.group.RestoreForState(e.start.Add(at))
	for _, alert := range e.Alerts {
		alert.SetRestored(true)
	}
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
