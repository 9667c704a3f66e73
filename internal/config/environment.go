package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kelseyhightower/envconfig"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

const prefix = "AVAX_"

// Environment holds the values of environment variables, by name without the prefix AVAX_.
type Environment map[string]string

// Values are the values of all environment variables. The name of a field is the name of its variable, as envconfig splits it into
// words. The type of a field decodes its value. The tags are the documentation: docs/configuration.md and the help are generated from
// them. With the tag empty, the empty value has a meaning of its own; otherwise it stands for the default.
type Values struct {
	Nodes          NodeList   `default:"local=http://127.0.0.1:9650" empty:"true" subject:"Nodes and chains" desc:"Nodes to monitor, as name=url, comma-separated. The name is the value of the label \"node\". The URL may contain a user and a password."`
	NodesFile      string     `split_words:"true" desc:"File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml); see fleets.md. Reloaded when it changes. Without AVAX_NODES, the exporter monitors only the nodes of this file."`
	Network        Network    `desc:"Network of the nodes and for requests to the Data service: mainnet, fuji or a number; see fleets.md. Empty: the network of most nodes."`
	Observers      NodeList   `desc:"Observers, as name=url, comma-separated: API endpoints to compare your nodes with; see observers.md."`
	ObserverBudget Count      `split_words:"true" default:"60" desc:"Maximum number of calls to one observer per minute."`
	Chains         Chains     `default:"C" empty:"true" desc:"Chains to monitor in addition to P and X, comma-separated. Each entry is an alias, name=alias or name=blockchainID. The name is the value of the label \"chain\". The entry \"auto\" adds all chains that the nodes track."`
	Validators     Validators `default:"own" desc:"Validators of the primary network to monitor: own (the configured nodes), all, or node IDs, comma-separated."`
	ValidatorsFile string     `split_words:"true" desc:"File with names, owners and other labels of validators, by node ID or validation ID; see fleets.md. Reloaded when it changes."`

	HTTPConfigFile string   `split_words:"true" subject:"Requests" desc:"File with credentials, headers, TLS settings and the Host header for nodes, services, Alertmanagers and Prometheus, in Prometheus' format http_config; see operating.md. This file and the files that it names are reloaded when they change. For Alertmanagers and Prometheus, a change of this file needs a restart."`
	Timeout        Duration `default:"10s" desc:"Timeout of one call to a node or service, as a duration."`
	Concurrency    Count    `default:"4" desc:"Maximum number of concurrent calls to one node or service."`

	Collectors Collectors `subject:"Collectors" desc:"Collectors to run, comma-separated; see metrics.md. To change the default list, write only the changes, such as \"+admin,-acps\". Empty: the default list."`
	Schedules  Schedules  `desc:"Schedules of collectors, as collector=expression, semicolon-separated, such as \"peers=@every 30s;acps=*/5 * * * *\". Expressions have cron's format."`

	WatchAddresses  Addresses  `split_words:"true" subject:"Addresses, assets and contracts" desc:"Addresses to monitor, comma-separated: P-avax1… (P-Chain), X-avax1… (X-Chain) or 0x1f… (EVM). The exporter monitors an EVM address on each EVM chain of AVAX_CHAINS."`
	WatchDelegators Delegators `split_words:"true" desc:"P-Chain addresses whose delegations to monitor, comma-separated, such as P-avax1…. A name may precede an address, such as treasury=P-avax1…. The exporter looks for delegations at the validators in AVAX_VALIDATORS. With AVAX_DATA_URL it finds all of them."`
	WatchAssets     Assets     `split_words:"true" desc:"X-Chain assets to monitor, as asset IDs, comma-separated."`
	WatchContracts  Contracts  `split_words:"true" desc:"EVM addresses that deploy contracts, comma-separated. The exporter counts the contracts of each address on each EVM chain of AVAX_CHAINS. Needs AVAX_DATA_URL."`
	WatchTokens     Tokens     `split_words:"true" desc:"NFTs to check for valid metadata, as chain/contract/id, comma-separated, such as C/0x1f…/7. Add the holder of each NFT to AVAX_WATCH_ADDRESSES. If an entry has the suffix \":reindex\", the exporter asks the Data service to index missing metadata; see data-service.md. Needs AVAX_DATA_URL."`
	WatchSignatures Probes     `split_words:"true" desc:"P- or X-Chain transactions that send messages to L1s, as name=txHash, comma-separated. The exporter checks whether the Data service can collect signatures for these messages; see data-service.md. The name is the value of the label \"probe\". Needs AVAX_DATA_URL."`

	DataURL        DataURL    `split_words:"true" subject:"Data and Metrics services" desc:"Address of the Data service, such as https://data-api.avax.network; see data-service.md. Empty: the Data service is not used."`
	DataAPIKeyFile string     `split_words:"true" desc:"File with the API key of the Data service. Reloaded when it changes. Empty: no key."`
	DataBudget     DataBudget `split_words:"true" default:"6000/m,1200000/d" desc:"Maximum number of compute units of the Data service to spend per minute (/m) and per day (/d). An omitted period has no limit. The default is the service's limit for clients without a key; see data-service.md."`
	MetricsURL     MetricsURL `split_words:"true" desc:"Address of the Metrics service, such as https://metrics.avax.network; see data-service.md. Empty: the Metrics service is not used."`
	Currency       Currency   `default:"usd" desc:"Currency of prices from the Data service: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."`

	Listen        Address `default:":9865" subject:"Web server" desc:"Address of /metrics and the status page, as host:port. If systemd passes a socket, the exporter uses that socket; see operating.md."`
	WebConfigFile string  `split_words:"true" desc:"File with TLS settings and passwords for AVAX_LISTEN, in the format of Prometheus' exporter-toolkit (web.config.file); see operating.md. Reloaded for every connection."`
	TrustLoopback Switch  `split_words:"true" default:"true" desc:"Whether clients on this machine may send queries, reload, and create and end silences without a password: true or false. Set false if a reverse proxy on this machine forwards requests without the header X-Forwarded-For."`
	PprofListen   Address `split_words:"true" desc:"Address of Go profiles (/debug/pprof/), as host:port, such as 127.0.0.1:6060. Clients are not authenticated. Empty: no profiles."`

	EvaluateRules    Switch         `envconfig:"ALERTING" default:"on" subject:"Alert rules" desc:"Whether the exporter evaluates the alert rules: on or off; see alerting.md."`
	RulesProfile     string         `split_words:"true" default:"all" desc:"Built-in alert rules to evaluate, by kind of operator: validator, l1, rpc, delegator or all; see alerting.md."`
	RulesFile        string         `split_words:"true" desc:"File with alert rules that replace the built-in rules, in Prometheus' format. Reloaded when it changes."`
	AlertingInterval Duration       `split_words:"true" default:"15s" desc:"Interval between evaluations of the alert rules, as a duration."`
	AlertLabels      AlertLabels    `split_words:"true" desc:"Labels of nodes and validators that each alert gets, comma-separated, such as owner,region; see fleets.md."`
	ExternalLabels   ExternalLabels `split_words:"true" desc:"Labels of every alert, as name=value, comma-separated. Set \"job\" and \"instance\" if a Prometheus scrapes this exporter under other names than avax-exporter and host:port; see alerting.md."`
	ExternalURL      ExternalURL    `split_words:"true" desc:"URL of this exporter for links in notifications. Empty: \"http://\", the name of this machine and the port of AVAX_LISTEN."`
	PrometheusURL    PrometheusURL  `split_words:"true" desc:"Address of the Prometheus, Mimir, Thanos or VictoriaMetrics that evaluates the rules, such as http://prometheus:9090. The web pages read alerts and history from this address. Needs AVAX_ALERTING=off."`

	Alertmanagers AlertmanagerURLs `subject:"Notifications" desc:"Alertmanagers to notify, as URLs, comma-separated; see alerting.md. The web pages read their inhibit rules. With AVAX_PROMETHEUS_URL, the Alertmanagers that this Prometheus notifies: the exporter itself sends nothing."`
	NotifyFile    string           `split_words:"true" desc:"File with receivers and routes, in Alertmanager's format, for notifications without an Alertmanager; see notifications.md. Reloaded when it changes."`
	HeartbeatURL  HeartbeatURL     `split_words:"true" desc:"URL of a dead man's switch, such as a check at healthchecks.io. The exporter requests this URL every minute while alerting works; see notifications.md."`
	Digest        Switch           `default:"off" desc:"Weekly digest of validators, L1 validators and versions: on or off. Needs a route in AVAX_NOTIFY_FILE or in Alertmanager; see notifications.md."`

	Shard       Index     `default:"0" subject:"Shards, state and log" desc:"Index of this shard: 0 for the first shard. Each shard is an exporter that monitors a part of the nodes; see fleets.md."`
	TotalShards Count     `split_words:"true" default:"1" desc:"Number of shards."`
	StateDir    Directory `split_words:"true" desc:"Directory for state that survives a restart: samples for rules and pages, the state of alerts, silences, and totals from the Data service. The directory must exist. Empty: a restart loses this state."`
	LogLevel    LogLevel  `split_words:"true" default:"INFO" desc:"Log level: DEBUG, INFO, WARN or ERROR."`
	LogFormat   LogFormat `split_words:"true" default:"auto" desc:"Log format: text, json or auto (text on a terminal, json otherwise)."`
}

