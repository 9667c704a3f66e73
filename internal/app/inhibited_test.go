package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// notified runs rules with the shipped inhibit rules for a time, and returns what the receiver was sent. An alert fires from one time until another.
func notified(t *testing.T, w *apptest.World, lasts time.Duration, alerts ...firing) []testworld.Alert {
	t.Helper()
	w.Notify(t)
	began := time.Now()
	rules := "groups:\n  - name: test\n    rules:\n"
	for _, a := range alerts {
		expr := fmt.Sprintf("vector(1) and (vector(time()) >= %d < %d)", began.Add(a.from).Unix(), began.Add(a.to).Unix())
		rules += fmt.Sprintf("      - {alert: %s, expr: %q, labels: {%s}, annotations: {summary: of a test}}\n", a.name, expr, a.labels)
	}
	notify := w.Configure
	w.Configure = func(c *config.Config) {
		notify(c)
		c.Alerting.Rules = []byte(rules)
	}
	w.Start(t)
	time.Sleep(lasts)
	return w.Receiver.Alerts()
}

// firing is an alert that fires between two times, counted from the start of the exporter.
type firing struct {
	name, labels string
	from, to     time.Duration
}

// If one of two causes of an effect ends, the other still suppresses the effect. Alertmanager 0.34.0 kept one cause of those with equal labels
// (prometheus/alertmanager#5542): when this one ended, the effect was notified, and was not suppressed again for half an hour. 0.34.2 keeps all.
func TestSecondCauseStillSuppressesTheEffect(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"one", "two"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				until := map[string]time.Duration{"one": 2 * time.Hour, "two": 2 * time.Hour}
				until[ends] = 10 * time.Minute
				for _, a := range notified(t, w, time.Hour,
					firing{"AvaxChainMissing", "node: a, chain: one, severity: page", 0, until["one"]},
					firing{"AvaxChainMissing", "node: a, chain: two, severity: page", time.Minute, until["two"]},
					firing{"AvaxHealthCheckFailing", "node: a, severity: warn", 3 * time.Minute, 2 * time.Hour},
				) {
					if a.Labels["alertname"] != "AvaxChainMissing" || a.Status == "resolved" && a.Labels["chain"] != ends {
						t.Errorf("after %v: %s %v", a.At.Sub(a.StartsAt), a.Status, a.Labels)
					}
				}
				if len(w.Receiver.Alerts()) == 0 {
					t.Error("the causes were not notified")
				}
			})
		})
	}
}
