package web

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// verdicts compares the verdicts on samples.
func verdicts(t *testing.T, tests map[string]struct{ samples, want string }) {
	t.Helper()
	for name, test := range tests {
		got := words(told(t, test.samples).view(time.Now()).Verdict)
		want := strings.ReplaceAll(strings.TrimPrefix(test.want, "\n"), "\t", "") + "\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// headOf is a node's newest block on a chain.
func headOf(node, chain string, height int, age time.Duration) string {
	at := fmt.Sprintf(`{node="%s",chain="%s"} `, node, chain)
	return fmt.Sprintf("avax_chain_height%s%d\navax_chain_head_timestamp_seconds%s%s\n", at, height, at, in(-age))
}

func TestANodeThatStandsStillIsToldWithoutAMemory(t *testing.T) {
	const main, local = `avax_node_info{node="a",node_id="A",version="v",network_id="1"} 1` + "\n", `avax_node_info{node="a",node_id="A",version="v",network_id="1337"} 1` + "\n"
	const long = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		verdicts(t, map[string]struct{ samples, want string }{
			"one node of a public network": {
				main + headOf("a", "C", 100, long) + headOf("a", "P", 50, long) + headOf("a", "X", 1, 24*time.Hour) + headOf("a", "idle", 9, time.Hour), `
				bad: 1 urgent problem
				bad: 1 chain is stuck on a node [AvaxHeadStale]: C on a #node-a,`,
			},
			"a chain may be idle where nobody uses it": {local + headOf("a", "C", 100, long), `
				well: All is well`},
			"the alert has not waited yet": {main + headOf("a", "C", 100, 350*time.Second), `
				well: All is well`},
			"it votes and decides nothing": {local + headOf("a", "one", 100, long) + `avax_chain_processing_blocks{node="a",chain="one"} 1`, `
				bad: 1 urgent problem
				bad: 1 chain is stuck on a node [AvaxHeadStale]: one on a #node-a,`},
			"one of two": {local + headOf("a", "one", 100, long) + headOf("b", "one", 103, time.Minute), `
				bad: 1 urgent problem
				bad: 1 chain is stuck on a node [AvaxHeadStale]: one on a #node-a,`},
			"asked before the other": {local + headOf("a", "one", 100, long) + headOf("b", "one", 101, 5*time.Second), `
				well: All is well`},
			"behind, far behind, and not at the head yet": {
				headOf("a", "C", 1000, 0) + headOf("b", "C", 969, time.Minute) + headOf("c", "C", 600, time.Minute) + headOf("d", "C", 1, time.Minute) +
					`avax_node_chain_bootstrapped{node="d",chain="C"} 0`, `
				bad: 2 urgent problems
				bad: 1 chain is not bootstrapped [AvaxChainNotBootstrapped]: C on d #node-d,
				bad: 2 chains are behind on a node [AvaxHeadLag]: C on c: 400 blocks #node-c, C on b: 31 blocks #node-b,`,
			},
			"all nodes at once": {main + headOf("a", "C", 100, long) + headOf("b", "C", 99, long) + `avax_chain_processing_blocks{node="b",chain="C"} 1`, `
				bad: 1 urgent problem
				bad: 1 chain stands still on all nodes [AvaxChainHalted]: C #nodes,`},
			"a node that reaches no stake, or is elsewhere": {
				main + headOf("a", "C", 100, long) + headOf("b", "C", 1, long) + headOf("c", "C", 110, 0) + `
				avax_node_connected_stake_ratio{node="a"} 0.1
				avax_node_connected_stake_ratio{node="c"} 1
				avax_node_network_mismatch{node="b"} 1`, `
				bad: 2 urgent problems
				bad: 1 node belongs to another network [AvaxWrongNetwork]: b #node-b,
				bad: 1 node reaches too little stake [AvaxConnectedStakeLow]: a #node-a,`,
			},
		})
	})
}

