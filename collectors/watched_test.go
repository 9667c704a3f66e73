package collectors_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// requestedIDs returns the node IDs in the parameters of the latest call of platform.getCurrentValidators.
func (w world) requestedIDs(t *testing.T) []string {
	t.Helper()
	for _, c := range slices.Backward(w.network.Calls()) {
		if c.Method != "platform.getCurrentValidators" {
			continue
		}
		var params struct{ NodeIDs []string }
		must.Do(t, json.Unmarshal(c.Params, &params))
		return params.NodeIDs
	}
	t.Fatal("no call")
	return nil
}

// If a request has a single node ID, a node also returns all delegators.
func TestSingleValidatorRequestOmitsDelegators(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		wantSeries(t, w.page(t, "validators"), `avax_validator_present{node_id="`+w.network.NodeID("alpha")+`"}`, "1")
		if ids := w.requestedIDs(t); len(ids) != 2 {
			t.Errorf("requested %v", ids)
		}
	})
}

func TestOnlyListedValidatorsAreMonitored(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const stranger = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
		w.ups.Watch.Validators = collector.Validators{IDs: []string{w.network.NodeID("charlie"), stranger}}
		page := w.page(t, "validators")
		wantSeries(t, page, `avax_validator_present{node_id="`+w.network.NodeID("charlie")+`"}`, "1")
		wantSeries(t, page, `avax_validator_present{node_id="`+stranger+`"}`, "0")
		if strings.Contains(page, w.network.NodeID("alpha")) {
			t.Error("configured node exported although AVAX_VALIDATORS does not list it")
		}
		views := w.page(t, "validator_views")
		wantSeries(t, views, `avax_validator_connected{node="alpha",node_id="`+w.network.NodeID("charlie")+`"}`, "1")
		if strings.Contains(views, w.network.NodeID("hotel")) {
			t.Error("unlisted validator exported")
		}
	})
}

func TestAllValidatorsUseThePeriodOfFullSets(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Validators = collector.Validators{All: true}
		if n := strings.Count(w.page(t, "validators"), "\navax_validator_present{"); n != 7 {
			t.Errorf("%d validators, want 7", n)
		}
		for _, name := range []string{"validators", "validator_views"} {
			if got := specOf(t, name).Period(w.ups.Watch.Validators); got != 5*time.Minute {
				t.Errorf("%s every %v", name, got)
			}
			if got := specOf(t, name).Period(collector.Validators{}); got != time.Minute {
				t.Errorf("%s every %v if only the configured nodes are monitored", name, got)
			}
		}
	})
}

// A configured name may get the address of another node. The previous node's validator is still in the set and is not
// reported as missing. When the name is removed, its validators are forgotten.
func TestValidatorOfAReplacedNodeIsNotMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		alpha := w.network.NodeID("alpha")
		spec := specOf(t, "validators")
		for _, j := range spec.Bind(w.ups) {
			wantSeries(t, samplesOf(t, spec, j), `avax_validator_present{node_id="`+alpha+`"}`, "1")
			moved := must.Get(scrape.New(scrape.Options{Name: "alpha", URL: "http://charlie.sim", Transport: w}))(t)
			now := nodes.New(node.New(moved))
			now.Remember(w.ups.Nodes()[0].Past())
			w.ups.SetNodes([]*nodes.Node{now})
			page := samplesOf(t, spec, j)
			wantSeries(t, page, `avax_validator_present{node_id="`+alpha+`"}`, "1")
			wantSeries(t, page, `avax_validator_present{node_id="`+w.network.NodeID("charlie")+`"}`, "1")
			w.setNodes(t, "bravo")
			page = samplesOf(t, spec, j)
			wantSeries(t, page, `avax_validator_present{node_id="`+w.network.NodeID("bravo")+`"}`, "1")
			wantNoSeries(t, page, alpha)
			wantNoSeries(t, page, w.network.NodeID("charlie"))
		}
	})
}

// A node that was a validator is expected to be one for a day after it has left the set, also by an exporter that starts meanwhile.
func TestValidatorThatLeavesIsExpectedForADay(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		present := func(value string) string {
			return `avax_validator_present{node_id="` + w.network.NodeID("alpha") + `"} ` + value
		}
		run := func(want string) {
			t.Helper()
			if page := w.page(t, "validators"); !strings.Contains(page, present(want)) {
				t.Errorf("no %s in\n%s", present(want), page)
			}
		}
		restart := func() {
			past := must.Get(json.Marshal(w.ups.Nodes()[0].Past()))(t)
			w.setNodes(t, "alpha", "bravo")
			var known nodes.Past
			must.Do(t, json.Unmarshal(past, &known))
			w.ups.Nodes()[0].Remember(known)
		}
		run("1")
		w.network.RemoveValidator("P", "alpha")
		time.Sleep(10 * time.Minute)
		restart()
		run("0")
		time.Sleep(23 * time.Hour)
		restart()
		run("0")
		time.Sleep(time.Hour)
		wantNoSeries(t, w.page(t, "validators"), w.network.NodeID("alpha"))
		w.network.AddValidator("alpha", 2_000_000e9, 100*24*time.Hour)
		run("1")
	})
}

