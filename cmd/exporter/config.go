package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// environment is every variable that the exporter reads, as it was written.
// The tags are the documentation: docs/configuration.md is made from them.
type environment struct {
	Listen                 string `split_words:"true" name:"LISTEN" default:":9865" desc:"Address of /metrics and the status page, as host:port."`
	Nodes                  string `split_words:"true" name:"NODES" default:"local=http://127.0.0.1:9650" desc:"Nodes to ask, as name=url, comma-separated. The name is the label node. User and password in the URL are sent as basic authentication."`
	NodesFile              string `split_words:"true" name:"NODES_FILE" desc:"File with more nodes, in Prometheus' file_sd format (.json, .yml or .yaml), read again when it changes; see fleets.md. Where it is set and AVAX_NODES is not, only its nodes are asked."`
	Chains                 string `split_words:"true" name:"CHAINS" default:"C" desc:"Chains to follow beside P and X, comma-separated: an alias, or name=blockchainID (or name=alias). The name is the label chain. auto finds those that the nodes track."`
	Validators             string `split_words:"true" name:"VALIDATORS" default:"own" desc:"Primary-network validators with series of their own: own (those of the nodes above), all, or node IDs, comma-separated."`
	Collectors             string `split_words:"true" name:"COLLECTORS" desc:"Collectors to run: a comma-separated list, or changes to the defaults as +name and -name."`
	Schedules              string `split_words:"true" name:"SCHEDULES" desc:"Other periods, as collector=expression, semicolon-separated. The expression is cron's, such as @every 30s or */5 * * * *."`
	Timeout                string `split_words:"true" name:"TIMEOUT" default:"10s" desc:"How long one call to an upstream may take."`
	Concurrency            string `split_words:"true" name:"CONCURRENCY" default:"4" desc:"Calls at once to one upstream. Whether a node answers at all is asked beside them."`
	MaxBody                string `split_words:"true" name:"MAX_BODY" default:"64MiB" desc:"The largest answer that is read, as bytes, KiB, MiB or GiB."`
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
	Network                string `split_words:"true" name:"NETWORK" default:"mainnet" desc:"Network that the Data service is asked about: mainnet, fuji or testnet."`
	Currency               string `split_words:"true" name:"CURRENCY" default:"usd" desc:"Currency in which the Data service tells what something is worth: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy or nzd."`
	MetricsAllow           string `split_words:"true" name:"METRICS_ALLOW" desc:"Families that are served, comma-separated, with * for any text, such as avax_node_*; after one, {label=value} means only the series with that value, such as avax_node_peers*{node=alpha}. Empty: all. The exporter's own (avax_exporter_…, go_…, process_…) always are. What is not served, the status page does not know either, but for the validators and balances of an L1."`
	MetricsDeny            string `split_words:"true" name:"METRICS_DENY" desc:"Families or series that are not served although they are allowed, written as in AVAX_METRICS_ALLOW. With {label} alone, the label is left out: of series that are then the same, the first is served."`
	SeriesLimit            string `split_words:"true" name:"SERIES_LIMIT" default:"1000000" desc:"Series that one collector may serve, over all its targets. A run that finds more fails, and its largest families are left out until the rest fits: aggregates stay. 0: any number."`
	StateDir               string `split_words:"true" name:"STATE_DIR" desc:"Directory, which must be there, for what is added up over time, so that it is not asked for again after a restart (see data-service.md), and for how long alerts have been active. Empty: both begin anew."`
	Alertmanagers          string `split_words:"true" name:"ALERTMANAGERS" desc:"Alertmanagers to page, as URLs, comma-separated: the exporter then evaluates the alert rules itself, without a Prometheus; see alerting.md."`
	AlertmanagerConfigFile string `split_words:"true" name:"ALERTMANAGER_CONFIG_FILE" desc:"File with the block alerting of Prometheus' configuration: TLS, credentials and relabelling for the Alertmanagers, or more of them."`
	RulesFile              string `split_words:"true" name:"RULES_FILE" desc:"File with the alert rules to evaluate in place of the built-in ones, in Prometheus' format; read anew on SIGHUP."`
	ExternalLabels         string `split_words:"true" name:"EXTERNAL_LABELS" desc:"Labels added to every alert, comma-separated, as name=value."`
	ExternalURL            string `split_words:"true" name:"EXTERNAL_URL" desc:"Where people reach this exporter: the link in a page leads there. Empty: http:// and AVAX_ALERTING_INSTANCE."`
	AlertingJob            string `split_words:"true" name:"ALERTING_JOB" default:"avax-exporter" desc:"Label job of alerts: that under which a Prometheus scrapes this exporter."`
	AlertingInstance       string `split_words:"true" name:"ALERTING_INSTANCE" desc:"Label instance of alerts: the target as a Prometheus names it. Empty: this machine's name with the port of AVAX_LISTEN."`
	AlertingInterval       string `split_words:"true" name:"ALERTING_INTERVAL" default:"15s" desc:"How often alert rules are evaluated, and the metrics sampled for it."`
	LogLevel               string `split_words:"true" name:"LOG_LEVEL" default:"INFO" desc:"DEBUG, INFO, WARN or ERROR."`
	LogFormat              string `split_words:"true" name:"LOG_FORMAT" default:"auto" desc:"text, json, or auto: text on a terminal, JSON otherwise."`
}

