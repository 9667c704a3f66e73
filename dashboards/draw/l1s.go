package main

var l1s = board{
	file: "l1.json", uid: "avax-l1", title: "L1s",
	about:     "Balances of L1 validators, quorum, and disconnected validators.",
	variables: []variable{l1Var, nodeVar, l1ValidatorVar},
	rows: []row{
		{panels: append(
			line(exporterTile(), alertsTile(), inactiveTile(), runwayTile(),
				stat("Quorum lost in", "Time until the active weight of an L1 falls below 80 %, because balances run out and nobody tops them up.",
					"min("+minOf("avax_l1_quorum_loss_seconds", onChains, `quorum="0.80"`)+")").
					unit("dtdhms", 0).graded(quorumLoss()).none("Never, as far as known"),
				topUpTile()),
			line(
				stat("Active weight", "The lowest share of an L1's weight that is active.",
					"min("+activeWeight+")").unit("percentunit", 1).graded(l1Weight()),
				weightTile(),
				stat("Unsafe to stop", "Nodes that must not be stopped: without them, an L1 or the primary network would have too little weight. "+
					"In an L1 of few validators, these are all of them.",
					number(minOf("avax_node_safe_to_stop", onNodes), "== 0")).
					unit("none", 0).judged(fact()).reads("0", "None", plain),
				stat("Undelivered for", "How long the oldest undelivered message of the monitored addresses has waited.",
					"max(time() - "+minOf("avax_icm_oldest_pending_timestamp_seconds")+") or 0 * max("+maxOf("avax_icm_messages")+")").
					unit("s", 0).graded(highBy("AvaxICMUndelivered", seconds)).none("No monitored address"),
			)...)},
		{
			title: "How long the balances last",
			text: "Each validator pays at least 512 nAVAX per second (1.33 AVAX in 30 days). At a balance of 0 it becomes inactive, but its weight stays in the " +
				"L1's total weight. If the active weight falls too low, the L1 stops. A top-up after that may not restart it.",
			panels: []*panel{
				runwayBars().size(6, 9),
				table("Time until the quorum is lost", "Time until the active weight falls below each share, because balances run out. A dash means never. Below 80 % "+
					"nodes report themselves unhealthy. Below 75 % consensus stops. Below 67 % messages between chains stop.",
					text("L1", "chain", 0).to("avax-l1", "chain", "L1"),
					value("Below 80 %", "min by (chain) ("+minOf("avax_l1_quorum_loss_seconds", onChains, `quorum="0.80"`)+")", "dtdhms", 0, 115, colors(quorumLoss())),
					value("Below 75 %", "min by (chain) ("+minOf("avax_l1_quorum_loss_seconds", onChains, `quorum="0.75"`)+")", "dtdhms", 0, 115, colors(quorumLoss())),
					value("Below 67 %", "min by (chain) ("+minOf("avax_l1_quorum_loss_seconds", onChains, `quorum="0.67"`)+")", "dtdhms", 0, 115, colors(quorumLoss())),
					value("Top-up, AVAX", "max by (chain) ("+maxOf("avax_l1_top_up_avax", onChains, `days="30"`)+")", "none", 3, 100, nil),
				).size(9, 9).sorted("Below 80 %"),
				alertsTable("avax-l1").size(9, 9),
			},
		},
		{
			title: "Each validator",
			text:  "Shortest runway first. *Connected* is the share of your nodes that are connected to the validator.",
			panels: []*panel{
				table("Validators", "One row for each validator. If there are many, select an L1. A legacy validator has no balance. Click the name to show only this "+
					"validator.",
					text("Validator", "name", 0).to("avax-l1", "node_id", "ID", "chain", "L1"),
					hidden("ID", "node_id"),
					text("L1", "chain", 110).to("avax-l1", "chain", "L1"),
					yesNo("State", namedL1(l1By("min", minOf("avax_l1_validator_active", onL1s...))), "Active", good, "Inactive", bad, 80),
					value("Runway", l1By("min", minOf("avax_l1_validator_runway_seconds", onL1s...)), "dtdhms", 0, 130, colors(runway())),
					value("Balance", l1By("min", minOf("avax_l1_validator_balance_avax", onL1s...)), "suffix: AVAX", 4, 130, nil),
					value("Burn per day", l1By("max", maxOf("avax_l1_validator_burn_avax_per_day", onL1s...)), "suffix: AVAX", 4, 120, nil),
					value("Weight", l1By("max", maxOf("avax_l1_validator_weight", onL1s...)+" / ignoring (node_id, validation_id) group_left () "+
						maxOf("avax_l1_weight", onChains)), "percentunit", 1, 80, nil),
					value("Connected", l1By("avg", minOf("avax_l1_validator_connected", onL1s...)), "percentunit", 0, 95, steps(step{nil, warn}, step{1.0, good})),
					value("Uptime", l1By("avg", minOf("avax_l1_validator_uptime_ratio", onL1s...)), "percentunit", 1, 80, nil),
				).size(24, 9).sorted("Runway"),
			},
		},
		{
			title: "Quorum",
			panels: []*panel{
				activeWeightGraph(),
				connectedWeightGraph(),
				graph("Who may build the next block", "Share of the weight of the validators that may build the next block of the chain, and that run the chain and are "+
					"connected. At 0 nobody can ever extend the chain until one of them runs it again. An idle chain is normal.", "{{chain}}",
					lowest(maxOf("avax_l1_proposers_left_ratio", onChains))).shares(0).graded(lowBy("AvaxL1ProposersLow", percents)),
				graph("Weight left after a stop", "Share of the set's weight that stays active and connected if the node stops: the 10 lowest.",
					"{{chain}} without {{node}}",
					lowest(minOf("avax_node_stop_leaves_ratio", onNodes, `chain=~"$chain|P"`))).
					shares(0.7).graded(l1Weight()).opening("avax-node", "node", "node"),
				graph("Shortest runways", "Time until the balance is spent: the 10 shortest. A top-up raises the line.", "{{chain}} {{name}}",
					namedL1(lowest(minOf("avax_l1_validator_runway_seconds", onL1s...)))).unit("dtdhms", 0).graded(runway()).between(0, nil).upTo(60*day).opening("avax-l1",
					"node_id", "node_id"),
				graph("Burn of a validator", "The highest burn rate of each L1's validators, in AVAX per day. All validators pay the same fee.", "{{chain}}",
					highest("max without (node_id, validation_id) ("+maxOf("avax_l1_validator_burn_avax_per_day", onL1s...)+")")).unit("suffix: AVAX", 4).between(0, nil),
				graph("P-Chain blocks until a message is usable", "Blocks of the P-Chain from the height of the chain's epoch to the newest. A message of another chain "+
					"that was signed at the newest height can be verified after so many.", "{{chain}}",
					highest(maxOf("avax:l1_epoch_lag_blocks", onChains))).unit("none", 0).between(0, nil).size(12, 8),
				graph("Validators by state", "Active and inactive validators, and legacy validators of a former permissioned subnet.", "{{chain}} {{state}}",
					highest(maxOf("avax_l1_validators", onChains)+" > 0")).counts().steady().size(12, 8),
			},
		},
		{
			title: "Connections and owners",
			panels: []*panel{
				table("Disconnected validators", "Active validators to which at least one of your nodes is not connected: the 20 with the lowest share of connected nodes.",
					text("Validator", "name", 0).to("avax-l1", "node_id", "ID", "chain", "L1"),
					hidden("ID", "node_id"),
					text("L1", "chain", 120),
					value("Connected", orElse(
						namedL1("bottomk(20, "+l1By("avg", minOf("avax_l1_validator_connected", onL1s...))+" < 1 and on (validation_id) "+maxOf("avax_l1_validator_active")+
							" == 1)"),
						of("avax_l1_validator_connected", onL1s...), "name", "Nobody"), "percentunit", 0, 95, steps(step{nil, warn})).orElse(),
				).size(10, 8).sorted("Connected"),
				table("Owners of the subnets", "Addresses that may change a subnet, and how many of them must sign, from the Data service. An unplanned change may mean "+
					"that a key was stolen.",
					text("Owner", "address", 0),
					hidden("ID", "subnet_id"),
					text("Subnet", "name", 150),
					value("Must sign", orElse(subnetName("max by (subnet_id, address) ("+maxOf("avax_subnet_owner_info")+" * on (job, subnet_id) group_left () "+
						maxOf("avax_subnet_owner_threshold")+")"), exporters, "address", "No answer"), "none", 0, 95, nil).orElse(),
				).size(14, 8),
			},
		},
	},
}

