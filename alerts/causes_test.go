package alerts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A cause begins after 20 minutes and ends after 70. Each cause is at a fleet of its own, and the rules join within a job.
const (
	causeBegins = 20
	causeEnds   = 70
	causeLength = 120
)

// fleet is a job with nodes that validate the primary network and the L1 "dex". Half of the L1's weight, and most of the stake, is others'.
type fleet struct {
	job    string
	n      int
	series map[string]string
}

func name(i int) string                 { return fmt.Sprintf("n%02d", i) }
func (f *fleet) id(i int) string        { return fmt.Sprintf("NodeID-%s-%02d", f.job, i) }
func (f *fleet) all(each func(i int))   { f.first(f.n, each) }
func (f *fleet) owner(i int) string     { return []string{"zoe", "adam"}[i%2] }
func (f *fleet) always(s, v string)     { f.series[s] = fmt.Sprintf("%sx%d", v, causeLength) }
func (f *fleet) rises(s string, by int) { f.series[s] = fmt.Sprintf("1000+%dx%d", by, causeLength) }

func (f *fleet) first(n int, each func(i int)) {
	for i := 1; i <= min(n, f.n); i++ {
		each(i)
	}
}

// is sets a value while the cause lasts.
func (f *fleet) is(series, value string) {
	before := "_"
	if known := f.series[series]; known != "" {
		before, _, _ = strings.Cut(known, "x")
	}
	f.series[series] = fmt.Sprintf("%sx%d %sx%d %sx%d", before, causeBegins-1, value, causeEnds-causeBegins-1, before, causeLength-causeEnds)
	if before == "_" {
		f.series[series] = fmt.Sprintf("_x%d %sx%d stale", causeBegins, value, causeEnds-causeBegins-1)
	}
}

// becomes sets a value from the cause on.
func (f *fleet) becomes(series, value string) {
	before, _, _ := strings.Cut(f.series[series], "x")
	f.series[series] = fmt.Sprintf("%sx%d %sx%d", before, causeBegins-1, value, causeLength-causeBegins)
}

// stands ends the rise of a counter while the cause lasts.
func (f *fleet) stands(series string, by int) {
	at := 1000 + by*causeBegins
	f.series[series] = fmt.Sprintf("1000+%dx%d %dx%d %d+%dx%d", by, causeBegins-1, at, causeEnds-causeBegins-1, at, by, causeLength-causeEnds)
}

var evaluationsBegin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a value that is a time after the beginning.
func at(d time.Duration) string { return fmt.Sprint(evaluationsBegin.Add(d).Unix()) }

const day = 24 * time.Hour

// newFleet returns a healthy fleet.
func newFleet(job string, n int) *fleet {
	f := &fleet{job: job, n: n, series: map[string]string{}}
	for s, v := range map[string]string{
		`avax_exporter_targets`: fmt.Sprint(n), `up`: "1", `avax_exporter_overload`: "0", `avax_data_up`: "1",
		`avax_l1_weight{chain="dex"}`: fmt.Sprint(200 * n), `avax_l1_active_weight{chain="dex"}`: fmt.Sprint(200 * n),
		`avax_l1_validators{chain="dex",state="active"}`:                                                 fmt.Sprint(2 * n),
		`avax_network_stake_avax{subnet_id="11111111111111111111111111111111LpoYY"}`:                     "10000000",
		`avax_network_delegated_stake_avax{subnet_id="11111111111111111111111111111111LpoYY"}`:           "10000000",
		`avax_l1_proposers{chain="dex"}`:                                                                 "5",
		`avax_l1_proposers_left{chain="dex"}`:                                                            "5",
		`avax_l1_proposers_left_ratio{chain="dex"}`:                                                      "1",
		`avax_subnet_info{subnet_id="sub",is_l1="true",manager_blockchain_id="b",manager_address="0x1"}`: "1",
		`avax_subnet_owner_info{subnet_id="sub",address="fuji1a"}`:                                       "1", `avax_subnet_owner_threshold{subnet_id="sub"}`: "1",
		`avax_chain_info{chain="dex",subnet_id="sub"}`:                   "1",
		`avax_chain_fee_config_last_changed_block{chain="dex"}`:          "7",
		`avax_validator_present{node_id="NodeID-watched"}`:               "1",
		`avax_validator_stake_avax{node_id="NodeID-watched"}`:            "2000",
		`avax_validator_end_timestamp_seconds{node_id="NodeID-watched"}`: at(200 * day),
		`avax_l1_validator_active{chain="dex",node_id="NodeID-other"}`:   "1",
		`avax_l1_validator_weight{chain="dex",node_id="NodeID-other"}`:   "20",
		`avax_address_balance_tokens{chain="C",address="0xa"}`:           "100",
		`avax_platform_balance_avax{address="P-a",state="unlocked"}`:     "10000",
	} {
		f.always(s, v)
	}
	f.all(func(i int) {
		own := map[string]string{
			`avax_node_up{node="%[1]s"}`: "1", `avax_node_identity_info{node="%[1]s",node_id="%[2]s",bls_public_key="k"}`: "1",
			`avax_node_connected_stake_ratio{node="%[1]s"}`: "0.99", `avax_node_disk_free_ratio{node="%[1]s"}`: "0.6",
			`avax_node_disk_free_bytes{node="%[1]s"}`: "600000000000", `avax_node_peers{node="%[1]s"}`: "100", `avax_node_peers_inbound{node="%[1]s"}`: "50",
			`avax_node_validating{node="%[1]s"}`: "1", `avax_node_uptime_rewarding_stake_ratio{node="%[1]s"}`: "0.98",
			`avax_node_health_check_failing{node="%[1]s",check="network"}`: "0", `avax_node_health_check_failing{node="%[1]s",check="C"}`: "0",
			`avax_node_address_info{node="%[1]s",ip="192.0.2.1"}`: "1", `avax_node_network_mismatch{node="%[1]s"}`: "0",
			`avax_node_probe_duration_seconds{node="%[1]s"}`: "0.1", `avax_node_labels{node="%[1]s",owner="` + f.owner(i) + `"}`: "1",
			`avax_node_info{node="%[1]s",network_id="1",version="1.15.0"}`: "1",
			`avax_node_newer_version_stake_ratio{node="%[1]s"}`:            "0.01", `avax_node_identity_changes_total{node="%[1]s"}`: "0",
			`avax_validator_present{node_id="%[2]s"}`: "1", `avax_validator_stake_avax{node_id="%[2]s"}`: "2000",
			`avax_validator_delegated_stake_avax{node_id="%[2]s"}`:  "0",
			`avax_validator_potential_reward_avax{node_id="%[2]s"}`: "55", `avax_validator_end_timestamp_seconds{node_id="%[2]s"}`: at(200 * day),
			`avax_validator_start_timestamp_seconds{node_id="%[2]s"}`: at(-100 * day), `avax_validator_reward_reachable{node_id="%[2]s"}`: "1",
			`avax_validator_downtime_budget_seconds{node_id="%[2]s"}`: "1000000", `avax_validator_views_stake_ratio{node_id="%[2]s"}`: "1",
			`avax_validator_downtime_used_seconds{node_id="%[2]s"}`: "1000",
			`avax_l1_validator_active{chain="dex",node_id="%[2]s"}`: "1", `avax_l1_validator_weight{chain="dex",node_id="%[2]s"}`: "100",
			`avax_l1_validator_balance_avax{chain="dex",node_id="%[2]s"}`: "100", `avax_l1_validator_burn_avax_per_day{chain="dex",node_id="%[2]s"}`: "1",
			`avax_l1_connected_weight{node="%[1]s",chain="dex"}`: fmt.Sprint(200 * f.n), `avax_chain_fork_detected{node="%[1]s",chain="C"}`: "0",
			`avax_exporter_collector_success{collector="heads",target="%[1]s/C"}`: "1", `avax_chain_processing_blocks{node="%[1]s",chain="C"}`: "0",
		}
		for _, chain := range []string{"P", "X", "C", "dex"} {
			own[`avax_node_chain_bootstrapped{node="%[1]s",chain="`+chain+`"}`] = "1"
			own[`avax_node_chain_present{node="%[1]s",chain="`+chain+`"}`] = "1"
			own[`avax_node_peers_benched{node="%[1]s",chain="`+chain+`"}`] = "0"
		}
		for series, value := range own {
			f.always(f.of(series, i), value)
		}
		f.first(3, func(viewer int) {
			f.always(fmt.Sprintf(`avax_validator_connected{node=%q,node_id=%q}`, name(viewer), f.id(i)), "1")
		})
		f.always(fmt.Sprintf(`avax_validator_connected{node=%q,node_id="NodeID-watched"}`, name(i)), "1")
		for _, chain := range []string{"P", "C", "dex"} {
			f.rises(f.of(`avax_chain_height{node="%[1]s",chain="`+chain+`"}`, i), 30)
			f.series[f.of(`avax_chain_head_timestamp_seconds{node="%[1]s",chain="`+chain+`"}`, i)] = at(0) + fmt.Sprintf("+60x%d", causeLength)
		}
	})
	return f
}

