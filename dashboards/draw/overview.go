package main

import "slices"

// overview is the start dashboard.
var overview = board{
	file: "grafana.json", uid: "avax-overview", title: "overview",
	about:     "Active alerts, and the state of nodes, validators, L1s and chains.",
	variables: []variable{nodeVar, chainVar, validatorVar},
	rows: []row{
		{panels: slices.Concat(
			line(exporterTile(), alertsTile(), nodesTile(), bootstrappingTile(), upgradeTile(), stakeTile()),
			line(paidTile(), votesTile(), budgetTile(), stakeEndTile()),
			line(runwayTile(), weightTile(), inactiveTile(), topUpTile()),
		)},
		{title: "What is wrong, and where", panels: []*panel{alertsTable().size(11, 8), nodesTable().size(13, 8)}},
		{title: "What happened, and when", panels: []*panel{alertsTimeline().size(12, 8), upTimeline().size(12, 8)}},
		{title: "Rewards", panels: []*panel{
			validatorsTable().size(24, 6),
			budgetGraph().size(12, 8),
			votesGraph().size(12, 8),
		}},
		{title: "L1s", collapsed: true, panels: []*panel{
			runwayBars().size(8, 8), activeWeightGraph().size(8, 8), connectedWeightGraph().size(8, 8),
		}},
		{title: "Chains and network", panels: []*panel{
			graph("Age of the newest block", "Time since the newest block of the chain on the node: the 10 longest. A chain without transactions has no new blocks.",
				"{{node}} {{chain}}",
				highest("time() - "+maxOf("avax_chain_head_timestamp_seconds", onNodes, onChains))).unit("s", 0).between(0, nil).upTo(60).leadsTo("avax-chains"),
			lagGraph().leadsTo("avax-chains"),
			connectedStakeGraph().leadsTo("avax-network"),
		}},
	},
}

// nodeStates is the state of each node that was monitored within the last 15 minutes: 1 up, 0 down, -1 if no exporter
// monitors it any longer.
var nodeStates = maxOf("avax_node_up", onNodes) + " or 0 * max without (instance, pod) (last_over_time(" + of("avax_node_up", onNodes) + "[15m])) - 1"

func nodesTile() *panel {
	return stat("Nodes not up", "Nodes that do not answer the exporter, or that no exporter has monitored for several minutes.",
		"count(("+nodeStates+") != 1) or 0 * count("+nodeStates+")").
		faults(bad, "All up").leadsTo("avax-network")
}

func bootstrappingTile() *panel {
	return stat("Bootstrapping", "Chains that are bootstrapping on a node. Until a chain is bootstrapped, the node cannot serve or validate it.",
		number(minOf("avax_node_chain_bootstrapped", onNodes, onChains), "== 0")).
		faults(bad, "All done").leadsTo("avax-chains")
}

func upgradeTile() *panel {
	until := maxOf("avax_upgrade_timestamp_seconds", onNodes) + " - time()"
	return stat("Next upgrade", "Time until the next network upgrade that a node knows. Not known: most of the stake announces an upgrade that a node does not "+
		"know.",
		"0 * min("+maxOf("avax_node_unknown_upgrade_timestamp_seconds", onNodes)+") - 1 or min(("+until+") > 0) or 0 * count("+maxOf("avax_node_up", onNodes)+
			") - 2").
		unit("dtdhms", 0).judged(steps(step{nil, bad}, step{0.0, good})).
		reads("-1", "Not known", bad).reads("-2", "None", good).leadsTo("avax-network")
}

func stakeTile() *panel {
	return stat("Connected stake", "Share of the primary network's stake to which a node is connected: the lowest of all nodes.",
		"min("+minOf("avax_node_connected_stake_ratio", onNodes)+")").
		unit("percentunit", 1).graded(lowBy("AvaxConnectedStakeLow", percents)).leadsTo("avax-network")
}

