package alerting

import "github.com/prometheus/client_golang/prometheus"

// The outcomes of a notification.
const (
	delivered = "delivered"
	failed    = "failed"
	missed    = "missed"
)

// Metrics are the families about alerting.
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

// NewMetrics registers the families and returns them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		alerts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts",
			Help: "Active alerts of in-process alerting, by state: pending or firing.",
		}, []string{"state"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_notifications_total",
			Help: "Alerts sent to an Alertmanager, with repetitions and resolutions, by outcome: delivered, failed, or missed (the alert ended before an Alertmanager accepted it).",
		}, []string{"outcome"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alertmanager_up",
			Help: "1 if the Alertmanager accepted the last notification, 0 if not. Absent until there was one.",
		}, []string{"alertmanager"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_rules_last_reload_successful",
			Help: "1 if the last reload of alert rules succeeded, 0 if it failed and the previous rules are kept.",
		}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_rules_failing",
			Help: "Alert and recording rules whose last evaluation failed; /alerts shows why.",
		}),
		history: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_seconds",
			Help: "Age of the oldest sample in memory, for rules and pages; see AVAX_HISTORY.",
		}),
		series: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_series",
			Help: "Series kept in memory for rules and pages.",
		}),
		remembered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts_remembered",
			Help: "1 if the state of alerts is on disk, 0 if a restart would lose it. Absent without AVAX_STATE_DIR.",
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