// observer adds an observer that follows C.
func (f *fleet) observer() {
	f.always(`avax_observer_info{node="pub"}`, "1")
	f.always(`avax_observer_up{node="pub"}`, "1")
	f.rises(`avax_chain_height{node="pub",chain="C"}`, 30)
}

// of fills in the name and the ID of a node.
func (f *fleet) of(series string, i int) string {
	return strings.NewReplacer("%[1]s", name(i), "%[2]s", f.id(i)).Replace(series)
}

// node sets a value of a node while the cause lasts.
func (f *fleet) node(i int, series, value string) { f.is(f.of(series, i), value) }

// dies ends the answers of nodes.
func (f *fleet) dies(nodes ...int) {
	for _, i := range nodes {
		for series, values := range f.series {
			if strings.HasPrefix(series, "avax_node_") && strings.Contains(series, fmt.Sprintf("node=%q", name(i))) && !strings.HasPrefix(series, "avax_node_labels") ||
				strings.HasPrefix(series, "avax_chain_") && strings.Contains(series, fmt.Sprintf("node=%q", name(i))) ||
				strings.HasPrefix(series, "avax_l1_connected_weight{") && strings.Contains(series, fmt.Sprintf("node=%q", name(i))) {
				f.series[series] = away(values)
			}
		}
		f.node(i, `avax_node_up{node="%[1]s"}`, "0")
		f.series[f.of(`avax_node_up{node="%[1]s"}`, i)] = fmt.Sprintf("1x%d 0x%d 1x%d", causeBegins-1, causeEnds-causeBegins-1, causeLength-causeEnds)
		f.first(3, func(viewer int) {
			f.is(fmt.Sprintf(`avax_validator_connected{node=%q,node_id=%q}`, name(viewer), f.id(i)), "0")
		})
		f.is(fmt.Sprintf(`avax_exporter_collector_success{collector="heads",target="%s/C"}`, name(i)), "0")
	}
}

// rename gives a node another name in the configuration, from the cause on.
func (f *fleet) rename(i int, to string) {
	renamed := strings.NewReplacer(fmt.Sprintf("node=%q", name(i)), fmt.Sprintf("node=%q", to), `target="`+name(i)+"/", `target="`+to+"/")
	for series, values := range maps.Clone(f.series) {
		other := renamed.Replace(series)
		if other == series {
			continue
		}
		before, _, _ := strings.Cut(values, "x")
		f.series[series] = fmt.Sprintf("%sx%d stale", before, causeBegins-1)
		if start, by, rises := strings.Cut(before, "+"); rises {
			from, _ := strconv.Atoi(start)
			step, _ := strconv.Atoi(by)
			before = fmt.Sprintf("%d+%s", from+step*causeBegins, by)
		}
		f.series[other] = fmt.Sprintf("_x%d %sx%d", causeBegins, before, causeLength-causeBegins)
	}
}

// leaves takes a node out of the validator set: no node lists it.
func (f *fleet) leaves(i int) {
	f.node(i, `avax_validator_present{node_id="%[2]s"}`, "0")
	f.node(i, `avax_node_validating{node="%[1]s"}`, "0")
	f.first(3, func(viewer int) {
		view := fmt.Sprintf(`avax_validator_connected{node=%q,node_id=%q}`, name(viewer), f.id(i))
		f.series[view] = away(f.series[view])
	})
}

