package main

var network = board{
	file: "network.json", uid: "avax-network", title: "network and peers",
	about:     "Peers and connected stake of the nodes, versions by stake, and upcoming upgrades.",
	variables: []variable{nodeVar},
	rows: []row{
		{panels: append(
			line(exporterTile(), alertsTile(), nodesTile(), stakeTile(), upgradeTile(),
				stat("Newer version", "Share of the stake that runs a newer version than one of your nodes: the highest of all nodes.",
					"max("+maxOf("avax_node_newer_version_stake_ratio", onNodes)+")").unit("percentunit", 1).graded(highBy("AvaxVersionBehindNetwork", percents))),
			line(
				stat("Fewest peers", "Number of peers of the node with the fewest peers.",
					"min("+minOf("avax_node_peers", onNodes)+")").unit("none", 0).judged(steps(step{nil, bad}, step{1.0, good})).reads("0", "None", bad),
				stat("Fewest inbound peers", "Number of inbound connections of the node with the fewest. If it stays 0, no peer can reach the node.",
					"min("+maxOf("avax_node_peers_inbound", onNodes)+")").unit("none", 0).judged(steps(step{nil, warn}, step{1.0, good})).reads("0", "None", warn),
				stat("Facts that differ", "Facts that differ between your nodes, but should be equal: chain configurations, upgrade schedules, VMs, protocol.",
					number(maxOf("avax_fleet_variants"), "> 1")).faults(warn, "Nothing").unit("none", 0),
				stat("Health checks failing", "Failing checks according to the nodes' health API.",
					"sum("+maxOf("avax_node_health_check_failing", onNodes)+")").faults(warn, "None").none("No health API"),
			)...)},
		{
			title: "Nodes",
			panels: []*panel{
				table("Nodes and their peers", "The current state of each node. Nodes that are not up come first. Click the name to open the dashboard of the node.",
					text("Node", "node", 0).to("avax-node", "node", "Node"),
					states("State", "max by (job, node) ("+nodeStates+")", 80, mapping("1", "Up", good), mapping("0", "Down", bad), mapping("-1", "No data", warn)),
					text("Version", "version", 145),
					value("Connected stake", "min by (job, node) ("+minOf("avax_node_connected_stake_ratio", onNodes)+")", "percentunit", 1, 120,
						colors(lowBy("AvaxConnectedStakeLow", percents))),
					value("Peers", "min by (job, node) ("+minOf("avax_node_peers", onNodes)+")", "none", 0, 65, nil),
					yesNo("Staking port", "max by (job, node) ("+maxOf("avax_node_staking_port_open", onNodes)+")", "Open", good, "Closed", warn, 100),
					value("Inbound", "max by (job, node) ("+maxOf("avax_node_peers_inbound", onNodes)+")", "none", 0, 80, steps(step{nil, warn}, step{1.0, good})),
					value("Silent", "max by (job, node) ("+maxOf("avax_node_peers_silent", onNodes)+")", "none", 0, 60, nil),
					value("Newer stake", "max by (job, node) ("+maxOf("avax_node_newer_version_stake_ratio", onNodes)+")", "percentunit", 1, 100,
						colors(highBy("AvaxVersionBehindNetwork", percents))),
					yesNo("Safe to stop", "min by (job, node) ("+minOf("avax_node_safe_to_stop", onNodes)+")", "Yes", good, "No", warn, 100),
				).withInfo("max by (job, node, version) ("+of("avax_node_info", onNodes)+")").size(15, 8).sorted("State"),
				alertsTable("avax-node", "avax-upgrade", "companion-avalanchego", "companion-host").size(9, 8),
				upTimeline().size(24, 7),
			},
		},
		{
			title: "Peers",
			text: "The connected stake matters, not the number of peers: a node with a thousand peers and little connected stake does not work. If there are no " +
				"inbound connections, check that TCP 9651 is reachable.",
			panels: []*panel{
				connectedStakeGraph(),
				graph("Peers", "Connected peers: the 10 nodes with the fewest.", "{{node}}",
					lowest(minOf("avax_node_peers", onNodes))).counts().opening("avax-node", "node", "node"),
				graph("Inbound peers", "Inbound connections: the 10 nodes with the fewest.", "{{node}}",
					lowest(minOf("avax_node_peers_inbound", onNodes))).counts().opening("avax-node", "node", "node"),
				graph("Benched peers", "Number of benched peers, which a node does not query for a while because they did not answer: the 10 highest.",
					"{{node}} {{chain}}",
					highest(maxOf("avax_node_peers_benched", onNodes))).counts().opening("avax-node", "node", "node"),
				graph("Health checks failing", "Number of nodes on which each health check fails: the 10 highest.", "{{check}}",
					highest("sum without (node) ("+maxOf("avax_node_health_check_failing", onNodes)+")")).counts().none("No health API").steady(),
				graph("Disk free", "Free share of the volume with the database: the 10 nodes with the least. Below 3 %, a node stops.", "{{node}}",
					lowest(minOf("avax_node_disk_free_ratio", onNodes))).shares(0).none("No health API").opening("avax-node", "node", "node"),
				graph("Connected weight by set", "Share of the validator set's weight that is connected according to a node: the lowest of all nodes.", "{{name}}",
					subnetName(lowest("min without (node) ("+minOf("avax_network_connected_stake_ratio", onNodes)+")"))).shares(0.7),
			},
		},
		{
			title: "Versions and upgrades",
			text:  "After an upgrade activates, the network rejects older versions. The times are those that the nodes report, not those of a web page.",
			panels: []*panel{
				graph("Versions by stake", "Share of all stake by version, according to your node with the most connected stake.", "{{version}}",
					highest("max without (node) ("+maxOf("avax_node_version_stake_ratio", onNodes)+")")).unit("percentunit", 1).between(0, 1).stacked(),
				table("Coming upgrades", "The next five upgrades that the nodes know. They are not active yet.",
					text("Upgrade", "upgrade", 0),
					value("When", orElse("bottomk(5, min by (upgrade) ("+minOf("avax_upgrade_timestamp_seconds", onNodes)+") > time()) * 1000",
						of("avax_upgrade_timestamp_seconds", onNodes), "upgrade", "None ahead"), "dateTimeFromNow", 0, 140, nil).orElse(),
				).size(8, 8).sorted("When"),
				table("Differences between nodes", "Facts that should be equal on all your nodes, and the number of different values.",
					text("Fact", "fact", 110),
					text("Of", "subject", 0),
					value("Values", orElse("max by (fact, subject) ("+maxOf("avax_fleet_variants")+") > 1", of("avax_fleet_variants"), "fact", "None"), "none", 0, 85,
						steps(step{nil, good}, step{2.0, warn})).orElse(),
				).size(8, 8).sortedDown("Values"),
			},
		},
		{
			title: "Size of the network", collapsed: true,
			panels: []*panel{
				graph("Validators", "Validators in the set of the primary network and of the monitored subnets.", "{{name}}",
					subnetName(highest(maxOf("avax_network_validators")))).counts().size(6, 7).steady(),
				graph("Stake", "The validators' own stake and the stake delegated to them, in millions of AVAX.", "{{name}}",
					subnetName(scaled(highest(maxOf("avax_network_stake_avax")+" + "+maxOf("avax_network_delegated_stake_avax")), 1e6))).unit("suffix: M AVAX", 1).between(0,
					nil).size(6, 7).steady(),
				graph("Supply", "An upper bound in millions of AVAX: burned AVAX is not subtracted.", "supply",
					scaled("max("+maxOf("avax_network_supply_avax")+")", 1e6)).unit("suffix: M AVAX", 2).size(6, 7).steady(),
				table("Support of proposals", "Share of the stake that supports each Avalanche Community Proposal. A node supports by itself what its release "+
					"schedules. Proposals without votes are not listed.",
					text("ACP", "acp", 0),
					value("For", orElse("max by (acp) ("+acp("support")+") > 0", exporters, "acp", "None"), "percentunit", 1, 80, nil).orElse(),
					value("Against", "max by (acp) ("+acp("object")+")", "percentunit", 1, 90, nil),
				).size(6, 7).sortedDown("For"),
			},
		},
	},
}

// acp returns the share of the stake with this position on each ACP.
func acp(position string) string {
	return maxOf("avax_acp_stake_avax", onNodes, `position="`+position+`"`) + " / ignoring (position) sum without (position) (" +
		maxOf("avax_acp_stake_avax", onNodes) + ")"
}
