package alerting

import (
	"sync"
	"time"
)

// clockTolerance is the limit for steps of the wall clock. A larger step is an interruption. A smaller step only causes a gap
// in samples and evaluations, as in Prometheus.
const clockTolerance = time.Minute

// pauseTolerance returns the longest time without an evaluation that is no interruption.
func pauseTolerance(interval time.Duration) time.Duration { return 2*interval + 30*time.Second }

// wallClock detects interruptions. The wall clock was set, or the machine was suspended: the wall clock and the monotonic clock have
// advanced by different times. Or the process did not run for a while: both have advanced too far.
type wallClock struct {
	step  func(since time.Time) time.Duration
	pause time.Duration // longest pause that is no interruption

	mu      sync.Mutex
	last    time.Time // last call
	running bool      // whether rules are evaluated: before, nothing can be interrupted by a pause
	back    bool      // whether the wall clock was set back
	gap     gap
	set     chan struct{} // closed after an interruption
}

// gap is a time without evaluations.
type gap struct {
	from, to time.Time
	cause    string
}

func newWallClock(step func(since time.Time) time.Duration, pause time.Duration) *wallClock {
	return &wallClock{step: step, pause: pause, last: time.Now(), set: make(chan struct{})}
}

// clockStep returns how far the wall clock was set forward after the time since. The value is negative if the clock was set
// back. The parameter since must contain a monotonic clock reading.
func clockStep(since time.Time) time.Duration {
	now := time.Now()
	return now.Round(0).Sub(since.Round(0)) - now.Sub(since)
}

// evaluated reports that the evaluation of rules begins now.
func (c *wallClock) evaluated() {
	if c.interrupted() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.last = true, time.Now()
}

// interrupted reports whether there was an interruption since the engine started. It must be called often.
func (c *wallClock) interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.set:
		return true
	default:
	}
	now := time.Now()
	step, paused := c.step(c.last), now.Sub(c.last)
	switch {
	case step < -clockTolerance:
		c.back, c.gap.cause = true, "the clock was set back"
	case step > clockTolerance:
		c.gap.cause = "the clock was set forward, or the machine was suspended"
	case c.running && paused > c.pause:
		c.gap.cause = "the process was paused, or had no processor time"
	default:
		c.last = now
		return false
	}
	c.gap.from, c.gap.to = c.last, now
	close(c.set)
	return true
}
