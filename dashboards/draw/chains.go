package main

var chains = board{
	file: "chains.json", uid: "avax-chains", title: "chains and fees",
	about:     "Do the chains move, does every node follow, and what does gas cost?",
	variables: []variable{chainVar, nodeVar},
	rows: []row{
		{panels: []*panel{
			stat("Bootstrapping", "Chains that bootstrap on some node.",
				`count(avax_node_chain_bootstrapped`+chain+` == 0) or 0 * count(avax_node_chain_bootstrapped`+chain+`)`).
				unit("none", 0).judged(some(bad)).reads("0", "All done", good).none("No node"),
			stat("Chains missing", "Chains that a node should run and says not to know: not tracked, or the virtual machine did not start.",
				`count(avax_node_chain_present`+chain+` == 0) or 0 * count(avax_node_chain_present`+chain+`)`).
				unit("none", 0).judged(some(warn)).reads("0", "None", good).none("No node"),
			stat("Furthest behind", "Blocks between the node that is furthest behind and the highest one.",
				`max(max without (node) (avax_chain_height{chain=~"$chain"}) - ignoring (node) group_right () avax_chain_height`+chain+`)`).
				unit("suffix: blocks", 0).judged(highBy("AvaxHeadLag")).none("No node"),
			stat("Forks", "Nodes with another block than most have at the same height.",
				`sum(avax_chain_fork_detected`+chain+`)`).
				unit("none", 0).judged(some(bad)).reads("0", "None", good).none("One node only"),
			stat("In voting for", "How long the oldest block has been voted on. Where a chain is quiet, 0 means that nobody uses it; long means that it is stuck.",
				`max(avax_chain_longest_processing_seconds{node=~"$node"})`).
				unit("s", 0).judged(steps(step{nil, good}, step{60.0, warn}, step{600.0, bad})).none("No health API"),
			stat("Base fee", "Base fee of the newest block over the lowest that the chain allows: the highest of all chains.",
				`max(avax_chain_head_base_fee_wei{chain=~"$chain"} / (avax_chain_fee_config_min_base_fee_wei{chain=~"$chain"} > 0))`).
				unit("suffix: × least", 1).none("No fee configuration"),
			stat("Fees changed", "Chains whose fee configuration was changed since they began.",
				`count(avax_chain_fee_config_last_changed_block{chain=~"$chain"} > 0) or 0 * count(avax_chain_fee_config_last_changed_block{chain=~"$chain"})`).
				unit("none", 0).reads("0", "None", good).none("No fee configuration"),
			stat("Busiest chain", "The most transactions a second over the newest complete day.",
				`max(avax_chain_avg_tps{chain=~"$chain"})`).unit("suffix: tx/s", 2).none("No Metrics service"),
		}},
		{
			title: "Does every node follow?",
			text:  "A chain that nobody uses makes no blocks: a growing age alone is no fault. A node that is *behind* others, or blocks that are voted on for long, are.",
			panels: []*panel{
				table("Is each chain fine?", "One row for each chain, from all nodes that are asked.", "chain",
					text("Chain", "chain", 0),
					value("Height", `max by (chain) (avax_chain_height`+chain+`)`, "none", 0, 100, nil),
					value("Newest block", `time() - max by (chain) (avax_chain_head_timestamp_seconds`+chain+`)`, "s", 0, 110, nil),
					value("Nodes behind", `count by (chain) ((max without (node) (avax_chain_height{chain=~"$chain"}) - ignoring (node) group_right () avax_chain_height`+chain+`) > 5) or 0 * count by (chain) (avax_chain_height`+chain+`)`, "none", 0, 115, some(warn)),
					value("Forks", `sum by (chain) (avax_chain_fork_detected`+chain+`)`, "none", 0, 60, some(bad)),
					value("Base fee, wei", `max by (chain) (avax_chain_head_base_fee_wei{chain=~"$chain"})`, "short", 1, 115, nil),
					value("Block full", `max by (chain) (avax_chain_head_gas_used{chain=~"$chain"} / avax_chain_head_gas_limit{chain=~"$chain"})`, "percentunit", 0, 85, nil),
					value("TPS", `max by (chain) (avax_chain_avg_tps{chain=~"$chain"})`, "none", 2, 75, nil),
				).size(15, 8).sortedDown("Nodes behind"),
				firing(alertsOf("avax-chain", "avax-service")).size(9, 8),
				graph("How far behind is a node?", "Blocks that a node is behind the highest one of all nodes: the 10 furthest.", "{{node}} {{chain}}",
					highest(`max without (node) (avax_chain_height{chain=~"$chain"}) - ignoring (node) group_right () avax_chain_height`+chain)).
					unit("suffix: blocks", 0).judged(highBy("AvaxHeadLag")).between(0, nil).none("No node"),
				graph("How old is the newest block?", "Age of the newest block that any node has: the 10 oldest.", "{{chain}}",
					highest(`time() - max without (node) (avax_chain_head_timestamp_seconds`+chain+`)`)).unit("s", 0).between(0, nil).none("No node"),
				graph("Are blocks stuck in voting?", "How long the oldest block has been voted on: the 10 longest.", "{{node}} {{chain}}",
					highest(`avax_chain_longest_processing_seconds{node=~"$node"}`)).unit("s", 0).between(0, nil).none("No health API"),
			},
		},
		{
			title: "What does gas cost?",
			panels: []*panel{
				graph("What is the base fee?", "Base fee of the newest block in wei per gas: the 10 highest.", "{{chain}}",
					highest(`avax_chain_head_base_fee_wei{chain=~"$chain"}`)).unit("short", 1).between(0, nil).none("No EVM chain"),
				graph("How full are the blocks?", "Gas used of the gas that the newest block may use: the 10 fullest.", "{{chain}}",
					highest(`avax_chain_head_gas_used{chain=~"$chain"} / avax_chain_head_gas_limit{chain=~"$chain"}`)).unit("percentunit", 0).between(0, 1).none("No EVM chain"),
				graph("How many transactions are in a block?", "Transactions of the newest block: the 10 largest.", "{{chain}}",
					highest(`avax_chain_head_transactions{chain=~"$chain"}`)).unit("none", 0).between(0, nil).none("No EVM chain"),
				table("How are fees configured?", "What eth_feeConfig answers. A change without a vote is somebody with the fee manager's key.", "chain",
					text("Chain", "chain", 0),
					value("Gas limit", `max by (chain) (avax_chain_fee_config_gas_limit{chain=~"$chain"})`, "short", 1, 90, nil),
					value("Target gas", `max by (chain) (avax_chain_fee_config_target_gas{chain=~"$chain"})`, "short", 1, 95, nil),
					value("Block rate", `max by (chain) (avax_chain_fee_config_target_block_rate_seconds{chain=~"$chain"})`, "s", 0, 90, nil),
					value("Least base fee, wei", `max by (chain) (avax_chain_fee_config_min_base_fee_wei{chain=~"$chain"})`, "short", 1, 150, nil),
					value("Changed in block", `max by (chain) (avax_chain_fee_config_last_changed_block{chain=~"$chain"})`, "none", 0, 140, nil),
				).none("No chain with a fee configuration").size(14, 7),
				graph("Did the lowest base fee change?", "The lowest base fee that the chain's configuration allows in wei per gas: the 10 highest.", "{{chain}}",
					highest(`avax_chain_fee_config_min_base_fee_wei{chain=~"$chain"}`)).unit("short", 1).between(0, nil).none("No chain with a fee configuration").size(10, 7).steady(),
			},
		},
		{
			title: "How busy are they, and does the index follow?",
			text:  "Asked of the Metrics and the Data service, where they are configured.",
			panels: []*panel{
				graph("How many transactions a second?", "Over the newest complete day, as the Metrics service counts them: the 10 busiest.", "{{chain}}",
					highest(`avax_chain_avg_tps{chain=~"$chain"}`)).unit("suffix: tx/s", 2).between(0, nil).none("No Metrics service").steady(),
				graph("How far behind is the Data service?", "Blocks between the nodes' head and what the Data service has indexed: the 10 furthest.", "{{chain}}",
					highest(`max without (node) (avax_chain_height{chain=~"$chain"}) - avax_data_indexed_height{chain=~"$chain"}`)).unit("suffix: blocks", 0).none("No Data service"),
				graph("How old are the Metrics service's figures?", "Since the Metrics service last updated the chain: the 10 oldest.", "{{chain}}",
					highest(`time() - avax_metrics_service_last_run_timestamp_seconds{chain=~"$chain"}`)).unit("s", 0).between(0, nil).none("No Metrics service"),
			},
		},
	},
}
