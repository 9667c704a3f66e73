package schedule_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// If the exporter has too little CPU, it first skips what no alert of severity page needs, and then everything but the probes.
func TestOverloadedExporterRunsProbesFirst(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var probes, paged, others atomic.Int64
		probe, page, other := counting("probe", &probes), counting("page", &paged), counting("other", &others)
		probe.Probe, page.Critical = true, true
		h.Set([]schedule.Job{other, page, probe})
		ran := func(d time.Duration) [3]int64 {
			p, q, o := probes.Load(), paged.Load(), others.Load()
			time.Sleep(d)
			return [3]int64{probes.Load() - p, paged.Load() - q, others.Load() - o}
		}
		time.Sleep(time.Second)
		for _, step := range []struct {
			delay time.Duration
			after time.Duration
			want  [3]int64
		}{
			{900 * time.Millisecond, 2 * period, [3]int64{2, 2, 2}},
			{2 * time.Second, 2 * period, [3]int64{2, 2, 0}},
			{2 * time.Second, 2 * period, [3]int64{2, 2, 0}}, // not yet: the first step may be enough
			{2 * time.Second, 2 * period, [3]int64{2, 0, 0}},
			{2 * time.Second, 2 * period, [3]int64{2, 0, 0}},
		} {
			h.Adapt(step.delay)
			if got := ran(step.after); got != step.want {
				t.Errorf("after a delay of %v: runs %v, want %v", step.delay, got, step.want)
			}
		}
		if ran, of := h.Progress(); ran != of {
			t.Errorf("%d of %d first runs", ran, of)
		}
		time.Sleep(3 * time.Minute) // in time again
		if got, want := ran(2*period), [3]int64{2, 2, 2}; got != want {
			t.Errorf("after recovery: runs %v, want %v", got, want)
		}
		for _, message := range []string{
			`level=WARN msg="exporter too slow for its nodes" delay=2s runs="collectors that alerts of severity page need"`,
			`level=WARN msg="exporter too slow for its nodes" delay=2s runs="up probes"`,
			`level=INFO msg="exporter catches up" runs="all collectors"`,
		} {
			if strings.Count(h.log.String(), message) != 1 {
				t.Errorf("log without %q:\n%s", message, h.log)
			}
		}
		if n := h.count(t, "avax_exporter_collector_skipped_total"); n < 8 {
			t.Errorf("%v skipped runs", n)
		}
	})
}

// A job with a long period whose first run was skipped runs soon after the exporter has caught up, and not only at its next tick.
func TestSkippedFirstRunFollowsSoon(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		h.Adapt(2 * time.Second)
		var runs atomic.Int64
		hourly := counting("hourly", &runs)
		hourly.When = cron.Every(time.Hour)
		h.Set([]schedule.Job{hourly})
		for range 3 {
			time.Sleep(50 * time.Second)
			h.Adapt(time.Second / 2)
		}
		if n := h.count(t, "avax_exporter_collector_skipped_total"); runs.Load() != 0 || n != 1 {
			t.Fatalf("%d runs and %v skipped runs while the exporter is too slow, want 0 and 1", runs.Load(), n)
		}
		time.Sleep(3 * time.Minute) // a minute in time, and at most a minute until the run
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs after recovery, want 1", n)
		}
	})
}

// The exporter measures how late it is.
func TestLostTimeIsMeasured(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		time.Sleep(time.Minute)
		if lost := h.Lost(); lost != 0 {
			t.Errorf("lost %v in a minute in time", lost)
		}
		h.late.Store(int64(time.Second))
		time.Sleep(time.Minute)
		if lost := h.Lost(); lost < 35*time.Second || lost > 45*time.Second { // two thirds: half a second of each one and a half is in time
			t.Errorf("lost %v in a late minute", lost)
		}
		h.late.Store(int64(time.Hour))
		time.Sleep(30 * time.Minute)
		if lost := h.Lost(); lost < 29*time.Minute {
			t.Errorf("lost %v, although the process has stood still for 30 minutes", lost)
		}
		h.stop()
	})
}

// A run that ends without an answer because of the exporter counts as skipped: the result and the samples of the job stay. The exporter is then
// too slow.
func TestStarvedRunCountsAsSkipped(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var starved atomic.Bool
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			if starved.Load() {
				return fmt.Errorf("of alpha: %w", scrape.Starved("info.getNodeVersion", context.DeadlineExceeded))
			}
			out.Set(gauge, 1, "alpha")
			return nil
		})})
		time.Sleep(period + time.Second)
		starved.Store(true)
		key := metric.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}
		last := h.store.Last(key).At
		time.Sleep(period)
		if level := h.count(t, "avax_exporter_overload"); level != 0 {
			t.Errorf("overload %v after one starved run, want 0", level)
		}
		time.Sleep(period)
		if got := h.store.Last(key); got.Err != nil || got.At != last || !strings.Contains(h.served(), "avax_test_gauge") {
			t.Errorf("last run %v, %v, samples %q", got.At, got.Err, h.served())
		}
		if skipped := h.count(t, "avax_exporter_collector_skipped_total"); skipped != 2 {
			t.Errorf("%v skipped runs, want 2", skipped)
		}
		time.Sleep(2 * period)
		if level := h.count(t, "avax_exporter_overload"); level != 1 {
			t.Errorf("overload %v after four starved runs, want 1", level)
		}
		if got := h.served(); strings.Contains(got, "avax_test_gauge") {
			t.Errorf("after three periods still %q", got)
		}
	})
}