const prefix = "AVAX"

// variable is one field of environment.
type variable struct{ Name, Default, Description string }

func variables() []variable {
	var all []variable
	for f := range reflect.TypeFor[environment]().Fields() {
		all = append(all, variable{prefix + "_" + f.Tag.Get("name"), f.Tag.Get("default"), f.Tag.Get("desc")})
	}
	return all
}

// config is the environment, read and found good.
type config struct {
	listen      string
	fleet       *fleet.Source
	nodes       []fleet.Node // as the fleet was read at the start
	part        fleet.Part
	networkID   uint64 // 0: that of most nodes
	reloadable  bool   // over HTTP
	metricsURL  string
	dataURL     string
	key         keyFile // for the Data service
	perMinute   int     // compute units there; 0: any number
	perDay      int
	network     string
	currency    string
	chains      []collectors.Chain
	autoChains  bool
	validators  collectors.Validators
	addresses   []string // of the P- or X-Chain
	evm         []string // addresses of EVM chains
	assets      []string
	contracts   []string
	tokens      []collectors.Token
	probes      []collectors.Probe
	stateDir    string
	state       *state.Dir // what is remembered there; nil before build, and where nothing is
	specs       []*collectors.Spec
	choice      *metric.Choice // nil: all series
	seriesLimit int            // 0: none
	schedules   map[string]schedule.Pace
	timeout     time.Duration
	concurrency int
	maxBody     int64
	alerting    alerting.Config
	rules       alerting.RulesSummary // that alerting evaluates; empty where it is off
	logLevel    slog.Level
	logFormat   string

	webConfig     string // file
	tls           bool   // as webConfig was read at the start
	systemdSocket bool
	pprof         string // address

	// transport replaces the network in tests.
	transport http.RoundTripper
}

// load reads the environment for a command. Its error joins every problem there
// is, each in words that say what to write instead; none of them prints a secret.
func load(command string) (*config, error) {
	var env environment
	if err := envconfig.Process(prefix, &env); err != nil {
		return nil, err
	}
	if env.NodesFile != "" && os.Getenv(prefix+"_NODES") == "" {
		env.Nodes = ""
	}
	if command == "healthcheck" || command == "explain" || command == "demo" {
		// They ask no configured node. A running exporter stays healthy
		// although its files have become bad.
		env.Nodes, env.NodesFile = defaults().Nodes, ""
		env.NodeHeadersFile, env.NodeBearerFile, env.NodeBasicAuthFile = "", "", ""
		env.NodeCAFile, env.NodeCertFile, env.NodeKeyFile = "", "", ""
		env.DataAPIKeyFile, env.StateDir = "", ""
	}
	if command == "healthcheck" {
		env.Alertmanagers, env.AlertmanagerConfigFile, env.RulesFile = "", "", ""
		env.WebConfigFile = ""
	}
	return env.parse()
}

// defaults is the environment of an operator who sets nothing.
func defaults() environment {
	var env environment
	v := reflect.ValueOf(&env).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(v.Type().Field(i).Tag.Get("default"))
	}
	return env
}

