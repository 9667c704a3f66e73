package e2e

import (
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Two sites have nodes of the same names, each with an exporter. Four Prometheus servers tell them apart in different ways. alpha of one site
// is down, and alpha of the other does not run the C-Chain: each is paged once, with the label of its site, and nothing is suppressed.
func TestSitesWithEqualNodeNamesInPrometheus(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	networks, exporters := map[string]*simnet.Network{}, map[string]*testworld.Exporter{}
	rules := ""
	for _, site := range []string{"eu", "us"} {
		network, environment, file := disturbed(t)
		rules, networks[site] = file, network
		exporters[site] = testworld.StartExporter(t, append(environment, "AVAX_ALERTING=off")...)
	}
	eu, us := exporters["eu"].URL, exporters["us"].URL
	type set struct {
		config testworld.PrometheusConfig
		label  string
	}
	labelled := func(a, b map[string]string) testworld.PrometheusConfig {
		return testworld.PrometheusConfig{Targets: []string{eu, us}, Labels: map[string]map[string]string{eu: a, us: b}}
	}
	sets := map[string]set{
		"site":    {labelled(map[string]string{"site": "eu"}, map[string]string{"site": "us"}), "site"},
		"cluster": {labelled(map[string]string{"cluster": "eu", "env": "prod"}, map[string]string{"cluster": "us", "env": "prod"}), "cluster"},
		"prometheus-operator": {labelled(
			map[string]string{"namespace": "eu", "pod": "avax-0", "container": "exporter"},
			map[string]string{"namespace": "us", "pod": "avax-0", "container": "exporter"},
		), "namespace"},
		"job": {testworld.PrometheusConfig{Jobs: map[string][]string{"eu": {eu}, "us": {us}}, ExternalLabels: map[string]string{"node": "monitor"}}, "job"},
	}
	phones := map[string]*testworld.Receiver{}
	for name, s := range sets {
		phones[name] = testworld.Webhook(t)
		config := s.config
		config.RuleFiles, config.ScrapeInterval, config.EvaluationInterval = []string{rules}, 2*time.Second, time.Second
		config.Alertmanagers = []string{testworld.AlertmanagerWith(t, testworld.ShippedRoutes(t, phones[name].URL)).URL}
		prometheus := testworld.Prometheus(t, config)
		awaitSample(t, prometheus, `count(avax_node_connected_stake_ratio{node="alpha"} > 0.8) == 2`)
	}
	networks["eu"].Node("alpha").Stop()
	networks["us"].Node("alpha").SetChain("C", simnet.Bootstrapping)
	for name, s := range sets {
		phones[name].Wait(testworld.Firing("AvaxNodeDown", "node=alpha", "severity=page", s.label+"=eu"))
		phones[name].Wait(testworld.Firing("AvaxChainNotBootstrapped", "node=alpha", "severity=page", s.label+"=us"))
		if n := count(phones[name], testworld.Firing("AvaxNodeDown", "severity=page", s.label+"=us")); n > 0 {
			t.Errorf("%s: the other site is paged %d times", name, n)
		}
		if n := count(phones[name], testworld.Firing("AvaxChainNotBootstrapped", s.label+"=eu")); n > 0 {
			t.Errorf("%s: the first site is paged %d times about its chain", name, n)
		}
	}
}
