package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestPagesReadFromPrometheus(t *testing.T) {
	t.Parallel()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "avax_node_up{node=\"alpha\"} 0\navax_node_up{node=\"bravo\"} 1\n")
	}))
	t.Cleanup(exporter.Close)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	must.Do(t, os.WriteFile(rules, []byte(`
groups:
  - name: nodes
    rules:
      - {record: 'avax:up:sum', expr: sum(avax_node_up)}
      - {alert: NodeDown, expr: avax_node_up == 0, annotations: {summary: '{{ $labels.node }} is down'}}
      - {alert: Foreign, expr: vector(1)}
`), 0o600))
	server := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{exporter.URL}, RuleFiles: []string{rules}})
	source, err := alerting.NewPrometheus(alerting.PrometheusConfig{URL: server.URL + "/", Timeout: time.Until(testworld.Deadline(t)), MaxBody: 1 << 20}, nil)
	if err != nil {
		t.Fatal(err)
	}

	var groups []alerting.Group
	testworld.Await(t, "the alert fires", func() (err error) {
		if groups, err = source.Groups(t.Context()); err != nil {
			return err
		}
		for _, g := range groups {
			for _, r := range g.Rules {
				if r.Name == "NodeDown" && r.State == alerting.Firing && len(r.Alerts) == 1 {
					return nil
				}
			}
		}
		return fmt.Errorf("the rules are %+v", groups)
	})
	if len(groups) != 1 || groups[0].Name != "nodes" || groups[0].File != rules || len(groups[0].Rules) != 2 || groups[0].Evaluated.IsZero() {
		t.Fatalf("groups %+v", groups)
	}
	alert := groups[0].Rules[1].Alerts[0]
	if alert.Labels["node"] != "alpha" || alert.Annotations["summary"] != "alpha is down" || alert.State != alerting.Firing || alert.Value != 0 ||
		time.Since(alert.ActiveAt).Abs() > time.Hour {
		t.Errorf("alert %+v", alert)
	}

	for expr, want := range map[string]float64{`avax_node_up{node="bravo"}`: 1, "avax:up:sum": 1, "6 * 7": 42} {
		testworld.Await(t, expr, func() error {
			got, err := alerting.Vector(source.Query(t.Context(), expr, time.Now()))
			if err == nil && (len(got) != 1 || float64(got[0].Value) != want) {
				err = fmt.Errorf("it is %v, want %v", got, want)
			}
			return err
		})
	}
	now := time.Now()
	matrix, err := source.QueryRange(t.Context(), "avax_node_up", now.Add(-time.Second), now, 500*time.Millisecond)
	if err != nil || len(matrix) != 2 || len(matrix[0].Values) == 0 {
		t.Errorf("range of one second: %v (%v)", matrix, err)
	}
	if _, err := source.Query(t.Context(), "sum(", now); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("error of Prometheus: %v", err)
	}
	server.Stop()
	if _, err := source.Groups(t.Context()); err == nil {
		t.Error("rules of a stopped Prometheus")
	}
}
