package app_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

var update = flag.Bool("update", false, "write the golden pages anew; read the difference before you keep it")

// The recorded node, and the node without peers.
const (
	recordedNode = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
	// It owns everything on the recorded network.
	recordedAccount = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
	recordedAddress = "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"

	l1Validator = `chain="examplel1",node_id="NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN",validation_id="KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo"`
)

// upgradeOf is a series up to the name of the chain.
const upgradeOf = `avax_chain_upgrade_timestamp_seconds{node="local",chain=`

const gone = -1 // the series must be absent

// For each recorded situation of a real node, /metrics has the values of the recording.
func TestRecordedNodesHaveTheExpectedSeries(t *testing.T) {
	type situation struct {
		name   string
		layers []string
		age    time.Duration
		chains string // AVAX_CHAINS, if it differs
		want   map[string]float64
		none   []string // families that must be absent
	}
	situations := []situation{
		{
			name: "healthy", layers: []string{"healthy"},
			want: map[string]float64{
				`avax_node_up{node="local"}`:                                                 1,
				`avax_node_validating{node="local"}`:                                         1,
				`avax_node_uptime_rewarding_stake_ratio{node="local"}`:                       1,
				`avax_node_uptime_weighted_ratio{node="local"}`:                              0.992004,
				`avax_node_peers{node="local"}`:                                              7,
				`avax_node_chain_bootstrapped{node="local",chain="examplel1"}`:               1,
				`avax_node_connected_stake_ratio{node="local"}`:                              1,
				`avax_validator_present{node_id="` + recordedNode + `"}`:                     1,
				`avax_validator_stake_avax{node_id="` + recordedNode + `"}`:                  2e6,
				`avax_validator_delegators{node_id="` + recordedNode + `"}`:                  2,
				`avax_validator_end_timestamp_seconds{node_id="` + recordedNode + `"}`:       1826297884,
				`avax_acp_stake_avax{node="local",acp="194",position="support"}`:             8005125,
				`avax_l1_validators{chain="examplel1",state="active"}`:                       5,
				`avax_l1_validators{chain="examplepoa",state="legacy"}`:                      3,
				`avax_l1_weight{chain="examplel1"}`:                                          370,
				`avax_l1_connected_weight{node="local",chain="examplel1"}`:                   370,
				`avax_chain_fee_config_min_base_fee_wei{chain="examplel1"}`:                  1e9,
				`avax_upgrade_timestamp_seconds{node="local",upgrade="helicon"}`:             1795198084,
				`avax_network_validators{subnet_id="11111111111111111111111111111111LpoYY"}`: 7,

				`avax_chain_height{node="local",chain="P"}`:                                                                          14,
				`avax_chain_height{node="local",chain="X"}`:                                                                          0,
				`avax_chain_height{node="local",chain="C"}`:                                                                          55,
				`avax_chain_head_timestamp_seconds{node="local",chain="P"}`:                                                          1795198147,
				`avax_chain_head_timestamp_seconds{node="local",chain="X"}`:                                                          gone,
				`avax_chain_head_timestamp_seconds{node="local",chain="C"}`:                                                          1795198163.526,
				`avax_chain_head_base_fee_wei{chain="C"}`:                                                                            1,
				`avax_chain_head_gas_used{chain="examplel1"}`:                                                                        21000,
				`avax_chain_status{node="local",chain="examplel1",status="Validating"}`:                                              1,
				`avax_chain_precompile_active{chain="examplel1",precompile="feeManagerConfig"}`:                                      1,
				`avax_chain_precompile_active{chain="examplel1",precompile="txAllowListConfig"}`:                                     0, // one hour later
				`avax_chain_rule_active{chain="examplel1",rule="IsHelicon"}`:                                                         1,
				upgradeOf + `"examplel1",upgrade="feeManagerConfig:disable"}`:                                                        1795199154,
				upgradeOf + `"C",upgrade="helicon"}`:                                                                                 1795198084,
				`avax_network_supply_avax{subnet_id="11111111111111111111111111111111LpoYY"}`:                                        361177296.012368394,
				`avax_network_blockchains`:                                                                                           4,
				`avax_node_health_check_failing{node="local",check="examplel1"}`:                                                     0,
				`avax_chain_processing_blocks{node="local",chain="examplepoa"}`:                                                      0,
				`avax_node_tx_fee_avax{node="local",kind="tx"}`:                                                                      0.001,
				`avax_platform_balance_avax{address="` + recordedAddress + `",state="unlocked"}`:                                     29994522.89963999,
				`avax_utxos{chain="P",address="` + recordedAddress + `"}`:                                                            2,
				`avax_address_balance_tokens{chain="C",address="` + recordedAccount + `"}`:                                           49999999.998824,
				`avax_address_balance_tokens{chain="examplel1",address="` + recordedAccount + `"}`:                                   99999999.997648,
				`avax_subnet_owner_threshold{subnet_id="` + recorded.L1Subnet + `"}`:                                                 1,
				`avax_subnet_owner_info{subnet_id="` + recorded.L1Subnet + `",address="` + recordedAddress + `"}`:                    1,
				`avax_subnet_info{subnet_id="` + recorded.PoASubnet + `",is_l1="false",manager_blockchain_id="",manager_address=""}`: 1,
				`avax_subnet_info{subnet_id="` + recorded.L1Subnet + `",is_l1="true",manager_blockchain_id="` + recorded.L1Chain +
					`",manager_address="0x0feedc0de0000000000000000000000000000000"}`: 1,
				`avax_node_log_level{node="local",logger="examplel1",output="log",level="INFO"}`: 1,
				`avax_node_chain_alias_info{node="local",chain="X",alias="myxchain"}`:            1,
				`avax_exporter_collector_success{collector="fee_config",target="C"}`:             1, // not offered there
				`avax_exporter_collector_success{collector="chain_rules",target="C"}`:            1,
			},
			none: []string{
				"avax_validator_uptime_ratio", // a node's view of itself
				"avax_node_unknown_upgrade_timestamp_seconds",
				"avax_chain_fork_detected", // no other node to compare with
			},
		},
		{
			name: "bootstrapping", layers: []string{"bootstrapping"},
			want: map[string]float64{
				`avax_node_up{node="local"}`:                                   1,
				`avax_node_validating{node="local"}`:                           0,
				`avax_node_peers{node="local"}`:                                0,
				`avax_node_chain_present{node="local",chain="P"}`:              1,
				`avax_node_chain_present{node="local",chain="X"}`:              1,
				`avax_node_chain_present{node="local",chain="C"}`:              1,
				`avax_node_chain_bootstrapped{node="local",chain="P"}`:         0,
				`avax_node_chain_bootstrapped{node="local",chain="X"}`:         0,
				`avax_node_chain_bootstrapped{node="local",chain="C"}`:         0,
				`avax_node_chain_present{node="local",chain="examplel1"}`:      0,
				`avax_node_chain_bootstrapped{node="local",chain="examplel1"}`: gone,

				`avax_node_health_check_failing{node="local",check="P"}`:                       1,
				`avax_node_health_check_failing{node="local",check="bootstrapped"}`:            1,
				`avax_node_health_check_failing{node="local",check="diskspace"}`:               0,
				`avax_exporter_collector_success{collector="heads",target="local/P"}`:          0,
				`avax_exporter_collector_success{collector="heads",target="local/C"}`:          1, // no head yet
				`avax_exporter_collector_success{collector="identity",target="local"}`:         1, // without fees
				`avax_node_log_level{node="local",logger="main",output="display",level="OFF"}`: 1,
			},
			none: []string{
				"avax_validator_", "avax_network_", "avax_l1_", "avax_chain_", "avax_platform_", "avax_utxos", "avax_asset_",
				"avax_node_uptime_", "avax_node_connected_", "avax_node_tx_fee_",
			},
		},
		{
			name: "start_up_refused", layers: []string{"start_up", "healthy"}, age: time.Second,
			want: map[string]float64{`avax_node_up{node="local"}`: 0},
			none: []string{"avax_node_info", "avax_node_peers", "avax_node_chain_", "avax_validator_", "avax_network_", "avax_l1_", "avax_chain_", "avax_upgrade_"},
		},
		{
			name: "start_up", layers: []string{"start_up", "healthy"}, age: 7 * time.Second,
			want: map[string]float64{
				`avax_node_up{node="local"}`:                           1,
				`avax_node_chain_bootstrapped{node="local",chain="P"}`: 0,
				`avax_node_chain_bootstrapped{node="local",chain="C"}`: 0,
				`avax_node_validating{node="local"}`:                   gone, // not known yet

				`avax_node_health_check_failing{node="local",check="diskspace"}`: 0,
				`avax_node_health_check_failing{node="local",check="C"}`:         gone, // has not run yet
			},
			none: []string{"avax_validator_", "avax_node_uptime_", `avax_chain_height{node="local",chain="P"}`, `avax_chain_height{node="local",chain="C"}`},
		},
		{
			name: "start_up_bootstrapped", layers: []string{"start_up", "healthy"}, age: 20 * time.Second,
			want: map[string]float64{
				`avax_node_chain_bootstrapped{node="local",chain="P"}`:   1,
				`avax_node_validating{node="local"}`:                     1,
				`avax_node_uptime_rewarding_stake_ratio{node="local"}`:   0.2, // only its own stake
				`avax_validator_present{node_id="` + recordedNode + `"}`: 1,
			},
		},
		{
			name: "start_up_done", layers: []string{"start_up", "healthy"}, age: time.Minute,
			want: map[string]float64{`avax_node_uptime_rewarding_stake_ratio{node="local"}`: 1},
		},
		{
			name: "validator_stopped", layers: []string{"validator_stopped", "healthy"},
			want: map[string]float64{
				`avax_node_uptime_rewarding_stake_ratio{node="local"}`: 0.800109,
				`avax_node_uptime_weighted_ratio{node="local"}`:        0.794113,
				`avax_node_peers{node="local"}`:                        6,

				`avax_node_health_check_failing{node="local",check="router"}`:            1,
				`avax_node_health_check_failing{node="local",check="examplepoa"}`:        1,
				`avax_node_health_check_failing{node="local",check="C"}`:                 0,
				`avax_chain_processing_blocks{node="local",chain="examplepoa"}`:          8, // stuck; the other nodes are idle
				`avax_chain_longest_processing_seconds{node="local",chain="examplepoa"}`: 28.855371884,
				`avax_chain_processing_blocks{node="local",chain="examplel1"}`:           0,
			},
		},
		{
			name: "l1_validator_inactive", layers: []string{"l1_validator_inactive", "healthy"},
			want: map[string]float64{
				`avax_l1_validators{chain="examplel1",state="active"}`:             4,
				`avax_l1_validators{chain="examplel1",state="inactive"}`:           1,
				`avax_l1_weight{chain="examplel1"}`:                                370, // its weight stays
				`avax_l1_active_weight{chain="examplel1"}`:                         320,
				`avax_l1_validator_active{` + l1Validator + `}`:                    0,
				`avax_l1_validator_balance_avax{` + l1Validator + `}`:              0,
				`avax_l1_connected_weight{node="local",chain="examplel1"}`:         320,
				`avax_l1_validators{chain="examplepoa",state="legacy"}`:            4,
				`avax_l1_validator_uptime_ratio{node="local",` + l1Validator + `}`: 0.9311065,
			},
		},
		{
			name: "not_tracking", layers: []string{"not_tracking", "healthy"},
			want: map[string]float64{
				`avax_node_chain_present{node="local",chain="examplel1"}`:      0,
				`avax_node_chain_bootstrapped{node="local",chain="examplel1"}`: gone,
				`avax_l1_validators{chain="examplel1",state="active"}`:         5, // the P-Chain still lists them

				`avax_chain_status{node="local",chain="examplel1",status="Created"}`:           1,
				`avax_chain_status{node="local",chain="examplel1",status="Validating"}`:        0,
				`avax_exporter_collector_success{collector="heads",target="local/examplel1"}`:  1, // without a head
				`avax_exporter_collector_success{collector="fee_config",target="examplel1"}`:   1,
				`avax_chain_height{node="local",chain="examplel1"}`:                            gone,
				`avax_node_chain_alias_info{node="local",chain="examplel1",alias="examplel1"}`: gone,
				`avax_exporter_collector_success{collector="chain_config",target="local/C"}`:   1,
				`avax_validator_present{node_id="` + recordedNode + `"}`:                       1,
			},
			none: []string{
				"avax_l1_connected_weight", "avax_l1_validator_connected", "avax_chain_fee_config_",
				"avax_chain_rule_active", "avax_chain_precompile_active",
			},
		},
		{
			name: "admin_disabled", layers: []string{"admin_disabled", "healthy"},
			want: map[string]float64{
				`avax_node_up{node="local"}`:                           1,
				`avax_node_uptime_rewarding_stake_ratio{node="local"}`: 1,

				`avax_exporter_collector_success{collector="admin",target="local"}`: 1, // not offered
			},
			none: []string{"avax_node_log_level", "avax_node_chain_alias_info"},
		},
		{
			name: "partial_sync", layers: []string{"partial_sync"}, chains: "C,examplel1=" + recorded.PartialSyncL1,
			want: map[string]float64{
				`avax_node_up{node="local"}`:                                   1,
				`avax_node_healthy{node="local"}`:                              1,
				`avax_node_partial_sync{node="local"}`:                         1,
				`avax_node_validating{node="local"}`:                           0,
				`avax_node_chain_bootstrapped{node="local",chain="P"}`:         1,
				`avax_node_chain_bootstrapped{node="local",chain="examplel1"}`: 1,
				`avax_node_chain_start_failed{node="local",chain="examplel1"}`: 0,
				// A node with partial sync never runs X and C.
				`avax_node_chain_bootstrapped{node="local",chain="X"}`:                  gone,
				`avax_node_chain_bootstrapped{node="local",chain="C"}`:                  gone,
				`avax_node_chain_present{node="local",chain="C"}`:                       gone,
				`avax_chain_status{node="local",chain="C",status="Created"}`:            1,
				`avax_chain_status{node="local",chain="X",status="Created"}`:            1,
				`avax_chain_status{node="local",chain="examplel1",status="Validating"}`: 1,
				`avax_chain_height{node="local",chain="P"}`:                             27,
				`avax_chain_height{node="local",chain="examplel1"}`:                     3,
				`avax_exporter_collector_success{collector="heads",target="local/C"}`:   1,
			},
			none: []string{`avax_chain_height{node="local",chain="C"}`, `avax_chain_height{node="local",chain="X"}`, "avax_node_tx_fee_avax"},
		},
		{
			name: "vm_cannot_start", layers: []string{"vm_cannot_start"}, chains: "C,examplel1=" + recorded.FailedChain,
			want: map[string]float64{
				`avax_node_up{node="local"}`:                                                  1,
				`avax_node_healthy{node="local"}`:                                             0,
				`avax_node_partial_sync{node="local"}`:                                        0,
				`avax_node_chain_bootstrapped{node="local",chain="C"}`:                        1,
				`avax_node_chain_present{node="local",chain="examplel1"}`:                     0,
				`avax_node_chain_bootstrapped{node="local",chain="examplel1"}`:                gone,
				`avax_node_chain_start_failed{node="local",chain="examplel1"}`:                1,
				`avax_node_health_check_failing{node="local",check="examplel1"}`:              1,
				`avax_node_health_check_failing{node="local",check="C"}`:                      0,
				`avax_chain_status{node="local",chain="examplel1",status="Created"}`:          1,
				`avax_exporter_collector_success{collector="heads",target="local/examplel1"}`: 1,
			},
		},
	}
	const thirdNetwork = "C,poa=" + recorded.FrozenPoA + ",l1b=" + recorded.FrozenL1 + ",l1=" + recorded.StalledL1
	situations = append(situations, situation{
		name: "proposer_healthy", layers: []string{"proposer_healthy"}, chains: thirdNetwork,
		want: map[string]float64{
			`avax_l1_proposers{chain="poa"}`:                                         2,
			`avax_l1_proposers_left{chain="poa"}`:                                    2,
			`avax_l1_proposers_left_ratio{chain="poa"}`:                              1,
			`avax_l1_proposers{chain="l1"}`:                                          3, // without the inactive weight
			`avax_l1_proposers_left{chain="l1"}`:                                     3,
			`avax_l1_proposer_view_height{chain="poa"}`:                              32,
			`avax_l1_proposer_view_timestamp_seconds{chain="poa"}`:                   1795411540,
			`avax_exporter_collector_success{collector="l1_proposers",target="poa"}`: 1,
		},
		none: []string{`avax_l1_proposers{chain="C"}`},
	}, situation{
		// Two validators were replaced without a block in between, and no longer run the chains. No health check shows it.
		name: "proposer_frozen", layers: []string{"proposer_frozen"}, chains: thirdNetwork,
		want: map[string]float64{
			`avax_l1_proposers{chain="poa"}`:                                        2,
			`avax_l1_proposers_left{chain="poa"}`:                                   0,
			`avax_l1_proposers_left_ratio{chain="poa"}`:                             0,
			`avax_node_pool_transactions{node="local",chain="poa",state="pending"}`: 1,
			`avax_l1_proposers_left{chain="l1b"}`:                                   0,
			`avax_l1_proposer_view_height{chain="poa"}`:                             32,
			`avax_node_health_check_failing{node="local",check="poa"}`:              0,
		},
	})
	counts := make([]map[string]int, len(situations)) // series of each family
	for i, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			node := must.Get(recorded.NewNode(s.layers...))(t)
			if s.age > 0 {
				node.SetAge(s.age)
			}
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			env := config.Environment{}
			env["NODES"] = "local=" + server.URL
			env["COLLECTORS"] = "+admin"
			env["WATCH_ADDRESSES"] = recordedAddress + "," + recordedAccount
			env["CHAINS"] = "C,examplel1=" + recorded.L1Chain + ",examplepoa=" + recorded.PoAChain

			if s.chains != "" {
				env["CHAINS"], env["COLLECTORS"] = s.chains, "" // the recordings have no admin calls about these chains
			}
			if s.chains == thirdNetwork {
				env["WATCH_ADDRESSES"] = "" // no calls about addresses
			}
			_, page := start(t, env).get(t, "/metrics")
			for _, call := range node.Unanswered() {
				// Without a recording, the node does not run the chain: 404, as replayed.
				if strings.Contains(call, "/proposervm ") {
					continue // as a node of a release before Granite
				}
				if s.name != "bootstrapping" || !strings.HasPrefix(call, "/ext/bc/"+recorded.L1Chain) && !strings.HasPrefix(call, "/ext/bc/"+recorded.PoAChain) {
					t.Errorf("internal/recorded/%s.jsonl has no answer to %s: add what a real node answers in this situation", s.name, call)
				}
			}
			served := samples(t, page)
			for series, want := range s.want {
				got, present := served[series]
				switch {
				case want == gone && present:
					t.Errorf("%s: %v, want it absent", series, got)
				case want != gone && !present:
					t.Errorf("%s: absent, want %v", series, want)
				case want != gone && got != want:
					t.Errorf("%s: %v, want %v", series, got, want)
				}
			}
			for series := range served {
				for _, family := range s.none {
					if strings.HasPrefix(series, family) {
						t.Errorf("%s exported", series)
					}
				}
				if strings.Contains(series, `outcome="malformed"`) {
					t.Errorf("%s: recorded answer counts as malformed", series)
				}
			}
			counts[i] = map[string]int{}
			for series := range served {
				if family, _, _ := strings.Cut(series, "{"); strings.HasPrefix(family, "avax_") && !strings.HasPrefix(family, "avax_exporter_") {
					counts[i][family]++
				}
			}
		})
	}

	var table strings.Builder
	families := map[string]bool{}
	table.WriteString("The number of series of each family.\n\n")
	for i, s := range situations {
		if counts[i] == nil {
			return // not all situations were selected
		}
		fmt.Fprintf(&table, "%2d %s\n", i+1, s.name)
		for family := range counts[i] {
			families[family] = true
		}
	}
	line := func(family string, cell func(i int) int) {
		fmt.Fprintf(&table, "\n%-50s", family)
		for i := range situations {
			fmt.Fprintf(&table, "%3s", strconv.Itoa(cell(i)))
		}
	}
	line("", func(i int) int { return i + 1 })
	for _, family := range slices.Sorted(maps.Keys(families)) {
		line(family, func(i int) int { return counts[i][family] })
	}
	testworld.Golden(t, *update, filepath.Join("testdata", "recorded.txt"), table.String()+"\n", "go test ./internal/app -update")
}

// AVAX_CHAINS=auto discovers the L1 of a node with partial sync, and the L1 that a node could not start, and calls for them at once.
func TestTrackedChainsOfRecordedNodesAreDiscovered(t *testing.T) {
	for situation, want := range map[string]string{
		"partial_sync":    `avax_node_chain_start_failed{node="local",chain="examplel1"} 0`,
		"vm_cannot_start": `avax_node_chain_start_failed{node="local",chain="examplel1"} 1`,
	} {
		t.Run(situation, func(t *testing.T) {
			node := must.Get(recorded.NewNode(situation))(t)
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			env := config.Environment{}
			env["NODES"], env["CHAINS"] = "local="+server.URL, "auto"
			start(t, env).until(t, "/metrics", func(_ int, page string) bool {
				return strings.Contains(page, want) && strings.Contains(page, `avax_chain_info{chain="examplel1"`) &&
					strings.Contains(page, `avax_node_chain_present{node="local",chain="examplel1"}`)
			})
		})
	}
}
