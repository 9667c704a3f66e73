package main

var validators = board{
	file: "validators.json", uid: "avax-validators", title: "validators and rewards",
	about:     "Rewards at risk, ends of periods and earnings of the monitored primary-network validators.",
	variables: []variable{validatorVar, nodeVar},
	rows: []row{
		{panels: append(
			line(exporterTile(), alertsTile(), paidTile(), votesTile(), budgetTile(), stakeEndTile()),
			line(
				stat("Not in the set", "Monitored validators that are missing from the set of the primary network.", number(present, "== 0")).
					faults(bad, "None"),
				stat("Stake, AVAX", "Own stake of the monitored validators.",
					"sum("+maxOf("avax_validator_stake_avax", onValidators)+")").unit("locale", 0),
				stat("Reward, AVAX", "Rewards of the monitored validators at the end of their periods, if their uptime suffices. Includes their share of their "+
					"delegators' rewards.",
					"sum("+maxOf("avax_validator_potential_reward_avax", onValidators)+") + (sum("+maxOf("avax_validator_accrued_delegatee_reward_avax", onValidators)+
						") or vector(0))").
					unit("locale", 0),
				stat("Delegations", "Delegations to the monitored validators.",
					"sum("+maxOf("avax_validator_delegators", onValidators)+")").unit("none", 0),
			)...)},
		{
			title: "Which validator is at risk",
			text: "The requirement is 80 % for a period that started before Helicon and 90 % for a later one. *Used* is the downtime that peers observed, weighted " +
				"by stake. *Left* is the downtime that is still allowed until the period ends.",
			panels: []*panel{
				validatorsTable().size(24, 8),
				alertsTable("avax-validator").size(12, 7),
				bars("Time until the stake ends", "The 10 monitored validators whose periods end first. The bar is full at 90 days or more.", "{{name}}",
					named("bottomk(10, "+minOf("avax_validator_end_timestamp_seconds", onValidators)+" - time())")).
					unit("dtdhms", 0).graded(stakeEnds()).between(0, 90*day).opening("avax-validators", "node_id", "node_id").size(12, 7),
			},
		},
		{
			title: "Uptime, and who observed it",
			text: "Every peer votes according to the uptime that it observed itself. If one peer disagrees with the others, it is probably wrong. If many peers " +
				"agree, they are right.",
			panels: []*panel{
				budgetGraph(),
				votesGraph(),
				graph("Uptime that the peers observed", "Average of the uptimes that peers observed, weighted by stake, without the node's report about itself: the 10 "+
					"lowest.", "{{name}}",
					named(lowest(minOf("avax_validator_weighted_uptime_ratio", onValidators)))).shares(0.9).opening("avax-validators", "node_id", "node_id"),
				graph("Difference between observers", "Difference between the highest and the lowest uptime that your nodes observed for a validator: the 10 largest.",
					"{{name}}",
					named(highest("max without (node) ("+maxOf("avax_validator_uptime_ratio", onNodes, onValidators)+") - min without (node) ("+
						maxOf("avax_validator_uptime_ratio", onNodes, onValidators)+")"))).
					unit("percentunit", 1).between(0, nil).upTo(0.05).opening("avax-validators", "node_id", "node_id"),
				graph("Own nodes that are connected to it", "Share of your nodes that are connected to the validator: the 10 lowest.", "{{name}}",
					named(lowest("avg without (node) ("+maxOf("avax_validator_connected", onNodes, onValidators)+")"))).
					unit("percentunit", 0).between(0, 1).opening("avax-validators", "node_id", "node_id"),
				timeline("Will it be paid?", "The state of each monitored validator according to the alerts: the 20 validators that used most of their downtime budget.",
					"{{name}}",
					named("("+paid+") and on (node_id) topk(20, "+atEnd(usedShares)+")")).judged(steps(step{nil, warn}, step{0.0, good}, step{1.0, warn},
					step{2.0, bad})).mapped(paidStates).size(8, 8),
			},
		},
		{
			title: "Money",
			text:  "Paid rewards come from the Data service, if it is configured.",
			panels: []*panel{
				graph("Delegated stake, AVAX", "Delegated stake of the 10 validators with the most.", "{{name}}",
					named(highest(maxOf("avax_validator_delegated_stake_avax", onValidators)))).unit("locale", 0).between(0, nil).size(6, 8),
				graph("Reward at the end of the period, AVAX", "The reward if the uptime suffices: the 10 highest.", "{{name}}",
					named(highest(maxOf("avax_validator_potential_reward_avax", onValidators)))).unit("locale", 0).between(0, nil).size(6, 8),
				table("Rewards paid so far", "All rewards that were ever paid for the monitored validators, by kind. Value: in AVAX_CURRENCY, at the price on the day "+
					"of the payment.",
					text("Kind", "type", 0),
					value("Paid, AVAX", orElse("sum by (type) ("+maxOf("avax_rewards_avax_total", onValidators)+")", exporters, "type", "No Data service"), "locale", 2, 110,
						nil).orElse(),
					value("Rewards", "sum by (type) ("+maxOf("avax_rewards_total", onValidators)+")", "none", 0, 90, nil),
					value("Value", "sum by (type) ("+maxOf("avax_rewards_value", onValidators)+")", "locale", 2, 90, nil),
					value("No price", "sum by (type) ("+maxOf("avax_rewards_unpriced", onValidators)+")", "none", 0, 75, nil),
					value("Other asset", "sum by (type) ("+maxOf("avax_rewards_other_assets_total", onValidators)+")", "none", 0, 90, nil),
					value("Last", "max by (type) ("+maxOf("avax_rewards_last_timestamp_seconds", onValidators)+") * 1000", "dateTimeFromNow", 0, 120, nil),
				).size(12, 8),
				payoutsTable().size(14, 7),
				newPeriodsTable().size(10, 7),
			},
		},
	},
}

