package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var gauge = metric.New("avax_test_gauge", "A gauge.", "target")

// harness is a running scheduler and its store.
type harness struct {
	*schedule.Scheduler
	store    *metric.Store
	registry *prometheus.Registry
	log      *strings.Builder
	late     *atomic.Int64 // how long a goroutine waits for its turn
	stop     func()
}

// inHarness runs the test in synthetic time with a running scheduler.
func inHarness(t *testing.T, test func(t *testing.T, h harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := harness{store: metric.NewStore(), registry: prometheus.NewRegistry(), log: &strings.Builder{}, late: &atomic.Int64{}, stop: cancel}
		h.Scheduler = schedule.Start(ctx, h.store, h.registry, slog.New(slog.NewTextHandler(h.log, nil)), func() {
			select {
			case <-time.After(time.Duration(h.late.Load())):
			case <-ctx.Done():
			}
		})
		defer h.Wait()
		defer cancel()
		test(t, h)
	})
}

func (h harness) served() string {
	var lines []byte
	for _, j := range h.store.Jobs() {
		for _, c := range j.Fresh(time.Now()) {
			lines = append(lines, c.String()...)
		}
	}
	return string(lines)
}

const period = 10 * time.Second

func job(target string, collect func(context.Context, *metric.Batch) error) schedule.Job {
	return schedule.Job{
		Key:      metric.Key{Collector: "test", Target: metric.Target{Node: target}},
		Families: []*metric.Family{gauge},
		When:     cron.Every(period),
		Collect:  collect,
	}
}

// counting returns a job that counts its runs.
func counting(target string, runs *atomic.Int64) schedule.Job {
	return job(target, func(_ context.Context, out *metric.Batch) error {
		out.Set(gauge, float64(runs.Add(1)), target)
		return nil
	})
}

func TestFirstRunsOfALargeFleetAreSpread(t *testing.T) {
	for name, test := range map[string]struct {
		lasts  time.Duration
		at     time.Duration
		atOnce int64 // runs in progress
		ended  int64
	}{
		"at first":                 {lasts: 4 * time.Second, at: 10 * time.Millisecond, atOnce: 64},
		"nodes that do not answer": {lasts: 4 * time.Second, at: 2010 * time.Millisecond, atOnce: 64 + 100},
		"nodes that answer":        {lasts: time.Millisecond, at: 10 * time.Millisecond, ended: 300},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h harness) {
				var started, ended atomic.Int64
				var jobs []schedule.Job
				for i := range 300 {
					jobs = append(jobs, job(fmt.Sprint(i), func(context.Context, *metric.Batch) error {
						started.Add(1)
						time.Sleep(test.lasts)
						ended.Add(1)
						return nil
					}))
				}
				h.Set(jobs)
				time.Sleep(test.at)
				if atOnce := started.Load() - ended.Load(); atOnce != test.atOnce || ended.Load() != test.ended {
					t.Errorf("%d runs in progress and %d ended, want %d and %d", atOnce, ended.Load(), test.atOnce, test.ended)
				}
			})
		})
	}
}

func TestFirstRunIsImmediateAndTicksFollow(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var runs atomic.Int64
		h.Set([]schedule.Job{counting("alpha", &runs)})
		time.Sleep(100 * time.Millisecond)
		if got := runs.Load(); got != 1 {
			t.Fatalf("%d immediate runs, want 1", got)
		}
		time.Sleep(10 * period)
		if got := runs.Load(); got != 11 {
			t.Errorf("%d runs after ten periods, want 11", got)
		}
	})
}

// A reload of nodes, credentials or chains creates all jobs again. The scheduler keeps the first instance of an existing job, so that
// its collector does not lose what it has measured.
func TestSetKeepsCollectorStateOfUnchangedJobs(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		bound := 0
		bind := func() schedule.Job {
			bound++
			measured := 0
			return job("alpha", func(_ context.Context, out *metric.Batch) error {
				measured++
				out.Set(gauge, float64(measured), "alpha")
				return nil
			})
		}
		for range 5 {
			h.Set([]schedule.Job{bind()})
			time.Sleep(period)
		}
		time.Sleep(time.Second)
		if want := `avax_test_gauge{target="alpha"} 6`; bound != 5 || !strings.Contains(h.served(), want) {
			t.Errorf("bound %d times, served:\n%s\nwant %s", bound, h.served(), want)
		}
		h.Set(nil)
		h.Set([]schedule.Job{bind()})
		time.Sleep(time.Second)
		if want := `avax_test_gauge{target="alpha"} 1`; !strings.Contains(h.served(), want) {
			t.Errorf("after it was removed:\n%s\nwant %s", h.served(), want)
		}
	})
}