func (env environment) parse() (*config, error) {
	c := &config{}
	problems := unknownVariables(os.Environ())
	note := func(variable string, errs ...error) {
		for _, err := range errs {
			if err != nil {
				problems = append(problems, fmt.Errorf("%s_%s: %w", prefix, variable, err))
			}
		}
	}
	var errs []error
	var err error

	c.listen, err = parseListen(env.Listen)
	note("LISTEN", err)
	c.fleet = &fleet.Source{File: env.NodesFile, Access: fleet.Access{
		Host: env.NodeHost, HeadersFile: env.NodeHeadersFile, BearerFile: env.NodeBearerFile, BasicAuthFile: env.NodeBasicAuthFile,
		CAFile: env.NodeCAFile, CertFile: env.NodeCertFile, KeyFile: env.NodeKeyFile,
	}}
	if env.Nodes != "" || env.NodesFile == "" {
		c.fleet.Nodes, errs = parseNodes(env.Nodes)
		note("NODES", errs...)
	}
	c.chains, c.autoChains, errs = parseChains(env.Chains)
	note("CHAINS", errs...)
	c.validators, errs = parseWatch(env.Validators)
	note("VALIDATORS", errs...)
	c.specs, errs = selectCollectors(collectors.All(), env.Collectors)
	note("COLLECTORS", errs...)
	env.parseServed(c, note)
	c.schedules, errs = parseSchedules(env.Schedules)
	note("SCHEDULES", errs...)
	c.timeout, err = parsePositiveDuration(env.Timeout)
	note("TIMEOUT", err)
	c.concurrency, err = parseCount(env.Concurrency)
	note("CONCURRENCY", err)
	c.maxBody, err = parseBytes(env.MaxBody)
	note("MAX_BODY", err)
	c.networkID, err = parseNetworkID(env.NodeNetworkID)
	note("NODE_NETWORK_ID", err)
	env.parseWatched(c, note)
	c.fleet.Reserved = c.toldOf()
	if c.nodes, err = c.fleet.Read(); err != nil {
		problems = append(problems, err) // names its variables
	}
	c.part.Of, err = parseCount(env.TotalShards)
	note("TOTAL_SHARDS", err)
	c.part.Shard, err = strconv.Atoi(env.Shard)
	if err != nil || c.part.Shard < 0 || c.part.Of > 0 && c.part.Shard >= c.part.Of {
		note("SHARD", fmt.Errorf("%q: write a whole number from 0 to %d: one less than AVAX_TOTAL_SHARDS at most", env.Shard, max(0, c.part.Of-1)))
	}
	if c.part.Of > 1 && c.autoChains {
		note("CHAINS", errors.New("auto finds what the nodes of one shard track, and shard 0 tells of the chains for all: list the chains"))
	}
	c.reloadable, err = parseBool(env.ReloadEndpoint)
	note("RELOAD_ENDPOINT", err)
	if env.WebConfigFile != "" {
		c.webConfig = env.WebConfigFile
		c.tls, err = checkWebConfig(env.WebConfigFile)
		note("WEB_CONFIG_FILE", err)
	}
	c.systemdSocket, err = parseBool(env.WebSystemdSocket)
	note("WEB_SYSTEMD_SOCKET", err)
	if env.PprofListen != "" {
		c.pprof, err = parseListen(env.PprofListen)
		note("PPROF_LISTEN", err)
	}
	if env.MetricsURL != "" {
		c.metricsURL = env.MetricsURL
		note("METRICS_URL", scrape.CheckURL(env.MetricsURL))
	}
	env.parseData(c, note)
	env.parseAlerting(c, note)
	if err := c.logLevel.UnmarshalText([]byte(env.LogLevel)); err != nil {
		note("LOG_LEVEL", fmt.Errorf("%q: write DEBUG, INFO, WARN or ERROR", env.LogLevel))
	}
	c.logFormat = env.LogFormat
	if !slices.Contains([]string{"auto", "text", "json"}, env.LogFormat) {
		note("LOG_FORMAT", fmt.Errorf("%q: write auto, text or json", env.LogFormat))
	}
	return c, errors.Join(problems...)
}

