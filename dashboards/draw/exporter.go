package main

var exporter = board{
	file: "exporter.json", uid: "avax-exporter", title: "the exporter itself",
	about: "Freshness of the data of the other dashboards, and delivery of alerts.",
	variables: []variable{
		labelValues("collector", "Collector", `avax_exporter_collector_success{job=~"$job"}`, "collector"),
		labelValues("upstream", "Upstream", `avax_exporter_upstream_requests_total{job=~"$job"}`, "upstream"),
	},
	rows: []row{
		{panels: append(
			line(exporterTile(), alertsTile(),
				stat("Collectors failing", "Collectors whose last run failed for at least one target.",
					number(minOf("avax_exporter_collector_success", onCollectors), "== 0")).
					faults(warn, "None"),
				stat("Oldest answer", "Longest time since the last successful run of a collector that fails or is late. Collectors that never succeeded do not count.",
					"max(time() - "+maxOf("avax_exporter_collector_last_success_timestamp_seconds", onCollectors)+") or 0 * max("+exporters+")").
					unit("s", 0).graded(highGrades(bar("AvaxDataTooOld", ""), nan, minutes)),
				stat("Configuration", "Whether the last reload of nodes and credentials succeeded.",
					"min("+of("avax_exporter_config_last_reload_successful")+")").
					unit("none", 0).judged(steps(step{nil, bad}, step{1.0, good})).reads("1", "Read", good).reads("0", "Not read", bad),
				stat("Panics in a day", "Runs that ended in a panic in the last day: a mistake in the exporter, please report it.",
					"sum(increase("+of("avax_exporter_collector_panics_total")+"[1d])) and on () "+exporters).
					faults(bad, "None")),
			line(
				stat("Nodes asked", "Nodes that the exporters are configured to monitor. A node that several replicas monitor counts once.",
					"count("+maxOf("avax_node_up")+")").unit("none", 0),
				stat("Series served", "Number of series of the exporter with the most series.",
					"max(sum by (job, instance, pod) ("+of("avax_exporter_series")+"))").unit("locale", 0),
				stat("Runs skipped in an hour", "Runs that were skipped because the previous run had not ended.",
					"sum(increase("+of("avax_exporter_collector_skipped_total")+"[1h])) and on () "+exporters).
					unit("none", 0).reads("0", "None", good),
				stat("Versions", "Number of different exporter versions in use.",
					"count(count by (version) ("+of("avax_exporter_build_info")+"))").unit("none", 0).judged(steps(step{nil, good}, step{2.0, warn})),
			)...)},
		{
			title: "Freshness",
			text:  "A sample expires if its collector does not update it for three periods. If a collector fails, the alerts that need its samples cannot fire.",
			panels: []*panel{
				table("Collectors", "One row for each collector, for all its targets together. Failing collectors come first.",
					text("Collector", "collector", 0).to("avax-exporter", "collector", "Collector"),
					value("Targets", "count by (collector) ("+minOf("avax_exporter_collector_success", onCollectors)+")", "none", 0, 75, nil),
					value("Failing", "count by (collector) ("+minOf("avax_exporter_collector_success", onCollectors)+" == 0) or 0 * count by (collector) ("+
						minOf("avax_exporter_collector_success", onCollectors)+")", "none", 0, 75, some(warn)),
					value("Oldest answer", "max by (collector) (time() - "+maxOf("avax_exporter_collector_last_success_timestamp_seconds", onCollectors)+
						") or 0 * count by (collector) ("+minOf("avax_exporter_collector_success", onCollectors)+")", "s", 0, 118,
						steps(step{nil, good}, step{bar("AvaxDataTooOld", ""), warn})),
				).size(14, 10).sortedDown("Oldest answer").sortedDown("Failing"),
				alertsTable("avax-exporter", "avax-thresholds", "companion-targets").size(10, 10),
				timeline("Exporters", "When Prometheus could scrape each exporter.", "{{instance}}",
					`max by (job, instance) (up{job=~"$job"})`).judged(steps(step{nil, bad}, step{1.0, good})).
					mapped([]object{mapping("0", "not scraped", bad), mapping("1", "up", good)}).size(24, 5),
			},
		},
		{
			title: "Upstreams",
			panels: []*panel{
				graph("Requests by outcome", "Requests per second by outcome, of all exporters.", "{{outcome}}",
					"sum by (outcome) (rate("+of("avax_exporter_upstream_requests_total", onUpstreams)+"[$__rate_interval]))").unit("reqps", 2).between(0, nil),
				graph("Failed requests", "Requests per second with an outcome other than ok, by upstream: the 10 highest rates.", "{{upstream}}",
					"topk(10, sum by (upstream) (rate("+of("avax_exporter_upstream_requests_total", onUpstreams, `outcome!="ok"`)+
						"[$__rate_interval])) or 0 * sum by (upstream) (rate("+of("avax_exporter_upstream_requests_total", onUpstreams)+"[$__rate_interval])))").unit("reqps",
					2).between(0, nil).upTo(1),
				graph("Response time of nodes", "Duration of the probe of each node: the 10 slowest nodes.", "{{node}}",
					"topk(10, "+maxOf("avax_node_probe_duration_seconds")+")").unit("s", 3).between(0, nil),
				graph("Response time by method", "Mean time until the answer, over all upstreams: the 10 slowest methods.", "{{op}}",
					"topk(10, sum by (op) (rate("+of("avax_exporter_upstream_request_duration_seconds_sum")+"[$__rate_interval])) / (sum by (op) (rate("+
						of("avax_exporter_upstream_request_duration_seconds_count")+"[$__rate_interval])) > 0))").unit("s", 3).between(0, nil),
				timeline("Data service", "Whether the Data service answered the last probe.", "Data service",
					minOf("avax_data_up")).judged(steps(step{nil, warn}, step{1.0, good})).
					mapped([]object{mapping("0", "no answer", warn), mapping("1", "up", good)}).none("No Data service").size(8, 8),
				graph("Budget of the Data service", "Share of AVAX_DATA_BUDGET that is spent.", "per {{window}}",
					"max without (instance, pod) ("+of("avax_exporter_data_spent_units")+" / "+of("avax_exporter_data_budget_units")+")").
					unit("percentunit", 0).graded(highGrades(bar("AvaxDataBudgetSpent", ""), nan, percents)).between(0, nil).upTo(1).none("No budget"),
			},
		},
		{
			title: "Cost and notifications",
			panels: []*panel{
				graph("Memory", "Resident memory of each exporter.", "{{instance}}",
					"topk(10, process_resident_memory_bytes and on (instance, job) "+of("avax_exporter_build_info")+")").unit("bytes", 0).between(0, nil).size(6, 8),
				graph("CPU", "CPU cores that each exporter uses.", "{{instance}}",
					"topk(10, rate(process_cpu_seconds_total[$__rate_interval]) and on (instance, job) "+of("avax_exporter_build_info")+")").unit("none", 2).between(0,
					nil).upTo(1).size(6, 8),
				graph("Series", "Series that each exporter serves.", "{{instance}}",
					"topk(10, avax_exporter_series and on (instance, job) "+of("avax_exporter_build_info")+")").unit("locale", 0).between(0, nil).size(6, 8),
				graph("Notifications by outcome", "Notifications per second of in-process alerting.", "{{outcome}}",
					"sum by (outcome) (rate("+of("avax_exporter_notifications_total")+"[$__rate_interval])) or on () label_replace(0 * group("+exporters+
						`), "outcome", "in-process alerting is disabled", "", "")`).unit("none", 3).between(0, nil).upTo(1).size(6, 8),
			},
		},
	},
}

const (
	onCollectors = `collector=~"$collector"`
	onUpstreams  = `upstream=~"$upstream"`
)
