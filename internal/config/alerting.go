package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// parseAlerting parses the settings of alerting in this process: whether it is enabled, the rules, and the Alertmanagers.
func (env Environment) parseAlerting(c *Config, note func(variable string, errs ...error)) {
	a := &c.Alerting
	*a = alerting.Config{
		RulesFile:     env.RulesFile,
		Alertmanagers: slices.Collect(fields(env.Alertmanagers, ",")), AlertmanagerFile: env.AlertmanagerConfigFile,
		Job: env.AlertingJob, Instance: cmp.Or(env.AlertingInstance, instanceOf(c.Listen)),
	}
	a.URL = strings.TrimSuffix(cmp.Or(env.ExternalURL, "http://"+a.Instance), "/")
	var err error
	var errs []error
	profile := cmp.Or(env.RulesProfile, alerts.ProfileAll)
	a.Rules, err = alerts.Profile(profile)
	note("RULES_PROFILE", err)
	if env.RulesFile != "" && profile != alerts.ProfileAll && err == nil {
		note("RULES_PROFILE", errors.New("not used with AVAX_RULES_FILE: remove one of the two"))
	}
	switch {
	case env.Digest == "off":
	case env.Digest != "on":
		note("DIGEST", fmt.Errorf("%q: write on or off", env.Digest))
	case env.RulesFile != "":
		note("DIGEST", errors.New("not used with AVAX_RULES_FILE: add the group of alerts/digest.yml to that file"))
	case err == nil:
		a.Rules, err = alerts.WithDigest(a.Rules)
		note("DIGEST", err)
	}
	a.Interval, err = parsePositiveDuration(env.AlertingInterval)
	note("ALERTING_INTERVAL", err)
	a.History, err = parseHistory(env.History)
	note("HISTORY", err)
	a.ExternalLabels, errs = parseLabels(env.ExternalLabels)
	note("EXTERNAL_LABELS", errs...)
	if u, err := url.Parse(a.URL); env.ExternalURL != "" && (err != nil || u.Host == "" || u.User != nil || u.RawQuery != "") {
		note("EXTERNAL_URL", errors.New("URL missing: write one like https://exporter.example:9865, without user and password"))
	}
	if a.Job == "" {
		note("ALERTING_JOB", errors.New("empty: write the job label that a Prometheus sets when it scrapes this exporter"))
	}
	a.On, err = parseOn(env.Alerting)
	note("ALERTING", err)
	if !a.On {
		for _, v := range []struct{ name, value string }{
			{"ALERTMANAGERS", env.Alertmanagers}, {"ALERTMANAGER_CONFIG_FILE", env.AlertmanagerConfigFile}, {"RULES_FILE", env.RulesFile},
		} {
			if v.value != "" && err == nil {
				note(v.name, errors.New("not used with AVAX_ALERTING=off: remove one of the two"))
			}
		}
		return
	}
	urls, file := alerting.CheckAlertmanagers(*a)
	note("ALERTMANAGERS", urls)
	note("ALERTMANAGER_CONFIG_FILE", file)
	if a.RulesFile != "" { // do not parse the built-in rules: they are valid, and parsing them takes long
		_, err = alerting.CheckRules(*a)
		note("RULES_FILE", err)
	}
}

// parsePrometheus parses the settings of the Prometheus that evaluates the rules in place of this process.
func (env Environment) parsePrometheus(c *Config, note func(variable string, errs ...error)) {
	c.Prometheus = alerting.PrometheusConfig{URL: env.PrometheusURL, HTTPFile: env.PrometheusConfigFile, Timeout: c.Timeout}
	switch u, err := url.Parse(env.PrometheusURL); {
	case env.PrometheusURL == "" && env.PrometheusConfigFile != "":
		note("PROMETHEUS_CONFIG_FILE", errors.New("not used without AVAX_PROMETHEUS_URL: remove AVAX_PROMETHEUS_CONFIG_FILE, or set AVAX_PROMETHEUS_URL"))
	case env.PrometheusURL == "":
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		note("PROMETHEUS_URL", errors.New("invalid URL: write one like http://127.0.0.1:9090, without /api/v1"))
	case u.User != nil:
		note("PROMETHEUS_URL", errors.New("the URL contains a user or password: use basic_auth in the file of AVAX_PROMETHEUS_CONFIG_FILE instead"))
	case c.Alerting.On:
		note("PROMETHEUS_URL", errors.New("not used with AVAX_ALERTING=on: set AVAX_ALERTING=off, or remove AVAX_PROMETHEUS_URL"))
	default:
		_, err := alerting.NewPrometheus(c.Prometheus, nil)
		note("PROMETHEUS_CONFIG_FILE", err)
	}
}

// parseHistory parses how long samples are kept. It returns 0 for auto.
func parseHistory(s string) (time.Duration, error) {
	if s == "auto" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < alerting.MinHistory {
		return 0, fmt.Errorf("%q: write auto, or a duration of 2h or more, such as 24h", s)
	}
	return d, nil
}

// parseOn parses whether this process evaluates rules.
func parseOn(s string) (bool, error) {
	switch s {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("%q: write on or off", s)
}

// instanceOf returns the likely label instance of this exporter in a Prometheus: the host name and the port.
func instanceOf(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), port)
}

var labelForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func parseLabels(s string) (map[string]string, []error) {
	labels := map[string]string{}
	var errs []error
	for item := range fields(s, ",") {
		name, value, ok := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		_, twice := labels[name]
		switch {
		case !ok || !labelForm.MatchString(name) || value == "":
			errs = append(errs, fmt.Errorf("%q: write name=value, such as cluster=fuji; the name consists of letters, digits and underscores", item))
		case strings.HasPrefix(name, "__") || name == "alertname":
			errs = append(errs, fmt.Errorf("%q: Prometheus uses this label itself: choose another name", name))
		case twice:
			errs = append(errs, fmt.Errorf("duplicate %q: remove one", name))
		}
		labels[name] = value
	}
	return labels, errs
}
