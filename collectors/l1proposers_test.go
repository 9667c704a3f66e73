package collectors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// proposers returns a function that runs l1_proposers of a chain and returns its samples.
func (w world) proposers(t *testing.T, chain string) func() string {
	spec, job := w.job(t, "l1_proposers", chain)
	return func() string {
		t.Helper()
		return samplesOf(t, spec, job)
	}
}

// All validators of a subnet are replaced without a block in between, and stop running its chain. No block is ever built again,
// until one of them runs the chain and gets a transaction.
func TestReplacedValidatorsWithoutABlockFreezeTheChain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot", "echo")
		w.network.SetBlockPeriod("examplepoa", 0)
		run := w.proposers(t, "examplepoa")
		left := func(want string) {
			t.Helper()
			wantSeries(t, run(), `avax_l1_proposers_left{chain="examplepoa"}`, want)
		}
		time.Sleep(2 * time.Minute)
		left("3")
		if !w.network.SendTransaction("examplepoa", "alpha") {
			t.Fatal("a validator built no block")
		}
		time.Sleep(2 * time.Minute)
		left("3")
		w.network.AddL1Validator("examplepoa", "foxtrot", 20, 1e9)
		w.network.AddL1Validator("examplepoa", "echo", 20, 1e9)
		for i, old := range []string{"alpha", "bravo", "charlie"} {
			w.network.RemoveValidator("examplepoa", old)
			time.Sleep(2 * time.Minute)
			left([]string{"3", "2", "1"}[i])
			w.network.Node(old).SetChain("examplepoa", simnet.Untracked)
			time.Sleep(2 * time.Minute)
			left([]string{"2", "1", "0"}[i])
		}
		page := run()
		wantSeries(t, page, `avax_l1_proposers{chain="examplepoa"}`, "3")
		wantSeries(t, page, `avax_l1_proposers_left_ratio{chain="examplepoa"}`, "0")
		wantSeries(t, page, `avax_l1_proposer_can_build{chain="examplepoa",node_id="`+w.network.NodeID("alpha")+`"}`, "0")
		if w.network.SendTransaction("examplepoa", "foxtrot") {
			t.Error("a validator that is not in the recorded view built a block")
		}

		w.network.Node("alpha").SetChain("examplepoa", simnet.Running) // validates no longer, but is in the view
		time.Sleep(2 * time.Minute)
		left("1")
		if !w.network.SendTransaction("examplepoa", "alpha") {
			t.Error("a node of the recorded view built no block")
		}
		time.Sleep(2 * time.Minute)
		page = run()
		wantSeries(t, page, `avax_l1_proposers{chain="examplepoa"}`, "2")
		wantSeries(t, page, `avax_l1_proposers_left{chain="examplepoa"}`, "2")
		if !w.network.SendTransaction("examplepoa", "foxtrot") {
			t.Error("the new validators build no block")
		}
	})
}

// A proxy that answers 404 in place of a node does not say that the node does not run the chain.
func TestNotFoundOfAProxyLeavesTheProposers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		run := w.proposers(t, "examplel1")
		canBuild := `avax_l1_proposer_can_build{chain="examplel1",node_id="` + w.network.NodeID("bravo") + `"}`
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), canBuild, "1")
		*w.otherwise = func(node, method string, _ []any) string {
			if node == "bravo" && strings.HasPrefix(method, "eth_") {
				return "404 page not found\n"
			}
			return ""
		}
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), canBuild, "1")
		*w.otherwise = nil
		w.network.Node("bravo").SetChain("examplel1", simnet.Untracked)
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), canBuild, "0")
	})
}

// On a slow chain each node prefers another block, and reports the epoch of that one. Nobody is wrong, and who can build is known.
func TestNodesThatPreferOtherBlocksAgreeOnProposers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie", "foxtrot")
		w.network.SetBlockPeriod("examplel1", 0)
		w.network.SendTransaction("examplel1", "alpha")
		run := w.proposers(t, "examplel1")
		for minute := range 20 {
			time.Sleep(time.Minute)
			for i, n := range []string{"alpha", "bravo"} {
				w.network.Node(n).Prefer("examplel1", (minute/3+i)%3 > 0)
			}
			wantSeries(t, run(), `avax_l1_proposers_left{chain="examplel1"}`, "5")
			for n, facts := range w.ups.Contradicted() {
				t.Errorf("minute %d: %s is contradicted about %v", minute, n, facts)
			}
		}
	})
}

// A node that stops and an idle chain are normal. Only who can build counts.
func TestIdleChainKeepsItsProposers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetBlockPeriod("examplel1", 0)
		run := w.proposers(t, "examplel1")
		for range 24 {
			time.Sleep(time.Hour)
			page := run()
			wantSeries(t, page, `avax_l1_proposers{chain="examplel1"}`, "5")
			wantSeries(t, page, `avax_l1_proposers_left{chain="examplel1"}`, "5")
		}
		w.network.Node("bravo").Stop()
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), `avax_l1_proposers_left{chain="examplel1"}`, "4")
		if n := w.callCount("alpha", "platform.getValidatorsAt") + w.callCount("foxtrot", "platform.getValidatorsAt"); n != 2 {
			t.Errorf("%d calls for a set that never changes, want 1 of each node", n)
		}
	})
}

