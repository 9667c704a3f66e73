// Package config parses the environment, the file of nodes and the file of credentials into a typed value. It reports all
// problems at once, each with the name of its environment variable.
package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	httpconfig "github.com/prometheus/common/config"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
)

// Config is the parsed and validated environment.
type Config struct {
	Values

	TLS bool // whether the web configuration had TLS at the start
	// DefaultNode is true if no node is configured: the only node is at the default address.
	DefaultNode bool
	Upstreams   Upstreams // as read at the start
	OnlyData    bool      // no node and no observer is configured
	Ignored     []string  // variables that LoadServing ignored

	Alerting alerting.Config
	Notify   notify.Config
	// Prometheus configures the Prometheus that evaluates the rules in place of this process. Without a URL there is none.
	Prometheus alerting.PrometheusConfig

	// Transport and Dial replace the network connections in tests.
	Transport http.RoundTripper
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)

	sums map[string][sha256.Size]byte // of the files of the last ReadUpstreams
	tls  map[httpconfig.TLSConfig]*tls.Config

	listed nodesURL // if AVAX_NODES_FILE is a URL
}

// Schedule returns the schedule of a collector's job for a target. onlyObservers means that the job calls only observers. Such a job
// runs at most once a minute, unless a schedule is configured.
func (c *Config) Schedule(spec *collector.Spec, target metric.Target, onlyObservers bool) cron.Schedule {
	if timetable := c.Schedules[spec.Name]; timetable != nil {
		return timetable(target)
	}
	period := spec.Period(c.Upstreams.Watch.Validators)
	if onlyObservers {
		period = max(period, time.Minute)
	}
	return schedule.Every(period, target)
}

// InputError is a mistake in the command line or the configuration: exit code 2.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }

func (e InputError) Unwrap() error { return e.Err }

// ErrNoData is the error of a command that needs the Data service, if none is configured.
var ErrNoData error = InputError{errors.New("no Data service configured: set AVAX_DATA_URL")}

// Parse decodes and validates the environment.
func (env Environment) Parse() (*Config, error) {
	env = env.trimmed()
	c := &checked{checks: checks{Config: &Config{Values: Values{Collectors: defaultCollectors(), Schedules: Schedules{}}}}, env: env}
	c.problems = append(env.unknown(), env.decode(&c.Values)...)
	if _, listed := env["NODES"]; !listed {
		if c.DefaultNode = c.NodesFile == ""; !c.DefaultNode {
			c.Nodes = nil
		}
	}
	c.validateUpstreams()
	var err error
	if c.Upstreams, err = c.ReadUpstreams(); err != nil {
		c.problems = append(c.problems, split(err)...) // each names its variable
	}
	if c.WebConfigFile != "" {
		c.TLS, err = checkWebConfig(c.WebConfigFile)
		c.note(&c.WebConfigFile, err)
	}
	c.validateAlerting()
	if len(c.problems) > 0 {
		return nil, InputError{errors.Join(c.problems...)}
	}
	return c.Config, nil
}

// checks is a configuration with what is wrong in it.
type checks struct {
	*Config
	problems []error
}

// note adds an error, which may be nil or joined, about the variable of a field of Values.
func (c *checks) note(field any, err error) {
	for _, err := range split(err) {
		c.problems = append(c.problems, fmt.Errorf("%s: %w", c.variable(field), err))
	}
}

// noteAt is note for an error in a file. The error may begin with a line.
func (c *checks) noteAt(field any, place string, err error) {
	for _, err := range split(err) {
		separator := ": "
		if strings.HasPrefix(err.Error(), "line ") {
			separator = ", "
		}
		c.note(field, fmt.Errorf("%s%s%w", place, separator, err))
	}
}

// checked is a configuration while its values are checked together.
type checked struct {
	checks
	env Environment
}

// invalid reports whether there is an error about the variable of a field of Values.
func (c *checked) invalid(field any) bool {
	return slices.ContainsFunc(c.problems, func(err error) bool { return strings.HasPrefix(err.Error(), c.variable(field)+":") })
}