func TestTicksAreSharedPerTargetAndSpread(t *testing.T) {
	now := time.Now()
	if a, b := schedule.Every(period, metric.Target{Node: "alpha"}).Next(now),
		schedule.Every(period, metric.Target{Node: "alpha", Chain: "C"}).Next(now); !a.Equal(b) {
		t.Errorf("alpha ticks at %v, alpha/C at %v", a, b)
	}
	configured := must.Get(schedule.Parse("@every 10s"))(t)
	for name, timetable := range map[string]schedule.Timetable{
		"default":    func(target metric.Target) cron.Schedule { return schedule.Every(period, target) },
		"configured": configured,
	} {
		moments := map[time.Time]bool{}
		for i := range 100 {
			target := metric.Target{Node: fmt.Sprint("node", i)}
			next := timetable(target).Next(now)
			if wait := next.Sub(now); wait <= 0 || wait > period {
				t.Errorf("%s: %s ticks after %v, want within a period", name, target, wait)
			}
			moments[next] = true
		}
		if len(moments) < 50 {
			t.Errorf("%s: a hundred targets tick at %d different times", name, len(moments))
		}
	}
}

func TestRunEndsAfterHalfItsPeriod(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var under, peak atomic.Int64
		lasted := make(chan time.Duration, 10)
		h.Set([]schedule.Job{job("slow", func(ctx context.Context, _ *metric.Batch) error {
			peak.Store(max(peak.Load(), under.Add(1)))
			defer under.Add(-1)
			start := time.Now()
			<-ctx.Done()
			lasted <- time.Since(start)
			return ctx.Err()
		})})
		time.Sleep(3 * period)
		if got := <-lasted; got != period/2 {
			t.Errorf("run lasted %v, want %v", got, period/2)
		}
		if peak.Load() != 1 {
			t.Errorf("%d concurrent runs", peak.Load())
		}
	})
}

// If a collector ignores its context, only its own ticks are skipped. Skipped ticks are counted.
func TestTickDuringARunIsSkippedAndCounted(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var others atomic.Int64
		h.Set([]schedule.Job{
			job("stuck", func(context.Context, *metric.Batch) error { time.Sleep(35 * time.Second); return nil }),
			counting("patient", &others),
		})
		time.Sleep(36 * time.Second)
		if n := h.count(t, "avax_exporter_collector_skipped_total"); n != 3 {
			t.Errorf("%v skipped runs, want 3", n)
		}
		if got := others.Load(); got != 4 {
			t.Errorf("the other job ran %d times, want 4", got)
		}
	})
}

func TestSamplesExpireAfterThreePeriods(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var down atomic.Bool
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			if down.Load() {
				return errors.New("connection refused")
			}
			out.Set(gauge, 1, "alpha")
			return nil
		})})
		time.Sleep(25 * time.Second)
		down.Store(true)
		last := h.store.Jobs()[0].Good.At
		time.Sleep(time.Until(last.Add(3*period - time.Millisecond)))
		if !strings.Contains(h.served(), "alpha") {
			t.Error("expired before three periods")
		}
		time.Sleep(time.Millisecond)
		if strings.Contains(h.served(), "alpha") {
			t.Error("still served after three periods")
		}
		down.Store(false)
		time.Sleep(period + time.Millisecond)
		if !strings.Contains(h.served(), "alpha") {
			t.Error("no samples after recovery")
		}
	})
}

