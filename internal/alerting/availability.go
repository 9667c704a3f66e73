package alerting

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
)

// The series from which availability is computed: the share of a WeekStep in which a validator or an L1 was available, and of each hour the numbers of
// WeekSteps in which a node, a validator or an L1 was watched, and in which it was not available. The latter is absent for 0: most hours have none.
const (
	availableName = "available_ratio"
	lostSteps     = "lost_steps"
	watchedSteps  = "watched_steps"
	watched       = `{__name__=~"avax_node_up|` + availableName + `"}`
	aboutLabels   = "node, node_id, chain, objective" // what is available

	countWatched = "sum by (" + aboutLabels + ") (count_over_time(" + watched + "[%[1]s]))"
	countLost    = "sum by (" + aboutLabels + ") (count_over_time(" + watched + "[%[1]s]) - sum_over_time(" + watched + "[%[1]s]))"
)

// The families of the availability.
const (
	AvailabilityFamily = "avax_availability_ratio"
	WatchedFamily      = "avax_availability_watched_ratio"
)

// AvailabilityWindows are the values of the label window of avax_availability_ratio.
var AvailabilityWindows = []string{"24h", "7d", "30d", "90d"}

// rate computes the availability and exports it. What was not watched for a day has none.
func (a *Alerting) rate(ctx context.Context, e *engine, now time.Time) error {
	if a.o.State.Path() == "" {
		return nil
	}
	week, quarter := PromQL{e.promQL.Engine, a.saver.week.samples()}, PromQL{e.promQL.Engine, a.saver.quarter.samples()}
	at, hour := now.Truncate(WeekStep), a.missing(now).Add(-quarterStep) // the last hour of which the quarter has samples
	known := counted{}                                                   // what was watched in the last day
	var all []prometheus.Metric
	for _, window := range AvailabilityWindows {
		parsed, _ := model.ParseDuration(window)
		long, of := time.Duration(parsed), counted{}
		inWeek := long
		if long > WeekHistory {
			inWeek = at.Sub(hour)
			if err := of.add(ctx, quarter, "sum_over_time("+watchedSteps+"[%s])", "sum_over_time("+lostSteps+"[%s])", long, at); err != nil {
				return err
			}
		}
		if err := of.add(ctx, week, countWatched, countLost, inWeek, at); err != nil {
			return err
		}
		if long == 24*time.Hour {
			known = of
		}
		for about, n := range of {
			if known[about] != nil {
				labels := append(about[:], window)
				all = append(all, prometheus.MustNewConstMetric(availableDesc, prometheus.GaugeValue, 1-n.lost/n.watched, labels...),
					prometheus.MustNewConstMetric(watchedDesc, prometheus.GaugeValue, min(1, n.watched*WeekStep.Seconds()/long.Seconds()), labels...))
			}
		}
	}
	a.metrics.availability.Store(&all)
	return nil
}

// availability exports the availability as it was computed last.
type availability struct {
	atomic.Pointer[[]prometheus.Metric]
}

var (
	availableDesc = prometheus.NewDesc(AvailabilityFamily,
		"Availability in the window (24h, 7d, 30d or 90d): a share (0 to 1) of the watched time. A node (node) is available while it answers. A validator "+
			"(node_id) is while more than half of your nodes and observers are connected to it. An L1 (chain) is while it has its quorum, and does not "+
			"stand still on all of your nodes. With the label "+
			"objective, it is the share of the answers of the collector rpc about a chain that were right (answers) or fast (latency). Updated every "+
			"5 min. Absent without AVAX_STATE_DIR, and for what was not watched for a day.", []string{"node", "node_id", "chain", "objective", "window"}, nil)
	watchedDesc = prometheus.NewDesc(WatchedFamily,
		"Share (0 to 1) of the window that was watched: the exporter ran, and had samples of the node, validator or L1. The rest counts neither as "+
			"available nor as not available.", []string{"node", "node_id", "chain", "objective", "window"}, nil)
)

// Describe implements prometheus.Collector.
func (a *availability) Describe(out chan<- *prometheus.Desc) {
	out <- availableDesc
	out <- watchedDesc
}

// Collect implements prometheus.Collector.
func (a *availability) Collect(out chan<- prometheus.Metric) {
	if all := a.Load(); all != nil {
		for _, m := range *all {
			out <- m
		}
	}
}

// steps are numbers of WeekSteps.
type steps struct{ watched, lost float64 }

// counted has the steps of each node, validator, L1 or objective.
type counted map[[4]string]*steps

// add adds the steps of a time until at, which two expressions about this time count.
func (c counted) add(ctx context.Context, from PromQL, watched, lost string, long time.Duration, at time.Time) error {
	if long <= 0 {
		return nil
	}
	for expr, add := range map[string]func(of *steps, n float64){
		watched: func(of *steps, n float64) { of.watched += n }, lost: func(of *steps, n float64) { of.lost += n },
	} {
		found, err := Vector(from.Query(ctx, fmt.Sprintf(expr, model.Duration(long)), at))
		if err != nil {
			return err
		}
		for _, s := range found {
			about := [4]string{string(s.Metric["node"]), string(s.Metric["node_id"]), string(s.Metric["chain"]), string(s.Metric["objective"])}
			if c[about] == nil {
				c[about] = &steps{}
			}
			add(c[about], float64(s.Value))
		}
	}
	return nil
}

// sampleLong adds samples to the week and to the quarter, and computes the availability.
func (a *Alerting) sampleLong(ctx context.Context, e *engine, now time.Time) error {
	week, quarter := a.saver.week, a.saver.quarter
	if !now.Truncate(WeekStep).After(week.sampled[WeekStep]) {
		return nil
	}
	ofWeek := PromQL{e.promQL.Engine, week.samples()}
	err := errors.Join(week.sample(ctx, weekly, e.promQL, WeekStep, now), quarter.sample(ctx, alertsKept, e.promQL, WeekStep, now))
	for at := a.missing(now); !at.After(now); at = at.Add(quarterStep) { // after a pause, the week still knows the last hours before it
		err = errors.Join(err, quarter.sample(ctx, hourly, ofWeek, quarterStep, at))
	}
	return errors.Join(err, a.rate(ctx, e, now))
}
