// Package alerting stores samples of the exporter's own metrics, evaluates alert rules and PromQL queries over them, and
// notifies Alertmanagers. It uses Prometheus' scraper, head block, rule manager and notifier, so a rules file has the same
// meaning here as in a Prometheus.
package alerting

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Config is the operator's configuration.
type Config struct {
	// On enables the evaluation of rules in this process.
	On bool
	// Rules are the built-in rules in YAML. If the file RulesFile has alerts, it replaces them; else its rules are added.
	Rules     []byte
	RulesFile string
	// Alertmanagers are the URLs of Alertmanagers. HTTP is the configuration of requests to them; nil: the default.
	Alertmanagers  []string
	HTTP           *httpconfig.HTTPClientConfig
	ExternalLabels map[string]string
	// Job and Instance are the labels job and instance of all stored samples. If a Prometheus scrapes this exporter and sets
	// the same labels, Alertmanager deduplicates the alerts of this process and of the Prometheus.
	Job, Instance string
	// URL is the base URL of this exporter for links in notifications.
	URL      string
	Interval time.Duration // between samples, and between evaluations
}

// minHistory is the minimum time for which samples are kept. A rule may always use samples up to this age.
const minHistory = 2 * time.Hour

// Lookback is how long a sample is valid if no newer sample follows. Prometheus has the same default.
const Lookback = 5 * time.Minute

// Notifies reports whether alerts are sent to an Alertmanager.
func (c Config) Notifies() bool { return len(c.Alertmanagers) > 0 }

// Options are the inputs of alerting.
type Options struct {
	Config
	// Metrics serves /metrics, which the engine scrapes.
	Metrics http.Handler
	// Ready reports whether /metrics is complete: every collector has run, since a time after an interruption. The evaluation of rules
	// starts when Ready returns true, or after Patience.
	Ready      func(since time.Time) bool
	State      *state.Dir // stores the samples for a restart; may be nil
	Registerer prometheus.Registerer
	Log        *slog.Logger

	// Notifier notifies receivers of the same alerts as the Alertmanagers. It may be nil.
	Notifier Notifier

	// Inhibitors returns, for each alert, the index of the alert that inhibits it at the Alertmanagers, or -1. It may be nil.
	Inhibitors func(alerts []map[string]string) []int

	// Explain explains an alert at a time: its state in one sentence, and the values from which it is computed. Nil: nothing keeps what decided an alert.
	Explain func(ctx context.Context, source Source, labels map[string]string, at time.Time) (state, why string, err error)

	ResendDelay time.Duration // after which a firing alert is sent again; 0: a minute
	Patience    time.Duration // maximum wait for Ready; 0: two minutes
	// Transport sends the requests to the Alertmanagers. If nil, they carry the credentials in HTTP.
	Transport http.RoundTripper
	// clockStep returns how far the wall clock was set forward since a time. If nil, the package's clockStep is
	// used. Tests replace it.
	clockStep func(since time.Time) time.Duration
}

// Notifier notifies receivers of alerts.
type Notifier interface {
	// Put accepts firing and resolved alerts. It logs the error that it returns.
	Put(ctx context.Context, alerts ...model.Alert) error
	// Begin is called when Put has accepted the alerts that continue after a restart. Nothing is sent before. Further calls do nothing.
	Begin()
	// Owes reports whether a receiver waits for the resolved notification about an alert.
	Owes(labels model.LabelSet) bool
}

// Source answers the queries of the status pages: rules with their active alerts, and PromQL over stored samples.
type Source interface {
	// Groups returns the groups of rules, in the order of their file.
	Groups(ctx context.Context) ([]Group, error)
	// Query evaluates an expression at one time.
	Query(ctx context.Context, expr string, at time.Time) (model.Value, error)
	// QueryRange evaluates an expression at start and every step until end.
	QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error)
}

var _ Source = (*Alerting)(nil)

// The states of an active alert.
const (
	Pending = "pending"
	Firing  = "firing"
)

// Group is a group of rules, as in Prometheus' /api/v1/rules.
type Group struct {
	Name      string    `json:"name"`
	File      string    `json:"file"`
	Interval  Seconds   `json:"interval"`
	Limit     int       `json:"limit"`
	Took      Seconds   `json:"evaluationTime"`
	Evaluated time.Time `json:"lastEvaluation"` // zero before the first evaluation
	Rules     []Rule    `json:"rules"`
}

// Rule is an alerting rule or a recording rule.
type Rule struct {
	Name          string            `json:"name"`
	Query         string            `json:"query"`
	Type          string            `json:"type"`           // AlertingRule or RecordingRule
	State         string            `json:"state,omitzero"` // of an alerting rule: inactive, Pending or Firing
	For           Seconds           `json:"duration"`
	KeepFiringFor Seconds           `json:"keepFiringFor"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	Alerts        []Alert           `json:"alerts"`
	Health        string            `json:"health"` // ok, err or unknown
	LastError     string            `json:"lastError,omitzero"`
	Took          Seconds           `json:"evaluationTime"`
	Evaluated     time.Time         `json:"lastEvaluation"`
}

// Seconds is a duration as Prometheus' API writes it.
type Seconds float64

// Duration returns the duration.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// The types of rules.
const (
	AlertingRule  = "alerting"
	RecordingRule = "recording"
)

// Alert is one active alert of a rule.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
	// KeepFiringSince is the time at which the expression stopped returning the alert. Zero: it still returns the alert.
	KeepFiringSince time.Time         `json:"keepFiringSince,omitzero"`
	Value           model.SampleValue `json:"value"`
	// HeldSince is since when the expression has not returned the alert, which fired before an interruption and therefore was held. Zero: it returns it.
	HeldSince time.Time `json:"-"`
}

// Receiver is an Alertmanager.
type Receiver struct {
	Name string // host and port
	// Notified is false before the first notification. Up is true if the Alertmanager accepted the last notification.
	Notified, Up bool
	Since        time.Time // time of the last change of Up
	Err          string    // why Up is false
}

// RulesSummary describes the contents of a rules file.
type RulesSummary struct {
	Name              string
	Alerts, Recording int
}
