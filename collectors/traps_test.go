package collectors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Each test in this file is about a surprising behaviour of real nodes. One such behaviour is tested in internal/app:
// while an L1 validator is added, the request for the L1's validators fails, and the previous samples stay.

func TestOwnViewOfANodeIsOmitted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.network.Disconnect("alpha") // a disconnected node still counts itself as connected
		time.Sleep(time.Hour)
		alpha := w.network.NodeID("alpha")
		wantSeries(t, w.page(t, "validator_views"), `avax_validator_connected{node="bravo",node_id="`+alpha+`"}`, "0")
		for _, collector := range []string{"validator_views", "l1_views"} {
			for line := range strings.Lines(w.page(t, collector)) {
				if strings.Contains(line, `node="alpha"`) && strings.Contains(line, `node_id="`+alpha+`"`) {
					t.Errorf("%s: alpha's view of itself: %s", collector, line)
				}
			}
		}
	})
}

func TestUptimeClimbsFromOwnStakeAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const rewarding, validating = `avax_node_uptime_rewarding_stake_ratio{node="alpha"}`, `avax_node_validating{node="alpha"}`
		w.setNodes(t, "alpha")
		wantSeries(t, w.page(t, "uptime"), rewarding, "1")
		w.network.Node("alpha").Start()
		time.Sleep(2 * time.Second)
		wantNoSeries(t, w.page(t, "uptime"), "avax_") // the node does not know yet that it validates
		time.Sleep(4 * time.Second)
		wantSeries(t, w.page(t, "uptime"), validating, "1")
		wantSeries(t, w.page(t, "uptime"), rewarding, "0.202677")
		time.Sleep(time.Minute)
		wantSeries(t, w.page(t, "uptime"), rewarding, "1")
	})
}

// When other validators go offline, the uptime that a node reports of itself falls, although the node was up. The
// connected stake falls by the same amount.
func TestUptimeFallsWithTheConnectedStake(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		wantSeries(t, w.page(t, "connected_stake"), `avax_node_connected_stake_ratio{node="alpha"}`, "1")
		w.network.Disconnect("bravo")
		time.Sleep(time.Minute)
		wantSeries(t, w.page(t, "connected_stake"), `avax_node_connected_stake_ratio{node="alpha"}`, "0.7958289345258251")
		wantSeries(t, w.page(t, "uptime"), `avax_node_uptime_rewarding_stake_ratio{node="alpha"}`, "0.795829")
	})
}

