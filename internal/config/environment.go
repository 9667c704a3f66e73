package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

const prefix = "AVAX_"

// Environment holds the values of environment variables, by name without the prefix AVAX_.
type Environment map[string]string

// Variable is an environment variable. docs/configuration.md and the help are generated from its texts.
type Variable struct {
	Name        string // without the prefix AVAX_
	Default     string
	Description string
	Subject     string                   // heading
	decode      func(value string) error // decodes into a field of Config; may join several errors
	// empty means that the empty value has a meaning of its own. Otherwise it stands for the default.
	empty bool
}

// Variables lists every variable, grouped by subject.
func Variables() []Variable { return new(Config).variables() }

// variables is the only declaration of the variables.
func (c *Config) variables() []Variable {
	subject := func(name string, group ...Variable) []Variable {
		for i := range group {
			group[i].Subject = name
		}
		return group
	}
	return slices.Concat(
		subject("Nodes and chains",
			Variable{Name: "NODES", empty: true, Default: "local=http://127.0.0.1:9650", decode: into(&c.Source.Nodes, parseNodes), Description: "Nodes to monitor, as name=url, comma-separated. The name is the value of the label \"node\". The URL may contain a user and a password."},
			Variable{Name: "NODES_FILE", decode: text(&c.Source.NodesFile), Description: "File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml); see fleets.md. Reloaded when it changes. Without AVAX_NODES, the exporter monitors only the nodes of this file."},
			Variable{Name: "NETWORK", decode: c.decodeNetwork, Description: "Network of the nodes and for requests to the Data service: mainnet, fuji or a number; see fleets.md. Empty: the network of most nodes."},
			Variable{Name: "OBSERVERS", decode: into(&c.Source.Observers, parseNodes), Description: "Observers, as name=url, comma-separated: API endpoints to compare your nodes with; see observers.md."},
			Variable{Name: "OBSERVER_BUDGET", Default: "60", decode: into(&c.ObserverBudget, parseCount), Description: "Maximum number of calls to one observer per minute."},
			Variable{Name: "CHAINS", empty: true, Default: "C", decode: c.decodeChains, Description: "Chains to monitor in addition to P and X, comma-separated. Each entry is an alias, name=alias or name=blockchainID. The name is the value of the label \"chain\". The entry \"auto\" adds all chains that the nodes track."},
			Variable{Name: "VALIDATORS", Default: "own", decode: into(&c.Watch.Validators, parseValidators), Description: "Validators of the primary network to monitor: own (the configured nodes), all, or node IDs, comma-separated."},
		),
		subject("Requests",
			Variable{Name: "HTTP_CONFIG_FILE", decode: text(&c.Source.HTTPFile), Description: "File with credentials, headers, TLS settings and the Host header for nodes, services, Alertmanagers and Prometheus, in Prometheus' format http_config; see operating.md. This file and the files that it names are reloaded when they change."},
			Variable{Name: "TIMEOUT", Default: "10s", decode: into(&c.Timeout, parseDuration), Description: "Timeout of one call to a node or service, as a duration."},
			Variable{Name: "CONCURRENCY", Default: "4", decode: into(&c.Concurrency, parseCount), Description: "Maximum number of concurrent calls to one node or service."},
		),
		subject("Collectors",
			Variable{Name: "COLLECTORS", decode: into(&c.Collectors, parseCollectors), Description: "Collectors to run, comma-separated; see metrics.md. To change the default list, write only the changes, such as \"+admin,-acps\". Empty: the default list."},
			Variable{Name: "SCHEDULES", decode: into(&c.Schedules, parseSchedules), Description: "Schedules of collectors, as collector=expression, semicolon-separated, such as \"peers=@every 30s;acps=*/5 * * * *\". Expressions have cron's format."},
		),
		subject("Addresses, assets and contracts",
			Variable{Name: "WATCH_ADDRESSES", decode: c.decodeAddresses, Description: "Addresses to monitor, comma-separated: P-avax1… (P-Chain), X-avax1… (X-Chain) or 0x1f… (EVM). The exporter monitors an EVM address on each EVM chain of AVAX_CHAINS. EVM addresses need AVAX_DATA_URL."},
			Variable{Name: "WATCH_ASSETS", decode: into(&c.Watch.Assets, parseAssets), Description: "X-Chain assets to monitor, as asset IDs, comma-separated."},
			Variable{Name: "WATCH_CONTRACTS", decode: into(&c.Watch.Contracts, parseContracts), Description: "EVM addresses that deploy contracts, comma-separated. The exporter counts the contracts of each address on each EVM chain of AVAX_CHAINS. Needs AVAX_DATA_URL."},
			Variable{Name: "WATCH_TOKENS", decode: into(&c.Watch.Tokens, parseTokens), Description: "NFTs to check for valid metadata, as chain/contract/id, comma-separated, such as C/0x1f…/7. Add the holder of each NFT to AVAX_WATCH_ADDRESSES. If an entry has the suffix \":reindex\", the exporter asks the Data service to index missing metadata; see data-service.md. Needs AVAX_DATA_URL."},
			Variable{Name: "WATCH_SIGNATURES", decode: into(&c.Watch.Signatures, parseProbes), Description: "P- or X-Chain transactions that send messages to L1s, as name=txHash, comma-separated. The exporter checks whether the Data service can collect signatures for these messages; see data-service.md. The name is the value of the label \"probe\". Needs AVAX_DATA_URL."},
		),
		subject("Data and Metrics services",
			Variable{Name: "DATA_URL", decode: into(&c.DataURL, parseServiceURL), Description: "Address of the Data service, such as https://data-api.avax.network; see data-service.md. Empty: the Data service is not used."},
			Variable{Name: "DATA_API_KEY_FILE", decode: text(&c.Source.KeyFile), Description: "File with the API key of the Data service. Reloaded when it changes. Empty: no key."},
			Variable{Name: "DATA_BUDGET", Default: "6000/m,1200000/d", decode: c.decodeBudget, Description: "Maximum number of compute units of the Data service to spend per minute (/m) and per day (/d). An omitted period has no limit. The default is the service's limit for clients without a key; see data-service.md."},
			Variable{Name: "METRICS_URL", decode: into(&c.MetricsURL, parseServiceURL), Description: "Address of the Metrics service, such as https://metrics.avax.network; see data-service.md. Empty: the Metrics service is not used."},
			Variable{Name: "CURRENCY", Default: "usd", decode: into(&c.Currency, parseCurrency), Description: "Currency of prices from the Data service: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."},
		),
		subject("Web server",
			Variable{Name: "LISTEN", Default: ":9865", decode: into(&c.Listen, parseListen), Description: "Address of /metrics and the status page, as host:port. If systemd passes a socket, the exporter uses that socket; see operating.md."},
			Variable{Name: "WEB_CONFIG_FILE", decode: text(&c.WebConfigFile), Description: "File with TLS settings and passwords for AVAX_LISTEN, in the format of Prometheus' exporter-toolkit (web.config.file); see operating.md. Reloaded for every connection."},
			Variable{Name: "TRUST_LOOPBACK", Default: "true", decode: into(&c.TrustLoopback, parseBool), Description: "Whether clients on this machine may send queries, reload, and create and end silences without a password: true or false. Set false if a reverse proxy on this machine forwards requests without the header X-Forwarded-For."},
			Variable{Name: "PPROF_LISTEN", decode: into(&c.PprofListen, parseListen), Description: "Address of Go profiles (/debug/pprof/), as host:port, such as 127.0.0.1:6060. Clients are not authenticated. Empty: no profiles."},
		),
		subject("Alert rules",
			Variable{Name: "ALERTING", Default: "on", decode: into(&c.Alerting.On, parseBool), Description: "Whether the exporter evaluates the alert rules: on or off; see alerting.md."},
			Variable{Name: "RULES_PROFILE", Default: "all", decode: text(&c.rulesProfile), Description: "Built-in alert rules to evaluate, by kind of operator: validator, l1, rpc, delegator or all; see alerting.md."},
			Variable{Name: "RULES_FILE", decode: text(&c.Alerting.RulesFile), Description: "File with alert rules that replace the built-in rules, in Prometheus' format. Reloaded on SIGHUP."},
			Variable{Name: "ALERTING_INTERVAL", Default: "15s", decode: into(&c.Alerting.Interval, parseDuration), Description: "Interval between evaluations of the alert rules, as a duration."},
			Variable{Name: "EXTERNAL_LABELS", decode: into(&c.Alerting.ExternalLabels, parseLabels), Description: "Labels of every alert, as name=value, comma-separated. Set \"job\" and \"instance\" if a Prometheus scrapes this exporter under other names than avax-exporter and host:port; see alerting.md."},
			Variable{Name: "EXTERNAL_URL", decode: into(&c.Alerting.URL, parseExternalURL), Description: "URL of this exporter for links in notifications. Empty: \"http://\", the name of this machine and the port of AVAX_LISTEN."},
			Variable{Name: "PROMETHEUS_URL", decode: into(&c.Prometheus.URL, parsePrometheusURL), Description: "Address of the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. The web pages read alerts and history from this address. Needs AVAX_ALERTING=off."},
		),
		subject("Notifications",
			Variable{Name: "ALERTMANAGERS", decode: into(&c.Alerting.Alertmanagers, parseNames), Description: "Alertmanagers to notify, as URLs, comma-separated; see alerting.md."},
			Variable{Name: "NOTIFY_FILE", decode: text(&c.Notify.File), Description: "File with receivers and routes, in Alertmanager's format, for notifications without an Alertmanager; see notifications.md. Reloaded on SIGHUP."},
			Variable{Name: "HEARTBEAT_URL", decode: into(&c.HeartbeatURL, parseHeartbeat), Description: "URL of a dead man's switch, such as a check at healthchecks.io. The exporter requests this URL every minute while alerting works; see notifications.md."},
			Variable{Name: "DIGEST", Default: "off", decode: into(&c.digest, parseBool), Description: "Weekly digest of validators, L1 validators and versions: on or off. Needs a route in AVAX_NOTIFY_FILE or in Alertmanager; see notifications.md."},
		),
		subject("Shards, state and log",
			Variable{Name: "SHARD", Default: "0", decode: into(&c.Shard.Shard, parseWhole), Description: "Index of this shard: 0 for the first shard. Each shard is an exporter that monitors a part of the nodes; see fleets.md."},
			Variable{Name: "TOTAL_SHARDS", Default: "1", decode: into(&c.Shard.Of, parseCount), Description: "Number of shards."},
			Variable{Name: "STATE_DIR", decode: into(&c.StateDir, parseDir), Description: "Directory for state that survives a restart, such as the state of alerts and totals from the Data service. The directory must exist. Empty: a restart loses this state."},
			Variable{Name: "LOG_LEVEL", Default: "INFO", decode: into(&c.LogLevel, parseLevel), Description: "Log level: DEBUG, INFO, WARN or ERROR."},
			Variable{Name: "LOG_FORMAT", Default: "auto", decode: into(&c.LogFormat, parseLogFormat), Description: "Log format: text, json or auto (text on a terminal, json otherwise)."},
		),
	)
}