// unused notes an error about each variable that is set.
func (c *checked) unused(err error, fields ...any) {
	for _, field := range fields {
		if c.env[strings.TrimPrefix(c.variable(field), prefix)] != "" {
			c.note(field, err)
		}
	}
}

// validateUpstreams checks what several variables about upstreams say together.
func (c *checked) validateUpstreams() {
	if _, set := c.env["CHAINS"]; !set && (c.TotalShards > 1 || len(c.Nodes) == 0 && c.NodesFile == "") {
		c.Chains.Auto = false // then the default is C
	}
	switch {
	case c.env["NODES"] != "" || c.NodesFile != "" || len(c.Nodes) > 0: // the errors of AVAX_NODES are reported already
	case len(c.Observers) == 0 && c.DataURL != "":
		c.useOnlyData()
	case c.Validators.All || len(c.Validators.IDs) > 0:
	case len(c.Observers) == 0:
		c.note(&c.Nodes, errors.New("the list is empty: write name=url, such as local=http://127.0.0.1:9650"))
	default:
		c.note(&c.Validators, errors.New("own means the validators of your nodes, but AVAX_NODES is empty: list node IDs, or write all"))
	}
	if c.TotalShards > 0 && int(c.Shard) >= int(c.TotalShards) {
		c.note(&c.Shard, fmt.Errorf("\"%d\": write a whole number from 0 to %d (AVAX_TOTAL_SHARDS minus 1)", c.Shard, c.TotalShards-1))
	}
	if c.TotalShards > 1 && c.Chains.Auto {
		c.note(&c.Chains, errors.New("auto does not work with shards, because it finds only the chains of one shard: list the chains"))
	}
	if c.DataURL == "" {
		c.unused(errors.New("needs the Data service: set AVAX_DATA_URL"), &c.WatchContracts, &c.WatchTokens, &c.WatchSignatures, &c.DataAPIKeyFile)
	}
}

// useOnlyData disables the collectors that need a node, because the Data service is the only upstream.
func (c *checked) useOnlyData() {
	c.OnlyData = true
	c.Collectors = slices.DeleteFunc(slices.Clone(c.Collectors), func(s *collector.Spec) bool { return !s.WithoutNodes() })
	if c.Network.Name == "" {
		c.note(&c.Network, errors.New("no node reports the network: write mainnet or fuji, or set AVAX_NODES"))
	}
	if c.Validators.All {
		c.note(&c.Validators, errors.New("all needs a node or an observer: list node IDs, or set AVAX_OBSERVERS"))
	}
	if c.Chains.Auto {
		c.note(&c.Chains, errors.New("auto finds the chains of your nodes, but AVAX_NODES is empty: list the chains"))
	}
}

// reservedNames returns the names that no node may have, and what each name stands for. The label target must identify a node for
// alert rules, and the label upstream has the names of nodes and of services.
func (c *Config) reservedNames(watch collector.Watchlist) map[string]string {
	reserved := map[string]string{}
	for name, what := range services {
		reserved[name] = what
	}
	ups := &collector.Upstreams{Pool: nodes.NewPool(nil, c.Chains.List), Watch: watch}
	if c.DataURL != "" {
		ups.Data = collector.NewDataService(nil, c.Network.Name, "")
	}
	for _, spec := range collectors.All() {
		for _, j := range spec.Bind(ups) {
			reserved[j.Target.Group().String()] = "a target of the collector " + spec.Name
		}
	}
	return reserved
}

// maxAlertingInterval is the maximum of AVAX_ALERTING_INTERVAL. A scrape has this interval too, and a rule that is evaluated just before the
// next scrape still needs a sample if one scrape fails.
const maxAlertingInterval = 2 * time.Minute

