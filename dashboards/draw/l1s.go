package main

var l1s = board{
	file: "l1.json", uid: "avax-l1", title: "L1s",
	about:     "How long do the L1s' validators last, is the quorum safe, and who is disconnected?",
	variables: []variable{l1Var, nodeVar, {"node_id", "Validator", "avax_l1_validator_info", "node_id"}},
	rows: []row{
		{panels: []*panel{
			stat("Inactive", "Validators that ran out of balance. They neither vote nor sign, and their weight still counts.",
				`sum(avax_l1_validators{chain=~"$chain", state="inactive"})`).
				unit("none", 0).judged(some(bad)).reads("0", "None", good).none("No L1"),
			stat("Shortest runway", "How long the validator lasts that runs out of balance first.",
				`min(avax_l1_validator_runway_seconds`+anyL1+`)`).
				unit("s", 1).judged(low(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"))).none("No L1"),
			stat("Quorum lost in", "Until run-outs take the active weight of an L1 below 80 %, if nobody tops up.",
				`min(avax_l1_quorum_loss_seconds{chain=~"$chain", quorum="0.80"})`).
				unit("s", 1).judged(lowBy("AvaxL1QuorumLossForecast")).none("Never"),
			stat("Active weight", "The lowest share of an L1's weight that is active.",
				`min(avax_l1_active_weight`+anyL1+` / avax_l1_weight`+anyL1+`)`).
				unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).none("No L1"),
			stat("Connected", "The lowest share of an L1's weight that a node sees active and connected.",
				`min(avax_l1_connected_weight{node=~"$node", chain=~"$chain"} / ignoring (node) group_left () avax_l1_weight`+anyL1+`)`).
				unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).none("No L1"),
			stat("Top-up, 30 d", "What it costs to keep every validator of these L1s active for 30 days.",
				`sum(avax_l1_top_up_avax{chain=~"$chain", days="30"})`).
				unit("suffix: AVAX", 3).reads("0", "Nothing", good).none("No L1"),
			stat("Unsafe to stop", "Own nodes whose stop would leave an L1, or the primary network, with less than 80 % of its weight.",
				`count(avax_node_safe_to_stop`+nodes+` == 0) or 0 * count(avax_node_safe_to_stop`+nodes+`)`).
				unit("none", 0).judged(some(warn)).reads("0", "All safe", good).none("Not known"),
			stat("Undelivered for", "How long the oldest message between chains waits, of the watched addresses.",
				`max(time() - avax_icm_oldest_pending_timestamp_seconds) or 0 * max(avax_icm_messages)`).
				unit("s", 0).judged(highBy("AvaxICMUndelivered")).reads("0", "None", good).none("Not watched"),
		}},
		{
			title: "How long does it last?",
			text:  "Each validator pays at least 512 nAVAX a second (1.33 AVAX in 30 days). At 0 it turns inactive while its weight stays in the whole: an L1 stops when active weight falls too low, and topping up after a full run-out may not revive it.",
			panels: []*panel{
				bars("Which validators run dry first?", "Time until the balance is spent at the present fee: the 10 shortest.", "{{chain}} {{short}}",
					short(`bottomk(10, avax_l1_validator_runway_seconds`+anyL1Validator+`)`)).
					unit("s", 1).judged(low(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"))).none("No L1").size(8, 9),
				table("When is the quorum lost?", "Until run-outs take the active weight below the share; a dash where they never do. 80 %: nodes report unhealthy; 75 %: queries stop; 67 %: messages between chains stop.", "chain",
					text("L1", "chain", 0),
					value("Below 80 %", `min by (chain) (avax_l1_quorum_loss_seconds{chain=~"$chain", quorum="0.80"})`, "s", 1, 92, lowBy("AvaxL1QuorumLossForecast")),
					value("Below 75 %", `min by (chain) (avax_l1_quorum_loss_seconds{chain=~"$chain", quorum="0.75"})`, "s", 1, 92, lowBy("AvaxL1QuorumLossForecast")),
					value("Below 67 %", `min by (chain) (avax_l1_quorum_loss_seconds{chain=~"$chain", quorum="0.67"})`, "s", 1, 92, lowBy("AvaxL1QuorumLossForecast")),
					value("Top-up", `max by (chain) (avax_l1_top_up_avax{chain=~"$chain", days="30"})`, "none", 3, 80, nil),
				).none("No L1").size(8, 9).sorted("Below 80 %"),
				firing(alertsOf("avax-l1")).size(8, 9),
			},
		},
		{
			title: "Each validator",
			text:  "Shortest runway first. *Connected* is the share of the own nodes that see it.",
			panels: []*panel{
				table("Is each validator fine?", "One row for each validator; choose an L1 where there are many. A legacy validator has no balance to run out of.", "validation_id",
					text("L1", "chain", 110),
					text("Validator", "node_id", 0),
					yesNo("State", `max by (chain, node_id, validation_id) (avax_l1_validator_active`+anyL1Validator+`)`, "Active", good, "Inactive", bad, 80),
					value("Runway", `max by (validation_id) (avax_l1_validator_runway_seconds`+anyL1Validator+`)`, "s", 1, 100, low(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"))),
					value("Balance", `max by (validation_id) (avax_l1_validator_balance_avax`+anyL1Validator+`)`, "suffix: AVAX", 4, 130, nil),
					value("Burn a day", `max by (validation_id) (avax_l1_validator_burn_avax_per_day`+anyL1Validator+`)`, "suffix: AVAX", 4, 120, nil),
					value("Weight", `max by (validation_id) (avax_l1_validator_weight`+anyL1Validator+` / on (chain) group_left () avax_l1_weight`+anyL1+`)`, "percentunit", 1, 80, nil),
					value("Connected", `avg by (validation_id) (avax_l1_validator_connected{chain=~"$chain", node_id=~"$node_id"})`, "percentunit", 0, 95, low(0.5, 1)),
					value("Uptime", `avg by (validation_id) (avax_l1_validator_uptime_ratio{chain=~"$chain", node_id=~"$node_id"})`, "percentunit", 1, 80, nil),
				).none("No L1").size(24, 9).sorted("Runway"),
			},
		},
		{
			title: "Is the quorum safe?",
			panels: []*panel{
				graph("How much weight is active?", "Share of the L1's weight that is active: the 10 lowest.", "{{chain}}",
					lowest(`avax_l1_active_weight`+anyL1+` / avax_l1_weight`+anyL1)).
					unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).between(nil, 1).from(0.7).none("No L1"),
				graph("How much weight is connected?", "Share of the L1's weight that the node sees active and connected: the 10 lowest.", "{{chain}} as {{node}} sees it",
					lowest(`avax_l1_connected_weight{node=~"$node", chain=~"$chain"} / ignoring (node) group_left () avax_l1_weight`+anyL1)).
					unit("percentunit", 1).judged(lowBy("AvaxL1ConnectedWeightLow")).between(nil, 1).from(0.7).none("No L1"),
				graph("What would a stop leave?", "Share of the set's weight that stays active and connected once the node stops: the 10 lowest.", "{{chain}} without {{node}}",
					lowest(`avax_node_stop_leaves_ratio{node=~"$node", chain=~"$chain|P"}`)).
					unit("percentunit", 1).judged(steps(step{nil, bad}, step{0.8, good})).between(nil, 1).from(0.7).none("Not known"),
				graph("How long do the shortest last?", "Runway of the 10 that are shortest at the end of the time range. It falls by a second a second; a top-up lets it jump.", "{{chain}} {{short}}",
					short(lowest(`avax_l1_validator_runway_seconds`+anyL1Validator))).unit("s", 1).between(0, nil).none("No L1"),
				graph("What does a validator burn?", "The highest burn of each L1's validators in AVAX a day. All validators pay the same fee; a higher one is a mistake.", "{{chain}}",
					highest(`max without (node_id, validation_id) (avax_l1_validator_burn_avax_per_day`+anyL1Validator+`)`)).unit("suffix: AVAX", 4).between(0, nil).none("No L1"),
				graph("How many validators are there?", "Validators by state: active, inactive, or legacy ones of a permissioned subnet.", "{{chain}} {{state}}",
					highest(`avax_l1_validators{chain=~"$chain"} > 0`)).unit("none", 0).between(0, nil).none("No L1").steady(),
			},
		},
		{
			title: "Who is disconnected, and do messages arrive?",
			panels: []*panel{
				table("Who is disconnected?", "Share of the own nodes that see an active validator: the 20 lowest.", "validation_id",
					text("L1", "chain", 120),
					text("Validator", "node_id", 0),
					value("Seen by", `bottomk(20, avg by (chain, node_id, validation_id) (avax_l1_validator_connected{chain=~"$chain", node_id=~"$node_id"}) and on (validation_id) avax_l1_validator_active == 1)`, "percentunit", 0, 90, low(0.5, 1)),
				).none("No L1").size(10, 8).sorted("Seen by"),
				graph("Do messages between chains wait?", "Age of the oldest undelivered message, 0 where none waits: the 10 oldest.", "{{source}} to {{destination}}",
					`topk(10, time() - max by (source, destination) (avax_icm_oldest_pending_timestamp_seconds) or 0 * max by (source, destination) (avax_icm_messages))`).
					unit("s", 0).judged(highBy("AvaxICMUndelivered")).between(0, nil).none("No address is watched").size(7, 8),
				graph("How many messages were delivered?", "Messages of the watched addresses by status: the 10 largest numbers.", "{{source}} to {{destination}} {{status}}",
					highest(`avax_icm_messages`)).unit("none", 0).between(0, nil).none("No address is watched").size(7, 8).steady(),
			},
		},
	},
}