// Variable is an environment variable.
type Variable struct {
	Name        string // without the prefix AVAX_
	Default     string
	Description string
	Subject     string // heading

	empty bool
}

// Variables lists every variable, grouped by subject.
var Variables = sync.OnceValue(func() (all []Variable) {
	var names strings.Builder
	if err := envconfig.Usagef(strings.TrimSuffix(prefix, "_"), new(Values), &names, "{{range .}}{{usage_key .}} {{end}}"); err != nil {
		panic(err) // only an invalid template or structure
	}
	subject := ""
	for i, name := range strings.Fields(names.String()) {
		tag := reflect.TypeFor[Values]().Field(i).Tag
		subject = cmp.Or(tag.Get("subject"), subject)
		all = append(all, Variable{strings.TrimPrefix(name, prefix), tag.Get("default"), tag.Get("desc"), subject, tag.Get("empty") != ""})
	}
	return all
})

// decode returns the values of the variables, and an error for each invalid one. A variable without value and default has the zero
// value.
func (env Environment) decode(v *Values) (problems []error) {
	fields := reflect.ValueOf(v).Elem()
	for i, variable := range Variables() {
		value, set := env[variable.Name]
		if value == "" && !(set && variable.empty) {
			value = variable.Default
		}
		if value == "" {
			continue
		}
		if quote := value[0]; len(value) > 1 && (quote == '"' || quote == '\'') && value[len(value)-1] == quote {
			problems = append(problems, fmt.Errorf("%s%s: the value is in quotation marks: remove them: a file for docker --env-file has none", prefix, variable.Name))
			continue
		}
		var err error
		switch field := fields.Field(i).Addr().Interface().(type) {
		case *string:
			*field = value
		case envconfig.Decoder:
			err = field.Decode(value)
		}
		for _, err := range split(err) {
			problems = append(problems, fmt.Errorf("%s%s: %w", prefix, variable.Name, err))
		}
	}
	return problems
}