// weight sets the connected weight of the L1 that the first nodes do not see.
func (f *fleet) weight(ratio float64, nodes ...int) {
	for _, i := range nodes {
		f.node(i, `avax_l1_connected_weight{node="%[1]s",chain="dex"}`, fmt.Sprint(ratio*200*float64(f.n)))
	}
}

// upTo returns the numbers of the first nodes.
func (f *fleet) upTo(n int) (nodes []int) {
	f.first(n, func(i int) { nodes = append(nodes, i) })
	return nodes
}

// cause is what happens to a fleet. It sends exactly these notifications, and their ends: severity, alert and scope, and what their texts must name.
// With "stays", the alert lasts longer than the test.
type cause struct {
	name  string
	least int // the smallest fleet to which it happens
	begin func(f *fleet)
	want  func(f *fleet) []string
}

// sends is what fleets of all sizes send.
func sends(all ...string) func(*fleet) []string {
	return func(*fleet) []string { return slices.Clone(all) }
}

// bySize is what a single node sends, and what more do.
func bySize(one, several []string) func(*fleet) []string {
	return func(f *fleet) []string {
		if f.n == 1 {
			return one
		}
		return several
	}
}

// away leaves out the samples while the cause lasts.
func away(values string) string {
	first, _, _ := strings.Cut(values, "x")
	if start, by, rises := strings.Cut(first, "+"); rises {
		from, _ := strconv.Atoi(start)
		step, _ := strconv.Atoi(by)
		return fmt.Sprintf("%sx%d stale _x%d %d+%sx%d", first, causeBegins-1, causeEnds-causeBegins-1, from+step*causeEnds, by, causeLength-causeEnds)
	}
	return fmt.Sprintf("%sx%d stale _x%d %sx%d", first, causeBegins-1, causeEnds-causeBegins-1, first, causeLength-causeEnds)
}

