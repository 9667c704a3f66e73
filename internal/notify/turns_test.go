package notify

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A service accepts 20 messages a minute, as Telegram does for a group. Of 300 warnings and a page that follows, none is refused, and the page waits for
// no warning, also while warnings hang.
func TestPageOvertakesWarningsWithinTheLimit(t *testing.T) {
	for name, takes := range map[string]time.Duration{"fast": 100 * time.Millisecond, "hangs": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var sent []time.Time
			turn, began := newTurns("telegram"), time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			send := func(page bool) {
				done := turn.wait(ctx, page)
				if done == nil {
					return
				}
				mu.Lock()
				sent = append(sent, time.Now())
				within := 0
				for _, at := range sent {
					if time.Since(at) < time.Minute {
						within++
					}
				}
				mu.Unlock()
				if within > 20 {
					t.Errorf("%s: %d messages within a minute", name, within)
				}
				if page {
					if waited := time.Since(began); waited > 43*time.Second {
						t.Errorf("%s: the page waits until %v", name, waited)
					}
				} else {
					time.Sleep(takes)
				}
				done(nil)
			}
			var all sync.WaitGroup
			for range 300 {
				all.Go(func() { send(false) })
			}
			time.Sleep(43 * time.Second)
			all.Go(func() { send(true) })
			if name == "fast" {
				all.Wait()
				if len(sent) != 301 {
					t.Errorf("%d messages sent", len(sent))
				}
			}
			cancel()
			all.Wait()
		})
	}
}

// After the service has refused a message as one too many, only pages are sent for a while.
func TestRefusalHoldsBackWarningsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, began := newTurns("webhook"), time.Now()
		turn.wait(t.Context(), false)(errors.New("unexpected status code 429"))
		turn.wait(t.Context(), true)(nil)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the page waits %v", waited)
		}
		turn.wait(t.Context(), false)(nil)
		if waited := time.Since(began); waited != afterRefusal {
			t.Errorf("the warning waits %v", waited)
		}
	})
}
