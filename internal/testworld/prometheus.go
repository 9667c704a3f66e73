package testworld

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// PrometheusConfig configures what a Prometheus scrapes, evaluates and notifies.
type PrometheusConfig struct {
	Program            string                       // prometheus or prometheus-3; prometheus if empty
	Targets            []string                     // base URLs; scraped at /metrics under the job avax-exporter
	Jobs               map[string][]string          // base URLs by further job
	Labels             map[string]map[string]string // labels of targets, by base URL
	RuleFiles          []string                     // paths
	Alertmanagers      []string                     // base URLs
	ScrapeInterval     time.Duration                // 200 ms if zero
	EvaluationInterval time.Duration                // 200 ms if zero
	ExternalLabels     map[string]string            // set on every alert
	ResendDelay        time.Duration                // 5 s if zero; Alertmanager takes an alert for resolved four of them after the last message
	Replica            string                       // value of the external label replica, which alerts are sent without
	Data               string                       // directory of its database; temporary if empty
	Features           string                       // of --enable-feature
	Drop               string                       // pattern of labels that no scraped sample keeps
}

// PrometheusServer is a running Prometheus.
type PrometheusServer struct{ *Program }

// Prometheus starts a Prometheus server that runs until the test ends.
//
// Its first scrape comes about five seconds after it is ready: that is how long it collects discovered targets, and no flag shortens it.
// From then on an alert fires, and resolves, within a scrape and an evaluation of its cause (and what its rule adds by `for`).
func Prometheus(t testing.TB, config PrometheusConfig) *PrometheusServer {
	t.Helper()
	labels := maps.Clone(config.ExternalLabels)
	if config.Replica != "" {
		labels = map[string]string{"replica": config.Replica}
		maps.Copy(labels, config.ExternalLabels)
	}
	jobs := map[string][]string{"avax-exporter": config.Targets}
	maps.Copy(jobs, config.Jobs)
	var scrapes []any
	for job, targets := range jobs {
		var configs []any
		for _, target := range targets {
			one := static([]string{target})[0].(map[string]any)
			one["labels"] = config.Labels[target]
			configs = append(configs, one)
		}
		one := map[string]any{"job_name": job, "static_configs": configs}
		if config.Drop != "" {
			one["metric_relabel_configs"] = []any{map[string]any{"action": "labeldrop", "regex": config.Drop}}
		}
		scrapes = append(scrapes, one)
	}
	file := writeYAML(t, "prometheus.yml", map[string]any{
		"global": map[string]any{
			"scrape_interval":     orFifth(config.ScrapeInterval),
			"scrape_timeout":      orFifth(config.ScrapeInterval),
			"evaluation_interval": orFifth(config.EvaluationInterval),
			"external_labels":     labels,
		},
		"rule_files":     config.RuleFiles,
		"scrape_configs": scrapes,
		"alerting": map[string]any{
			"alertmanagers":         []any{map[string]any{"static_configs": static(config.Alertmanagers)}},
			"alert_relabel_configs": []any{map[string]any{"regex": "replica", "action": "labeldrop"}},
		},
	})
	data := cmp.Or(config.Data, t.TempDir())
	return &PrometheusServer{start(t, cmp.Or(config.Program, "prometheus"), func(address string) []string {
		return []string{
			"--config.file=" + file,
			"--storage.tsdb.path=" + data,
			"--storage.tsdb.retention.time=10y",
			"--web.listen-address=" + address,
			"--scrape.discovery-reload-interval=100ms",
			"--web.enable-remote-write-receiver",
			"--enable-feature=" + config.Features,
			// An alert is sent when it begins and when it ends; in between again after the delay, and Alertmanager takes it for resolved
			// after four delays without a word: long enough for a busy machine.
			"--rules.alert.resend-delay=" + cmp.Or(config.ResendDelay, 5*time.Second).String(),
			"--rules.alert.for-grace-period=0s",
		}
	})}
}

// Query evaluates expr now and returns the instant vector. The error is that of Prometheus, or that of the connection.
func (p *PrometheusServer) Query(ctx context.Context, expr string) (model.Vector, error) {
	query := p.URL + "/api/v1/query?" + url.Values{"query": {expr}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			ResultType model.ValueType
			Result     json.RawMessage
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("query %s: %s: %w", expr, response.Status, err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("query %s: %s", expr, answer.Error)
	}
	if answer.Data.ResultType != model.ValVector {
		return nil, fmt.Errorf("query %s: yields a %s, not a vector", expr, answer.Data.ResultType)
	}
	var vector model.Vector
	if err := json.Unmarshal(answer.Data.Result, &vector); err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	return vector, nil
}

func orFifth(interval time.Duration) string {
	if interval == 0 {
		interval = 200 * time.Millisecond
	}
	return model.Duration(interval).String()
}

func static(urls []string) []any {
	hosts := make([]string, len(urls))
	for i, u := range urls {
		hosts[i] = strings.TrimPrefix(u, "http://")
	}
	return []any{map[string]any{"targets": hosts}}
}