var causes = []cause{
	{"a node dies", 1, func(f *fleet) { f.dies(1) }, sends("page AvaxNodeDown: n01|55 AVAX")},
	{"two nodes die", 5, func(f *fleet) { f.dies(1, 2) }, sends("page AvaxNodeDown: n01", "page AvaxNodeDown: n02")},
	{"a rack of three nodes dies", 5, func(f *fleet) { f.dies(1, 2, 3); f.weight(1-1.5/float64(f.n), f.upTo(f.n)[3:]...) }, func(f *fleet) []string {
		if f.n == 5 {
			return []string{"page AvaxNodeDown several: 3 of 5|n01|n02|n03|dex"}
		}
		return []string{"page AvaxNodeDown several: 3 of 30|n01|n02|n03"}
	}},
	{"all nodes die", 5, func(f *fleet) { f.dies(f.upTo(f.n)...) }, sends("page AvaxNodeDown several: n01|n05")},
	{"a node is cut off", 1, func(f *fleet) {
		f.node(1, `avax_node_connected_stake_ratio{node="%[1]s"}`, "0.1")
		f.node(1, `avax_node_uptime_rewarding_stake_ratio{node="%[1]s"}`, "0.1")
		f.node(1, `avax_node_peers{node="%[1]s"}`, "3")
		f.node(1, `avax_node_peers_inbound{node="%[1]s"}`, "0")
		f.node(1, `avax_node_health_check_failing{node="%[1]s",check="network"}`, "1")
		f.weight(0.1, 1)
	}, sends("page AvaxConnectedStakeLow: n01|10 %")},
	{"all nodes are cut off", 1, func(f *fleet) {
		f.all(func(i int) {
			f.node(i, `avax_node_connected_stake_ratio{node="%[1]s"}`, "0.1")
			f.node(i, `avax_node_uptime_rewarding_stake_ratio{node="%[1]s"}`, "0.1")
			f.node(i, `avax_node_peers{node="%[1]s"}`, "3")
			f.node(i, `avax_node_health_check_failing{node="%[1]s",check="network"}`, "1")
			f.node(i, `avax_node_peers_inbound{node="%[1]s"}`, "0")
			f.weight(0.1, i)
		})
	}, bySize([]string{"page AvaxConnectedStakeLow: n01|10 %"}, []string{"page AvaxConnectedStakeLow all: nodes"})},
	{"a chain does not start after a restart", 1, func(f *fleet) {
		f.node(1, `avax_node_chain_bootstrapped{node="%[1]s",chain="C"}`, "0")
		f.node(1, `avax_node_health_check_failing{node="%[1]s",check="C"}`, "1")
	}, sends("page AvaxChainNotBootstrapped: n01|C")},
	{"a host of nodes bootstraps its L1 again", 5, func(f *fleet) {
		f.first(4, func(i int) { f.node(i, `avax_node_chain_bootstrapped{node="%[1]s",chain="dex"}`, "0") })
		f.weight(0.1, f.upTo(4)...)
	}, sends("page AvaxChainNotBootstrapped: n01|n04|dex")},
	{"a VM stops", 1, func(f *fleet) {
		f.is(`avax_exporter_collector_success{collector="heads",target="n01/C"}`, "0")
		f.node(1, `avax_node_health_check_failing{node="%[1]s",check="C"}`, "1")
	}, sends("page AvaxChainMissing: n01|C")},
	{"a node stands still", 1, func(f *fleet) { f.stop("C", 1) }, bySize(
		[]string{"page AvaxHeadStale: n01|C|cannot tell whether the chain halted"},
		[]string{"page AvaxHeadStale: n01|C|the fault is at n01", "warn AvaxHeadLag: n01|C"},
	)},
	{"a node stands still after an upgrade, and an observer does not", 1, func(f *fleet) {
		f.observer()
		f.stop("C", 1)
		known := f.of(`avax_node_info{node="%[1]s",network_id="1",version="1.15.0"}`, 1)
		f.series[known] = fmt.Sprintf("1x%d stale", causeBegins-1)
		f.node(1, `avax_node_info{node="%[1]s",network_id="1",version="1.15.3"}`, "1")
	}, sends("page AvaxHeadStale: n01|C|the fault is at n01|version of n01 changed", "warn AvaxHeadLag: n01|C")},
	{"a chain halts", 1, func(f *fleet) { f.stop("C", f.upTo(f.n)...) }, bySize(
		[]string{"page AvaxHeadStale: n01|C|cannot tell whether the chain halted"}, []string{"page AvaxHeadStale all: C|Do not restart nodes"},
	)},
	{"a chain halts, and an observer sees it", 1, func(f *fleet) {
		f.observer()
		f.stop("C", f.upTo(f.n)...)
		f.stands(`avax_chain_height{node="pub",chain="C"}`, 30)
	}, bySize(
		[]string{"page AvaxHeadStale: n01|C|pub: no newer block either|Do not restart the node"},
		[]string{"page AvaxHeadStale all: C|pub (not yours): no newer block|Do not restart nodes"},
	)},
	{"most nodes stand still, and two go on", 5, func(f *fleet) {
		f.stop("C", f.upTo(f.n-2)...)
		f.stands(`avax_chain_agreed_height{chain="C"}`, 30)
	}, func(f *fleet) []string {
		ahead := name(f.n-1) + "|" + name(f.n)
		return []string{"page AvaxHeadStale: n01|C|have newer blocks, and most nodes do not|" + ahead, "warn AvaxNodeContradicted: " + ahead}
	}},
	{"the nodes lose a chain that an observer has", 5, func(f *fleet) {
		f.observer()
		f.stop("C", f.upTo(f.n)...)
	}, sends("page AvaxHeadStale all: C|your nodes have a fault in common", "warn AvaxHeadLag: n01|n05|C")},
	{"an idle L1 halts, and transactions wait", 1, func(f *fleet) {
		f.all(func(i int) {
			f.always(f.of(`avax_chain_height{node="%[1]s",chain="idle"}`, i), "7")
			f.always(f.of(`avax_chain_head_timestamp_seconds{node="%[1]s",chain="idle"}`, i), at(-3*time.Hour))
			f.always(f.of(`avax_node_pool_transactions{node="%[1]s",chain="idle",state="pending"}`, i), "0")
			f.node(i, `avax_node_pool_transactions{node="%[1]s",chain="idle",state="pending"}`, "3")
		})
	}, bySize(
		[]string{"warn AvaxTransactionsWait: n01|idle", "page AvaxHeadStale: n01|idle"},
		[]string{"warn AvaxTransactionsWait: n01|n05|idle", "page AvaxHeadStale all: idle"},
	)},
	{"a node forks", 1, func(f *fleet) { f.node(1, `avax_chain_fork_detected{node="%[1]s",chain="C"}`, "1") }, sends("page AvaxForkDetected: n01|C")},
	{"a disk fills up", 1, func(f *fleet) { f.node(1, `avax_node_disk_free_ratio{node="%[1]s"}`, "0.04") }, sends("page AvaxNodeDiskLow: n01|4 %")},
	{"the volume of all nodes fills up", 1, func(f *fleet) {
		f.all(func(i int) { f.node(i, `avax_node_disk_free_ratio{node="%[1]s"}`, "0.04") })
	}, func(f *fleet) []string { return []string{fmt.Sprintf("page AvaxNodeDiskLow: n01|%s|4 %%", name(f.n))} }},
	{"all nodes bench a quarter of their peers", 1, func(f *fleet) {
		f.all(func(i int) { f.node(i, `avax_node_peers_benched{node="%[1]s",chain="C"}`, "25") })
	}, func(f *fleet) []string {
		return []string{fmt.Sprintf("page AvaxBenchedPeersHigh: n01|%s|25 %%", name(f.n))}
	}},
	{"a node has another key", 1, func(f *fleet) {
		known := f.of(`avax_node_identity_info{node="%[1]s",node_id="%[2]s",bls_public_key="k"}`, 1)
		f.series[known] = away(f.series[known])
		f.node(1, `avax_node_identity_info{node="%[1]s",node_id="NodeID-new",bls_public_key="l"}`, "1")
	}, sends("page AvaxNodeIdentityChanged: n01")},
	{"a node is started twice", 5, func(f *fleet) {
		for _, key := range []int{1, 2} {
			f.node(key, `avax_node_duplicate{node="%[1]s"}`, "1")
		}
		own := f.of(`avax_node_identity_info{node="%[1]s",node_id="%[2]s",bls_public_key="k"}`, 2)
		f.series[own] = away(f.series[own])
		f.is(fmt.Sprintf(`avax_node_identity_info{node="n02",node_id=%q,bls_public_key="k"}`, f.id(1)), "1")
	}, sends("page AvaxNodeIdentityChanged: n01|n02")},
	{"a node is on the wrong network", 1, func(f *fleet) {
		f.node(1, `avax_node_network_mismatch{node="%[1]s"}`, "1")
		f.node(1, `avax_node_connected_stake_ratio{node="%[1]s"}`, "0")
	}, sends("page AvaxNodeIdentityChanged: n01|network")},
	{"a node has another address", 1, func(f *fleet) {
		f.series[f.of(`avax_node_address_info{node="%[1]s",ip="192.0.2.1"}`, 1)] = away(f.series[f.of(`avax_node_address_info{node="%[1]s",ip="192.0.2.1"}`, 1)])
		f.node(1, `avax_node_address_info{node="%[1]s",ip="192.0.2.9"}`, "1")
	}, sends("warn AvaxNodeAddressChanged: n01|192.0.2.9")},
	{"an own validator leaves early", 1, func(f *fleet) { f.leaves(1) }, sends("page AvaxValidatorMissing: n01")},
	{"one list lacks a validator for a quarter of an hour", 1, func(f *fleet) {
		f.series[f.of(`avax_validator_present{node_id="%[2]s"}`, 1)] = fmt.Sprintf("1x%d 0x15 1x%d", causeBegins-1, causeLength)
	}, sends()},
	{"a list of messages is wrong for twelve minutes", 1, func(f *fleet) {
		values := fmt.Sprintf("_x%d %sx13 stale", causeBegins, at(-time.Hour))
		f.series[`avax_icm_oldest_pending_timestamp_seconds{address="0x1",source="C",destination="dex"}`] = values
		f.series[`avax_icm_oldest_message_timestamp_seconds{address="0x1",source="C",destination="dex",status="pending",why="waiting",message="m",block=""}`] = values
	}, sends()},
	{"no VM plugin starts", 1, func(f *fleet) {
		f.all(func(i int) { f.node(i, `avax_node_chain_bootstrapped{node="%[1]s",chain="dex"}`, "0") })
		f.is(`avax_l1_proposers_left{chain="dex"}`, "0")
		f.is(`avax_l1_proposers_left_ratio{chain="dex"}`, "0")
		f.stop("dex", f.upTo(f.n)...)
	}, func(f *fleet) []string {
		return []string{"page AvaxL1ProposersLow: dex|not bootstrapped on|n01|" + name(f.n)}
	}},
	{"an idle L1 halts, and its nodes receive the transactions one after the other", 5, func(f *fleet) {
		f.all(func(i int) {
			f.always(f.of(`avax_chain_height{node="%[1]s",chain="idle"}`, i), "7")
			f.always(f.of(`avax_chain_head_timestamp_seconds{node="%[1]s",chain="idle"}`, i), at(-3*time.Hour))
			waits := causeBegins + min(i, 8)
			f.series[f.of(`avax_node_pool_transactions{node="%[1]s",chain="idle",state="pending"}`, i)] =
				fmt.Sprintf("0x%d 3x%d 0x%d", waits-1, causeEnds-waits-1, causeLength-causeEnds)
		})
	}, sends("warn AvaxTransactionsWait: n01|n05|idle", "page AvaxHeadStale all: idle")},
	{"the period of a validator ends", 1, func(f *fleet) {
		f.always(f.of(`avax_validator_end_timestamp_seconds{node_id="%[2]s"}`, 1), at(20*time.Minute))
		f.leaves(1)
	}, sends("warn AvaxValidatorMissing: n01", "warn AvaxStakeEndsSoon: n01")},
	{"a watched validator is disconnected", 5, func(f *fleet) {
		f.all(func(i int) {
			f.is(fmt.Sprintf(`avax_validator_connected{node=%q,node_id="NodeID-watched"}`, name(i)), "0")
		})
	}, sends("page AvaxValidatorDisconnected: NodeID-watched")},
	{"nobody would vote for a reward", 1, func(f *fleet) {
		f.node(1, `avax_node_uptime_rewarding_stake_ratio{node="%[1]s"}`, "0.4")
		f.always(f.of(`avax_validator_downtime_used_seconds{node_id="%[2]s"}`, 1), "400000")
	}, sends("page AvaxRewardStakeLow: n01|40 %")},
	{"the reward is lost", 1, func(f *fleet) {
		f.node(1, `avax_validator_reward_reachable{node_id="%[2]s"}`, "0")
	}, sends("page AvaxRewardUnreachable: n01|55")},
	{"half of the downtime is used", 1, func(f *fleet) {
		f.node(1, `avax_validator_downtime_used_seconds{node_id="%[2]s"}`, "800000")
	}, sends("warn AvaxDowntimeBudgetLow: n01|80 %")},
	{"a balance ends", 1, func(f *fleet) {
		f.node(1, `avax_l1_validator_active{chain="dex",node_id="%[2]s"}`, "0")
		f.node(1, `avax_l1_validator_balance_avax{chain="dex",node_id="%[2]s"}`, "0")
	}, sends("page AvaxL1ValidatorInactive: n01|dex")},
	{"a balance lasts for a day", 1, func(f *fleet) {
		f.node(1, `avax_l1_validator_balance_avax{chain="dex",node_id="%[2]s"}`, "0.9")
	}, sends("page AvaxL1RunwayLow: n01|dex")},
	{"all balances last for a day", 1, func(f *fleet) {
		f.all(func(i int) { f.node(i, `avax_l1_validator_balance_avax{chain="dex",node_id="%[2]s"}`, "0.9") })
	}, func(f *fleet) []string { return []string{fmt.Sprintf("page AvaxL1RunwayLow: n01|%s|dex", name(f.n))} }},
	{"a balance lasts for five days", 1, func(f *fleet) {
		f.node(1, `avax_l1_validator_balance_avax{chain="dex",node_id="%[2]s"}`, "5")
	}, sends("page AvaxL1RunwayLow: n01|dex")},
	{"others of an L1 are lost", 1, func(f *fleet) { f.weight(0.6, f.upTo(f.n)...) }, sends("page AvaxL1ConnectedWeightLow: dex|60 %")},
	{"one node does not see an L1's validators", 5, func(f *fleet) { f.weight(0.6, 1) }, sends("page AvaxL1ConnectedWeightLow node: n01|dex|60 %")},
	{"a third of an L1 becomes inactive", 1, func(f *fleet) {
		f.is(`avax_l1_active_weight{chain="dex"}`, fmt.Sprint(130*f.n))
		f.weight(0.65, f.upTo(f.n)...)
	}, sends("page AvaxL1ConnectedWeightLow: dex|65 %")},
	{"an L1 ends in two days", 1, func(f *fleet) {
		f.is(`avax_l1_quorum_loss_seconds{chain="dex",quorum="0.80"}`, "170000")
	}, sends("page AvaxL1QuorumLossForecast: dex")},
	{"no validator can build", 1, func(f *fleet) {
		f.is(`avax_l1_proposers_left{chain="dex"}`, "0")
		f.is(`avax_l1_proposers_left_ratio{chain="dex"}`, "0")
		f.all(func(i int) { f.stands(f.of(`avax_chain_height{node="%[1]s",chain="dex"}`, i), 30) })
	}, sends("page AvaxL1ProposersLow: dex")},
	{"one validator can build", 1, func(f *fleet) { f.is(`avax_l1_proposers_left{chain="dex"}`, "1") }, sends("warn AvaxL1ProposersLow: dex")},
	{"the owner of an L1 changes", 1, func(f *fleet) {
		f.series[`avax_subnet_owner_info{subnet_id="sub",address="fuji1a"}`] = fmt.Sprintf("1x%d stale", causeBegins-1)
		f.series[`avax_subnet_owner_info{subnet_id="sub",address="fuji1b"}`] = fmt.Sprintf("_x%d 1x%d", causeBegins, causeLength-causeBegins)
	}, sends("page AvaxL1OwnerChanged stays: dex")},
	{"the fees of an L1 change", 1, func(f *fleet) {
		f.becomes(`avax_chain_fee_config_last_changed_block{chain="dex"}`, "9")
	}, sends("warn AvaxFeeConfigChanged: dex")},
	{"an upgrade ends the fee manager of an L1", 1, func(f *fleet) {
		f.becomes(`avax_chain_fee_config_last_changed_block{chain="dex"}`, "0")
	}, sends("warn AvaxFeeConfigChanged: dex|ended the fee manager")},
	{"an upgrade is unknown", 1, func(f *fleet) {
		f.all(func(i int) { f.node(i, `avax_node_unknown_upgrade_timestamp_seconds{node="%[1]s"}`, at(20*time.Hour)) })
	}, sends("page AvaxUnknownUpgradeSoon all: n01")},
	{"the Data service is away", 1, func(f *fleet) { f.is(`avax_data_up`, "0") }, sends("warn AvaxDataServiceDown: Data service")},
	{"the exporter is lost", 1, func(f *fleet) {
		for series, values := range f.series {
			f.series[series] = away(values)
		}
		f.always("up", "1")
		f.is("up", "0")
	}, func(f *fleet) []string {
		if f.n == 30 {
			return []string{"page AvaxExporterDown: 30 nodes"}
		}
		return []string{"page AvaxExporterDown: n01"}
	}},
	{"the exporter is too slow", 1, func(f *fleet) {
		f.is("avax_exporter_overload", "1")
		f.all(func(i int) {
			f.series[f.of(`avax_node_up{node="%[1]s"}`, i)] = away(f.series[f.of(`avax_node_up{node="%[1]s"}`, i)])
		})
	}, sends("page AvaxExporterDown: too slow")},
	{"a node answers slowly", 1, func(f *fleet) { f.node(1, `avax_node_probe_duration_seconds{node="%[1]s"}`, "4") }, sends("warn AvaxNodeSlow: n01")},
	{"a health check fails", 1, func(f *fleet) {
		f.node(1, `avax_node_health_check_failing{node="%[1]s",check="bls"}`, "1")
	}, sends("warn AvaxHealthCheckFailing: n01|bls")},
	{"no inbound peers", 1, func(f *fleet) { f.node(1, `avax_node_peers_inbound{node="%[1]s"}`, "0") }, sends("warn AvaxNoInboundPeers: n01")},
	{"few peers", 1, func(f *fleet) { f.node(1, `avax_node_peers{node="%[1]s"}`, "20") }, sends("warn AvaxPeersLow: n01|20")},
	{"an observer is away", 1, func(f *fleet) {
		f.observer()
		f.is(`avax_observer_up{node="pub"}`, "0")
	}, sends()},
	{"a signature probe fails", 1, func(f *fleet) {
		f.is(`avax_signature_aggregation_up{probe="p"}`, "0")
	}, sends("warn AvaxSignatureAggregationFailing: p")},
	{"messages wait", 1, func(f *fleet) {
		f.is(`avax_icm_oldest_pending_timestamp_seconds{address="0x1",source="C",destination="dex"}`, at(0))
		f.is(`avax_icm_oldest_message_timestamp_seconds{address="0x1",source="C",destination="dex",status="pending",why="waiting",message="m",block="7"}`, at(0))
	}, sends("warn AvaxICMUndelivered: C|dex", "page AvaxICMUndelivered: C|dex")},
	{"one message is never delivered, and no other one is sent", 1, func(f *fleet) {
		f.is(`avax_icm_oldest_pending_timestamp_seconds{address="0x1",source="C",destination="dex"}`, at(0))
		f.is(`avax_icm_oldest_message_timestamp_seconds{address="0x1",source="C",destination="dex",status="pending",why="fee",message="m",block="7"}`, at(0))
	}, sends("warn AvaxICMUndelivered: C|dex")},
	{"the call of a message fails", 1, func(f *fleet) {
		f.is(`avax_icm_oldest_message_timestamp_seconds{address="0x1",source="C",destination="dex",status="execution_failed",why="",message="m",block="7"}`, at(0))
	}, sends("warn AvaxICMExecutionFailed: C|dex")},
	{"the Data service has another status of messages than the chains", 1, func(f *fleet) {
		f.is(`avax_icm_contradicted_messages{address="0x1"}`, "2")
	}, sends("warn AvaxDataServiceStale: 0x1")},
	{"a wallet is empty", 1, func(f *fleet) {
		f.is(`avax_address_balance_tokens{chain="C",address="0xa"}`, "0")
	}, sends("warn AvaxWalletRunsDry: 0xa|empty")},
	{"a node with half of an L1 is cut off", 5, func(f *fleet) {
		f.always(f.of(`avax_l1_validator_weight{chain="dex",node_id="%[2]s"}`, 1), fmt.Sprint(100*f.n))
		f.node(1, `avax_node_connected_stake_ratio{node="%[1]s"}`, "0.1")
		f.weight(0.5, f.upTo(f.n)...)
	}, sends("page AvaxConnectedStakeLow: n01|10 %|dex has lost its quorum")},
	{"a VM stops on all nodes", 1, func(f *fleet) {
		f.all(func(i int) { f.is(f.of(`avax_exporter_collector_success{collector="heads",target="%[1]s/C"}`, i), "0") })
	}, func(f *fleet) []string { return []string{"page AvaxChainMissing: n01|C|" + name(f.n)} }},
	{"the VM of an L1 stops on all nodes", 1, func(f *fleet) {
		f.all(func(i int) {
			f.is(f.of(`avax_exporter_collector_success{collector="heads",target="%[1]s/dex"}`, i), "0")
		})
		f.weight(0.5, f.upTo(f.n)...)
	}, func(f *fleet) []string { return []string{"page AvaxChainMissing: n01|dex|" + name(f.n)} }},
	{"a node is renamed", 1, func(f *fleet) { f.rename(1, "alpha") }, sends()},
	{"an L1 has validators before they start", 1, func(f *fleet) {
		f.is(`avax_l1_weight{chain="new"}`, "100")
		f.is(`avax_l1_active_weight{chain="new"}`, "100")
		f.is(`avax_l1_proposers{chain="new"}`, "4")
		f.is(`avax_l1_proposers_left{chain="new"}`, "0")
		f.all(func(i int) {
			f.node(i, `avax_l1_connected_weight{node="%[1]s",chain="new"}`, "0")
			f.node(i, `avax_node_chain_bootstrapped{node="%[1]s",chain="new"}`, "1")
			f.node(i, `avax_chain_height{node="%[1]s",chain="new"}`, "0")
		})
	}, sends()},
	{"all chains of a node stand still", 5, func(f *fleet) {
		for _, chain := range []string{"P", "C", "dex"} {
			f.stop(chain, 1)
			f.node(1, `avax_node_health_check_failing{node="%[1]s",check="`+chain+`"}`, "1")
		}
	}, sends("page AvaxHeadStale: n01|chain P|chain C|chain dex", "warn AvaxHeadLag: n01|chain P", "warn AvaxHeadLag: n01|chain C", "warn AvaxHeadLag: n01|chain dex")},
	{"nothing", 1, func(*fleet) {}, sends()},
}

