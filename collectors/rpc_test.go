package collectors_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/simnet"
)

// rpcNodes are five nodes that run the C-Chain.
var rpcNodes = []string{"alpha", "bravo", "charlie", "delta", "echo"}

// failures returns the outcomes of the checks that failed, by node and check.
func failures(samples string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(samples) {
		var node, chain, check, outcome string
		line = strings.NewReplacer(`"`, " ", ",", " ").Replace(line)
		if _, err := fmt.Sscanf(line, "avax_rpc_check_failure_info{node= %s  chain= %s  check= %s  outcome= %s", &node, &chain, &check, &outcome); err == nil {
			all[node+" "+check] = outcome
		}
	}
	return all
}

// Each fault of a node is found by the check that it concerns, and no other node is blamed.
func TestRPCFindsWhatUsersWouldNotice(t *testing.T) {
	const c = "C"
	for name, fault := range map[string]struct {
		begin func(w world, n *simnet.Node)
		want  map[string]string
	}{
		"healthy":          {func(world, *simnet.Node) {}, map[string]string{}},
		"slow for logs":    {func(_ world, n *simnet.Node) { n.Inject(simnet.Slow(time.Second), "eth_getLogs") }, map[string]string{}},
		"hangs for logs":   {func(_ world, n *simnet.Node) { n.Inject(simnet.Hung(), "eth_getLogs") }, map[string]string{"bravo logs": "timeout"}},
		"old state":        {func(_ world, n *simnet.Node) { n.Lose(c, simnet.NewState) }, map[string]string{"bravo balance": "wrong"}},
		"no logs":          {func(_ world, n *simnet.Node) { n.Lose(c, simnet.Logs) }, map[string]string{"bravo logs": "wrong"}},
		"no receipts":      {func(_ world, n *simnet.Node) { n.Lose(c, simnet.Receipts) }, map[string]string{"bravo receipts": "wrong"}},
		"method not known": {func(_ world, n *simnet.Node) { n.Inject(simnet.Refused(-32601, "x"), "eth_getBlockReceipts") }, map[string]string{"bravo receipts": "not_offered"}},
		"another shape":    {func(_ world, n *simnet.Node) { n.Inject(simnet.WrongShape(), "eth_getLogs") }, map[string]string{"bravo logs": "malformed"}},
		"no archive": {
			func(w world, _ *simnet.Node) { w.ups.Nodes()[1].SetArchive(true) }, map[string]string{"bravo history": "no_state"},
		},
		"an archive": {func(w world, n *simnet.Node) { w.ups.Nodes()[1].SetArchive(true); n.SetArchive(true) }, map[string]string{}},
		"behind": {
			func(_ world, n *simnet.Node) { n.FallBehind(c) },
			map[string]string{"bravo balance": "behind", "bravo block": "behind", "bravo receipts": "behind", "bravo logs": "behind"},
		},
		"fork": {
			func(_ world, n *simnet.Node) { n.Fork(c) },
			map[string]string{"bravo balance": "wrong", "bravo block": "wrong", "bravo receipts": "wrong", "bravo logs": "wrong"},
		},
		"down": {
			func(_ world, n *simnet.Node) { n.Stop() },
			map[string]string{"bravo balance": "unreachable", "bravo block": "unreachable", "bravo receipts": "unreachable", "bravo logs": "unreachable"},
		},
		"bootstrapping": {func(_ world, n *simnet.Node) { n.SetChain(c, simnet.Bootstrapping) }, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.network.SetBlockPeriod(c, 2*time.Second)
				w.setNodes(t, rpcNodes...)
				if _, err := w.run(t, "rpc", c); err != nil { // the network of a node is known
					t.Fatal(err)
				}
				fault.begin(w, w.network.Node("bravo"))
				time.Sleep(5 * time.Minute)
				got, err := w.run(t, "rpc", c)
				if err != nil {
					t.Fatal(err)
				}
				if found := failures(got); fmt.Sprint(found) != fmt.Sprint(fault.want) {
					t.Errorf("failures %v, want %v", found, fault.want)
				}
				time.Sleep(5 * time.Minute)
				if _, err := w.run(t, "rpc", c); err != nil {
					t.Fatal(err)
				}
				contradicted := slices.ContainsFunc(slices.Collect(maps.Values(fault.want)), func(outcome string) bool { return outcome == "wrong" }) && name != "fork"
				if found := w.ups.Contradicted(); len(found) > 0 != contradicted || contradicted && len(found["bravo"]) == 0 {
					t.Errorf("contradicted: %v", found)
				}
				success := strings.Count(got, "avax_rpc_check_success{") - strings.Count(got, `avax_rpc_check_success{node="bravo"`)
				if want := 4 * 4; success != want {
					t.Errorf("%d checks of the other nodes, want %d", success, want)
				}
			})
		})
	}
}

// Of two nodes that differ, none is blamed: it is not known which one is right. Observers are not asked.
func TestRPCOfTwoNodesBlamesNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.ups.SetNodes(append(w.ups.Nodes(), watch(t, w)))
		w.network.Node("bravo").Lose("C", simnet.Logs)
		w.network.ResetCalls()
		got, err := w.run(t, "rpc", "C")
		if err != nil || len(failures(got)) > 0 {
			t.Errorf("failures %v, error %v", failures(got), err)
		}
		for _, call := range w.network.Calls() {
			if call.Upstream == "observer" && call.Method != "info.getNetworkID" {
				t.Errorf("the observer was asked %s", call.Method)
			}
		}
	})
}

// The histogram holds all runs, and its sum is the time that the answers took.
func TestRPCDurationsAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, rpcNodes...)
		w.network.Node("alpha").Inject(simnet.Slow(300*time.Millisecond), "eth_getLogs")
		spec, job := w.job(t, "rpc", "C")
		for range 3 {
			time.Sleep(time.Minute)
			got, _, err := once(t.Context(), spec, job)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`avax_rpc_check_last_seconds{node="alpha",chain="C",check="logs"} 0.3`} {
				if !strings.Contains(got, want) {
					t.Errorf("no %s", want)
				}
			}
		}
		got, _, _ := once(t.Context(), spec, job)
		for _, want := range []string{
			`avax_rpc_check_duration_seconds_bucket{node="alpha",chain="C",check="logs",le="0.25"} 0`,
			`avax_rpc_check_duration_seconds_bucket{node="alpha",chain="C",check="logs",le="0.5"} 4`,
			`avax_rpc_check_duration_seconds_bucket{node="alpha",chain="C",check="logs",le="+Inf"} 4`,
			`avax_rpc_check_duration_seconds_sum{node="alpha",chain="C",check="logs"} 1.2`,
			`avax_rpc_check_duration_seconds_count{node="alpha",chain="C",check="logs"} 4`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
	})
}
