//go:build !noalerting

package alerting

import (
	"sync"
	"time"
)

// clockTolerance is by how much the wall clock may be set at once without a new engine:
// the samples and evaluations of less time than that are lost, as in Prometheus.
const clockTolerance = time.Minute

// wallClock notices that the wall clock was set, or that the machine slept: then it and
// the monotonic clock have not gone on by the same.
type wallClock struct {
	step func(since time.Time) time.Duration

	mu   sync.Mutex
	last time.Time
	set  chan struct{} // closed when it was set by more than is tolerated
}

func newWallClock(step func(since time.Time) time.Duration) *wallClock {
	return &wallClock{step: step, last: time.Now(), set: make(chan struct{})}
}

// clockStep is by how much the wall clock was set forward since that reading of both clocks.
func clockStep(since time.Time) time.Duration {
	now := time.Now()
	return now.Round(0).Sub(since.Round(0)) - now.Sub(since)
}

// wasSet tells whether the clock was set since the engine began.
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