// stop ends the growth of a chain on nodes.
func (f *fleet) stop(chain string, nodes ...int) {
	for _, i := range nodes {
		f.stands(f.of(`avax_chain_height{node="%[1]s",chain="`+chain+`"}`, i), 30)
		head := evaluationsBegin.Unix() + 60*causeBegins
		f.series[f.of(`avax_chain_head_timestamp_seconds{node="%[1]s",chain="`+chain+`"}`, i)] = fmt.Sprintf("%s+60x%d %dx%d %d+60x%d", at(0), causeBegins-1,
			head, causeEnds-causeBegins-1, evaluationsBegin.Unix()+60*causeEnds, causeLength-causeEnds)
	}
}

// step is what the engine sends to an Alertmanager at one evaluation.
type step []model.Alert

// engineOf returns an engine with the series of all fleets.
func engineOf(t *testing.T, rules []byte, fleets []*fleet) *testworld.Engine {
	t.Helper()
	var input []testworld.Series
	for _, f := range fleets {
		for series, values := range f.series {
			input = append(input, testworld.Series{Series: withLabels(series, map[string]string{"job": f.job}), Values: values})
		}
	}
	return engineWith(t, time.Minute, time.Minute, rules, input)
}

// engineWith returns an engine with series that have a sample at each interval.
func engineWith(t *testing.T, every, interval time.Duration, rules []byte, input []testworld.Series) *testworld.Engine {
	t.Helper()
	slices.SortFunc(input, func(a, b testworld.Series) int { return strings.Compare(a.Series, b.Series) })
	return must.Get(testworld.NewEngine(t, evaluationsBegin, interval, input, every, testworld.Rules(t, rules)))(t)
}

