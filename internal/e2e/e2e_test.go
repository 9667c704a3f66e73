// Package e2e runs the exporter as a process, with a real Prometheus and a real Alertmanager.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
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

func TestMain(m *testing.M) { os.Exit(testworld.Main(m)) }

// getJSON requests a page of JSON.
func getJSON(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// eventually waits until condition returns an empty text.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	testworld.Await(t, "eventually", func() error {
		if missing := condition(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
