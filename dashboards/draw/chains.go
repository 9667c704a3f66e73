package main

var chains = board{
	file: "chains.json", uid: "avax-chains", title: "chains and fees",
	about:     "Heads of the chains on each node, gas prices and fees.",
	variables: []variable{chainVar, nodeVar},
	rows: []row{
		{panels: append(
			line(exporterTile(), alertsTile(), bootstrappingTile(),
				stat("Chains missing", "Chains that a node should run, but does not. They are not tracked, or their VM did not start.",
					number(minOf("avax_node_chain_present", onNodes, onChains), "== 0")).
					unit("none", 0).judged(some(warn)).reads("0", "None", good),
				stat("Furthest behind", "Number of blocks by which the node that is furthest behind is behind the highest node.",
					"max("+lag+")").unit("suffix: blocks", 0).graded(highBy("AvaxHeadLag", blocks)),
				stat("Forks", "Nodes whose block differs from the block that most nodes have at the same height.",
					"sum("+withoutObservers("avax_chain_fork_detected")+")").
					unit("none", 0).judged(some(bad)).reads("0", "None", good).none("One node only")),
			line(
				stat("Longest vote", "How long the oldest block has been in voting.",
					"max("+maxOf("avax_chain_longest_processing_seconds", onNodes)+")").unit("s", 0).none("No health API"),
				stat("Base fee", "Base fee of the newest block, as a multiple of the chain's minimum base fee: the highest of all chains.",
					"max("+maxOf("avax_chain_head_base_fee_wei", onChains)+" / ("+minOf("avax_chain_fee_config_min_base_fee_wei", onChains)+" > 0))").
					unit("suffix: × minimum", 1).graded(highGrades(bar("AvaxBaseFeeHigh", ""), nan, times)).none("No fee configuration"),
				stat("Fees changed", "Chains whose fee configuration was changed after genesis.",
					number(maxOf("avax_chain_fee_config_last_changed_block", onChains), "> 0")).
					unit("none", 0).reads("0", "None", good).none("No fee configuration"),
				stat("Busiest chain", "Transactions per second over the newest complete day: the highest of all chains.",
					"max("+maxOf("avax_chain_avg_tps", onChains)+")").unit("suffix: tx/s", 2).none("No Metrics service"),
			)...)},
		{
			title: "Heads of the chains",
			text:  "A chain without transactions has no new blocks, so a growing age alone is not a fault. A node that is *behind* other nodes is a fault. Blocks that stay in voting for long are a fault too.",
			panels: []*panel{
				table("Chains", "One row for each chain, from all monitored nodes. Click the name to show only this chain.",
					text("Chain", "chain", 0).to("avax-chains", "chain", "Chain"),
					value("Height", "max by (chain) ("+maxOf("avax_chain_height", onNodes, onChains)+")", "none", 0, 100, nil),
					value("Newest block", "time() - max by (chain) ("+maxOf("avax_chain_head_timestamp_seconds", onNodes, onChains)+")", "s", 0, 110, nil),
					value("Most behind", "max by (chain) ("+lag+")", "none", 0, 105, colors(highBy("AvaxHeadLag", blocks))),
					value("Forks", "sum by (chain) ("+withoutObservers("avax_chain_fork_detected")+")", "none", 0, 60, some(bad)),
					value("Base fee, nAVAX", inNanoAVAX("max by (chain) ("+maxOf("avax_chain_head_base_fee_wei", onChains)+")"), "none", 3, 130, nil),
					value("Block full", "max by (chain) ("+blockFull+")", "percentunit", 0, 85, nil),
					value("TPS", "max by (chain) ("+maxOf("avax_chain_avg_tps", onChains)+")", "none", 2, 75, nil),
				).size(15, 8).sortedDown("Most behind"),
				alertsTable("avax-chain", "avax-service", "companion-icm").size(9, 8),
				lagGraph(),
				graph("Age of the newest block", "Age of the newest block of each chain on any node: the 10 oldest.", "{{chain}}",
					highest("time() - max without (node) ("+maxOf("avax_chain_head_timestamp_seconds", onNodes, onChains)+")")).unit("s", 0).between(0, nil).upTo(60).opening("avax-chains", "chain", "chain"),
				graph("Longest votes", "How long the oldest block has been in voting: the 10 longest times.", "{{node}} {{chain}}",
					highest(maxOf("avax_chain_longest_processing_seconds", onNodes))).unit("s", 0).between(0, nil).upTo(10).none("No health API").opening("avax-node", "node", "node"),
				timeline("Bootstrapped", "The 20 chains of nodes that were bootstrapped least in the time range.", "{{node}} {{chain}}",
					minOf("avax_node_chain_bootstrapped", onNodes, onChains)+" and on (job, node, chain) bottomk(20, min without (instance, pod) (avg_over_time("+of("avax_node_chain_bootstrapped", onNodes, onChains)+"[$__range] @ end())))").
					judged(steps(step{nil, bad}, step{1.0, good})).mapped([]object{mapping("0", "bootstrapping", bad), mapping("1", "yes", good)}).size(24, 9).opening("avax-node", "node", "node"),
			},
		},
		{
			title: "Gas and fees",
			panels: []*panel{
				graph("Base fee", "Base fee of the newest block in nAVAX per gas, on an L1 in 10⁻⁹ of its token: the 10 highest.", "{{chain}}",
					highest(inNanoAVAX(maxOf("avax_chain_head_base_fee_wei", onChains)))).unit("suffix: nAVAX", 2).between(0, nil).none("No EVM chain"),
				graph("Gas used of the limit", "Share of its gas limit that the newest block used: the 10 highest.", "{{chain}}",
					highest(blockFull)).unit("percentunit", 1).between(0, 1).none("No EVM chain"),
				graph("Transactions in the newest block", "The 10 largest numbers.", "{{chain}}",
					highest(maxOf("avax_chain_head_transactions", onChains))).counts().none("No EVM chain"),
				table("Fee configuration", "The result of eth_feeConfig. An unplanned change may mean that a key was stolen.",
					text("Chain", "chain", 0).to("avax-chains", "chain", "Chain"),
					value("Gas limit", orElse("max by (chain) ("+maxOf("avax_chain_fee_config_gas_limit", onChains)+")", exporters, "chain", "None"), "locale", 0, 105, nil).orElse(),
					value("Target gas", "max by (chain) ("+maxOf("avax_chain_fee_config_target_gas", onChains)+")", "locale", 0, 105, nil),
					value("Block rate", "max by (chain) ("+maxOf("avax_chain_fee_config_target_block_rate_seconds", onChains)+")", "s", 0, 90, nil),
					value("Minimum base fee, nAVAX", inNanoAVAX("max by (chain) ("+maxOf("avax_chain_fee_config_min_base_fee_wei", onChains)+")"), "none", 3, 185, nil),
					value("Changed in block", "max by (chain) ("+maxOf("avax_chain_fee_config_last_changed_block", onChains)+")", "none", 0, 130, nil),
				).size(14, 7),
				graph("Minimum base fee", "The lowest base fee that the chain's configuration allows in nAVAX per gas, on an L1 in 10⁻⁹ of its token: the 10 highest.", "{{chain}}",
					highest(inNanoAVAX(maxOf("avax_chain_fee_config_min_base_fee_wei", onChains)))).unit("suffix: nAVAX", 2).between(0, nil).none("No chain with a fee configuration").size(10, 7).steady(),
			},
		},
		{
			title: "Metrics and Data service", collapsed: true,
			text: "Values from the Metrics service and the Data service, if they are configured.",
			panels: []*panel{
				graph("Transactions a second", "Average of the newest complete day, from the Metrics service: the 10 highest.", "{{chain}}",
					highest(maxOf("avax_chain_avg_tps", onChains))).unit("suffix: tx/s", 2).between(0, nil).upTo(1).none("No Metrics service").steady(),
				graph("Blocks that the Data service is behind", "Blocks between the nodes' head and the newest block that the Data service has indexed: the 10 largest numbers.", "{{chain}}",
					highest("max without (node) ("+maxOf("avax_chain_height", onChains)+") - "+maxOf("avax_data_indexed_height", onChains))).
					unit("suffix: blocks", 0).between(0, nil).upTo(10).none("No Data service"),
				graph("Age of the Metrics service's figures", "Time since the Metrics service last updated the chain: the 10 longest.", "{{chain}}",
					highest("time() - "+maxOf("avax_metrics_service_last_run_timestamp_seconds", onChains))).unit("s", 0).between(0, nil).none("No Metrics service"),
			},
		},
	},
}

// lag is the number of blocks that each node is behind the highest one.
var lag = "max without (node) (" + maxOf("avax_chain_height", onChains) + ") - ignoring (node) group_right () (" + withoutObservers("avax_chain_height") + ")"

// withoutObservers returns a family of heights or forks without observers, which are called less often.
func withoutObservers(family string) string {
	return maxOf(family, onNodes, onChains) + " unless ignoring (chain) " + maxOf("avax_observer_info")
}

// blockFull is the share of its gas limit that the newest block uses.
var blockFull = maxOf("avax_chain_head_gas_used", onChains) + " / " + maxOf("avax_chain_head_gas_limit", onChains)