// A node of a developer's network that runs without sybil protection takes itself for the only validator. The stake of the P-Chain means nothing to it.
func TestNodesWithoutSybilProtectionHaveNoConnectedStake(t *testing.T) {
	for name, uptime := range map[string]string{
		"1.14": answered(`{"rewardingStakePercentage":"100.0000","weightedAveragePercentage":"100.0000"}`),
		"1.15": `{"jsonrpc":"2.0","error":{"code":-32000,"message":"couldn't get node uptime: start time not found","data":null},"id":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				const ratio = `avax_node_connected_stake_ratio{node="foxtrot"}`
				w.setNodes(t, "foxtrot") // validates nothing
				wantSeries(t, w.page(t, "connected_stake"), ratio, "1")
				*w.otherwise = func(_, method string, _ []any) string {
					return map[string]string{"info.uptime": uptime}[method]
				}
				time.Sleep(time.Hour)
				wantNoSeries(t, w.page(t, "connected_stake"), ratio)
				wantNoSeries(t, w.page(t, "network_views"), `avax_network_connected_stake_ratio{node="foxtrot",subnet_id="11111111111111111111111111111111LpoYY"}`)
			})
		})
	}
}

// An L1 validator without a balance is reported as disconnected although its node is up. Its weight is missing in the
// active weight. It must not be subtracted a second time from the connected weight.
func TestInactiveValidatorIsSubtractedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		time.Sleep(30 * time.Second)
		w.network.SetBalance("examplel1", "bravo", 0)
		// The node reports the validator as connected until the node updates its set.
		for _, connected := range []string{"1", "0"} {
			wantSeries(t, w.page(t, "l1_views"), `avax_l1_validator_connected{node="alpha",chain="examplel1",node_id="`+w.network.NodeID("bravo")+
				`",validation_id="`+w.network.ValidationID("examplel1", "bravo")+`"}`, connected)
			wantSeries(t, w.page(t, "l1"), `avax_l1_weight{chain="examplel1"}`, "370")
			wantSeries(t, w.page(t, "l1"), `avax_l1_active_weight{chain="examplel1"}`, "270")
			wantSeries(t, w.page(t, "l1_views"), `avax_l1_connected_weight{node="alpha",chain="examplel1"}`, "270")
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestAnswerOrderDoesNotMatter(t *testing.T) {
	for _, spec := range collectors.All() {
		inWorld(t, func(t *testing.T, w world) {
			w.ups.Watch.Validators = collector.Validators{All: true}
			once := w.page(t, spec.Name)
			for range 5 {
				if diff := cmp.Diff(once, w.page(t, spec.Name)); diff != "" {
					t.Errorf("%s: %s", spec.Name, diff)
				}
			}
		})
	}
}

// After the conversion of a permissioned subnet to an L1, its validators are legacy validators and L1 validators. One
// list has both, in two formats.
func TestSubnetWithLegacyAndL1Validators(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		added := w.network.AddL1Validator("examplepoa", "hotel", 30, 1e9)
		page := must.Get(w.run(t, "l1", "examplepoa"))(t)
		wantSeries(t, page, `avax_l1_validators{chain="examplepoa",state="legacy"}`, "3")
		wantSeries(t, page, `avax_l1_validators{chain="examplepoa",state="active"}`, "1")
		wantSeries(t, page, `avax_l1_weight{chain="examplepoa"}`, "90")
		hotel := fmt.Sprintf(`{chain="examplepoa",node_id="%s",validation_id="%s"}`, w.network.NodeID("hotel"), added)
		alpha := fmt.Sprintf(`{chain="examplepoa",node_id="%s",validation_id="%s"}`, w.network.NodeID("alpha"), w.network.ValidationID("examplepoa", "alpha"))
		wantSeries(t, page, "avax_l1_validator_balance_avax"+hotel, "1")
		wantNoSeries(t, page, "avax_l1_validator_balance_avax"+alpha)
		wantSeries(t, page, strings.Replace("avax_l1_validator_owner_info"+hotel, "}",
			`,remaining_balance_owner="P-`+simnet.Owner+`",deactivation_owner="P-`+simnet.Owner+`"}`, 1), "1")
		wantNoSeries(t, page, strings.TrimSuffix("avax_l1_validator_owner_info"+alpha, "}"))
		wantNoSeries(t, page, "avax_l1_validator_end_timestamp_seconds"+hotel)
		if end := "avax_l1_validator_end_timestamp_seconds" + alpha; !strings.Contains(page, end) {
			t.Errorf("missing: %s", end)
		}
	})
}

func TestAutoRenewedValidatorHasNoEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		golf, hotel := w.network.NodeID("golf"), w.network.NodeID("hotel")
		w.ups.Watch.Validators = collector.Validators{IDs: []string{golf, hotel}}
		page := w.page(t, "validators")
		wantSeries(t, page, `avax_validator_present{node_id="`+golf+`"}`, "1")
		wantNoSeries(t, page, `avax_validator_end_timestamp_seconds{node_id="`+golf)
		if end := `avax_validator_end_timestamp_seconds{node_id="` + hotel; !strings.Contains(page, end) {
			t.Errorf("missing: %s", end)
		}
	})
}

