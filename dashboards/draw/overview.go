package main

const (
	nodes  = `{node=~"$node"}`
	chain  = `{node=~"$node", chain=~"$chain"}`
	anyL1  = `{chain=~"$chain"}`
	anyone = `{node_id=~"$node_id"}`

	anyL1Validator = `{chain=~"$chain", node_id=~"$node_id"}`
)

// days of seconds, for thresholds.
const day = 86400.0

var overview = board{
	file: "grafana.json", uid: "avax-overview", title: "overview",
	about:     "Am I fine, and if not, where? Nodes, validators, L1s and chains as avax-exporter sees them.",
	variables: []variable{nodeVar, chainVar, validatorVar},
	rows: []row{
		{panels: []*panel{
			stat("Nodes down", "Nodes that do not answer the exporter.",
				`count(avax_node_up`+nodes+` == 0) or 0 * count(avax_node_up`+nodes+`)`).
				unit("none", 0).judged(some(bad)).reads("0", "All up", good).none("No node").leadsTo("avax-network"),
			stat("Bootstrapping", "Chains that bootstrap on some node. A node does not work for a chain until it is bootstrapped.",
				`count(avax_node_chain_bootstrapped`+chain+` == 0) or 0 * count(avax_node_chain_bootstrapped`+chain+`)`).
				unit("none", 0).judged(some(bad)).reads("0", "All done", good).none("No node").leadsTo("avax-chains"),
			stat("Will I be paid?", "Watched validators that can no longer reach the uptime that their reward requires, or that are out of the set.",
				`count(avax_validator_reward_reachable`+anyone+` == 0 or avax_validator_present`+anyone+` == 0) or 0 * count(avax_validator_present`+anyone+`)`).
				unit("suffix: lost", 0).judged(some(bad)).reads("0", "Yes", good).none("No validator").leadsTo("avax-validators"),
			stat("Reward votes", "The lowest share of the stake that would vote today for paying a node's validator. The reward is all or nothing.",
				`min(avax_node_uptime_rewarding_stake_ratio`+nodes+`)`).
				unit("percentunit", 1).judged(lowBy("AvaxRewardStakeLow")).none("No validator").leadsTo("avax-validators"),
			stat("Next stake end", "Until the first of the watched validators ends its period. An auto-renewed validator has no end.",
				`min(avax_validator_end_timestamp_seconds`+anyone+`) - time()`).
				unit("s", 1).judged(steps(step{nil, bad}, step{bar("AvaxStakeEndsSoon", "", "24h"), warn}, step{bar("AvaxStakeEndsSoon", "", "7d"), good})).
				none("None").leadsTo("avax-validators"),
			stat("L1 runway", "How long the L1 validator lasts that runs out of balance first. At 0 it turns inactive, and its weight still counts against the quorum.",
				`min(avax_l1_validator_runway_seconds`+anyL1+`)`).
				unit("s", 1).judged(low(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"))).
				none("No L1").leadsTo("avax-l1"),
			stat("Next upgrade", "Until the next upgrade of the network that a node knows of, or that most of the stake announces and a node does not know: then it is red.",
				`min(avax_node_unknown_upgrade_timestamp_seconds`+nodes+`) * 0 - 1 or min((avax_upgrade_timestamp_seconds`+nodes+` - time()) > 0) or 0 * count(avax_node_up`+nodes+`) - 2`).
				unit("s", 1).judged(steps(step{nil, bad}, step{0.0, warn}, step{bar("AvaxUnknownUpgradeSoon", "", "24h"), good})).
				reads("-1", "UNKNOWN", bad).reads("-2", "None", good).none("No node").leadsTo("avax-network"),
			stat("Alerts firing", "Pages and warnings that fire now, as Prometheus evaluates the built-in rules.",
				`count(ALERTS{alertstate="firing", alertname=~"Avax.*", severity="page"}) or vector(0)`).named("page").
				also("warn", `count(ALERTS{alertstate="firing", alertname=~"Avax.*", severity="warn"}) or vector(0)`).
				unit("none", 0).judged(some(bad)).painted("warn", some(warn)),
		}},
		{
			title: "What is wrong right now, and where?",
			panels: []*panel{
				firing("Avax.*").size(11, 8),
				table("Is each node fine?", "Each node as it is now, dead ones first. A dead node says nothing but that it is down.", "node",
					text("Node", "node", 90),
					yesNo("State", `max by (node) (avax_node_up`+nodes+`)`, "Up", good, "Down", bad, 60),
					text("Version", "version", 150),
					yesNo("Bootstrapped", `min by (node) (avax_node_chain_bootstrapped`+nodes+`)`, "Yes", good, "No", bad, 115),
					value("Reward votes", `max by (node) (avax_node_uptime_rewarding_stake_ratio`+nodes+`)`, "percentunit", 1, 110, lowBy("AvaxRewardStakeLow")),
					value("Connected stake", `max by (node) (avax_node_connected_stake_ratio`+nodes+`)`, "percentunit", 1, 132, lowBy("AvaxConnectedStakeLow")),
					value("Peers", `max by (node) (avax_node_peers`+nodes+`)`, "none", 0, 55, nil),
				).withInfo(`max by (node, version) (avax_node_info`+nodes+`)`).size(13, 8).sorted("State"),
			},
		},
		{
			title: "Validators: is the reward safe?",
			panels: []*panel{
				graph("How much downtime budget is used?", "Downtime of the period so far, as a share of what the reward allows. At 100 % the reward cannot be reached any more.", "{{short}}",
					short(highest(`avax_validator_downtime_used_seconds`+anyone+` / avax_validator_downtime_budget_seconds`+anyone))).
					unit("percentunit", 1).judged(high(bar("AvaxDowntimeBudgetLow", "info"), bar("AvaxDowntimeBudgetLow", "warn"))).between(0, nil).none("No validator").size(12, 8),
				graph("Who would vote for the reward?", "Share of the stake that would vote for the node's reward today. It counts connected peers alone, and starts at the node's own stake after a restart.", "{{node}}",
					lowest(`avax_node_uptime_rewarding_stake_ratio`+nodes)).
					unit("percentunit", 1).judged(lowBy("AvaxRewardStakeLow")).between(nil, 1).from(0.7).none("No validator").size(12, 8),
			},
		},
		{
			title: "L1s: how long do they last?",
			panels: []*panel{
				bars("Which validators run dry first?", "Time until the balance is spent at the present fee: the 10 shortest.", "{{chain}} {{short}}",
					short(`bottomk(10, avax_l1_validator_runway_seconds`+anyL1+`)`)).
					unit("s", 1).judged(low(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"))).none("No L1").leadsTo("avax-l1"),
				graph("How much weight is active?", "Share of the L1's weight whose validators have a balance. Inactive validators stay in the whole: below 80 % the L1's nodes report unhealthy, below 67 % messages between chains stop.", "{{chain}}",
					lowest(`avax_l1_active_weight`+anyL1+` / avax_l1_weight`+anyL1)).
					unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).between(nil, 1).from(0.7).none("No L1").leadsTo("avax-l1"),
				graph("How much weight is connected?", "Share of the L1's weight that a node sees active and connected, the lowest of all nodes that track the chain.", "{{chain}}",
					lowest(`min without (node) (avax_l1_connected_weight{node=~"$node", chain=~"$chain"}) / avax_l1_weight`+anyL1)).
					unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).between(nil, 1).from(0.7).none("No L1").leadsTo("avax-l1"),
			},
		},
		{
			title: "Chains and network: does everything move?",
			panels: []*panel{
				graph("How far behind is a node?", "Blocks that a node is behind the highest one of all nodes, per chain: the 10 furthest behind.", "{{node}} {{chain}}",
					highest(`max without (node) (avax_chain_height{chain=~"$chain"}) - ignoring (node) group_right () avax_chain_height`+chain)).
					unit("suffix: blocks", 0).between(0, nil).none("No node").leadsTo("avax-chains"),
				graph("How much stake is connected?", "Share of all primary-network stake whose nodes this node is connected to, itself included.", "{{node}}",
					lowest(`avax_node_connected_stake_ratio`+nodes)).
					unit("percentunit", 1).judged(lowBy("AvaxConnectedStakeLow")).between(nil, 1).from(0.7).none("No node").leadsTo("avax-network"),
				graph("How busy are the chains?", "Transactions a second over the newest complete day, as the Metrics service counts them.", "{{chain}}",
					highest(`avax_chain_avg_tps{chain=~"$chain"}`)).
					unit("suffix: tx/s", 2).between(0, nil).none("No Metrics service").leadsTo("avax-chains"),
			},
		},
	},
}
