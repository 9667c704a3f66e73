package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeniedSeriesAreNotServed(t *testing.T) {
	inBubbleAs(t, func(s *scenery) {
		s.env.MetricsDeny = "avax_node_peers_by_version,avax_node_info{git_commit},avax_node_chain_bootstrapped{node=bravo}"
	}, func(t *testing.T, b bubble) {
		found := map[string]int{}
		for series := range b.page(t) {
			family, labels, _ := strings.Cut(series, "{")
			found[family]++
			if family == "avax_node_info" && strings.Contains(labels, "git_commit") {
				t.Errorf("%s with the label", series)
			}
			if family == "avax_node_chain_bootstrapped" && strings.Contains(labels, `"bravo"`) {
				t.Errorf("%s served", series)
			}
		}
		if found["avax_node_peers_by_version"] > 0 {
			t.Error("avax_node_peers_by_version served")
		}
		for _, family := range []string{"avax_node_info", "avax_node_chain_bootstrapped", "avax_node_peers"} {
			if found[family] == 0 {
				t.Errorf("%s not served", family)
			}
		}
	})
}

// The plan is complete even if its series are not served.
func TestPlanIsIndependentOfServedSeries(t *testing.T) {
	const path = "/api/v1/l1/examplel1/plan"
	plan := func(change func(*scenery)) (text string) {
		inBubbleAs(t, change, func(t *testing.T, b bubble) {
			b.network.SetBalance("examplel1", "echo", 0)
			time.Sleep(12 * time.Minute) // between two runs, which are five minutes apart
			status, body := b.ask(t, path)
			if status != http.StatusOK {
				t.Errorf("%d: %s", status, body)
			}
			text = body
		})
		return text
	}
	all := plan(func(*scenery) {})
	for name, change := range map[string]func(*scenery){
		"denied":      func(s *scenery) { s.env.MetricsDeny = "avax_l1_validator_*,avax_l1_quorum_*,avax_l1_top_up_avax" },
		"not allowed": func(s *scenery) { s.env.MetricsAllow = "avax_node_*,avax_l1_weight" },
		"too many":    func(s *scenery) { s.env.SeriesLimit = "10" },
	} {
		if diff := cmp.Diff(all, plan(change)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A collector above its limit fails with a remedy.
func TestCollectorAboveTheSeriesLimitFails(t *testing.T) {
	inBubbleAs(t, func(s *scenery) { s.env.SeriesLimit, s.env.Validators = "20", "all" }, func(t *testing.T, b bubble) {
		page := b.page(t)
		if got := page[`avax_exporter_collector_success{collector="validators",target="network"}`]; got != 0 {
			t.Errorf("validators: success %v", got)
		}
		if got := page[`avax_exporter_collector_success{collector="network",target="network"}`]; got != 1 {
			t.Errorf("network (aggregates): success %v", got)
		}
	})
}
