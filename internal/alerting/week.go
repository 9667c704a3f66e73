package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/internal/logs"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

const (
	// WeekHistory is how long the week keeps its samples, and WeekStep the time between two of them. A sample is at a multiple of WeekStep.
	WeekHistory = 7 * 24 * time.Hour
	WeekStep    = 5 * time.Minute
	// maxWeekSeries is the maximum number of series of the week, and maxNodeAlerts that of new series of alerts of one node in a day: a node may invent
	// names.
	maxWeekSeries = 20_000
	maxNodeAlerts = 500
)

// weekly are the series that the pages show for a week, and how a sample of each is computed.
var weekly = func() (all []weekSeries) {
	for _, s := range []weekSeries{
		{"avax_node_up", `avg without (instance, pod) (avg_over_time(avax_node_up[%s]))`},
		{"avax_validator_downtime_used_seconds", `max without (instance, pod) (last_over_time(avax_validator_downtime_used_seconds[%s]))`},
		{"avax_l1_validator_runway_seconds", `min without (instance, pod) (last_over_time(avax_l1_validator_runway_seconds[%s]))`},
		{"avax:downtime_used_seconds", `last_over_time(avax:downtime_used_seconds[%s])`},
		{"avax:reward_reachable_avax", `last_over_time(avax:reward_reachable_avax[%s])`},
		{"avax:fault_since_timestamp_seconds", `min without (instance, pod) (last_over_time(avax:fault_since_timestamp_seconds[%s]))`},
		{"ALERTS", `max without (instance, pod) (max_over_time(ALERTS{alertstate="firing", severity!="none"}[%s]))`},
		{forState, `max without (instance, pod) (last_over_time(` + forState + `{severity!="none"}[%[1]s])
			and ignoring (alertstate) max_over_time(ALERTS{alertstate="firing"}[%[1]s]))`},
	} {
		all = append(all, weekSeries{s.name, fmt.Sprintf(s.expr, model.Duration(WeekStep))})
	}
	return all
}()

type weekSeries struct{ name, expr string }

// week holds a few series for a week. The store of the engine has every series, but for a day at most.
type week struct {
	*history
	sampled time.Time // time of the last samples

	mu    sync.Mutex
	store *Store

	known   map[uint64]storage.SeriesRef // by hash of the labels
	ofNode  map[string]int               // new series of alerts by node, since counted
	counted time.Time
}

func newWeek(dir *state.Dir, log *slog.Logger) (*week, error) {
	w := &week{history: newHistory(dir, log, "week", WeekHistory/14)}
	return w, w.reset()
}

// reset replaces the store by an empty one.
func (w *week) reset() error {
	store, err := OpenStore(logs.AtLeast(slog.LevelError, w.log), prometheus.NewRegistry(), 24*time.Hour) // long chunks
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.store != nil {
		err = w.store.Close()
	}
	w.store, w.counted, w.known, w.ofNode = store, time.Time{}, map[uint64]storage.SeriesRef{}, map[string]int{}
	return err
}

func (w *week) samples() *Store {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.store
}

// sample adds the samples of the last step, once in each step. It reads them from the engine's store.
func (w *week) sample(ctx context.Context, from PromQL, now time.Time) error {
	at := now.Truncate(WeekStep)
	if !at.After(w.sampled) {
		return nil
	}
	w.sampled = at
	if now.Sub(w.counted) >= 24*time.Hour {
		w.counted, w.known, w.ofNode = now, map[uint64]storage.SeriesRef{}, map[string]int{}
	}
	app := w.store.Appender(ctx)
	var errs []error
	for _, s := range weekly {
		values, err := Vector(from.Query(ctx, s.expr, at))
		errs = append(errs, err)
		for _, one := range values {
			one.Metric[model.MetricNameLabel] = model.LabelValue(s.name)
			l := LabelsOf(one.Metric)
			hash := l.Hash()
			ref, known := w.known[hash]
			if !known && !w.admits(s.name, one.Metric) {
				continue
			}
			if ref, err = app.Append(ref, l, at.UnixMilli(), float64(one.Value)); err == nil { // not a time that a clock set back repeats
				w.known[hash] = ref
			}
		}
	}
	return errors.Join(append(errs, app.Commit(), w.store.Truncate(at.Add(-WeekHistory).UnixMilli()))...)
}

// admits reports whether a new series may be added.
func (w *week) admits(name string, metric model.Metric) bool {
	if len(w.known) >= maxWeekSeries {
		return false
	}
	node := string(metric["node"])
	if name == "ALERTS" && node != "" {
		w.ofNode[node]++
	}
	return w.ofNode[node] <= maxNodeAlerts || name != "ALERTS" && name != forState
}

// LabelsOf returns the labels of a series in the type of the store.
func LabelsOf(metric model.Metric) labels.Labels {
	b := labels.NewScratchBuilder(len(metric))
	for label, value := range metric {
		b.Add(string(label), string(value))
	}
	b.Sort()
	return b.Labels()
}

// setBack deletes the samples after the time to which the clock was set, if they are far ahead: no sample is older than the newest one by more than a day.
func (w *week) setBack(now time.Time) error {
	w.sampled = time.Time{}
	if time.UnixMilli(w.store.MaxTime()).Sub(now) < 24*time.Hour || w.store.NumSeries() == 0 {
		return nil
	}
	w.history.restart()
	return w.reset()
}

// Week returns a source of the series of the last week. Their last samples are up to WeekStep old.
func (a *Alerting) Week() Source { return weekSource{a} }

type weekSource struct{ *Alerting }

func (s weekSource) promQL() PromQL { return PromQL{s.current().promQL.Engine, s.saver.week.samples()} }

// Query implements Source.
func (s weekSource) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	return s.promQL().Query(ctx, expr, at)
}

// QueryRange implements Source.
func (s weekSource) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	return s.promQL().QueryRange(ctx, expr, start, end, step)
}