// parseServed reads which series are served.
func (env environment) parseServed(c *config, note func(string, ...error)) {
	var err error
	if c.seriesLimit, err = strconv.Atoi(env.SeriesLimit); err != nil || c.seriesLimit < 0 {
		note("SERIES_LIMIT", fmt.Errorf("%q: write a whole number, or 0 for no limit", env.SeriesLimit))
	}
	if env.MetricsAllow == "" && env.MetricsDeny == "" {
		return
	}
	var known []*metric.Family
	for _, spec := range collectors.All() {
		known = append(known, spec.Families...)
	}
	c.choice = &metric.Choice{}
	note("METRICS_ALLOW", c.choice.ParseAllow(env.MetricsAllow, known)...)
	note("METRICS_DENY", c.choice.ParseDeny(env.MetricsDeny, known)...)
}

// unknownVariables reports each AVAX_ variable that nobody reads: a misspelt
// name must not pass for a default.
func unknownVariables(environ []string) []error {
	var known []string
	for _, v := range variables() {
		known = append(known, strings.TrimPrefix(v.Name, prefix+"_"))
	}
	var errs []error
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		short, ours := strings.CutPrefix(name, prefix+"_")
		if !ours || slices.Contains(known, short) || ofKubernetes(name, value) {
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

// ofKubernetes tells whether this is one of the variables that Kubernetes sets
// for every Service: those of avax-exporter begin as ours do.
func ofKubernetes(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)

func parseListen(s string) (string, error) {
	s = strings.TrimSpace(s)
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("%q: write host:port, or :port for every address, such as :9865", s)
	}
	return s, nil
}

func parseNodes(s string) ([]fleet.Node, []error) {
	var nodes []fleet.Node
	var errs []error
	seen := map[string]bool{}
	number := 0
	for item := range fields(s, ",") {
		number++
		n, u, ok := strings.Cut(item, "=")
		n, u = strings.TrimSpace(n), strings.TrimSpace(u)
		switch {
		case !ok || !fleet.ValidName(n):
			// Nothing of it is printed: it may be the half of a password.
			errs = append(errs, fmt.Errorf("entry %d of the list: write name=url, such as local=http://127.0.0.1:9650, the name of letters, digits, dots, dashes and underscores; "+
				"a comma in a password is written %%2C", number))
		case seen[n]:
			errs = append(errs, fmt.Errorf("%q names two nodes: give each a name of its own", n))
		default:
			nodes = append(nodes, fleet.Node{Name: n, URL: u})
		}
		seen[n] = true
	}
	if len(nodes) == 0 && errs == nil {
		errs = append(errs, errors.New("no node: write name=url, such as local=http://127.0.0.1:9650"))
	}
	return nodes, errs
}

// toldOf names what beside nodes stands in the labels target and upstream.
func (c *config) toldOf() []string {
	names := []string{"network", "metrics", "data", "P", "X", "C"}
	for _, chain := range c.chains {
		names = append(names, chain.Name)
	}
	for _, p := range c.probes {
		names = append(names, p.Name)
	}
	return slices.Concat(names, c.validators.IDs, c.addresses, c.evm, c.assets, c.contracts)
}

func parseChains(s string) (chains []collectors.Chain, auto bool, errs []error) {
	seen := map[string]bool{}
	for item := range fields(s, ",") {
		if item == "auto" {
			auto = true
			continue
		}
		n, ref, ok := strings.Cut(item, "=")
		if !ok {
			ref = n
		}
		switch {
		case !fleet.ValidName(n) || !fleet.ValidName(ref):
			errs = append(errs, fmt.Errorf("%q: write an alias such as C, or name=blockchainID", item))
		case ref == "P" || ref == "X" || n == "P" || n == "X":
			errs = append(errs, fmt.Errorf("%q: P and X are always followed, and no other chain has their names", item))
		case n == "network":
			errs = append(errs, fmt.Errorf("%q: network is what is told of all chains: give the chain another name", item))
		case slices.ContainsFunc(chains, func(c collectors.Chain) bool { return c.Ref == ref }):
			errs = append(errs, fmt.Errorf("%q stands there twice", ref))
		case seen[n]:
			errs = append(errs, fmt.Errorf("%q names two chains: give each a name of its own", n))
		default:
			chains = append(chains, collectors.Chain{Name: n, Ref: ref})
		}
		seen[n] = true
	}
	if s != "" && !auto && len(chains) == 0 && errs == nil {
		errs = append(errs, errors.New("no chain in the list: write an alias such as C, or leave it empty to follow P and X alone"))
	}
	if auto && !slices.ContainsFunc(chains, func(c collectors.Chain) bool { return c.Ref == "C" || c.Name == "C" }) {
		chains = append(chains, collectors.Chain{Name: "C", Ref: "C"}) // every node of the primary network runs it
	}
	return chains, auto, errs
}

var nodeIDForm = regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{20,40}$`)

func parseWatch(s string) (collectors.Validators, []error) {
	switch s {
	case "own":
		return collectors.Validators{}, nil
	case "all":
		return collectors.Validators{All: true}, nil
	}
	var w collectors.Validators
	var errs []error
	for id := range fields(s, ",") {
		switch {
		case !nodeIDForm.MatchString(id):
			errs = append(errs, fmt.Errorf("%q: write own, all, or node IDs: NodeID- and about 33 letters and digits", id))
		case slices.Contains(w.IDs, id):
			errs = append(errs, fmt.Errorf("%s stands there twice", id))
		}
		w.IDs = append(w.IDs, id)
	}
	if len(w.IDs) == 0 {
		errs = append(errs, errors.New("empty: write own, all, or node IDs"))
	}
	return w, errs
}

func selectCollectors(all []*collectors.Spec, s string) ([]*collectors.Spec, []error) {
	byName := map[string]*collectors.Spec{}
	var names []string
	for _, spec := range all {
		byName[spec.Name] = spec
		names = append(names, spec.Name)
	}
	chosen := map[string]bool{}
	changes, list := 0, 0
	var errs []error
	for item := range fields(s, ",") {
		n := strings.TrimLeft(item, "+-")
		if byName[n] == nil {
			meant := ":"
			if near := spelling.Near(n, names); len(near) > 0 {
				meant = "; did you mean " + near[0] + "?"
			}
			errs = append(errs, fmt.Errorf("there is no collector %q%s docs/metrics.md lists them", n, meant))
		}
		if n == item {
			list++
		} else {
			changes++
		}
		chosen[n] = item[0] != '-'
	}
	if list > 0 && changes > 0 {
		errs = append(errs, errors.New("write either a full list, or changes to the defaults with + and -"))
	}
	var specs []*collectors.Spec
	for _, spec := range all {
		on, named := chosen[spec.Name]
		if !named {
			on = list == 0 && !spec.Off
		}
		if on {
			specs = append(specs, spec)
		}
	}
	return specs, errs
}

func parseSchedules(s string) (map[string]schedule.Pace, []error) {
	schedules := map[string]schedule.Pace{}
	var errs []error
	for item := range fields(s, ";") {
		collector, expression, ok := strings.Cut(item, "=")
		collector = strings.TrimSpace(collector)
		if !ok {
			errs = append(errs, fmt.Errorf("%q: write collector=expression, such as peers=@every 1m", item))
			continue
		}
		if !slices.ContainsFunc(collectors.All(), func(s *collectors.Spec) bool { return s.Name == collector }) {
			errs = append(errs, fmt.Errorf("there is no collector %q", collector))
		}
		if _, twice := schedules[collector]; twice {
			errs = append(errs, fmt.Errorf("%s has two schedules", collector))
		}
		when, err := schedule.Parse(strings.TrimSpace(expression))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", collector, err))
		}
		schedules[collector] = when
	}
	return schedules, errs
}

func parsePositiveDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: write a duration above zero with its unit, such as 10s or 1m30s", s)
	}
	return d, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: write a whole number of at least 1", s)
	}
	return n, nil
}

func parseBytes(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGTiB")
	unit, known := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !known || n < 1 {
		return 0, fmt.Errorf("%q: write a number of bytes with or without KiB, MiB or GiB, such as 64MiB", s)
	}
	return n * unit, nil
}

func parseNetworkID(s string) (uint64, error) {
	switch s {
	case "":
		return 0, nil
	case "mainnet":
		return 1, nil
	case "fuji":
		return 5, nil
	}
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%q: write mainnet, fuji or the network's number", s)
	}
	return id, nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q: write true or false", s)
}

// fields yields the trimmed, non-empty items of a list.
func fields(s, sep string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(s, sep) {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}