// onL1s are the matchers for families of an L1's validators.
var onL1s = []string{onChains, onValidators}

// l1By aggregates the values of the nodes that observe a validator.
func l1By(f, expr string) string { return f + " by (chain, node_id, validation_id) (" + expr + ")" }

// l1Weight returns the grades of a share of an L1's weight.
func l1Weight() []grade { return lowBy("AvaxL1ConnectedWeightLow", percents) }

var (
	activeWeight    = minOf("avax_l1_active_weight", onChains) + " / " + maxOf("avax_l1_weight", onChains)
	connectedWeight = minOf("avax_l1_connected_weight", onNodes, onChains) + " / ignoring (node) group_left () " + maxOf("avax_l1_weight", onChains)
)

func inactiveTile() *panel {
	return stat("Inactive L1 validators", "Validators whose balance ran out. They neither vote nor sign, but their weight stays in the L1's total weight.",
		"sum("+maxOf("avax_l1_validators", onChains, `state="inactive"`)+")").
		faults(bad, "None")
}

func runwayTile() *panel {
	return stat("Shortest L1 runway", "Time until the first L1 validator runs out of balance. At a balance of 0 it becomes inactive, but its weight stays in "+
		"the L1's total weight.",
		"min("+minOf("avax_l1_validator_runway_seconds", onChains)+")").
		unit("dtdhms", 0).graded(runway()).leadsTo("avax-l1")
}

