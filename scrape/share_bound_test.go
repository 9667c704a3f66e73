package scrape

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestSharedAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers()
		asked := 0
		ask := func(context.Context) (any, error) { asked++; return 1, nil }
		put := func(n int, keep time.Duration) {
			must.Get(a.get(t.Context(), shareKey{body: strconv.Itoa(n)}, keep, ask))(t)
		}
		// A different call every second. Each answer may be shared for ten seconds.
		for n := range 10_000 {
			put(n, 10*time.Second)
			time.Sleep(time.Second)
		}
		if len(a.byKey) > 2*firstPrune {
			t.Errorf("%d answers stored, want about ten", len(a.byKey))
		}
		// A second caller allows a longer MaxAge for an answer than the first caller.
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
		// More calls than maxAnswers. Each answer may be shared for an hour.
		for n := range maxAnswers + 1000 {
			put(-n, time.Hour)
		}
		if len(a.byKey) > maxAnswers {
			t.Errorf("%d answers stored", len(a.byKey))
		}
	})
}