func TestAutoRenewedValidatorHasCurrentAndNextPeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		golf, hotel := `{node_id="`+w.network.NodeID("golf")+`"}`, `{node_id="`+w.network.NodeID("hotel")+`"}`
		w.ups.Watch.Validators = collector.Validators{IDs: []string{w.network.NodeID("golf"), w.network.NodeID("hotel")}}
		const next, end, compound = "avax_validator_next_period_seconds", "avax_validator_period_end_timestamp_seconds", "avax_validator_auto_compound_ratio"
		page := w.page(t, "validators")
		wantSeries(t, page, next+golf, "1.2096e+06") // 14 days
		wantSeries(t, page, compound+golf, "0.3")
		ends := valueOf(t, page, end+golf)
		if left := time.Until(time.Unix(int64(ends), 0)); left <= 0 || left > 14*24*time.Hour {
			t.Errorf("period ends in %s", left)
		}
		for _, family := range []string{next, end, compound} {
			wantNoSeries(t, page, family+hotel)
		}

		w.network.SetNextPeriod("golf", 0) // the current period is the last
		w.ups.Watch.Validators = collector.Validators{All: true}
		page = w.page(t, "validators")
		wantSeries(t, page, next+golf, "0")
		wantSeries(t, page, compound+golf, "0.3")
		if last := valueOf(t, page, "avax_validator_end_timestamp_seconds"+golf); last != ends || valueOf(t, page, end+golf) != ends {
			t.Errorf("stake ends at %v, period at %v", last, ends)
		}
	})
}

func TestPeersAreCountedPerMonitoredSubnet(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		page := w.page(t, "peers")
		wantSeries(t, page, `avax_node_subnet_peers{node="alpha",chain="examplel1"}`, "4")
		wantSeries(t, page, `avax_node_subnet_peers{node="alpha",chain="examplepoa"}`, "4")
		wantNoSeries(t, page, `avax_node_subnet_peers{node="alpha",chain="C"}`)
		time.Sleep(time.Hour)
		w.page(t, "peers")
		if n := w.callCount("alpha", "platform.getBlockchains"); n != 1 {
			t.Errorf("%d calls for the subnets of two chains, want 1", n)
		}
	})
}

func TestPeersWithoutSubnetsAreAbsentNotZero(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		now, subnets := time.Now().UTC().Format(time.RFC3339), ""
		*w.otherwise = func(_, method string, _ []any) string {
			if method != "info.peers" {
				return ""
			}
			return answered(
				fmt.Sprintf(
					`{"numPeers":"1","peers":[{"nodeID":"stranger","ip":"","publicIP":"","version":"","benched":[],"lastSent":"%s","lastReceived":"%[1]s"%s}]}`,
					now,
					subnets,
				),
			)
		}
		wantNoSeries(t, w.page(t, "peers"), "avax_node_subnet_peers")

		var invented []string // a peer may report any number of subnets
		for i := range 3000 {
			invented = append(invented, fmt.Sprintf(`"subnet%d"`, i))
		}
		subnets = `,"trackedSubnets":[` + strings.Join(invented, ",") + `]`
		page := w.page(t, "peers")
		wantSeries(t, page, `avax_node_subnet_peers{node="alpha",chain="examplel1"}`, "0")
		if n := strings.Count(page, "avax_node_subnet_peers{"); n != 2 {
			t.Errorf("%d subnets with series", n)
		}
	})
}

func TestPeersAreCountedWithoutKnownChains(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		*w.otherwise = func(_, method string, _ []any) string {
			if method != "platform.getBlockchains" {
				return ""
			}
			return `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"it is late"}}`
		}
		page := w.page(t, "peers")
		wantSeries(t, page, `avax_node_peers{node="alpha"}`, "7")
		wantNoSeries(t, page, "avax_node_subnet_peers")
		if n := w.callCount("alpha", "info.peers"); n != 1 {
			t.Errorf("%d calls", n)
		}

		*w.otherwise = nil // an unknown chain must not hide the other chains
		w.ups.SetChains(append([]nodes.Chain{{Name: "none", Ref: "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof"}}, w.ups.Chains()...))
		wantSeries(t, w.page(t, "peers"), `avax_node_subnet_peers{node="alpha",chain="examplel1"}`, "4")
	})
}

