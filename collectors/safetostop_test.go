package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// The L1's weight is 370: alpha 100, bravo 100, foxtrot 100, charlie 50, echo 20. The stake of the primary network is
// 10,040,600: alpha 2,035,000.

func leaves(node, chain string) string {
	return fmt.Sprintf(`avax_node_stop_leaves_ratio{node="%s",chain="%s"}`, node, chain)
}

func TestWeightOfOtherMembersStaysAfterAStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "echo", "foxtrot")
		page := w.page(t, "safe_to_stop")
		if got := valueOf(t, page, leaves("alpha", "P")); !near(got, 1-2_035_000/10_040_600.0) {
			t.Errorf("without alpha, the share of the primary network is %v", got)
		}
		if got := valueOf(t, page, leaves("alpha", "examplel1")); !near(got, 270/370.0) {
			t.Errorf("without alpha, the share of the L1 is %v", got)
		}
		wantNoSeries(t, page, leaves("foxtrot", "P")) // foxtrot has no stake: its stop changes nothing there
		wantNoSeries(t, page, `node="echo",chain="examplepoa"`)
		wantSeries(t, page, `avax_node_safe_to_stop{node="alpha"}`, "0")
		wantSeries(t, page, `avax_node_safe_to_stop{node="foxtrot"}`, "0")
		wantSeries(t, page, `avax_node_safe_to_stop{node="echo"}`, "1") // 8.04 of 10.04 million AVAX and 350 of 370 weight stay
		for validator, want := range map[string]string{"alpha": "0", "bravo": "0", "foxtrot": "0", "charlie": "1", "echo": "1"} {
			wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID(validator)+`"}`, want)
		}
	})
}

// With 81 % of its weight up, the set is near its quorum: no further member may stop. A member that is already
// offline or inactive may stop.
func TestOfflineAndInactiveWeightDoesNotCount(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "echo", "alpha")
		w.network.Disconnect("charlie")
		w.network.SetBalance("examplel1", "echo", 0)
		time.Sleep(2 * time.Minute)
		page := w.page(t, "safe_to_stop") // 300 of 370 weight is active and connected
		wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID("charlie")+`"}`, "1")
		wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID("echo")+`"}`, "1")
		wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID("bravo")+`"}`, "0")
		if got := valueOf(t, page, leaves("echo", "examplel1")); !near(got, 300/370.0) {
			t.Errorf("without echo, the share is %v", got)
		}
		wantSeries(t, page, `avax_node_safe_to_stop{node="echo"}`, "0") // without echo, only 60 % of the primary network is connected
	})
}

// A node that has lost its peers has no say about others.
func TestIsolatedNodeHasNoView(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "echo", "foxtrot")
		w.network.Disconnect("foxtrot") // foxtrot is connected only to itself; the others are connected to all nodes except foxtrot
		page, notes := w.runJob(t.Context(), t, "safe_to_stop", "network")
		if got := valueOf(t, page, leaves("echo", "examplel1")); !near(got, 250/370.0) {
			t.Errorf("without echo, the share is %v, want alpha's view", got)
		}
		if got := valueOf(t, page, leaves("foxtrot", "examplel1")); !near(got, 270/370.0) {
			t.Errorf("without foxtrot, the share is %v, want the view of the others", got)
		}
		if got := valueOf(t, page, leaves("echo", "P")); got < 0.8 {
			t.Errorf("without echo, the share of P is %v, want alpha's view", got)
		}
		if text := strings.Join(notes, "\n"); !strings.Contains(text, "the view of foxtrot does not count") {
			t.Errorf("note %q", text)
		}
	})
}

// If no node is well connected, the lowest view decides: the network may be in trouble.
func TestLowestViewDecidesIfNoNodeIsWellConnected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "echo", "foxtrot")
		for _, name := range []string{"bravo", "charlie", "delta", "foxtrot"} {
			w.network.Disconnect(name)
		}
		time.Sleep(2 * time.Minute)
		page := w.page(t, "safe_to_stop")
		wantSeries(t, page, leaves("echo", "P"), "0") // foxtrot has no stake and no peers
	})
}

// A run about the network calls only the nodes that are known to answer.
func TestRunsDoNotWaitForANodeThatHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for collector, target := range map[string]string{"safe_to_stop": "network", "reward_budget": "network", "l1_proposers": "examplel1"} {
			w.setNodes(t, "alpha", "foxtrot")
			w.page(t, "identity")
			w.network.Node("foxtrot").Inject(simnet.Hung())
			run := func(collector, target string) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, j := w.job(t, collector, target)
				if err := j.Collect(ctx, metric.NewBatch(specOf(t, collector).Families)); err != nil {
					t.Errorf("%s: %v", collector, err)
				}
			}
			run("up", "foxtrot")
			began := time.Now()
			run(collector, target)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: %s", collector, took)
			}
			w.network.Node("foxtrot").Recover()
		}
	})
}

