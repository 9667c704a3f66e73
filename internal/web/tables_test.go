package web

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	tableRows  = regexp.MustCompile(`(?s)<tr[^>]*><th scope="row">(.*?)</th>(.*?)</tr>`)
	tableCells = regexp.MustCompile(`(?s)<td data-name="([^"]*)"[^>]*>(.*?)</td>`)
	markup     = regexp.MustCompile(`(?s)<svg.*?</svg>|<[^>]*>`)
)

// rowsIn returns the table rows of a section as text: the row's name, then each requested column.
func rowsIn(page, section string, columns ...string) (rows []string) {
	_, page, _ = strings.Cut(page, `id="`+section+`"`)
	page, _, _ = strings.Cut(page, "</section>")
	text := func(cell string) string { return html.UnescapeString(markup.ReplaceAllString(cell, " ")) }
	for _, row := range tableRows.FindAllStringSubmatch(page, -1) {
		cells := map[string]string{}
		for _, cell := range tableCells.FindAllStringSubmatch(row[2], -1) {
			cells[html.UnescapeString(cell[1])] = strings.Join(strings.Fields(text(cell[2])), " ")
		}
		line := []string{strings.Join(strings.Fields(text(row[1])), " ")}
		for _, column := range columns {
			line = append(line, cells[column])
		}
		rows = append(rows, strings.Join(line, " | "))
	}
	return rows
}

func TestObserversShowStateAndMethodsThatAreNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `
			avax_observer_info{node="down"} 1
			avax_observer_info{node="fuji"} 1
			avax_observer_info{node="new"} 1
			avax_observer_info{node="public"} 1
			avax_observer_up{node="down"} 0
			avax_observer_up{node="fuji"} 1
			avax_observer_up{node="public"} 1
			avax_observer_network_mismatch{node="fuji"} 1
			avax_observer_network_mismatch{node="public"} 0
			avax_chain_height{node="public",chain="C"} 1234
			avax_chain_height{node="public",chain="P"} 56
			avax_chain_head_timestamp_seconds{node="public",chain="C"} 946684740
			avax_observer_method_offered{node="public",method="info.peers"} 0
			avax_observer_method_offered{node="public",method="eth_blockNumber"} 1
			avax_observer_method_offered{node="public",method="health.health"} 0
			avax_validator_present{node_id="NodeID-1"} 1
			avax_validator_connected{node_id="NodeID-1",node="public"} 1`)
		s.ObserverBudget = 300
		sourced(t, s, group())
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		const limit = " | 300 calls per minute"
		want := []string{
			"down | down |  | 0 of 0" + limit,
			"fuji | other network |  | 0 of 0" + limit,
			"new | not known |  | 0 of 0" + limit,
			"public | up | P 56, – C 1,234, 60 s ago | 1 of 3, without health.health, info.peers" + limit,
		}
		if diff := cmp.Diff(want, rowsIn(page, "observers", "State", "Heads", "Methods", "Limit")); diff != "" {
			t.Error(diff)
		}
		demand(t, page, "4 observers, no node", "1 of 1 observers connected", "!No samples of nodes")

		put(t, s, metric.Key{Collector: "nodes"}, `avax_node_up{node="a"} 1`)
		time.Sleep(2 * time.Second)
		sourced(t, s, group())
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "1 of 1 nodes and observers connected", "1 of 1 node up")
	})
}

// For your own validator, the page shows the votes that its node reports. They include the node's own stake.
func TestValidatorsShowWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `
			avax_node_up{node="mine"} 1
			avax_node_info{node="mine",node_id="NodeID-mine",version="v"} 1
			avax_validator_present{node_id="NodeID-gone"} 0
			avax_validator_present{node_id="NodeID-lost"} 1
			avax_validator_present{node_id="NodeID-mine"} 1
			avax_validator_end_timestamp_seconds{node_id="NodeID-mine"} 947548800
			avax_validator_uptime_requirement_ratio{node_id="NodeID-mine"} 0.8
			avax_validator_weighted_uptime_ratio{node_id="NodeID-mine"} 0.9
			avax_validator_uptime_ratio{node_id="NodeID-mine",node="mine"} 0.7
			avax_validator_uptime_ratio{node_id="NodeID-lost",node="mine"} 0.5
			avax_validator_downtime_budget_seconds{node_id="NodeID-lost"} 7200
			avax_validator_downtime_used_seconds{node_id="NodeID-lost"} 7260
			avax_validator_reward_reachable{node_id="NodeID-lost"} 0
			avax_validator_reward_reachable{node_id="NodeID-mine"} 1
			avax_validator_potential_reward_avax{node_id="NodeID-lost"} 12.5
			avax_validator_potential_reward_avax{node_id="NodeID-mine"} 20
			avax_validator_connected{node_id="NodeID-lost",node="mine"} 0
			avax_validator_uptime_requirement_ratio{node_id="NodeID-lost"} 0.8
			avax_validator_votes_yes_ratio{node_id="NodeID-lost",requirement="0.8"} 0.61
			avax_validator_votes_yes_ratio{node_id="NodeID-mine",requirement="0.8"} 0
			avax_node_uptime_rewarding_stake_ratio{node="mine"} 0.203`)
		sourced(t, s, group())
		want := []string{
			"NodeID-gone | not in the set | – | – | – | – | –",
			"NodeID-lost | validating, 0 of 1 nodes connected | – | 50 %, required 80 % | 2 h of 2 h | 61 % | 12.5 AVAX, out of reach",
			"mine NodeID-mine | validating | in 10 days | 90 %, required 80 % | – | 20.3 % | 20 AVAX",
		}
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		if diff := cmp.Diff(want, rowsIn(page, "validators", "State", "Ends", "Uptime", "Downtime budget", "Votes", "Reward")); diff != "" {
			t.Error(diff)
		}
		if !regexp.MustCompile(`(?s)id="node-mine".*?Votes for reward[^0-9]*20\.3 %`).MatchString(page) {
			t.Error("votes of the node differ from those of its validator")
		}
	})
}

