package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// times records when a job ran, in whole seconds from the start.
type times struct {
	start time.Time
	at    []int
	err   error
}

func (r *times) job(collector, node string, period time.Duration) schedule.Job {
	target := metric.Target{Node: node}
	r.start = time.Now()
	return schedule.Job{
		Key: metric.Key{Collector: collector, Target: target}, Families: []*metric.Family{gauge}, Retry: true,
		When: schedule.Every(period, target),
		Collect: func(context.Context, *metric.Batch) error {
			r.at = append(r.at, int(time.Since(r.start).Seconds()))
			return r.err
		},
	}
}

func TestFailedJobIsRetriedWithBackoff(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want []int
	}{
		"failure":       {errors.New("no"), []int{0, 2, 6, 14, 30, 62, 126}},
		"missing chain": {fmt.Errorf("%w: %w", metric.ErrNotOffered, &scrape.Error{Outcome: scrape.NotFound}), []int{0, 2, 6, 14, 30, 62, 126}},
		"rate limited":  {&scrape.Error{Outcome: scrape.RateLimited}, []int{0}},
		"not offered":   {metric.ErrNotOffered, []int{0}},
		"success":       {nil, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h harness) {
				r := times{err: test.err}
				j := r.job("test", "a", 24*time.Hour)
				h.Set([]schedule.Job{j})
				time.Sleep(150 * time.Second)
				synctest.Wait()
				if !slices.Equal(r.at, test.want) {
					t.Errorf("ran at %v, want %v", r.at, test.want)
				}
			})
		})
	}
}

func TestRetriesStayWithinThePeriod(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		r := times{err: errors.New("no")}
		h.Set([]schedule.Job{r.job("test", "a", time.Minute)})
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := len(r.at); n < 30 || n > 30+6 {
			t.Errorf("%d runs in 30 periods", n)
		}
	})
}

// What the node reported before it stopped answering does not count any more.
func TestRecoveredNodeRunsItsJobsAndFailingJobsOfTheNetwork(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var slow, other, well, network times
		slow.err, other.err, network.err = errors.New("no"), errors.New("no"), errors.New("no")
		jobs := []schedule.Job{
			slow.job("slow", "a", 24*time.Hour), other.job("slow", "b", 24*time.Hour),
			well.job("well", "a", 24*time.Hour), network.job("network", "", 24*time.Hour),
		}
		h.Set(jobs)
		time.Sleep(10 * time.Hour) // retries become rare
		synctest.Wait()
		for _, r := range []*times{&slow, &other, &well, &network} {
			r.start, r.at, r.err = time.Now(), nil, nil
		}
		h.NodeChanged("a", true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(slow.at) != 1 || len(network.at) != 1 || len(other.at) != 0 || len(well.at) != 1 {
			t.Errorf("runs of the node's failing job %v, the network's %v, another node's %v, its successful job's %v", slow.at, network.at, other.at, well.at)
		}
	})
}

func TestChangeDuringARunStartsAnotherRun(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var runs atomic.Int64
		h.Set([]schedule.Job{{
			Key: metric.Key{Collector: "test"}, Families: []*metric.Family{gauge}, OnChange: true,
			When: schedule.Every(24*time.Hour, metric.Target{}),
			Collect: func(context.Context, *metric.Batch) error {
				runs.Add(1)
				time.Sleep(5 * time.Second)
				return nil
			},
		}})
		time.Sleep(time.Minute)
		h.NodeChanged("a", false)
		time.Sleep(2 * time.Second)
		for range 100 { // concurrent changes count as one
			h.NodeChanged("a", true)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if runs.Load() != 3 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// A woken run replaces the tick during it.
func TestTickDuringAWokenRunIsNotSkipped(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		h.Set([]schedule.Job{{
			Key: metric.Key{Collector: "test"}, Families: []*metric.Family{gauge}, OnChange: true,
			When:    schedule.Every(time.Minute, metric.Target{}),
			Collect: func(context.Context, *metric.Batch) error { time.Sleep(20 * time.Second); return nil },
		}})
		for range 6 { // at every tenth second of a minute
			time.Sleep(10*time.Minute + 10*time.Second)
			h.NodeChanged("a", false)
		}
		time.Sleep(10 * time.Minute)
		if n := h.count(t, "avax_exporter_collector_skipped_total"); n != 0 {
			t.Errorf("%v skipped ticks", n)
		}
	})
}

// A woken run that ignores its deadline does not replace a tick.
func TestTickDuringAnOverdueWokenRunIsSkipped(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var stuck atomic.Bool
		h.Set([]schedule.Job{{
			Key: metric.Key{Collector: "test"}, Families: []*metric.Family{gauge}, OnChange: true,
			When: schedule.Every(time.Minute, metric.Target{}),
			Collect: func(context.Context, *metric.Batch) error {
				if stuck.Load() {
					time.Sleep(5 * time.Minute)
				}
				return nil
			},
		}})
		time.Sleep(30 * time.Second)
		stuck.Store(true)
		h.NodeChanged("a", false)
		time.Sleep(4 * time.Minute)
		if n := h.count(t, "avax_exporter_collector_skipped_total"); n < 3 {
			t.Errorf("%v skipped ticks", n)
		}
	})
}

// Who asks about a node makes the jobs run that decide the answer, of this node only, and at most once in four seconds.
func TestQuestionsRunFewJobs(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var up, other, elsewhere times
		h.Set([]schedule.Job{up.job("up", "alpha", time.Minute), other.job("peers", "alpha", time.Minute), elsewhere.job("up", "bravo", time.Minute)})
		time.Sleep(time.Second)
		before := len(up.at)
		for range 120 {
			h.Asked("alpha", "up")
			time.Sleep(250 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := len(up.at) - before; n < 6 || n > 9 {
			t.Errorf("%d runs in 30 s: at %v", n, up.at)
		}
		if len(other.at) > 2 || len(elsewhere.at) > 2 {
			t.Errorf("other jobs ran at %v and %v", other.at, elsewhere.at)
		}
	})
}

// However often clients ask about a slow node, a job runs for them during a quarter of the time: the other calls have the rest.
func TestQuestionsLeaveASlowNodeTime(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		runs := 0
		j := (&times{}).job("up", "alpha", 24*time.Hour)
		j.Collect = func(context.Context, *metric.Batch) error {
			runs++
			time.Sleep(6 * time.Second)
			return nil
		}
		h.Set([]schedule.Job{j})
		for range 4 * 60 {
			time.Sleep(time.Second)
			h.Asked("alpha", "up")
		}
		if runs < 9 || runs > 11 {
			t.Errorf("%d runs of 6 s in four minutes", runs)
		}
	})
}