// validateAlerting completes and checks the settings of rules and notifications.
func (c *checked) validateAlerting() {
	c.Alerting = alerting.Config{
		On: bool(c.EvaluateRules), RulesFile: c.RulesFile, Interval: time.Duration(c.AlertingInterval), Alertmanagers: c.Alertmanagers,
		HTTP:           c.Upstreams.HTTP["alertmanager"],
		ExternalLabels: c.ExternalLabels, Job: cmp.Or(c.ExternalLabels["job"], "avax-exporter"),
		Instance: cmp.Or(c.ExternalLabels["instance"], instanceOf(string(c.Listen))),
	}
	a := &c.Alerting
	delete(a.ExternalLabels, "job")
	delete(a.ExternalLabels, "instance")
	a.URL = cmp.Or(string(c.ExternalURL), "http://"+a.Instance)
	if _, err := url.Parse(a.URL); err != nil {
		c.note(&c.ExternalLabels, fmt.Errorf("instance=%q is no host and port for links in notifications: set AVAX_EXTERNAL_URL too", a.Instance))
	}
	a.Rules = alerts.Rules
	if a.RulesFile != "" && alerting.Replaces(a.RulesFile) {
		if c.Digest {
			c.note(&c.Digest, errors.New("not used with AVAX_RULES_FILE: add the group of alerts/digest.yml to that file"))
		}
		if len(c.AlertLabels) > 0 {
			c.note(&c.AlertLabels, errors.New("not used with AVAX_RULES_FILE: use a file of avax-exporter rules --labels"))
		}
	} else if bool(c.Digest) || len(c.AlertLabels) > 0 {
		var err error
		a.Rules, err = alerts.With(alerts.Options{Labels: c.AlertLabels, Digest: bool(c.Digest)})
		c.note(&c.AlertLabels, err)
	}
	c.Notify = notify.Config{
		File: c.NotifyFile, InhibitRules: alertmanager.Config, Templates: alertmanager.Templates, URL: a.URL, ExternalLabels: a.ExternalLabels,
	}
	if c.StateDir != "" {
		c.Notify.StateDir = filepath.Join(string(c.StateDir), "notify")
	}
	c.Prometheus = alerting.PrometheusConfig{URL: string(c.PrometheusURL), HTTP: c.Upstreams.HTTP["prometheus"], Timeout: time.Duration(c.Timeout)}
	if c.invalid(&c.EvaluateRules) {
		return // what depends on it is not known
	}
	if !a.On {
		off := errors.New("not used with AVAX_ALERTING=off: remove one of the two")
		c.unused(off, &c.RulesFile, &c.NotifyFile)
		if c.Digest {
			c.note(&c.Digest, off)
		}
		if c.Prometheus.URL == "" {
			c.unused(off, &c.Alertmanagers)
		}
		return
	}
	if c.Prometheus.URL != "" && !c.invalid(&c.PrometheusURL) {
		c.note(&c.PrometheusURL, errors.New("not used with AVAX_ALERTING=on: set AVAX_ALERTING=off, or remove AVAX_PROMETHEUS_URL"))
	}
	if a.Interval > maxAlertingInterval {
		c.note(&c.AlertingInterval, fmt.Errorf("%q: write at most %s: rules see a sample for %s", a.Interval, maxAlertingInterval, alerting.Lookback))
	}
	if a.RulesFile != "" { // else do not parse the built-in rules: they are valid, and parsing them takes long
		_, err := alerting.CheckRules(*a)
		c.note(&c.RulesFile, err)
	}
	if c.Notify.File != "" {
		c.note(&c.NotifyFile, notify.Check(c.Notify))
	}
}

// instanceOf returns the likely label instance of this exporter in a Prometheus: the host name and the port.
func instanceOf(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), port)
}

// split returns the parts of a joined error.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, err := range joined.Unwrap() {
			all = append(all, split(err)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// fields yields the trimmed, non-empty items of a list. A line end also separates items, as in a block of YAML.
func fields(s, sep string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(sep+"\n", r) }) {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}
