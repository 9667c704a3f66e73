package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestBacktestFindsWhatPrometheusRecorded runs incidents under a Prometheus with the rules, and evaluates its history again. Both
// have the same alerts, at the same times up to an evaluation. The same holds for the exporter's own history.
func TestBacktestFindsWhatPrometheusRecorded(t *testing.T) {
	t.Parallel()
	testworld.Full(t)
	rules := shortRules(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, w.environment...)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
		Targets: []string{exporter.URL}, RuleFiles: []string{rules}, ScrapeInterval: time.Second, EvaluationInterval: time.Second,
	})
	firing := func(alert string, want bool) {
		t.Helper()
		testworld.Await(t, alert, func() error {
			found, err := prometheus.Query(t.Context(), fmt.Sprintf("ALERTS{alertname=%q, alertstate=\"firing\"}", alert))
			if err == nil && len(found) > 0 != want {
				err = fmt.Errorf("firing: %v", found)
			}
			return err
		})
	}
	firing("Settled", true)
	from := time.Now()
	for _, i := range incidents {
		i.begin(w.network)
		firing(i.alert, true)
		i.end(w.network)
		firing(i.alert, false)
	}
	after := time.Now().Add(5 * time.Second) // so that the last incident is inside the range
	testworld.Await(t, "time after the last incident", func() error {
		if left := time.Until(after); left > 0 {
			return fmt.Errorf("%v left", left)
		}
		return nil
	})
	to := time.Now()

	for _, url := range []string{prometheus.URL, exporter.URL} {
		findsWhatWasRecorded(t, url, from, to, rules)
	}
}

func findsWhatWasRecorded(t *testing.T, url string, from, to time.Time, rules string) {
	t.Helper()
	report := runBacktest(t, url, from, to, "--rules", rules, "--interval", "1s")
	if len(report.Errors) > 0 {
		t.Errorf("rules that failed: %v", report.Errors)
	}
	found := map[string][]span{}
	for _, i := range report.Incidents {
		found[named(i.Labels)] = append(found[named(i.Labels)], span{i.Fired, i.Resolved})
	}
	recorded := recordedAlerts(t, url, from, to)
	// The two evaluate at different parts of a second. So their times differ by up to two evaluations, and an alert of a few
	// evaluations, or at the border of the range, may be missing.
	near := func(a span) func(span) bool {
		return func(b span) bool {
			return a.from.Sub(b.from).Abs() <= 2*time.Second && a.to.Sub(b.to).Abs() <= 2*time.Second
		}
	}
	long := func(s span) bool {
		return s.from.After(from.Add(3*time.Second)) && !s.to.IsZero() && s.to.Before(to.Add(-3*time.Second)) && s.to.Sub(s.from) > 3*time.Second
	}
	compared := 0
	for name := range found {
		for _, s := range found[name] {
			if long(s) && !slices.ContainsFunc(recorded[name], near(s)) {
				t.Errorf("%s: fired %v, recorded %v", name, s, recorded[name])
			}
		}
	}
	for name := range recorded {
		for _, s := range recorded[name] {
			if long(s) && !slices.ContainsFunc(found[name], near(s)) {
				t.Errorf("%s: recorded %v, fired %v", name, s, found[name])
			}
			compared += len(found[name])
		}
	}
	if compared < len(incidents) {
		t.Errorf("only %d alerts compared", compared)
	}
}

// backtestReport is the part of the JSON report that the tests read.
type backtestReport struct {
	Incidents []struct {
		Alert           string
		Labels          map[string]string
		Fired, Resolved time.Time
	}
	Gaps []struct {
		Alert   string
		Judged  bool
		Missing []string
	}
	Errors []string
}

// runBacktest runs the command.
func runBacktest(t *testing.T, url string, from, to time.Time, options ...string) (report backtestReport) {
	t.Helper()
	args := append(
		[]string{"backtest", "--prometheus", url, "--json", "--from", from.UTC().Format(time.RFC3339Nano), "--to", to.UTC().Format(time.RFC3339Nano)},
		options...)
	out, err := exec.CommandContext(t.Context(), testworld.ExporterPath(t), args...).Output()
	if err != nil {
		t.Fatalf("backtest: %v", err)
	}
	must.Do(t, json.Unmarshal(out, &report))
	return report
}