// into returns a decoder that sets a field to the result of parse. An empty value leaves the field at zero.
func into[T any](field *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		if value != "" {
			*field, err = parse(value)
		}
		return err
	}
}

func text(field *string) func(string) error {
	return func(value string) error { *field = value; return nil }
}

// Load parses the environment of the process. The error joins all problems, each with a remedy. It contains no secret.
func Load() (*Config, error) {
	env := processEnvironment()
	if _, listed := env["NODES"]; env["NODES_FILE"] != "" && !listed {
		env["NODES"] = ""
	}
	return env.Parse()
}

// LoadServing is Load for a command that calls no configured upstream. It ignores the settings of upstreams: addresses,
// credentials and state.
func LoadServing() (*Config, error) {
	env := processEnvironment()
	for _, name := range []string{"NODES", "NODES_FILE", "OBSERVERS", "HTTP_CONFIG_FILE", "DATA_API_KEY_FILE", "STATE_DIR"} {
		delete(env, name)
	}
	return env.Parse()
}

// LoadListen returns the listen address of an exporter in this environment. It ignores all other variables.
func LoadListen() (string, error) {
	c, err := Environment{"LISTEN": cmp.Or(os.Getenv(prefix+"LISTEN"), ":9865")}.Parse()
	if err != nil {
		return "", err
	}
	return c.Listen, nil
}