func TestPanicFailsOnlyItsJob(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var runs atomic.Int64
		h.Set([]schedule.Job{
			job("broken", func(context.Context, *metric.Batch) error { panic("out of cheese") }),
			counting("sound", &runs),
		})
		time.Sleep(period + time.Second)
		if err := h.store.Last(metric.Key{Collector: "test", Target: metric.Target{Node: "broken"}}).Err; err == nil ||
			!strings.Contains(err.Error(), "out of cheese") {
			t.Errorf("the job's error is %v", err)
		}
		if runs.Load() != 2 {
			t.Errorf("the other job ran %d times, want 2", runs.Load())
		}
		if n := h.count(t, "avax_exporter_collector_panics_total"); n != 2 {
			t.Errorf("%v panics, want 2", n)
		}
	})
}

func TestSetStartsNewAndRemovesOldJobs(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var kept, gone, added atomic.Int64
		h.Set([]schedule.Job{counting("kept", &kept), counting("gone", &gone)})
		time.Sleep(period / 2)
		keptBefore, goneBefore := kept.Load(), gone.Load()
		h.Set([]schedule.Job{counting("kept", &kept), counting("added", &added)})
		time.Sleep(time.Second)
		if kept.Load() > keptBefore+1 {
			t.Error("unchanged job started again")
		}
		if added.Load() != 1 {
			t.Errorf("new job ran %d times, want 1", added.Load())
		}
		time.Sleep(2 * period)
		if gone.Load() != goneBefore {
			t.Error("removed job still runs")
		}
		if page := h.served(); strings.Contains(page, "gone") || !strings.Contains(page, "kept") || !strings.Contains(page, "added") {
			t.Errorf("served:\n%s", page)
		}
	})
}

// A run that ends after its job was removed leaves no samples.
func TestLateRunOfARemovedJobIsDiscarded(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		h.Set([]schedule.Job{job("late", func(_ context.Context, out *metric.Batch) error {
			time.Sleep(time.Second)
			out.Set(gauge, 1, "late")
			return nil
		})})
		time.Sleep(500 * time.Millisecond)
		h.Set(nil)
		time.Sleep(time.Minute)
		if page := h.served(); page != "" {
			t.Errorf("served:\n%s", page)
		}
		if n := h.store.Len(); n != 0 {
			t.Errorf("%d jobs left", n)
		}
	})
}

// A node that is down is logged as one failure, for any number of collectors and chains.
func TestFailureIsLoggedOnceWithItsEnd(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var down atomic.Bool
		down.Store(true)
		var jobs []schedule.Job
		for _, chain := range []string{"", "C", "examplel1"} {
			j := job("alpha", func(context.Context, *metric.Batch) error {
				if down.Load() {
					return &scrape.Error{Op: "info.getNodeID", Outcome: scrape.Unreachable, Err: errors.New("connection refused")}
				}
				return nil
			})
			j.Target.Chain = chain
			jobs = append(jobs, j)
		}
		h.Set(jobs)
		time.Sleep(5 * period)
		down.Store(false)
		time.Sleep(5 * period)
		h.stop()
		h.Wait()
		log := h.log.String()
		if n := strings.Count(log, "level=WARN"); n != 1 || !strings.Contains(log, "connection refused") {
			t.Errorf("failure logged %d times:\n%s", n, log)
		}
		if n := strings.Count(log, "level=INFO"); n != 1 || !strings.Contains(log, "target=alpha outcome=unreachable") {
			t.Errorf("recovery logged %d times:\n%s", n, log)
		}
	})
}

// An upstream that sends duplicates sends them at every tick.
func TestRejectedSamplesAreLoggedOnce(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			out.Set(gauge, 1, "alpha")
			out.Set(gauge, 2, "alpha")
			return nil
		})})
		time.Sleep(5 * period)
		h.stop()
		h.Wait()
		if n := strings.Count(h.log.String(), "duplicate series"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, h.log)
		}
	})
}

func TestProgressCountsFirstRuns(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var runs atomic.Int64
		h.Set([]schedule.Job{
			counting("quick", &runs),
			job("slow", func(context.Context, *metric.Batch) error { time.Sleep(time.Second); return errors.New("no") }),
		})
		time.Sleep(500 * time.Millisecond)
		if ran, of := h.Progress(); ran != 1 || of != 2 {
			t.Errorf("%d of %d, want 1 of 2", ran, of)
		}
		time.Sleep(time.Second)
		if ran, of := h.Progress(); ran != 2 || of != 2 {
			t.Errorf("%d of %d, want 2 of 2", ran, of)
		}
	})
}

