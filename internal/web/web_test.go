package web

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

func TestGzipGoesToThoseWhoTakeIt(t *testing.T) {
	for accepted, want := range map[string]bool{
		"":                      false,
		"gzip":                  true,
		"deflate, gzip;q=1.0":   true,
		"gzip;q=0":              false,
		"gzip; q=0.0, identity": false,
		"br,zstd":               false,
		"x-gzip":                false,
	} {
		if got := takesGzip(http.Header{"Accept-Encoding": {accepted}}.Values("Accept-Encoding")); got != want {
			t.Errorf("%q: %v, want %v", accepted, got, want)
		}
	}
}

// A Service must not lose its endpoint because a chain was found.
func TestReadinessIsNotTakenBack(t *testing.T) {
	ran, of := 1, 2
	s := &Site{
		Store: snapshot.New(), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Progress: func() (int, int) { return ran, of },
	}
	status := func() int { return ask(t, s, http.MethodGet, "/-/ready").StatusCode }
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("after one of two first runs: %d", got)
	}
	ran = 2
	if got := status(); got != http.StatusOK {
		t.Errorf("after all first runs: %d", got)
	}
	of = 5
	if got := status(); got != http.StatusOK {
		t.Errorf("with new jobs: %d", got)
	}
}
