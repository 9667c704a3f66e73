package app

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/alerts"
)

// A certificate that expires soon is a finding, from the same time on as the alert.
func TestExpiringCertificatesAreFindings(t *testing.T) {
	now := time.Now()
	registry := prometheus.NewRegistry()
	expiry := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "avax_exporter_upstream_certificate_expiry_timestamp_seconds"}, []string{"upstream"})
	registry.MustRegister(expiry)
	for name, left := range map[string]time.Duration{"soon": 10*24*time.Hour + time.Minute, "later": 15 * 24 * time.Hour} {
		expiry.WithLabelValues(name).Set(float64(now.Add(left).Unix()))
	}
	found := expiring(registry, now)
	if len(found) != 1 || found[0].About != "soon" || found[0].Text != "TLS certificate expires in 10 days" {
		t.Errorf("%+v", found)
	}
	if !strings.Contains(string(alerts.Rules), "{alert: AvaxCertificateExpires}, expr: vector(14 * 86400)}") || expiresSoon != 14*24*time.Hour {
		t.Error("check and AvaxCertificateExpires have different thresholds")
	}
	source, err := os.ReadFile("../../scrape/observe.go")
	if err != nil || !strings.Contains(string(source), `"avax_exporter_upstream_certificate_expiry_timestamp_seconds"`) {
		t.Errorf("the clients export no such metric: %v", err)
	}
}
