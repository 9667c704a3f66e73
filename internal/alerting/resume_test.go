package alerting

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// interruptions are what may happen to the process while alerts are active.
var interruptions = map[string]func(w *world, a *Alerting, stop func()) (*Alerting, func()){
	"stopped for 40 s":             off(40*time.Second, false),
	"killed for 40 s":              off(40*time.Second, true),
	"killed for 3 min 20 s":        off(200*time.Second, true),
	"stopped for 9 min":            off(9*time.Minute, false),
	"stopped twice, for 1 s and 0": twice,
	"paused, and the collectors need time": func(w *world, a *Alerting, stop func()) (*Alerting, func()) {
		var page string
		w.set(func() { page, w.page, w.unready = w.page, "other 7\n", true })
		pretend(a.current(), -5*time.Minute)
		time.Sleep(40 * time.Second)
		w.set(func() { w.page, w.unready = page, false })
		time.Sleep(20 * time.Second)
		return a, stop
	},
	"paused": func(w *world, a *Alerting, stop func()) (*Alerting, func()) {
		pretend(a.current(), -5*time.Minute)
		time.Sleep(time.Minute)
		return a, stop
	},
}

// off stops or kills the process, and starts it again later.
func off(lasts time.Duration, kill bool) func(*world, *Alerting, func()) (*Alerting, func()) {
	return func(w *world, _ *Alerting, stop func()) (*Alerting, func()) {
		if kill {
			before := w.state
			w.state = w.t.TempDir()
			must.Do(w.t, os.CopyFS(w.state, os.DirFS(before)))
		}
		stop()
		time.Sleep(lasts)
		return w.start()
	}
}

func twice(w *world, a *Alerting, stop func()) (*Alerting, func()) {
	a, stop = off(time.Second, false)(w, a, stop)
	return off(0, false)(w, a, stop)
}

// pretend lets an engine find that it was last called this long ago.
func pretend(e *engine, ago time.Duration) {
	e.clock.mu.Lock()
	defer e.clock.mu.Unlock()
	e.clock.last = e.clock.last.Add(ago)
}

// memories are rules that need samples, or states of alerts, from before an interruption.
const memories = `
groups:
  - name: g
    rules:
      - {record: node:up, expr: 'last_over_time(up_node[75s])'}
      - {alert: AtOnce, expr: up_node == 0}
      - {alert: Short, expr: up_node == 0, for: 30s}
      - {alert: Long, expr: up_node == 0, for: 5m}
      - {alert: Recorded, expr: 'node:up == 0', for: 2m}
      - {alert: Offset, expr: up_node == 0 and up_node offset 195s == 0}
      - {alert: Changed, expr: 'changes(identity[1h]) > 0'}
      - {alert: Lost, expr: 'last_over_time(seen_once[1h]) unless seen_once'}
      - {alert: Templated, expr: 'up_node == 0', labels: {kind: '{{ with query "other" }}{{ . | first | value }}{{ end }}'}}
      - {alert: Kept, expr: flaky == 1, keep_firing_for: 30m}
      - {alert: Pending, expr: up_node == 0, for: 45m}
`

func TestNoInterruptionEndsAnAlert(t *testing.T) {
	for name, interrupt := range interruptions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, memories)
				w.show(nodeUp, "identity 1", "seen_once 1", "flaky 0", "other 7")
				a, stop := w.start()
				time.Sleep(5 * time.Minute)
				w.show(nodeDown, "identity 2", "flaky 1", "other 7")
				fell := time.Now()
				time.Sleep(10 * time.Minute)
				w.show(nodeDown, "identity 2", "flaky 0", "other 7")
				calmed := time.Now()
				time.Sleep(2 * time.Minute)

				before := time.Now()
				a, stop = interrupt(w, a, stop)
				defer func() { stop() }()
				time.Sleep(10 * time.Minute)
				firing := []string{"AtOnce", "Short", "Long", "Recorded", "Offset", "Changed", "Lost", "Templated", "Kept"}
				for _, alert := range firing {
					if begun, ended := w.paged(alert); len(begun) != 1 || len(ended) != 0 {
						t.Errorf("%s: sent %d times, resolved %d times", alert, len(begun), len(ended))
					}
				}
				since := map[string]time.Time{}
				for _, r := range a.groups()[0].Rules {
					for _, alert := range r.Alerts {
						since[r.Name] = alert.ActiveAt
						if alert.State == Firing && alert.ActiveAt.After(before) {
							t.Errorf("%s: active since %s, the interruption was at %s", r.Name, alert.ActiveAt, before)
						}
					}
				}
				if p := since["Pending"]; p.IsZero() || p.Sub(fell) > 11*time.Minute {
					t.Errorf("pending since %s, the node fell at %s", p, fell)
				}

				w.show(nodeUp, "identity 2", "flaky 0", "other 7")
				time.Sleep(3 * time.Minute)
				for _, alert := range firing[:5] {
					if _, ended := w.paged(alert); len(ended) != 1 {
						t.Errorf("%s: resolved %d times", alert, len(ended))
					}
				}
				time.Sleep(time.Until(calmed.Add(29 * time.Minute)))
				if _, ended := w.paged("Kept"); len(ended) != 0 {
					t.Errorf("Kept: resolved at %s", ended[0].at)
				}
				time.Sleep(13 * time.Minute)
				if _, ended := w.paged("Kept"); len(ended) != 1 {
					t.Errorf("Kept: resolved %d times", len(ended))
				}
				if t.Failed() {
					t.Log(w.logged())
				}
			})
		})
	}
}

// What ends during an interruption is resolved when an evaluation sees it: at the second one, or as late as the interruption was long if the
// expression looks back.
func TestAlertThatEndsDuringAnInterruptionIsResolvedSoon(t *testing.T) {
	for name, interrupt := range interruptions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, memories)
				w.show(nodeDown, "identity 1", "other 7")
				a, stop := w.start()
				time.Sleep(10 * time.Minute)
				before := time.Now()
				w.show(nodeUp, "identity 1", "other 7")
				_, stop = interrupt(w, a, stop)
				defer func() { stop() }()
				lasted := time.Since(before)
				time.Sleep(45*time.Second + min(lasted, 225*time.Second))
				for _, alert := range []string{"AtOnce", "Short", "Long", "Templated", "Recorded", "Offset"} {
					if begun, ended := w.paged(alert); len(begun) != 1 || len(ended) != 1 {
						t.Errorf("%s: sent %d times, resolved %d times", alert, len(begun), len(ended))
					}
				}
			})
		})
	}
}

// A node cannot make the state of the others unsaved: each series is saved by itself, without a limit for all.
func TestStateOfManyAlertsIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(time.Minute))
		var lines []string
		for i := range 1000 {
			lines = append(lines, fmt.Sprintf(`up_node{node="n%d",text="%01000d"} 0`, i, i))
		}
		w.show(lines...)
		_, stop := w.start()
		time.Sleep(5 * time.Minute)
		stop()
		_, stop = w.start()
		defer stop()
		time.Sleep(2 * time.Minute)
		if begun, ended := w.paged("Down"); len(begun) != 1000 || len(ended) != 0 {
			t.Errorf("sent %d times, resolved %d times", len(begun), len(ended))
		}
	})
}
