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

// Environment is every variable that the exporter reads, as it was written.
// The tags are the documentation: docs/configuration.md is generated from them.
type Environment struct {
	Listen                 string `split_words:"true" name:"LISTEN" default:":9865" desc:"Address of /metrics and the status page, as host:port."`
	MaxConnections         string `split_words:"true" name:"MAX_CONNECTIONS" default:"256" desc:"Connections of clients that are open at once. Beyond, the address with the most loses the one that was idle longest. Fewer where the limit of open files is low."`
	Nodes                  string `split_words:"true" name:"NODES" default:"local=http://127.0.0.1:9650" desc:"Nodes to ask, as name=url, comma-separated. The name is the label node. User and password in the URL are sent as basic authentication."`
	NodesFile              string `split_words:"true" name:"NODES_FILE" desc:"File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml), read again when it changes; see fleets.md. Where it is set and AVAX_NODES is not, only its nodes are asked."`
	Chains                 string `split_words:"true" name:"CHAINS" default:"C" desc:"Chains to follow beside P and X, comma-separated: an alias, or name=blockchainID (or name=alias). The name is the label chain. auto finds those that the nodes track."`
	Validators             string `split_words:"true" name:"VALIDATORS" default:"own" desc:"Primary-network validators with series of their own: own (those of the nodes above), all, or node IDs, comma-separated."`
	Collectors             string `split_words:"true" name:"COLLECTORS" desc:"Collectors to run: a comma-separated list, or changes to the defaults as +name and -name."`
	Schedules              string `split_words:"true" name:"SCHEDULES" desc:"Other periods, as collector=expression, semicolon-separated. The expression is cron's, such as @every 30s or */5 * * * *."`
	Timeout                string `split_words:"true" name:"TIMEOUT" default:"10s" desc:"How long one call to an upstream may take."`
	Concurrency            string `split_words:"true" name:"CONCURRENCY" default:"4" desc:"Calls at once to one upstream. Whether a node answers at all is asked beside them."`
	MaxBody                string `split_words:"true" name:"MAX_BODY" default:"16MiB" desc:"The largest answer that is read, as bytes, KiB, MiB or GiB. That of 1,500 validators has 1.4 MiB."`
	NodeHost               string `split_words:"true" name:"NODE_HOST" desc:"Host header sent to the nodes, for a node that answers 403 to its own name (--http-allowed-hosts)."`
	NodeHeadersFile        string `split_words:"true" name:"NODE_HEADERS_FILE" desc:"File with headers sent to the nodes, one Name: value a line, such as Authorization for nodes behind a proxy."`
	NodeCAFile             string `split_words:"true" name:"NODE_CA_FILE" desc:"File with the PEM certificates that the nodes' certificates are checked against, in place of the system's."`
	NodeBearerFile         string `split_words:"true" name:"NODE_BEARER_FILE" desc:"File with a token that is sent to the nodes as Authorization: Bearer. Like all files of nodes it is read again when it changes."`
	NodeBasicAuthFile      string `split_words:"true" name:"NODE_BASIC_AUTH_FILE" desc:"File with user:password, sent to the nodes as basic authentication."`
	NodeCertFile           string `split_words:"true" name:"NODE_CERT_FILE" desc:"File with the PEM certificate shown to nodes that ask for one (mTLS)."`
	NodeKeyFile            string `split_words:"true" name:"NODE_KEY_FILE" desc:"File with the PEM key of that certificate."`
	NodeNetworkID          string `split_words:"true" name:"NODE_NETWORK_ID" desc:"Network that the nodes belong to: mainnet, fuji or a number. Empty: the one of most nodes. avax_node_network_mismatch tells of others."`
	WatchAddresses         string `split_words:"true" name:"WATCH_ADDRESSES" desc:"Addresses that are told of, comma-separated: of the P- or X-Chain, such as P-avax1…, asked of the nodes; of EVM chains, such as 0x1f…, asked of the Data service on each of AVAX_CHAINS, in any case of their letters."`
	WatchAssets            string `split_words:"true" name:"WATCH_ASSETS" desc:"Assets of the X-Chain that are told of, by asset ID, comma-separated."`
	WatchContracts         string `split_words:"true" name:"WATCH_CONTRACTS" desc:"Addresses whose deployed contracts the Data service counts on each of AVAX_CHAINS that is an EVM chain, comma-separated, such as 0x1f…."`
	WatchTokens            string `split_words:"true" name:"WATCH_TOKENS" desc:"NFTs that addresses of AVAX_WATCH_ADDRESSES hold, and whose metadata the Data service is to have, comma-separated, as chain/contract/id, such as C/0x1f…/7. With :reindex at the end the service is asked to read them anew where it has no good copy: once an hour at most."`
	WatchSignatures        string `split_words:"true" name:"WATCH_SIGNATURES" desc:"Probes of the signature aggregator, comma-separated, as name=txHash: a transaction of the P- or X-Chain that sends a message to an L1. The name is the label probe."`
	Shard                  string `split_words:"true" name:"SHARD" default:"0" desc:"Which part of the nodes is this process', from 0; see fleets.md."`
	TotalShards            string `split_words:"true" name:"TOTAL_SHARDS" default:"1" desc:"Processes that share the nodes."`
	ReloadEndpoint         string `split_words:"true" name:"RELOAD_ENDPOINT" default:"false" desc:"true: POST /-/reload reads the nodes and their credentials anew, as SIGHUP does. Whoever reaches the port may then ask for it."`
	WebConfigFile          string `split_words:"true" name:"WEB_CONFIG_FILE" desc:"File with TLS, client certificates and passwords for AVAX_LISTEN, in the Prometheus exporters' format (web.config.file), read anew for every connection; see operating.md."`
	WebSystemdSocket       string `split_words:"true" name:"WEB_SYSTEMD_SOCKET" default:"false" desc:"true: serve on the socket that systemd passes, in place of AVAX_LISTEN."`
	PprofListen            string `split_words:"true" name:"PPROF_LISTEN" desc:"Address of Go's profiles (/debug/pprof/), such as 127.0.0.1:6060; empty: they are not served. Nothing guards them."`
	MetricsURL             string `split_words:"true" name:"METRICS_URL" desc:"Address of the Metrics service, such as https://metrics.avax.network; empty: not asked."`
	DataURL                string `split_words:"true" name:"DATA_URL" desc:"Address of the Data service, such as https://data-api.avax.network; empty: not asked. See data-service.md."`
	DataAPIKeyFile         string `split_words:"true" name:"DATA_API_KEY_FILE" desc:"File with the key for the Data service; read again when it changes. Empty: asked without one."`
	DataAPIKeyHeader       string `split_words:"true" name:"DATA_API_KEY_HEADER" default:"x-service-api-key" desc:"Header that the key is sent in; some addresses of the service want x-glacier-api-key."`
	DataBudget             string `split_words:"true" name:"DATA_BUDGET" default:"6000/m,1200000/d" desc:"Compute units that may be spent at the Data service within any minute and any day. The default is what callers without a key are granted; with a free key it is 8000/m,2000000/d. One that is left out has no limit."`
	Network                string `split_words:"true" name:"NETWORK" desc:"Network that the Data service is asked about: mainnet, fuji or testnet. Empty: the one that the nodes belong to. Another one than theirs is refused."`
	Currency               string `split_words:"true" name:"CURRENCY" default:"usd" desc:"Currency in which the Data service tells what something is worth: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."`
	MetricsAllow           string `split_words:"true" name:"METRICS_ALLOW" desc:"Families that are served, comma-separated, with * for any text, such as avax_node_*; after one, {label=value} means only the series with that value, such as avax_node_peers*{node=alpha}. Empty: all. The exporter's own (avax_exporter_…, go_…, process_…) always are. What is not served, the status page does not know either, but for the validators and balances of an L1."`
	MetricsDeny            string `split_words:"true" name:"METRICS_DENY" desc:"Families or series that are not served although they are allowed, written as in AVAX_METRICS_ALLOW. With {label} alone, the label is left out: of series that are then the same, the first is served."`
	SeriesLimit            string `split_words:"true" name:"SERIES_LIMIT" default:"1000000" desc:"Series that one collector may serve, over all its targets. A run that finds more fails, and its largest families are left out until the rest fits: aggregates stay. 0: any number."`
	StateDir               string `split_words:"true" name:"STATE_DIR" desc:"Directory, which must be there, for what is added up over time, so that it is not asked for again after a restart (see data-service.md), and for how long alerts have been active. Empty: both begin anew."`
	Alerting               string `split_words:"true" name:"ALERTING" desc:"on: the exporter evaluates the alert rules, without a Prometheus; see alerting.md. off: a Prometheus or a ruler does. Empty: on, but off in the build without alerting."`
	Alertmanagers          string `split_words:"true" name:"ALERTMANAGERS" desc:"Alertmanagers to notify, as URLs, comma-separated. Empty: alerts are evaluated and shown, and sent to nobody."`
	AlertmanagerConfigFile string `split_words:"true" name:"ALERTMANAGER_CONFIG_FILE" desc:"File with the block alerting of Prometheus' configuration: TLS, credentials and relabelling for the Alertmanagers, or more of them."`
	NotifyFile             string `split_words:"true" name:"NOTIFY_FILE" desc:"File that says whom this process notifies, in Alertmanager's own format: no Alertmanager is needed; avax-exporter notify init prints one. Reloaded on SIGHUP."`
	HeartbeatURL           string `split_words:"true" name:"HEARTBEAT_URL" desc:"URL requested every minute while collectors run, rules are evaluated and notifications are accepted: the address of a dead man's switch such as healthchecks.io. A secret: it is never logged or shown."`
	NotifyListen           string `split_words:"true" name:"NOTIFY_LISTEN" default:":9866" desc:"Address of the gossip between replicas that notify, as host:port; used with AVAX_NOTIFY_PEERS only. Not authenticated: keep it inside your network."`
	NotifyPeers            string `split_words:"true" name:"NOTIFY_PEERS" desc:"Addresses of the gossip of the other replicas, comma-separated, as host:port. Replicas with the same AVAX_NOTIFY_FILE notify once."`
	RulesFile              string `split_words:"true" name:"RULES_FILE" desc:"File with the alert rules to evaluate in place of the built-in ones, in Prometheus' format; read anew on SIGHUP."`
	PrometheusURL          string `split_words:"true" name:"PROMETHEUS_URL" desc:"With AVAX_ALERTING=off: the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. The pages read alerts and samples there."`
	PrometheusConfigFile   string `split_words:"true" name:"PROMETHEUS_CONFIG_FILE" desc:"File with the HTTP client configuration for AVAX_PROMETHEUS_URL, in Prometheus' format: basic_auth, authorization, tls_config, http_headers."`
	RulesProfile           string `split_words:"true" name:"RULES_PROFILE" default:"all" desc:"Built-in alert rules to evaluate: validator, l1, rpc or all; see alerting.md."`
	ExternalLabels         string `split_words:"true" name:"EXTERNAL_LABELS" desc:"Labels added to every alert, comma-separated, as name=value."`
	ExternalURL            string `split_words:"true" name:"EXTERNAL_URL" desc:"Where people reach this exporter: the link in a page leads there. Empty: http:// and AVAX_ALERTING_INSTANCE."`
	AlertingJob            string `split_words:"true" name:"ALERTING_JOB" default:"avax-exporter" desc:"Label job of alerts: that under which a Prometheus scrapes this exporter."`
	AlertingInstance       string `split_words:"true" name:"ALERTING_INSTANCE" desc:"Label instance of alerts: the target as a Prometheus names it. Empty: this machine's name with the port of AVAX_LISTEN."`
	AlertingInterval       string `split_words:"true" name:"ALERTING_INTERVAL" default:"15s" desc:"How often alert rules are evaluated, and the metrics sampled for it."`
	History                string `split_words:"true" name:"HISTORY" default:"auto" desc:"How long samples are kept in memory for rules and pages: a duration of 2h or more, or auto: 24h, and less (down to 2h) where that would take more than 64 MB; see alerting.md."`
	LogLevel               string `split_words:"true" name:"LOG_LEVEL" default:"INFO" desc:"DEBUG, INFO, WARN or ERROR."`
	LogFormat              string `split_words:"true" name:"LOG_FORMAT" default:"auto" desc:"text, json, or auto: text on a terminal, JSON otherwise."`
}

const prefix = "AVAX"

// Variable is one field of Environment.
type Variable struct{ Name, Default, Description string }

// Variables lists every variable, in the order in which help shows them.
func Variables() []Variable {
	var all []Variable
	for f := range reflect.TypeFor[Environment]().Fields() {
		all = append(all, Variable{prefix + "_" + f.Tag.Get("name"), f.Tag.Get("default"), f.Tag.Get("desc")})
	}
	return all
}

// Defaults is the environment of an operator who sets nothing.
func Defaults() Environment {
	var env Environment
	v := reflect.ValueOf(&env).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(v.Type().Field(i).Tag.Get("default"))
	}
	return env
}

// unknownVariables reports each AVAX_ variable that does not exist: a misspelled
// name must not be taken for a default.
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
		meant := ": docs/configuration.md lists them"
		if near := spelling.Near(short, known); len(near) > 0 {
			meant = fmt.Sprintf("; did you mean %s_%s?", prefix, near[0])
		}
		errs = append(errs, fmt.Errorf("%s: there is no such variable%s", name, meant))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}

// isServiceLink reports whether this is one of the variables that Kubernetes
// sets for every Service: those of a Service named avax-exporter have our prefix.
func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)
