package alerts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/avax-exporter/avax-exporter/internal/evaluation"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// stepwise evaluates rules as Prometheus does: with its own group of rules over its own storage, time after time.
type stepwise struct {
	loader *promqltest.LazyLoader
	given  []rulefmt.Rule
	every  time.Duration
	group  *promrules.Group
	rules  []promrules.Rule
}

func newStepwise(t *testing.T, c testCase, given []rulefmt.Rule) *stepwise {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", c.Interval)
	for _, in := range c.Input {
		fmt.Fprintf(&load, "  %s %s\n", in.Series, in.Values)
	}
	loader := must.Get(promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{
		EnableAtModifier: true, EnableNegativeOffset: true, StartTime: time.Unix(0, 0).UTC(),
	}))(t)
	t.Cleanup(func() { must.Do(t, loader.Close()) })
	loader.SubqueryInterval = c.every
	s := &stepwise{loader: loader, given: given, every: c.every}
	s.start(t, true)
	return s
}

// start makes the rules. Those that are not restored write no series ALERTS until restore.
func (s *stepwise) start(t *testing.T, restored bool) {
	t.Helper()
	s.rules = nil
	for _, r := range s.given {
		parsed, with := must.Get(testworld.PromQL.ParseExpr(r.Expr))(t), labels.FromMap(r.Labels)
		if r.Alert == "" {
			s.rules = append(s.rules, promrules.NewRecordingRule(r.Record, parsed, with))
			continue
		}
		alert := promrules.NewAlertingRule(r.Alert, parsed, time.Duration(r.For), time.Duration(r.KeepFiringFor), with,
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, slog.Default())
		alert.SetRestored(restored)
		s.rules = append(s.rules, alert)
	}
	s.group = promrules.NewGroup(promrules.GroupOptions{Name: "all", Interval: s.every, Rules: s.rules, Opts: &promrules.ManagerOptions{
		QueryFunc:       promrules.EngineQueryFunc(s.loader.QueryEngine(), s.loader.Storage()),
		Appendable:      s.loader.Storage(),
		Queryable:       s.loader.Storage(),
		Context:         s.loader.Context(),
		NotifyFunc:      func(context.Context, string, ...*promrules.Alert) {},
		OutageTolerance: time.Hour, ForGracePeriod: testworld.ForGracePeriod,
	}})
}

func (s *stepwise) eval(t *testing.T, at time.Time) {
	t.Helper()
	s.loader.WithSamplesTill(at, func(err error) { must.Do(t, err) })
	s.group.Eval(s.loader.Context(), at)
	for _, r := range s.rules {
		if err := r.LastError(); err != nil {
			t.Fatalf("%s at %v: %v", r.Name(), at, err)
		}
	}
}

func (s *stepwise) restore(at time.Time) {
	s.group.RestoreForState(at)
	for _, r := range s.rules {
		if alert, ok := r.(*promrules.AlertingRule); ok {
			alert.SetRestored(true)
		}
	}
}

// describe returns what is compared of an alert after an evaluation.
func describe(a promrules.Alert, texts map[string]string) string {
	return fmt.Sprintln(a.Labels, a.State, a.Value, a.ActiveAt.Unix(), a.FiredAt.Unix(), a.KeepFiringSince.Unix(), texts)
}

// activeOf describes the alerts of a rule that are active after an evaluation. Those that silent returns true for are without their texts.
func activeOf(t *testing.T, e *testworld.Engine, r *evaluation.Rule, at time.Duration, silent func(evaluation.Alert) bool) (all []string) {
	t.Helper()
	for _, a := range e.Active(r, at) {
		var texts map[string]string
		if silent == nil || !silent(a) {
			texts = e.Texts(t, r, a)
		}
		all = append(all, describe(a.Alert, texts))
	}
	return all
}

// TestEvaluationEqualsPrometheus compares, for each case of the rule tests, all series that the rules write, all states of alerts and all of
// their texts with those of Prometheus, which evaluates the rules time after time. In one case of four, Prometheus restarts.
func TestEvaluationEqualsPrometheus(t *testing.T) {
	t.Parallel()
	var compared atomic.Int64
	t.Cleanup(func() { t.Logf("%d evaluations of a rule compared", compared.Load()) })
	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		for _, tests := range suite.tests {
			for i, c := range tests.Tests {
				if steps := c.last() / c.every; steps > 1000 || testing.Short() && (i%29 != 0 || steps > 100) {
					continue
				}
				t.Run(strings.TrimSuffix(tests.name, "_test.yml")+"/"+c.Name, func(t *testing.T) {
					t.Parallel()
					var given []rulefmt.Rule
					for _, r := range suite.needed(t, c, true) {
						given = append(given, r.Rule)
					}
					compared.Add(compareWithPrometheus(t, c, given, i%4 == 3))
				})
			}
		}
	}
}

// The labels of owners are templates, whose queries read other rules.
func TestEvaluationOfLabelsEqualsPrometheus(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	var tests testFile
	readYAML(t, "testdata/labels_test.yml", &tests)
	// avax:label_alerts reads alerts of rules before and after it. No rule reads it, and the evaluation shows it one step late.
	given := slices.DeleteFunc(testworld.Rules(t, must.Get(With(Options{Labels: []string{"owner"}}))(t)), func(r rulefmt.Rule) bool { return r.Record == "avax:label_alerts" })
	for i, c := range tests.Tests {
		c.every, c.Interval = time.Duration(tests.EvaluationInterval), cmp.Or(c.Interval, tests.EvaluationInterval)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			compareWithPrometheus(t, c, given, false)
		})
	}
}