func TestL1sShowBalancesAndStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * 60 * 60
		s := newSite()
		on := func(chain, id string) []string {
			return []string{"chain", chain, "validation_id", id, "node_id", "NodeID-" + id}
		}
		samples := []testSample{
			{"avax_node_up", []string{"node", "a"}, 1}, {"avax_node_info", []string{"node", "a", "node_id", "NodeID-poor"}, 1},
			{"avax_l1_weight", []string{"chain", "one"}, 100}, {"avax_l1_active_weight", []string{"chain", "one"}, 50},
			{"avax_l1_connected_weight", []string{"chain", "one", "node", "a"}, 20},
			{"avax_l1_validators", []string{"chain", "one", "state", "active"}, 2}, {"avax_l1_validators", []string{"chain", "one", "state", "inactive"}, 1},
			{"avax_l1_quorum_loss_seconds", []string{"chain", "one", "quorum", "0.80"}, 0},
			{"avax_l1_quorum_loss_seconds", []string{"chain", "one", "quorum", "0.75"}, 3 * day},
			{"avax_l1_top_up_avax", []string{"chain", "one", "days", "30"}, 2.5}, {"avax_l1_top_up_avax", []string{"chain", "one", "days", "7"}, 0.5},
			{"avax_l1_weight", []string{"chain", "poa"}, 20}, {"avax_l1_validators", []string{"chain", "poa", "state", "legacy"}, 1},
			{"avax_l1_weight", []string{"chain", "unread"}, 20},
			{"avax_l1_validator_weight", on("poa", "old"), 20}, {"avax_l1_validator_end_timestamp_seconds", on("poa", "old"), 946684800 + 10*day},
			{"avax_l1_safe_to_stop", []string{"chain", "one", "node_id", "NodeID-poor"}, 0},
			{"avax_l1_validator_connected", append(on("one", "poor"), "node", "a"), 1}, {"avax_l1_validator_connected", append(on("one", "poor"), "node", "b"), 0},
		}
		for id, v := range map[string]struct{ weight, active, balance, left float64 }{"dry": {50, 0, 0, 0}, "poor": {30, 1, 3.5, 4 * day},
			"rich": {20, 1, 50, 900 * day}} {
			samples = append(samples, testSample{"avax_l1_validator_weight", on("one", id), v.weight}, testSample{"avax_l1_validator_active", on("one", id), v.active},
				testSample{"avax_l1_validator_balance_avax", on("one", id), v.balance}, testSample{"avax_l1_validator_runway_seconds", on("one", id), v.left})
		}
		putSamples(t, s, metric.Key{Collector: "l1"}, samples...)
		sourced(t, s, group())
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		want := []string{
			"NodeID-dry | inactive | now |  | 0 AVAX | 50 % | – | –",
			"a NodeID-poor | active | in 4 days |  | 3.5 AVAX | 30 % | 1 of 2 | no",
			"NodeID-rich | active | in 900 days |  | 50 AVAX | 20 % | – | –",
			"NodeID-old | – |  | in 10 days |  | 100 % | – | –",
		}
		if diff := cmp.Diff(want, rowsIn(page, "l1s", "State", "Runs out", "Ends", "Balance", "Weight", "Connected", "Safe to stop")); diff != "" {
			t.Error(diff)
		}
		cards := strings.Split(page, `id="l1-`)
		if len(cards) != 4 {
			t.Fatalf("%d cards", len(cards)-1)
		}
		text := strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(cards[1], " "))), " ")
		for _, want := range []string{
			"one 2 active, 1 inactive · active weight 50 %", "Connected weight 20 %",
			"Active below 80 % now Active below 75 % in 3 days Top-up for 30 days 2.5 AVAX Top-up for 7 days 0.5 AVAX",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q missing in %s", want, text)
			}
		}
		demand(t, cards[2], "1 validator · active weight –", "!Active below")
		demand(t, cards[3], "– · active weight –") // absent is not zero
	})
}

func TestCollectorsThatStoppedAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		run := func(node string) {
			s.Store.Put(metric.Run{
				Key: metric.Key{Collector: "peers", Target: metric.Target{Node: node}}, At: time.Now(), Took: 1200 * time.Millisecond,
				Until: time.Now().Add(3 * time.Minute),
			})
		}
		sourced(t, s, group())
		state := func() string {
			return fmt.Sprint(rowsIn(read(t, ask(t, s, http.MethodGet, "/").Body), "collectors", "Targets", "State", "Last run", "Took"))
		}
		run("a")
		time.Sleep(time.Minute)
		run("b")
		if got := state(); got != "[peers | 2 | good | 60 s ago | 1.2 s]" {
			t.Error(got)
		}
		time.Sleep(2 * time.Minute)
		if got := state(); got != "[peers | 2 | 1 late | 3 min ago | 1.2 s]" {
			t.Error(got)
		}
	})
}
