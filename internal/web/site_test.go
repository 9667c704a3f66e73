package web

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
)

// shipped are the shipped inhibit rules. They are parsed before synthetic time begins.
var shipped = func() notify.Inhibition {
	rules, err := notify.ParseInhibition(alertmanager.Config)
	if err != nil {
		panic(err)
	}
	return rules
}()

// newSite is a site with an empty store, whose collectors have all run.
func newSite() *Site {
	return &Site{
		Store: metric.NewStore(), Registry: prometheus.NewRegistry(), Version: "v1.2.3",
		Pool: status.Pool{
			Progress:    func() (ran, of int) { return 1, 1 },
			Labels:      func() map[string]map[string]string { return nil },
			Unreachable: func(time.Duration) []string { return nil },
			Chains:      func() []string { return nil },
			Answered:    func(string) time.Time { return time.Now().Add(-time.Minute) },
		},
		Inhibition: func() (notify.Inhibition, error) { return shipped, nil },
		Ask:        func(context.Context, []string) []nodes.Presence { return nil },
		Log:        slog.New(slog.DiscardHandler),
		Access:     everyone,
	}
}

// everyone allows every client.
var everyone = Access{Authenticates: func() bool { return true }}

func serve(t testing.TB, s *Site) string {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// For the tests in package web_test, which run the whole exporter.
var (
	Demand     = demand
	Title      = title
	ProblemsOf = problemsOf
	// WorldPages returns pages of exporters in several situations, by name.
	WorldPages func(t *testing.T) map[string]string
)

const Repository = repository
