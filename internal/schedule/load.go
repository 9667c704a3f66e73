package schedule

import (
	"time"
)

// The scheduler measures how late this process runs: the delay between the time of a timer and the start of its goroutine. With too
// little CPU, all goroutines wait, calls end after their deadlines, and nodes seem to be down. Then the scheduler skips runs until
// the rest is in time. It first skips collectors that no alert of severity page needs, then all but the up probes.
const (
	measureEvery = 5 * time.Second
	// tooLate is the delay above which more runs are skipped, at most once in stepUp.
	tooLate = time.Second
	stepUp  = 30 * time.Second
	// inTime is the delay below which fewer runs are skipped, after stepDown.
	inTime   = 250 * time.Millisecond
	stepDown = time.Minute
)

// load is the state of this measurement. It is guarded by Scheduler.mu.
type load struct {
	level   int       // 0: all jobs run; 1: those that alerts of severity page need; 2: the up probes
	changed time.Time // last change of level
	late    time.Time // last delay of inTime or more
}

const maxLevel = 2

// measure measures the delay until the context ends.
func (s *Scheduler) measure() {
	for {
		due := time.Now().Add(measureEvery)
		select {
		case <-time.After(measureEvery):
			s.judge(time.Since(due))
		case <-s.ctx.Done():
			return
		}
	}
}

// judge decides which jobs run, by the delay that was measured now.
func (s *Scheduler) judge(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.counts.delay.Set(delay.Seconds())
	if delay >= inTime {
		s.load.late = now
	}
	level := s.load.level
	switch {
	case delay >= tooLate && level < maxLevel && (level == 0 || now.Sub(s.load.changed) >= stepUp):
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
