package schedule

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

const (
	// firstRetry is how soon after a failure a job runs again; each further time it is
	// twice as long, until that is as long as the job's period.
	firstRetry = 2 * time.Second
	// wakeGap is the least time between the beginnings of two runs outside the schedule.
	wakeGap = time.Second
	// failingGap is wakeGap for jobs that fail: their node flaps, or another cause remains.
	failingGap = 5 * time.Second
	// wakeSpread lies between the jobs that run at once.
	wakeSpread = 50 * time.Millisecond
)

// NodeChanged tells the scheduler that a node has stopped or begun to answer. The
// jobs with OnChange run at once. Where the node answers, so do its jobs that fail,
// and those of the network and of chains that fail.
func (s *Scheduler) NodeChanged(node string, answers bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Values(s.jobs), func(j *job) bool { return j.OnChange }, wakeGap)
	if answers {
		s.wakeFailing(node)
	}
}

// CallsChanged tells the scheduler that the calls to a node have begun to fail or to
// succeed. The node's job with Probe runs soon.
func (s *Scheduler) CallsChanged(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Keys(s.byNode[node]), func(j *job) bool { return j.Probe }, failingGap)
}

// ChainsChanged tells the scheduler that other chains are followed: the jobs about whole
// nodes ask about them at once.
func (s *Scheduler) ChainsChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Values(s.jobs), func(j *job) bool { return j.Target.Scope() == metric.ScopeNode }, wakeGap)
}

// wakeFailing wakes the jobs that fail and may succeed now that the node answers. The
// caller holds s.mu.
func (s *Scheduler) wakeFailing(node string) {
	failing := func(j *job) bool { return j.Retry && j.failures > 0 }
	s.wakeAll(maps.Keys(s.byNode[node]), failing, failingGap)
	s.wakeAll(maps.Keys(s.byNode[""]), failing, failingGap)
}

// wakeAll wakes some of these jobs in the order of their keys. The caller holds s.mu.
func (s *Scheduler) wakeAll(of iter.Seq[*job], which func(*job) bool, gap time.Duration) {
	if s.ctx.Err() != nil {
		return
	}
	var jobs []*job
	for j := range of {
		if which(j) {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Collector, b.Collector), a.Target.Compare(b.Target))
	})
	now := time.Now()
	spread := min(wakeSpread, 2*time.Second/time.Duration(max(1, len(jobs))))
	for i, j := range jobs {
		at := now.Add(time.Duration(i) * spread)
		if earliest := j.began.Add(gap); at.Before(earliest) {
			at = earliest
		}
		s.wake(j, at)
	}
}

// retry runs a job again soon that had no answer. The caller holds s.mu.
func (s *Scheduler) retry(j *job, r snapshot.Run, missing bool) {
	if r.Err == nil && !missing {
		j.failures = 0
		return
	}
	after := firstRetry << min(j.failures, 20)
	j.failures++
	// A limit of calls is not met by more of them.
	if !j.Retry || scrape.OutcomeOf(r.Err) == scrape.RateLimited || after >= period(j.When, time.Now()) {
		return
	}
	s.wake(j, time.Now().Add(after))
}

// wake runs a job at a time, or earlier if it is woken for an earlier one already. A
// run that is under way then ends first. The caller holds s.mu.
func (s *Scheduler) wake(j *job, at time.Time) {
	if j.woken != nil && (!at.Before(j.wakeAt) || !j.woken.Stop()) {
		return
	}
	j.wakeAt = at
	j.woken = time.AfterFunc(time.Until(at), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ctx.Err() != nil || s.jobs[j.Key] != j {
			return
		}
		j.woken = nil
		if j.running {
			j.again = true
			return
		}
		s.runs.Go(func() { s.run(j, true) })
	})
}

// begin returns the context of a run that begins now, or nil where the job is not wanted any
// longer or its last run has not ended.
func (s *Scheduler) begin(j *job, deadline time.Duration) (ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.jobs[j.Key] != j {
		return nil
	}
	if j.running {
		j.skipped.Add(1)
		return nil
	}
	j.running, j.began = true, time.Now()
	ctx, j.cancel = context.WithTimeout(s.ctx, deadline)
	return ctx
}

// end ends a run, and wakes the job again that was woken while it ran.
func (s *Scheduler) end(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.cancel()
	again := j.again
	j.running, j.again = false, false
	if again && s.ctx.Err() == nil && s.jobs[j.Key] == j {
		s.wake(j, j.began.Add(wakeGap))
	}
}
