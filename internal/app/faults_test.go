package app_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// aboutSilence are the families that say whether and since when a node does not answer.
var aboutSilence = []string{
	"avax_node_up", "avax_node_rejecting", "avax_node_answered_timestamp_seconds", "avax_node_silent_timestamp_seconds", "avax_node_longest_restart_seconds",
}

// about returns the series with the label node=name, without those that say that the node does not answer.
func about(page map[string]float64, name string) []string {
	var found []string
	for series := range page {
		if family, _, _ := strings.Cut(series, "{"); strings.Contains(series, `node="`+name+`"`) && !slices.Contains(aboutSilence, family) {
			found = append(found, series)
		}
	}
	slices.Sort(found)
	return found
}

// The slow collectors run once a minute; longest is three such periods and a run.
const (
	everyMinute = "network=@every 1m;network_views=@every 1m;supply=@every 1m;upgrades=@every 1m;variants=@every 1m;" +
		"chain_status=@every 1m;chain_info=@every 1m;chain_config=@every 1m;chain_rules=@every 1m;tps=@every 1m;transaction_pool=@every 1m"
	longest = 4 * time.Minute
)

// Identical calls of several collectors at one tick are sent once.
func TestIdenticalCallsWithinAPeriodAreSentOnce(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		time.Sleep(2 * time.Minute)
		w.Network.ResetCalls()
		time.Sleep(10 * time.Minute)
		calls := map[string]int{}
		for _, c := range w.Network.Calls() {
			calls[c.Upstream+" "+c.Method+" "+string(c.Params)]++
		}
		atMost := func(question string, n int) {
			t.Helper()
			for key, count := range calls {
				if strings.HasPrefix(key, question) && count > n {
					t.Errorf("%s: %d calls in ten minutes, want at most %d", key, count, n)
				}
			}
		}
		atMost("alpha info.peers", 20)                                                                        // 30 s
		atMost("alpha info.getNodeID", 11)                                                                    // 1 m, and a tick at each end
		atMost(`alpha platform.getCurrentValidators {"subnetID":"11111111111111111111111111111111LpoYY"}`, 4) // 5 m, by two collectors with their own periods
		atMost("alpha platform.getBlockchains", 4)
		atMost(`alpha eth_getBlockByNumber ["latest",false]`, 82) // 15 s, for two chains, by three collectors
		if len(calls) < 20 {
			t.Errorf("calls: %v", slices.Sorted(maps.Keys(calls)))
		}
	})
}

func TestOnlyFormerValidatorsCountAsMissing(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		bravo := `avax_validator_present{node_id="` + w.Network.NodeID("bravo") + `"}`
		if got := w.Samples(t)[bravo]; got != 1 {
			t.Fatalf("%s: %v", bravo, got)
		}
		w.Network.RemoveValidator("P", "bravo")
		time.Sleep(2 * time.Minute)
		page := w.Samples(t)
		if got, exported := page[bravo]; !exported || got != 0 {
			t.Errorf("%s: %v, exported %v, want 0", bravo, got, exported)
		}
	})
}

// While a validator is being added, the whole call fails. The last samples stay, and no value becomes zero.
func TestFailingValidatorsCallKeepsTheLastSamples(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		const weight = `avax_l1_connected_weight{node="alpha",chain="examplel1"}`
		before := w.Samples(t)[weight]
		w.Network.AddL1Validator("examplel1", "hotel", 30, 1e9)
		time.Sleep(45 * time.Second)
		if got, exported := w.Samples(t)[weight]; !exported || got < before {
			t.Errorf("%s: %v, exported %v, want at least %v", weight, got, exported, before)
		}
		time.Sleep(2 * time.Minute)
		if got := w.Samples(t)[weight]; got <= before {
			t.Errorf("%s: %v after the addition, before %v", weight, got, before)
		}
	})
}

func TestAutoDiscoversTrackedChains(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Node("alpha").Stop() // discovered later, after its start
		w.Env["NODES"], w.Env["CHAINS"] = apptest.URLs("alpha"), "C,auto"
		w.StartNow(t)
		time.Sleep(time.Minute)
		followed := func() (chains []string) {
			for series := range w.Samples(t) {
				if chain, ok := strings.CutPrefix(series, `avax_exporter_collector_success{collector="heads",target="alpha/`); ok {
					chains = append(chains, strings.TrimSuffix(chain, `"}`))
				}
			}
			slices.Sort(chains)
			return chains
		}
		monitored := func() int { return len(w.Samples(t).Of("avax_exporter_chain_monitored")) }
		if got := followed(); !slices.Equal(got, []string{"C", "P", "X"}) {
			t.Errorf("chains while the node is down: %v", got)
		}
		w.Node("alpha").Start()
		time.Sleep(6 * time.Minute) // discovery runs every five minutes, and the first may come before the node starts its chains
		if got := followed(); !slices.Equal(got, []string{"C", "P", "X", "examplel1", "examplepoa"}) {
			t.Errorf("chains: %v", got)
		}
		if n := monitored(); n != 0 {
			t.Errorf("%d chains in the list, which may lack some", n)
		}
		time.Sleep(4 * time.Minute)
		if n := monitored(); n != 5 {
			t.Errorf("%d chains in the list", n)
		}
		if w.Samples(t)[`avax_node_chain_bootstrapped{node="alpha",chain="examplel1"}`] != 1 {
			t.Error("no samples of examplel1")
		}
	})
}

// If the first node in the order hangs, other nodes must be called within the same run.
func TestHungNodeDelaysNoOtherAnswer(t *testing.T) {
	t.Parallel()
	// With 2.5 s for a run, one call may use all of it.
	const everyFiveSeconds = "validators=@every 5s;validator_views=@every 5s;l1=@every 5s;fee_config=@every 5s;connected_stake=@every 5s"
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["SCHEDULES"] = everyFiveSeconds
		w.Start(t)
		w.Network.Node("alpha").Inject(simnet.Hung())
		for range 2 * 24 { // a result is valid for at least half a period
			time.Sleep(5 * time.Second / 2)
			for series, value := range w.Samples(t).Of("avax_exporter_collector_success") {
				if !strings.Contains(series, `target="alpha`) && value != 1 {
					t.Fatalf("%s: %v", series, value)
				}
			}
		}
	})
}