func delegationsTable() *panel {
	by := func(f, expr string) string { return f + " by (name, node_id, tx_id) (" + expr + ")" }
	return table("Delegations", "Delegations of the addresses in AVAX_WATCH_DELEGATORS. Nothing renews a delegation. A dash as the reward: no node or observer "+
		"reports the validator's uptime.",
		text("Owner", "name", 0),
		text("Validator", "subject", 0),
		hidden("ID", "node_id"),
		hidden("Transaction", "tx_id"),
		value("Stake, AVAX", namedAs("subject", by("max", maxOf("avax_delegation_stake_avax"))), "locale", 0, 110, nil),
		value("Expected reward, AVAX", by("max", maxOf("avax_delegation_expected_reward_avax")), "locale", 2, 160, nil),
		yesNo("Reward", by("min", minOf("avax_delegation_reward_reachable")), "Reachable", good, "Lost", bad, 110),
		value("Ends in", by("min", minOf("avax_delegation_end_timestamp_seconds"))+" - time()", "dtdhms", 0, 130, colors(stakeEnds())),
	).sorted("Ends in")
}

func payoutsTable() *panel {
	by := func(f, expr string) string { return f + " by (name, node_id, tx_id) (" + expr + ")" }
	return table("Periods that ended", "What was expected, and what was paid, for the staking periods of the last 30 days. Without an owner: a monitored "+
		"validator.",
		text("Owner", "name", 90),
		text("Validator", "subject", 0),
		hidden("ID", "node_id"),
		hidden("Transaction", "tx_id"),
		value("Ended", namedAs("subject", by("max", maxOf("avax_payout_end_timestamp_seconds"))+" * 1000"), "dateTimeFromNow", 0, 120, nil),
		value("Expected, AVAX", by("max", maxOf("avax_payout_expected_avax")), "locale", 2, 120, nil),
		value("Paid, AVAX", by("max", maxOf("avax_payout_paid_avax")), "locale", 2, 100, nil),
	).sortedDown("Ended")
}

func newPeriodsTable() *panel {
	by := func(f, expr string) string { return f + " by (node_id) (" + expr + ")" }
	return table("Room for delegation", "Stake that can still be delegated to a validator, and the reward of its own stake for a new period at the present rate.",
		text("Validator", "name", 0),
		hidden("ID", "node_id"),
		value("Room, AVAX", named(by("min", minOf("avax_validator_delegation_room_avax", onValidators))), "locale", 0, 110, nil),
		value("Next reward, AVAX", by("max", maxOf("avax_validator_next_reward_avax", onValidators)), "locale", 2, 140, nil),
	).sorted("Room, AVAX")
}