// evaluated returns what the rules send.
func evaluated(t *testing.T, e *testworld.Engine, every, length time.Duration) (steps []step) {
	t.Helper()
	must.Do(t, e.Run(0, length-every))
	firing := map[string]model.Alert{}
	for after := time.Duration(0); after < length; after += every {
		now, sent := firingAt(t, e, after), step{}
		for key, a := range firing {
			if _, still := now[key]; !still {
				a.EndsAt = evaluationsBegin.Add(after)
				sent = append(sent, a)
			}
		}
		for _, a := range now {
			sent = append(sent, a)
		}
		firing, steps = now, append(steps, sent)
	}
	return steps
}

// firingAt returns what fires after an evaluation, by labels.
func firingAt(t *testing.T, e *testworld.Engine, after time.Duration) map[string]model.Alert {
	t.Helper()
	now := map[string]model.Alert{}
	for _, r := range e.Alerts() {
		for _, a := range e.Active(r, after) {
			if a.State == promrules.StateFiring && a.Labels.Get("severity") != "none" {
				now[a.Labels.String()] = model.Alert{
					Labels: labelSet(a.Labels), Annotations: labelSet(labels.FromMap(e.Texts(t, r, a))), StartsAt: a.FiredAt,
				}
			}
		}
	}
	return now
}