func TestWhatNeedsNoPastIsJudgedByThePage(t *testing.T) {
	const seen = `avax_node_connected_stake_ratio{node="a"} 1
		avax_node_connected_stake_ratio{node="b"} 1
		avax_node_info{node="a",node_id="A",version="v"} 1
		avax_node_info{node="b",node_id="B",version="v"} 1
	`
	synctest.Test(t, func(t *testing.T) {
		verdicts(t, map[string]struct{ samples, want string }{
			"who the nodes are": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_up{node="c"} 1
				avax_node_up{node="d"} 1
				avax_node_info{node="b",node_id="NodeID-1",version="v"} 1
				avax_node_info{node="a",node_id="NodeID-1",version="v"} 1
				avax_node_duplicate{node="a"} 1
				avax_node_duplicate{node="b"} 1
				avax_node_duplicate{node="c"} 0
				avax_node_network_mismatch{node="a"} 0
				avax_node_network_mismatch{node="c"} 1
				avax_node_identity_changes_total{node="a"} 1
				avax_node_identity_changes_total{node="c"} 0
				avax_node_identity_changes_total{node="d"} 2
				avax_validator_present{node_id="NodeID-1"} 0`, `
				bad: 3 urgent problems, 1 that can wait
				bad: 1 node belongs to another network [AvaxWrongNetwork]: c #node-c,
				bad: 1 node ID is used twice [AvaxDuplicateNodeID]: a, b #node-a,
				bad: 1 validator is not in the set [AvaxValidatorMissing]: a, b #validator-NodeID-1,
				warn: 1 node has changed its identity [AvaxNodeIdentityChanged]: d #node-d,`},
			"an L1 that a node validates and does not run": {seen + `
				avax_l1_validator_active{chain="one",node_id="A",validation_id="V1"} 1
				avax_l1_validator_active{chain="one",node_id="B",validation_id="V2"} 0
				avax_chain_status{node="a",chain="one",status="Created"} 1
				avax_chain_status{node="a",chain="one",status="Validating"} 0
				avax_chain_status{node="a",chain="two",status="Created"} 1
				avax_chain_status{node="b",chain="one",status="Created"} 1`, `
				bad: 1 urgent problem
				bad: 1 chain is validated and not run [AvaxChainNotValidating]: one on a #node-a,`},
			"validators that the nodes do not see": {seen + `
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 0
				avax_node_connected_stake_ratio{node="blind"} 0.1
				avax_node_connected_stake_ratio{node="c"} 1
				avax_validator_present{node_id="A"} 1
				avax_validator_present{node_id="B"} 1
				avax_validator_present{node_id="seen"} 1
				avax_validator_present{node_id="one"} 1
				avax_validator_connected{node="b",node_id="A"} 0
				avax_validator_connected{node="c",node_id="A"} 0
				avax_validator_connected{node="blind",node_id="A"} 1
				avax_validator_connected{node="a",node_id="B"} 0
				avax_validator_connected{node="c",node_id="B"} 0
				avax_validator_connected{node="a",node_id="seen"} 1
				avax_validator_connected{node="c",node_id="seen"} 0
				avax_validator_connected{node="a",node_id="one"} 0`, `
				bad: 3 urgent problems
				bad: 1 node is down [AvaxNodeDown]: b #node-b,
				bad: 2 validators are disconnected [AvaxValidatorDisconnected]: a #validator-A, one #validator-one,
				bad: 1 node reaches too little stake [AvaxConnectedStakeLow]: blind #node-blind,`},
			"L1 validators that the nodes do not see, or saw too little": {seen + `
				avax_l1_weight{chain="one"} 100
				avax_l1_validator_active{chain="one",node_id="A",validation_id="V1"} 1
				avax_l1_validator_active{chain="one",node_id="other",validation_id="V2"} 1
				avax_l1_validator_active{chain="one",node_id="B",validation_id="V3"} 1
				avax_l1_validator_connected{chain="one",node="b",node_id="A",validation_id="V1"} 0
				avax_l1_validator_connected{chain="one",node="c",node_id="A",validation_id="V1"} 0
				avax_l1_validator_connected{chain="one",node="a",node_id="other",validation_id="V2"} 0
				avax_l1_validator_connected{chain="one",node="b",node_id="other",validation_id="V2"} 0
				avax_l1_validator_connected{chain="one",node="a",node_id="B",validation_id="V3"} 1
				avax_l1_validator_uptime_ratio{chain="one",node="a",node_id="B",validation_id="V3"} 0.79
				avax_l1_validator_uptime_ratio{chain="one",node="c",node_id="B",validation_id="V3"} 0.7
				avax_l1_validator_uptime_ratio{chain="one",node="a",node_id="other",validation_id="V2"} 0.89
				avax_l1_validator_uptime_ratio{chain="one",node="b",node_id="A",validation_id="V1"} 0.5
				avax_l1_validator_start_timestamp_seconds{chain="one",node_id="B",validation_id="V3"} ` + in(-4*24*time.Hour) + `
				avax_l1_validator_start_timestamp_seconds{chain="one",node_id="other",validation_id="V2"} ` + in(-4*24*time.Hour) + `
				avax_l1_validator_start_timestamp_seconds{chain="one",node_id="A",validation_id="V1"} ` + in(-2*24*time.Hour), `
				bad: 2 urgent problems
				bad: 2 L1 validators are disconnected [AvaxL1ValidatorDisconnected]: a of one #l1-one, other of one #l1-one,
				bad: 2 L1 validators have low uptimes [AvaxL1UptimeLow]: b of one: 79.00 % #l1-one, other of one: 89.00 % #l1-one,`},
			"an L1 validator of somebody else": {seen + `
				avax_l1_weight{chain="one"} 100
				avax_l1_validator_active{chain="one",node_id="other",validation_id="V"} 1
				avax_l1_validator_connected{chain="one",node="a",node_id="other",validation_id="V"} 0
				avax_l1_validator_connected{chain="one",node="b",node_id="other",validation_id="V"} 0`, `
				warn: 1 problem that can wait
				warn: 1 L1 validator is disconnected [AvaxL1ValidatorDisconnected]: other of one #l1-one,`},
			"no node reaches enough stake": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_connected_stake_ratio{node="a"} 0.7
				avax_node_up{node="down"} 0
				avax_node_connected_stake_ratio{node="down"} 1
				avax_node_connected_stake_ratio{node="b"} 0.1`, `
				bad: 2 urgent problems
				bad: 1 node is down [AvaxNodeDown]: down #node-down,
				bad: 1 network is out of all your nodes’ reach [AvaxStakeUnreachable]: all 2 nodes #nodes,`},
			"a node that benches its peers": {`
				avax_node_up{node="a"} 1
				avax_node_peers{node="a"} 100
				avax_node_chain_present{node="a",chain="C"} 1
				avax_node_chain_present{node="a",chain="P"} 1
				avax_node_up{node="b"} 1
				avax_node_connected_stake_ratio{node="b"} 0.1
				avax_node_peers{node="b"} 100
				avax_node_chain_present{node="b",chain="C"} 1
				avax_node_peers_benched{node="b",chain="C"} 50
				avax_node_peers_benched{node="a",chain="C"} 21
				avax_node_peers_benched{node="a",chain="P"} 6`, `
				bad: 2 urgent problems
				bad: 1 node reaches too little stake [AvaxConnectedStakeLow]: b #node-b,
				bad: 1 node benches many peers [AvaxBenchedPeersHigh]: a on C #node-a,`},
			"a reward that would not be paid, and one whose budget says so": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_info{node="b",node_id="B",version="v"} 1
				avax_node_validating{node="a"} 1
				avax_node_validating{node="b"} 1
				avax_node_uptime_rewarding_stake_ratio{node="a"} 0.49
				avax_node_uptime_rewarding_stake_ratio{node="b"} 0.49
				avax_validator_uptime_requirement_ratio{node_id="B"} 0.8
				avax_validator_downtime_budget_seconds{node_id="B"} 1000
				avax_validator_downtime_used_seconds{node_id="B"} 1001
				avax_validator_reward_reachable{node_id="B"} 0
				avax_validator_views_stake_ratio{node_id="B"} 0.9`, `
				bad: 2 urgent problems
				bad: 1 reward is out of reach [AvaxRewardUnreachable]: b #budget-B,
				bad: 1 reward would not be paid today [AvaxRewardLost]: a #node-a,`},
			"messages that wait, and a wallet": {`
				avax_icm_oldest_pending_timestamp_seconds{address="x",source="C",destination="one"} ` + in(-31*time.Minute) + `
				avax_icm_oldest_pending_timestamp_seconds{address="y",source="C",destination="one"} ` + in(-5*time.Minute) + `
				avax_icm_oldest_pending_timestamp_seconds{address="x",source="one",destination="C"} ` + in(-11*time.Minute) + `
				avax_icm_oldest_pending_timestamp_seconds{address="x",source="C",destination="old"} ` + in(-time.Hour) + `
				avax_chain_height{node="a",chain="old"} 1000
				avax_data_indexed_height{chain="old"} 699
				avax_platform_balance_avax{address="p",state="unlocked"} 4
				avax_platform_balance_avax{address="p",state="locked_stakeable"} 1000
				avax_platform_balance_avax{address="q",state="unlocked"} 2
				avax_l1_validator_burn_avax_per_day{chain="one",node_id="A",validation_id="V1"} 0.25
				avax_l1_validator_burn_avax_per_day{chain="one",node_id="B",validation_id="V2"} 0.25`, `
				bad: 1 urgent problem, 1 that can wait
				bad: 2 routes between chains are late [AvaxICMUndelivered]: C to one, sent 31 min ago #, one to C, sent 11 min ago #,
				warn: 1 wallet that tops up runs dry [AvaxTopUpWalletLow]: in 12 days #,`},
			"a wallet that is empty": {`
				avax_platform_balance_avax{address="p",state="unlocked"} 0
				avax_l1_validator_burn_avax_per_day{chain="one",node_id="A",validation_id="V1"} 0.5`, `
				bad: 1 urgent problem
				bad: 1 wallet that tops up runs dry [AvaxTopUpWalletLow]: now #,`},
		})
	})
}

