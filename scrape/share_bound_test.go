package scrape

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestSharedAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		asked := 0
		ask := func(context.Context) (any, error) { asked++; return 1, nil }
		put := func(n int, keep time.Duration) {
			if _, err := a.get(t.Context(), shareKey{params: strconv.Itoa(n)}, keep, ask); err != nil {
				t.Fatal(err)
			}
		}
		// A different question every second, each answer valid for ten seconds.
		for n := range 10_000 {
			put(n, 10*time.Second)
			time.Sleep(time.Second)
		}
		if len(a.byKey) > 2*firstSweep {
			t.Errorf("%d answers stored, want about ten", len(a.byKey))
		}
		// An answer that another caller accepts for longer than the first.
		put(-1, time.Second)
		put(-1, time.Hour)
		for n := range 1000 {
			put(n, time.Second)
			time.Sleep(time.Second)
		}
		asked = 0
		if put(-1, time.Hour); asked != 0 {
			t.Error("valid answer deleted")
		}
		// More questions than the limit, all valid for an hour.
		for n := range mostAnswers + 1000 {
			put(-n, time.Hour)
		}
		if len(a.byKey) > mostAnswers {
			t.Errorf("%d answers stored", len(a.byKey))
		}
	})
}
