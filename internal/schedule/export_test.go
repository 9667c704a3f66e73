package schedule

import "time"

// Judge is what the scheduler does with a measured delay.
func (s *Scheduler) Judge(delay time.Duration) { s.judge(delay) }

// SameNote is sameNote.
var SameNote = sameNote