func labelSet(l labels.Labels) model.LabelSet {
	set := model.LabelSet{}
	l.Range(func(l labels.Label) { set[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	return set
}

// notified returns what the built-in Alertmanager sends with the shipped file, in synthetic time.
func notified(t *testing.T, every time.Duration, steps []step) (got []testworld.Alert) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		receiver := testworld.Memory(t)
		file := testworld.ShippedRoutes(t, receiver.URL)
		text := must.Get(yaml.Marshal(file))(t)
		n, err := notify.Start(t.Context(), notify.Options{
			Config: notify.Config{Text: text, Dial: receiver.Dial}, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, alerts := range steps {
			if err := n.Put(t.Context(), alerts...); err != nil {
				t.Error(err)
			}
			time.Sleep(every)
		}
		time.Sleep(10 * time.Minute)
		got = receiver.Alerts()
	})
	return got
}

// key names a notification: severity, alert and scope.
func key(l map[string]string) string {
	return strings.TrimSpace(l["severity"] + " " + l["alertname"] + " " + l["scope"])
}

// judge compares what was sent for a fleet with what its cause should send.
func (c cause) judge(t *testing.T, f *fleet, sent []testworld.Alert, labelled bool) {
	t.Helper()
	if labelled {
		f.reachesEachOwner(t, sent)
	}
	type message struct {
		key, texts string
		number     int
		firing     bool
	}
	messages := map[string]*message{}
	ends := map[string]int{}
	for _, a := range sent {
		id := fmt.Sprint(a.Status, a.Notification)
		m := messages[id]
		if m == nil {
			m = &message{key: key(a.Labels), number: a.Notification, firing: a.Status == "firing"}
			messages[id] = m
			if !m.firing {
				ends[m.key]++
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.Annotations)) {
			m.texts += a.Annotations[name] + "\n"
		}
	}
	all, long := c.want(f), map[string]bool{} // long: whether it was sent, of an alert that stays
	for i, w := range all {
		about, _, _ := strings.Cut(w, ": ")
		if key, stays := strings.CutSuffix(about, " stays"); stays {
			all[i], long[key] = key+strings.TrimPrefix(w, about), false
		}
	}
	want := slices.Clone(all)
	for _, m := range slices.SortedFunc(maps.Values(messages), func(a, b *message) int { return a.number - b.number }) {
		sent, stays := long[m.key]
		if !m.firing || sent { // the second is a reminder after an hour
			continue
		}
		if stays {
			long[m.key] = true
		}
		i := slices.IndexFunc(want, func(w string) bool {
			about, words, _ := strings.Cut(w, ": ")
			return about == m.key && !slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool { return !strings.Contains(m.texts, word) })
		})
		if i < 0 {
			t.Errorf("sends %s:\n%s", m.key, m.texts)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	for _, w := range want {
		t.Errorf("does not send %s", w)
	}
	for _, w := range all {
		about, _, _ := strings.Cut(w, ": ")
		_, stays := long[about]
		if n := ends[about]; n > 1 && about != "page AvaxNodeDown" || n == 0 && strings.HasPrefix(w, "page") && !stays {
			t.Errorf("sends %d ends of %s", n, about)
		}
	}
}

// reachesEachOwner checks that an alert about the L1, which names no node, has a copy for each owner of its validators.
func (f *fleet) reachesEachOwner(t *testing.T, sent []testworld.Alert) {
	t.Helper()
	all, got := map[string]bool{}, map[string]map[string]bool{}
	f.all(func(i int) { all[f.owner(i)] = true })
	for _, a := range sent {
		if l := a.Labels; l["node"] == "" && l["node_id"] == "" && (l["chain"] == "dex" || l["subnet_id"] != "") {
			if got[key(l)] == nil {
				got[key(l)] = map[string]bool{}
			}
			got[key(l)][l["owner"]] = true
		}
	}
	for key, owners := range got {
		if !maps.Equal(owners, all) {
			t.Errorf("%s reaches %v, not %v", key, owners, all)
		}
	}
}

// fleetsOf returns a fleet for each cause, or for one of several, after it began.
func fleetsOf(n, every int) (fleets []*fleet, played []cause) {
	for i, c := range causes {
		if n < c.least || i%every != 0 || !strings.Contains(c.name, *causesPlayed) {
			continue
		}
		f := newFleet(fmt.Sprintf("cause%02d", i), n)
		c.begin(f)
		fleets, played = append(fleets, f), append(played, c)
	}
	return fleets, played
}

var causesPlayed = flag.String("causes", "", "play only causes whose names contain this text")

// Each of many causes sends one notification of each severity, which names what decides, and nothing else. The rules evaluate them at fleets of one,
// five and thirty nodes, with and without labels of owners, and the built-in Alertmanager routes them as shipped.
func TestEachCauseSendsOneNotification(t *testing.T) {
	t.Parallel()
	withOwners := must.Get(alerts.With(alerts.Options{Labels: []string{"owner"}}))(t)
	for _, set := range []struct {
		name  string
		rules []byte
	}{{"without labels", alerts.Rules}, {"with labels", withOwners}} {
		for _, n := range []int{1, 5, 30} {
			if testing.Short() && (n != 5 || set.name == "with labels") {
				continue
			}
			t.Run(fmt.Sprintf("%d nodes %s", n, set.name), func(t *testing.T) {
				t.Parallel()
				every := 1
				switch {
				case testing.Short():
					every = 6
				case n != 5 && set.name == "with labels": // what labels change shows at five nodes
					every = 10
				}
				fleets, played := fleetsOf(n, every)
				sent := map[string][]testworld.Alert{}
				for some := range slices.Chunk(fleets, 300/n) { // more nodes exceed the samples that one query may read
					for _, a := range notified(t, time.Minute, evaluated(t, engineOf(t, set.rules, some), time.Minute, causeLength*time.Minute)) {
						sent[a.Labels["job"]] = append(sent[a.Labels["job"]], a)
					}
				}
				for i, f := range fleets {
					t.Run(played[i].name, func(t *testing.T) { played[i].judge(t, f, sent[f.job], set.name == "with labels") })
				}
			})
		}
	}
}

// A real Alertmanager with the shipped file sends the same as the built-in one, for all causes at once.
func TestAlertmanagerSendsTheSameForEachCause(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	fleets, _ := fleetsOf(5, 1)
	const late = (causeEnds - 1) * time.Minute
	e := engineOf(t, alerts.Rules, fleets)
	must.Do(t, e.Run(0, late))
	now, firing := time.Now(), step{}
	for _, a := range firingAt(t, e, late) {
		a.StartsAt = now
		firing = append(firing, a)
	}
	inside, outside := testworld.Webhook(t), testworld.Webhook(t)
	text := must.Get(yaml.Marshal(testworld.ShortRoutes(t, inside.URL)))(t)
	n, err := notify.Start(t.Context(), notify.Options{
		Config: notify.Config{Text: text}, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	body := must.Get(json.Marshal(firing))(t)
	alertmanager := testworld.AlertmanagerWith(t, testworld.ShortRoutes(t, outside.URL))
	answer := must.Get(http.Post(alertmanager.URL+"/api/v2/alerts", "application/json", bytes.NewReader(body)))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	must.Do(t, n.Put(t.Context(), firing...))
	received := func(r *testworld.Receiver) []string {
		set := map[string]bool{}
		for _, a := range r.Alerts() {
			set[fmt.Sprint(a.Receiver, a.Group, a.Fingerprint)] = true
		}
		return slices.Sorted(maps.Keys(set))
	}
	testworld.Await(t, "the same notifications", func() error {
		in, out := received(inside), received(outside)
		if len(in) < len(fleets)-5 || !slices.Equal(in, out) {
			return errors.New(fmt.Sprint(len(in), " and ", len(out)))
		}
		return nil
	})
}
