// Package alerting evaluates alert rules over the exporter's own metrics, answers
// PromQL over them, and notifies Alertmanager where there is one: with Prometheus'
// own scraper, head block, rule manager and notifier, so that a rules file means
// the same in both places.
//
// It is the only package that links Prometheus. Built with the tag noalerting
// it is a stub, and so is the program without it.
package alerting

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Config is what the operator decides.
type Config struct {
	// On: the rules are evaluated in this process.
	On bool
	// Rules are evaluated unless RulesFile names a file that takes their place.
	Rules     []byte
	RulesFile string
	// Alertmanagers are URLs. AlertmanagerFile is a file with the block alerting of
	// Prometheus' configuration: how they are asked, or more of them.
	Alertmanagers    []string
	AlertmanagerFile string
	ExternalLabels   map[string]string
	// Job and Instance are the labels that a Prometheus would give what it scrapes
	// here: alerts of both are then the same to Alertmanager.
	Job, Instance string
	// URL is where people reach this exporter: a page leads there.
	URL      string
	Interval time.Duration // between samples, and between evaluations
	// History is for how long samples are kept, MinHistory at least; 0: up to a day, as
	// long as they take less than 64 MB.
	History time.Duration
}

// MinHistory is for how long samples are kept at least: a rule may look back so far.
const MinHistory = 2 * time.Hour

// Notifies tells whether alerts are sent to an Alertmanager.
func (c Config) Notifies() bool { return len(c.Alertmanagers) > 0 || c.AlertmanagerFile != "" }

// Options is what alerting works with.
type Options struct {
	Config
	// Metrics serves /metrics, the page that is sampled.
	Metrics http.Handler
	// Ready tells whether what is absent from the page is absent from the upstreams.
	Ready      func() bool
	State      *state.Dir // keeps for how long alerts have been active; may be nil
	Registerer prometheus.Registerer
	Log        *slog.Logger

	// Notify takes firing and resolved alerts in this process, besides the
	// Alertmanagers; nil: nobody does.
	Notify func(context.Context, ...model.Alert) error

	// The delays are Prometheus' own, but for the tests.
	ResendDelay    time.Duration // 0: a minute
	ForGracePeriod time.Duration // 0: a minute
	Patience       time.Duration // with an exporter that does not become ready; 0: two minutes
	// Transport replaces the network to Alertmanager in tests.
	Transport http.RoundTripper
	// clockStep tells by how much the wall clock was set forward since a time; nil: the machine's.
	clockStep func(since time.Time) time.Duration
}

// Source answers what the pages ask: the rules with their active alerts, and
// PromQL over the samples that are kept.
type Source interface {
	// Groups returns the groups of rules, in the order of their file.
	Groups(ctx context.Context) ([]Group, error)
	// Query evaluates an expression at one time. A scalar result becomes a vector of
	// one sample without labels.
	Query(ctx context.Context, expr string, at time.Time) (model.Vector, error)
	// QueryRange evaluates an expression at start and every step until end.
	QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error)
}

var _ Source = (*Alerting)(nil)

// The names of the states in which an alert is told of.
const (
	Pending = "pending"
	Firing  = "firing"
)

// Group is a group of rules as Prometheus' /api/v1/rules tells of it.
type Group struct {
	Name, File string
	Interval   time.Duration
	Limit      int
	Took       time.Duration
	Evaluated  time.Time // zero before the first time
	Rules      []Rule
}

// Rule is an alerting rule, or a recording one: Alerting tells.
type Rule struct {
	Name, Query   string
	Alerting      bool
	State         string // of an alerting rule: inactive, Pending or Firing
	For           time.Duration
	KeepFiringFor time.Duration
	Labels        map[string]string
	Annotations   map[string]string
	Alerts        []Alert
	Health        string // ok, err or unknown
	LastError     string
	Took          time.Duration
	Evaluated     time.Time
}

// Alert is one active alert of a rule.
type Alert struct {
	Labels          map[string]string
	Annotations     map[string]string
	State           string
	ActiveAt        time.Time
	KeepFiringSince time.Time // zero: its cause still holds
	Value           float64
}

// Receiver is an Alertmanager.
type Receiver struct {
	Name string // host and port
	// Asked is false until there was something to send.
	Asked, Up bool
	Since     time.Time // when Up became what it is
	Err       string    // why it is not up
}

// RulesSummary tells what a rules file holds.
type RulesSummary struct {
	Name              string
	Alerts, Recording int
}
