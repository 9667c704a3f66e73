package main

var validators = board{
	file: "validators.json", uid: "avax-validators", title: "validators and rewards",
	about:     "Will the watched primary-network validators be paid, when does their stake end, and what do they earn?",
	variables: []variable{validatorVar, nodeVar},
	rows: []row{
		{panels: []*panel{
			stat("In the set", "Watched validators that are missing from the primary network's set.",
				`count(avax_validator_present`+anyone+` == 0) or 0 * count(avax_validator_present`+anyone+`)`).
				unit("suffix: missing", 0).judged(some(bad)).reads("0", "All", good).none("No validator"),
			stat("Reachable?", "Watched validators whose downtime budget is spent: even without another minute down they miss the requirement.",
				`count(avax_validator_reward_reachable`+anyone+` == 0) or 0 * count(avax_validator_reward_reachable`+anyone+`)`).
				unit("suffix: lost", 0).judged(some(bad)).reads("0", "Yes", good).none("No validator"),
			stat("Budget used", "The largest share of a downtime budget that is used.",
				`max(avax_validator_downtime_used_seconds`+anyone+` / avax_validator_downtime_budget_seconds`+anyone+`)`).
				unit("percentunit", 1).judged(high(bar("AvaxDowntimeBudgetLow", "info"), bar("AvaxDowntimeBudgetLow", "warn"))).none("No validator"),
			stat("Downtime left", "What the validator that has least left may still be down until the end of its period.",
				`min(avax_validator_downtime_budget_seconds`+anyone+` - avax_validator_downtime_used_seconds`+anyone+`)`).
				unit("s", 1).judged(steps(step{nil, bad}, step{6 * 3600.0, warn}, step{day, good})).none("No validator"),
			stat("Fewest votes", "The lowest share of the stake that would vote today for paying a watched validator, at its own requirement.",
				`min(avax_node_uptime_rewarding_stake_ratio`+nodes+`)`).
				unit("percentunit", 1).judged(lowBy("AvaxRewardStakeLow")).none("No validator"),
			stat("Next stake end", "Until the first of the watched validators ends its period.",
				`min(avax_validator_end_timestamp_seconds`+anyone+`) - time()`).
				unit("s", 1).judged(steps(step{nil, bad}, step{bar("AvaxStakeEndsSoon", "", "24h"), warn}, step{bar("AvaxStakeEndsSoon", "", "7d"), good})).none("None"),
			stat("AVAX at stake", "What the watched validators are paid at the end of their periods if all goes well, their delegators' fees included.",
				`sum(avax_validator_potential_reward_avax`+anyone+`) + (sum(avax_validator_accrued_delegatee_reward_avax`+anyone+`) or vector(0))`).
				unit("locale", 0).none("No validator"),
			stat("Delegations", "Delegations to the watched validators.",
				`sum(avax_validator_delegators`+anyone+`)`).unit("none", 0).none("No validator"),
		}},
		{
			title: "Which validator is at risk?",
			text:  "The requirement is 80 % for a period that started before Helicon and 90 % for a later one. *Used* counts the time that the stake-weighted peers saw the validator down; *left* is what it may still be down until its period ends.",
			panels: []*panel{
				table("Is each validator fine?", "One row for each watched validator, those with most of their budget used first.", "node_id",
					text("Validator", "node_id", 0),
					yesNo("In the set", `max by (node_id) (avax_validator_present`+anyone+`)`, "Yes", good, "No", bad, 80),
					yesNo("Reward", `min by (node_id) (avax_validator_reward_reachable`+anyone+`)`, "Reachable", good, "Lost", bad, 90),
					value("Requirement", `max by (node_id) (avax_validator_uptime_requirement_ratio`+anyone+`)`, "percentunit", 0, 110, nil),
					value("Uptime", `max by (node_id) (avax_validator_weighted_uptime_ratio`+anyone+`)`, "percentunit", 2, 85, nil),
					value("Budget used", `max by (node_id) (avax_validator_downtime_used_seconds`+anyone+` / avax_validator_downtime_budget_seconds`+anyone+`)`, "percentunit", 1, 110, high(bar("AvaxDowntimeBudgetLow", "info"), bar("AvaxDowntimeBudgetLow", "warn"))),
					value("Left", `max by (node_id) (avax_validator_downtime_budget_seconds`+anyone+` - avax_validator_downtime_used_seconds`+anyone+`)`, "s", 1, 95, steps(step{nil, bad}, step{6 * 3600.0, warn}, step{day, good})),
					value("Votes at 80 %", `max by (node_id) (avax_validator_votes_yes_ratio{node_id=~"$node_id", requirement="0.8"})`, "percentunit", 1, 115, nil),
					value("Votes at 90 %", `max by (node_id) (avax_validator_votes_yes_ratio{node_id=~"$node_id", requirement="0.9"})`, "percentunit", 1, 115, nil),
					value("Ends in", `max by (node_id) (avax_validator_end_timestamp_seconds`+anyone+`) - time()`, "s", 1, 95, steps(step{nil, bad}, step{bar("AvaxStakeEndsSoon", "", "24h"), warn}, step{bar("AvaxStakeEndsSoon", "", "7d"), plain})),
					value("Stake, AVAX", `max by (node_id) (avax_validator_stake_avax`+anyone+`)`, "locale", 0, 110, nil),
					value("Reward, AVAX", `max by (node_id) (avax_validator_potential_reward_avax`+anyone+`)`, "locale", 1, 120, nil),
				).size(24, 8).sortedDown("Budget used"),
				firing(alertsOf("avax-validator")).size(12, 7),
				bars("Whose stake ends first?", "Time left of the 10 watched validators whose periods end first.", "{{short}}",
					short(`bottomk(10, avax_validator_end_timestamp_seconds`+anyone+` - time())`)).
					unit("s", 1).judged(steps(step{nil, bad}, step{bar("AvaxStakeEndsSoon", "", "24h"), warn}, step{bar("AvaxStakeEndsSoon", "", "7d"), good})).none("None").size(12, 7),
			},
		},
		{
			title: "Uptime: who saw what?",
			text:  "Every peer votes by what it saw itself. One observer that disagrees is most likely the one at fault; many at once are right.",
			panels: []*panel{
				graph("How much downtime budget is used?", "Downtime of the period so far as a share of what the reward allows: the 10 that used most.", "{{short}}",
					short(highest(`avax_validator_downtime_used_seconds`+anyone+` / avax_validator_downtime_budget_seconds`+anyone))).
					unit("percentunit", 1).judged(high(bar("AvaxDowntimeBudgetLow", "info"), bar("AvaxDowntimeBudgetLow", "warn"))).between(0, nil).none("No validator"),
				graph("Would it be paid at 80 %?", "Share of the stake that would vote yes at a requirement of 80 %: the 10 lowest.", "{{short}}",
					short(lowest(`avax_validator_votes_yes_ratio{node_id=~"$node_id", requirement="0.8"}`))).
					unit("percentunit", 1).between(nil, 1).from(0.7).none("No validator"),
				graph("Would it be paid at 90 %?", "Share of the stake that would vote yes at Helicon's requirement of 90 %: the 10 lowest.", "{{short}}",
					short(lowest(`avax_validator_votes_yes_ratio{node_id=~"$node_id", requirement="0.9"}`))).
					unit("percentunit", 1).between(nil, 1).from(0.7).none("No validator"),
				graph("What uptime did the peers see?", "Stake-weighted mean of what the peers saw, never the node's own view: the 10 lowest.", "{{short}}",
					short(lowest(`avax_validator_weighted_uptime_ratio`+anyone))).
					unit("percentunit", 2).between(nil, 1).from(0.95).none("No validator"),
				graph("How far apart are the observers?", "Difference between the highest and the lowest uptime that own nodes saw of a validator: the 10 largest.", "{{short}}",
					short(highest(`max without (node) (avax_validator_uptime_ratio{node=~"$node", node_id=~"$node_id"}) - min without (node) (avax_validator_uptime_ratio{node=~"$node", node_id=~"$node_id"})`))).
					unit("percentunit", 1).between(0, nil).none("No second observer"),
				graph("How many own nodes see it connected?", "Share of the own nodes that are connected to the validator: the 10 lowest.", "{{short}}",
					short(lowest(`avg without (node) (avax_validator_connected{node=~"$node", node_id=~"$node_id"})`))).
					unit("percentunit", 0).between(0, 1).none("No second observer"),
			},
		},
		{
			title: "Money: what is staked, and what was paid?",
			text:  "What was paid comes from the Data service, where it is configured.",
			panels: []*panel{
				graph("How much is delegated?", "Stake delegated to the 10 validators that have most.", "{{short}}",
					short(highest(`avax_validator_delegated_stake_avax`+anyone))).unit("short", 1).between(0, nil).none("No delegations"),
				graph("What does the next period's end pay?", "The reward if the uptime suffices: the 10 highest.", "{{short}}",
					short(highest(`avax_validator_potential_reward_avax`+anyone))).unit("short", 1).between(0, nil).none("No validator"),
				table("What was paid so far?", "All rewards that were ever paid for the watched validators, by kind.", "type",
					text("Kind", "type", 0),
					value("Paid, AVAX", `sum by (type) (avax_rewards_avax_total`+anyone+`)`, "locale", 2, 110, nil),
					value("Rewards", `sum by (type) (avax_rewards_total`+anyone+`)`, "none", 0, 90, nil),
					value("Last", `max by (type) (avax_rewards_last_timestamp_seconds`+anyone+`) * 1000`, "dateTimeFromNow", 0, 120, nil),
				).none("No Data service").size(8, 8),
			},
		},
	},
}
