package config

// descriptions are the texts about the variables in docs/configuration.md and the help, by field of Values.
var descriptions = map[string]string{
	"Nodes": "Nodes to monitor, as name=url, comma-separated. The name is the value of the label \"node\". The URL may contain a user and a password.",
	"NodesFile": "File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml), or a URL in its http_sd format; see fleets.md. Reloaded when it " +
		"changes. Without AVAX_NODES, the exporter monitors only these nodes.",
	"Network":        "Network of the nodes and for requests to the Data service: mainnet, fuji or a number; see fleets.md. Empty: the network of most nodes.",
	"Observers":      "Observers, as name=url, comma-separated: API endpoints to compare your nodes with; see observers.md.",
	"ObserverBudget": "Maximum number of calls to one observer per minute.",
	"Chains": "Chains to monitor in addition to P and X, comma-separated. Each entry is an alias, name=alias or name=blockchainID. The name is the " +
		"value of the label \"chain\". The entry \"auto\" adds all chains that the nodes track. With shards or without nodes, the default is C.",
	"Validators":     "Validators of the primary network to monitor: own (the configured nodes), all, or node IDs, comma-separated.",
	"ValidatorsFile": "File with names, owners and other labels of validators, by node ID or validation ID; see fleets.md. Reloaded when it changes.",
	"HTTPConfigFile": "File with credentials, headers, TLS settings and the Host header for nodes, services, Alertmanagers and Prometheus, in Prometheus' " +
		"format http_config; see operating.md. This file and the files that it names are reloaded when they change.",
	"Timeout":     "Timeout of one call to a node or service, as a duration.",
	"Concurrency": "Maximum number of concurrent calls to one node or service.",
	"Collectors": "Collectors to run, comma-separated; see metrics.md. To change the default list, write only the changes, such as \"+admin,-supply\". " +
		"Empty: the default list.",
	"Schedules": "Schedules of collectors, as collector=expression, semicolon-separated, such as \"peers=@every 30s;upgrades=*/5 * * * *\". Expressions " +
		"have cron's format.",
	"WatchFile": "File with more addresses, delegators, assets, contracts, tokens and signatures, each with a name; see fleets.md. Reloaded when it changes.",
	"WatchAddresses": "Addresses to monitor, comma-separated: P-avax1… (P-Chain), X-avax1… (X-Chain) or 0x1f… (EVM). A name may " +
		"precede an address, such as relayer=0x1f…. The exporter monitors an EVM address on each EVM chain of AVAX_CHAINS.",
	"WatchDelegators": "P-Chain addresses whose delegations to monitor, comma-separated, such as P-avax1…. A name may precede an address, such as " +
		"treasury=P-avax1…. The exporter looks for delegations at the validators in AVAX_VALIDATORS. With AVAX_DATA_URL it finds all of them.",
	"WatchAssets": "X-Chain assets to monitor, as asset IDs, comma-separated. A name may precede an ID, such as gold=2oYM….",
	"WatchContracts": "EVM addresses that deploy contracts, comma-separated. A name may precede an address. The exporter counts " +
		"the contracts of each address on each EVM chain of AVAX_CHAINS. Needs AVAX_DATA_URL.",
	"WatchTokens": "NFTs to check for valid metadata, as chain/contract/id, comma-separated, such as C/0x1f…/7. A name may precede an NFT, such as " +
		"ticket=C/0x1f…/7. Add the holder of each NFT to AVAX_WATCH_ADDRESSES. If an entry has the suffix \":reindex\", the exporter asks the Data service " +
		"to index missing metadata; see data-service.md. Needs AVAX_DATA_URL.",
	"WatchSignatures": "P- or X-Chain transactions that send messages to L1s, as name=txHash, comma-separated. The exporter checks whether the Data service " +
		"can collect signatures for these messages; see data-service.md. The name is the value of the label \"probe\". Needs AVAX_DATA_URL.",
	"ICMMessengers": "Addresses of the ICM messenger contract (TeleporterMessenger), comma-separated, for the collector icm_chains: 0x1f… for all chains, or " +
		"chain=0x1f… for one of AVAX_CHAINS. Empty: 0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf, as on Mainnet and Fuji.",
	"DataURL":        "Address of the Data service, such as https://data-api.avax.network; see data-service.md. Empty: the Data service is not used.",
	"DataAPIKeyFile": "File with the API key of the Data service. Reloaded when it changes. Empty: no key.",
	"DataBudget": "Maximum number of compute units of the Data service to spend per minute (/m) and per day (/d). An omitted period has no limit. The " +
		"default is the service's limit for clients without a key; see data-service.md.",
	"MetricsURL": "Address of the Metrics service, such as https://metrics.avax.network; see data-service.md. Empty: the Metrics service is not used.",
	"Currency":   "Currency of prices from the Data service: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd.",
	"Listen":     "Address of /metrics and the status page, as host:port. If systemd passes a socket, the exporter uses that socket; see operating.md.",
	"WebConfigFile": "File with TLS settings and passwords for AVAX_LISTEN, in the format of Prometheus' exporter-toolkit (web.config.file); see " +
		"operating.md. Reloaded for every connection.",
	"TrustLoopback": "Whether clients on this machine may send queries, reload, and create and end silences without a password: true or false. Set false if " +
		"a reverse proxy on this machine forwards requests without the header X-Forwarded-For.",
	"PprofListen":   "Address of Go profiles (/debug/pprof/), as host:port, such as 127.0.0.1:6060. Clients are not authenticated. Empty: no profiles.",
	"EvaluateRules": "Whether the exporter evaluates the alert rules: on or off; see alerting.md.",
	"RulesFile": "File with rules in Prometheus' format. With alerts, it replaces the built-in rules. Without, such as with thresholds, it is added to " +
		"them. Reloaded when it changes.",
	"AlertingInterval": "Interval between evaluations of the alert rules, as a duration of at most 2m.",
	"AlertLabels":      "Labels of nodes and validators that each alert gets, comma-separated, such as owner,region; see fleets.md.",
	"ExternalLabels": "Labels of every alert, as name=value, comma-separated. Set \"job\" and \"instance\" if a Prometheus scrapes this exporter under other " +
		"names than avax-exporter and host:port; see alerting.md.",
	"ExternalURL": "URL of this exporter for links in notifications. Empty: \"http://\" and the label \"instance\" of AVAX_EXTERNAL_LABELS, or " +
		"the name of this machine and the port of AVAX_LISTEN.",
	"PrometheusURL": "Address of the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. The web pages " +
		"read alerts and history from this address. Needs AVAX_ALERTING=off.",
	"Alertmanagers": "Alertmanagers to notify, as URLs, comma-separated; see alerting.md. The web pages read their inhibit rules. With AVAX_PROMETHEUS_URL, " +
		"the Alertmanagers that this Prometheus notifies: the exporter itself sends nothing.",
	"NotifyFile": "File with receivers and routes, in Alertmanager's format, for notifications without an Alertmanager; see notifications.md. Reloaded " +
		"when it changes.",
	"HeartbeatURL": "URL of a dead man's switch, such as a check at healthchecks.io. The exporter requests this URL every minute while alerting works; see " +
		"notifications.md.",
	"Digest": "Weekly digest of validators, L1 validators and versions: on or off. Needs a route in AVAX_NOTIFY_FILE or in Alertmanager; see " +
		"notifications.md.",
	"Shard":       "Index of this shard: 0 for the first shard. Each shard is an exporter that monitors a part of the nodes; see fleets.md.",
	"TotalShards": "Number of shards.",
	"StateDir": "Directory for state that survives a restart: samples for rules and pages, the state of alerts, silences, and totals from the Data " +
		"service. The directory must exist. Empty: a restart loses this state.",
	"LogLevel":  "Log level: DEBUG, INFO, WARN or ERROR.",
	"LogFormat": "Log format: text, json or auto (text on a terminal, json otherwise).",
}
