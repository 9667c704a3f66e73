package collectors_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// observe replaces the configured nodes by these nodes and the observer.
func (w world) observe(t *testing.T, nodes ...string) {
	t.Helper()
	w.setNodes(t, nodes...)
	w.ups.SetNodes(append(slices.Clone(w.ups.Nodes()), watch(t, w)))
}

// runAll runs every job of every collector that calls only nodes. It returns the errors.
func (w world) runAll(t *testing.T) (failed map[string]error) {
	t.Helper()
	failed = map[string]error{}
	ctx := scrape.MaxAge(t.Context(), 30*time.Second)
	for _, spec := range collectors.All() {
		if spec.Cost != nil || spec.Name == "tps" {
			continue
		}
		for _, j := range spec.Bind(w.ups) {
			if err := j.Collect(ctx, metric.NewBatch(spec.Families)); err != nil && !errors.Is(err, metric.ErrNotOffered) {
				failed[spec.Name+" "+j.Target.String()] = err
			}
		}
	}
	return failed
}

func TestObserversGetOnlyNetworkCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha")
		if failed := w.runAll(t); len(failed) > 0 {
			t.Error(failed)
		}
		methods := map[string]bool{}
		for _, c := range w.network.Calls() {
			if c.Upstream == "observer" {
				methods[c.Method] = true
			}
		}
		want := []string{
			"avm.getHeight", "eth_getBlockByNumber", "info.getNetworkID", "info.upgrades",
			"platform.getCurrentValidators", "platform.getHeight", "platform.getTimestamp", "validators.getCurrentValidators",
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(methods))); diff != "" {
			t.Errorf("methods called on the observer while its nodes answer: %s", diff)
		}
	})
}

// An observer is several machines: one knows a block that the next one does not have yet. Then the height has no time, and no run fails.
func TestObserverMayLackTheBlockThatItNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetBlockPeriod("X", 20*time.Second)
		w.observe(t, "alpha")
		heights, times := 0, 0
		for range 300 {
			time.Sleep(7 * time.Second)
			samples := must.Get(w.run(t, "heads", "observer/X"))(t)
			heights += strings.Count(samples, "avax_chain_height{")
			times += strings.Count(samples, "avax_chain_head_timestamp_seconds{")
		}
		if heights != 300 || times == 300 || times < 200 {
			t.Errorf("%d heights and %d times in 300 runs", heights, times)
		}
	})
}

func TestMethodThatIsNotOfferedIsCalledOnceAnHour(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Observer().RemoveMethods("avm.getHeight")
		w.observe(t, "alpha")
		for range 120 {
			w.runAll(t)
			time.Sleep(time.Minute)
		}
		// The calls are after 0, 1, 3, 7, 15, 31 and 63 minutes.
		for _, method := range []string{"avm.getHeight", "validators.getCurrentValidators"} {
			if n, limit := w.callCount("observer", method), 7*len(w.ups.Chains()); n > limit {
				t.Errorf("%s: %d calls within two hours", method, n)
			}
		}
		page := w.page(t, "observer")
		wantSeries(t, page, `avax_observer_method_offered{node="observer",method="avm.getHeight"}`, "0")
		wantSeries(t, page, `avax_observer_method_offered{node="observer",method="platform.getHeight"}`, "1")
		time.Sleep(time.Hour)
		before := w.callCount("observer", "avm.getHeight")
		w.runAll(t)
		if w.callCount("observer", "avm.getHeight") != before+1 {
			t.Error("method not retried after an hour")
		}
	})
}

func TestSingleRejectionPausesAMethodBriefly(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha")
		w.network.Observer().Inject(simnet.WrongHost(), "platform.getHeight")
		w.runAll(t)
		w.network.Observer().Recover()
		time.Sleep(2 * time.Minute)
		valueOf(t, w.page(t, "heads"), `avax_chain_height{node="observer",chain="P"}`)
		wantSeries(t, w.page(t, "observer"), `avax_observer_method_offered{node="observer",method="platform.getHeight"}`, "1")
	})
}

func TestObserverOfAnotherNetworkExportsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		*w.otherwise = func(node, method string, _ []any) string {
			if node == "observer" && method == "info.getNetworkID" {
				return `{"jsonrpc":"2.0","id":1,"result":{"networkID":"5"}}`
			}
			return ""
		}
		w.observe(t, "alpha")
		wantSeries(t, w.page(t, "observer"), `avax_observer_network_mismatch{node="observer"}`, "1")
		for _, collector := range []string{"heads", "validator_views", "forks"} {
			wantNoSeries(t, w.page(t, collector), `node="observer"`)
		}
		w.network.Node("alpha").Stop()
		if _, err := w.run(t, "validators", "network"); err == nil {
			t.Error("validators of another network exported")
		}
	})
}

// An observer of another network that no longer says its network does not end the alert about it in silence, and does not become one of the network.
func TestObserverThatHidesItsNetworkLaterStaysOfTheOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		hides := false
		*w.otherwise = func(node, method string, _ []any) string {
			switch {
			case node != "observer" || method != "info.getNetworkID" && method != "eth_chainId":
				return ""
			case hides:
				return `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method is not available"}}`
			}
			return `{"jsonrpc":"2.0","id":1,"result":{"networkID":"5"}}`
		}
		w.observe(t, "alpha")
		wantSeries(t, w.page(t, "observer"), `avax_observer_network_mismatch{node="observer"}`, "1")
		hides = true
		time.Sleep(3 * time.Minute) // the age of a shared answer
		for range 30 {
			time.Sleep(2 * time.Minute)
			if page, err := w.run(t, "observer", "observer"); err == nil || !strings.Contains(err.Error(), "network of observer no longer known") ||
				!strings.Contains(page, `avax_observer_info{node="observer"} 1`) {
				t.Fatalf("%v\n%s", err, page)
			}
			wantNoSeries(t, w.page(t, "heads"), `node="observer"`)
		}
	})
}

