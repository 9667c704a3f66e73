package alerting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const watchdog = `groups: [{name: g, rules: [{record: 'node:sum', expr: sum(avax_height)}, {alert: Watchdog, expr: vector(1)}]}]`

func TestQueriesOfPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, watchdog)
		w.show(`avax_height{node="alpha"} 5`, `avax_height{node="bravo"} 7`)
		a, stop := w.start()
		defer stop()
		time.Sleep(2*time.Minute + time.Second) // between two samples
		w.show(`avax_height{node="alpha"} 6`)
		time.Sleep(time.Minute)

		for expr, want := range map[string]string{
			`avax_height`:                 `avax_height{instance="here:9865", job="avax-exporter", node="alpha"} => 6`,
			`sum by (node) (avax_height)`: `{node="alpha"} => 6`,
			`node:sum`:                    `node:sum => 6`,
			`ALERTS`:                      `ALERTS{alertname="Watchdog", alertstate="firing"} => 1`,
			`3 * 4`:                       `{} => 12`,
			`avax_height > 100`:           ``,
		} {
			got, err := Vector(a.Query(t.Context(), expr, time.Now()))
			if err != nil {
				t.Errorf("%s: %v", expr, err)
			}
			lines := []string{}
			for _, s := range got {
				if s.Timestamp.Time().Before(time.Now().Add(-time.Second)) {
					t.Errorf("%s: time %s", expr, s.Timestamp.Time())
				}
				lines = append(lines, fmt.Sprintf("%s => %s", s.Metric, s.Value))
			}
			if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("%s: %s", expr, diff)
			}
		}

		samples, err := a.Query(t.Context(), `avax_height{node="bravo"}[3m]`, time.Now())
		if stored, _ := samples.(model.Matrix); err != nil || len(stored) != 1 || stored[0].Values[0].Value != 7 || len(stored[0].Values) < 7 {
			t.Errorf("samples %v (%v)", samples, err)
		}

		matrix, err := a.QueryRange(t.Context(), `sum(avax_height)`, time.Now().Add(-2*time.Minute), time.Now(), 30*time.Second)
		if err != nil || len(matrix) != 1 {
			t.Fatalf("range %v (%v)", matrix, err)
		}
		var values []string
		for _, p := range matrix[0].Values {
			values = append(values, p.Value.String())
		}
		if got := strings.Join(values, " "); got != "12 12 12 6 6" {
			t.Errorf("sum over two minutes %s", got)
		}

		const much = `count_over_time(vector(1)[300s:1ms])`
		if _, err := a.Query(t.Context(), much, time.Now()); err != nil {
			t.Errorf("300,000 samples: %v", err)
		}
		const tooMuch = `count_over_time(vector(1)[1100s:1ms])`
		if _, err := a.Query(t.Context(), tooMuch, time.Now()); err == nil || !strings.Contains(err.Error(), "too many samples") {
			t.Errorf("1,100,000 samples: error %v, want too many samples", err)
		}

		ended, end := context.WithCancel(t.Context())
		end()
		if v, err := a.Query(ended, `avax_height`, time.Now()); err == nil || !strings.Contains(fmt.Sprint(err), "canceled") {
			t.Errorf("cancelled query: %v and %v", v, err)
		}
		for _, bad := range []string{`sum(`, `avax_height[5m]`, `"text"`} {
			if v, err := Vector(a.Query(t.Context(), bad, time.Now())); err == nil {
				t.Errorf("%s: %v and %v", bad, v, err)
			}
		}
	})
}

// hangingStore has samples only when the query has ended.
type hangingStore struct{ querier }

type querier = storage.Querier

func (s hangingStore) Querier(int64, int64) (storage.Querier, error) { return s, nil }

func (hangingStore) Close() error { return nil }

func (hangingStore) Select(ctx context.Context, _ bool, _ *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	<-ctx.Done()
	return storage.ErrSeriesSet(ctx.Err())
}

func TestQueryEndsAfterItsTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, stop := newWorld(t, watchdog).start()
		defer stop()
		began := time.Now()
		v, err := PromQL{a.current().promQL.Engine, hangingStore{}}.Query(t.Context(), `avax_height`, began)
		if err == nil || time.Since(began) != 30*time.Second {
			t.Errorf("after %s: %v, %v", time.Since(began), v, err)
		}
	})
}

func TestSamplesOfTheGoRuntimeAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `{groups: [{name: g, rules: [{alert: Down, expr: up_node == 0}]}]}`)
		w.show(nodeUp, "go_threads 7", `version_info{version="1"} 1`, "avax_exporter_asked_seconds_count 1", "avax_exporter_asked_seconds_sum 1")
		a, stop := w.start()
		defer stop()
		time.Sleep(time.Minute)
		all := must.Get(Vector(a.Query(t.Context(), `{__name__=~".+"}`, time.Now())))(t)
		var got []string
		for _, s := range all {
			got = append(got, string(s.Metric[model.MetricNameLabel]))
		}
		slices.Sort(got)
		want := []string{
			"avax_exporter_asked_seconds_count", "avax_exporter_asked_seconds_sum", "scrape_duration_seconds", "scrape_samples_post_metric_relabeling",
			"scrape_samples_scraped", "scrape_series_added", "up", "up_node", "version_info",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
