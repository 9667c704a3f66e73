package schedule

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

const (
	// firstRetry is the delay after the first failure of a job. It doubles with each further failure, up
	// to the period of the job.
	firstRetry = 2 * time.Second
	// wakeGap is the minimum time between the starts of two runs outside the schedule.
	wakeGap = time.Second
	// failingGap replaces wakeGap for failing jobs, because their node may flap or have another problem.
	failingGap = 5 * time.Second
	// askedGap is the same for jobs about which clients ask.
	askedGap = 4 * time.Second
	// askedShare is the minimum time between the starts of two such runs, in durations of the run: calls to a slow node leave time for scheduled ones.
	askedShare = 4
	// wakeSpread is the maximum delay between the starts of two jobs that are woken together.
	wakeSpread = 50 * time.Millisecond
)

// NodeChanged reports that a node has stopped or started to answer. It runs the jobs with OnChange at once. If the node
// answers, it also runs the jobs of the node, because what these reported before does not count, and the failing jobs of the network and of chains.
func (s *Scheduler) NodeChanged(node string, answers bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Values(s.jobs), func(j *job) bool { return j.OnChange }, wakeGap)
	if answers {
		s.wakeAll(maps.Keys(s.byNode[node]), func(j *job) bool { return !j.Probe }, failingGap)
		s.wakeFailing(node, time.Now())
	}
}

// Asked reports that a client asks about a node. It runs jobs of the node again, those of these collectors, so that the next answer is about the present.
// None runs more often than once in askedGap, nor for more than a quarter of the time.
func (s *Scheduler) Asked(node string, collectors ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Keys(s.byNode[node]), func(j *job) bool {
		asked := slices.Contains(collectors, j.Collector) && time.Since(j.began) >= max(askedGap, askedShare*j.took)
		j.asked = j.asked || asked
		return asked
	}, askedGap)
}

// CallsChanged reports that calls to a node have started to fail or to succeed. It runs the node's job with Probe soon.
func (s *Scheduler) CallsChanged(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Keys(s.byNode[node]), func(j *job) bool { return j.Probe }, failingGap)
}

// ChainsChanged reports a change of the monitored chains. It runs the jobs about whole nodes at once, so that they call for the
// new chains.
func (s *Scheduler) ChainsChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll(maps.Values(s.jobs), func(j *job) bool { return j.Target.Node != "" && j.Target.Chain == "" }, wakeGap)
}

// wakeFailing wakes failing jobs that began before this time, and may succeed now that the node answers. The caller holds s.mu.
func (s *Scheduler) wakeFailing(node string, since time.Time) {
	failing := func(j *job) bool { return j.Retry && j.failures > 0 && j.began.Before(since) }
	s.wakeAll(func(yield func(*job) bool) {
		for _, jobs := range []map[*job]bool{s.byNode[node], s.byNode[""]} {
			for j := range jobs {
				if !yield(j) {
					return
				}
			}
		}
	}, failing, failingGap)
}

// wakeAll wakes the candidates for which selected returns true, in the order of their keys. gap is the minimum time between the
// starts of two runs of a job. The caller holds s.mu.
func (s *Scheduler) wakeAll(candidates iter.Seq[*job], selected func(*job) bool, gap time.Duration) {
	if s.ctx.Err() != nil {
		return
	}
	var jobs []*job
	for j := range candidates {
		if selected(j) {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int { return a.Compare(b.Key) })
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

// retry wakes a job soon if its run got no answer. The caller holds s.mu.
func (s *Scheduler) retry(j *job, r metric.Run, missing bool) {
	if r.Err == nil && !missing {
		j.failures, j.worked = 0, true
		return
	}
	after := firstRetry << min(j.failures, 20)
	j.failures++
	if !j.Retry && !j.worked { // a job with a long period would have no samples for long after a restart
		after = max(after, time.Minute)
	}
	// After a rate limit, a retry would only add calls.
	if !j.Retry && j.worked || scrape.OutcomeOf(r.Err) == scrape.RateLimited || after >= period(j.When, time.Now()) {
		return
	}
	s.wake(j, time.Now().Add(after))
}

// wake runs a job at this time. If wake was called for an earlier time that has not come yet, the job runs only at the earlier
// time. If a run is in progress then, the job runs again after the run has ended. The caller holds s.mu.
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
		j.began = time.Now() // who wakes it until the run begins counts from here
		s.runs.Go(func() { s.run(j, true) })
	})
}

// begin returns the context of a new run, or nil if the job was removed, its last run has not ended, or the exporter is too slow
// for it. In the last two cases it counts a skipped tick. If the exporter is too slow for a job with a long period that has never succeeded, it wakes
// the job later, and does not count the repetition. A tick during a woken run does not count, because that run replaces it, unless the woken run
// has passed its deadline.
func (s *Scheduler) begin(j *job, deadline time.Duration, woken bool) (ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.jobs[j.Key] != j {
		return nil
	}
	if s.sheds(j) {
		if j.worked || !woken {
			s.counts.skipped.Inc()
		}
		if now := time.Now(); !j.worked && period(j.When, now) > stepDown { // or it would have no samples until its next tick
			s.wake(j, now.Add(stepDown))
		}
		return nil
	}
	if j.running {
		if !j.extra || time.Since(j.began) > deadline {
			s.counts.skipped.Inc()
		}
		return nil
	}
	j.running, j.extra, j.began = true, woken, time.Now()
	j.fresh, j.asked = j.asked, false
	ctx, j.cancel = context.WithTimeout(s.ctx, deadline)
	return ctx
}

// end ends a run, and wakes the job again if it was woken during the run.
func (s *Scheduler) end(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.cancel()
	j.cancel = nil // cancel refers to the context: release it
	again := j.again
	j.took = time.Since(j.began)
	j.running, j.again = false, false
	if again && s.ctx.Err() == nil && s.jobs[j.Key] == j {
		s.wake(j, j.began.Add(wakeGap))
	}
}
