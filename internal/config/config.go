// Package config parses the environment, the file of nodes and the file of credentials into a typed value. It reports all
// problems at once, each with the name of its environment variable.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/web"
)

// Config is the parsed and validated environment.
type Config struct {
	Values

	TLS bool // whether the web configuration had TLS at the start
	// DefaultNode is true if no node is configured: the only node is at the default address.
	DefaultNode bool
	Source      Source
	Upstreams   Upstreams // as read from Source at the start
	OnlyData    bool      // no node and no observer is configured
	Watch       collectors.Watchlist

	Alerting alerting.Config
	Notify   notify.Config
	// Inbox receives the demo's notifications; nil outside the demo.
	Inbox *web.Inbox
	// Prometheus configures the Prometheus that evaluates the rules in place of this process. Without a URL there is none.
	Prometheus alerting.PrometheusConfig

	// Transport and Dial replace the network connections in tests.
	Transport http.RoundTripper
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
}

// Schedule returns the schedule of a collector's job for a target. onlyObservers means that the job calls only observers. Such a job
// runs at most once a minute, unless a schedule is configured.
func (c *Config) Schedule(spec *collectors.Spec, target metric.Target, onlyObservers bool) cron.Schedule {
	if timetable := c.Schedules[spec.Name]; timetable != nil {
		return timetable(target)
	}
	period := spec.Period(c.Watch.Validators)
	if onlyObservers {
		period = max(period, time.Minute)
	}
	return schedule.Every(period, target)
}

// InputError is a mistake in the command line or the configuration: exit code 2.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e InputError) Unwrap() error { return e.Err }

// Parse decodes and validates the environment.
func (env Environment) Parse() (*Config, error) {
	c := &Config{Values: Values{Collectors: defaultCollectors(), Schedules: Schedules{}}}
	problems := append(env.unknown(), env.decode(&c.Values)...)
	note := func(variable string, err error) {
		for _, err := range split(err) {
			problems = append(problems, fmt.Errorf("%s%s: %w", prefix, variable, err))
		}
	}
	if _, listed := env["NODES"]; !listed {
		if c.DefaultNode = c.NodesFile == ""; !c.DefaultNode {
			c.Nodes = nil
		}
	}
	c.Watch = collectors.Watchlist{
		Validators: c.Validators.Validators, Addresses: c.WatchAddresses.Primary, EVM: c.WatchAddresses.EVM, Delegators: c.WatchDelegators,
		Assets: c.WatchAssets, Contracts: c.WatchContracts, Tokens: c.WatchTokens, Signatures: c.WatchSignatures,
	}
	c.validateUpstreams(env, note)
	c.Source = Source{
		Nodes: c.Nodes, Observers: c.Observers, NodesFile: c.NodesFile, ValidatorsFile: c.ValidatorsFile,
		HTTPFile: c.HTTPConfigFile, KeyFile: c.DataAPIKeyFile, Reserved: c.reservedNames(),
	}
	var err error
	if c.Upstreams, err = c.Source.Read(); err != nil {
		problems = append(problems, split(err)...) // each names its variable
	}
	if c.WebConfigFile != "" {
		c.TLS, err = checkWebConfig(c.WebConfigFile)
		note("WEB_CONFIG_FILE", err)
	}
	c.validateAlerting(note)
	if len(problems) > 0 {
		return nil, InputError{errors.Join(problems...)}
	}
	return c, nil
}

// validateUpstreams checks what several variables about upstreams say together.
func (c *Config) validateUpstreams(env Environment, note func(string, error)) {
	switch {
	case env["NODES"] != "" || c.NodesFile != "" || len(c.Nodes) > 0: // the errors of AVAX_NODES are reported already
	case len(c.Observers) == 0 && c.DataURL != "":
		c.useOnlyData(note)
	case c.Watch.Validators.All || len(c.Watch.Validators.IDs) > 0:
	case len(c.Observers) == 0:
		note("NODES", errors.New("the list is empty: write name=url, such as local=http://127.0.0.1:9650"))
	default:
		note("VALIDATORS", errors.New("own means the validators of your nodes, but AVAX_NODES is empty: list node IDs, or write all"))
	}
	if c.TotalShards > 0 && int(c.Shard) >= int(c.TotalShards) {
		note("SHARD", fmt.Errorf("\"%d\": write a whole number from 0 to %d (AVAX_TOTAL_SHARDS minus 1)", c.Shard, c.TotalShards-1))
	}
	if c.TotalShards > 1 && c.Chains.Auto {
		note("CHAINS", errors.New("auto does not work with shards, because it finds only the chains of one shard: list the chains"))
	}
	if c.DataURL == "" {
		for _, variable := range []string{"WATCH_CONTRACTS", "WATCH_TOKENS", "WATCH_SIGNATURES", "DATA_API_KEY_FILE"} {
			if env[variable] != "" {
				note(variable, errors.New("needs the Data service: set AVAX_DATA_URL"))
			}
		}
	}
	if c.Watch.Tokens != nil && c.Watch.EVM == nil {
		note("WATCH_TOKENS", errors.New("no holder of a token is monitored: add the holders, such as 0x1f…, to AVAX_WATCH_ADDRESSES"))
	}
	for _, t := range c.Watch.Tokens { // with auto, the chain may be found later
		if !c.Chains.Auto && !slices.ContainsFunc(c.Chains.List, func(c nodes.Chain) bool { return c.Name == t.Chain }) {
			note("WATCH_TOKENS", fmt.Errorf("\"%s/%s/%s\": AVAX_CHAINS has no chain %q: add it there", t.Chain, t.Contract, t.ID, t.Chain))
		}
	}
}

