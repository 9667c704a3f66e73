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
	// QuarterHistory is how long the quarter keeps its samples. It has one of each hour, and of alerts one at each WeekStep.
	QuarterHistory = 90 * 24 * time.Hour
	quarterStep    = time.Hour
	// maxWeekSeries is the maximum number of series of the week, and maxNodeAlerts that of new series of alerts of one node in a day: a node may invent
	// names.
	maxWeekSeries = 20_000
	maxNodeAlerts = 500
)

// weekly are the series that the pages show for a week, and how a sample of each is computed from those of the engine. Those of hourly are computed from
// them.
var (
	weekly = every(WeekStep, []keptSeries{
		{"avax_node_up", `avg without (instance, pod) (avg_over_time(avax_node_up[%s]))`},
		{"avax_validator_downtime_used_seconds", `max without (instance, pod) (last_over_time(avax_validator_downtime_used_seconds[%s]))`},
		{"avax_l1_validator_runway_seconds", `min without (instance, pod) (last_over_time(avax_l1_validator_runway_seconds[%s]))`},
		{"avax:downtime_used_seconds", `last_over_time(avax:downtime_used_seconds[%s])`},
		{"avax:reward_reachable_avax", `last_over_time(avax:reward_reachable_avax[%s])`},
		{availableName, `max by (node_id) (avg_over_time((
				avg by (node_id) (avax_validator_connected and ignoring (node_id) avax:node_sound) > bool 0.5)[%s:1m]))
			or max by (chain) (avg_over_time((
				0 * avax:l1_reachable_ratio + 1
					unless avax:l1_quorum_lost unless on (job, chain) (avax:joint_head_stale or avax:halted_with_primary)
				or 0 * avax:l1_reachable_ratio)[%[1]s:1m]))
			or max by (chain, objective) (avg_over_time(avax:rpc_good_ratio[%[1]s]))`},
	})
	alertsKept = every(WeekStep, []keptSeries{
		{"avax:fault_since_timestamp_seconds", `min without (instance, pod) (last_over_time(avax:fault_since_timestamp_seconds[%s]))`},
		{"ALERTS", `max without (instance, pod) (max_over_time(ALERTS{alertstate="firing", severity!="none"}[%s]))`},
		{forState, `max without (instance, pod) (last_over_time(` + forState + `{severity!="none"}[%[1]s])
			and ignoring (alertstate) max_over_time(ALERTS{alertstate="firing"}[%[1]s]))`},
	})
	hourly = every(quarterStep, []keptSeries{
		{watchedSteps, countWatched},
		{lostSteps, countLost + " > 0"},
	})
)

type keptSeries struct{ name, expr string }

// every returns series whose expressions are about one step.
func every(step time.Duration, series []keptSeries) (all []keptSeries) {
	for _, s := range series {
		all = append(all, keptSeries{s.name, fmt.Sprintf(s.expr, model.Duration(step))})
	}
	return all
}

// longStore holds a few series for a long time. The store of the engine has every series, but for a day at most.
type longStore struct {
	*history
	keep    time.Duration
	order   time.Duration               // the length of half a chunk
	sampled map[time.Duration]time.Time // time of the last samples, by step

	mu    sync.Mutex
	store *Store

	known   map[uint64]storage.SeriesRef // by hash of the labels
	ofNode  map[string]int               // new series of alerts by node, since counted
	counted time.Time
}

func newWeek(dir *state.Dir, log *slog.Logger) (*longStore, error) {
	return newLongStore(dir, log, "week", WeekHistory, 24*time.Hour) // long chunks
}

func newQuarter(dir *state.Dir, log *slog.Logger) (*longStore, error) {
	return newLongStore(dir, log, "quarter", QuarterHistory, 10*24*time.Hour)
}

func newLongStore(dir *state.Dir, log *slog.Logger, name string, keep, order time.Duration) (*longStore, error) {
	l := &longStore{history: newHistory(dir, log, name, keep/14), keep: keep, order: order}
	return l, l.reset()
}