func TestL1OwnersFitALabel(t *testing.T) {
	owner := func(threshold int, addresses ...string) string {
		return fmt.Sprintf(`{"locktime":"0","threshold":"%d","addresses":["%s"]}`, threshold, strings.Join(addresses, `","`))
	}
	var many, shown []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("P-avax1%034d", i))
	}
	shown = many[:5]
	for _, c := range []struct{ remaining, deactivation, want string }{
		{owner(1, "P-a"), owner(1, "P-b"), `remaining_balance_owner="P-a",deactivation_owner="P-b"`},
		{owner(2, "P-c", "P-a", "P-b"), `{"locktime":"0","threshold":"0","addresses":[]}`, `remaining_balance_owner="2 of P-a,P-b,P-c",deactivation_owner=""`},
		{owner(1, "P-a", "P-b"), owner(3, many...), `remaining_balance_owner="1 of P-a,P-b",deactivation_owner="3 of ` + strings.Join(shown, ",") + ` and 35 more"`},
		{owner(1, strings.Repeat("x", 300)), owner(1, "P-b"), `remaining_balance_owner="1 of 1",deactivation_owner="P-b"`},
	} {
		inWorld(t, func(t *testing.T, w world) {
			w.setNodes(t, "alpha")
			*w.otherwise = func(_, method string, _ []any) string {
				if method != "platform.getCurrentValidators" {
					return ""
				}
				return answered(`{"validators":[{"nodeID":"N","weight":"1","startTime":"1","validationID":"V","minNonce":"0","balance":"5","remainingBalanceOwner":` +
					c.remaining + `,"deactivationOwner":` + c.deactivation + `}]}`)
			}
			page := must.Get(w.run(t, "l1", "examplel1"))(t)
			wantSeries(t, page, `avax_l1_validator_owner_info{chain="examplel1",node_id="N",validation_id="V",`+c.want+`}`, "1")
		})
	}
}

// A node may validate the primary network, a permissioned subnet and an L1 at the same time. It may have been
// registered on the L1 twice.
func TestNodeMayHaveSeveralValidations(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		before := w.network.ValidationID("examplel1", "alpha")
		w.network.RemoveValidator("examplel1", "alpha")
		after := w.network.AddL1Validator("examplel1", "alpha", 100, 1e9)
		time.Sleep(3 * time.Minute)
		info := `avax_l1_validator_info{chain="%s",node_id="` + w.network.NodeID("alpha") + `",validation_id="%s"}`
		page := w.page(t, "l1")
		wantSeries(t, page, fmt.Sprintf(info, "examplel1", after), "1")
		wantNoSeries(t, page, before)
		wantSeries(t, page, fmt.Sprintf(info, "examplepoa", w.network.ValidationID("examplepoa", "alpha")), "1")
		wantSeries(t, w.page(t, "validators"), `avax_validator_present{node_id="`+w.network.NodeID("alpha")+`"}`, "1")
	})
}

// For an unknown subnet, the P-Chain returns an empty list of validators and no error. Therefore the collectors first
// look up the chain.
func TestUnknownChainIsAnErrorNotAnEmptySet(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.SetChains([]nodes.Chain{{Name: "mine", Ref: "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof"}})
		for _, collector := range []string{"l1", "chain_info"} {
			page, err := w.run(t, collector, "mine")
			if err == nil || !strings.Contains(err.Error(), "correct AVAX_CHAINS") || page != "" {
				t.Errorf("%s: %q, %v", collector, page, err)
			}
		}
		if _, err := w.run(t, "chain_status", "alpha"); err != nil {
			t.Errorf("chain_status: %v", err)
		}
		w.ups.SetChains([]nodes.Chain{{Name: "mine", Ref: "notachain"}})
		if _, err := w.run(t, "chain_status", "alpha"); err == nil || !strings.Contains(err.Error(), "correct AVAX_CHAINS") {
			t.Errorf("chain_status: %v", err)
		}
	})
}