// After the end of a VM, the chain's calls on the node hang, its peers still report it as connected, and the node repeats its last
// health checks.
func TestNodeWithAStoppedChainCountsAsNotConnected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "foxtrot")
		bravo := `avax_l1_validator_connected{node="alpha",chain="examplel1",node_id="` + w.network.NodeID("bravo") + `"`
		for range 10 {
			wantSeries(t, w.page(t, "health"), `avax_node_healthy{node="alpha"}`, "1")
			time.Sleep(time.Minute)
		}
		wantLine(t, w.page(t, "l1_views"), bravo, " 1")
		w.network.Node("bravo").SetChain("examplel1", simnet.Dead)
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		for range 2 { // one call without an answer is no sign yet
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			_, j := w.job(t, "heads", "bravo/examplel1")
			if err := j.Collect(ctx, metric.NewBatch(specOf(t, "heads").Families)); err == nil {
				t.Error("a chain that hangs has heads")
			}
			cancel()
		}
		page := w.page(t, "safe_to_stop")
		if got := valueOf(t, page, leaves("alpha", "examplel1")); !near(got, 170/370.0) {
			t.Errorf("without alpha and bravo, the share is %v", got)
		}
		views := must.Get(w.run(t, "l1_views", "alpha/examplel1"))(t)
		wantSeries(t, views, `avax_l1_connected_weight{node="alpha",chain="examplel1"}`, "270")
		wantLine(t, views, bravo, " 0")
		_, j := w.job(t, "health", "bravo")
		for minute, want := range []string{"1", "1", "0"} {
			batch := metric.NewBatch(specOf(t, "health").Families)
			must.Do(t, j.Collect(t.Context(), batch))
			var page string
			for _, c := range batch.Chunks() {
				page += c.String()
			}
			wantSeries(t, page, `avax_node_healthy{node="bravo"}`, want)
			if noted := strings.Contains(strings.Join(batch.Notes(), ""), "have not run for 2m0s: one of them hangs"); noted != (want == "0") {
				t.Errorf("minute %d: notes %v", minute, batch.Notes())
			}
			time.Sleep(time.Minute)
		}
		w.network.Node("bravo").Start()
		time.Sleep(5 * time.Minute)
		w.page(t, "heads")
		if got := valueOf(t, w.page(t, "safe_to_stop"), leaves("alpha", "examplel1")); !near(got, 270/370.0) {
			t.Errorf("bravo is back: the share is %v", got)
		}
	})
}

// A node reports a benched peer as disconnected, but the peer is up.
func TestBenchedPeerIsConnected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.network.Node("alpha").Bench("bravo", "C")
		views := w.page(t, "l1_views")
		wantLine(t, views, `avax_l1_validator_connected{node="alpha",chain="examplel1",node_id="`+w.network.NodeID("bravo")+`"`, " 1")
		wantSeries(t, views, `avax_l1_connected_weight{node="alpha",chain="examplel1"}`, "270") // alpha does not query bravo
		w.network.Disconnect("bravo")
		time.Sleep(time.Minute)
		wantLine(t, w.page(t, "l1_views"), `avax_l1_validator_connected{node="alpha",chain="examplel1",node_id="`+w.network.NodeID("bravo")+`"`, " 0")
	})
}

// A failed request for the peers is not repeated for each disconnected validator.
func TestPeersAreRequestedOnceForAllDisconnectedValidators(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		w.network.Disconnect("bravo")
		w.network.Disconnect("charlie")
		time.Sleep(time.Minute)
		w.network.Node("alpha").Inject(simnet.WrongShape(), "info.peers")
		if w.page(t, "l1_views"); w.callCount("alpha", "info.peers") != 1 {
			t.Errorf("info.peers called %d times", w.callCount("alpha", "info.peers"))
		}
	})
}

// wantLine checks the value of the first series whose text begins with start.
func wantLine(t *testing.T, page, start, end string) {
	t.Helper()
	_, rest, found := strings.Cut(page, start)
	line, _, _ := strings.Cut(rest, "\n")
	if !found || !strings.HasSuffix(line, end) {
		t.Errorf("%s…%s, want …%s", start, line, end)
	}
}

// The stop of a node changes nothing for a chain that the node does not run, even if it is the only validator.
func TestValidatorThatDoesNotRunTheChainMayStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "echo", "delta")
		w.network.Node("echo").SetChain("examplel1", simnet.Untracked)
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		wantSeries(t, w.page(t, "safe_to_stop"), `avax_node_safe_to_stop{node="echo"}`, "1")
	})
}

