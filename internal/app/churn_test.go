package app_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
)

// inventive makes alpha report new names in each answer.
func inventive(network http.RoundTripper) http.RoundTripper {
	var answers atomic.Int64
	return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
		if c.Upstream != "alpha" {
			return c.Ask()
		}
		return c.Rewritten(func(body []byte) []byte { return testworld.Invented(c.Text, body, answers.Add(1)) })
	})
}

// A node that invents names in each answer adds a bounded number of series to the history in an hour. The log names it, and the other
// node keeps its series. The history keeps samples for as long as their memory allows, and for at least two hours.
func TestInventedNamesAddFewSeries(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Notify(t)
		w.Env["ALERTING_INTERVAL"] = "1m" // the texts of thousands of alerts cost most of the time
		w.Transport = inventive(w.Transport)
		w.Start(t)
		series := func() int { return int(w.Samples(t)["avax_exporter_history_series"]) }
		time.Sleep(2 * time.Minute)
		before := series()
		bravo := about(w.Samples(t), "bravo")
		var hours []int
		length := 2
		if testing.Short() {
			length = 1
		}
		for range length {
			time.Sleep(time.Hour)
			hours = append(hours, series())
		}
		t.Logf("%d series in the history after 2 minutes, then by hour: %v", before, hours)
		// Each new series may raise an alert, which has two series.
		for i, n := range hours {
			if most := before + 2500 + 3*1000*(i+1); n > most {
				t.Errorf("%d series after %d hours, want at most %d", n, i+1, most)
			}
		}
		if log := w.Log.String(); !strings.Contains(log, "new series, and is not served: within an hour alpha may add 1000") {
			t.Error("the log does not name the node")
		}
		page := w.Samples(t)
		for _, s := range bravo {
			if _, kept := page[s]; !kept && !strings.Contains(s, "fork_detected") {
				t.Errorf("lost %s", s)
			}
		}
	})
}