func TestAnL1sTableShowsWhomTheNodesDoNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_connected_stake_ratio{node="a"} 1
			avax_node_connected_stake_ratio{node="b"} 1
			avax_l1_weight{chain="one"} 100
			avax_l1_validator_active{chain="one",node_id="NodeID-V",validation_id="V"} 1
			avax_l1_validator_connected{chain="one",node="a",node_id="NodeID-V",validation_id="V"} 0
			avax_l1_validator_connected{chain="one",node="b",node_id="NodeID-V",validation_id="V"} 0`)
		keepL1(s, "one", l1Told(512, "V 100 50"))
		v := s.view(time.Now())
		want := "warn: 1 problem that can wait\nwarn: 1 L1 validator is disconnected [AvaxL1ValidatorDisconnected]: NodeID-V of one #l1-one-V,\n"
		if diff := cmp.Diff(want, words(v.Verdict)); diff != "" {
			t.Error(diff)
		}
		if c := v.L1s[0].Rows[0].Connected; c.Text != "0 of 2" || c.Level != warn || v.L1s[0].Level != warn || !v.L1s[0].Open {
			t.Errorf("%+v", c)
		}
	})
}

func TestANodeOfAnotherNetworkSaysWhyItsStakeIsNotTold(t *testing.T) {
	v := told(t, `
		avax_node_up{node="a"} 1
		avax_node_network_mismatch{node="a"} 1`).view(time.Now())
	if got := text(v.Nodes[0].Figures); !strings.Contains(got, "Stake reached: – because it belongs to another network") {
		t.Error(got)
	}
}

// fires is a rule all of whose alerts fire, one for each summary.
func fires(name, severity string, summaries ...string) alerting.Rule {
	r := alerting.Rule{Name: name, Alerting: true, State: alerting.Firing, Labels: map[string]string{"severity": severity}, Evaluated: time.Now()}
	for _, s := range summaries {
		r.Alerts = append(r.Alerts, alerting.Alert{
			Labels: map[string]string{"alertname": name, "severity": severity}, State: alerting.Firing,
			Annotations: map[string]string{"summary": s, "runbook_url": "https://example.com/" + name},
		})
	}
	return r
}

func TestTheVerdictTellsWhatFiresHereOnce(t *testing.T) {
	const stuck = `avax_node_up{node="a"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_active_weight{chain="one"} 100
		avax_l1_connected_weight{chain="one",node="a"} 60
		avax_node_health_check_failing{node="a",check="one"} 1
		`
	up := alerting.Receiver{Name: "up:9093", Asked: true, Up: true}
	deaf := alerting.Receiver{Name: "deaf:9093", Asked: true}
	waits := fires("Waits", "page", "not yet")
	waits.Alerts[0].State = alerting.Pending
	broken := alerting.Rule{Name: "Broken", Alerting: true, LastError: "no such thing"}
	synctest.Test(t, func(t *testing.T) {
		deaf.Since = time.Now().Add(-time.Hour)
		for name, test := range map[string]struct {
			samples   string
			rules     []alerting.Rule
			receivers []alerting.Receiver
			want      string
		}{
			"the watchdog, and what waits": {"", []alerting.Rule{fires("AvaxWatchdog", "none", "works"), waits}, []alerting.Receiver{up}, `
				well: All is well`},
			"what the page cannot know": {"", []alerting.Rule{
				fires("AvaxDowntimeBudgetBurn", "warn", "a burns"), fires("AvaxDowntimeBudgetBurn", "page", "a burns", "b burns"), fires("Mine", "critical", "x"), fires("Own", "odd", "y"),
				fires("AvaxTPSDrop", "info", "few"),
			}, nil, `
				bad: 2 urgent problems, 1 that can wait
				bad: 2 AvaxDowntimeBudgetBurn alerts [AvaxDowntimeBudgetBurn]: a burns alerts#AvaxDowntimeBudgetBurn, b burns alerts#AvaxDowntimeBudgetBurn,
				bad: 1 Mine alert [Mine]: x alerts#Mine,
				warn: 1 Own alert [Own]: y alerts#Own,
				note: 1 AvaxTPSDrop alert [AvaxTPSDrop]: few alerts#AvaxTPSDrop,`},
			"what the page knows, and what comes with it": {stuck, []alerting.Rule{
				fires("AvaxL1ConnectedWeightLow", "page", "one is reached too little"), fires("AvaxL1WarpQuorumAtRisk", "page", "one"), fires("AvaxL1NodeIsolated", "page", "a"),
				fires("AvaxHealthCheckFailing", "warn", "a is unhealthy"),
			}, nil, `
				bad: 1 urgent problem
				bad: 1 L1 is reached too little [AvaxL1ConnectedWeightLow]: one by a #l1-one,`},
			"what is more urgent than its cause": {strings.Replace(stuck, " 60", " 85", 1), []alerting.Rule{fires("AvaxL1WarpQuorumAtRisk", "page", "one")}, nil, `
				bad: 1 urgent problem, 2 that can wait
				bad: 1 AvaxL1WarpQuorumAtRisk alert [AvaxL1WarpQuorumAtRisk]: one alerts#AvaxL1WarpQuorumAtRisk,
				warn: 1 L1 is reached too little [AvaxL1ConnectedWeightLow]: one by a #l1-one,
				warn: 1 node calls itself unhealthy [AvaxHealthCheckFailing]: a: one #node-a,`},
			"what the page knows and does not find": {"", []alerting.Rule{fires("AvaxNodeDown", "page", "a is down")}, nil, `
				bad: 1 urgent problem
				bad: 1 node is down [AvaxNodeDown]: a is down alerts#AvaxNodeDown,`},
			"what the page finds less urgent": {`avax_node_identity_changes_total{node="a"} 1`, []alerting.Rule{fires("AvaxNodeIdentityChanged", "page", "a changed")}, nil, `
				bad: 1 urgent problem
				bad: 1 node has changed its identity [AvaxNodeIdentityChanged]: a #node-a,`},
			"nobody can be paged": {"", []alerting.Rule{fires("AvaxWatchdog", "none", "works")}, []alerting.Receiver{deaf}, `
				bad: 1 urgent problem
				bad: 1 Alertmanager takes no alerts [AvaxAlertmanagerDown]: deaf:9093 for 60 min alerts#alertmanagers,`},
			"one of two pages": {"", []alerting.Rule{fires("AvaxWatchdog", "none", "works")}, []alerting.Receiver{deaf, up}, `
				warn: 1 problem that can wait
				warn: 1 Alertmanager takes no alerts [AvaxAlertmanagerDown]: deaf:9093 for 60 min alerts#alertmanagers,`},
			"rules that say nothing": {"", []alerting.Rule{broken, fires("AvaxWatchdog", "none", "works")}, nil, `
				bad: 1 urgent problem
				bad: 1 alert rule cannot be evaluated []: see why alerts#rules,`},
		} {
			p := told(t, test.samples).pageAt(time.Now())
			p.addAlerts([]alerting.Group{{Evaluated: time.Now(), Rules: test.rules}}, test.receivers)
			want := strings.ReplaceAll(strings.TrimPrefix(test.want, "\n"), "\t", "") + "\n"
			if diff := cmp.Diff(want, words(p.judged(1, 1).Verdict)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	})
}

