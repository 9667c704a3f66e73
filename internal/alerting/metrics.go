package alerting

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The outcomes of a notification.
const (
	delivered = "delivered"
	failed    = "failed"
	missed    = "missed"
)

// Metrics holds the metric families about alerting.
type Metrics struct {
	alerts        *prometheus.GaugeVec
	notifications *prometheus.CounterVec
	up            *prometheus.GaugeVec
	failing       prometheus.Gauge
	history       prometheus.Gauge
	series        prometheus.Gauge
	saved         prometheus.Gauge
	availability  *availability
}

// NewMetrics registers the families and returns them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	m := &Metrics{
		alerts: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts",
			Help: "Active alerts that this process evaluates, by state: pending or firing.",
		}, []string{"state"}),
		notifications: f.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_notifications_total",
			Help: "Alerts sent to an Alertmanager, including repetitions and resolved alerts, by outcome: delivered, failed, or missed " +
				"(no Alertmanager accepted the alert before it resolved).",
		}, []string{"outcome"}),
		up: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_alertmanager_up",
			Help: "1 if the Alertmanager accepted the last notification, 0 if not. Absent before the first notification.",
		}, []string{"alertmanager"}),
		failing: f.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_rules_failing",
			Help: "Number of alert and recording rules whose last evaluation failed. /alerts shows the errors.",
		}),
		history: f.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_seconds",
			Help: "Age of the oldest sample in memory, in seconds. Rules and status pages use these samples.",
		}),
		series: f.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_history_series",
			Help: "Number of series in memory for rules and status pages.",
		}),
		saved: f.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_alerts_remembered",
			Help: "1 if the state of alerts is on disk, 0 if a restart would lose it. Absent without AVAX_STATE_DIR.",
		}),
	}
	m.availability = &availability{}
	r.MustRegister(m.availability)
	for _, s := range []string{Pending, Firing} {
		m.alerts.WithLabelValues(s)
	}
	for _, o := range []string{delivered, failed, missed} {
		m.notifications.WithLabelValues(o)
	}
	return m
}
