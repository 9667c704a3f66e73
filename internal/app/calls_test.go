package app_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// The maximum number of calls per minute to a node that tracks one L1. Lower numbers are an improvement.
const (
	maxCalls     = 25 // while all nodes answer
	maxCallsDown = 25 // while another node is down
	maxUntracked = 27 // to a node that does not run a monitored chain
	maxFullSets  = 1  // requests for the whole validator set, for the primary network and the L1 each
)

// TestCallsPerNodeAreLimited counts the calls to a node and limits them.
func TestCallsPerNodeAreLimited(t *testing.T) {
	t.Parallel()
	const minutes = 20
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		perMinute := func() (byMethod map[string]float64, all, fullSets float64) {
			time.Sleep(10 * time.Minute)
			w.Network.ResetCalls()
			time.Sleep(minutes * time.Minute)
			counted := map[string]int{}
			total, full := 0, 0
			for _, c := range w.Network.Calls() {
				if c.Upstream != "alpha" {
					continue
				}
				counted[c.Method]++
				total++
				if c.Method == "platform.getCurrentValidators" && !strings.Contains(string(c.Params), "nodeIDs") {
					full++
				}
			}
			byMethod = map[string]float64{}
			for method, n := range counted {
				byMethod[method] = float64(n) / minutes
			}
			return byMethod, float64(total) / minutes, float64(full) / minutes
		}
		healthy, all, fullSets := perMinute()
		w.Network.Node("bravo").Stop()
		down, allDown, fullSetsDown := perMinute()
		text := "\n| method | both answer | the other is down |\n|---|---|---|\n"
		for _, method := range slices.SortedFunc(maps.Keys(healthy), func(x, y string) int {
			return cmp.Or(cmp.Compare(healthy[y], healthy[x]), cmp.Compare(x, y))
		}) {
			text += fmt.Sprintf("| `%s` | %.1f | %.1f |\n", method, healthy[method], down[method])
		}
		text += fmt.Sprintf("| all | %.1f | %.1f |\n\n", all, allDown)
		if all > maxCalls || allDown > maxCallsDown {
			t.Errorf("%.1f calls per minute, %.1f while the other node is down: want at most %d and %d", all, allDown, maxCalls, maxCallsDown)
		}
		if fullSets > maxFullSets || fullSetsDown > maxFullSets {
			t.Errorf("%.1f whole validator sets per minute, %.1f while the other node is down: want at most %v", fullSets, fullSetsDown, maxFullSets)
		}
		testworld.Measured(t, "../../docs/fleets.md", "calls", text)
	})
}

// What the collectors for users of a chain add to the calls, as docs/operating.md says.
func TestCollectorsForUsersAddFewCalls(t *testing.T) {
	t.Parallel()
	calls := func(collectors string) (n float64) {
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			w.Env["NODES"] = apptest.URLs("alpha", "bravo", "foxtrot")
			w.Env["CHAINS"] = "C,examplel1=" + w.Chain("examplel1").ID + ",examplepoa=" + w.Chain("examplepoa").ID
			w.Env["COLLECTORS"] = collectors
			w.Start(t)
			for _, lane := range icmLanes {
				w.SendICM(lane[0], lane[1], time.Minute)
			}
			time.Sleep(5 * time.Minute)
			w.Network.ResetCalls()
			time.Sleep(10 * time.Minute)
			n = float64(len(w.Network.Calls()))
		})
		return n
	}
	without := calls("")
	for collector, most := range map[string]float64{"rpc": 1.8, "icm_chains": 1.4} {
		if got := calls("+"+collector) / without; got > most || got < most-0.2 {
			t.Errorf("%s: %.2f times as many calls, want at most %g", collector, got, most)
		}
	}
}

// Each collector of the chain asks it.
func TestCallsToANodeThatDoesNotRunAChainAreLimited(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["NODES"] = apptest.URLs("alpha", "bravo", "delta") // delta does not track the L1
		w.Start(t)
		time.Sleep(10 * time.Minute)
		w.Network.ResetCalls()
		const minutes = 20
		time.Sleep(minutes * time.Minute)
		if calls := float64(w.CallsTo("delta")) / minutes; calls > maxUntracked {
			t.Errorf("%.1f calls per minute, want at most %d", calls, maxUntracked)
		}
	})
}