// reset replaces the store by an empty one.
func (l *longStore) reset() error {
	store, err := OpenStore(logs.AtLeast(slog.LevelError, l.log), prometheus.NewRegistry(), l.order)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store != nil {
		err = l.store.Close()
	}
	l.store, l.counted, l.known, l.ofNode = store, time.Time{}, map[uint64]storage.SeriesRef{}, map[string]int{}
	l.sampled = map[time.Duration]time.Time{}
	return err
}

func (l *longStore) samples() *Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store
}

// sample adds the samples of the last step, once in each step. It reads them from another store.
func (l *longStore) sample(ctx context.Context, series []keptSeries, from PromQL, step time.Duration, now time.Time) error {
	at := now.Truncate(step)
	if !at.After(l.sampled[step]) {
		return nil
	}
	l.sampled[step] = at
	if now.Sub(l.counted) >= 24*time.Hour {
		l.counted, l.known, l.ofNode = now, map[uint64]storage.SeriesRef{}, map[string]int{}
	}
	app := l.store.Appender(ctx)
	var errs []error
	for _, s := range series {
		values, err := Vector(from.Query(ctx, s.expr, at))
		errs = append(errs, err)
		for _, one := range values {
			one.Metric[model.MetricNameLabel] = model.LabelValue(s.name)
			labels := LabelsOf(one.Metric)
			hash := labels.Hash()
			ref, known := l.known[hash]
			if !known && !l.admits(s.name, one.Metric) {
				continue
			}
			if ref, err = app.Append(ref, labels, at.UnixMilli(), float64(one.Value)); err == nil { // not a time that a clock set back repeats
				l.known[hash] = ref
			}
		}
	}
	return errors.Join(append(errs, app.Commit(), l.store.Truncate(at.Add(-l.keep).UnixMilli()))...)
}

// admits reports whether a new series may be added.
func (l *longStore) admits(name string, metric model.Metric) bool {
	if len(l.known) >= maxWeekSeries {
		return false
	}
	node := string(metric["node"])
	if name == "ALERTS" && node != "" {
		l.ofNode[node]++
	}
	return l.ofNode[node] <= maxNodeAlerts || name != "ALERTS" && name != forState
}

// missing returns the first hour of which the quarter has no samples, but the week may have some.
func (a *Alerting) missing(now time.Time) time.Time {
	week, quarter := a.saver.week.samples(), a.saver.quarter
	last := quarter.sampled[quarterStep]
	switch {
	case !last.IsZero():
	case quarter.store.NumSeries() > 0:
		last = time.UnixMilli(quarter.store.MaxTime()).Truncate(quarterStep)
	case week.NumSeries() > 0:
		last = time.UnixMilli(week.MinTime()).Truncate(quarterStep)
	}
	if oldest := now.Add(-WeekHistory).Truncate(quarterStep); last.Before(oldest) {
		last = oldest
	}
	return last.Add(quarterStep)
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
func (l *longStore) setBack(now time.Time) error {
	clear(l.sampled)
	if time.UnixMilli(l.store.MaxTime()).Sub(now) < l.order || l.store.NumSeries() == 0 {
		return nil
	}
	l.history.restart()
	return l.reset()
}

// Week returns a source of the series of the last week. Their last samples are up to WeekStep old.
func (a *Alerting) Week() Source { return longSource{a, a.saver.week} }

// Quarter returns a source of the alerts of the last 90 days. Their last samples are up to WeekStep old.
func (a *Alerting) Quarter() Source { return longSource{a, a.saver.quarter} }

type longSource struct {
	*Alerting
	from *longStore
}

func (s longSource) promQL() PromQL { return PromQL{s.current().promQL.Engine, s.from.samples()} }

// Query implements Source.
func (s longSource) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	return s.promQL().Query(ctx, expr, at)
}

// QueryRange implements Source.
func (s longSource) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	return s.promQL().QueryRange(ctx, expr, start, end, step)
}
