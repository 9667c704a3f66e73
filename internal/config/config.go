// Package config parses the environment into a typed value. It reports all problems at once, each with
// the name of its environment variable.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Config is the parsed and validated environment.
type Config struct {
	Listen        string // host:port
	WebConfigFile string
	TLS           bool // whether the web configuration had TLS at the start
	SystemdSocket bool
	PprofListen   string // empty: profiling is disabled
	TrustLoopback bool   // whether clients on this machine have access without a password

	Fleet *fleet.Source
	Nodes []fleet.Node // including observers, as read from Fleet at the start
	Shard fleet.Part
	// ObserverBudget is the maximum number of calls to one observer within any minute.
	ObserverBudget int
	NetworkID      uint64 // expected network of the nodes; 0: the network of most nodes

	Chains     []nodes.Chain
	AutoChains bool // whether to also monitor the chains that the nodes track

	Collectors []*collectors.Spec
	Schedules  map[string]schedule.Timetable // by collector; only for collectors with a configured schedule

	Timeout        time.Duration // of one call
	Concurrency    int           // concurrent calls to one upstream
	MaxConnections int           // maximum number of open client connections

	MetricsURL    string // empty: the Metrics service is not used
	DataURL       string // empty: the Data service is not used
	DataKey       KeyFile
	DataPerMinute int // compute units; 0: no limit
	DataPerDay    int
	Network       string // name in the Data service
	Currency      string

	Watch collectors.Watchlist

	StateDir string // empty: state only in memory
	Alerting alerting.Config
	Notify   notify.Config
	// HeartbeatURL is a secret; empty: no heartbeat.
	HeartbeatURL string
	// Inbox receives the demo's notifications; nil outside the demo.
	Inbox *web.Inbox
	// Prometheus configures the Prometheus that evaluates the rules in place of this process. Without a URL there is none.
	Prometheus alerting.PrometheusConfig

	LogLevel  slog.Level
	LogFormat string // text, json or auto

	// Transport replaces the network connections in tests.
	Transport http.RoundTripper
}

// Schedule returns the schedule of a collector's job for a target. gentle means that the job calls only observers. Such a job
// runs at most once a minute, unless a schedule is configured.
func (c *Config) Schedule(spec *collectors.Spec, target metric.Target, gentle bool) cron.Schedule {
	if timetable := c.Schedules[spec.Name]; timetable != nil {
		return timetable(target)
	}
	period := spec.Period(c.Watch.Validators)
	if gentle {
		period = max(period, time.Minute)
	}
	return schedule.Every(period, target)
}

// InputError is a mistake in the command line or the configuration: exit code 2.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e InputError) Unwrap() error { return e.Err }

// Load parses the environment. The error joins all problems, each with a remedy. It contains no secret.
func Load() (*Config, error) { return load(func(*Environment) {}) }

// LoadServing is Load for a command that calls no configured upstream. It ignores mistakes in the settings of upstreams:
// addresses, credentials and state.
func LoadServing() (*Config, error) { return load(withoutUpstreams) }

// LoadAddress is Load for a command that needs only the listen address.
func LoadAddress() (*Config, error) {
	return load(func(env *Environment) {
		withoutUpstreams(env)
		env.Alertmanagers, env.AlertmanagerConfigFile, env.RulesFile = "", "", ""
		env.NotifyFile, env.HeartbeatURL = "", ""
		env.PrometheusURL, env.PrometheusConfigFile = "", ""
		env.WebConfigFile = ""
	})
}

func load(change func(*Environment)) (*Config, error) {
	var env Environment
	if err := envconfig.Process(prefix, &env); err != nil {
		return nil, InputError{err}
	}
	if env.NodesFile != "" && os.Getenv(prefix+"_NODES") == "" {
		env.Nodes = ""
	}
	change(&env)
	return env.Parse()
}

func withoutUpstreams(env *Environment) {
	env.Nodes, env.NodesFile, env.Observers = Defaults().Nodes, "", ""
	env.NodeHeadersFile, env.NodeBearerFile, env.NodeBasicAuthFile = "", "", ""
	env.NodeCAFile, env.NodeCertFile, env.NodeKeyFile = "", "", ""
	env.DataAPIKeyFile, env.StateDir = "", ""
}