// A node of another network does not know the monitored validators.
func TestNodesOfAnotherNetworkGetNoValidatorCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "bravo", "alpha", "charlie")
		*w.otherwise = func(node, method string, _ []any) string {
			if node == "bravo" && method == "info.getNetworkID" {
				return `{"jsonrpc":"2.0","result":{"networkID":"5"},"id":1}`
			}
			return ""
		}
		wantSeries(t, w.page(t, "fleet"), `avax_node_network_mismatch{node="bravo"}`, "1")
		w.network.ResetCalls()
		w.page(t, "network")
		if n := w.callCount("bravo", "platform.getCurrentValidators"); n != 0 {
			t.Errorf("%d calls to bravo", n)
		}
		wantNoSeries(t, w.page(t, "connected_stake"), `avax_node_connected_stake_ratio{node="bravo"}`)
	})
}

func TestDiscoveredChainNamesAreValidLabels(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.blockHealthAPI() // the P-Chain is called for each chain
		*w.otherwise = func(_, method string, _ []any) string {
			switch method {
			case "platform.getBlockchains":
				return `{"jsonrpc":"2.0","result":{"blockchains":[
					{"id":"a","name":"plain","subnetID":"s","vmID":"v"},
					{"id":"b","name":"plain","subnetID":"s","vmID":"v"},
					{"id":"c","name":"C","subnetID":"s","vmID":"v"},
					{"id":"d","name":"<b>bold</b>","subnetID":"s","vmID":"v"},
					{"id":"e","name":"known","subnetID":"s","vmID":"v"},
					{"id":"g","name":"alpha","subnetID":"s","vmID":"v"},
					{"id":"h","name":"network","subnetID":"s","vmID":"v"},
					{"id":"f","name":"C-Chain","subnetID":"11111111111111111111111111111111LpoYY","vmID":"v"}]},"id":1}`
			case "platform.getBlockchainStatus":
				return `{"jsonrpc":"2.0","result":{"status":"Syncing"},"id":1}`
			}
			return ""
		}
		known := []nodes.Chain{{Name: "mine", Ref: "e"}}
		found := must.Get(w.ups.Discover(t.Context(), known))(t)
		want := []nodes.Chain{{Name: "mine", Ref: "e"}, {Name: "plain", Ref: "a"}, {Name: "b", Ref: "b"}, {Name: "c", Ref: "c"}, {Name: "d", Ref: "d"},
			{Name: "g", Ref: "g"}, {Name: "h", Ref: "h"}}
		if !slices.Equal(found, want) {
			t.Errorf("found %v, want %v", found, want)
		}
	})
}

// blockHealthAPI makes a proxy block the nodes' health API.
func (w world) blockHealthAPI() {
	for _, n := range w.ups.Nodes() {
		w.network.Node(n.Name()).Inject(simnet.WrongHost(), "GET /ext/health")
	}
}

// A chain that a node tracks is discovered in any state: running, bootstrapping or failed. Discover makes one health
// call to each node, and requests the list of chains from three nodes.
func TestHealthChecksRevealTrackedChains(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "echo", "delta")
		alpha := w.network.Node("alpha")
		alpha.SetChain("examplel1", simnet.Failed)
		alpha.SetChain("examplepoa", simnet.Bootstrapping)
		w.network.Node("echo").SetChain("examplel1", simnet.Untracked)
		time.Sleep(time.Minute)
		w.ups.SetChains(nil)
		must.Get(w.ups.Network(t.Context()))(t)
		w.network.ResetCalls()
		found := must.Get(w.ups.Discover(t.Context(), nil))(t)
		var names []string
		for _, c := range found {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		if want := []string{"examplel1", "examplepoa"}; !slices.Equal(names, want) {
			t.Errorf("found %v, want %v", names, want)
		}
		calls := map[string]int{}
		for _, c := range w.network.Calls() {
			calls[c.Method]++
		}
		if len(w.network.Calls()) != 6 || calls["platform.getBlockchains"] != 3 {
			t.Errorf("calls %v", calls)
		}
		w.ups.SetChains(found)
		wantSeries(t, w.page(t, "health"), `avax_node_chain_start_failed{node="alpha",chain="examplel1"}`, "1")
		wantSeries(t, w.page(t, "bootstrap"), `avax_node_chain_present{node="alpha",chain="examplel1"}`, "0")
		tables := w.tables(t, "health", "alpha")
		if len(tables) == 0 || !strings.Contains(fmt.Sprint(tables[0].Rows), "warp cannot be activated before Durango") {
			t.Errorf("the node's error text is missing: %v", tables)
		}
	})
}

