package alerting

import (
	"cmp"
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
	at := now.Truncate(WeekStep)
	known := map[[4]string]bool{} // what was watched in the last day
	var all []prometheus.Metric
	for _, window := range AvailabilityWindows {
		from, expr := week, "sum by ("+aboutLabels+") (%s_over_time("+watched+"[%s]))"
		ups, steps := fmt.Sprintf(expr, "sum", window), fmt.Sprintf(expr, "count", window)
		if long, _ := model.ParseDuration(window); time.Duration(long) > WeekHistory {
			from, steps = quarter, "sum_over_time("+watchedSteps+"["+window+"])"
			ups = steps + " - (sum_over_time(" + lostSteps + "[" + window + "]) or 0 * " + steps + ")"
		}
		share, err := Vector(from.Query(ctx, fmt.Sprintf("(%s) / (%s)", ups, steps), at))
		counts, err2 := Vector(from.Query(ctx, fmt.Sprintf("clamp_max((%s) / %g, 1)", steps, stepsIn(window)), at))
		if err := cmp.Or(err, err2); err != nil {
			return err
		}
		for desc, of := range map[*prometheus.Desc]model.Vector{availableDesc: share, watchedDesc: counts} {
			for _, s := range of {
				label := func(name model.LabelName) string { return string(s.Metric[name]) }
				about := [4]string{label("node"), label("node_id"), label("chain"), label("objective")}
				if window == AvailabilityWindows[0] {
					known[about] = true
				}
				if known[about] {
					all = append(all, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(s.Value), append(about[:], window)...))
				}
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
			"(node_id) is while more than half of your nodes and observers are connected to it. An L1 (chain) is while it has its quorum. With the label "+
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

// stepsIn returns the number of WeekSteps in a window.
func stepsIn(window string) float64 {
	long, _ := model.ParseDuration(window)
	return float64(time.Duration(long) / WeekStep)
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