// A block that came soon after its epoch began may have recorded a newer set than the epoch's. Then the set at the height
// that was proposed when the block was seen counts, also after a restart of the exporter.
func TestBlockWithinAnEpochMovesTheView(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot", "echo")
		path := t.TempDir()
		w.ups.State = stateIn(t, path)
		w.network.SetBlockPeriod("examplepoa", 0)
		run := w.proposers(t, "examplepoa")
		run()
		time.Sleep(5 * time.Minute)
		w.network.SendTransaction("examplepoa", "alpha") // the epoch begins
		w.network.AddL1Validator("examplepoa", "foxtrot", 20, 1e9)
		for _, old := range []string{"alpha", "bravo", "charlie"} {
			w.network.RemoveValidator("examplepoa", old)
		}
		time.Sleep(40 * time.Second)
		w.network.SendTransaction("examplepoa", "alpha")
		time.Sleep(time.Second)
		run()
		for _, old := range []string{"alpha", "bravo", "charlie"} {
			w.network.Node(old).SetChain("examplepoa", simnet.Untracked)
		}
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), `avax_l1_proposers_left{chain="examplepoa"}`, "1")
		w.ups.State = stateIn(t, path)
		wantSeries(t, w.proposers(t, "examplepoa")(), `avax_l1_proposers_left{chain="examplepoa"}`, "1")
	})
}

// A new exporter does not know which height an old block recorded, unless the block started its epoch. It uses the height of the epoch,
// because the present validators would hide a frozen chain.
func TestNewExporterUsesTheLowerHeight(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot", "echo")
		w.network.SetBlockPeriod("examplepoa", 0)
		time.Sleep(5 * time.Minute)
		w.network.SendTransaction("examplepoa", "alpha") // the epoch begins
		time.Sleep(40 * time.Second)
		w.network.SendTransaction("examplepoa", "alpha")
		time.Sleep(time.Minute)
		w.network.AddL1Validator("examplepoa", "foxtrot", 20, 1e9)
		for _, old := range []string{"alpha", "bravo", "charlie"} {
			w.network.RemoveValidator("examplepoa", old)
			w.network.Node(old).SetChain("examplepoa", simnet.Untracked)
		}
		time.Sleep(2 * time.Minute)
		page := w.proposers(t, "examplepoa")()
		wantSeries(t, page, `avax_l1_proposers{chain="examplepoa"}`, "3")
		wantSeries(t, page, `avax_l1_proposers_left{chain="examplepoa"}`, "0")
	})
}

// Right after the start of an epoch, the recorded height is known exactly, also without state.
func TestFrozenChainIsKnownWithoutState(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot", "echo")
		w.network.SetBlockPeriod("examplepoa", 0)
		time.Sleep(5 * time.Minute)
		w.network.SendTransaction("examplepoa", "alpha")
		time.Sleep(time.Minute)
		w.network.AddL1Validator("examplepoa", "foxtrot", 20, 1e9)
		for _, old := range []string{"alpha", "bravo", "charlie"} {
			w.network.RemoveValidator("examplepoa", old)
			w.network.Node(old).SetChain("examplepoa", simnet.Untracked)
		}
		time.Sleep(2 * time.Minute)
		wantSeries(t, w.proposers(t, "examplepoa")(), `avax_l1_proposers_left{chain="examplepoa"}`, "0")
	})
}

// A node of yours counts while it runs the chain, and while it does not answer but a peer is connected to it. The peers of a node that
// does not run the chain do not count, because such a node does not know who does.
func TestOwnNodesCountWhileTheyRunTheChain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha") // no node is its own peer
		run := w.proposers(t, "examplepoa")
		left := func(want string) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			wantSeries(t, run(), `avax_l1_proposers_left{chain="examplepoa"}`, want)
		}
		left("3")
		w.setNodes(t, "alpha", "foxtrot")
		run = w.proposers(t, "examplepoa")
		w.network.Node("alpha").Inject(simnet.Refused(-32000, "no"), "eth_getBlockByNumber")
		left("3")
		w.network.Node("alpha").Recover()
		w.network.Node("alpha").SetChain("examplepoa", simnet.Untracked)
		left("2")
		w.network.Node("bravo").Stop()
		left("1")
		w.network.Node("foxtrot").SetChain("examplepoa", simnet.Untracked)
		time.Sleep(2 * time.Minute)
		_, job := w.job(t, "l1_proposers", "examplepoa")
		if err := job.Collect(t.Context(), metric.NewBatch(nil)); err == nil {
			t.Error("no node runs the chain, and no error")
		}
	})
}

// The VM of an own node stops, or bootstraps again. Its peers still announce that it tracks the subnet.
func TestNodeWithoutTheChainCannotBuild(t *testing.T) {
	for _, state := range []simnet.ChainState{simnet.Dead, simnet.Bootstrapping} {
		inWorld(t, func(t *testing.T, w world) {
			w.setNodes(t, "alpha", "bravo", "foxtrot")
			w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
			bravo := `avax_l1_proposer_can_build{chain="examplel1",node_id="` + w.network.NodeID("bravo") + `"}`
			run := w.proposers(t, "examplel1")
			wantSeries(t, run(), bravo, "1")
			w.network.Node("bravo").SetChain("examplel1", state)
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				_, j := w.job(t, "heads", "bravo/examplel1")
				_ = j.Collect(ctx, metric.NewBatch(specOf(t, "heads").Families))
				cancel()
			}
			time.Sleep(time.Minute)
			wantSeries(t, run(), bravo, "0")
		})
	}
}