func processEnvironment() Environment {
	env := Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if name, ours := strings.CutPrefix(name, prefix); ours && !isServiceLink(name, value) {
			env[name] = value
		}
	}
	return env
}

// unknown returns an error for each unknown variable. Without this check, a misspelled variable would be ignored silently.
func (env Environment) unknown(variables []Variable) (problems []error) {
	var known []string
	for _, v := range variables {
		known = append(known, v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		remedy := "see avax-exporter help"
		switch near := spelling.Near(name, known); {
		case slices.Contains(known, name):
			continue
		case removed[name] != "":
			remedy = "removed: " + removed[name]
		case len(near) > 0:
			remedy = fmt.Sprintf("did you mean %s%s?", prefix, near[0])
		}
		problems = append(problems, fmt.Errorf("%s%s: unknown variable; %s", prefix, name, remedy))
	}
	return problems
}

// removed lists variables of earlier releases, and what to use instead.
var removed = map[string]string{
	"NODE_HOST": useHTTP, "NODE_HEADERS_FILE": useHTTP, "NODE_BEARER_FILE": useHTTP, "NODE_BASIC_AUTH_FILE": useHTTP,
	"NODE_CA_FILE": useHTTP, "NODE_CERT_FILE": useHTTP, "NODE_KEY_FILE": useHTTP, "DATA_API_KEY_HEADER": useHTTP,
	"PROMETHEUS_CONFIG_FILE": useHTTP, "ALERTMANAGER_CONFIG_FILE": useHTTP,
	"METRICS_ALLOW": "select series with metric_relabel_configs in Prometheus", "METRICS_DENY": "select series with metric_relabel_configs in Prometheus",
	"MAX_BODY":           "each method has a limit",
	"SERIES_LIMIT":       "a family has at most 100,000 series in one run",
	"RELOAD_ENDPOINT":    "POST /-/reload is open to authenticated and local clients",
	"NODE_NETWORK_ID":    "use AVAX_NETWORK",
	"NOTIFY_LISTEN":      gossip,
	"NOTIFY_PEERS":       gossip,
	"MAX_CONNECTIONS":    "the limit is fixed",
	"HISTORY":            "the exporter keeps a day, or less within 64 MB",
	"WEB_SYSTEMD_SOCKET": "a socket that systemd passes is always used",
	"ALERTING_JOB":       "set job in AVAX_EXTERNAL_LABELS",
	"ALERTING_INSTANCE":  "set instance in AVAX_EXTERNAL_LABELS",
}

const (
	useHTTP = "use AVAX_HTTP_CONFIG_FILE"
	gossip  = "run two exporters that notify two Alertmanagers"
)

// isServiceLink reports whether Kubernetes set this variable for a Service. The variables of a Service named avax-exporter have
// the prefix AVAX_ too.
func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)
