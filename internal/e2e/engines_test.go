package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// withoutKeepFiringFor returns the rules without a field that this version of vmalert does not know.
func withoutKeepFiringFor(t *testing.T, rules []byte) []byte {
	t.Helper()
	var file map[string]any
	must.Do(t, yaml.Unmarshal(rules, &file))
	for _, group := range file["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			delete(rule.(map[string]any), "keep_firing_for")
		}
	}
	return must.Get(yaml.Marshal(file))(t)
}

// inside returns the alerts as Prometheus lists them: it adds external labels only when it sends an alert, and no name of the group.
func inside(all map[string]listedAlert) map[string]listedAlert {
	out := map[string]listedAlert{}
	for _, a := range all {
		a.Labels = maps.Clone(a.Labels)
		delete(a.Labels, "monitor")
		delete(a.Labels, "alertgroup")
		out[fmt.Sprint(a.Labels)] = a
	}
	return out
}

// What docs/alerting.md says about vmalert: it loads both files once keep_firing_for is removed. Over VictoriaMetrics it has the same alerts, with the same labels and annotations, as the exporter, whose engine is Prometheus' own. Each also has the label alertgroup, without -disableAlertgroupLabel.
func TestVMAlertHasTheSameAlerts(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const interval = 5 * time.Second
	rules := seconds(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(
		t,
		append(
			w.environment,
			"AVAX_LISTEN="+testworld.Address(t),
			"AVAX_EXTERNAL_LABELS=monitor=first",
			unhurried,
			"AVAX_ALERTING_INTERVAL="+interval.String(),
		)...)

	text := must.Get(os.ReadFile(rules))(t)
	accepted := testworld.File(t, string(withoutKeepFiringFor(t, text)))
	companion := testworld.File(t, string(alerts.Companion))
	pages := testworld.Webhook(t)
	// vmalert adds its external labels to the series that it records, and rules join these with what was scraped.
	labels := map[string]string{"monitor": "first"}
	store := testworld.VictoriaMetrics(t, "-promscrape.config="+testworld.Scrape(t, interval, labels, exporter.URL))
	vmalert := testworld.VMAlert(t, accepted, store.URL, testworld.Alertmanager(t, pages.URL).URL,
		"-rule="+companion, "-evaluationInterval="+interval.String(), "-external.label=monitor=first",
		"-datasource.queryStep=15s") // maximum age of a sample; with the default of 5 minutes, recorded series would end later

	awaitSample(t, store, `avax:reward_at_risk_avax{node="alpha"}`) // an annotation needs it
	w.hasTheSameAlerts(t, exporter.URL, vmalert.URL, pages)
}

// What docs/alerting.md says about Thanos: its rule component loads both files, and has the same alerts as the exporter, with the same labels
// and annotations. It queries a Prometheus, and writes the recorded series to that Prometheus.
func TestThanosHasTheSameAlerts(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const interval = 5 * time.Second
	rules := seconds(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, append(w.environment, "AVAX_LISTEN="+testworld.Address(t), unhurried, "AVAX_ALERTING_INTERVAL="+interval.String())...)
	pages := testworld.Webhook(t)
	store := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{exporter.URL}, ScrapeInterval: interval, EvaluationInterval: interval})
	thanos := testworld.ThanosRule(
		t,
		[]string{rules, testworld.File(t, string(alerts.Companion))},
		store.URL,
		store.URL+"/api/v1/write",
		testworld.Alertmanager(t, pages.URL).URL,
		"--eval-interval="+interval.String(),
	)
	awaitSample(t, store, `avax:reward_at_risk_avax{node="alpha"}`) // an annotation needs it
	w.hasTheSameAlerts(t, exporter.URL, thanos.URL, pages)
}