// TestBacktestCountsAMonthOfIncidents stores a month of samples with known incidents, and compares each alert of the shipped rules with
// them, up to one evaluation.
func TestBacktestCountsAMonthOfIncidents(t *testing.T) {
	t.Parallel()
	testworld.Full(t)
	month := newMonth(30)
	prometheus := func(t *testing.T) string {
		text, data := testworld.File(t, month.text(true)), t.TempDir()
		create := exec.CommandContext(t.Context(), testworld.Binary(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", text, data)
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("promtool: %v\n%s", err, out)
		}
		return testworld.Prometheus(t, testworld.PrometheusConfig{Data: data}).URL
	}
	victoriaMetrics := func(t *testing.T) string {
		store := testworld.VictoriaMetrics(t, "-retentionPeriod=10y")
		answer := must.Get(http.Post(store.URL+"/api/v1/import/prometheus", "text/plain", strings.NewReader(month.text(false))))(t)
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			t.Fatalf("import: %s", answer.Status)
		}
		testworld.Await(t, "the import", func() error {
			found, err := store.Query(t.Context(), fmt.Sprintf("count(avax_node_up @ %d)", month.end().Unix()-60))
			if err == nil && len(found) == 0 {
				err = errors.New("no samples")
			}
			return err
		})
		return store.URL
	}
	for name, start := range map[string]func(*testing.T) string{"Prometheus": prometheus, "VictoriaMetrics": victoriaMetrics} {
		t.Run(name, func(t *testing.T) {
			report := runBacktest(t, start(t), month.begin, month.end(), "--interval", "1m")
			if len(report.Errors) > 0 {
				t.Errorf("rules that failed: %v", report.Errors)
			}
			got := map[string][]time.Time{}
			for _, i := range report.Incidents {
				key := i.Alert + "/" + i.Labels["severity"] + "/" + i.Labels["node"]
				got[key] = append(got[key], i.Fired)
			}
			compared := 0
			for key, want := range month.alerts {
				compared += len(want)
				if !slices.EqualFunc(got[key], want, func(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Minute }) {
					t.Errorf("%s fired at %v, want %v", key, got[key], want)
				}
			}
			for key := range got {
				if strings.HasPrefix(key, "AvaxNodeDown/") && month.alerts[key] == nil {
					t.Errorf("%s fired at %v, want never", key, got[key])
				}
			}
			if compared < 20 {
				t.Errorf("only %d alerts compared", compared)
			}
			judged := func(alert string) bool {
				return !slices.ContainsFunc(report.Gaps, func(g struct {
					Alert   string
					Judged  bool
					Missing []string
				}) bool {
					return g.Alert == alert && !g.Judged
				})
			}
			if !judged("AvaxNodeDown") || judged("AvaxL1RunwayLow") {
				t.Errorf("gaps: %+v", report.Gaps)
			}
		})
	}
}

// month is a simulated history of ten nodes, with a sample a minute.
type month struct {
	begin  time.Time
	days   int
	down   map[int][]span
	alerts map[string][]time.Time // when AvaxNodeDown fires, by alert, severity and node
}

const monthNodes = 10

// newMonth has a few outages of each node: longer than the rule of severity page, than that of severity warn, and shorter than both.
func newMonth(days int) *month {
	m := &month{begin: time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -days), days: days, down: map[int][]span{}, alerts: map[string][]time.Time{}}
	for n := range monthNodes {
		for k := range days / 6 {
			from := m.begin.Add(time.Duration(24*6*k+11*n+7)*time.Hour + time.Duration(n)*time.Minute)
			length := []time.Duration{time.Minute, 4 * time.Minute, 40 * time.Minute}[(n+k)%3]
			m.down[n] = append(m.down[n], span{from, from.Add(length)})
			for severity, held := range map[string]time.Duration{"warn": 2 * time.Minute, "page": 5 * time.Minute} {
				if key := fmt.Sprintf("AvaxNodeDown/%s/node%d", severity, n); length > held {
					m.alerts[key] = append(m.alerts[key], from.Add(held))
				}
			}
		}
	}
	return m
}

func (m *month) end() time.Time { return m.begin.AddDate(0, 0, m.days) }

// text returns the samples in OpenMetrics, or in the text format.
func (m *month) text(openMetrics bool) string {
	var b strings.Builder
	sample := func(series string, v func(time.Time) int) {
		name, _, _ := strings.Cut(series, "{")
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		for at := m.begin.Add(-6 * time.Hour); at.Before(m.end()); at = at.Add(time.Minute) {
			stamp := at.Unix()
			if !openMetrics {
				stamp *= 1000
			}
			fmt.Fprintf(&b, "%s %d %d\n", series, v(at), stamp)
		}
	}
	const target = `job="avax-exporter",instance="a:9865"`
	sample("up{"+target+"}", func(time.Time) int { return 1 })
	sample("avax_exporter_targets{"+target+"}", func(time.Time) int { return monthNodes })
	for n := range monthNodes {
		sample(fmt.Sprintf(`avax_node_up{%s,node="node%d"}`, target, n), func(at time.Time) int {
			for _, s := range m.down[n] {
				if !at.Before(s.from) && at.Before(s.to) {
					return 0
				}
			}
			return 1
		})
	}
	if openMetrics {
		return strings.ReplaceAll(b.String(), "# TYPE avax_node_up gauge\n", "") + "# EOF\n"
	}
	return b.String()
}

// span is the time in which an alert fired. The time to is zero if it fired at the end.
type span struct{ from, to time.Time }

// named identifies an alert.
func named(labels map[string]string) string { return fmt.Sprint(labels) }

// recordedAlerts returns when each alert fired, from the series ALERTS of a Prometheus that evaluates once a second.
func recordedAlerts(t *testing.T, url string, from, to time.Time) map[string][]span {
	t.Helper()
	source := must.Get(alerting.NewPrometheus(alerting.PrometheusConfig{URL: url, Timeout: time.Minute, MaxBody: 64 << 20}, nil))(t)
	series := must.Get(source.Samples(t.Context(), `ALERTS{alertstate="firing"}`, from, to))(t)
	recorded := map[string][]span{}
	for _, s := range series {
		labels := map[string]string{}
		for name, value := range s.Metric {
			if name != model.MetricNameLabel && name != "alertstate" {
				labels[string(name)] = string(value)
			}
		}
		var spans []span
		for _, v := range s.Values {
			at := v.Timestamp.Time()
			if n := len(spans); n > 0 && at.Sub(spans[n-1].to) < 1500*time.Millisecond {
				spans[n-1].to = at
			} else {
				spans = append(spans, span{at, at})
			}
		}
		for i := range spans {
			if spans[i].to = spans[i].to.Add(time.Second); spans[i].to.After(to.Add(-time.Second)) {
				spans[i].to = time.Time{}
			}
		}
		recorded[named(labels)] = spans
	}
	return recorded
}