// A long history is evaluated in parts, and what no later evaluation reads is forgotten after each. All alerts and their texts are as without. The texts
// are those of the first evaluation of a part, which looks back the furthest, and of alerts that begin or fire later in it.
func TestForgettingChangesNoAlert(t *testing.T) {
	t.Parallel()
	suite := readSuite(t, "rules.yml")
	for _, tests := range suite.tests {
		for i, c := range tests.Tests { // each third: what is forgotten depends on the rules, not on the case
			last := int(c.last() / c.every)
			if last > 1000 || i%3 != 0 || testing.Short() && (i%15 != 0 || last > 300) {
				continue
			}
			t.Run(strings.TrimSuffix(tests.name, "_test.yml")+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				var given []rulefmt.Rule
				for _, r := range suite.needed(t, c, true) {
					given = append(given, r.Rule)
				}
				at := func(step int) time.Duration { return time.Duration(step) * c.every }
				whole, parts := must.Get(c.engine(t, given))(t), must.Get(c.engine(t, given))(t)
				must.Do(t, whole.Run(0, at(last)))
				for from := 0; from <= last; from += 8 {
					to := min(from+7, last)
					must.Do(t, parts.Run(at(from), at(to)))
					for step := from; step <= to; step++ {
						now := time.Unix(0, 0).Add(at(step))
						silent := func(a evaluation.Alert) bool { return step > from && !a.ActiveAt.Equal(now) && !a.FiredAt.Equal(now) }
						for i, r := range parts.Rules {
							if err := differ(r.Name, at(step), activeOf(t, parts, r, at(step), silent), activeOf(t, whole, whole.Rules[i], at(step), silent)); err != nil {
								t.Error(err)
							}
						}
					}
					parts.Forget(at(to))
				}
			})
		}
	}
}

// compareWithPrometheus returns how many evaluations of a rule it compared.
func compareWithPrometheus(t *testing.T, c testCase, given []rulefmt.Rule, restarts bool) (compared int64) {
	t.Helper()
	at := func(step int) time.Time { return time.Unix(0, 0).UTC().Add(time.Duration(step) * c.every) }
	last := int(c.last() / c.every)
	off, on := last+1, last+1 // Prometheus is off from the first until before the second
	if restarts && last > 8 {
		off = last/2 + rand.New(rand.NewPCG(1, uint64(len(c.Input)))).IntN(3)
		on = off + 2
	}
	expected, got := newStepwise(t, c, given), must.Get(c.engine(t, given))(t)
	must.Do(t, got.Run(0, time.Duration(off-1)*c.every))
	if on <= last {
		got.Restart()
		must.Do(t, got.Run(time.Duration(on)*c.every, time.Duration(on+1)*c.every))
		got.Restore(time.Duration(on+1) * c.every)
		if on+2 <= last {
			must.Do(t, got.Run(time.Duration(on+2)*c.every, time.Duration(last)*c.every))
		}
	}
	for step := 0; step <= last; step++ {
		if step >= off && step < on {
			continue
		}
		if step == on {
			expected.start(t, false)
		}
		expected.eval(t, at(step))
		for i, r := range got.Rules {
			compared++
			alert, ok := expected.rules[i].(*promrules.AlertingRule)
			if !ok {
				continue
			}
			var want []string
			for _, a := range alert.ActiveAlerts() {
				want = append(want, describe(*a, a.Annotations.Map()))
			}
			since := time.Duration(step) * c.every
			if err := differ(r.Name, since, activeOf(t, got, r, since, nil), want); err != nil {
				t.Error(err)
			}
		}
		if step == on+1 {
			expected.restore(at(step))
		}
	}
	want, found := samplesOf(t, expected.loader.Storage(), given, at(last)), samplesOf(t, got, given, at(last))
	for _, of := range slices.Sorted(maps.Keys(want)) {
		if found[of] != want[of] {
			t.Errorf("%s:\n  got  %s\n  want %s", of, found[of], want[of])
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d series, want %d", len(found), len(want))
	}
	return compared
}

// samplesOf returns the samples until a time of all series that rules write, staleness markers included.
func samplesOf(t *testing.T, from storage.Queryable, given []rulefmt.Rule, until time.Time) map[string]string {
	t.Helper()
	names := map[string]bool{"ALERTS": true, "ALERTS_FOR_STATE": true}
	for _, r := range given {
		names[r.Record] = true
	}
	delete(names, "")
	q := must.Get(from.Querier(math.MinInt64/2, until.UnixMilli()))(t)
	all := map[string]string{}
	for name := range names {
		set := q.Select(t.Context(), false, nil, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name))
		for set.Next() {
			var b strings.Builder
			for it := set.At().Iterator(nil); it.Next() == chunkenc.ValFloat; {
				when, v := it.At()
				fmt.Fprint(&b, when/1000, "=", v, math.Float64bits(v) == math.Float64bits(evaluation.StaleMarker), " ")
			}
			all[set.At().Labels().String()] = b.String()
		}
		must.Do(t, set.Err())
	}
	return all
}
