package alerting

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// days returns the share of the time in which a node answered, of each of the last days with samples.
func days(t *testing.T, a *Alerting, node string) (all []float64) {
	t.Helper()
	end := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	matrix, err := a.Week().
		QueryRange(t.Context(), fmt.Sprintf("avg by (node) (avg_over_time(avax_node_up{node=%q}[1d]))", node), end.Add(-6*24*time.Hour), end, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range matrix {
		for _, v := range stream.Values {
			all = append(all, float64(v.Value))
		}
	}
	return all
}

// The week knows how long a node answered on each day, and which alerts fired, after a restart too. It forgets what is older.
func TestWeekKnowsEachDayAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		slow := func(o *Options) { o.Interval = 4 * time.Minute }
		_, stop := w.start(slow)
		up := func(is int, long time.Duration) {
			w.show(fmt.Sprintf("avax_node_up{node=\"alpha\"} %d", is), fmt.Sprintf("up_node{node=\"alpha\"} %d", is))
			time.Sleep(long)
		}
		up(1, 24*time.Hour)
		up(0, 6*time.Hour)
		up(1, 18*time.Hour+3*time.Minute)
		stop()
		a, again := w.start(slow)
		up(1, 12*time.Hour)
		defer again()
		got := days(t, a, "alpha")
		if len(got) != 3 || got[0] < 0.995 || got[1] < 0.745 || got[1] > 0.755 || got[2] != 1 {
			t.Errorf("shares of the days %v, want 1, 0.75 and 1\n%s", got, w.logged())
		}
		fired, err := Vector(a.Quarter().Query(t.Context(), `count_over_time(ALERTS{alertname="Down", alertstate="firing"}[3d])`, time.Now()))
		if err != nil || len(fired) != 1 || fired[0].Value < 71 || fired[0].Value > 74 || fired[0].Metric["node"] != "alpha" {
			t.Errorf("alert of six hours: %v, %v", fired, err)
		}
		if testing.Short() {
			return
		}
		up(1, 8*24*time.Hour)
		if got := days(t, a, "alpha"); len(got) != 7 {
			t.Errorf("%d days", len(got))
		}
		if age := a.saver.week.samples().age(); age < WeekHistory || age > WeekHistory+3*24*time.Hour {
			t.Errorf("the oldest sample is %v old", age)
		}
	})
}

// A node that invents names adds few series to the week, and takes no place from another.
func TestWeekIsBoundedPerNode(t *testing.T) {
	w := must.Get(newWeek(&state.Dir{}, slog.New(slog.DiscardHandler)))(t)
	admitted := map[string]int{}
	for i := range 3000 {
		for _, node := range []string{"liar", "alpha"} {
			if node == "alpha" && i >= 10 {
				continue
			}
			if w.admits("ALERTS", model.Metric{"node": model.LabelValue(node), "check": model.LabelValue(fmt.Sprint(i))}) {
				admitted[node]++
			}
		}
	}
	if admitted["liar"] != maxNodeAlerts || admitted["alpha"] != 10 {
		t.Errorf("admitted series %v", admitted)
	}
}

// A clock that was far ahead does not stop the week when it is corrected.
func TestWeekContinuesAfterAClockFarAhead(t *testing.T) {
	w := must.Get(newWeek(&state.Dir{}, slog.New(slog.DiscardHandler)))(t)
	now := time.Now().Truncate(WeekStep)
	for _, at := range []time.Time{now.Add(400 * 24 * time.Hour), now} {
		if at.Equal(now) {
			must.Do(t, w.setBack(now))
		}
		app := w.samples().Appender(t.Context())
		if _, err := app.Append(0, labels.FromStrings("__name__", "avax_node_up", "node", "alpha"), at.UnixMilli(), 1); err != nil {
			t.Errorf("at %v: %v", at, err)
		}
		if err := app.Commit(); err != nil {
			t.Error(err)
		}
	}
}
