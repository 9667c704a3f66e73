package main

var delegator = board{
	file: "delegator.json", uid: "avax-delegator", title: "delegations",
	about: "Delegations of the addresses in AVAX_WATCH_DELEGATORS: stake, expected reward, ends and payments. Needs no node.",
	rows: []row{
		{panels: line(
			exporterTile(), alertsTile(),
			stat("Delegated, AVAX", "Stake of all delegations.", "sum("+maxOf("avax_delegation_stake_avax")+")").unit("locale", 0).none("None known"),
			stat("Expected reward, AVAX", "Rewards at the ends of the delegations, after the validators' fees.",
				"sum("+maxOf("avax_delegation_expected_reward_avax")+")").
				unit("locale", 1).none("None known"),
			stat("At risk, AVAX", "Expected rewards that the validators can no longer earn, because they were down for too long. Only a node or an observer reports "+
				"the uptime.", "sum(avax:delegation_reward_at_risk_avax) or 0 * sum("+minOf("avax_delegation_reward_reachable")+")").
				unit("locale", 1).judged(steps(step{nil, good}, step{0.01, bad})).reads("0", "None", good).none("Uptime unknown"),
			stat("Next end", "Time until the first delegation ends. Nothing renews a delegation.", "min("+minOf("avax_delegation_end_timestamp_seconds")+") - time()").
				unit("dtdhms", 0).graded(stakeEnds()).none("None known"),
		)},
		{
			title: "Delegations",
			panels: []*panel{
				delegationsTable().size(24, 8),
				payoutsTable().size(24, 7),
			},
		},
	},
}
