package scrape

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestSharedAnswersDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		ask := func(context.Context) (any, error) { return 1, nil }
		put := func(n int, keep time.Duration) {
			if _, err := a.get(t.Context(), question{params: strconv.Itoa(n)}, keep, ask); err != nil {
				t.Fatal(err)
			}
		}
		// A question that never comes again, every second, each answer good for ten.
		for n := range 10_000 {
			put(n, 10*time.Second)
			time.Sleep(time.Second)
		}
		if len(a.byKey) > 2*firstSweep {
			t.Errorf("%d answers are kept where ten can be used", len(a.byKey))
		}
		// More questions than there is room for, all good for an hour.
		for n := range mostAnswers + 1000 {
			put(-n, time.Hour)
		}
		if len(a.byKey) > mostAnswers {
			t.Errorf("%d answers are kept", len(a.byKey))
		}
	})
}
