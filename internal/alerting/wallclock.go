package alerting

import (
	"sync"
	"time"
)

// clockTolerance is the limit for steps of the wall clock. A larger step causes a new engine. A smaller step only causes a gap
// in samples and evaluations, as in Prometheus.
const clockTolerance = time.Minute

// wallClock detects that the wall clock was set, or that the machine was suspended: then the wall clock and the monotonic
// clock have advanced by different times.
type wallClock struct {
	step func(since time.Time) time.Duration

	mu   sync.Mutex
	last time.Time
	set  chan struct{} // closed when the wall clock was set by more than clockTolerance
}

func newWallClock(step func(since time.Time) time.Duration) *wallClock {
	return &wallClock{step: step, last: time.Now(), set: make(chan struct{})}
}

// clockStep returns how far the wall clock was set forward after the time since. The value is negative if the clock was set
// back. The parameter since must contain a monotonic clock reading.
func clockStep(since time.Time) time.Duration {
	now := time.Now()
	return now.Round(0).Sub(since.Round(0)) - now.Sub(since)
}

// wasSet reports whether the wall clock was set by more than clockTolerance since the engine started.
func (c *wallClock) wasSet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.set:
		return true
	default:
	}
	if c.step(c.last).Abs() > clockTolerance {
		close(c.set)
		return true
	}
	c.last = time.Now()
	return false
}
