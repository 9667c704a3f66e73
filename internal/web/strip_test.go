package web

import (
	"testing"
	"time"
)

// The history of a node that does not answer is down for as long as its state says, to half a step, also if the last samples are older or lie between steps.
func TestHistoryIsDownSinceTheLastAnswer(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Second, time.Minute} {
		for _, sampled := range []int{0, 1, 5, 8} { // last steps that samples show as down
			for _, long := range []time.Duration{8 * step, 7*step + step/5, 200 * step} {
				s := &strip{step: step}
				for i := range s.states {
					s.states[i] = isUp
				}
				for i := range sampled {
					s.states[stripSteps-1-i] = isDown
				}
				s.downFor(long)
				down := 0
				for _, state := range s.states {
					if state == isDown {
						down++
					}
				}
				if off := (time.Duration(down)*step - min(long, stripSteps*step)).Abs(); off > step/2 {
					t.Errorf("steps of %v, %d down by samples: down for %v, want %v", step, sampled, time.Duration(down)*step, long)
				}
			}
		}
	}
}