func TestThePageOfAlertsCountsWhatSomebodyIsToldOf(t *testing.T) {
	watchdog := fires("AvaxWatchdog", "none", "works")
	for want, rules := range map[string][]alerting.Rule{
		"No alert fires, the watchdog does": {watchdog},
		"No alert fires":                    {},
		"2 alerts fire":                     {watchdog, fires("A", "page", "x", "y")},
	} {
		if got := alarmOf([]alerting.Group{{Evaluated: time.Now(), Rules: rules}}, nil).verdict().Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAPendingAlertSaysWhenItFires(t *testing.T) {
	now := time.Now()
	rule := alerting.Rule{Name: "A", For: 5 * time.Minute}
	for state, want := range map[string][2]string{
		alerting.Pending: {"Fires in 3 min if it lasts.", ""},
		alerting.Firing:  {"has been so for 5 minutes", "it costs"},
	} {
		a := alerting.Alert{State: state, ActiveAt: now.Add(-2 * time.Minute), Annotations: map[string]string{"description": "has been so for 5 minutes", "impact": "it costs"}}
		if v := alertViewOf(rule, a, now); v.Description != want[0] || v.Impact != want[1] {
			t.Errorf("%s: %q, %q", state, v.Description, v.Impact)
		}
	}
	due := alerting.Alert{State: alerting.Pending, ActiveAt: now.Add(-time.Hour)}
	if v := alertViewOf(rule, due, now); v.Description != "Fires with the next evaluation if it lasts." {
		t.Error(v.Description)
	}
}
