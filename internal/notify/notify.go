// Package notify sends alerts to people: Alertmanager's own routing, grouping,
// inhibition, silences, notification log and receivers, in this process. It is
// configured by a file in Alertmanager's format.
//
// Built with the tag noalerting it is a stub.
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
)

// Config is what the operator decides.
type Config struct {
	// File is a configuration in Alertmanager's format; empty: nothing is sent.
	File string
	// Text is the configuration itself, instead of a file, in the demo.
	Text []byte
	// InhibitRules are those of a configuration that has none of its own: a
	// configuration in Alertmanager's format whose other parts do not count.
	InhibitRules []byte
	// StateDir holds silences and the notification log; empty: they are in memory,
	// and a restart forgets them.
	StateDir string
	// URL is where people reach this exporter: templates link there.
	URL string
	// Listen is the address of the gossip between replicas, and Peers are the
	// addresses of the others; Peers empty: there are none.
	Listen string
	Peers  []string
	// Dial connects to receivers over HTTP, in the demo and in tests; nil: as usual.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// On reports whether notifications are configured.
func (c Config) On() bool { return c.File != "" || c.Text != nil }

// Options is what a Notifier works with.
type Options struct {
	Config
	// Lock takes StateDir for this process; an error says that another process has it.
	// Nil: there is no other.
	Lock       func() error
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// How a notification ended, in the label outcome.
const (
	delivered = "delivered"
	failed    = "failed"
)

// Metrics are the families of notification.
type Metrics struct {
	mu      sync.Mutex
	failing map[string]bool // integrations in use, and whether their last notification failed

	sent     *prometheus.CounterVec
	up       *prometheus.GaugeVec
	reloaded prometheus.Gauge
	stored   prometheus.Gauge
}

// Declare registers every family of this package, for a page that lists them.
func Declare(r prometheus.Registerer) {
	r.MustRegister(newMetrics(r).stored)
	newHeartbeatCounter(r)
}

// newMetrics registers the families but for stored.
func newMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		failing: map[string]bool{},
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_receiver_notifications_total",
			Help: "Notifications sent by this process, by receiver of AVAX_NOTIFY_FILE, integration (such as telegram[0]) and outcome: delivered or failed. Each failed attempt counts.",
		}, []string{"receiver", "integration", "outcome"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_receiver_up",
			Help: "1 if the receiver accepted the last notification, 0 if not. Absent until there was one.",
		}, []string{"receiver", "integration"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_notify_last_reload_successful",
			Help: "1 if the last reload of AVAX_NOTIFY_FILE succeeded, 0 if it failed and the previous configuration is kept.",
		}),
		stored: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_notify_state_stored",
			Help: "1 if silences and the notification log are on disk. 0 if a restart would lose them, and repeat notifications. Absent without AVAX_STATE_DIR.",
		}),
	}
	r.MustRegister(m.sent, m.up, m.reloaded)
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
	if _, used := m.failing[name]; !used {
		return // until just now
	}
	m.failing[name] = err != nil
	m.sent.WithLabelValues(receiver, integration, outcome).Inc()
	m.up.WithLabelValues(receiver, integration).Set(up)
}

// keep knows the integrations with these names, and forgets all others.
func (m *Metrics) keep(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.failing {
		if !slices.Contains(names, name) {
			delete(m.failing, name)
			i := strings.LastIndexByte(name, '/')
			m.up.DeleteLabelValues(name[:i], name[i+1:])
		}
	}
	for _, name := range names {
		if _, known := m.failing[name]; !known {
			m.failing[name] = false
		}
	}
}

// rejecting lists the integrations whose last notification failed.
func (m *Metrics) rejecting() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, failing := range m.failing {
		if failing {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// gossipInterval and the others are Alertmanager's defaults.
const (
	gossipInterval   = 200 * time.Millisecond
	pushPullInterval = time.Minute
	peerTimeout      = 15 * time.Second
	retention        = 120 * time.Hour
	gcInterval       = 30 * time.Minute
)
