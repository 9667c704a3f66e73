package scrape

import (
	"crypto/x509"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and measures the requests of every Upstream that has it. A nil Metrics does nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	notSent  *prometheus.CounterVec
	until    *prometheus.GaugeVec
	expiry   *prometheus.GaugeVec
	duration *prometheus.HistogramVec
}

// NewMetrics registers the families avax_exporter_upstream_…. A nil reg registers nothing.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_upstream_requests_total",
			Help: "Requests to an upstream by outcome. A retry counts again, a shared answer does not.",
		}, []string{"upstream", "op", "outcome"}),
		notSent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "avax_exporter_upstream_unsent_total",
			Help: "Calls to an upstream that were not sent, by outcome. rate_limited: it asked to wait, or a budget is spent. timeout: no turn came in time.",
		}, []string{"upstream", "op", "outcome"}),
		until: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_upstream_wait_until_timestamp_seconds",
			Help: "End of the last wait that an upstream asked for, for one op or all, in Unix seconds. Absent if it asked for none.",
		}, []string{"upstream", "op"}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_upstream_certificate_expiry_timestamp_seconds",
			Help: "Expiry of the certificate on the last used HTTPS connection to an upstream, in Unix seconds. Absent for HTTP, and before the first connection.",
		}, []string{"upstream"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "avax_exporter_upstream_request_duration_seconds",
			Help: "Time from sending a request to an upstream to the end of its answer, whatever the outcome.",
			// Few buckets: each is a series per upstream and method, together nearly half of all series of a fleet.
			Buckets:                         []float64{0.01, 0.1, 0.5, 2.5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"upstream", "op"}),
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.notSent, m.until, m.expiry, m.duration)
	}
	return m
}

// measure counts and measures the requests of one upstream until forget. A nil measure does nothing.
type measure struct {
	*Metrics
	upstream string

	mu        sync.RWMutex
	forgotten bool
}

func (m *Metrics) of(upstream string) *measure {
	if m == nil {
		return nil
	}
	return &measure{Metrics: m, upstream: upstream}
}

// count counts a request.
func (m *measure) count(op string, outcome Outcome) {
	m.unlessForgotten(func() { m.requests.WithLabelValues(m.upstream, op, string(outcome)).Inc() })
}

// unsent counts a call that ended before it became a request.
func (m *measure) unsent(op string, outcome Outcome) {
	m.unlessForgotten(func() { m.notSent.WithLabelValues(m.upstream, op, string(outcome)).Inc() })
}

// waits stores the end of the wait that the upstream asked for.
func (m *measure) waits(what string, until time.Time) {
	m.unlessForgotten(func() { m.until.WithLabelValues(m.upstream, what).Set(float64(until.Unix())) })
}

// presented notes the certificate of the upstream on the connection of a call.
func (m *measure) presented(chain []*x509.Certificate) {
	if len(chain) > 0 {
		m.unlessForgotten(func() { m.expiry.WithLabelValues(m.upstream).Set(float64(chain[0].NotAfter.Unix())) })
	}
}

func (m *measure) took(op string, d time.Duration) {
	m.unlessForgotten(func() { m.duration.WithLabelValues(m.upstream, op).Observe(d.Seconds()) })
}

func (m *measure) unlessForgotten(f func()) {
	if m == nil {
		return
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.forgotten {
		f()
	}
}

// forget deletes the upstream's series. A call in progress does not restore them.
func (m *measure) forget() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten = true
	of := prometheus.Labels{"upstream": m.upstream}
	m.requests.DeletePartialMatch(of)
	m.notSent.DeletePartialMatch(of)
	m.until.DeletePartialMatch(of)
	m.expiry.DeletePartialMatch(of)
	m.duration.DeletePartialMatch(of)
}
