package web

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// stored is a source with the samples of a store at one time, and with rules of the test.
type stored struct {
	groups  []alerting.Group
	err     error // for all calls
	failing error // for queries
	alerting.PromQL
	storage *teststorage.TestStorage
	queries int
}

// sourced sets a source with the current samples of the site's store.
func sourced(t testing.TB, s *Site, groups ...alerting.Group) *stored {
	t.Helper()
	source := newSource(t, groups...)
	source.read(t, s)
	return source
}

// newSource returns a source without samples.
func newSource(t testing.TB, groups ...alerting.Group) *stored {
	t.Helper()
	storage := teststorage.New(t)
	t.Cleanup(func() { storage.Close() })
	return &stored{groups: groups, PromQL: alerting.PromQL{Engine: promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000), Store: storage},
		storage: storage}
}

// stale is the value of a series that has ended.
var stale = math.Float64frombits(value.StaleNaN)

// past adds a sample every 15 s until a minute ago, since this duration ago. Call it before read.
func (s *stored) past(t testing.TB, long time.Duration, at func(ago time.Duration) float64, labels ...string) {
	t.Helper()
	appender, l := s.storage.Appender(t.Context()), promlabels.FromStrings(labels...)
	for ago := long; ago > time.Minute; ago -= 15 * time.Second {
		must.Get(appender.Append(0, l, time.Now().Add(-ago).UnixMilli(), at(ago)))(t)
	}
	must.Do(t, appender.Commit())
}

// read adds the current samples of the site's store, and becomes the site's source.
func (s *stored) read(t testing.TB, site *Site) {
	t.Helper()
	appender := s.storage.Appender(t.Context())
	for _, j := range site.Store.Jobs() {
		for _, c := range j.Fresh(time.Now()) {
			for _, m := range c.Samples {
				b := promlabels.NewBuilder(promlabels.EmptyLabels())
				b.Set(model.MetricNameLabel, c.Family.Name)
				for i, name := range c.Family.Labels {
					b.Set(name, m.Labels[i])
				}
				must.Get(appender.Append(0, b.Labels(), time.Now().Add(-time.Second).UnixMilli(), m.Value))(t)
			}
		}
	}
	must.Do(t, appender.Commit())
	site.Source = s
}

func (s *stored) Groups(context.Context) ([]alerting.Group, error) { return s.groups, s.err }

func (s *stored) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	s.queries++
	if err := cmp.Or(s.err, s.failing); err != nil {
		return nil, err
	}
	return s.PromQL.Query(ctx, expr, at)
}

func (s *stored) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	s.queries++
	if err := cmp.Or(s.err, s.failing); err != nil {
		return nil, err
	}
	return s.PromQL.QueryRange(ctx, expr, start, end, step)
}

// rule returns an alerting rule whose alerts have been active for a minute.
func rule(name, severity, state string, alerts ...map[string]string) alerting.Rule {
	r := alerting.Rule{Name: name, Query: "avax_node_up == 0", Type: alerting.AlertingRule, For: 3 * 60, State: state,
		Labels: map[string]string{"severity": severity}}
	for _, l := range alerts {
		a := alerting.Alert{State: state, ActiveAt: time.Now().Add(-time.Minute), Labels: map[string]string{"alertname": name, "severity": severity},
			Annotations: map[string]string{}}
		for label, value := range l {
			if slices.Contains([]string{"summary", "description", "action", "runbook_url", "chains"}, label) {
				a.Annotations[label] = value
			} else {
				a.Labels[label] = value
			}
		}
		r.Alerts = append(r.Alerts, a)
	}
	return r
}

func group(rules ...alerting.Rule) alerting.Group {
	return alerting.Group{Name: "test", Evaluated: time.Now(), Rules: rules}
}
