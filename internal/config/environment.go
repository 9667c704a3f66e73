package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// Environment holds the raw value of every variable. docs/configuration.md and the help are generated from its tags. The tag
// subject starts a group of variables.
type Environment struct {
	Nodes          string `split_words:"true" name:"NODES" default:"local=http://127.0.0.1:9650" subject:"Nodes and chains" desc:"Nodes to monitor, as name=url, comma-separated. The name is the value of the label \"node\". The URL may contain a user and a password."`
	NodesFile      string `split_words:"true" name:"NODES_FILE" desc:"File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml); see fleets.md. Reloaded when it changes. Without AVAX_NODES, the exporter monitors only the nodes of this file."`
	NodeNetworkID  string `split_words:"true" name:"NODE_NETWORK_ID" desc:"Expected network of the nodes: mainnet, fuji or a number; see fleets.md. Empty: the network of most nodes."`
	Observers      string `split_words:"true" name:"OBSERVERS" desc:"Observers, as name=url, comma-separated: API endpoints to compare your nodes with; see observers.md."`
	ObserverBudget string `split_words:"true" name:"OBSERVER_BUDGET" default:"60" desc:"Maximum number of calls to one observer per minute."`
	Chains         string `split_words:"true" name:"CHAINS" default:"C" desc:"Chains to monitor in addition to P and X, comma-separated. Each entry is an alias, name=alias or name=blockchainID. The name is the value of the label \"chain\". The entry \"auto\" adds all chains that the nodes track."`
	Validators     string `split_words:"true" name:"VALIDATORS" default:"own" desc:"Validators of the primary network to monitor: own (the configured nodes), all, or node IDs, comma-separated."`

	NodeHost          string `split_words:"true" name:"NODE_HOST" subject:"Requests to nodes" desc:"Host header of requests to nodes. If a node answers 403, set a host name that the node's flag --http-allowed-hosts allows, such as localhost."`
	NodeHeadersFile   string `split_words:"true" name:"NODE_HEADERS_FILE" desc:"File with headers to send to the nodes, one header per line, such as \"Authorization: Token secret\". All AVAX_NODE_…_FILE files are reloaded when they change."`
	NodeCAFile        string `split_words:"true" name:"NODE_CA_FILE" desc:"File with the CA certificates of the nodes, in PEM. Empty: the system's CA certificates."`
	NodeBearerFile    string `split_words:"true" name:"NODE_BEARER_FILE" desc:"File with the bearer token for requests to nodes."`
	NodeBasicAuthFile string `split_words:"true" name:"NODE_BASIC_AUTH_FILE" desc:"File with user:password for basic authentication of requests to nodes."`
	NodeCertFile      string `split_words:"true" name:"NODE_CERT_FILE" desc:"File with the client certificate for nodes that require one (mTLS), in PEM."`
	NodeKeyFile       string `split_words:"true" name:"NODE_KEY_FILE" desc:"File with the key of the client certificate in AVAX_NODE_CERT_FILE, in PEM."`

	Collectors  string `split_words:"true" name:"COLLECTORS" subject:"Collectors" desc:"Collectors to run, comma-separated; see metrics.md. To change the default list, write only the changes, such as \"+admin,-acps\". Empty: the default list."`
	Schedules   string `split_words:"true" name:"SCHEDULES" desc:"Schedules of collectors, as collector=expression, semicolon-separated, such as \"peers=@every 30s;acps=*/5 * * * *\". Expressions have cron's format."`
	Timeout     string `split_words:"true" name:"TIMEOUT" default:"10s" desc:"Timeout of one call to a node or service, as a duration."`
	Concurrency string `split_words:"true" name:"CONCURRENCY" default:"4" desc:"Maximum number of concurrent calls to one node or service."`

	WatchAddresses  string `split_words:"true" name:"WATCH_ADDRESSES" subject:"Addresses, assets and contracts" desc:"Addresses to monitor, comma-separated: P-avax1… (P-Chain), X-avax1… (X-Chain) or 0x1f… (EVM). The exporter monitors an EVM address on each EVM chain of AVAX_CHAINS. EVM addresses need AVAX_DATA_URL."`
	WatchAssets     string `split_words:"true" name:"WATCH_ASSETS" desc:"X-Chain assets to monitor, as asset IDs, comma-separated."`
	WatchContracts  string `split_words:"true" name:"WATCH_CONTRACTS" desc:"EVM addresses that deploy contracts, comma-separated. The exporter counts the contracts of each address on each EVM chain of AVAX_CHAINS. Needs AVAX_DATA_URL."`
	WatchTokens     string `split_words:"true" name:"WATCH_TOKENS" desc:"NFTs to check for valid metadata, as chain/contract/id, comma-separated, such as C/0x1f…/7. Add the holder of each NFT to AVAX_WATCH_ADDRESSES. If an entry has the suffix \":reindex\", the exporter asks the Data service to index missing metadata; see data-service.md. Needs AVAX_DATA_URL."`
	WatchSignatures string `split_words:"true" name:"WATCH_SIGNATURES" desc:"P- or X-Chain transactions that send messages to L1s, as name=txHash, comma-separated. The exporter checks whether the Data service can collect signatures for these messages; see data-service.md. The name is the value of the label \"probe\". Needs AVAX_DATA_URL."`

	DataURL          string `split_words:"true" name:"DATA_URL" subject:"Data and Metrics services" desc:"Address of the Data service, such as https://data-api.avax.network; see data-service.md. Empty: the Data service is not used."`
	DataAPIKeyFile   string `split_words:"true" name:"DATA_API_KEY_FILE" desc:"File with the API key of the Data service. Reloaded when it changes. Empty: no key."`
	DataAPIKeyHeader string `split_words:"true" name:"DATA_API_KEY_HEADER" default:"x-service-api-key" desc:"Header that carries the API key. Some URLs of the Data service need x-glacier-api-key."`
	DataBudget       string `split_words:"true" name:"DATA_BUDGET" default:"6000/m,1200000/d" desc:"Maximum number of compute units of the Data service to spend per minute (/m) and per day (/d). An omitted period has no limit. The default is the service's limit for clients without a key; see data-service.md."`
	MetricsURL       string `split_words:"true" name:"METRICS_URL" desc:"Address of the Metrics service, such as https://metrics.avax.network; see data-service.md. Empty: the Metrics service is not used."`
	Network          string `split_words:"true" name:"NETWORK" desc:"Network for requests to the Data service: mainnet, or fuji (also called testnet); see data-service.md. Empty: the network of the nodes."`
	Currency         string `split_words:"true" name:"CURRENCY" default:"usd" desc:"Currency of prices from the Data service: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."`

	Listen           string `split_words:"true" name:"LISTEN" default:":9865" subject:"Web server" desc:"Address of /metrics and the status page, as host:port."`
	MaxConnections   string `split_words:"true" name:"MAX_CONNECTIONS" default:"256" desc:"Maximum number of concurrent client connections. Above this number, a new connection displaces the one that has waited longest without a complete request; see operating.md."`
	WebConfigFile    string `split_words:"true" name:"WEB_CONFIG_FILE" desc:"File with TLS settings and passwords for AVAX_LISTEN, in the format of Prometheus' exporter-toolkit (web.config.file); see operating.md. Reloaded for every connection."`
	WebSystemdSocket string `split_words:"true" name:"WEB_SYSTEMD_SOCKET" default:"false" desc:"Whether to serve on the socket of systemd instead of AVAX_LISTEN: true or false; see operating.md."`
	TrustLoopback    string `split_words:"true" name:"TRUST_LOOPBACK" default:"true" desc:"Whether clients on this machine may send queries, reload, and create and end silences without a password: true or false. Set false if a reverse proxy on this machine forwards requests without the header X-Forwarded-For."`
	PprofListen      string `split_words:"true" name:"PPROF_LISTEN" desc:"Address of Go profiles (/debug/pprof/), as host:port, such as 127.0.0.1:6060. Clients are not authenticated. Empty: no profiles."`

	Alerting             string `split_words:"true" name:"ALERTING" default:"on" subject:"Alert rules" desc:"Whether the exporter evaluates the alert rules: on or off; see alerting.md."`
	RulesProfile         string `split_words:"true" name:"RULES_PROFILE" default:"all" desc:"Built-in alert rules to evaluate, by kind of operator: validator, l1, rpc, delegator or all; see alerting.md."`
	RulesFile            string `split_words:"true" name:"RULES_FILE" desc:"File with alert rules that replace the built-in rules, in Prometheus' format. Reloaded on SIGHUP."`
	AlertingInterval     string `split_words:"true" name:"ALERTING_INTERVAL" default:"15s" desc:"Interval between evaluations of the alert rules, as a duration."`
	History              string `split_words:"true" name:"HISTORY" default:"auto" desc:"Time for which the exporter keeps samples in memory: a duration of 2h or more, or auto. With auto, the time is 24h, or less if 24h of samples need more than 64 MB; see alerting.md."`
	AlertingJob          string `split_words:"true" name:"ALERTING_JOB" default:"avax-exporter" desc:"Value of the label \"job\" of alerts. Set the job name under which Prometheus scrapes this exporter."`
	AlertingInstance     string `split_words:"true" name:"ALERTING_INSTANCE" desc:"Value of the label \"instance\" of alerts. Set the host:port at which Prometheus scrapes this exporter. Empty: AVAX_LISTEN, with the name of this machine if AVAX_LISTEN has no host."`
	ExternalLabels       string `split_words:"true" name:"EXTERNAL_LABELS" desc:"Labels to add to every alert, as name=value, comma-separated."`
	ExternalURL          string `split_words:"true" name:"EXTERNAL_URL" desc:"URL of this exporter for links in notifications. Empty: \"http://\" followed by the value of AVAX_ALERTING_INSTANCE."`
	PrometheusURL        string `split_words:"true" name:"PROMETHEUS_URL" desc:"Address of the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. The web pages read alerts and history from this address. Needs AVAX_ALERTING=off."`
	PrometheusConfigFile string `split_words:"true" name:"PROMETHEUS_CONFIG_FILE" desc:"File with the HTTP client configuration for AVAX_PROMETHEUS_URL, in Prometheus' format: basic_auth, authorization, tls_config, http_headers."`

	Alertmanagers          string `split_words:"true" name:"ALERTMANAGERS" subject:"Notifications" desc:"Alertmanagers to notify, as URLs, comma-separated; see alerting.md."`
	AlertmanagerConfigFile string `split_words:"true" name:"ALERTMANAGER_CONFIG_FILE" desc:"File with TLS settings, credentials and relabelling for AVAX_ALERTMANAGERS, and with further Alertmanagers. The format is the section \"alerting\" of a Prometheus configuration; see alerting.md."`
	NotifyFile             string `split_words:"true" name:"NOTIFY_FILE" desc:"File with receivers and routes, in Alertmanager's format, for notifications without an Alertmanager; see notifications.md. Reloaded on SIGHUP."`
	HeartbeatURL           string `split_words:"true" name:"HEARTBEAT_URL" desc:"URL of a dead man's switch, such as a check at healthchecks.io. The exporter requests this URL every minute while alerting works; see notifications.md."`
	Digest                 string `split_words:"true" name:"DIGEST" default:"off" desc:"Weekly digest of validators, L1 validators and versions: on or off. Needs a route in AVAX_NOTIFY_FILE or in Alertmanager; see notifications.md."`

	Shard       string `split_words:"true" name:"SHARD" default:"0" subject:"Shards, state and log" desc:"Index of this shard: 0 for the first shard. Each shard is an exporter that monitors a part of the nodes; see fleets.md."`
	TotalShards string `split_words:"true" name:"TOTAL_SHARDS" default:"1" desc:"Number of shards."`
	StateDir    string `split_words:"true" name:"STATE_DIR" desc:"Directory for state that survives a restart, such as the state of alerts and totals from the Data service. The directory must exist. Empty: a restart loses this state."`
	LogLevel    string `split_words:"true" name:"LOG_LEVEL" default:"INFO" desc:"Log level: DEBUG, INFO, WARN or ERROR."`
	LogFormat   string `split_words:"true" name:"LOG_FORMAT" default:"auto" desc:"Log format: text, json or auto (text on a terminal, json otherwise)."`
}

