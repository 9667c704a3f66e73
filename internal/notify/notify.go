// Package notify sends alerts to receivers. It runs Alertmanager's routing, grouping, inhibition, silences, notification log
// and receivers in this process. A file in Alertmanager's format configures it.
package notify

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Config is the configuration of notifications.
type Config struct {
	// File is a configuration in Alertmanager's format; empty: nothing is sent.
	File string
	// Text is the configuration itself instead of a file, for the demo.
	Text []byte
	// InhibitRules is a configuration in Alertmanager's format. Its inhibit rules are used if the configuration itself has none.
	InhibitRules []byte
	// Templates are texts of notifications in Alertmanager's format. They replace Alertmanager's default texts.
	Templates []byte
	// StateDir is the directory for silences and the notification log. Empty: they are only in memory, and a restart loses them.
	StateDir string
	// URL is the base URL of this exporter for links in notifications.
	URL string
	// ExternalLabels are labels of every alert. A link to a silence does not have them.
	ExternalLabels map[string]string
	// Dial opens the connections to receivers, in the demo and in tests. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// On reports whether notifications are configured.
func (c Config) On() bool { return c.File != "" || c.Text != nil }

// Options are the dependencies of a Notifier.
type Options struct {
	Config
	// State reads and locks StateDir. It may be nil without StateDir.
	State      *state.Dir
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Held says that nothing is sent before Notifier.Begin is called.
	Held bool
}

// Outcomes of a notification, values of the label outcome.
const (
	delivered = "delivered"
	failed    = "failed"
)

// Metrics holds the metric families about notifications.
type Metrics struct {
	mu           sync.Mutex
	integrations map[string]lastNotification // in use, as receiver/kind

	sent   *prometheus.CounterVec
	up     *prometheus.GaugeVec
	stored prometheus.Gauge
}

// lastNotification is the outcome of the last notification of an integration.
type lastNotification struct {
	patience time.Duration // how long a failure counts without a further attempt
	failing  time.Time     // until when it counts; zero: the last notification did not fail
}

// Declare registers every family of this package, for the documentation.
func Declare(r prometheus.Registerer) {
	r.MustRegister(newMetrics(r).stored)
	newHeartbeatCounter(r)
}

// newMetrics registers the families except stored.
func newMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		integrations: map[string]lastNotification{},
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_receiver_notifications_total",
			Help: "Notifications sent by this process, by receiver of AVAX_NOTIFY_FILE, integration (such as telegram[0]) and outcome: " +
				"delivered or failed. Each failed attempt counts.",
		}, []string{"receiver", "integration", "outcome"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_receiver_up",
			Help: "1 if the receiver accepted the last notification, 0 if not. " +
				"Absent before the first notification, and after a failure when no alert waits to be sent again.",
		}, []string{"receiver", "integration"}),
		stored: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_notify_state_stored",
			Help: "1 if silences and the notification log are on disk, 0 if not: a restart would lose silences and repeat notifications. Absent without AVAX_STATE_DIR.",
		}),
	}
	r.MustRegister(m.sent, m.up)
	return m
}

// observe records the outcome of one attempt.
func (m *Metrics) observe(receiver, integration string, err error) {
	outcome, up := delivered, 1.0
	if err != nil {
		outcome, up = failed, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := receiver + "/" + integration
	i, used := m.integrations[name]
	if !used {
		return // a reload removed the integration
	}
	i.failing = time.Time{}
	if err != nil {
		i.failing = time.Now().Add(i.patience)
		time.AfterFunc(i.patience, func() { m.forget(receiver, integration) })
	}
	m.integrations[name] = i
	m.sent.WithLabelValues(receiver, integration, outcome).Inc()
	m.up.WithLabelValues(receiver, integration).Set(up)
}

// forget ends a failure without a further attempt: its alerts have ended or are muted, and nothing is known about the receiver.
func (m *Metrics) forget(receiver, integration string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := receiver + "/" + integration
	i := m.integrations[name]
	if i.failing.IsZero() || time.Now().Before(i.failing) {
		return
	}
	i.failing = time.Time{}
	m.integrations[name] = i
	m.up.DeleteLabelValues(receiver, integration)
}

// keep deletes the series of all integrations except those with these names. Its values are how long a failure of each counts without a
// further attempt.
func (m *Metrics) keep(used map[string]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.integrations {
		if _, kept := used[name]; !kept {
			delete(m.integrations, name)
			i := strings.LastIndexByte(name, '/')
			m.up.DeleteLabelValues(name[:i], name[i+1:])
		}
	}
	for name, patience := range used {
		i := m.integrations[name]
		i.patience = patience
		m.integrations[name] = i
	}
}

// rejecting returns the integrations whose last notification failed, and is tried again.
func (m *Metrics) rejecting() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, i := range m.integrations {
		if !i.failing.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// How long the notification log is kept, and the time between removals of old entries: Alertmanager's defaults. Silences that have ended count
// against limits, and are kept for a shorter time: a rolling upgrade may silence each node.
const (
	retention        = 120 * time.Hour
	silenceRetention = time.Hour
	gcInterval       = 30 * time.Minute
	saveAgain        = 30 * time.Second // after a failure
)
