package main

// inside shows metrics of the node itself and of its host, scraped by a Prometheus server. The panels name the minimum version
// of AvalancheGo. The metric names were compared with the sources of 1.13.0, 1.14.0, 1.14.1 and 1.15.0.
var inside = board{
	file: "node.json", uid: "avax-node", title: "inside the node",
	about: "Metrics of the nodes (/ext/metrics) and of their hosts (node_exporter), with the thresholds of the companion rules. Needs scrape jobs with the " +
		"label node: see companion.yml.",
	variables: []variable{nodeVar},
	logs:      true,
	rows: []row{
		{text: "This dashboard needs a Prometheus that scrapes the nodes themselves (`/ext/metrics`) and node_exporter on their hosts, with the label `node`, and " +
			"the rules of companion.yml.", panels: line(exporterTile(), alertsTile(), nodesTile(),
			stat("Not scraped", "Targets of the companion rules that Prometheus cannot scrape: AvalancheGo, node_exporter, relayers and signature aggregators.",
				`count(up{job=~"avalanchego|node|icm-relayer|signature-aggregator"} == 0) or 0 * count(up{job=~"avalanchego|node|icm-relayer|signature-aggregator"})`).
				faults(warn, "None").none("No targets"),
			stat("Disk free", "Free share of the database volume: the lowest of all nodes. AvalancheGo 1.14.1 and later.",
				"min("+own("avalanche_resource_tracker_disk_available_percentage")+") / 100").
				unit("percentunit", 0).graded(lowGrades(bar("AvalancheGoDiskLow", "page")/100, bar("AvalancheGoDiskLow", "warn")/100, percents)),
			stat("Queries", "Share of the queries of the last 5 minutes that enough stake answered in time: the lowest of all chains with more than 20 queries. "+
				"AvalancheGo 1.13 and later.",
				"min("+querySuccess+")").unit("percentunit", 1).graded(lowBy("AvalancheGoQueryFailures", percents)))},
		{title: "Consensus", panels: []*panel{
			graph("Accepted and rejected blocks a minute", "The 10 largest rates. AvalancheGo 1.13 and later.", "{{node}} {{chain}} {{end}}",
				`topk(10, label_replace(60 * `+rate("avalanche_snowman_blks_accepted_count")+`, "end", "accepted", "", "") or label_replace(60 * `+
					rate("avalanche_snowman_blks_rejected_count")+`, "end", "rejected", "", ""))`).
				unit("none", 1).between(0, nil).upTo(1),
			graph("Processing blocks", "Number of blocks that the node votes on: the 10 highest. AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, "+own("avalanche_snowman_blks_processing")+")").counts().graded(highBy("AvalancheGoProcessingBlocks", numbers)),
			graph("Time until acceptance", "Mean time from issuing a block to its acceptance: the 10 longest. AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, "+rate("avalanche_snowman_blks_accepted_sum")+" / ("+rate("avalanche_snowman_blks_accepted_count")+" > 0) / 1e9)").
				unit("s", 1).between(0, nil).upTo(1),
			graph("Proposed blocks a day", "Blocks that the node itself built within a day. A validator that builds no blocks gets no fees. Its stake may be small, "+
				"or its clock wrong. AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, increase("+own("avalanche_snowman_blks_built")+"[1d]))").counts(),
			graph("Failed polls", "Share of the polls that failed: the 10 largest. AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, 1 - "+querySuccess+")").unit("percentunit", 1).between(0, nil).upTo(0.1).
				graded(highGrades(1-bar("AvalancheGoQueryFailures", "warn"), nan, percents)),
			graph("Benched validators", "Number of benched validators, which the node does not query for a while because they did not answer: the 10 highest. "+
				"AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, "+own("avalanche_benchlist_benched_num")+")").counts().graded(highBy("AvalancheGoBenched", numbers)),
			graph("Connected stake by chain", "Share of the chain's stake to which the node is connected: the 10 lowest. AvalancheGo 1.13 and later.",
				"{{node}} {{chain}}",
				"bottomk(10, "+own("avalanche_stake_percent_connected")+")").shares(0.7).graded(lowBy("AvalancheGoStakeConnectedLow", percents)).size(12, 8),
			graph("Blocks accepted and not executed", "C-Chain blocks that the node has accepted, but not executed yet. AvalancheGo 1.15 and later, once Helicon is "+
				"active.", "{{node}}",
				"topk(10, "+executionLag+")").counts().upTo(40).graded(highBy("AvalancheGoExecutionLag", blocks)).none("Not before Helicon").size(12, 8),
		}},
		{title: "Messages and database", panels: []*panel{
			graph("Message queue", "Messages in the queue of each chain: the 10 longest queues. AvalancheGo 1.13 and later.", "{{node}} {{chain}}",
				"topk(10, sum by (node, chain) ("+own("avalanche_handler_sync_unprocessed_msgs_count")+"))").counts().upTo(50),
			graph("Throttled messages", "Inbound messages that wait for bytes, CPU or disk. Outbound messages that were dropped, per second. AvalancheGo 1.13 and "+
				"later.", "{{node}} {{by}}",
				`topk(10, `+by("bytes", "avalanche_network_byte_throttler_inbound_awaiting_acquire")+` or `+by("cpu", "avalanche_network_cpu_throttler_awaiting_acquire")+
					` or `+by("disk", "avalanche_network_disk_throttler_awaiting_acquire")+` or label_replace(sum by (node) (`+
					rate("avalanche_network_throttler_outbound_acquire_failures")+`), "by", "outbound dropped", "", ""))`).
				unit("none", 1).between(0, nil).upTo(5),
			graph("Database latency", "Mean time of a read and of a write: the 10 longest. AvalancheGo 1.13 and later.", "{{node}} {{method}}",
				"topk(10, "+database("avalanche_meterdb_duration")+" / ("+database("avalanche_meterdb_calls")+" > 0) / 1e6)").unit("ms", 1).between(0, nil).upTo(1),
		}},
		{title: "Resources", panels: []*panel{
			graph("CPU", "CPU cores that the node uses: the 10 highest. AvalancheGo 1.13 and later.", "{{node}}",
				"topk(10, "+rate("avalanche_process_process_cpu_seconds_total")+")").unit("none", 1).between(0, nil).upTo(1).size(6, 8),
			graph("Free disk", "Free share of the database volume: the 10 lowest. AvalancheGo 1.14.1 and later. For older versions use node_filesystem_avail_bytes "+
				"of node_exporter.", "{{node}}",
				"bottomk(10, "+own("avalanche_resource_tracker_disk_available_percentage")+" / 100)").unit("percentunit", 1).between(0, 1).
				graded(lowGrades(bar("AvalancheGoDiskLow", "page")/100, bar("AvalancheGoDiskLow", "warn")/100, percents)).size(6, 8),
			graph("Available memory of the host", "Share of the host's memory that is available, from node_exporter: the 10 lowest.", "{{node}}",
				`bottomk(10, node_memory_MemAvailable_bytes{node=~"$node", node!=""} / node_memory_MemTotal_bytes)`).unit("percentunit", 1).between(0, 1).
				graded(lowBy("HostMemoryLow", percents)).none("No node_exporter").size(6, 8),
			graph("Goroutines and memory", "Goroutines of the node in thousands, and its resident memory in GiB: the 10 highest of each. AvalancheGo 1.13 and later.",
				"{{node}} {{of}}",
				`label_replace(topk(10, `+own("avalanche_process_go_goroutines")+` / 1e3), "of", "goroutines, thousands", "", "") or label_replace(topk(10, `+
					own("avalanche_process_process_resident_memory_bytes")+` / 2^30), "of", "GiB", "", "")`).
				unit("none", 1).between(0, nil).size(6, 8),
		}},
		{title: "Alerts and history", panels: []*panel{
			alertsTable("companion", "avax-node").size(12, 8),
			upTimeline().size(12, 8),
		}},
		{title: "What the node said", collapsed: true,
			text: "Needs Grafana Loki with the logs of the nodes: see [the logs of AvalancheGo](https://github.com/avax-exporter/avax-exporter/blob/main/docs/logs.md).",
			panels: []*panel{
				logs("Warnings and errors", "Lines of the levels warn, error and fatal, of the node and of its chains.",
					`{job="avalanchego", node=~"$node", level=~"warn|error|fatal"}`),
				logs("Bootstrap and state sync", "Lines about a chain that catches up, with the estimates of the node.",
					`{job="avalanchego", node=~"$node"} |~ "bootstrap|state sync|fetching blocks|executing blocks"`),
			}},
	},
}

// own selects a family of the node itself.
func own(family string) string { return family + "{" + onNodes + "}" }

func rate(family string) string { return "rate(" + own(family) + "[$__rate_interval])" }

// by sums a family, and names the counted events.
func by(what, family string) string {
	return `label_replace(sum by (node) (` + own(family) + `), "by", "` + what + `", "", "")`
}

// database returns a rate of the database's reads and writes, without those of the chains.
func database(family string) string {
	return "sum by (node, method) (rate(" + family + "{" + onNodes + `, chain="all", method=~"get|batch_write"}[$__rate_interval]))`
}

// querySuccess and executionLag are recorded by the companion rules.
var (
	querySuccess = "(" + rate5m("avalanche_snowman_polls_successful") + " / (" + rate5m("avalanche_snowman_polls_successful") + " + " +
		rate5m("avalanche_snowman_polls_failed") +
		")) and 300 * (" + rate5m("avalanche_snowman_polls_successful") + " + " + rate5m("avalanche_snowman_polls_failed") + ") > 20"
	executionLag = `avalanche_snowman_last_accepted_height{node=~"$node", chain="C"} - avalanche_evm_transition_sae_last_executed_height`
)

func rate5m(family string) string { return "rate(" + own(family) + "[5m])" }
