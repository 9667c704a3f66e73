package schedule

import (
	"time"
)

// The scheduler measures how late this process runs: the delay between the time of a timer and the turn of a goroutine that goes to the end
// of the queue. With too little CPU, all goroutines wait, calls end after their deadlines, and nodes seem to be down. Then the scheduler skips
// runs until the rest is in time. It first skips collectors that no alert of severity page needs, then all but the up probes.
const (
	measureEvery = 500 * time.Millisecond
	adaptEvery   = 5 * time.Second
	// tooLate is the mean delay above which more runs are skipped, at most once in stepUp.
	tooLate = time.Second
	stepUp  = 30 * time.Second
	// inTime is the mean delay below which fewer runs are skipped, after stepDown.
	inTime   = 250 * time.Millisecond
	stepDown = time.Minute
)

// load is the state of this measurement. It is guarded by Scheduler.mu.
type load struct {
	level   int       // 0: all jobs run; 1: those that alerts of severity page need; 2: the up probes
	changed time.Time // last change of level
	late    time.Time // last delay of inTime or more

	due     time.Time     // of the next measurement
	lost    time.Duration // sum of all delays
	starved bool          // a run failed because of this process since the last change of level was considered
	before  time.Time     // when such a run was last considered
}

const maxLevel = 2

// measure measures the delay until the context ends.
func (s *Scheduler) measure() {
	var sum time.Duration
	for n, adapted := time.Duration(1), time.Now(); ; n++ {
		select {
		case <-time.After(measureEvery):
		case <-s.ctx.Done():
			return
		}
		s.yield()
		s.mu.Lock()
		now := time.Now()
		delay := now.Sub(s.load.due)
		s.load.lost += delay
		s.load.due = now.Add(measureEvery)
		s.mu.Unlock()
		if sum += delay; now.Sub(adapted) >= adaptEvery {
			s.adapt(sum / n)
			n, sum, adapted = 0, 0, now
		}
	}
}

// Lost returns for how long this process has been late since the start, in total. A call that got no answer while the process was late says
// nothing about the node.
func (s *Scheduler) Lost() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load.lost + max(0, time.Since(s.load.due))
}

// adapt decides which jobs run, by the delay that was measured now.
func (s *Scheduler) adapt(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.counts.delay.Set(delay.Seconds())
	again := false // runs fail because of this process, and not only once, such as at the start
	if s.load.starved {
		again = now.Sub(s.load.before) < stepUp
		s.load.starved, s.load.before = false, now
	}
	if delay >= inTime || again {
		s.load.late = now
	}
	level := s.load.level
	switch {
	case (delay >= tooLate || again) && level < maxLevel && (level == 0 || now.Sub(s.load.changed) >= stepUp):
		level++
	case level > 0 && now.Sub(s.load.late) >= stepDown && now.Sub(s.load.changed) >= stepDown:
		level--
	default:
		return
	}
	runs := []string{"all collectors", "collectors that alerts of severity page need", "up probes"}[level]
	if level > s.load.level {
		s.log.Warn("exporter too slow for its nodes", "delay", delay.Round(time.Millisecond).String(), "runs", runs,
			"remedy", "Give the exporter more CPU, or split the nodes among shards.")
	} else {
		s.log.Info("exporter catches up", "runs", runs)
	}
	s.load.level, s.load.changed = level, now
	s.counts.level.Set(float64(level))
}

// sheds reports whether the job does not run at present. The caller holds s.mu.
func (s *Scheduler) sheds(j *job) bool {
	return !j.Probe && (s.load.level == maxLevel || s.load.level > 0 && !j.Critical)
}