// nodesTable has a row per node, worst first.
func nodesTable() *panel {
	marked := func(expr, of string) string { return `label_replace(` + expr + `, "of", "` + of + `", "", "")` }
	const severe = `severity=~"page|warn"`
	// Companion alerts have their own job, and some alerts have only the validator's name.
	alerting := "sum by (node) (" +
		marked("count by (node) ("+firing(everyAlert, severe, `node!=""`)+")", "node") + " or " +
		marked(`count by (node) (label_replace(`+firing(everyAlert, severe, `node=""`, `node_id!=""`)+` * on (node_id) group_left (name) `+names("node_id", "name")+
			`, "node", "$1", "name", "(.+)"))`, "validator") + " or " +
		marked("0 * group by (node) ("+maxOf("avax_node_up", onNodes)+" and on () "+watchdog+")", "nothing") + ")"
	answering := func(expr string) string { // the last values of a node that does not answer expire only after three periods
		return "max by (job, node) (" + expr + ") and on (job, node) max by (job, node) (" + maxOf("avax_node_up", onNodes) + ") == 1"
	}
	return table("Nodes", "The current state of each node. Nodes that are not up come first. Click the name to open the dashboard of the node. Alerts: number "+
		"of pages and warnings about the node.",
		text("Node", "node", 0).to("avax-node", "node", "Node"),
		states("State", "max by (job, node) ("+nodeStates+")", 90, mapping("1", "Up", good), mapping("0", "Down", bad), mapping("-1", "No data", warn)),
		value("Alerts", "max by (job, node) ("+maxOf("avax_node_up", onNodes)+") * 0 + on (node) group_left () "+alerting, "none", 0, 65, some(warn)),
		yesNo("Bootstrapped", answering("min by (job, node) ("+minOf("avax_node_chain_bootstrapped", onNodes)+")"), "Yes", good, "No", bad, 115),
		value("Reward votes", answering(minOf("avax_node_uptime_rewarding_stake_ratio", onNodes)), "percentunit", 1, 105,
			colors(lowBy("AvaxRewardStakeLow", percents))),
		value("Connected stake", answering(minOf("avax_node_connected_stake_ratio", onNodes)), "percentunit", 1, 110,
			colors(lowBy("AvaxConnectedStakeLow", percents))),
		value("Peers", answering(minOf("avax_node_peers", onNodes)), "none", 0, 60, nil),
		text("Version", "version", 145),
	).withInfo("max by (job, node, version) (" + of("avax_node_info", onNodes) + ")").sortedDown("Alerts").sorted("State")
}

// alertsTimeline shows firing alerts and the times without rule evaluation.
func alertsTimeline() *panel {
	expr := "max by (alertname) (2 * " + firing(everyAlert, `severity="page"`) + " or 1 * " + firing(everyAlert, `severity="warn"`) + ")" +
		" or label_replace(0 * group(" + watchdog + `), "alertname", "rules evaluated", "", "")`
	return timeline("Alerts, by name", "When pages and warnings fired. A gap in the row of the rules means that they were not evaluated.", "{{alertname}}", expr).
		judged(steps(step{nil, good}, step{1.0, warn}, step{2.0, bad})).
		mapped([]object{mapping("0", "yes", good), mapping("1", "warning", warn), mapping("2", "page", bad)}).none(noRules)
}

// upTimeline shows the times at which nodes were up and bootstrapped, lowest availability first.
func upTimeline() *panel {
	up := maxOf("avax_node_up", onNodes)
	booted := "min without (chain) (" + minOf("avax_node_chain_bootstrapped", onNodes) + ")"
	expr := up + " + (" + booted + " or 0 * " + up + " + 1)"
	expr = "(" + up + " == 0 or " + expr + ") and on (job, node) bottomk(20, max without (instance, pod) (avg_over_time(" + of("avax_node_up", onNodes) +
		"[$__range] @ end())))"
	return timeline("Nodes up and bootstrapped", "The 20 nodes with the least time up in the time range. A gap means that no exporter monitored the node.",
		"{{node}}",
		"max by (job, node) ("+expr+")").
		judged(steps(step{nil, bad}, step{1.0, warn}, step{2.0, good})).
		mapped([]object{mapping("0", "down", bad), mapping("1", "bootstrapping", warn), mapping("2", "up", good)}).opening("avax-node", "node", "node")
}

func connectedStakeGraph() *panel {
	return graph("Connected stake", "Share of the primary network's stake to which this node is connected, including its own stake: the 10 lowest.", "{{node}}",
		lowest(minOf("avax_node_connected_stake_ratio", onNodes))).shares(0.7).graded(lowBy("AvaxConnectedStakeLow", percents)).opening("avax-node", "node", "node")
}

func lagGraph() *panel {
	return graph("Blocks behind the highest node", "Number of blocks by which a node is behind the highest node: the 10 highest.", "{{node}} {{chain}}",
		highest(lag)).
		counts().upTo(40).graded(highBy("AvaxHeadLag", blocks)).opening("avax-node", "node", "node")
}