// If no node runs a chain, or all nodes answer 404 during their start, no node reports the EVM chain ID. This ID
// never changes, so the series keeps it.
func TestChainNameStaysWhileNoNodeRunsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "foxtrot")
		spec := specOf(t, "chain_info")
		jobs := spec.Bind(w.ups)
		job := jobs[slices.IndexFunc(jobs, func(j collector.Job) bool { return j.Target.Chain == "examplel1" })]
		collectOnce := func() string {
			batch := metric.NewBatch(spec.Families)
			must.Do(t, job.Collect(t.Context(), batch), batch.Err())
			return batch.Chunks()[0].String()
		}
		first := collectOnce()
		if strings.Contains(first, `,evm_chain_id=""}`) || !strings.Contains(first, `,evm_chain_id="`) {
			t.Fatalf("exported %q", first)
		}
		time.Sleep(time.Hour) // longer than any shared answer is used
		w.network.Node("foxtrot").SetChain("examplel1", simnet.Untracked)
		if got := collectOnce(); got != first {
			t.Errorf("exported %q, before %q", got, first)
		}
	})
}

// The status is Created both for a chain that the node does not track and for a chain whose VM failed. Only the
// node's health check shows the difference.
func TestFailedVMHasStatusCreated(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "foxtrot") // delta tracks no subnet
		w.network.Node("foxtrot").SetChain("examplepoa", simnet.Failed)
		time.Sleep(time.Minute)
		status, health := w.page(t, "chain_status"), w.page(t, "health")
		for _, node := range []string{"delta", "foxtrot"} {
			wantSeries(t, status, `avax_chain_status{node="`+node+`",chain="examplepoa",status="Created"}`, "1")
			wantSeries(t, status, `avax_chain_status{node="`+node+`",chain="examplepoa",status="Syncing"}`, "0")
		}
		wantSeries(t, health, `avax_node_health_check_failing{node="foxtrot",check="examplepoa"}`, "1")
		wantNoSeries(t, health, `avax_node_health_check_failing{node="delta",check="examplepoa"}`)
	})
}

// An alias is set per node. A node that does not have it still has a status of each chain.
func TestChainHasAStatusOnNodesWithoutItsAlias(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "delta")
		time.Sleep(time.Minute)
		alpha := w.ups.Nodes()[slices.IndexFunc(w.ups.Nodes(), func(n *nodes.Node) bool { return n.Name() == "alpha" })]
		alias := node.Methods()[slices.IndexFunc(node.Methods(), func(m *scrape.Method) bool { return m.Name == "admin.aliasChain" })]
		must.Get(alpha.Call(t.Context(), alias, "", jsontext.Value(`{"chain":"`+w.network.Chain("examplel1").ID+`","alias":"dex"}`)))(t)
		w.ups.SetChains([]nodes.Chain{{Name: "dex", Ref: "dex"}, {Name: "C", Ref: "C"}})
		page := w.page(t, "chain_status")
		for series, want := range map[string]string{
			`node="alpha",chain="dex",status="Created"`: "0", `node="delta",chain="dex",status="Created"`: "1", `node="delta",chain="C",status="Created"`: "0",
		} {
			wantSeries(t, page, `avax_chain_status{`+series+`}`, want)
		}
		w.network.Node("delta").Stop() // the samples of a node that is down stay until they expire
		if _, err := w.run(t, "chain_status", "delta"); err == nil || metric.HasSamples(err) {
			t.Errorf("samples replaced while the node is down: %v", err)
		}
	})
}

// L1 weights are JSON numbers. Weights above 2^53 that are parsed as floats lose their last bit, and the sum is
// wrong.
func TestWeightsAbove2To53SumExactly(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, name := range []string{"alpha", "bravo"} {
			w.network.SetWeight("examplel1", name, 1<<53+1)
		}
		wantSeries(t, w.page(t, "l1"), `avax_l1_weight{chain="examplel1"}`, "1.8014398509482156e+16")
		wantSeries(t, w.page(t, "l1_views"), `avax_l1_connected_weight{node="alpha",chain="examplel1"}`, "1.8014398509482156e+16")
	})
}