func TestUnevenScheduleKeepsSamplesForThreeTicks(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		timetable, err := schedule.Parse("0 0,1 * * *") // midnight and one o'clock
		if err != nil {
			t.Fatal(err)
		}
		when := timetable(metric.Target{Node: "alpha"})
		time.Sleep(12 * time.Hour) // long after three times the next period, but before the third tick
		j := job("alpha", func(_ context.Context, out *metric.Batch) error { out.Set(gauge, 1, "alpha"); return nil })
		j.When = when
		h.Set([]schedule.Job{j})
		time.Sleep(time.Minute)
		r := h.store.Last(j.Key)
		if third := nth(when, r.At, 3); r.Until.Before(third) {
			t.Errorf("samples expire at %v, before the third tick at %v", r.Until, third)
		}
	})
}

func nth(s cron.Schedule, t time.Time, n int) time.Time {
	for range n {
		t = s.Next(t)
	}
	return t
}

func TestInvalidScheduleErrorsContainARemedy(t *testing.T) {
	for _, expression := range []string{"every minute", "@every 100ms", "@every -5m", "@every soon", "0 0 30 2 *", ""} {
		if _, err := schedule.Parse(expression); err == nil || !strings.Contains(err.Error(), "@every 30s") {
			t.Errorf("%q: error %v", expression, err)
		}
	}
}

func TestNotOfferedDoesNotFailARun(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			out.Set(gauge, 1, "alpha")
			return fmt.Errorf("%w: eth_feeConfig: no such method", metric.ErrNotOffered)
		})})
		time.Sleep(time.Second)
		if run := h.store.Last(metric.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}); run.Err != nil {
			t.Errorf("run failed: %v", run.Err)
		}
		if page := h.served(); !strings.Contains(page, `avax_test_gauge{target="alpha"} 1`) {
			t.Errorf("samples of the batch not served: %q", page)
		}
		if h.log.Len() > 0 {
			t.Errorf("logged: %s", h.log)
		}
	})
}

// The first run starts at any time. A tick during it does not count as skipped.
func TestFirstRunSkipsNoTick(t *testing.T) {
	for _, phase := range []time.Duration{time.Millisecond, time.Second, 4 * time.Second, 6 * time.Second} {
		inHarness(t, func(t *testing.T, h harness) {
			var runs atomic.Int64
			j := job("alpha", func(context.Context, *metric.Batch) error {
				runs.Add(1)
				time.Sleep(4500 * time.Millisecond)
				return nil
			})
			j.When = inPhase{time.Now().Add(phase)}
			h.Set([]schedule.Job{j})
			time.Sleep(10*period + phase - time.Millisecond)
			want := int64(10)
			if phase >= period/2 {
				want = 11
			}
			if got := runs.Load(); got != want {
				t.Errorf("tick after %v: %d runs in ten periods, want %d", phase, got, want)
			}
			if n := h.count(t, "avax_exporter_collector_skipped_total"); n != 0 {
				t.Errorf("tick after %v: %v skipped", phase, n)
			}
		})
	}
}

// inPhase ticks at this time and every period after it.
type inPhase struct{ first time.Time }

func (p inPhase) Next(t time.Time) time.Time {
	next := p.first
	for !next.After(t) {
		next = next.Add(period)
	}
	return next
}