const prefix = "AVAX"

// Variable is one field of Environment.
type Variable struct{ Name, Default, Description, Subject string }

// Variables lists every variable, grouped by subject.
func Variables() []Variable {
	var all []Variable
	subject := ""
	for f := range reflect.TypeFor[Environment]().Fields() {
		subject = cmp.Or(f.Tag.Get("subject"), subject)
		all = append(all, Variable{prefix + "_" + f.Tag.Get("name"), f.Tag.Get("default"), f.Tag.Get("desc"), subject})
	}
	return all
}

// Defaults returns the environment with every variable at its default.
func Defaults() Environment {
	var env Environment
	v := reflect.ValueOf(&env).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(v.Type().Field(i).Tag.Get("default"))
	}
	return env
}

// unknownVariables returns an error for each unknown AVAX_ variable. Without this check, a misspelled variable would be ignored
// silently.
func unknownVariables(environ []string) []error {
	var known []string
	for _, v := range Variables() {
		known = append(known, strings.TrimPrefix(v.Name, prefix+"_"))
	}
	var errs []error
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		short, ours := strings.CutPrefix(name, prefix+"_")
		if !ours || slices.Contains(known, short) || isServiceLink(name, value) {
			continue
		}
		remedy := "see avax-exporter help"
		if near := spelling.Near(short, known); len(near) > 0 {
			remedy = fmt.Sprintf("did you mean %s_%s?", prefix, near[0])
		}
		errs = append(errs, fmt.Errorf("%s: unknown variable; %s", name, remedy))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}

// isServiceLink reports whether Kubernetes set this variable for a Service. The variables of a Service named avax-exporter have
// the prefix AVAX_ too.
func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)
