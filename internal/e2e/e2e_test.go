// Package e2e runs the exporter as a process, with a real Prometheus and a real Alertmanager.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// everySecond is a schedule for the collectors whose alerts this test needs.
const everySecond = "AVAX_SCHEDULES=up=@every 1s;bootstrap=@every 1s;uptime=@every 1s;peers=@every 1s;connected_stake=@every 1s;validators=@every 1s;l1=@every 1s;l1_views=@every 1s;heads=@every 1s;reward_budget=@every 1s"

// unhurried is everySecond for a busy machine: a run of a collector has half its period.
var unhurried = strings.ReplaceAll(everySecond, "@every 1s", "@every 8s")

// settled is an additional rule: an engine that evaluates it has healthy samples, so later alerts are changes.
const settled = `
- name: settled
  rules:
  - alert: Settled
    expr: |
          avax_node_chain_bootstrapped{node="alpha", chain="C"} == 1
          and on () avax_node_uptime_rewarding_stake_ratio{node="alpha"} > 0.95
          and on () count (avax_l1_validator_active{chain="examplel1"} == 1) > 1
`

// shortRules returns a file with the rules, with shorter durations.
func shortRules(t *testing.T) string {
	t.Helper()
	return testworld.File(
		t,
		string(testworld.ShortenRules(t, append(slices.Clone(alerts.Rules), settled...), func(time.Duration) time.Duration { return time.Second })),
	)
}

// seconds returns the rules with durations of seconds, so that a slow answer causes no alert.
func seconds(t *testing.T) string {
	t.Helper()
	return testworld.File(t, string(testworld.ShortenRules(t, append(slices.Clone(alerts.Rules), settled...), func(d time.Duration) time.Duration {
		return min(d, 15*time.Second)
	})))
}

// world is a simulated network with an Alertmanager and its notifications.
type world struct {
	network      *simnet.Network
	urls         map[string]string // of all nodes
	pages        *testworld.Receiver
	alertmanager string // URL
	// environment configures an exporter for the network and for sending alerts.
	environment []string
}

func newWorld(t *testing.T, rules string) world {
	t.Helper()
	w := world{network: simnet.New(simnet.Options{Seed: 1}), pages: testworld.Webhook(t)}
	urls := testworld.Serve(t, w.network)
	w.urls = urls
	w.alertmanager = testworld.Alertmanager(t, w.pages.URL).URL
	w.environment = []string{
		everySecond,
		"AVAX_NODES=alpha=" + urls["alpha"] + ",bravo=" + urls["bravo"],
		"AVAX_CHAINS=C,examplel1=" + w.network.Chain("examplel1").ID,
		"AVAX_ALERTMANAGERS=" + w.alertmanager,
		"AVAX_RULES_FILE=" + rules,
		"AVAX_ALERTING_INTERVAL=1s",
	}
	return w
}

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

// getText requests a page.
func getText(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// getJSON requests a page of JSON.
func getJSON(ctx context.Context, url string, into any) error {
	text, err := getText(ctx, url)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// equal returns the difference of two values as an error.
func equal(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// count returns the number of received alerts that match.
func count(r *testworld.Receiver, match func(testworld.Alert) bool) (n int) {
	for _, a := range r.Alerts() {
		if match(a) {
			n++
		}
	}
	return n
}