// count returns the value of a counter.
func (h harness) count(t *testing.T, name string) float64 {
	t.Helper()
	families := must.Get(h.registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// A note is logged again only if it was away for an hour. It may differ in durations, which grow while it persists.
func TestNoteIsLoggedOnceWhileItPersists(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		var odd atomic.Bool
		began := time.Now()
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			if odd.Load() {
				out.Note("the checks of %s have not run for %s: one hangs", "node1", time.Since(began))
				out.Note("the checks of %s have not run for %s: one hangs", "node2", time.Since(began))
			}
			return nil
		})})
		for _, step := range []struct {
			on    bool
			lasts time.Duration
		}{{true, 2 * time.Hour}, {false, 10 * time.Minute}, {true, 5 * period}, {false, 61 * time.Minute}, {true, 5 * period}} {
			odd.Store(step.on)
			time.Sleep(step.lasts)
		}
		h.stop()
		h.Wait()
		for _, node := range []string{"node1", "node2"} {
			if n := strings.Count(h.log.String(), `level=WARN msg="collector warning" collector=test target=alpha warning="the checks of `+node); n != 2 {
				t.Errorf("%s: logged %d times, want 2:\n%s", node, n, h.log)
			}
		}
	})
}

// A warning that lasts is logged once, also of a job that runs once an hour or a day.
func TestLastingNoteOfARareJobIsLoggedOnce(t *testing.T) {
	for _, every := range []time.Duration{time.Hour, 24 * time.Hour} {
		inHarness(t, func(t *testing.T, h harness) {
			j := job("alpha", func(_ context.Context, out *metric.Batch) error {
				out.Note("port %d is closed", 9651)
				return nil
			})
			j.When = cron.Every(every)
			h.Set([]schedule.Job{j})
			time.Sleep(10 * every)
			h.stop()
			h.Wait()
			if n := strings.Count(h.log.String(), "port 9651 is closed"); n != 1 {
				t.Errorf("every %s: logged %d times:\n%s", every, n, h.log)
			}
		})
	}
}

// An upstream that chooses other names in each answer fills no log. What else the collector finds is logged.
func TestNotesThatDifferInEachRunAreFewInTheLog(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		run := 0
		h.Set([]schedule.Job{job("alpha", func(_ context.Context, out *metric.Batch) error {
			run++
			for i := range 40 {
				out.Note("check %s fails", fmt.Sprintf("c%d-%d", run, i))
			}
			if run == 20 {
				out.Note("the disk of %s is full", "alpha")
			}
			return nil
		})})
		time.Sleep(40 * period)
		h.stop()
		h.Wait()
		log := h.log.String()
		if n := strings.Count(log, "level=WARN"); run < 30 || n != 3*10+1 || !strings.Contains(log, "the disk of alpha is full") || !strings.Contains(log, "at level DEBUG while") {
			t.Errorf("%d lines in %d runs:\n%s", n, run, log)
		}
	})
}

func TestRunWithTooManySeriesFailsAndServesTheOtherFamilies(t *testing.T) {
	inHarness(t, func(t *testing.T, h harness) {
		named := metric.New("avax_test_named", "Things.", "name").AtMost(3)
		j := job("alpha", func(_ context.Context, out *metric.Batch) error {
			out.Set(gauge, 1, "alpha")
			for i := range 4 {
				out.Set(named, 1, fmt.Sprint(i))
			}
			return nil
		})
		j.Families = append(j.Families, named)
		h.Set([]schedule.Job{j})
		time.Sleep(period)
		if err := h.store.Last(j.Key).Err; !errors.Is(err, metric.ErrTooMany) {
			t.Errorf("error %v", err)
		}
		if page := h.served(); page != "avax_test_gauge{target=\"alpha\"} 1\n" {
			t.Errorf("served:\n%s", page)
		}
		if good := h.store.Jobs()[0].Good.At; !good.IsZero() {
			t.Errorf("counts as successful at %s", good)
		}
	})
}

// Without the monotonic clock, there would be no ticks for an hour after the wall clock is set back an hour.
func TestTicksFollowTheMonotonicClock(t *testing.T) {
	for _, expression := range []string{"@every 30s", "*/5 * * * *", "@hourly", "0 3 * * *"} {
		timetable := must.Get(schedule.Parse(expression))(t)
		now := time.Now()
		next := timetable(metric.Target{Node: "alpha"}).Next(now)
		if !strings.Contains(next.String(), "m=+") {
			t.Errorf("%s: %v is wall-clock time", expression, next)
		}
		if again := timetable(metric.Target{Node: "alpha"}).Next(next); !again.After(next) || !strings.Contains(again.String(), "m=+") {
			t.Errorf("%s: %v, then %v", expression, next, again)
		}
	}
}