// A node names a chain by its first alias, or by its blockchain ID. The configuration may have the ID or another alias.
func TestAChainHasOneNameWhateverNodesCallIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetAlias("examplel1", "myl1")
		w.network.SetAlias("examplel1", "second")
		time.Sleep(time.Minute)
		auto := must.Get(w.ups.Discover(t.Context(), []nodes.Chain{{Name: "C", Ref: "C"}}))(t)
		for _, chains := range [][]nodes.Chain{
			auto,
			{{Name: "examplel1", Ref: "second"}, {Name: "C", Ref: w.network.Chain("C").ID}},
		} {
			w.ups.SetChains(chains)
			w.network.Node("alpha").Bench("golf", "myl1", "C")
			_, j := w.job(t, "health", "alpha")
			var page string
			for range 3 {
				page = samplesOf(t, specOf(t, "health"), j)
				time.Sleep(time.Minute)
			}
			benched := must.Get(w.run(t, "peers", "alpha"))(t)
			loggers := must.Get(w.run(t, "admin", "alpha"))(t)
			wantSeries(t, page, `avax_node_chain_start_failed{node="alpha",chain="examplel1"}`, "0")
			for _, chain := range []string{"examplel1", "C"} {
				wantSeries(t, page, `avax_node_health_check_failing{node="alpha",check="`+chain+`"}`, "0")
				wantSeries(t, benched, `avax_node_peers_benched{node="alpha",chain="`+chain+`"}`, "1")
				wantSeries(t, loggers, `avax_node_log_level{node="alpha",logger="`+chain+`",output="log",level="INFO"}`, "1")
			}
			wantNoSeries(t, page+benched, "myl1")
		}
	})
}

func TestPartialSyncNodeHasNoXOrC(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot", "alpha")
		w.network.Node("foxtrot").SetPartialSync(true)
		time.Sleep(time.Minute)
		page := w.page(t, "bootstrap") + w.page(t, "health") + w.page(t, "chain_status") + w.page(t, "heads")
		wantSeries(t, page, `avax_node_partial_sync{node="foxtrot"}`, "1")
		wantSeries(t, page, `avax_node_partial_sync{node="alpha"}`, "0")
		wantSeries(t, page, `avax_node_healthy{node="foxtrot"}`, "1")
		wantSeries(t, page, `avax_node_chain_bootstrapped{node="foxtrot",chain="P"}`, "1")
		wantSeries(t, page, `avax_node_chain_bootstrapped{node="foxtrot",chain="examplel1"}`, "1")
		wantSeries(t, page, `avax_node_chain_bootstrapped{node="alpha",chain="C"}`, "1")
		for _, c := range []string{"X", "C"} {
			wantNoSeries(t, page, `avax_node_chain_bootstrapped{node="foxtrot",chain="`+c+`"}`)
			wantNoSeries(t, page, `avax_node_chain_present{node="foxtrot",chain="`+c+`"}`)
			wantNoSeries(t, page, `avax_chain_height{node="foxtrot",chain="`+c+`"}`)
			wantSeries(t, page, `avax_chain_status{node="foxtrot",chain="`+c+`",status="Created"}`, "1")
		}
	})
}

// A method that no node offers takes only what is made of its answer.
func TestMethodThatGoesTakesOnlyItsSeries(t *testing.T) {
	families := map[string]string{"platform.getFeeState": "avax_platform_gas_price_avax ", "platform.getValidatorFeeState": "avax_platform_validator_fee_avax_per_day ",
		"platform.getBlockchains": "avax_network_blockchains "}
	for method, gone := range families {
		inWorld(t, func(t *testing.T, w world) {
			w.refuseOnNodes(method)
			samples, err := w.run(t, "supply", "network")
			if err != nil && !errors.Is(err, metric.ErrNotOffered) {
				t.Errorf("%s: %v", method, err)
			}
			for _, family := range families {
				if strings.Contains(samples, "\n"+family) != (family != gone) {
					t.Errorf("without %s: %sin\n%s", method, family, samples)
				}
			}
		})
	}
}

// A node that invents names is not asked for each of them.
func TestInventedNamesOfChainsCostNoCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		names := map[string]bool{}
		for i := range 1000 {
			names[fmt.Sprint("invented", i)] = true
		}
		w.network.ResetCalls()
		refs := must.Get(w.ups.RefsOf(t.Context(), w.ups.Nodes()[0], maps.Keys(names)))(t)
		if calls := len(w.network.Calls()); calls != 0 || len(refs) != len(names) || refs["invented7"] != "invented7" {
			t.Errorf("%d calls, %d names", calls, len(refs))
		}
	})
}