// useOnlyData disables the collectors that need a node, because the Data service is the only upstream.
func (c *Config) useOnlyData(note func(string, error)) {
	c.OnlyData = true
	c.Collectors = slices.DeleteFunc(slices.Clone(c.Collectors), func(s *collectors.Spec) bool { return !s.WithoutNodes() })
	if c.Network.Name == "" {
		note("NETWORK", errors.New("no node reports the network: write mainnet or fuji, or set AVAX_NODES"))
	}
	if c.Watch.Validators.All {
		note("VALIDATORS", errors.New("all needs a node or an observer: list node IDs, or set AVAX_OBSERVERS"))
	}
	if c.Chains.Auto {
		note("CHAINS", errors.New("auto finds the chains of your nodes, but AVAX_NODES is empty: list the chains"))
	}
}

// reservedNames returns the names that no node may have, and what each name stands for. The label target must identify a node for
// alert rules, and the label upstream has the names of nodes and of services.
func (c *Config) reservedNames() map[string]string {
	reserved := map[string]string{}
	for name, what := range services {
		reserved[name] = what
	}
	ups := &collectors.Upstreams{Pool: nodes.NewPool(nil, c.Chains.List), Watch: c.Watch}
	if c.DataURL != "" {
		ups.Data = &collectors.DataService{Network: c.Network.Name}
	}
	for _, spec := range collectors.All() {
		for _, j := range spec.Bind(ups) {
			reserved[j.Target.Group().String()] = "a target of the collector " + spec.Name
		}
	}
	return reserved
}

// validateAlerting completes and checks the settings of rules and notifications.
func (c *Config) validateAlerting(note func(string, error)) {
	c.Alerting = alerting.Config{
		On: bool(c.EvaluateRules), RulesFile: c.RulesFile, Interval: time.Duration(c.AlertingInterval), Alertmanagers: c.Alertmanagers, HTTP: c.Upstreams.HTTP["alertmanager"],
		ExternalLabels: c.ExternalLabels, Job: cmp.Or(c.ExternalLabels["job"], "avax-exporter"), Instance: cmp.Or(c.ExternalLabels["instance"], instanceOf(string(c.Listen))),
	}
	a := &c.Alerting
	delete(a.ExternalLabels, "job")
	delete(a.ExternalLabels, "instance")
	a.URL = cmp.Or(string(c.ExternalURL), "http://"+a.Instance)
	var err error
	a.Rules, err = alerts.Profile(c.RulesProfile)
	note("RULES_PROFILE", err)
	if a.RulesFile != "" && c.RulesProfile != alerts.ProfileAll {
		note("RULES_PROFILE", errors.New("not used with AVAX_RULES_FILE: remove one of the two"))
	}
	switch {
	case bool(c.Digest) && a.RulesFile != "":
		note("DIGEST", errors.New("not used with AVAX_RULES_FILE: add the group of alerts/digest.yml to that file"))
	case bool(c.Digest) && err == nil:
		a.Rules, err = alerts.WithDigest(a.Rules)
		note("DIGEST", err)
	}
	switch {
	case len(c.AlertLabels) > 0 && a.RulesFile != "":
		note("ALERT_LABELS", errors.New("not used with AVAX_RULES_FILE: use a file of avax-exporter rules --labels"))
	case len(c.AlertLabels) > 0 && err == nil:
		a.Rules, err = alerts.WithLabels(a.Rules, c.AlertLabels)
		note("ALERT_LABELS", err)
	}
	c.Notify = notify.Config{File: c.NotifyFile, InhibitRules: alertmanager.Config, URL: a.URL}
	if c.StateDir != "" {
		c.Notify.StateDir = filepath.Join(string(c.StateDir), "notify")
	}
	c.Prometheus = alerting.PrometheusConfig{URL: string(c.PrometheusURL), HTTP: c.Upstreams.HTTP["prometheus"], Timeout: time.Duration(c.Timeout)}
	note("ALERTMANAGERS", alerting.CheckAlertmanagers(*a))
	if !a.On {
		const off = "not used with AVAX_ALERTING=off: remove one of the two"
		for variable, set := range map[string]bool{"ALERTMANAGERS": len(a.Alertmanagers) > 0 && c.Prometheus.URL == "", "RULES_FILE": a.RulesFile != "", "NOTIFY_FILE": c.Notify.File != ""} {
			if set {
				note(variable, errors.New(off))
			}
		}
		return
	}
	if c.Prometheus.URL != "" {
		note("PROMETHEUS_URL", errors.New("not used with AVAX_ALERTING=on: set AVAX_ALERTING=off, or remove AVAX_PROMETHEUS_URL"))
	}
	if a.RulesFile != "" { // do not parse the built-in rules: they are valid, and parsing them takes long
		_, err = alerting.CheckRules(*a)
		note("RULES_FILE", err)
	}
	if c.Notify.File != "" {
		note("NOTIFY_FILE", notify.Check(c.Notify))
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