func weightTile() *panel {
	return stat("Connected L1 weight", "Share of an L1's weight that is active and connected according to a node: the lowest of all nodes and L1s.",
		"min("+connectedWeight+")").unit("percentunit", 1).graded(l1Weight()).leadsTo("avax-l1")
}

func topUpTile() *panel {
	return stat("Top-up for 30 days", "Amount that keeps every validator of these L1s active for 30 days.",
		"sum("+maxOf("avax_l1_top_up_avax", onChains, `days="30"`)+")").unit("suffix: AVAX", 3).reads("0", "Nothing", good).leadsTo("avax-l1")
}

func runwayBars() *panel {
	return bars("Time until the balance is spent", "L1 validators at the current fee: the 10 shortest times. The bar is full at 60 days or more.",
		"{{chain}} {{name}}",
		namedL1("bottomk(10, "+minOf("avax_l1_validator_runway_seconds", onChains)+")")).
		unit("dtdhms", 0).graded(runway()).between(0, 2*bar("AvaxL1RunwayLow", "", "30d")).opening("avax-l1", "node_id", "node_id")
}

func activeWeightGraph() *panel {
	return graph("Active weight", "Share of the L1's weight whose validators have a balance: the 10 lowest. Below 80 % the L1's nodes report themselves "+
		"unhealthy. Below 67 % messages between chains stop.", "{{chain}}",
		lowest(activeWeight)).shares(0.7).graded(l1Weight()).opening("avax-l1", "chain", "chain")
}

func connectedWeightGraph() *panel {
	return graph("Connected weight", "Share of the L1's weight that is active and connected, according to the node with the lowest share: the 10 lowest.",
		"{{chain}}",
		lowest("min without (node) ("+connectedWeight+")")).shares(0.7).graded(l1Weight()).opening("avax-l1", "chain", "chain")
}