func TestSingleNodeUsesItsOwnView(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		page := w.page(t, "safe_to_stop")
		if got := valueOf(t, page, leaves("alpha", "examplel1")); !near(got, 270/370.0) {
			t.Errorf("%v left without alpha", got)
		}
		wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID("echo")+`"}`, "1")
	})
}

// A node counts as connected to itself even if its answer says that it is not.
func TestNodeCountsAsConnectedToItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		*w.otherwise = func(_, method string, _ []any) string {
			if method != "validators.getCurrentValidators" {
				return ""
			}
			entry := `{"validationID":"v","nodeID":"%s","weight":%d,"startTimestamp":1,"isActive":true,"isL1Validator":true,"isConnected":%t,"uptimePercentage":100,` +
				`"uptimeSeconds":1}`
			return fmt.Sprintf(`{"jsonrpc":"2.0","result":{"validators":[`+entry+","+entry+`]},"id":1}`,
				w.network.NodeID("alpha"), 85, false, w.network.NodeID("bravo"), 15, true)
		}
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		page := w.page(t, "safe_to_stop")
		wantSeries(t, page, leaves("alpha", "examplel1"), "0.15")
		wantSeries(t, page, `avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.network.NodeID("bravo")+`"}`, "1")
	})
}

func TestSafeToStopIsAbsentIfUnknown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "echo")
		w.page(t, "up")
		wantSeries(t, w.page(t, "safe_to_stop"), `avax_node_safe_to_stop{node="echo"}`, "1")

		// The only node that tracks the L1 does not answer for the L1. echo validates the L1.
		w.network.Node("echo").Inject(simnet.Refused(-32000, "failed to get uptime for validation ID x: validationID not found"), "validators.getCurrentValidators")
		page := w.page(t, "safe_to_stop")
		wantNoSeries(t, page, "avax_l1_safe_to_stop")
		wantNoSeries(t, page, `avax_node_safe_to_stop{node="echo"}`)
		wantNoSeries(t, page, leaves("echo", "examplel1"))
		if got := valueOf(t, page, leaves("echo", "P")); got < 0.8 {
			t.Errorf("without echo, the share of the primary network is %v", got)
		}
		wantSeries(t, page, `avax_node_safe_to_stop{node="delta"}`, "1") // according to the P-Chain, delta does not validate the L1

		// Without an answer of the P-Chain, any node may validate the L1.
		w.network.Node("delta").Inject(simnet.Unavailable(), "platform.getCurrentValidators")
		w.network.Node("echo").Inject(simnet.Unavailable(), "platform.getCurrentValidators")
		wantNoSeries(t, w.page(t, "safe_to_stop"), "avax_node_safe_to_stop")

		// The validators of an unknown chain are unknown.
		w.network.Node("delta").Recover()
		w.network.Node("echo").Recover()
		w.ups.SetChains([]nodes.Chain{{Name: "mine", Ref: "nope"}})
		page, notes := w.runJob(t.Context(), t, "safe_to_stop", "network")
		wantNoSeries(t, page, "avax_node_safe_to_stop")
		if text := strings.Join(notes, "\n"); !strings.Contains(text, "mine") || !strings.Contains(text, "correct AVAX_CHAINS") {
			t.Errorf("note %q", text)
		}
	})
}

// A node that has just started does not count as connected yet, so the next node must not stop yet.
func TestNextNodeMayStopWhenThePreviousOneIsBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		// Each of the five members has a fifth of the weight, so one of them may stop.
		for _, validator := range []string{"alpha", "bravo", "foxtrot", "charlie", "echo"} {
			w.network.SetWeight("examplel1", validator, 100)
		}
		time.Sleep(5 * time.Minute)
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: w.network.Chain("examplel1").ID}})
		w.setNodes(t, "charlie", "echo", "foxtrot")
		const echo = `avax_node_safe_to_stop{node="echo"}`
		wantSeries(t, w.page(t, "safe_to_stop"), echo, "1")
		w.network.Node("charlie").Start()
		was, changes := "1", 0
		for range 60 {
			time.Sleep(time.Second)
			is := "0"
			if strings.Contains(w.page(t, "safe_to_stop"), echo+" 1\n") {
				is = "1"
			}
			if is != was {
				was = is
				changes++
			}
		}
		if was != "1" || changes != 2 {
			t.Errorf("safe to stop is %s at the end, after %d changes, want 1 after 2", was, changes)
		}
	})
}

func TestStoppedNodeHasNoSafeToStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.network.Node("bravo").Stop()
		page := w.page(t, "safe_to_stop")
		wantNoSeries(t, page, `node="bravo"`)
		if got := valueOf(t, page, leaves("alpha", "P")); !near(got, (10_040_600-2_035_000-2_050_000)/10_040_600.0) {
			t.Errorf("without alpha and bravo, the share is %v", got)
		}
		w.network.Node("alpha").Stop()
		if page, err := w.run(t, "safe_to_stop", "network"); err == nil || errors.Is(err, metric.ErrNotOffered) || page != "" {
			t.Errorf("no node answers: %q, %v", page, err)
		}
	})
}

// A node may answer again before its next probe: the run fails as the probe did, and belongs to the same incident of the node.
func TestNodeThatJustReturnedFailsAsItsProbe(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.page(t, "safe_to_stop")
		w.network.Node("alpha").Inject(simnet.Hung())
		_, _ = w.run(t, "up", "alpha")
		w.network.Node("alpha").Recover()
		_, err := w.run(t, "safe_to_stop", "network")
		call := (*nodes.CallError)(nil)
		if !metric.EndsSamples(err) || scrape.OutcomeOf(err) != scrape.Unreachable || !errors.As(err, &call) || call.Node.Name() != "alpha" {
			t.Errorf("%v", err)
		}
	})
}

// If two configured names belong to one node, they count as one view.
func TestDuplicateNodeIsNoSecondView(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		transport := &posing{to: w.network.Transport(), hosts: map[string]string{"bravo.sim": "foxtrot.sim"}}
		var pool []*nodes.Node
		for _, name := range []string{"foxtrot", "bravo", "alpha"} {
			pool = append(pool, nodes.New(node.New(open(t, transport, name))))
		}
		w.ups.SetNodes(pool)
		w.network.Disconnect("foxtrot")
		page := w.page(t, "safe_to_stop")
		for _, name := range []string{"foxtrot", "bravo"} {
			if got := valueOf(t, page, leaves(name, "examplel1")); !near(got, 270/370.0) {
				t.Errorf("without %s, the share is %v, want alpha's view", name, got)
			}
		}
	})
}

// A node may stop only if every set that it validates is counted, also those that are not monitored.
func TestValidatedChainMustBeMonitored(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "echo")
		w.page(t, "up")
		for _, c := range []struct {
			chains []nodes.Chain
			echo   string
		}{
			{[]nodes.Chain{{Name: "C", Ref: "C"}}, "examplel1 is not monitored: set AVAX_CHAINS=C,auto"},
			{[]nodes.Chain{{Name: "C", Ref: "C"}, {Name: "mine", Ref: w.network.Chain("examplel1").ID}}, ""},
		} {
			w.ups.SetChains(c.chains)
			facts := w.batch(t, "safe_to_stop", "network").Facts.ValidatorSets
			if got := facts.Uncounted["echo"]; !strings.HasPrefix(got, c.echo) || c.echo == "" && got != "" {
				t.Errorf("%v: echo: %q, want %q", c.chains, got, c.echo)
			}
			if got := facts.Uncounted["delta"]; got != "" { // validates no L1
				t.Errorf("%v: delta: %q", c.chains, got)
			}
		}
		w.ups.SetChains([]nodes.Chain{{Name: "C", Ref: "C"}})
		w.network.Node("echo").Inject(simnet.Unavailable(), "GET /ext/health")
		if got := w.batch(t, "safe_to_stop", "network").Facts.ValidatorSets.Uncounted["echo"]; got == "" {
			t.Error("without its health checks, nothing says which chains echo tracks")
		}
	})
}

// A validator whose balance ends within a minute does not count.
func TestBalanceThatEndsWithinAMinuteDoesNotCount(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, validator := range []string{"alpha", "bravo", "foxtrot", "charlie", "echo"} {
			w.network.SetWeight("examplel1", validator, 100)
		}
		time.Sleep(5 * time.Minute)
		w.setNodes(t, "echo", "delta")
		w.page(t, "up")
		w.network.SetBalance("examplel1", "bravo", 512*150) // 150 s
		end := time.Now().Add(150 * time.Second)
		time.Sleep(time.Second)
		facts := w.batch(t, "safe_to_stop", "network").Facts.ValidatorSets
		for _, set := range facts.Sets {
			if set.Chain != "examplel1" {
				continue
			}
			for _, c := range []struct {
				at   time.Time
				want float64
			}{{end.Add(-20 * time.Second), 0.8}, {end.Add(20 * time.Second), 0.6}} {
				if left, _ := set.After([]string{w.network.NodeID("echo")}, nil, c.at); !near(left, c.want) {
					t.Errorf("%s: %v stays, want %v; ends %v", c.at, left, c.want, set.Ends)
				}
			}
			return
		}
		t.Errorf("no set of examplel1: %+v", facts)
	})
}