// A Prometheus 3 with type-and-unit-labels has the same alerts as one without, if its scrape job drops the labels as the shipped ones do. Without
// the drop AvaxScrapeLabelCollision says so.
func TestTypeAndUnitLabelsChangeNoAlertIfTheyAreDropped(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const interval = 5 * time.Second
	rules := seconds(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, append(w.environment, unhurried, "AVAX_ALERTING=off", "AVAX_ALERTMANAGERS=", "AVAX_RULES_FILE=")...)
	pages := testworld.Webhook(t)
	prometheus := func(features, drop string, alertmanagers ...string) *testworld.PrometheusServer {
		return testworld.Prometheus(t, testworld.PrometheusConfig{
			Program: "prometheus-3", Targets: []string{exporter.URL}, RuleFiles: []string{rules}, Alertmanagers: alertmanagers,
			ScrapeInterval: interval, EvaluationInterval: interval, ResendDelay: time.Minute, Features: features, Drop: drop,
		})
	}
	without := prometheus("", "")
	with := prometheus("type-and-unit-labels", "__type__|__unit__", testworld.Alertmanager(t, pages.URL).URL)
	kept := prometheus("type-and-unit-labels", "")
	awaitSample(t, kept, `avax_node_up{__type__="gauge"}`)
	awaitSample(t, kept, `ALERTS{alertname="AvaxScrapeLabelCollision"}`)
	w.play(t, sameAlerts(t, with.URL, without.URL, inside), pages)
}

// An OpenTelemetry Collector between the exporter and a Prometheus changes no alert, if it does not add labels about itself.
func TestAlertsBehindAnOpenTelemetryCollectorAreTheSame(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const interval = 5 * time.Second
	rules := seconds(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, append(w.environment, "AVAX_LISTEN="+testworld.Address(t), unhurried, "AVAX_ALERTING_INTERVAL="+interval.String())...)
	pages := testworld.Webhook(t)
	behind := func(writer map[string]any, alertmanagers ...string) *testworld.PrometheusServer {
		store := testworld.Prometheus(t, testworld.PrometheusConfig{
			RuleFiles: []string{rules}, Alertmanagers: alertmanagers, EvaluationInterval: interval, ResendDelay: time.Minute,
		})
		writer["endpoint"] = store.URL + "/api/v1/write"
		testworld.Collector(t, interval, writer, exporter.URL)
		return store
	}
	without := behind(map[string]any{"disable_scope_info": true}, testworld.Alertmanager(t, pages.URL).URL)
	with := behind(map[string]any{})
	awaitSample(t, with, `avax_node_up{otel_scope_version!=""}`) // of which the documents warn
	awaitSample(t, without, `avax:reward_at_risk_avax{node="alpha",otel_scope_version=""}`)
	w.hasTheSameAlerts(t, exporter.URL, without.URL, pages)
}

// hasTheSameAlerts runs the incidents. The engine evaluates the same rules, and must have the same alerts as the exporter.
func (w world) hasTheSameAlerts(t *testing.T, exporterURL, engineURL string, pages *testworld.Receiver) {
	t.Helper()
	w.play(t, sameAlerts(t, engineURL, exporterURL, inside), pages)
	testworld.Await(t, "all rules are evaluated", func() error { return healthy(t, engineURL) })
}

// healthy returns an error for each rule that an engine has not evaluated successfully.
func healthy(t *testing.T, engineURL string) (err error) {
	var answer struct {
		Data struct {
			Groups []struct {
				Name  string
				Rules []struct{ Name, LastError, Health string }
			}
		}
	}
	if err := getJSON(t.Context(), engineURL+"/api/v1/rules", &answer); err != nil {
		return err
	}
	evaluated := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			evaluated++
			if r.LastError != "" || r.Health != "ok" {
				err = errors.Join(err, fmt.Errorf("%s, %s: %s: %s", g.Name, r.Name, r.Health, r.LastError))
			}
		}
	}
	if evaluated < 200 {
		err = errors.Join(err, fmt.Errorf("%d rules", evaluated))
	}
	return err
}
