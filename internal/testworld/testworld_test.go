package testworld

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const rules = `
groups:
  - name: node
    interval: 1h
    rules:
      - alert: NodeDown
        expr: node_up == 0
        for: 5m
        labels: {severity: critical}
        annotations: {summary: "{{ $labels.node }} is down"}
`

func TestWebhookIgnoresAbortedRequests(t *testing.T) {
	webhook := Webhook(t)
	for _, half := range []bool{true, false} {
		body := `{"alerts": [{"status": "firing", "labels": {"alertname": "NodeDown"}}]}`
		length := len(body)
		if half {
			body = body[:length/2]
		}
		connection, err := net.Dial("tcp", strings.TrimPrefix(webhook.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n%s", length, body); err != nil {
			t.Fatal(err)
		}
		if !half {
			webhook.Wait(Firing("NodeDown"))
		}
		_ = connection.Close()
	}
	if all := webhook.Alerts(); len(all) != 1 {
		t.Errorf("received %+v, want one alert", all)
	}
}

func TestAlertNotifiesFiringAndResolved(t *testing.T) {
	t.Parallel()
	var up atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "node_up{node=\"one\"} %d\n", up.Load())
	}))
	t.Cleanup(target.Close)
	ruleFile := filepath.Join(t.TempDir(), "rules.yml")
	short := ShortenRules(t, []byte(rules), func(time.Duration) time.Duration { return 200 * time.Millisecond })
	if err := os.WriteFile(ruleFile, short, 0o600); err != nil {
		t.Fatal(err)
	}

	webhook := Webhook(t)
	prometheus := Prometheus(t, PrometheusConfig{
		Targets:        []string{target.URL},
		RuleFiles:      []string{ruleFile},
		Alertmanagers:  []string{Alertmanager(t, webhook.URL).URL},
		ExternalLabels: map[string]string{"site": "test"},
	})

	page := webhook.Wait(Firing("NodeDown"))
	wantLabels := map[string]string{
		"alertname": "NodeDown", "severity": "critical", "site": "test",
		"node": "one", "job": "avax-exporter", "instance": strings.TrimPrefix(target.URL, "http://"),
	}
	if diff := cmp.Diff(wantLabels, page.Labels); diff != "" {
		t.Errorf("labels of the page (-want +got):\n%s", diff)
	}
	if got, want := page.Annotations["summary"], "one is down"; got != want {
		t.Errorf("summary is %q, want %q", got, want)
	}
	samples, err := prometheus.Query(t.Context(), `ALERTS{alertstate="firing"}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 1 || samples[0].Metric["alertname"] != "NodeDown" {
		t.Errorf("Prometheus has %v firing, want NodeDown", samples)
	}

	up.Store(1)
	clear := webhook.Wait(Resolved("NodeDown"))
	if clear.Fingerprint != page.Fingerprint {
		t.Errorf("resolved %s, paged %s", clear.Fingerprint, page.Fingerprint)
	}
	if alerts := webhook.Alerts(); len(alerts) != 2 {
		t.Errorf("received %d notifications, want one page and one all-clear: %+v", len(alerts), alerts)
	}
}

func TestQueryReturnsPrometheusErrors(t *testing.T) {
	t.Parallel()
	prometheus := Prometheus(t, PrometheusConfig{})
	if _, err := prometheus.Query(t.Context(), "up =="); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("error is %v, want Prometheus' parse error", err)
	}
	if _, err := prometheus.Query(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "scalar, not a vector") {
		t.Errorf("error is %v, want one about the scalar", err)
	}
}

func TestShortenRulesChangesOnlyDurations(t *testing.T) {
	t.Parallel()
	short := ShortenRules(t, []byte(`
groups:
  - name: slow
    interval: 1m
    rules:
      - {alert: A, expr: 'rate(a[5m]) > 0', for: 1h30m, keep_firing_for: 10m, labels: {severity: info}}
      - {alert: B, expr: b}
      - {record: c, expr: sum(c)}
`), func(d time.Duration) time.Duration { return d / 1000 })
	want := `groups:
    - name: slow
      rules:
        - alert: A
          expr: rate(a[5m]) > 0
          for: 5s400ms
          keep_firing_for: 600ms
          labels:
            severity: info
        - alert: B
          expr: b
        - expr: sum(c)
          record: c
`
	if diff := cmp.Diff(want, string(short)); diff != "" {
		t.Errorf("shortened (-want +got):\n%s", diff)
	}
}
