package collectors_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// foreign makes these nodes and observers belong to network 5.
func (w world) foreign(names ...string) {
	*w.otherwise = func(node, method string, _ []any) string {
		if method == "info.getNetworkID" && slices.Contains(names, node) {
			return `{"jsonrpc":"2.0","id":1,"result":{"networkID":"5"}}`
		}
		return ""
	}
}

// No fact about the network comes from a node or observer of another one. That holds for the first run of each collector, and whichever
// other collectors run.
func TestForeignNodesAnswerNoQuestionAboutTheNetwork(t *testing.T) {
	aboutThemselves := []string{"info.getNetworkID", "info.getNodeID", "eth_chainId"}
	for _, c := range []struct {
		name     string
		expected uint64
		foreign  []string
	}{
		{"AVAX_NETWORK is set", 1337, []string{"charlie", "observer"}},
		{"AVAX_NETWORK is set, most nodes are foreign", 1337, []string{"charlie", "alpha"}},
		{"AVAX_NETWORK is not set", 0, []string{"charlie", "observer"}},
	} {
		for _, spec := range collectors.All() {
			if spec.Cost != nil || spec.Name == "tps" {
				continue
			}
			t.Run(c.name+"/"+spec.Name, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w world) {
					w.foreign(c.foreign...)
					w.observe(t, "charlie", "alpha", "foxtrot") // the foreign one is first
					w.ups.NetworkID = c.expected
					w.network.ResetCalls()
					for _, j := range spec.Bind(w.ups) {
						if j.Target.Node == "" || j.Target.Node == "observer" {
							_ = j.Collect(scrape.MaxAge(t.Context(), 30*time.Second), metric.NewBatch(spec.Families))
						}
					}
					for _, call := range w.network.Calls() {
						if slices.Contains(c.foreign, call.Upstream) && !slices.Contains(aboutThemselves, call.Method) {
							t.Errorf("%s asks %s for %s", spec.Name, call.Upstream, call.Method)
						}
					}
				})
			})
		}
	}
}

// The samples of a node of another network would be wrong, not only late: the run says so.
func TestSupplyIsUnknownIfEveryNodeIsForeign(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.foreign("alpha", "foxtrot")
		w.ups.NetworkID = 1337
		samples, err := w.run(t, "supply", "network")
		if err == nil || !strings.Contains(err.Error(), "no node or observer belongs to the expected network") || samples != "" {
			t.Errorf("samples %q, error %v", samples, err)
		}
	})
}

// Another machine may get the address of a node.
func TestNodeThatBecomesForeignIsNotUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.NetworkID = 1337
		must.Get(w.run(t, "supply", "network"))(t)
		w.foreign("alpha", "foxtrot")
		time.Sleep(2 * time.Minute)
		if samples, err := w.run(t, "supply", "network"); err == nil || samples != "" {
			t.Errorf("samples %q, error %v", samples, err)
		}
	})
}

// A proxy may block info.getNetworkID.
func TestNodeThatHidesItsNetworkIsUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.refuseOnNodes("info.getNetworkID")
		if _, err := w.run(t, "supply", "network"); err != nil {
			t.Error(err)
		}
	})
}

// A node that does not answer does not delay the questions that others answer.
func TestUnknownNetworkOfASilentNodeDelaysOneRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("charlie").Inject(simnet.Hung())
		w.setNodes(t, "charlie", "alpha")
		for run, longest := range []time.Duration{time.Minute, time.Second} {
			began := time.Now()
			if _, err := w.run(t, "supply", "network"); err != nil || time.Since(began) > longest {
				t.Errorf("run %d: %v after %s", run+1, err, time.Since(began))
			}
		}
	})
}
