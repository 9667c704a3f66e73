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
					faults(warn, "None"),
				stat("Most blocks behind", "Number of blocks by which the node that is furthest behind is behind the highest node.",
					"max("+lag+")").unit("none", 0).graded(highBy("AvaxHeadLag", blocks)),
				stat("Forks", "Nodes whose block differs from the block that most nodes have at the same height.",
					"sum("+withoutObservers("avax_chain_fork_detected")+")").
					faults(bad, "None").none("One node only")),
			line(
				stat("Longest vote", "How long the oldest block has been in voting.",
					"max("+maxOf("avax_chain_longest_processing_seconds", onNodes)+")").unit("s", 0).none("No health API"),
				stat("Base fee / minimum", "Base fee of the newest block, as a multiple of the chain's minimum base fee: the highest of all chains. While no block comes, "+
					"the fee of the next one falls.",
					"max("+maxOf("avax_chain_head_base_fee_wei", onChains)+" / ("+minOf("avax_chain_fee_config_min_base_fee_wei", onChains)+" > 0))").
					unit("suffix: ×", 1).graded(highGrades(bar("AvaxBaseFeeHigh", ""), nan, times)).none("No fee configuration"),
				stat("Fees changed", "Chains whose fee configuration was changed after genesis.",
					number(maxOf("avax_chain_fee_config_last_changed_block", onChains), "> 0")).
					unit("none", 0).reads("0", "None", good).none("No fee configuration"),
				stat("Busiest chain", "Transactions per second over the newest complete day: the highest of all chains.",
					"max("+maxOf("avax_chain_avg_tps", onChains)+")").unit("suffix: tx/s", 2).none("No Metrics service"),
			)...)},
		{
			title: "Heads of the chains",
			text: "A chain without transactions has no new blocks, so a growing age alone is not a fault. A node that is *behind* other nodes is a fault. Blocks " +
				"that stay in voting for long are a fault too.",
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
					highest("time() - max without (node) ("+maxOf("avax_chain_head_timestamp_seconds", onNodes, onChains)+")")).unit("s", 0).between(0,
					nil).upTo(60).opening("avax-chains", "chain", "chain"),
				graph("Longest votes", "How long the oldest block has been in voting: the 10 longest times.", "{{node}} {{chain}}",
					highest(maxOf("avax_chain_longest_processing_seconds", onNodes))).unit("s", 0).between(0, nil).upTo(10).none("No health API").opening("avax-node", "node",
					"node"),
				graph("Pending transactions", "Transactions in a node's pool that wait for a block: the 10 highest numbers.", "{{node}} {{chain}}",
					highest(maxOf("avax_node_pool_transactions", onNodes, onChains, `state="pending"`))).unit("none", 0).between(0,
					nil).upTo(10).none("No pool API").opening("avax-node", "node", "node").size(12, 8),
				graph("Blocks not executed or settled", "Blocks that a node has accepted and not executed, or executed and not settled: the 10 highest.",
					"{{node}} {{chain}} {{stage}}",
					highest(maxOf("avax:execution_lag", onNodes, onChains))).counts().none("No health API").size(12, 8),
				timeline("Bootstrapped", "The 20 chains of nodes that were bootstrapped least in the time range.", "{{node}} {{chain}}",
					minOf("avax_node_chain_bootstrapped", onNodes, onChains)+" and on (job, node, chain) bottomk(20, min without (instance, pod) (avg_over_time("+
						of("avax_node_chain_bootstrapped", onNodes, onChains)+"[$__range] @ end())))").
					judged(steps(step{nil, bad}, step{1.0, good})).mapped([]object{mapping("0", "bootstrapping", bad), mapping("1", "yes", good)}).size(24,
					9).opening("avax-node", "node", "node"),
			},
		},
		{
			title: "Answers to users (RPC)", collapsed: true,
			text: "What the collector rpc asks your nodes, if it is on: whether the answers are right, and fast. The *error budget* is what the target allows to miss " +
				"in 30 days.",
			panels: []*panel{
				graph("Pace at which the error budget is used", "1 uses the whole budget in 30 days: the 10 highest.", "{{chain}} {{objective}}",
					highest(maxOf("avax:rpc_burn", onChains))).unit("suffix: ×", 1).
					graded(highBy("AvaxRPCBudgetBurn", times)).between(0, nil).upTo(4).none("No collector rpc").size(8, 8),
				graph("Good answers by node", "Share of the checks whose last answer was right or fast: the 10 lowest.", "{{node}} {{chain}} {{objective}}",
					lowest("avg without (instance, pod, check) ("+of("avax:rpc_good", onNodes, onChains)+")")).unit("percentunit", 1).
					between(nil, 1).none("No collector rpc").size(8, 8),
				graph("Slowest answers", "Time within which 99 % of the answers of 5 min came: the 10 longest.", "{{node}} {{chain}} {{check}}",
					"topk(10, histogram_quantile(0.99, max without (instance, pod) (rate("+of("avax_rpc_check_duration_seconds_bucket", onNodes, onChains)+"[5m]))))").
					unit("s", 2).between(0, nil).none("No collector rpc").size(8, 8),
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
					value("Gas limit", orElse("max by (chain) ("+maxOf("avax_chain_fee_config_gas_limit", onChains)+")", exporters, "chain", "None"), "locale", 0, 105,
						nil).orElse(),
					value("Target gas", "max by (chain) ("+maxOf("avax_chain_fee_config_target_gas", onChains)+")", "locale", 0, 105, nil),
					value("Block rate", "max by (chain) ("+maxOf("avax_chain_fee_config_target_block_rate_seconds", onChains)+")", "s", 0, 90, nil),
					value("Minimum base fee, nAVAX", inNanoAVAX("max by (chain) ("+maxOf("avax_chain_fee_config_min_base_fee_wei", onChains)+")"), "none", 3, 185, nil),
					value("Changed in block", "max by (chain) ("+maxOf("avax_chain_fee_config_last_changed_block", onChains)+")", "none", 0, 130, nil),
				).size(14, 7),
				graph("Minimum base fee", "The lowest base fee that the chain's configuration allows, or on the C-Chain its validators, in nAVAX per gas, on an L1 in "+
					"10⁻⁹ of its token: the 10 highest.", "{{chain}}",
					highest(inNanoAVAX("("+maxOf("avax_chain_fee_config_min_base_fee_wei", onChains)+" or "+maxOf("avax_chain_min_gas_price_wei", onChains)+
						")"))).unit("suffix: nAVAX", 2).between(0, nil).none("No chain with a fee configuration").size(10, 7).steady(),
			},
		},
		{
			title: "Messages, wallets and signatures",
			text:  "What the Data service reports about the monitored addresses, or icm_chains reads from the chains. Messages are those *to* the selected chains.",
			panels: []*panel{
				graph("Age of the oldest undelivered message", "The 10 oldest. 0 means that no message waits.", "{{source}} to {{destination}}",
					"topk(10, time() - max by (source, destination) ("+minOf("avax_icm_oldest_pending_timestamp_seconds", toChains)+") or 0 * max by (source, destination) ("+
						maxOf("avax_icm_messages", toChains)+"))").
					unit("s", 0).graded(highBy("AvaxICMUndelivered", seconds)).between(0, nil).upTo(60).none("No monitored address"),
				graph("Messages by status", "Number of messages of the monitored addresses: the 10 highest.", "{{source}} to {{destination}} {{status}}",
					highest(maxOf("avax_icm_messages", toChains))).counts().none("No monitored address").steady(),
				table("Deliveries", "Who delivered the messages, and how long the last delivery took.",
					text("Deliverer", "deliverer", 0), text("From", "source", 80), text("To", "destination", 80),
					value("Delivered", orElse("sum by (source, destination, deliverer) ("+maxOf("avax_icm_deliveries", toChains)+")", exporters, "deliverer", "None"), "none",
						0, 80, nil).orElse(),
					value("Receipts", "sum by (source, destination) ("+maxOf("avax_icm_receipts", toChains)+")", "none", 0, 70, nil),
					value("Last took", "max by (source, destination) ("+maxOf("avax_icm_last_delivery_seconds", toChains)+")", "s", 0, 73, nil),
				).size(8, 8),
				graph("Balances", "Balances of the monitored addresses in the chain's own token: the 10 lowest.", "{{name}} {{chain}}",
					namedAddress(lowest(maxOf("avax_address_balance_tokens", onChains)))).unit("none", 2).between(0, nil).none("No monitored address"),
				table("Monitored addresses", "Value in AVAX_CURRENCY. Transfers and internal transactions are those of the last day.",
					text("Address", "name", 0), hidden("ID", "address"), text("Chain", "chain", 90).to("avax-chains", "chain", "Chain"),
					value("Balance", orElse(namedAddress(onAddresses("avax_address_balance_tokens")), exporters, "name", "None"), "none", 3, 90, nil).orElse(),
					value("Value", onAddresses("avax_address_balance_value"), "locale", 2, 90, nil),
					value("NFTs", onAddresses("avax_address_collectibles"), "none", 0, 60, nil),
					value("Transfers", inADay("avax_address_transfers_total"), "none", 0, 80, nil),
					value("Internal", inADay("avax_address_internal_transactions_total"), "none", 0, 80, nil),
					value("Contracts", onAddresses("avax_address_deployments_total"), "none", 0, 85, nil),
				).size(16, 8),
				timeline("Signature probes", "Whether the signature aggregator collected enough signatures. A gap means that the Data service did not answer.", "{{probe}}",
					minOf("avax_signature_aggregation_up")).judged(steps(step{nil, bad}, step{1.0, good})).
					mapped([]object{mapping("0", "too few signatures", bad), mapping("1", "signed", good)}).none("No probe").size(8, 8),
				graph("Duration of an aggregation", "Time until the signature aggregator had enough signatures: the 10 longest.", "{{probe}}",
					highest(maxOf("avax_signature_aggregation_seconds"))).unit("s", 2).between(0, nil).none("No probe"),
				graph("Lists that are not read to their end", "Time since the exporter read each list of the Data service to its end: the 10 longest.",
					"{{list}} {{name}} {{chain}}",
					namedAddress(highest(maxOf("avax:data_list_behind_seconds")))).unit("s", 0).
					graded(highBy("AvaxDataListBehind", seconds)).between(0, nil).upTo(60).none("No list"),
			},
		},
		{
			title: "Metrics and Data service", collapsed: true,
			text: "Values from the Metrics service and the Data service, if they are configured.",
			panels: []*panel{
				graph("Transactions a second", "Average of the newest complete day, from the Metrics service: the 10 highest.", "{{chain}}",
					highest(maxOf("avax_chain_avg_tps", onChains))).unit("suffix: tx/s", 2).between(0, nil).upTo(1).none("No Metrics service").steady().size(7, 8),
				graph("Blocks that the Data service is behind", "Blocks between the nodes' head and the newest block that the Data service has indexed: the 10 largest "+
					"numbers.", "{{chain}}",
					highest("max without (node) ("+maxOf("avax_chain_height", onChains)+") - "+maxOf("avax_data_indexed_height", onChains))).
					unit("none", 0).between(0, nil).upTo(10).none("No Data service").size(7, 8),
				table("Chains in the Data service", "The newest block that the service has indexed.",
					text("Chain", "chain", 0).to("avax-chains", "chain", "Chain"),
					yesNo("Indexed", orElse("min by (chain) ("+minOf("avax_data_chain_indexed", onChains)+")", exporters, "chain", "No Data service"), "Yes", good, "No",
						warn, 80).orElse(),
					value("Newest block", "time() - max by (chain) ("+maxOf("avax_data_indexed_timestamp_seconds", onChains)+")", "s", 0, 110, nil),
					value("Transactions a day", "max by (chain) (increase("+of("avax_data_cumulative_transactions_total", onChains)+"[1d]))", "locale", 0, 150, nil),
					value("Fees of the block", "max by (chain) ("+maxOf("avax_data_fees_spent_tokens", onChains)+")", "none", 6, 130, nil),
				).size(10, 8),
				graph("Transactions of assets", "Transactions of the monitored X-Chain assets in the last day: the 10 highest.", "{{name}} {{type}}",
					namedAddress("topk(10, max without (instance, pod) (increase("+of("avax_asset_transactions_total")+"[1d])))")).counts().none("No monitored asset"),
				table("NFT metadata", "Whether the Data service has a valid copy of the metadata.",
					text("NFT", "name", 0), hidden("Contract", "contract"), hidden("Token", "token"), text("Chain", "chain", 80),
					yesNo("Metadata", orElse(namedItem("chain, contract, token", `"/", "contract", "token"`,
						"min by (chain, contract, token) ("+minOf("avax_nft_metadata_indexed", onChains)+")"), exporters, "name", "No monitored NFT"),
						"Valid", good, "Missing", warn, 85).orElse(),
					value("Read", "max by (chain, contract, token) ("+maxOf("avax_nft_metadata_timestamp_seconds", onChains)+") * 1000", "dateTimeFromNow", 0, 110, nil),
				).size(8, 8),
				graph("Age of the Metrics service's figures", "Time since the Metrics service last updated the chain: the 10 longest.", "{{chain}}",
					highest("time() - "+maxOf("avax_metrics_service_last_run_timestamp_seconds", onChains))).unit("s", 0).between(0, nil).none("No Metrics service"),
			},
		},
	},
}

// toChains selects messages by their destination.
const toChains = `destination=~"$chain"`

// onAddresses returns the values of the monitored addresses.
func onAddresses(family string) string {
	return "sum by (address, chain) (" + maxOf(family, onChains) + ")"
}

// inADay returns the increase of a counter of the monitored addresses in a day.
func inADay(family string) string {
	return "sum by (address, chain) (max without (instance, pod) (increase(" + of(family, onChains) + "[1d])))"
}

// lag is the number of blocks that each node is behind the highest one.
var lag = "max without (node) (" + maxOf("avax_chain_height", onChains) + ") - ignoring (node) group_right () (" + withoutObservers("avax_chain_height") + ")"

// withoutObservers returns a family of heights or forks without observers, which are called less often.
func withoutObservers(family string) string {
	return maxOf(family, onNodes, onChains) + " unless ignoring (chain) " + maxOf("avax_observer_info")
}

// blockFull is the share of its gas limit that the newest block uses.
var blockFull = maxOf("avax_chain_head_gas_used", onChains) + " / " + maxOf("avax_chain_head_gas_limit", onChains)
