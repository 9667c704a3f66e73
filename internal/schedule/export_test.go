package schedule

import "time"

// Judge is what the scheduler does with a measured delay.
func (s *Scheduler) Adapt(delay time.Duration) { s.adapt(delay) }
