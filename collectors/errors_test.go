package collectors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/simnet"
)

func TestUnknownMethodIsCalledOnceAnHour(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, name := range []string{"alpha", "foxtrot"} { // an older Subnet-EVM
			w.network.Node(name).Inject(simnet.Refused(-32601, "the method eth_feeConfig does not exist/is not available"), "eth_feeConfig")
		}
		for minute := range 70 {
			if page, err := w.run(t, "fee_config", "examplel1"); !errors.Is(err, metric.ErrNotOffered) || page != "" {
				t.Fatalf("after %d minutes: %q, %v", minute, page, err)
			}
			if got, want := w.callCount("alpha", "eth_feeConfig"), 1+minute/60; got != want {
				t.Fatalf("after %d minutes: %d calls, want %d", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		if got := w.callCount("foxtrot", "eth_feeConfig"); got != 2 {
			t.Errorf("the other node got %d calls, want 2", got)
		}
	})
}

// A starting node has no chains yet. Its answer is the same as for a chain that it does not run.
func TestMissingChainIsRetried(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").Start()
		time.Sleep(2 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); !errors.Is(err, metric.ErrNotOffered) || page != "" {
			t.Errorf("before the chain is created: %q, %v", page, err)
		}
		time.Sleep(4 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); scrape.OutcomeOf(err) != scrape.Bootstrapping || page != "" {
			t.Errorf("while the chain bootstraps: %q, %v", page, err)
		}
		time.Sleep(10 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); err != nil || !strings.Contains(page, `avax_chain_height{node="alpha",chain="C"}`) {
			t.Errorf("after the chain bootstrapped: %q, %v", page, err)
		}
	})
}

func TestNextNodeAnswersForAnUntrackedChain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "foxtrot") // delta tracks no subnet
		if page, err := w.run(t, "fee_config", "examplel1"); err != nil || page == "" {
			t.Errorf("one node runs the chain: %q, %v", page, err)
		}
		w.network.Node("foxtrot").Stop()
		if _, err := w.run(t, "fee_config", "examplel1"); scrape.OutcomeOf(err) != scrape.Unreachable || errors.Is(err, metric.ErrNotOffered) {
			t.Errorf("the node that runs the chain is down: %v", err)
		}
		w.setNodes(t, "delta")
		if _, err := w.run(t, "fee_config", "examplel1"); !errors.Is(err, metric.ErrNotOffered) {
			t.Errorf("no node runs the chain: %v", err)
		}
	})
}

func TestUnofferedMethodLeavesOtherSamples(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").Inject(simnet.Refused(-32000, `rpc: can't find method "avm.GetTxFee"`), "avm.getTxFee")
		page, err := w.run(t, "identity", "alpha")
		if !errors.Is(err, metric.ErrNotOffered) || !strings.Contains(page, "avax_node_info{") || strings.Contains(page, "avax_node_tx_fee_avax") {
			t.Errorf("%q, %v", page, err)
		}
	})
}

func TestDisabledAPIIsNotOffered(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").SetAPI("admin", false)
		w.network.Node("alpha").Inject(simnet.WrongHost(), "GET /ext/health")
		for _, collector := range []string{"admin", "health"} {
			if page, err := w.run(t, collector, "alpha"); !errors.Is(err, metric.ErrNotOffered) || page != "" {
				t.Errorf("%s: %q, %v", collector, page, err)
			}
		}
	})
}
