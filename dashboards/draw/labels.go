package main

// byLabel sums up the nodes and validators by a label such as owner.
var byLabel = board{
	file: "labels.json", uid: "avax-labels", title: "by label",
	about: "Nodes, alerts, uptimes, rewards and balances by a label of nodes and validators, such as owner. The alert rules record the totals of the labels in " +
		"AVAX_ALERT_LABELS.",
	variables: []variable{
		labelValues("label", "Label", `avax:label{job=~"$job"}`, "label"),
		labelValues("value", "Value", `avax:label{job=~"$job", label=~"$label"}`, "value"),
	},
	rows: []row{
		{panels: line(
			exporterTile(), alertsTile(),
			stat("With pages", "Values of the label about which a page fires.",
				"count("+total("max", "avax:label_alerts", `severity="page"`)+") or 0 * count("+total("max", "avax:label")+")").
				unit("none", 0).judged(some(bad)).reads("0", "None", good),
			stat("With nodes down", "Values of the label with a node that does not answer.",
				number(labelNodes+" - "+labelUp, "> 0")).unit("none", 0).judged(some(bad)).reads("0", "None", good),
			stat("Rewards lost, AVAX", "Rewards of the current periods that are out of reach, because validators were down for too long.",
				"sum("+total("sum", "avax:label_reward_lost_avax")+") or 0 * sum("+total("sum", "avax:label_reward_at_risk_avax")+")").
				unit("locale", 0).judged(some(bad)).reads("0", "None", good),
			stat("Shortest L1 runway", "Time until the first L1 validator with the label runs out of balance.",
				"min("+total("min", "avax:label_runway_seconds")+")").unit("dtdhms", 0).graded(runway()).none("No L1 validator"),
		)},
		{panels: []*panel{
			table("By value", "One row for each value of the label. What has two values counts for both.",
				text("Label", "label", 110),
				text("Value", "value", 0).to("avax-labels", "label", "Label", "value", "Value"),
				value("Nodes", "0 * "+total("max", "avax:label")+" + "+labelNodes+" or 0 * "+total("max", "avax:label"), "none", 0, 70, nil),
				value("Down", labelNodes+" - "+labelUp, "none", 0, 70, some(bad)),
				value("Pages", total("sum", "avax:label_alerts", `severity="page"`), "none", 0, 70, some(bad)),
				value("Warnings", total("sum", "avax:label_alerts", `severity="warn"`), "none", 0, 90, some(warn)),
				value("Lowest uptime", total("min", "avax:label_uptime_ratio"), "percentunit", 2, 120, nil),
				value("Reward, AVAX", total("sum", "avax:label_reward_at_risk_avax"), "locale", 1, 120, nil),
				value("Lost, AVAX", total("sum", "avax:label_reward_lost_avax"), "locale", 1, 110, some(bad)),
				value("Shortest runway", total("min", "avax:label_runway_seconds"), "dtdhms", 0, 140, colors(runway())),
			).size(24, 10).sortedDown("Warnings").sortedDown("Pages"),
			graph("Nodes up", "Share of the nodes that answer: the 10 lowest.", "{{value}}",
				lowest(labelUp+" / "+labelNodes)).shares(0.7),
			graph("Pages", "Firing pages by value: the 10 highest.", "{{value}}",
				highest(total("sum", "avax:label_alerts", `severity="page"`))).counts(),
			graph("Lowest uptime", "The lowest uptime that peers observed of a validator: the 10 lowest.", "{{value}}",
				lowest(total("min", "avax:label_uptime_ratio"))).shares(0.9),
			graph("Rewards, AVAX", "Rewards at the ends of the periods, if the uptimes suffice: the 10 highest.", "{{value}}",
				highest(total("sum", "avax:label_reward_at_risk_avax"))).unit("locale", 0).between(0, nil),
			graph("Rewards lost, AVAX", "Rewards of the current periods that are out of reach: the 10 highest.", "{{value}}",
				highest(total("sum", "avax:label_reward_lost_avax"))).unit("locale", 0).between(0, nil),
			graph("Shortest runways", "Time until the first balance is spent: the 10 shortest.", "{{value}}",
				lowest(total("min", "avax:label_runway_seconds"))).unit("dtdhms", 0).graded(runway()).between(0, nil).upTo(60 * day),
		}},
	},
}

// total aggregates a recorded total over the selected jobs, by label and value.
func total(f, record string, matchers ...string) string {
	return f + " by (label, value) (" + of(record, append([]string{`label=~"$label"`, `value=~"$value"`}, matchers...)...) + ")"
}

var labelNodes, labelUp = total("sum", "avax:label_nodes"), total("sum", "avax:label_nodes_up")
