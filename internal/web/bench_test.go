package web

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const day = 24 * 60 * 60.0 // seconds

// fleet is a site with this number of nodes, and of L1s with ten validators each. One node in a hundred is down with a firing
// alert.
func fleet(t testing.TB, nodes, l1s int) *Site {
	s := newSite()
	now := float64(time.Now().Unix())
	var down []map[string]string
	for i := range nodes {
		node := fmt.Sprintf("node%04d", i)
		id := "NodeID-" + node
		up := 1.0
		if i%100 == 7 {
			up = 0
			down = append(down, map[string]string{"node": node, "summary": node + " is down"})
		}
		all := []testSample{
			{"avax_node_up", []string{"node", node}, up},
			{"avax_node_info", []string{"node", node, "node_id", id, "version", "avalanchego/1.15.0"}, 1},
			{"avax_validator_present", []string{"node_id", id}, 1},
			{"avax_validator_start_timestamp_seconds", []string{"node_id", id}, now - 30*day},
			{"avax_validator_end_timestamp_seconds", []string{"node_id", id}, now + 60*day},
			{"avax_validator_downtime_budget_seconds", []string{"node_id", id}, 9 * day},
			{"avax_validator_downtime_used_seconds", []string{"node_id", id}, 1 * day},
			{"avax_validator_uptime_requirement_ratio", []string{"node_id", id}, 0.9},
			{"avax_validator_weighted_uptime_ratio", []string{"node_id", id}, 0.97},
			{"avax_validator_potential_reward_avax", []string{"node_id", id}, 50},
		}
		for _, family := range []string{"validating", "uptime_rewarding_stake_ratio", "uptime_weighted_ratio", "connected_stake_ratio", "peers", "peers_inbound",
			"safe_to_stop", "newer_version_stake_ratio"} {
			all = append(all, testSample{"avax_node_" + family, []string{"node", node}, 1})
		}
		for _, check := range []string{"P", "X", "C", "network", "diskspace", "bls", "database", "router", "bootstrapped", "futureupgrade"} {
			all = append(all, testSample{"avax_node_health_check_failing", []string{"node", node, "check", check}, 0})
		}
		for _, chain := range []string{"P", "X", "C", "one"} {
			all = append(all,
				testSample{"avax_node_chain_present", []string{"node", node, "chain", chain}, 1},
				testSample{"avax_node_chain_bootstrapped", []string{"node", node, "chain", chain}, 1},
				testSample{"avax_chain_height", []string{"node", node, "chain", chain}, 1e6},
				testSample{"avax_chain_head_timestamp_seconds", []string{"node", node, "chain", chain}, now})
		}
		putSamples(t, s, metric.Key{Collector: "all", Target: metric.Target{Node: node}}, all...)
	}
	for i := range l1s {
		chain := fmt.Sprintf("chain%04d", i)
		on := []string{"chain", chain}
		all := []testSample{
			{"avax_l1_weight", on, 1000}, {"avax_l1_active_weight", on, 900},
			{"avax_l1_validators", []string{"chain", chain, "state", "active"}, 10},
			{"avax_l1_quorum_loss_seconds", []string{"chain", chain, "quorum", "0.80"}, 40 * day},
			{"avax_chain_info", []string{"chain", chain, "subnet_id", "subnet" + chain}, 1},
		}
		for v := range 10 {
			of := []string{"chain", chain, "node_id", fmt.Sprintf("NodeID-%d-%d", i, v), "validation_id", fmt.Sprintf("%d-%d", i, v)}
			all = append(all,
				testSample{"avax_l1_validator_weight", of, 100}, testSample{"avax_l1_validator_active", of, 1}, testSample{"avax_l1_validator_balance_avax", of, 3},
				testSample{"avax_l1_validator_runway_seconds", of, float64(v+20) * day}, testSample{"avax_l1_validator_burn_avax_per_day", of, 0.04})
		}
		putSamples(t, s, metric.Key{Collector: "l1", Target: metric.Target{Chain: chain}}, all...)
	}
	given := map[string]map[string]string{} // a node in two by its name, the others by node ID
	for i := range nodes {
		name := fmt.Sprintf("node%04d", i)
		labels := map[string]string{"owner": fmt.Sprintf("owner%d", i%20), "region": fmt.Sprintf("region%d", i%5)}
		if i%2 == 1 {
			name = "NodeID-" + name
		}
		given[name] = labels
	}
	s.Labels = func() map[string]map[string]string { return given }
	sourced(t, s, group(rule("Down", "page", alerting.Firing, down...)))
	return s
}

