package alerting

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// setAt returns an option: at this time, the wall clock is set forward by this duration.
func setAt(at time.Time, by time.Duration) func(*Options) {
	return func(o *Options) {
		o.clockStep = func(since time.Time) time.Duration {
			if since.Before(at) && !time.Now().Before(at) {
				return by
			}
			return 0
		}
	}
}

func TestClockStepKeepsAlertState(t *testing.T) {
	const rules = `
groups:
  - name: g
    rules:
      - {alert: Firing, expr: up_node == 0, for: 2m}
      - {alert: AtOnce, expr: up_node == 0}
      - {alert: Pending, expr: up_node == 0, for: 10m}
      - {alert: Gone, expr: absent(up_node)}
`
	for _, by := range []time.Duration{-24 * time.Hour, -time.Hour, time.Hour, 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, rules)
				w.show(nodeDown)
				a, stop := w.start(setAt(time.Now().Add(8*time.Minute+2*time.Second), by))
				defer stop()
				time.Sleep(8*time.Minute + time.Second)
				before := a.current()
				time.Sleep(time.Minute)
				if a.current() == before {
					t.Fatal("engine not replaced after a clock step")
				}
				if v, err := Vector(a.Query(t.Context(), "count_over_time(up_node[10m])", time.Now())); err != nil || len(v) != 1 || v[0].Value < 30 {
					t.Errorf("samples from before the step are lost: %v (%v)", v, err)
				}
				if begun, _ := w.paged("Pending"); len(begun) > 0 {
					t.Errorf("sent before its for was over: %v", begun)
				}
				time.Sleep(4 * time.Minute)
				for alert, want := range map[string]int{"Firing": 1, "AtOnce": 1, "Pending": 1, "Gone": 0} {
					if begun, ended := w.paged(alert); len(begun) != want || len(ended) != 0 {
						t.Errorf("%s: notifications: %v, resolved: %v", alert, begun, ended)
					}
				}
				if n := strings.Count(w.logged(), "rule evaluation interrupted"); n != 1 || strings.Contains(w.logged(), "level=ERROR") {
					t.Errorf("logged %d times:\n%s", n, w.logged())
				}
				w.show(nodeUp)
				time.Sleep(time.Minute)
				for _, alert := range []string{"Firing", "AtOnce", "Pending"} {
					if _, ended := w.paged(alert); len(ended) != 1 {
						t.Errorf("%s: resolved: %v", alert, ended)
					}
				}
			})
		})
	}
}

func TestClockStepBeforeTheFirstSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		w.show(nodeDown)
		_, stop := w.start(setAt(time.Now().Add(time.Millisecond), -time.Hour))
		defer stop()
		time.Sleep(time.Minute)
		if begun, _ := w.paged("Down"); len(begun) != 1 {
			t.Errorf("notifications: %v", begun)
		}
	})
}

func TestClockStepWithinToleranceKeepsSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		w.show(nodeUp)
		a, stop := w.start(setAt(time.Now().Add(2*time.Minute), -time.Minute))
		defer stop()
		time.Sleep(time.Minute)
		before := a.current()
		time.Sleep(3 * time.Minute)
		if a.current() != before {
			t.Error("engine replaced")
		}
	})
}

func TestUnchangedClockHasNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(24 * time.Hour)
		if got := clockStep(began); got != 0 {
			t.Errorf("step of %s", got)
		}
	})
}
