package main

var exporter = board{
	file: "exporter.json", uid: "avax-exporter", title: "the exporter itself",
	about: "Is what the other dashboards show true and fresh, and do alerts get out?",
	variables: []variable{
		{"collector", "Collector", "avax_exporter_collector_success", "collector"},
		{"upstream", "Upstream", "avax_exporter_upstream_requests_total", "upstream"},
	},
	rows: []row{
		{panels: []*panel{
			stat("Collectors failing", "Collectors whose last run failed, for some target.",
				`count(avax_exporter_collector_success{collector=~"$collector"} == 0) or 0 * count(avax_exporter_collector_success{collector=~"$collector"})`).
				unit("none", 0).judged(some(warn)).reads("0", "None", good).none("No exporter"),
			stat("Oldest answer", "The age of the oldest good answer of those collectors that have ever had one.",
				`max(time() - avax_exporter_collector_last_success_timestamp_seconds{collector=~"$collector"})`).
				unit("s", 0).judged(steps(step{nil, good}, step{bar("AvaxDataTooOld", ""), warn})).none("No exporter"),
			stat("Runs left out", "Runs of the last hour that were left out because the last one had not ended.",
				`sum(increase(avax_exporter_collector_skipped_total{collector=~"$collector"}[1h]))`).
				unit("none", 0).judged(some(warn)).reads("0", "None", good).none("No exporter"),
			stat("Configuration", "Whether the nodes and their credentials could be read when they were read last.",
				`min(avax_exporter_config_last_reload_successful)`).
				unit("none", 0).judged(steps(step{nil, bad}, step{1.0, good})).reads("1", "Read", good).reads("0", "Bad", bad).none("No exporter"),
			stat("Nodes asked", "Nodes that the exporter is configured to ask.",
				`sum(avax_exporter_targets)`).unit("none", 0).none("No exporter"),
			stat("Series served", "Series that the collectors serve, all together.",
				`sum(avax_exporter_series)`).unit("short", 1).none("No exporter"),
			stat("Panics", "Runs that ended in a panic in the last day: a mistake in the exporter, please report it.",
				`sum(increase(avax_exporter_collector_panics_total[1d]))`).
				unit("none", 0).judged(some(bad)).reads("0", "None", good).none("No exporter"),
			stat("Versions", "How many versions of the exporter run.",
				`count(count by (version) (avax_exporter_build_info))`).unit("none", 0).none("No exporter"),
		}},
		{
			title: "Is what we show true and fresh?",
			text:  "A sample that could not be renewed for three periods is absent. Where a collector fails, alerts that rest on it are silent.",
			panels: []*panel{
				table("Does each collector work?", "One row for each collector, over all its targets, failing ones first.", "collector",
					text("Collector", "collector", 0),
					value("Targets", `count by (collector) (avax_exporter_collector_success{collector=~"$collector"})`, "none", 0, 75, nil),
					value("Failing", `count by (collector) (avax_exporter_collector_success{collector=~"$collector"} == 0) or 0 * count by (collector) (avax_exporter_collector_success{collector=~"$collector"})`, "none", 0, 75, some(warn)),
					value("Oldest answer", `max by (collector) (time() - avax_exporter_collector_last_success_timestamp_seconds{collector=~"$collector"})`, "s", 0, 118, steps(step{nil, plain}, step{bar("AvaxDataTooOld", ""), warn})),
					value("Longest run", `max by (collector) (avax_exporter_collector_duration_seconds{collector=~"$collector"})`, "s", 3, 100, nil),
					value("Series", `sum by (collector) (avax_exporter_series{collector=~"$collector"})`, "none", 0, 75, nil),
				).size(14, 10).sortedDown("Failing"),
				firing(alertsOf("avax-exporter")).size(10, 10),
			},
		},
		{
			title: "How do the upstreams answer?",
			panels: []*panel{
				graph("How do requests end?", "Requests a second by outcome, over all upstreams.", "{{outcome}}",
					`sum by (outcome) (rate(avax_exporter_upstream_requests_total{upstream=~"$upstream"}[$__rate_interval]))`).unit("reqps", 2).between(0, nil).none("No request"),
				graph("Who fails most?", "Requests a second that did not end well, by upstream: the 10 largest rates.", "{{upstream}}",
					`topk(10, sum by (upstream) (rate(avax_exporter_upstream_requests_total{upstream=~"$upstream", outcome!="ok"}[$__rate_interval])) or 0 * sum by (upstream) (rate(avax_exporter_upstream_requests_total{upstream=~"$upstream"}[$__rate_interval])))`).unit("reqps", 2).between(0, nil).none("No request"),
				graph("How slow are they?", "95 % of the requests were answered within this time: the 10 slowest upstreams.", "{{upstream}}",
					`topk(10, histogram_quantile(0.95, sum by (le, upstream) (rate(avax_exporter_upstream_request_duration_seconds_bucket{upstream=~"$upstream"}[$__rate_interval]))) or histogram_quantile(0.95, sum by (upstream) (rate(avax_exporter_upstream_request_duration_seconds{upstream=~"$upstream"}[$__rate_interval]))))`).
					unit("s", 3).between(0, nil).none("No request"),
			},
		},
		{
			title: "What does it cost, and do alerts get out?",
			panels: []*panel{
				graph("How much memory?", "Resident memory of each exporter.", "{{instance}}",
					`topk(10, process_resident_memory_bytes and on (instance, job) avax_exporter_build_info)`).unit("bytes", 0).between(0, nil).none("No exporter").size(6, 8),
				graph("How much CPU?", "Cores that each exporter uses.", "{{instance}}",
					`topk(10, rate(process_cpu_seconds_total[$__rate_interval]) and on (instance, job) avax_exporter_build_info)`).unit("percentunit", 1).between(0, nil).none("No exporter").size(6, 8),
				graph("How many series does each collector serve?", "The 10 collectors with most series.", "{{collector}}",
					highest(`sum by (collector) (avax_exporter_series{collector=~"$collector"})`)).unit("short", 0).between(0, nil).none("No exporter").size(6, 8),
				graph("Do notifications get out?", "Notifications of the exporter's own alerting by outcome, a second.", "{{outcome}}",
					`sum by (outcome) (rate(avax_exporter_notifications_total[$__rate_interval])) or label_replace(vector(0), "outcome", "the exporter's own alerting is off", "", "")`).unit("none", 3).between(0, nil).size(6, 8),
			},
		},
	},
}