// variable returns the name of the variable of a field, which is given by its address.
func (v *Values) variable(field any) string {
	fields := reflect.ValueOf(v).Elem()
	for i, variable := range Variables() {
		if fields.Field(i).Addr().Interface() == field {
			return prefix + variable.Name
		}
	}
	panic(fmt.Sprintf("config: %T is no field of Values", field))
}

// Load parses the environment of the process. The error joins all problems, each with a remedy. It contains no secret.
func Load() (*Config, error) { return processEnvironment().Parse() }

// LoadServing is Load for a command that calls no configured upstream. It ignores the settings of upstreams: addresses,
// credentials and state.
func LoadServing() (*Config, error) {
	env := processEnvironment()
	var v Values
	for _, field := range []any{&v.Nodes, &v.NodesFile, &v.ValidatorsFile, &v.Observers, &v.HTTPConfigFile, &v.DataAPIKeyFile, &v.StateDir} {
		delete(env, strings.TrimPrefix(v.variable(field), prefix))
	}
	return env.Parse()
}

// LoadOnly is Load for a command that needs one variable, named without the prefix. All others have their defaults.
func LoadOnly(name string) (*Config, error) {
	return Environment{name: os.Getenv(prefix + name)}.Parse()
}

// processEnvironment returns the variables of this process with the prefix, including unknown ones.
func processEnvironment() Environment {
	env := Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if own, ours := strings.CutPrefix(name, prefix); ours && !isServiceLink(name, value) {
			env[own] = value
		}
	}
	return env
}

// unknown returns an error for each unknown variable. Without this check, a misspelled variable would be ignored silently.
func (env Environment) unknown() (problems []error) {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		remedy := "see avax-exporter help"
		switch near := spelling.Near(name, known); {
		case slices.Contains(known, name):
			continue
		case len(near) > 0:
			remedy = fmt.Sprintf("did you mean %s%s?", prefix, near[0])
		}
		problems = append(problems, fmt.Errorf("%s%s: unknown variable; %s", prefix, name, remedy))
	}
	return problems
}

// isServiceLink reports whether Kubernetes set this variable for a Service. The variables of Services such as avax and avax-exporter have
// the prefix AVAX_ too.
func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)
