package alerting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A start ends what was stored and is not renewed: samples, records, records that other rules read before they have an end of their own, and alerts.
// What reads itself continues, also if several rules record it. Everything has the present name of the exporter.
func TestStartEndsWhatItDoesNotRenew(t *testing.T) {
	const rules = `
groups:
  - name: g
    rules:
      - {record: node:down, expr: up_node == 0}
      - {record: node:down_now, expr: max without (instance) (node:down)}
      - {record: latch:on, labels: {of: a}, expr: 'latch:on{of="a"} or ignoring (of) seed == 1'}
      - {record: latch:on, labels: {of: b}, expr: 'latch:on{of="b"} or ignoring (of) seed == 1'}
      - {alert: Down, expr: 'node:down_now == 0', for: 10m}
`
	const removed = `
      - {record: gone, expr: vector(1)}
`
	for _, test := range []struct{ paused, discovers bool }{{}, {paused: true}, {discovers: true}} {
		paused := test.paused
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, rules+removed)
			w.show(`up_node{node="a"} 0`, "seed 1", "seen 1")
			a, stop := w.start()
			time.Sleep(2*time.Minute + time.Second) // no scrape is at the moment of the stop
			w.show(`up_node{node="a"} 1`, "seed 0")
			instance := "here:9865"
			if paused {
				pretend(a.current(), -5*time.Minute)
			} else {
				stop()
				w.write(rules)
				instance = "there:9865"
				asked, began := 0, time.Now()
				a, stop = w.start(func(o *Options) {
					o.Instance = instance
					o.Ready = func(time.Time) bool { // ready when asked first, and again when the collectors of a chain have run that was discovered
						asked++
						return asked == 1 || !test.discovers || time.Since(began) > 20*time.Second
					}
				})
			}
			defer func() { stop() }()
			time.Sleep(50 * time.Second)
			found := map[string]int{}
			for _, s := range must.Get(Vector(a.Query(t.Context(), `{__name__=~"node:.*|latch:.*|gone|seen|ALERTS|up_node"}`, time.Now())))(t) {
				found[string(s.Metric["__name__"])]++
				if i := string(s.Metric["instance"]); i != "" && i != instance {
					t.Errorf("%+v: %s", test, s.Metric)
				}
			}
			want := map[string]int{"up_node": 1, "latch:on": 2}
			if paused {
				want["gone"] = 1 // its rule is still there
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("%+v:\n%s", test, diff)
			}
		})
	}
}
