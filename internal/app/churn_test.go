package app_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// inventive makes alpha report new names in each answer.
type inventive struct {
	http.RoundTripper
	answers *atomic.Int64
}

func (v inventive) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() != "alpha.sim" {
		return v.RoundTripper.RoundTrip(r)
	}
	var request []byte
	if r.Body != nil {
		var err error
		if request, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
	}
	r.Header.Del("Accept-Encoding")
	resp, err := v.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	text = testworld.Invented(request, text, v.answers.Add(1))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

// A node that invents names in each answer adds a bounded number of series to the history in an hour. The log names it, and the other
// node keeps its series. The history keeps samples for as long as their memory allows, and for at least two hours.
func TestInventedNamesAddFewSeries(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Notify(t)
		w.Transport = inventive{w.Transport, new(atomic.Int64)}
		w.Start(t)
		series := func() int { return int(w.Samples(t)["avax_exporter_history_series"]) }
		time.Sleep(2 * time.Minute)
		before := series()
		bravo := about(w.Samples(t), "bravo")
		var hours []int
		for range 3 {
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