func TestUpgradesOfTheCChainAreExported(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		page := must.Get(w.run(t, "chain_config", "alpha/C"))(t)
		// The C-Chain spells the times of upgrades in two ways: durangoBlockTimestamp, etnaTimestamp.
		for _, upgrade := range []string{"durango", "etna", "cancun"} {
			if !strings.Contains(page, `upgrade="`+upgrade+`"`) {
				t.Errorf("no upgrade %s in %s", upgrade, page)
			}
		}
	})
}

// The answer for an unknown block is null on the C-Chain since Helicon, and an error on other chains. Behind a load
// balancer, the second call may reach a node that does not have the block.
func TestMissingBlocksAreNotCompared(t *testing.T) {
	for chain, missing := range map[string]string{
		"C":         `{"jsonrpc":"2.0","id":1,"result":null}`,
		"examplel1": `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"cannot query unfinalized data"}}`,
	} {
		inWorld(t, func(t *testing.T, w world) {
			w.setNodes(t, "alpha", "bravo", "foxtrot")
			w.network.Node("alpha").FallBehind(chain)
			time.Sleep(time.Minute)
			*w.otherwise = func(node, method string, params []any) string {
				if node == "foxtrot" && method == "eth_getBlockByNumber" && params[0] != "latest" {
					return missing
				}
				return ""
			}
			page := must.Get(w.run(t, "forks", chain))(t)
			wantSeries(t, page, `avax_chain_fork_detected{node="alpha",chain="`+chain+`"}`, "0")
			wantSeries(t, page, `avax_chain_fork_detected{node="bravo",chain="`+chain+`"}`, "0")
			wantNoSeries(t, page, "foxtrot")
		})
	}
}

func TestNodesInTheMinorityAreForked(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		fork := func(node string) string { return `avax_chain_fork_detected{node="` + node + `",chain="C"}` }
		w.setNodes(t, "alpha", "bravo", "foxtrot")
		w.network.Node("bravo").Fork("C")
		time.Sleep(time.Minute)
		page, err := w.run(t, "forks", "C")
		if err != nil {
			t.Fatal(err)
		}
		wantSeries(t, page, fork("alpha"), "0")
		wantSeries(t, page, fork("bravo"), "1")
		wantSeries(t, page, fork("foxtrot"), "0")

		w.setNodes(t, "alpha", "bravo") // with two nodes there is no majority
		if page, err = w.run(t, "forks", "C"); err != nil {
			t.Fatal(err)
		}
		wantSeries(t, page, fork("alpha"), "1")
		wantSeries(t, page, fork("bravo"), "1")

		w.setNodes(t, "bravo")
		if page, err = w.run(t, "forks", "C"); err != nil || page != "" {
			t.Errorf("one node: %q, %v", page, err)
		}
	})
}

// The newest block of a node that is behind is not the newest block of the chain.
func TestNewestBlockIsTheHighestOfAllNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").FallBehind("C")
		time.Sleep(time.Hour)
		both := w.page(t, "blocks")
		w.setNodes(t, "foxtrot")
		if diff := cmp.Diff(w.page(t, "blocks"), both); diff != "" {
			t.Error(diff)
		}
		w.setNodes(t, "alpha")
		if w.page(t, "blocks") == both {
			t.Error("the node that is behind has the newest block")
		}
	})
}

func TestXChainAtHeightZeroIsValid(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		page := must.Get(w.run(t, "heads", "alpha/X"))(t)
		if want := "avax_chain_height{node=\"alpha\",chain=\"X\"} 0\n"; page != want {
			t.Errorf("%q, want %q", page, want)
		}
	})
}

