package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Shared answers do not extend the life of a dead node's samples: after three periods of the slowest collector none is left. The samples of
// other nodes stay, and those of the node come back with it.
func TestSamplesOfADeadNodeExpireAfterThreePeriods(t *testing.T) {
	testworld.Story(t)
	for _, watch := range []string{"own", "all"} {
		for _, chains := range []string{"C", "C,examplel1=ID"} {
			t.Run(watch+" "+chains, func(t *testing.T) {
				apptest.Run(t, func(t *testing.T, w *apptest.World) {
					w.Env["VALIDATORS"] = watch
					w.Env["CHAINS"] = strings.ReplaceAll(chains, "ID", w.Network.Chain("examplel1").ID)

					w.Start(t)
					time.Sleep(13 * time.Minute) // the collectors have settled
					before := w.Samples(t)
					w.Network.Node("bravo").Stop()
					time.Sleep(3 * 5 * time.Minute)
					down := w.Samples(t)
					if left := about(down, "bravo"); len(left) > 0 {
						t.Errorf("samples of bravo left: %v", left)
					}
					w.Network.Node("bravo").Start()
					time.Sleep(11 * time.Minute)
					back := w.Samples(t)
					for series := range before {
						ofBoth := strings.Contains(series, "bravo") || strings.HasPrefix(series, "avax_chain_fork_detected{") // needs two nodes
						_, kept := down[series]
						_, again := back[series]
						if strings.HasPrefix(series, "avax_") && (!again || !kept && !ofBoth) {
							t.Errorf("%s: kept %v, back %v", series, kept, again)
						}
					}
				})
			})
		}
	}
}

// While all calls succeed, no sample of a node expires between two runs, even if a call takes a second and the runs accept shared answers.
func TestNoSampleOfASlowNodeExpiresBetweenRuns(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		w.Network.Node("bravo").Inject(simnet.Slow(time.Second))
		time.Sleep(5 * time.Minute) // the collectors have settled
		before := about(w.Samples(t), "bravo")
		lost := map[string]bool{}
		for range 5 * 60 * 2 {
			time.Sleep(time.Second / 2)
			page := w.Samples(t)
			for _, series := range before {
				if _, there := page[series]; !there && strings.HasPrefix(series, "avax_") && !lost[series] {
					lost[series] = true
					t.Errorf("%s missing at %s", series, time.Now().Format(time.TimeOnly))
				}
			}
		}
	})
}

// A change upstream is exported at the next tick, from an answer that is at most half a period old, or nine tenths if the collector reuses answers.
func TestChangeIsExportedWithinTwoPeriods(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		const period, runs = collector.FullSetEvery, 10 * time.Second
		w.Env["VALIDATORS"] = "all"
		w.Start(t)
		const size = `avax_network_validators{subnet_id="11111111111111111111111111111111LpoYY"}`
		before := w.Samples(t)[size]
		w.Network.RemoveValidator("P", "hotel")
		time.Sleep(period*15/10 + runs)
		if got := w.Samples(t)[size]; got != before-1 {
			t.Errorf("%s: %v, want %v", size, got, before-1)
		}
		time.Sleep(period * 4 / 10)
		gone := `avax_validator_stake_avax{node_id="` + w.Network.NodeID("hotel") + `"}`
		if _, there := w.Samples(t)[gone]; there {
			t.Errorf("%s still exported", gone)
		}
	})
}

// An unknown chain affects only its own samples.
func TestUnknownChainLeavesPrimaryNetworkSamples(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["CHAINS"] = "C,wrong"
		w.Start(t)
		page := w.Samples(t)
		for _, series := range []string{
			`avax_network_validators{subnet_id="11111111111111111111111111111111LpoYY"}`,
			`avax_network_connected_stake_ratio{node="bravo",subnet_id="11111111111111111111111111111111LpoYY"}`,
		} {
			if _, there := page[series]; !there {
				t.Errorf("%s absent", series)
			}
		}
		if page[`avax_exporter_collector_success{collector="network",target="wrong"}`] != 0 {
			t.Error("no failure for the unknown chain")
		}
	})
}

// Two chains of one subnet export its facts once.
func TestSubnetFactsOfTwoChainsAreExportedOnce(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		id := w.Network.Chain("examplel1").ID
		w.Env["CHAINS"] = "one=" + id
		w.Configure = func(c *config.Config) { c.Chains.List = append(c.Chains.List, nodes.Chain{Name: "two", Ref: id}) }

		w.Start(t)
		subnet := w.Network.Chain("examplel1").SubnetID
		if got := w.Samples(t)[`avax_network_validators{subnet_id="`+subnet+`"}`]; got != 5 { // Samples detects duplicates
			t.Errorf("%v validators, want 5", got)
		}
	})
}
