// Package e2e runs the exporter as a process, with a real Prometheus and a real Alertmanager.
package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// everySecond is a schedule for the collectors whose alerts this test needs.
const everySecond = "AVAX_SCHEDULES=up=@every 1s;bootstrap=@every 1s;uptime=@every 1s;peers=@every 1s;connected_stake=@every 1s;validators=@every 1s;l1=@every 1s;l1_views=@every 1s;reward_budget=@every 1s"

func TestIncidentPagesAndResolves(t *testing.T) {
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exporter := testworld.StartExporter(t, everySecond,
		"AVAX_NODES=alpha="+urls["alpha"]+",bravo="+urls["bravo"],
		"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID,
	)
	// The rules, with shorter durations.
	rules := filepath.Join(t.TempDir(), "rules.yml")
	shortened := testworld.ShortenRules(t, alerts.Rules, func(time.Duration) time.Duration { return time.Second })
	if err := os.WriteFile(rules, shortened, 0o600); err != nil {
		t.Fatal(err)
	}
	pages := testworld.Webhook(t)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
		Targets:       []string{exporter.URL},
		RuleFiles:     []string{rules},
		Alertmanagers: []string{testworld.Alertmanager(t, pages.URL).URL},

		EvaluationInterval: time.Second, // of all rules
	})
	awaitSample(t, prometheus, `avax_node_up{node="alpha"} == 1`)
	awaitSample(t, prometheus, `avax_node_chain_bootstrapped{node="alpha", chain="C"} == 1`)
	awaitSample(t, prometheus, `avax_node_uptime_rewarding_stake_ratio{node="alpha"} > 0.95`)

	about := func(match func(testworld.Alert) bool, labels map[string]string) func(testworld.Alert) bool {
		return func(a testworld.Alert) bool {
			for name, value := range labels {
				if a.Labels[name] != value {
					return false
				}
			}
			return match(a)
		}
	}
	alpha := network.Node("alpha")

	bootstrap := map[string]string{"node": "alpha", "chain": "C", "severity": "page"}
	alpha.SetChain("C", simnet.Bootstrapping)
	page := pages.Wait(about(testworld.Firing("AvaxChainNotBootstrapped"), bootstrap))
	if page.Annotations["summary"] == "" || !strings.Contains(page.Annotations["runbook_url"], "AvaxChainNotBootstrapped.md") {
		t.Errorf("annotations %v", page.Annotations)
	}
	alpha.SetChain("C", simnet.Running)
	pages.Wait(about(testworld.Resolved("AvaxChainNotBootstrapped"), bootstrap))

	uptime := map[string]string{"node": "alpha", "severity": "page"}
	alpha.SetObservedUptime(70)
	page = pages.Wait(about(testworld.Firing("AvaxRewardStakeLow"), uptime))
	if !strings.Contains(page.Annotations["description"], "alpha") {
		t.Errorf("annotations %v", page.Annotations)
	}
	alpha.SetObservedUptime(99)
	pages.Wait(about(testworld.Resolved("AvaxRewardStakeLow"), uptime))

	for _, a := range pages.Alerts() {
		if name := a.Labels["alertname"]; a.Labels["node"] == "bravo" && (name == "AvaxChainNotBootstrapped" || name == "AvaxRewardStakeLow") {
			t.Errorf("unexpected alert of bravo: %v", a)
		}
	}
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
