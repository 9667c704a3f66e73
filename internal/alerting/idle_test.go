package alerting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Rules that can have no result are not evaluated. Yet each evaluation writes what the expression of each rule returns, and ends what it no longer
// returns: while families begin and end, for records that read each other, and for alerts.
func TestRulesThatAreLeftOutWouldWriteNothing(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			w := newWorld(t, `
groups:
  - name: all
    rules:
      - {record: 'r:tick', expr: time()}
      - {record: 'r:a', expr: a * 2}
      - {record: 'r:b', expr: b unless c}
      - {record: 'r:either', expr: r:a + 1 or r:b}
      - {record: 'r:both', expr: r:either and c}
      - {record: 'r:none', expr: never or r:none}
      - {record: 'r:absent', expr: absent(a)}
      - {record: 'r:constant', expr: vector(3)}
      - {alert: A, expr: r:a > 1}
      - {alert: Both, expr: r:both, keep_firing_for: 1m}
      - {alert: Late, expr: late and on () b}
      - {record: 'r:alerts', expr: count by (alertname) (ALERTS)}
`)
			w.show(`avax_node_up{node="alpha"} 1`)
			a, stop := w.start()
			defer stop()
			leftOut := 0
			for i := range 40 {
				page := []string{`avax_node_up{node="alpha"} 1`}
				for _, family := range []string{"a", "b", "c"} {
					if random.IntN(3) > 0 {
						page = append(page, fmt.Sprint(family, " ", random.IntN(3)))
					}
				}
				if i > 20 {
					page = append(page, "late 1")
				}
				w.show(page...)
				time.Sleep(time.Duration(1+random.IntN(4)) * 15 * time.Second)
				g := a.current().rules.RuleGroups()[0]
				leftOut += len(g.Rules()) - len(idle{a.current().store.inputs}.SplitGroupIntoBatches(t.Context(), g)[0])
			}
			if leftOut < 40 {
				t.Errorf("%d rules were left out, want one each time", leftOut)
			}
			ticks := must.Get(a.QueryRange(t.Context(), "r:tick", time.Now().Add(-30*time.Minute), time.Now(), time.Second))(t)
			var times []time.Time
			for _, p := range ticks[0].Values {
				if at := time.UnixMilli(int64(p.Value * 1000)); !slices.Contains(times, at) && time.Since(at) < 25*time.Minute {
					times = append(times, at)
				}
			}
			for _, at := range times {
				for _, g := range a.current().rules.RuleGroups() {
					for _, r := range g.Rules() {
						read := r.Name()
						if _, is := r.(*rules.AlertingRule); is {
							read = fmt.Sprintf("ALERTS{alertname=%q}", read)
						}
						got := must.Get(a.Query(t.Context(), read, at))(t).(model.Vector)
						want := must.Get(Vector(a.Query(t.Context(), r.Query().String(), at)))(t)
						if r.Name() == "Both" { // it is kept
							want = got
						}
						if len(got) != len(want) || len(got) == 1 && read == r.Name() && got[0].Value != want[0].Value {
							t.Fatalf("seed %d: %s at %s: %v, want %v", seed, r.Name(), at.UTC(), got, want)
						}
					}
				}
			}
			if len(times) < 20 {
				t.Errorf("%d evaluations", len(times))
			}
		})
	}
}

// A threshold is the same in each evaluation. It is written once a minute, unless somebody counts its samples.
func TestConstantsAreWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `
groups:
  - name: all
    rules:
      - {record: 'r:constant', expr: vector(3)}
      - {record: 'r:counted', expr: vector(3)}
      - {record: 'r:dated', expr: vector(3)}
      - {record: 'r:now', expr: vector(time())}
      - {record: 'r:counts', expr: 'count_over_time(r:counted[5m])'}
      - {record: 'r:dates', expr: timestamp(r:dated)}
`)
		w.show(`avax_node_up{node="alpha"} 1`)
		a, stop := w.start()
		defer stop()
		time.Sleep(20 * time.Minute)
		for name, want := range map[string]model.SampleValue{"r:constant": 10, "r:counted": 40, "r:dated": 40, "r:now": 40} {
			got := must.Get(Vector(a.Query(t.Context(), "count_over_time("+name+"[10m])", time.Now())))(t)
			if len(got) != 1 || got[0].Value != want {
				t.Errorf("samples of %s in ten minutes: %v, want %v", name, got, want)
			}
		}
	})
}
