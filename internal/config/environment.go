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
	Nodes          string `split_words:"true" name:"NODES" default:"local=http://127.0.0.1:9650" subject:"Nodes and chains" desc:"Nodes to monitor, as name=url, comma-separated. The name becomes the label node. User and password in the URL are sent as basic authentication."`
	NodesFile      string `split_words:"true" name:"NODES_FILE" desc:"File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml). Reloaded when it changes; see fleets.md. If AVAX_NODES is not set, only the nodes of this file are monitored."`
	NodeNetworkID  string `split_words:"true" name:"NODE_NETWORK_ID" desc:"Expected network of the nodes: mainnet, fuji or a number. Empty: the network of most nodes. avax_node_network_mismatch reports nodes of other networks."`
	Observers      string `split_words:"true" name:"OBSERVERS" desc:"API endpoints that are not your nodes, as name=url, comma-separated. The exporter compares the nodes with these endpoints. The variables AVAX_NODE_… and the alerts about nodes do not apply to them; see observers.md. To call only observers, set AVAX_NODES to an empty value."`
	ObserverBudget string `split_words:"true" name:"OBSERVER_BUDGET" default:"60" desc:"Maximum number of calls to one observer within any minute."`
	Chains         string `split_words:"true" name:"CHAINS" default:"C" desc:"Chains to monitor in addition to P and X, comma-separated: an alias, name=alias or name=blockchainID. The name becomes the label chain. auto adds the chains that the nodes track."`
	Validators     string `split_words:"true" name:"VALIDATORS" default:"own" desc:"Primary-network validators to export: own (the configured nodes), all, or node IDs, comma-separated."`

	NodeHost          string `split_words:"true" name:"NODE_HOST" subject:"Requests to nodes" desc:"Host header for the nodes, such as localhost. Set it if a node answers 403 because its flag --http-allowed-hosts does not allow the host name in the URL."`
	NodeHeadersFile   string `split_words:"true" name:"NODE_HEADERS_FILE" desc:"File with headers for the nodes, one Name: value per line, such as Authorization for nodes behind a proxy."`
	NodeCAFile        string `split_words:"true" name:"NODE_CA_FILE" desc:"File with PEM certificates that verify the nodes' certificates. Empty: the certificates of the system."`
	NodeBearerFile    string `split_words:"true" name:"NODE_BEARER_FILE" desc:"File with a token, sent to the nodes as Authorization: Bearer. This file and all other AVAX_NODE_…_FILE files are reloaded when they change."`
	NodeBasicAuthFile string `split_words:"true" name:"NODE_BASIC_AUTH_FILE" desc:"File with user:password, sent to the nodes as basic authentication."`
	NodeCertFile      string `split_words:"true" name:"NODE_CERT_FILE" desc:"File with the PEM client certificate for nodes that require one (mTLS)."`
	NodeKeyFile       string `split_words:"true" name:"NODE_KEY_FILE" desc:"File with the PEM key of AVAX_NODE_CERT_FILE."`

	Collectors  string `split_words:"true" name:"COLLECTORS" subject:"Collectors" desc:"Collectors to run: a comma-separated list, or changes to the defaults as +name and -name."`
	Schedules   string `split_words:"true" name:"SCHEDULES" desc:"Schedules of collectors, as collector=expression, semicolon-separated. The expression has cron's format, such as @every 30s or */5 * * * *."`
	Timeout     string `split_words:"true" name:"TIMEOUT" default:"10s" desc:"Timeout of one call to a node or service, as a duration."`
	Concurrency string `split_words:"true" name:"CONCURRENCY" default:"4" desc:"Maximum number of concurrent calls to one node or service. The probe for avax_node_up does not count."`
	MaxBody     string `split_words:"true" name:"MAX_BODY" default:"16MiB" desc:"Size limit of an answer, as bytes, KiB, MiB or GiB. A list of 1,500 validators has 1.4 MiB."`

	WatchAddresses  string `split_words:"true" name:"WATCH_ADDRESSES" subject:"Addresses, assets and contracts" desc:"Addresses to monitor, comma-separated. Data about P- and X-Chain addresses, such as P-avax1…, comes from the nodes. Data about EVM addresses, such as 0x1f…, comes from the Data service, for each chain in AVAX_CHAINS."`
	WatchAssets     string `split_words:"true" name:"WATCH_ASSETS" desc:"X-Chain assets to monitor, as asset IDs, comma-separated."`
	WatchContracts  string `split_words:"true" name:"WATCH_CONTRACTS" desc:"Addresses that deploy contracts, comma-separated, such as 0x1f…. The exporter counts the contracts that each address deployed on the EVM chains of AVAX_CHAINS. Needs the Data service."`
	WatchTokens     string `split_words:"true" name:"WATCH_TOKENS" desc:"NFTs whose metadata is checked, as chain/contract/id, comma-separated, such as C/0x1f…/7. Add the holder of each NFT to AVAX_WATCH_ADDRESSES. With the suffix :reindex, the exporter asks the Data service to index missing metadata, at most once an hour."`
	WatchSignatures string `split_words:"true" name:"WATCH_SIGNATURES" desc:"Transactions for tests of the Data service's signature aggregator, as name=txHash, comma-separated. Each is a P- or X-Chain transaction that sends a message to an L1. The name becomes the label probe."`

	DataURL          string `split_words:"true" name:"DATA_URL" subject:"Data and Metrics services" desc:"Address of the Data service, such as https://data-api.avax.network. Empty: the service is not used; see data-service.md."`
	DataAPIKeyFile   string `split_words:"true" name:"DATA_API_KEY_FILE" desc:"File with the API key of the Data service. Reloaded when it changes. Empty: no key."`
	DataAPIKeyHeader string `split_words:"true" name:"DATA_API_KEY_HEADER" default:"x-service-api-key" desc:"Header for the API key. Some URLs of the service need x-glacier-api-key."`
	DataBudget       string `split_words:"true" name:"DATA_BUDGET" default:"6000/m,1200000/d" desc:"Maximum number of compute units to spend at the Data service in any minute (/m) and in any day (/d). The default is the service's limit without a key. With a free key, the service's limit is 8000/m,2000000/d. A part that you leave out has no limit."`
	MetricsURL       string `split_words:"true" name:"METRICS_URL" desc:"Address of the Metrics service, such as https://metrics.avax.network. Empty: the service is not used."`
	Network          string `split_words:"true" name:"NETWORK" desc:"Network for requests to the Data service: mainnet, fuji or testnet. The nodes must be on the same network. Empty: the network of the nodes."`
	Currency         string `split_words:"true" name:"CURRENCY" default:"usd" desc:"Currency of prices from the Data service: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."`

	MetricsAllow string `split_words:"true" name:"METRICS_ALLOW" subject:"Exported metrics" desc:"Metric families to export, comma-separated, such as avax_node_up. * matches any text, as in avax_node_*. {label=value} after a family selects series, such as avax_node_peers*{node=alpha}. Empty: all. The exporter's own families (avax_exporter_…, go_…, process_…) are always exported. The status page and the alert rules of this process use only exported families. Top-up plans of L1s also use validators and balances that are not exported."`
	MetricsDeny  string `split_words:"true" name:"METRICS_DENY" desc:"Metric families or series not to export, in the format of AVAX_METRICS_ALLOW. family{label}, without =value, removes this label from the series of the family. If series become identical, only the first is exported."`
	SeriesLimit  string `split_words:"true" name:"SERIES_LIMIT" default:"1000000" desc:"Maximum number of series of one collector, over all its targets. A run with more series counts as failed: its largest families are dropped, and the others are exported. 0: no limit."`

	Listen           string `split_words:"true" name:"LISTEN" default:":9865" subject:"Web server" desc:"Address of /metrics and the status page, as host:port."`
	MaxConnections   string `split_words:"true" name:"MAX_CONNECTIONS" default:"256" desc:"Maximum number of concurrent client connections. Above it, the exporter selects the client address with the most connections. It closes the connection of this address that was idle longest. A low limit of open files reduces the maximum."`
	WebConfigFile    string `split_words:"true" name:"WEB_CONFIG_FILE" desc:"File with TLS, client certificates and passwords for AVAX_LISTEN, in the format of Prometheus exporters (web.config.file). Reloaded for every connection; see operating.md."`
	WebSystemdSocket string `split_words:"true" name:"WEB_SYSTEMD_SOCKET" default:"false" desc:"true: serve on the socket of systemd instead of AVAX_LISTEN."`
	ReloadEndpoint   string `split_words:"true" name:"RELOAD_ENDPOINT" default:"false" desc:"true: POST /-/reload reloads the nodes and their credentials, as SIGHUP does. Then every client that reaches the port may send this request."`
	TrustLoopback    string `split_words:"true" name:"TRUST_LOOPBACK" default:"false" desc:"true: clients on this machine create and end silences without a password. Leave it false if a reverse proxy runs on this machine: its clients would be trusted too."`
	PprofListen      string `split_words:"true" name:"PPROF_LISTEN" desc:"Address of Go's profiles (/debug/pprof/), such as 127.0.0.1:6060. Not authenticated. Empty: no profiles are served."`

	Alerting             string `split_words:"true" name:"ALERTING" subject:"Alert rules" desc:"on: the exporter evaluates the alert rules; see alerting.md. off: a Prometheus or a ruler evaluates the rules. Empty: on, but off in a build without alerting."`
	RulesProfile         string `split_words:"true" name:"RULES_PROFILE" default:"all" desc:"Built-in alert rules to evaluate: validator, l1, rpc, delegator or all; see alerting.md."`
	RulesFile            string `split_words:"true" name:"RULES_FILE" desc:"File with alert rules that replace the built-in ones, in Prometheus' format. Reloaded on SIGHUP."`
	AlertingInterval     string `split_words:"true" name:"ALERTING_INTERVAL" default:"15s" desc:"Interval at which rules are evaluated and metrics are sampled for them, as a duration."`
	History              string `split_words:"true" name:"HISTORY" default:"auto" desc:"Duration for which samples are kept in memory, for alert rules and the web pages: 2h or more, or auto. auto is 24h. If 24h of samples need more than 64 MB, auto is less, but at least 2h; see alerting.md."`
	AlertingJob          string `split_words:"true" name:"ALERTING_JOB" default:"avax-exporter" desc:"Job under which a Prometheus scrapes this exporter. It becomes the label job of alerts."`
	AlertingInstance     string `split_words:"true" name:"ALERTING_INSTANCE" desc:"Address at which a Prometheus scrapes this exporter, as host:port. It becomes the label instance of alerts. Empty: the name of this machine with the port of AVAX_LISTEN."`
	ExternalLabels       string `split_words:"true" name:"EXTERNAL_LABELS" desc:"Labels to add to every alert, as name=value, comma-separated."`
	ExternalURL          string `split_words:"true" name:"EXTERNAL_URL" desc:"URL of this exporter for links in notifications. Empty: http:// and AVAX_ALERTING_INSTANCE."`
	PrometheusURL        string `split_words:"true" name:"PROMETHEUS_URL" desc:"Address of the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. With AVAX_ALERTING=off, the web pages read alerts and samples from this address."`
	PrometheusConfigFile string `split_words:"true" name:"PROMETHEUS_CONFIG_FILE" desc:"File with the HTTP client configuration for AVAX_PROMETHEUS_URL, in Prometheus' format: basic_auth, authorization, tls_config, http_headers."`

	Alertmanagers          string `split_words:"true" name:"ALERTMANAGERS" subject:"Notifications" desc:"Alertmanagers to notify, as URLs, comma-separated. If AVAX_ALERTMANAGERS, AVAX_ALERTMANAGER_CONFIG_FILE and AVAX_NOTIFY_FILE are all empty, alerts are evaluated and shown, but not sent."`
	AlertmanagerConfigFile string `split_words:"true" name:"ALERTMANAGER_CONFIG_FILE" desc:"File with the alerting section of a Prometheus configuration. The section sets TLS, credentials and relabelling for AVAX_ALERTMANAGERS, and may list further Alertmanagers."`
	NotifyFile             string `split_words:"true" name:"NOTIFY_FILE" desc:"File with receivers and routes, in Alertmanager's format, to notify without an Alertmanager. avax-exporter notify init prints an example. Reloaded on SIGHUP."`
	HeartbeatURL           string `split_words:"true" name:"HEARTBEAT_URL" desc:"URL to request every minute, such as a check of healthchecks.io. Requested only while collectors run, rules are evaluated, and Alertmanagers and receivers accept alerts. The URL is secret: it is never logged or shown."`
	NotifyListen           string `split_words:"true" name:"NOTIFY_LISTEN" default:":9866" desc:"Address for gossip between replicas that notify, as host:port. Used only with AVAX_NOTIFY_PEERS. Not authenticated: keep it inside your network."`
	NotifyPeers            string `split_words:"true" name:"NOTIFY_PEERS" desc:"Gossip addresses of the other replicas, as host:port, comma-separated. If all replicas have the same AVAX_NOTIFY_FILE, each notification is sent only once."`
	Digest                 string `split_words:"true" name:"DIGEST" default:"off" desc:"Weekly digest of validators, L1 validators and versions: on or off. A route of AVAX_NOTIFY_FILE or of an Alertmanager sends it; see notifications.md."`

	Shard       string `split_words:"true" name:"SHARD" default:"0" subject:"Shards, state and log" desc:"Zero-based index of this shard; see fleets.md."`
	TotalShards string `split_words:"true" name:"TOTAL_SHARDS" default:"1" desc:"Number of shards: processes that share the nodes."`
	StateDir    string `split_words:"true" name:"STATE_DIR" desc:"Directory for state that survives a restart: totals from the Data service, downtimes of validators and the state of alerts. It must exist. Empty: a restart loses this state."`
	LogLevel    string `split_words:"true" name:"LOG_LEVEL" default:"INFO" desc:"Log level: DEBUG, INFO, WARN or ERROR."`
	LogFormat   string `split_words:"true" name:"LOG_FORMAT" default:"auto" desc:"Log format: text, json or auto. auto is text on a terminal and JSON otherwise."`
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
