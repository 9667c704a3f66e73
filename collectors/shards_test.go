package collectors_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// inShardZero runs the test in synthetic time with the targets of shard 0 for facts about the network and chains: 30
// nodes of shard 0, named own-0 and so on, and the nodes other-0 and so on of other shards. The name of a node's host in
// the network is in owns and others.
func inShardZero(t *testing.T, owns, others []string, test func(t *testing.T, w world)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w world) {
		transport := &posing{to: w, hosts: map[string]string{}}
		var nodes []*collectors.Node
		add := func(name, host string, otherShard bool) {
			transport.hosts[name+".sim"] = host + ".sim"
			n := collectors.NewNode(node.New(open(t, transport, name)))
			n.OtherShard = otherShard
			nodes = append(nodes, n)
		}
		for i := range 30 {
			add(fmt.Sprintf("own-%d", i), owns[i%len(owns)], false)
		}
		for i, host := range others {
			add(fmt.Sprintf("other-%d", i), host, true)
		}
		w.ups.SetNodes(nodes)
		test(t, w)
	})
}

// A shard with a thousand nodes must not call each node of nine other shards for every fact about the network.
func TestNodesOfOtherShardsAreOnlyIdentified(t *testing.T) {
	inShardZero(t, []string{"alpha", "foxtrot"}, []string{"bravo", "bravo"}, func(t *testing.T, w world) {
		for _, spec := range collectors.All() {
			if spec.Cost != nil || spec.Off || spec.Name == "reward_budget" { // the votes on a validator are known to its own node
				continue
			}
			for _, j := range spec.Bind(w.ups) {
				if j.Target.Node == "" {
					_ = j.Collect(t.Context(), metric.NewBatch(spec.Families)) // some collectors fail, because the services are not configured
				}
			}
		}
		called := map[string]bool{}
		for _, c := range w.network.Calls() {
			if c.Upstream == "bravo" {
				called[c.Method] = true
			}
		}
		if got := slices.Sorted(maps.Keys(called)); !slices.Equal(got, []string{"info.getNetworkID", "info.getNodeID"}) {
			t.Errorf("called %v", got)
		}
	})
}

// If only nodes of another shard run an L1, they are called for it.
func TestChainOfAnotherShardHasSamples(t *testing.T) {
	inShardZero(t, []string{"alpha"}, []string{"bravo", "charlie"}, func(t *testing.T, w world) {
		w.network.Node("alpha").SetChain("examplel1", simnet.Untracked)
		wantSeries(t, w.page(t, "blocks"), `avax_chain_head_gas_limit{chain="examplel1"}`, "2e+07")
		if got := valueOf(t, w.page(t, "safe_to_stop"), leaves("other-1", "examplel1")); got <= 0 || got >= 1 {
			t.Errorf("without charlie, the share of the L1 is %v", got)
		}
	})
}

// Shard 0 alone decides whether a node can stop. So it must notice when a node of another shard stops.
func TestStoppedNodeOfAnotherShardCountsAsNotConnected(t *testing.T) {
	inShardZero(t, []string{"foxtrot"}, []string{"alpha", "echo"}, func(t *testing.T, w world) {
		before := valueOf(t, w.page(t, "safe_to_stop"), leaves("other-1", "P"))
		(*w.otherwise) = func(host, _ string, _ []any) string { // alpha hangs up; its peers have not noticed
			if host == "alpha" {
				return "no"
			}
			return ""
		}
		_ = w.page(t, "safe_to_stop") // the run that notices
		page := w.page(t, "safe_to_stop")
		wantNoSeries(t, page, `node="other-0"`)
		if after := valueOf(t, page, leaves("other-1", "P")); !near(before-after, 2_035_000/10_040_600.0) {
			t.Errorf("without echo, the share of the primary network was %v, is %v", before, after)
		}
	})
}

// The shard of a node reports its forks, its wrong network and its changes. Shard 0 reports a node ID that two shards have.
func TestShardZeroReportsDuplicatesOfAllShards(t *testing.T) {
	inShardZero(t, []string{"alpha"}, []string{"alpha", "bravo"}, func(t *testing.T, w world) {
		page := w.page(t, "fleet")
		wantSeries(t, page, `avax_node_duplicate{node="other-0"}`, "1")
		wantSeries(t, page, `avax_node_duplicate{node="other-1"}`, "0")
		for _, family := range []string{"avax_node_identity_changes_total", "avax_node_network_mismatch"} {
			wantSeries(t, page, family+`{node="own-0"}`, "0")
			wantNoSeries(t, page, family+`{node="other`)
		}
		if forks := w.page(t, "forks"); !strings.Contains(forks, `node="own-0"`) || strings.Contains(forks, `node="other`) {
			t.Errorf("forks:\n%s", forks)
		}
	})
}
