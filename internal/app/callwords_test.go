package app_test

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// An error of call is about what the user asked: a chain that AVAX_CHAINS=auto finds is known, and a node without a chain has another error
// than an unknown chain.
func TestCallKnowsChainsAndNodes(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		n := simnet.New(simnet.Options{Seed: 1})
		n.Node("foxtrot").SetPartialSync(true)
		n.Node("delta").SetChain("examplel1", simnet.Untracked)
		w.Use(n, "alpha", "delta", "foxtrot")
		for _, test := range []struct{ chains, method, node, chain, want string }{
			{"C,auto", "eth_chainId", "alpha", "examplel1", ""},
			{"C,auto", "eth_chainId", "alpha", "exampleL1", `unknown chain "exampleL1": write a name of AVAX_CHAINS (C, examplepoa, examplel1)`},
			{"C,auto", "avm.getHeight", "foxtrot", "X", "the node does not run chain X: with partial-sync-primary-network"},
			{"C,auto", "eth_chainId", "delta", "examplel1", "the node does not run chain examplel1: start it with --track-subnets"},
		} {
			w.Env["CHAINS"] = test.chains
			c := must.Get(w.Env.Parse())(t)
			c.Transport = w.Transport
			for _, m := range app.Methods() {
				if m.Name != test.method {
					continue
				}
				for _, err := range app.Call(t.Context(), c, app.Request{Method: m, Node: test.node, Chain: test.chain}) {
					if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s of %s on %s: %v, want %s", test.method, test.chain, test.node, err, test.want)
					}
				}
			}
		}
	})
}
