package alerting

import "github.com/prometheus/client_golang/prometheus"

// How a notification ended.
const (
	delivered = "delivered"
	failed    = "failed"
	missed    = "missed"
)

// Metrics are the families that tell how alerting fares.
type Metrics struct {
	alerts        *prometheus.GaugeVec
	notifications *prometheus.CounterVec
	up            *prometheus.GaugeVec
	reloaded      prometheus.Gauge
	failing       prometheus.Gauge
	history       prometheus.Gauge
	series        prometheus.Gauge
	remembered    prometheus.Gauge
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		alerts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts",
			Help: "Active alerts of in-process alerting, by state: pending (its time is not over) or firing.",
		}, []string{"state"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_notifications_total",
			Help: "Alerts told to an Alertmanager, reminders and resolutions included, by outcome: delivered, failed, or missed (it came and went while no Alertmanager took it, so nobody was paged).",
		}, []string{"outcome"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alertmanager_up",
			Help: "1 if the Alertmanager took what it was last sent, 0 if not; absent until there was something to send.",
		}, []string{"alertmanager"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_rules_last_reload_successful",
			Help: "1 if the alert rules are those that were last read, 0 if these had a mistake and the old ones stay.",
		}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_rules_failing",
			Help: "Alert rules and recording rules whose last evaluation failed; /alerts tells why.",
		}),
		history: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_seconds",
			Help: "How far back the samples in memory reach, which rules and pages read; see AVAX_HISTORY.",
		}),
		series: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_series",
			Help: "Series that are kept in memory for rules and pages.",
		}),
		remembered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts_remembered",
			Help: "1 if alert state (for how long alerts have been active) is saved, 0 if a restart would lose it. Absent without AVAX_STATE_DIR.",
		}),
	}
	for _, s := range []string{Pending, Firing} {
		m.alerts.WithLabelValues(s)
	}
	for _, o := range []string{delivered, failed, missed} {
		m.notifications.WithLabelValues(o)
	}
	r.MustRegister(m.alerts, m.notifications, m.up, m.reloaded, m.failing, m.history, m.series, m.remembered)
	return m
}
