package alerting

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// level is an alert whose text depends on its value and on another series, and one whose labels depend on its value.
const level = `
groups:
  - name: levels
    rules:
      - alert: Level
        expr: level > 0
        keep_firing_for: 3m
        annotations: {summary: "{{ $labels.__name__ }} of {{ $labels.node }} is {{ $value }}, others {{ range query \"other\" }}{{ .Value }}{{ end }}"}
      - alert: Labelled
        expr: level > 0
        labels: {level: "{{ $value }}"}
        annotations: {summary: "is {{ $value }}"}
`

// shown returns the summaries of the active alerts, as on the status page.
func shown(a *Alerting) (all []string) {
	for _, g := range a.groups() {
		for _, r := range g.Rules {
			for _, alert := range r.Alerts {
				all = append(all, r.Name+": "+alert.Annotations["summary"])
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestTextsAreOfTheLastEvaluation covers what is shown while an alert fires, and what is shown and sent when its expression does not return it any more.
func TestTextsAreOfTheLastEvaluation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, level)
		w.show(`level{node="alpha"} 0`)
		a, stop := w.start()
		defer stop()
		time.Sleep(time.Minute)
		want := func(when string, want ...string) {
			t.Helper()
			if got := shown(a); !slices.Equal(got, want) {
				t.Errorf("%s: shown %q, want %q", when, got, want)
			}
		}
		text := func(value, other int) string {
			return fmt.Sprintf("Level: level of alpha is %d, others %d", value, other)
		}
		for value := range 4 {
			w.show(fmt.Sprintf(`level{node="alpha"} %d`, value+1), fmt.Sprintf("other %d", 10*value))
			time.Sleep(45 * time.Second)
			want("while it fires", fmt.Sprintf("Labelled: is %d", value+1), text(value+1, 10*value))
		}
		w.show(`level{node="alpha"} 0`, "other 77")
		time.Sleep(2 * time.Minute)
		want("while it is kept firing", text(4, 30))
		time.Sleep(2 * time.Minute)
		want("after its end")
		for alert, summaries := range map[string][]string{
			"Level":    {"level of alpha is 4, others 30"},
			"Labelled": {"is 1", "is 2", "is 3", "is 4"},
		} {
			var got []string
			_, ended := w.paged(alert)
			for _, e := range ended {
				got = append(got, e.Annotations["summary"])
			}
			if !slices.Equal(got, summaries) {
				t.Errorf("%s: sent as resolved %q, want %q", alert, got, summaries)
			}
		}
	})
}

// TestTextsAreExpandedOnlyIfSentOrShown counts the queries of a text.
func TestTextsAreExpandedOnlyIfSentOrShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, level)
		w.show(`level{node="alpha"} 1`, "other 1")
		w.unready = true
		a, stop := w.start()
		defer stop()
		var expanded atomic.Int64
		e := a.current()
		query := e.query
		e.query = func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
			expanded.Add(1)
			return query(ctx, expr, at)
		}
		w.set(func() { w.unready = false })
		time.Sleep(time.Minute)
		expanded.Store(0)
		time.Sleep(10 * time.Minute)
		if n := expanded.Load(); n < 7 || n > 10 {
			t.Errorf("expanded %d times in 10 min, in which it is sent each minute and evaluated 40 times", n)
		}
		expanded.Store(0)
		shown(a)
		shown(a)
		if n := expanded.Load(); n > 1 {
			t.Errorf("expanded %d times for one evaluation", n)
		}
	})
}

// TestReloadedTextsAreShown changes a text of a rule that fires, and removes it: what is sent then has its last text.
func TestReloadedTextsAreShown(t *testing.T) {
	const rule = `groups: [{name: g, rules: [{alert: Down, expr: up_node == 0, annotations: {summary: %s}}, {alert: Other, expr: up_node == 7}]}]`
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fmt.Sprintf(rule, "before"))
		w.show(nodeDown)
		a, stop := w.start()
		defer stop()
		time.Sleep(time.Minute)
		w.write(fmt.Sprintf(rule, "after"))
		if err := a.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if got := shown(a); !slices.Equal(got, []string{"Down: after"}) {
			t.Errorf("shown %q", got)
		}
		w.write(`groups: [{name: g, rules: [{alert: Other, expr: up_node == 7}]}]`)
		if err := a.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if _, ended := w.paged("Down"); len(ended) != 1 || ended[0].Annotations["summary"] != "after" {
			t.Errorf("resolved %v", ended)
		}
	})
}