// Parse validates the environment. It also returns an error for each unknown variable of the process with the prefix AVAX_.
func (env Environment) Parse() (*Config, error) {
	c := &Config{}
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

	c.Listen, err = parseListen(env.Listen)
	note("LISTEN", err)
	c.Fleet = &fleet.Source{File: env.NodesFile, Name: nodeVariable, Access: fleet.Access{
		Host: env.NodeHost, HeadersFile: env.NodeHeadersFile, BearerFile: env.NodeBearerFile, BasicAuthFile: env.NodeBasicAuthFile,
		CAFile: env.NodeCAFile, CertFile: env.NodeCertFile, KeyFile: env.NodeKeyFile,
	}}
	if env.Nodes != "" || env.NodesFile+env.Observers == "" {
		c.Fleet.Nodes, errs = parseNodes(env.Nodes)
		note("NODES", errs...)
	}
	if env.Observers != "" {
		observers, errs := parseNodes(env.Observers)
		note("OBSERVERS", errs...)
		for _, o := range observers {
			o.Observer = true
			c.Fleet.Nodes = append(c.Fleet.Nodes, o)
		}
	}
	c.ObserverBudget, err = parseCount(env.ObserverBudget)
	note("OBSERVER_BUDGET", err)
	c.Chains, c.AutoChains, errs = parseChains(env.Chains)
	note("CHAINS", errs...)
	c.Watch.Validators, errs = parseWatch(env.Validators)
	note("VALIDATORS", errs...)
	if env.Nodes+env.NodesFile == "" && !c.Watch.Validators.All && len(c.Watch.Validators.IDs) == 0 {
		note("VALIDATORS", errors.New("own means the validators of your nodes, but AVAX_NODES is empty: list node IDs, or write all"))
	}
	c.Collectors, errs = selectCollectors(collectors.All(), env.Collectors)
	note("COLLECTORS", errs...)
	c.Schedules, errs = parseSchedules(env.Schedules)
	note("SCHEDULES", errs...)
	c.Timeout, err = parsePositiveDuration(env.Timeout)
	note("TIMEOUT", err)
	c.MaxConnections, err = parseCount(env.MaxConnections)
	note("MAX_CONNECTIONS", err)
	c.Concurrency, err = parseCount(env.Concurrency)
	note("CONCURRENCY", err)
	c.NetworkID, err = parseNetworkID(env.NodeNetworkID)
	note("NODE_NETWORK_ID", err)
	env.parseMonitored(c, note)
	c.Fleet.Reserved = c.reservedNames(env)
	if c.Nodes, err = c.Fleet.Read(); err != nil {
		problems = append(problems, err) // the error names its variables
	}
	c.Shard.Of, err = parseCount(env.TotalShards)
	note("TOTAL_SHARDS", err)
	c.Shard.Shard, err = strconv.Atoi(env.Shard)
	if err != nil || c.Shard.Shard < 0 || c.Shard.Of > 0 && c.Shard.Shard >= c.Shard.Of {
		note("SHARD", fmt.Errorf("%q: write a whole number from 0 to %d (AVAX_TOTAL_SHARDS minus 1)", env.Shard, max(0, c.Shard.Of-1)))
	}
	if c.Shard.Of > 1 && c.AutoChains {
		note("CHAINS", errors.New("auto does not work with shards, because it finds only the chains of one shard: list the chains"))
	}
	c.TrustLoopback, err = parseBool(env.TrustLoopback)
	note("TRUST_LOOPBACK", err)
	if env.WebConfigFile != "" {
		c.WebConfigFile = env.WebConfigFile
		c.TLS, err = checkWebConfig(env.WebConfigFile)
		note("WEB_CONFIG_FILE", err)
	}
	c.SystemdSocket, err = parseBool(env.WebSystemdSocket)
	note("WEB_SYSTEMD_SOCKET", err)
	if env.PprofListen != "" {
		c.PprofListen, err = parseListen(env.PprofListen)
		note("PPROF_LISTEN", err)
	}
	if env.MetricsURL != "" {
		c.MetricsURL = env.MetricsURL
		note("METRICS_URL", scrape.CheckURL(env.MetricsURL))
	}
	env.parseData(c, note)
	env.parseAlerting(c, note)
	env.parseNotify(c, note)
	env.parsePrometheus(c, note)
	if err := c.LogLevel.UnmarshalText([]byte(env.LogLevel)); err != nil {
		note("LOG_LEVEL", fmt.Errorf("%q: write DEBUG, INFO, WARN or ERROR", env.LogLevel))
	}
	c.LogFormat = env.LogFormat
	if !slices.Contains([]string{"auto", "text", "json"}, env.LogFormat) {
		note("LOG_FORMAT", fmt.Errorf("%q: write auto, text or json", env.LogFormat))
	}
	if len(problems) > 0 {
		return nil, InputError{errors.Join(problems...)}
	}
	return c, nil
}

// nodeVariable returns the environment variable for a setting of package fleet.
func nodeVariable(setting string) string {
	if strings.HasPrefix(setting, "nodes") || setting == "observers" {
		return prefix + "_" + strings.ToUpper(setting)
	}
	return prefix + "_NODE_" + strings.ToUpper(setting)
}
