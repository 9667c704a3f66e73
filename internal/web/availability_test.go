package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The status page shows the availability of all, the lowest first, and for how long it was watched. The pages of a node and of an L1 show theirs.
func TestPagesShowAvailability(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1
		avax_node_up{node="b"} 1
		avax_node_info{node="a",node_id="NodeID-a",version="v"} 1
		avax_l1_weight{chain="one"} 100`)
	source := newSource(t, group())
	set := func(family, label, of, window string, v float64) {
		source.past(t, 5*time.Minute, func(time.Duration) float64 { return v }, "__name__", family, label, of, "window", window)
	}
	for of, label := range map[string]string{"a": "node", "b": "node", "NodeID-a": "node_id", "one": "chain"} {
		for _, window := range alerting.AvailabilityWindows {
			up, watched := 1.0, 1.0
			if window == "90d" && of == "a" {
				up = 0.999999
			}
			if window == "90d" && of == "b" {
				up, watched = 0.99954, 0.1
			}
			set(alerting.AvailabilityFamily, label, of, window, up)
			set(alerting.WatchedFamily, label, of, window, watched)
		}
	}
	// Of 30 days, 0.05 % of the answers are missed, and 0.1 % may be: half of the error budget.
	for window, up := range map[string]float64{"24h": 1, "7d": 0.9999, "30d": 0.9995, "90d": 0.9998} {
		for family, v := range map[string]float64{alerting.AvailabilityFamily: up, alerting.WatchedFamily: 1} {
			source.past(t, 5*time.Minute, func(time.Duration) float64 { return v }, "__name__", family, "chain", "one", "objective", "answers", "window", window)
		}
	}
	source.past(t, 5*time.Minute, func(time.Duration) float64 { return 0.001 }, "__name__", "avax:rpc_error_budget_ratio", "objective", "answers")
	source.read(t, s)
	answers := "one | RPC answers | 100 % | 99.99 % | 99.95 %, 50 % of the error budget used | 99.98 %"
	for path, want := range map[string]string{
		"/": answers + "; b | node | 100 % | 100 % | 100 % | 99.954 %, watched for 9 days; a | node | 100 % | 100 % | 100 % | 99.999 %; " +
			"one | L1 | 100 % | 100 % | 100 % | 100 %; a | validator | 100 % | 100 % | 100 % | 100 %",
		"/?filter=b": "b | node | 100 % | 100 % | 100 % | 99.954 %, watched for 9 days",
		"/node/a":    "a | node | 100 % | 100 % | 100 % | 99.999 %; a | validator | 100 % | 100 % | 100 % | 100 %",
		"/l1/one":    answers + "; one | L1 | 100 % | 100 % | 100 % | 100 %",
	} {
		got := strings.Join(rowsIn(read(t, ask(t, s, http.MethodGet, path).Body), "availability", "Kind", "24 h", "7 days", "30 days", "90 days"), "; ")
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// One availability is one number: in the table, in the days and for screen readers. Nothing but a whole is 100 %.
func TestShareOfTimeIsRoundedOnce(t *testing.T) {
	for up, want := range map[float64]string{
		1: "100 %", 0.99999: "99.999 %", 0.999999: "99.999 %", 0.85555: "85.555 %", 0.837: "83.7 %", 0: "0 %", 1e-7: "0.001 %",
	} {
		if got := exactShare(up); got != want {
			t.Errorf("%v: %s, want %s", up, got, want)
		}
		days := &[weekDays]dayOf{}
		for i := range days {
			days[i].up = -1
		}
		days[weekDays-1].up = up
		var list strings.Builder
		must.Do(t, (&view{Status: &status.Status{At: time.Now()}}).dayList(days).Render(&list))
		if strings.Count(list.String(), want) != 2 {
			t.Errorf("%v: %s, want %s twice", up, list.String(), want)
		}
	}
}
