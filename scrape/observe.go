package scrape

import (
	"crypto/x509"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics counts and measures requests. Set it as Options.Metrics of each Upstream.
//
// There are few series for each upstream, because a fleet has a thousand: methods are counted only if they fail, and the
// durations of a method are those of all upstreams.
type Metrics struct {
	requests, unsent *prometheus.CounterVec
	waitUntil        *prometheus.GaugeVec
	certificate      *prometheus.GaugeVec
	duration         *prometheus.SummaryVec
}

// NewMetrics registers the families and returns them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		requests: counter("avax_exporter_upstream_requests_total",
			"Requests to an upstream (a node or service) by outcome. Each retry counts. An answer that several collectors use counts once. The label op, the method, "+
				"is empty for the outcome ok.",
			"upstream", "op", "outcome"),
		unsent: counter("avax_exporter_upstream_unsent_total",
			"Calls and retries that were not sent to an upstream, by outcome. rate_limited: the upstream requested a pause, or a budget is spent. timeout: the wait "+
				"in the queue was too long.",
			"upstream", "op", "outcome"),
		waitUntil: gauge("avax_exporter_upstream_wait_until_timestamp_seconds",
			"End of the last pause that an upstream requested, in Unix seconds. The pause is for the method in the label op, or for all methods (op=all). Absent if "+
				"the upstream requested no pause.",
			"upstream", "op"),
		certificate: gauge("avax_exporter_upstream_certificate_expiry_timestamp_seconds",
			"Expiry of the certificate on the last used HTTPS connection to an upstream, in Unix seconds. Absent for HTTP, and before the first connection.",
			"upstream"),
		duration: f.NewSummaryVec(prometheus.SummaryOpts{
			Name: "avax_exporter_upstream_request_duration_seconds",
			Help: "Time from the start of a request of this method to the end of its answer, for all upstreams. Includes requests of every outcome.",
		}, []string{"op"}),
	}
}

// measure counts and measures the requests of one upstream.
type measure struct {
	*Metrics
	upstream string
	closed   atomic.Bool
}

// ended counts a request and its duration.
func (m *measure) ended(op string, outcome Outcome, took time.Duration) {
	if m.closed.Load() {
		return
	}
	m.duration.WithLabelValues(op).Observe(took.Seconds())
	if outcome == OK {
		op = ""
	}
	m.requests.WithLabelValues(m.upstream, op, string(outcome)).Inc()
}

// notSent counts a call or a retry that was not sent.
func (m *measure) notSent(op string, outcome Outcome) {
	if !m.closed.Load() {
		m.unsent.WithLabelValues(m.upstream, op, string(outcome)).Inc()
	}
}

// waits sets the end of the pause that the upstream requested.
func (m *measure) waits(op string, until time.Time) {
	if !m.closed.Load() {
		m.waitUntil.WithLabelValues(m.upstream, op).Set(float64(until.Unix()))
	}
}

// presented sets the expiry of the certificate that the upstream presented.
func (m *measure) presented(chain []*x509.Certificate) {
	if len(chain) > 0 && !m.closed.Load() {
		m.certificate.WithLabelValues(m.upstream).Set(float64(chain[0].NotAfter.Unix()))
	}
}

// forget deletes the upstream's series. A call in progress creates no new ones.
func (m *measure) forget() {
	m.closed.Store(true)
	upstream := prometheus.Labels{"upstream": m.upstream}
	m.requests.DeletePartialMatch(upstream)
	m.unsent.DeletePartialMatch(upstream)
	m.waitUntil.DeletePartialMatch(upstream)
	m.certificate.DeletePartialMatch(upstream)
}