// Of a fleet the page shows one square for each node, and rows only for what is not well. The rest is folded, with its sums.
func TestFleetIsAGridWithRowsForWhatIsNotWell(t *testing.T) {
	s := fleet(t, 120, 104)
	page := read(t, ask(t, s, "GET", "/").Body)
	if n := strings.Count(page, `id="node-node`); n != 2 {
		t.Errorf("rows of %d nodes, 2 are down", n)
	}
	if n := strings.Count(page, `<li><a href="node/node`); n != 120 {
		t.Errorf("%d squares for 120 nodes", n)
	}
	demand(
		t,
		page,
		"118 of 120 nodes up",
		`class="bad" title="node0007: no answer`,
		`class="well" title="node0008: up"`,
		"118 other nodes well: lowest votes for reward 100 %",
		`<a href="?nodes=all#nodes">`,
		`<a href="?l1=chain0011#l1-chain0011">`,
		"104 L1s well, 1,040 validators, first balance runs out in 20 days",
		"120 validators well, lowest uptime 97 %, rewards 6,000 AVAX, first period ends in 59 days",
		"4 more, with no worse alert",
		"!chain0103",
	)
	if lines := strings.Count(regexp.MustCompile(`(?s)<details.*?</details>`).ReplaceAllString(page, ""), "<tr"); lines > 10 {
		t.Errorf("%d rows of tables outside of what is folded", lines)
	}
	page = read(t, ask(t, s, "GET", "/?nodes=all").Body)
	if n := strings.Count(page, `id="node-node`); n != 120 {
		t.Errorf("nodes=all: %d nodes shown", n)
	}
	for _, chain := range []string{"chain0011", "chain0103"} {
		demand(t, read(t, ask(t, s, "GET", "/?l1="+chain).Body), `id="l1-`+chain+`" open`, "Validators of "+chain+", worst first")
	}
}

// A page needs few queries, for any number of rows.
func TestQueryCountIsIndependentOfRows(t *testing.T) {
	queries := func(nodes, l1s int) int {
		s := fleet(t, nodes, l1s)
		_ = read(t, ask(t, s, "GET", "/").Body)
		return s.Source.(*stored).queries
	}
	few, eight, small, large := queries(2, 1), queries(8, 1), queries(20, 1), queries(200, 50)
	if few != eight || small != large || max(eight, large) > 20 {
		t.Errorf("%d queries for 2 nodes, %d for 8, %d for 20, %d for 200", few, eight, small, large)
	}
}

// A node's strip has the worst state of each minute: while it was down, and while one of its chains was bootstrapping.
func TestStripShowsTheHistoryOfANode(t *testing.T) {
	s := fleet(t, 2, 1)
	source := newSource(t)
	during := func(from, to time.Duration) func(time.Duration) float64 { // ago
		return func(ago time.Duration) float64 {
			if ago <= from && ago > to {
				return 0
			}
			return 1
		}
	}
	source.past(t, stripHistory, during(0, 0), "__name__", "avax_node_up", "node", "node0000")
	source.past(t, stripHistory, during(30*time.Minute, 20*time.Minute), "__name__", "avax_node_up", "node", "node0001")
	source.past(t, stripHistory, during(20*time.Minute, 15*time.Minute), "__name__", "avax_node_chain_bootstrapped", "node", "node0001", "chain", "C")
	source.read(t, s)
	page := read(t, ask(t, s, "GET", "/").Body)
	// a part begins 30 s early
	for _, want := range []string{`node0000\. Last 2 h: up 2 h"`, `node0001\. Last 2 h: up 1 h, bootstrapping [4-6] min, down 1[0-2] min"`} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("no strip %s", want)
		}
	}
}

func BenchmarkPageOfAThousandNodesAndL1s(b *testing.B) { benchmarkPage(b, url.Values{}) }

func BenchmarkPageOfAnOwnerOfAThousandNodesAndL1s(b *testing.B) {
	benchmarkPage(b, url.Values{"owner": {"owner7"}})
}

func benchmarkPage(b *testing.B, ask url.Values) {
	s := fleet(b, 1000, 1000)
	// Two hours of the families with a history on the page.
	source := newSource(b, s.Source.(*stored).groups...)
	always := func(time.Duration) float64 { return 1 }
	for i := range 1000 {
		node := fmt.Sprintf("node%04d", i)
		source.past(b, stripHistory, always, "__name__", "avax_node_up", "node", node)
		for _, chain := range []string{"P", "X", "C"} {
			source.past(b, stripHistory, always, "__name__", "avax_node_chain_bootstrapped", "node", node, "chain", chain)
		}
	}
	source.read(b, s)
	s.Handler() // creates what requests share
	b.ReportAllocs()
	spent := func() (total time.Duration) {
		var usage syscall.Rusage
		must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	runtime.GC()
	before, pages := spent(), 0
	for b.Loop() {
		must.Do(b, s.statusPage(b.Context(), ask, time.Now()).Render(io.Discard))
		pages++
	}
	b.ReportMetric(float64((spent()-before).Milliseconds())/float64(pages), "cpu-ms/page")
}