// For up to 30 s after a node's start, most health checks have not run. That is not a failure. If a check fails, the
// answer has the status 503, which is a valid answer.
func TestHealthChecksThatHaveNotRunAreAbsent(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.network.Node("alpha").Start()
		time.Sleep(15 * time.Second)
		page := w.page(t, "health")
		wantNoSeries(t, page, `check="C"`)
		wantSeries(t, page, `avax_node_health_check_failing{node="alpha",check="diskspace"}`, "0")
		w.network.Disconnect("bravo")
		w.network.Disconnect("charlie")
		time.Sleep(time.Minute)
		wantSeries(t, w.page(t, "health"), `avax_node_health_check_failing{node="alpha",check="C"}`, "1")
	})
}

// The checks of a node change while it runs: the last value of one that is gone says nothing about the present. The check of a new chain has the ID of
// the chain as its name until the exporter has discovered the chain.
func TestAFailingHealthCheckEndsWithItsName(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		chain := w.network.Chain("examplel1")
		failing := func(check string) string { return `avax_node_health_check_failing{node="alpha",check="` + check + `"}` }
		spec, job := w.job(t, "health", "alpha")
		w.network.Node("alpha").SetChain("examplel1", simnet.Failed)
		time.Sleep(time.Minute)
		w.ups.SetChains(nil)
		wantSeries(t, samplesOf(t, spec, job), failing(chain.ID), "1")
		w.ups.SetChains([]nodes.Chain{{Name: "examplel1", Ref: chain.ID}})
		page := samplesOf(t, spec, job)
		wantSeries(t, page, failing("examplel1"), "1")
		wantSeries(t, page, failing(chain.ID), "0")
		wantNoSeries(t, samplesOf(t, spec, job), failing(chain.ID))
		w.network.Node("alpha").SetChain("examplel1", simnet.Untracked)
		w.network.Node("alpha").Start()
		time.Sleep(10 * time.Second)
		wantNoSeries(t, samplesOf(t, spec, job), failing("examplel1")) // most checks wait for their first run
		time.Sleep(time.Minute)
		wantSeries(t, samplesOf(t, spec, job), failing("examplel1"), "0")
	})
}

// The error text often changes between runs. The table has the current text, and the log has the first text, once for all chains.
func TestFailingHealthCheckHasTheNodesText(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		spec, job := w.job(t, "health", "alpha")
		words := func() (text, noted string) {
			batch := metric.NewBatch(spec.Families)
			must.Do(t, job.Collect(t.Context(), batch))
			for _, table := range batch.Tables() {
				for _, row := range table.Rows {
					if strings.HasPrefix(table.About, "Failing health checks") && row[0] == "alpha" && row[1] == "C" {
						text = row[2]
					}
				}
			}
			for _, note := range batch.Notes() {
				if strings.HasPrefix(note, "failing health checks of alpha: C, P, X: ") {
					noted = note
				}
			}
			return text, noted
		}
		w.network.Disconnect("bravo")
		time.Sleep(time.Minute)
		text, noted := words()
		w.network.Disconnect("charlie")
		time.Sleep(time.Minute)
		later, again := words()
		if text == "" || later == text || noted != "failing health checks of alpha: C, P, X: "+text || again != noted {
			t.Errorf("first %q, note %q; later %q, note %q", text, noted, later, again)
		}
	})
}

func TestUTXOsOfAllPagesAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetUTXOs(2500) // a page has 1024 UTXOs
		page := w.page(t, "addresses")
		wantSeries(t, page, `avax_utxos{chain="X",address="X-`+simnet.Owner+`"}`, "2501")
		wantSeries(t, page, `avax_utxos{chain="P",address="P-`+simnet.Owner+`"}`, "2500")
		wantSeries(t, page, `avax_asset_balance_tokens{address="X-`+simnet.Owner+`",asset_id="`+exm+`"}`, "2500")
	})
}

func TestAssetAliasesAreExportedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Assets = collector.Unnamed(exm, "AVAX", exm)
		for collector, target := range map[string]string{"assets": "network", "addresses": "X-" + simnet.Owner} {
			if _, err := w.run(t, collector, target); err != nil {
				t.Errorf("%s: %v", collector, err)
			}
		}
	})
}

func TestEmptyWatchListsHaveNoJobs(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Addresses, w.ups.Watch.Assets = nil, nil
		for _, collector := range []string{"addresses", "assets"} {
			if jobs := specOf(t, collector).Bind(w.ups); len(jobs) > 0 {
				t.Errorf("%s: %d jobs", collector, len(jobs))
			}
		}
	})
}

func TestRejectedWatchListItemNamesTheSetting(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Addresses = collector.Unnamed("P-elsewhere1", "X-elsewhere1")
		for _, a := range collector.Values(w.ups.Watch.Addresses) {
			if _, err := w.run(t, "addresses", a); err == nil || !strings.Contains(err.Error(), "correct AVAX_WATCH_ADDRESSES") {
				t.Errorf("%s: %v", a, err)
			}
		}
		w.ups.Watch.Assets = collector.Unnamed("nope")
		if _, err := w.run(t, "assets", "network"); err == nil || !strings.Contains(err.Error(), "correct AVAX_WATCH_ASSETS") {
			t.Error(err)
		}
		w.network.Node("alpha").Stop()
		w.network.Node("foxtrot").Stop()
		if _, err := w.run(t, "assets", "network"); scrape.OutcomeOf(err) != scrape.Unreachable || strings.Contains(err.Error(), "monitored assets") {
			t.Error(err)
		}
	})
}

// A node will fork if its configuration lacks an upgrade.
func TestDifferentChainConfigsHaveDifferentHashes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		*w.otherwise = func(node, method string, _ []any) string {
			if method != "eth_getChainConfig" {
				return ""
			}
			// The order of members has no meaning; 9999-12-01 means not scheduled.
			return map[string]string{
				"alpha":   `{"id":1,"result":{"chainId":7,"etnaTimestamp":1607144400,"heliconTimestamp":253399622400}}`,
				"foxtrot": `{"id":1,"result":{"heliconTimestamp":253399622400,"etnaTimestamp":1607144400,"chainId":7}}`,
				"bravo":   `{"id":1,"result":{"chainId":7,"etnaTimestamp":1607144401,"heliconTimestamp":253399622400}}`,
			}[node]
		}
		w.setNodes(t, "alpha", "foxtrot", "bravo")
		w.ups.SetChains([]nodes.Chain{{Name: "C", Ref: "C"}})
		page := w.page(t, "chain_config")
		hash := map[string]string{}
		for line := range strings.Lines(page) {
			if node, rest, ok := strings.Cut(strings.TrimPrefix(line, `avax_chain_config_info{node="`), `",chain="C",evm_chain_id="7",hash="`); ok {
				hash[node] = rest
			}
		}
		if len(hash) != 3 || hash["alpha"] != hash["foxtrot"] || hash["alpha"] == hash["bravo"] {
			t.Errorf("hashes: %v", hash)
		}
		wantSeries(t, page, `avax_chain_upgrade_timestamp_seconds{node="alpha",chain="C",upgrade="etna"}`, "1.6071444e+09")
		wantNoSeries(t, page, "helicon")
	})
}

// A node reports a validator as disconnected until it updates its uptime tracker. An L1 that adds a large validator loses no weight.
func TestNewL1ValidatorIsConnected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		time.Sleep(50 * time.Second) // the trackers are updated ten seconds later
		w.network.AddL1Validator("examplel1", "newcomer", 1000, 1e9)
		w.network.AddL1Validator("examplel1", "absent", 5, 1e9)
		w.network.Disconnect("absent")
		for range 8 {
			time.Sleep(20 * time.Second)
			wantSeries(t, w.page(t, "l1_views"), `avax_l1_connected_weight{node="alpha",chain="examplel1"}`, "1370")
		}
	})
}
