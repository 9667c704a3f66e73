package testworld

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// VictoriaMetrics starts a store that takes remote writes and answers Prometheus' queries, until the test ends. Further arguments are
// appended to its command line.
func VictoriaMetrics(t testing.TB, args ...string) *PrometheusServer {
	t.Helper()
	data := t.TempDir()
	return &PrometheusServer{start(t, "victoria-metrics", func(address string) []string {
		return append([]string{
			"-storageDataPath=" + data,
			"-httpListenAddr=" + address,
			"-search.latencyOffset=0s", // its default is 30 s
			"-search.disableCache",
		}, args...)
	})}
}

// VMAlert starts a vmalert that evaluates the rules over a store, writes to it what they record, and notifies an Alertmanager, until the
// test ends. Further arguments are appended to its command line; of a flag that is given twice the last value counts.
func VMAlert(t testing.TB, rules, storeURL, alertmanagerURL string, args ...string) *Program {
	t.Helper()
	return start(t, "vmalert", func(address string) []string {
		return append([]string{
			"-rule=" + rules,
			"-datasource.url=" + storeURL,
			"-remoteWrite.url=" + storeURL,
			"-remoteRead.url=" + storeURL,
			"-remoteWrite.flushInterval=200ms",
			"-notifier.url=" + alertmanagerURL,
			"-evaluationInterval=1s",
			"-httpListenAddr=" + address,
		}, args...)
	})
}

// ThanosReceive starts Thanos' receive component, which takes remote writes and holds the samples, without an object store, until the test
// ends. It returns the URL for remote writes and the address for ThanosQuery.
func ThanosReceive(t testing.TB) (p *Program, writeURL, endpoint string) {
	t.Helper()
	data := t.TempDir()
	p = start(t, "thanos", func(address string) []string {
		write := Address(t)
		writeURL, endpoint = "http://"+write+"/api/v1/receive", Address(t)
		return []string{
			"receive",
			"--tsdb.path=" + data,
			"--tsdb.out-of-order.time-window=2h",
			`--label=receive="0"`, // it needs a label
			"--remote-write.address=" + write,
			"--http-address=" + address,
			"--grpc-address=" + endpoint,
		}
	})
	return p, writeURL, endpoint
}

// ThanosQuery starts Thanos' query component, which answers Prometheus' queries about what an endpoint holds, until the test ends.
func ThanosQuery(t testing.TB, endpoint string) *PrometheusServer {
	t.Helper()
	file := writeYAML(t, "endpoints.yml", map[string]any{"endpoints": []any{map[string]any{"address": endpoint}}})
	return &PrometheusServer{start(t, "thanos", func(address string) []string {
		return []string{
			"query",
			"--endpoint.sd-config-file=" + file,
			"--query.replica-label=receive",
			"--query.replica-label=tenant_id",
			"--http-address=" + address,
			"--grpc-address=127.0.0.1:0",
		}
	})}
}

// ThanosRule starts Thanos' rule component until the test ends. The component evaluates the rules with queries, writes the recorded series
// to a store, and notifies an Alertmanager. Further arguments are appended to its command line.
func ThanosRule(t testing.TB, rules []string, queryURL, writeURL, alertmanagerURL string, args ...string) *Program {
	t.Helper()
	file := writeYAML(t, "remote_write.yml", map[string]any{"remote_write": []any{remoteWrite(writeURL, 200*time.Millisecond)}})
	data := t.TempDir()
	return start(t, "thanos", func(address string) []string {
		command := []string{
			"rule",
			"--data-dir=" + data,
			"--query=" + strings.TrimPrefix(queryURL, "http://"),
			"--remote-write.config-file=" + file,
			"--alertmanagers.url=" + alertmanagerURL,
			"--resend-delay=5s",
			"--for-grace-period=0s",
			"--http-address=" + address,
			"--grpc-address=127.0.0.1:0",
		}
		for _, rule := range rules {
			command = append(command, "--rule-file="+rule)
		}
		return append(command, args...)
	})
}

// Scrape writes a scrape configuration of the targets, given by their base URLs, and returns its path. VictoriaMetrics adds the external
// labels to every series that it scrapes.
func Scrape(t testing.TB, interval time.Duration, externalLabels map[string]string, targets ...string) string {
	t.Helper()
	every := model.Duration(interval).String()
	return writeYAML(t, "scrape.yml", map[string]any{
		"global":         map[string]any{"scrape_interval": every, "scrape_timeout": every, "external_labels": externalLabels},
		"scrape_configs": []any{map[string]any{"job_name": "avax-exporter", "static_configs": static(targets)}},
	})
}

// Agent starts a Prometheus that scrapes what a file lists, once a second, and writes it to a store, every so often (by default 5 s), until the test ends.
func Agent(t testing.TB, targets, writeURL string, every time.Duration) *PrometheusServer {
	t.Helper()
	file := writeYAML(t, "agent.yml", map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []any{map[string]any{"job_name": "avax-exporter", "file_sd_configs": []any{map[string]any{"files": []string{targets}}}}},
		"remote_write":   []any{remoteWrite(writeURL, every)},
	})
	data := t.TempDir()
	return &PrometheusServer{start(t, "prometheus", func(address string) []string {
		return []string{
			"--enable-feature=agent",
			"--config.file=" + file,
			"--storage.agent.path=" + data,
			"--web.listen-address=" + address,
			"--scrape.discovery-reload-interval=100ms",
		}
	})}
}

// Collector starts an OpenTelemetry Collector that scrapes the targets and writes to a store, until the test ends.
func Collector(t testing.TB, interval time.Duration, writer map[string]any, targets ...string) *Program {
	t.Helper()
	every := model.Duration(interval).String()
	scrapes := []any{map[string]any{"job_name": "avax-exporter", "scrape_interval": every, "scrape_timeout": every, "static_configs": static(targets)}}
	file := writeYAML(t, "otelcol.yml", map[string]any{
		"receivers": map[string]any{"prometheus": map[string]any{"config": map[string]any{"scrape_configs": scrapes}}},
		"exporters": map[string]any{"prometheus_remote_write": writer},
		"service": map[string]any{
			"telemetry": map[string]any{"metrics": map[string]any{"level": "none"}},
			"pipelines": map[string]any{"metrics": map[string]any{"receivers": []string{"prometheus"}, "exporters": []string{"prometheus_remote_write"}}},
		},
	})
	return start(t, "otelcol", func(address string) []string {
		return []string{"--config=" + file, "--ready=" + address}
	})
}

// remoteWrite is the configuration of remote writes that arrive soon.
func remoteWrite(url string, every time.Duration) map[string]any {
	return map[string]any{"url": url, "queue_config": map[string]any{"batch_send_deadline": every.String()}}
}