// While the configured nodes are down, the observer answers requests for facts about the network.
func TestObserverAnswersWhileNodesAreDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha", "bravo")
		w.runAll(t)
		before := map[string]string{}
		for _, collector := range []string{"l1", "validators", "network", "chain_info"} {
			before[collector] = w.page(t, collector)
		}
		w.network.Node("alpha").Stop()
		w.network.Node("bravo").Stop()
		time.Sleep(time.Minute)
		for collector, page := range before {
			after := w.page(t, collector)
			if got, want := strings.Count(after, "\n"), strings.Count(page, "\n"); got != want {
				t.Errorf("%s: %d samples while the nodes are down, %d before:\n%s", collector, got, want, after)
			}
		}
		alpha := w.network.NodeID("alpha")
		page := must.Get(w.run(t, "validator_views", "observer"))(t)
		wantSeries(t, page, `avax_validator_connected{node="observer",node_id="`+alpha+`"}`, "0")
	})
}

func TestForkIsDetectedWithOneNodeAndOneObserver(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha")
		for range 50 {
			wantSeries(t, w.page(t, "forks"), `avax_chain_fork_detected{node="alpha",chain="C"}`, "0")
			time.Sleep(time.Minute)
		}
		w.network.Node("alpha").Fork("C")
		time.Sleep(time.Minute)
		wantSeries(t, w.page(t, "forks"), `avax_chain_fork_detected{node="alpha",chain="C"}`, "1")
	})
}

func TestObserverViewCountsForSafeToStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha")
		const series = `avax_node_stop_leaves_ratio{node="alpha",chain="P"}`
		seen := valueOf(t, w.page(t, "safe_to_stop"), series)
		w.network.Disconnect("bravo")
		w.observe(t, "alpha")
		time.Sleep(time.Minute)
		if got := valueOf(t, w.page(t, "safe_to_stop"), series); got > seen-0.1 {
			t.Errorf("%g of the stake stays connected after bravo disconnects, %g before", got, seen)
		}
	})
}

// A delegator may have no node, only an observer.
func TestObserversSufficeWithoutNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		alpha := w.network.NodeID("alpha")
		w.ups.Watch.Validators.IDs = []string{alpha}
		w.observe(t)
		if failed := w.runAll(t); len(failed) > 0 {
			t.Error(failed)
		}
		wantSeries(t, w.page(t, "validators"), `avax_validator_present{node_id="`+alpha+`"}`, "1")
		budget := w.page(t, "reward_budget")
		wantSeries(t, budget, `avax_validator_views_stake_ratio{node_id="`+alpha+`"}`, "0")
		if uptime := valueOf(t, budget, `avax_validator_weighted_uptime_ratio{node_id="`+alpha+`"}`); uptime < 0.99 {
			t.Errorf("observed uptime of alpha %g", uptime)
		}
		wantNoSeries(t, budget, "avax_validator_votes_yes_ratio")
	})
}

// A public endpoint may block /ext/info. The C-Chain tells the network, which tells the time of Helicon. The P-Chain tells the fee.
func TestObserverSufficesWithoutInfo(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.replies("eth_chainId", `"0xa86a"`)
		w.network.Observer().RemoveMethods("info")
		helicon := time.Date(2026, time.September, 22, 15, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(helicon.Add(30 * 24 * time.Hour)))
		alpha, bravo := w.network.NodeID("alpha"), w.network.NodeID("bravo")
		for name, start := range map[string]time.Time{"alpha": helicon, "bravo": helicon.Add(-time.Second)} {
			w.network.AddValidator(name, 2_000e9, 90*24*time.Hour)
			w.network.SetStakeStart(name, start)
		}
		w.network.SetFeePrice(1000)
		w.ups.Watch.Validators.IDs = []string{alpha, bravo}
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		w.observe(t)
		if failed := w.runAll(t); len(failed) > 0 {
			t.Error(failed)
		}
		budget := w.page(t, "reward_budget")
		wantSeries(t, budget, `avax_validator_uptime_requirement_ratio{node_id="`+alpha+`"}`, "0.9")
		wantSeries(t, budget, `avax_validator_uptime_requirement_ratio{node_id="`+bravo+`"}`, "0.8")
		run, of := w.runway(t)
		wantSeries(t, run(), of("burn_avax_per_day", "echo"), "0.0864")
	})
}

func TestObserverIsDownAfterFiveMinutes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.observe(t, "alpha")
		wantSeries(t, w.page(t, "observer"), `avax_observer_up{node="observer"}`, "1")
		w.network.Observer().Inject(simnet.RateLimited(time.Minute))
		time.Sleep(4 * time.Minute)
		wantSeries(t, w.page(t, "observer"), `avax_observer_up{node="observer"}`, "1")
		time.Sleep(2 * time.Minute)
		wantSeries(t, w.page(t, "observer"), `avax_observer_up{node="observer"}`, "0")
		wantSeries(t, w.page(t, "observer"), `avax_observer_info{node="observer"}`, "1")
	})
}
