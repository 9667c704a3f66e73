package web

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/status"
)

// A Kubernetes Service must not lose its endpoint because a chain was found.
func TestReadyStaysReady(t *testing.T) {
	ran, of := 1, 2
	s := &Site{
		Store: metric.NewStore(), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Pool: status.Pool{Progress: func() (int, int) { return ran, of }},
	}
	code := func() int { return ask(t, s, http.MethodGet, "/-/ready").StatusCode }
	if got := code(); got != http.StatusServiceUnavailable {
		t.Errorf("after one of two first runs: %d", got)
	}
	ran = 2
	if got := code(); got != http.StatusOK {
		t.Errorf("after all first runs: %d", got)
	}
	of = 5
	if got := code(); got != http.StatusOK {
		t.Errorf("with new jobs: %d", got)
	}
}

func TestUnknownPathListsTheEndpoints(t *testing.T) {
	answer := ask(t, newSite(), http.MethodGet, "/nowhere")
	if answer.StatusCode != http.StatusNotFound {
		t.Error(answer.Status)
	}
	demand(t, read(t, answer.Body), "/-/reload", "/alerts", "/api/v2/", "/metrics")
}
