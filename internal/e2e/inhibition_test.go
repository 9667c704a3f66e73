package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const causeAndEffect = `
groups:
  - name: test
    rules:
      - {alert: AvaxCause, expr: avax_node_up == 1, labels: {severity: page}, annotations: {summary: the cause}}
      - {alert: AvaxEffect, expr: avax_node_up == 1, labels: {severity: page}, annotations: {summary: the effect}}
`

const withoutInhibition = `
route: {receiver: slack}
receivers: [{name: slack, slack_configs: [{api_url: 'https://hooks.example.org/secret', channel: '#alerts'}]}]
`

const withInhibition = withoutInhibition + `
inhibit_rules: [{source_matchers: ['alertname="AvaxCause"'], target_matchers: ['alertname="AvaxEffect"'], equal: [node]}]
`

const downAndStale = `
groups:
  - name: nodes
    rules:
      - {alert: AvaxNodeDown, expr: avax_node_up == 0, labels: {severity: page}}
      - {alert: AvaxHeadStale, expr: avax_node_up == 0, for: 3s, labels: {severity: page, chain: C}}
      - {alert: AvaxHeadStale, expr: avax_node_up == 0, for: 5s, labels: {severity: page, chain: P}}
`

// An Alertmanager with the shipped file forgets at a restart what inhibits what, and does not wait for an alert that began earlier. The exporter sends
// causes first, so no effect of a known cause is notified.
func TestRestartedAlertmanagerNotifiesOfNoEffect(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	w := newWorld(t, testworld.File(t, downAndStale))
	alertmanager := testworld.AlertmanagerWith(t, testworld.ShortRoutes(t, w.pages.URL))
	testworld.StartExporter(t, append(w.environment, "AVAX_COLLECTORS=up", "AVAX_ALERTMANAGERS="+alertmanager.URL)...)
	suppressed := func() {
		t.Helper()
		testworld.Await(t, "both effects are suppressed", func() error {
			var alerts []struct {
				Labels map[string]string
				Status struct{ InhibitedBy []string }
			}
			if err := getJSON(t.Context(), alertmanager.URL+"/api/v2/alerts", &alerts); err != nil {
				return err
			}
			n := 0
			for _, a := range alerts {
				if a.Labels["alertname"] == "AvaxHeadStale" && len(a.Status.InhibitedBy) > 0 {
					n++
				}
			}
			if n < 2 {
				return fmt.Errorf("%d suppressed: %+v", n, alerts)
			}
			return nil
		})
	}
	w.network.Node("alpha").Stop()
	w.pages.Wait(testworld.Firing("AvaxNodeDown", "node=alpha"))
	suppressed()
	for range 2 { // the exporter sends again within a minute
		alertmanager.Stop()
		alertmanager.Start()
		suppressed()
	}
	w.network.Node("bravo").Stop() // its page comes after all that the restarts led to
	w.pages.Wait(testworld.Firing("AvaxNodeDown", "node=bravo"))
	if n := count(w.pages, testworld.Firing("AvaxHeadStale")); n > 0 {
		t.Errorf("an effect was notified %d times: %+v", n, w.pages.Alerts())
	}
}

// The page suppresses what the Alertmanager suppresses, with the rules that it uses now, whether the exporter or a Prometheus evaluates
// the alerts. If no Alertmanager answers, the page says so.
func TestPageAppliesTheInhibitRulesOfAlertmanager(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testworld.File(t, causeAndEffect))
	file := testworld.File(t, withInhibition)
	alertmanager := testworld.AlertmanagerFile(t, file)
	environment := append(w.environment, "AVAX_ALERTMANAGERS="+alertmanager.URL)
	exporter := testworld.StartExporter(t, environment...)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{exporter.URL}, RuleFiles: []string{testworld.File(t, causeAndEffect)}})
	page := map[string]*testworld.Exporter{
		"exporter":   exporter,
		"Prometheus": testworld.StartExporter(t, append(environment, "AVAX_RULES_FILE=", "AVAX_ALERTING=off", "AVAX_PROMETHEUS_URL="+prometheus.URL)...),
	}
	shows := func(wants ...string) {
		t.Helper()
		for name, e := range page {
			testworld.Await(t, name, func() error {
				_, page, err := e.Get("/")
				for _, want := range wants {
					if text, not := strings.CutPrefix(want, "!"); strings.Contains(page, text) == not {
						err = errors.Join(err, fmt.Errorf("page without %s", want))
					}
				}
				return err
			})
		}
	}
	reload := func(config string) {
		t.Helper()
		must.Do(t, os.WriteFile(file, []byte(config), 0o600))
		answer, err := http.Post(alertmanager.URL+"/-/reload", "", nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", answer, err)
		}
		_ = answer.Body.Close()
	}
	const both, suppressed, warning = `id="AvaxEffect"`, "effects: AvaxEffect (2)", "The inhibit rules of Alertmanager cannot be read"
	shows(suppressed, "!"+both, "!"+warning)
	reload(withoutInhibition)
	shows(both, "!"+suppressed)
	reload(withInhibition)
	shows(suppressed, "!"+both)
	alertmanager.Stop()
	shows(suppressed, warning, "connection refused")
}