// voteShares is the share of the stake that would vote for each own validator's reward, as in the alerts.
var voteShares = minOf("avax_node_uptime_rewarding_stake_ratio", onNodes)

func votesTile() *panel {
	return stat("Reward votes", "Share of the stake that would vote for the reward today: the lowest of your validators. The reward is all or nothing: 50 % is "+
		"needed at the end of the period.",
		"min("+voteShares+")").unit("percentunit", 1).graded(lowBy("AvaxRewardStakeLow", percents)).leadsTo("avax-validators")
}

var usedShares = maxOf("avax_validator_downtime_used_seconds", onValidators) + " / " + minOf("avax_validator_downtime_budget_seconds", onValidators)

func budgetTile() *panel {
	return stat("Downtime budget used", "The largest used share of a downtime budget. Above 100 % the reward of the period is lost.",
		"max("+usedShares+")").unit("percentunit", 1).graded(budgetUsed()).leadsTo("avax-validators")
}

func stakeEndTile() *panel {
	return stat("Next stake end", "Time until the first period of a monitored validator ends. An auto-renewed validator has no end.",
		"min("+minOf("avax_validator_end_timestamp_seconds", onValidators)+") - time()").
		unit("dtdhms", 0).graded(stakeEnds()).none("None known").leadsTo("avax-validators")
}

func budgetGraph() *panel {
	return graph("Downtime budget used", "Downtime in the period so far, as a share of the allowed downtime: the 10 highest. Above 100 % the reward is lost.",
		"{{name}}",
		named(highest(usedShares))).unit("percentunit", 1).graded(budgetUsed()).between(0, nil).upTo(1).opening("avax-validators", "node_id", "node_id")
}

func votesGraph() *panel {
	return graph("Reward votes", "Share of the stake that would vote for the reward today: the 10 lowest. Only connected peers count. After a restart the "+
		"share begins with the node's own stake.", "{{node}}",
		lowest(voteShares)).shares(0.7).graded(lowBy("AvaxRewardStakeLow", percents)).opening("avax-validators", "node", "node")
}

func validatorsTable() *panel {
	left := minOf("avax_validator_downtime_budget_seconds", onValidators) + " - " + maxOf("avax_validator_downtime_used_seconds", onValidators)
	by := func(f, expr string) string { return f + " by (node_id) (" + expr + ")" }
	return table("Validators", "One row for each monitored validator, the worst first. Click the name to show only this validator.",
		text("Validator", "name", 0).to("avax-validators", "node_id", "ID"),
		hidden("ID", "node_id"),
		states("Paid", named(paid), 125, paidStates...),
		yesNo("In the set", by("min", present), "Yes", good, "No", bad, 80),
		value("Votes", by("min", ofNodes(voteShares))+" and on (node_id) "+present, "percentunit", 1, 70, colors(lowBy("AvaxRewardStakeLow", percents))),
		value("Requirement", by("max", maxOf("avax_validator_uptime_requirement_ratio", onValidators)), "percentunit", 0, 105, nil),
		value("Uptime", by("min", minOf("avax_validator_weighted_uptime_ratio", onValidators)), "percentunit", 2, 80, nil),
		value("Budget used", by("max", usedShares), "percentunit", 1, 105, colors(budgetUsed())),
		value("Left", by("min", left), "dtdhms", 0, 120, nil),
		yesNo("At 90 %", by("min", minOf("avax_validator_reward_reachable_at", onValidators, `requirement="0.9"`)), "Reachable", good, "Lost", warn, 90),
		value("Ends in", by("min", minOf("avax_validator_end_timestamp_seconds", onValidators))+" - time()", "dtdhms", 0, 130, colors(stakeEnds())),
		value("Stake, AVAX", by("max", maxOf("avax_validator_stake_avax", onValidators)), "locale", 0, 100, nil),
		value("Reward, AVAX", by("max", maxOf("avax_validator_potential_reward_avax", onValidators)), "locale", 1, 110, nil),
	).sortedDown("Budget used").sortedDown("Paid")
}
