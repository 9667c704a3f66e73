package alerting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A rule that cannot have a result is not evaluated. What nothing makes something of is evaluated always.
func TestExpressionsThatCannotHaveAResultAreKnown(t *testing.T) {
	t.Parallel()
	has := func(name string) bool { return name == "here" }
	for text, want := range map[string]bool{
		"here": true, "gone": false, `{__name__=~"g.+"}`: true, "vector(1)": true, "time() > bool 5": true,
		"here and gone": false, "here or gone": true, "gone or gone": false, "here unless gone": true, "gone unless here": false,
		"here * on (node) group_left () gone": false, "here > 5": true, "sum without (node) (gone)": false, "rate(gone[5m]) > 0": false,
		"max_over_time(gone[1h:1m])": false, "absent(gone)": true, "absent_over_time(gone[5m])": true, "here > scalar(gone)": true,
		"-gone": false, "(gone)": false, `label_replace(gone, "a", "$1", "b", "(.+)")`: false,
	} {
		if got := Possible(must.Get(Parser.ParseExpr(text))(t), has); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// A record that begins is read by the rules after it in the same evaluation, as in Prometheus.
func TestARecordThatBeginsIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `
groups:
  - name: chain
    rules:
      - {record: first, expr: appears * 2}
      - {record: second, expr: first + 1}
      - {alert: Third, expr: second}
`)
		w.show(nodeUp)
		a, stop := w.start()
		defer stop()
		time.Sleep(time.Minute)
		w.show(nodeUp, "appears 1")
		time.Sleep(time.Minute)
		late := must.Get(a.Query(t.Context(), "count_over_time(first[10m]) - on () count_over_time(ALERTS[10m])", time.Now()))(t).(model.Vector)
		if len(late) != 1 || late[0].Value != 0 {
			t.Errorf("the alert began later than what it reads: %v", late)
		}
	})
}
