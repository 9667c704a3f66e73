package main

import (
	"strings"
	"testing"
)

func TestWhatIsDeniedIsNotServedAndAllElseIs(t *testing.T) {
	inBubbleAs(t, func(s *scenery) {
		s.env.MetricsDeny = "avax_node_peers_by_version,avax_node_info{git_commit},avax_node_chain_bootstrapped{node=bravo}"
	}, func(t *testing.T, b bubble) {
		found := map[string]int{}
		for series := range b.page(t) {
			family, labels, _ := strings.Cut(series, "{")
			found[family]++
			if family == "avax_node_info" && strings.Contains(labels, "git_commit") {
				t.Errorf("%s has the label", series)
			}
			if family == "avax_node_chain_bootstrapped" && strings.Contains(labels, `"bravo"`) {
				t.Errorf("%s is served", series)
			}
		}
		if found["avax_node_peers_by_version"] > 0 {
			t.Error("avax_node_peers_by_version is served")
		}
		for _, family := range []string{"avax_node_info", "avax_node_chain_bootstrapped", "avax_node_peers"} {
			if found[family] == 0 {
				t.Errorf("%s is not served", family)
			}
		}
	})
}

// Beyond its limit a collector fails, and tells what to change.
func TestACollectorBeyondTheLimitOfSeriesFails(t *testing.T) {
	inBubbleAs(t, func(s *scenery) { s.env.SeriesLimit, s.env.Validators = "20", "all" }, func(t *testing.T, b bubble) {
		page := b.page(t)
		if got := page[`avax_exporter_collector_success{collector="validators",target="network"}`]; got != 0 {
			t.Errorf("validators: success is %v", got)
		}
		if got := page[`avax_exporter_collector_success{collector="network",target="network"}`]; got != 1 {
			t.Errorf("network, the aggregates: success is %v", got)
		}
	})
}
