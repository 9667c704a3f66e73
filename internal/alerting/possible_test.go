package alerting

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A rule that cannot have a result is not evaluated, nor what cannot have one in a rule. What nothing makes something of is evaluated always.
func TestExpressionsThatCannotHaveAResultAreKnown(t *testing.T) {
	t.Parallel()
	has := func(s *parser.VectorSelector) bool { return strings.HasPrefix(s.Name, "here") }
	for text, want := range map[string]string{
		"here": "here", "gone": "", `{__name__=~"g.+"}`: `{__name__=~"g.+"}`, "vector(1)": "vector(1)", "time() > bool 5": "time() > bool 5",
		"here and gone": "", "here or gone": "here", "gone or here": "here", "gone or gone": "", "here unless gone": "here", "gone unless here": "",
		"here * on (node) group_left () gone": "", "here > 5": "here > 5", "sum without (node) (gone)": "", "rate(gone[5m]) > 0": "",
		"max_over_time(gone[1h:1m])": "", "absent(gone)": "absent(gone)", "absent_over_time(gone[5m])": "absent_over_time(gone[5m])",
		"here > scalar(gone)": "here > scalar(gone)", "-gone": "", "(gone)": "", `label_replace(gone, "a", "$1", "b", "(.+)")`: "",
		"here * (here2 or gone)": "here * (here2)", "here or here2 unless gone or gone": "here or here2", "here unless here2 unless gone": "here unless here2",
		"max by (a) (gone or here) > 1": "max by (a) (here) > 1", "timestamp(here unless gone)": "timestamp(here unless gone)", "scalar(here or gone)": "scalar(here)",
		"absent(here or gone)": "absent(here or gone)", "scalar(gone or gone) > here": "scalar(gone or gone) > here",
		"here and (gone and here or here2 unless (gone > 1))": "here and (here2)", "here unless gone * 2 or vector(0)": "here or vector(0)",
	} {
		expr, got := must.Get(Parser.ParseExpr(text))(t), ""
		if Possible(expr, has) {
			got = possiblePart(expr, has).String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if want := must.Get(Parser.ParseExpr(text))(t).String(); expr.String() != want {
			t.Errorf("%s was changed: %s", want, expr)
		}
	}
}

// What no result is possible without is evaluated first.
func TestARuleBeginsWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a", "a > 1": "a > 1", "a > 1 and b": "a > 1", "a unless b": "a", "a and b or c unless d": "a or c", "max by (x) (a > 1 and b)": "a > 1",
		"(a > 1 unless b) and c": "(a > 1)", "a * on (x) group_left () (b > 1 and c)": "(b > 1)", "a / b > 1": "a / b > 1", "absent(a) and b": "absent(a)",
		`label_replace(a == 0 and b, "x", "$1", "y", "(.)")`: "a == 0", "a + on (x) (b and c)": "a + on (x) (b and c)",
		"max by (x) (a or b) or c and d": "a or b or c", "c or max by (x) (a and b or d)": "c or a or d",
	} {
		if got := leadOf(must.Get(Parser.ParseExpr(text))(t)).String(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// While one alert fires, and starts and ends, what reads other alerts has no result and is not evaluated.
func TestAnAlertIsNoInputOfWhatReadsOthers(t *testing.T) {
	t.Parallel()
	exprs := map[string]written{}
	for _, text := range []string{`ALERTS{alertname="Down"}`, `ALERTS_FOR_STATE{alertname="Down",node="1"}`, `ALERTS{alertname=~"D.+"}`, `count(ALERTS)`} {
		expr := must.Get(Parser.ParseExpr(text))(t)
		exprs[text] = written{expr, expr.String()}
	}
	in := newInputs()
	in.watch(exprs)
	evaluated := func(at int64) (all []string) {
		for text := range exprs {
			must.Get(in.evaluate(exprs[text].text, time.UnixMilli(at), func(string) (promql.Vector, error) {
				all = append(all, text)
				return nil, nil
			}))(t)
		}
		slices.Sort(all)
		return all
	}
	store := func(alert string, at int64, value float64) {
		for n, name := range []string{"ALERTS", forState} {
			in.add([]appended{{labels.FromStrings("__name__", name, "alertname", alert), storage.SeriesRef(2*len(alert) + n), at, value}})
		}
	}
	store("Other", 1000, 1)
	if got, want := evaluated(2000), []string{`ALERTS{alertname=~"D.+"}`, `count(ALERTS)`}; !slices.Equal(got, want) {
		t.Errorf("while another alert fires: evaluated %q, want %q", got, want)
	}
	store("Down", 3000, 1)
	if got := evaluated(4000); len(got) != len(exprs) {
		t.Errorf("when it fires: evaluated %q", got)
	}
	store("Other", 5000, math.Float64frombits(value.StaleNaN))
	if got, want := evaluated(6000), []string{`ALERTS{alertname=~"D.+"}`, `count(ALERTS)`}; !slices.Equal(got, want) {
		t.Errorf("when the other ends: evaluated %q, want %q", got, want)
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
