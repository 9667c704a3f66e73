// Package e2e runs the exporter as a process, with a real Prometheus and a real Alertmanager.
package e2e

import (
	"errors"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// everySecond is a schedule for the collectors whose alerts this test needs.
const everySecond = "AVAX_SCHEDULES=up=@every 1s;bootstrap=@every 1s;uptime=@every 1s;peers=@every 1s;connected_stake=@every 1s;validators=@every 1s;l1=@every 1s;l1_views=@every 1s;reward_budget=@every 1s"

// awaitSample waits until the expression has a result.
func awaitSample(t *testing.T, p *testworld.PrometheusServer, expr string) {
	t.Helper()
	testworld.Await(t, expr, func() error {
		v, err := p.Query(t.Context(), expr)
		if err == nil && len(v) == 0 {
			err = errors.New("no samples")
		}
		return err
	})
}
