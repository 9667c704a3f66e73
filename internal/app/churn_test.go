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
	testworld.Story(t)
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
		length := 2 * time.Hour
		if testing.Short() {
			length = 10 * time.Minute
		}
		for range max(1, length/time.Hour) {
			time.Sleep(min(length, time.Hour))
			hours = append(hours, series())
		}
		t.Logf("%d series in the history after 2 minutes, then by hour: %v", before, hours)
		// Each new series may raise an alert, which has two series.
		for i, n := range hours {
			if most := before + 2500 + 3*1000*(i+1); n > most {
				t.Errorf("%d series after %d hours, want at most %d", n, i+1, most)
			}
		}
		// In one answer or within an hour: what comes first depends on the phases.
		if log := w.Log.String(); !strings.Contains(log, "msg=\"collector failed\" target=alpha") || !strings.Contains(log, "too many series: ") {
			t.Errorf("the log does not name the node:\n%s", log)
		}
		page := w.Samples(t)
		for _, s := range bravo {
			if _, kept := page[s]; !kept && !strings.Contains(s, "fork_detected") {
				t.Errorf("lost %s", s)
			}
		}
	})
}

// inventing makes a node list chains that do not exist, and claim that it tracks them, while it is on.
func inventing(w *apptest.World, who string, chains int, on *atomic.Bool) http.RoundTripper {
	var ids []string
	for i := range chains {
		ids = append(ids, w.NewID(i))
	}
	return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
		if c.Upstream != who || !on.Load() {
			return c.Ask()
		}
		switch c.Method {
		case "platform.getBlockchains":
			return c.Changed(func(answer map[string]any) {
				result := answer["result"].(map[string]any)
				for i, id := range ids {
					result["blockchains"] = append(result["blockchains"].([]any),
						map[string]any{"id": id, "name": "chain", "subnetID": ids[len(ids)-1-i], "vmID": "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"})
				}
			})
		case "GET /ext/health":
			return c.Changed(func(answer map[string]any) {
				for _, id := range ids {
					answer["checks"].(map[string]any)[id] = map[string]any{"message": "ok", "timestamp": time.Now().Format(time.RFC3339)}
				}
			})
		}
		return c.Ask()
	})
}

// One of several nodes invents no chain. A single node adds few, and they are forgotten when it lists them no more.
func TestInventedChainsAreFew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes []string
		most  int // chains that are monitored after two hours
	}{
		"one of four":  {[]string{"alpha", "bravo", "charlie", "echo"}, 2},
		"one of three": {[]string{"alpha", "bravo", "charlie"}, 2},
		"the only one": {[]string{"alpha"}, 2 + 100 + 41},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"], w.Env["CHAINS"], w.Env["COLLECTORS"] = apptest.URLs(c.nodes...), "C,auto", "up,variants"
				var on atomic.Bool
				on.Store(true)
				w.Transport = inventing(w, "alpha", 990, &on)
				w.Start(t)
				found := func() (chains int) {
					return strings.Count(w.Log.String(), "chain found") - strings.Count(w.Log.String(), "chain forgotten")
				}
				time.Sleep(5 * time.Minute)
				if n := found(); n < 2 || n > min(c.most, 2+102) {
					t.Errorf("%d chains at first", n)
				}
				length := 2 * time.Hour
				if testing.Short() {
					length = 20 * time.Minute
				}
				time.Sleep(length)
				if n := found(); n < 2 || n > c.most {
					t.Errorf("%d chains after %v, want at most %d", n, length, c.most)
				}
				if several := len(c.nodes) > 1; w.Samples(t)[`avax_node_contradicted{node="alpha",facts="blockchains"}`] == 1 != several {
					t.Errorf("alpha is contradicted: %t, want %t", !several, several)
				} else if told := strings.Contains(w.Log.String(), "too many chains tracked"); told == several {
					t.Errorf("the log says that there are too many: %t", told)
				}
				if len(c.nodes) > 1 || testing.Short() {
					return
				}
				on.Store(false)
				time.Sleep(25 * time.Hour)
				if n := found(); n != 2 {
					t.Errorf("%d chains a day after the last was listed, want 2", n)
				}
			})
		})
	}
}
