package e2e

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// shortRoutes writes the shipped routes, with waits of a second, as a notification file that sends all to the webhook.
func shortRoutes(t *testing.T, phone *testworld.Receiver) string {
	t.Helper()
	return testworld.File(t, string(must.Get(yaml.Marshal(testworld.ShortRoutes(t, phone.URL)))(t)))
}

// twoCauses are two causes of one effect. They begin together when alpha stops. The first ends when bravo stops too.
const twoCauses = `
groups:
  - name: nodes
    rules:
      - {alert: AvaxChainMissing, expr: 'avax_node_up{node="alpha"} == 0 unless on () avax_node_up{node="bravo"} == 0', labels: {severity: page, chain: one}}
      - {alert: AvaxChainMissing, expr: 'avax_node_up{node="alpha"} == 0', labels: {severity: page, chain: two}}
      - {alert: AvaxHealthCheckFailing, expr: 'avax_node_up{node="alpha"} == 0', for: 2s, labels: {severity: warn}}
      - {alert: AvaxNodeDown, expr: 'avax_node_up{node="bravo"} == 0', for: 6s, labels: {severity: page}}
`

// Of two causes one ends. The other still suppresses their effect, in the whole program with the shipped inhibit rules: each cause is notified once, the
// effect never.
func TestEffectOfTwoCausesIsNotNotifiedWhenOneEnds(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network, phone, environment := paging(t)
	exporter := testworld.StartExporter(t, append(environment, "AVAX_RULES_FILE="+testworld.File(t, twoCauses), "AVAX_NOTIFY_FILE="+shortRoutes(t, phone))...)
	exporter.Ready()
	network.Node("alpha").Stop()
	for _, chain := range []string{"one", "two"} {
		phone.Wait(testworld.Firing("AvaxChainMissing", "chain="+chain))
	}
	testworld.Await(t, "the effect is suppressed", func() error {
		if found := amtool(t, exporter, "alert", "query", "--inhibited", "alertname=AvaxHealthCheckFailing"); !strings.Contains(found, "AvaxHealthCheckFailing") {
			return errors.New(found)
		}
		return nil
	})
	network.Node("bravo").Stop()
	phone.Wait(testworld.Resolved("AvaxChainMissing", "chain=one"))
	phone.Wait(testworld.Firing("AvaxNodeDown", "node=bravo")) // six seconds later: groups are notified once a second
	if n := count(phone, testworld.Firing("AvaxHealthCheckFailing")); n > 0 {
		t.Errorf("the effect was notified %d times: %+v", n, phone.Alerts())
	}
	if n := count(phone, testworld.Firing("AvaxChainMissing", "chain=one")); n != 1 {
		t.Errorf("the first cause was notified %d times", n)
	}
}

// A host with the node and the exporter reboots. Both are well afterwards, so nobody is notified about the node, also if the exporter has another name
// now. The rules wait for 15 seconds at most.
func TestRebootOfARealHostNotifiesNobody(t *testing.T) {
	testworld.Full(t)
	for name, instance := range map[string]string{"same name": "exporter:9865", "another name": "recreated:9865"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network, phone, environment := paging(t)
			rules := testworld.ShortenRules(t, alerts.Rules, func(d time.Duration) time.Duration { return min(d, 15*time.Second) })
			environment = append(environment, "AVAX_COLLECTORS=up,fleet,identity,validators", "AVAX_CHAINS=C", "AVAX_METRICS_URL=",
				"AVAX_SCHEDULES=up=@every 8s;identity=@every 8s;validators=@every 8s", "AVAX_RULES_FILE="+testworld.File(t, string(rules)),
				"AVAX_NOTIFY_FILE="+shortRoutes(t, phone), "AVAX_STATE_DIR="+t.TempDir(), "AVAX_ALERTING_INTERVAL=3s")
			pending := func(e *testworld.Exporter, node string) {
				t.Helper()
				testworld.Await(t, node+" is pending", func() error {
					_, found, err := e.Get("/api/v1/alerts")
					if err == nil && !strings.Contains(found, `"alertname":"AvaxNodeDown"`) {
						err = errors.New("no alert")
					}
					return err
				})
			}
			before := testworld.StartExporter(t, environment...)
			before.Ready()
			before.Until("alpha has answered", testworld.Is(`avax_node_up{node="alpha"}`, 1))
			network.Node("alpha").Stop()
			pending(before, "alpha")
			if code := before.End(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			network.Node("alpha").Start()
			after := testworld.StartExporter(t, append(environment, "AVAX_EXTERNAL_LABELS=instance="+instance)...)
			after.Ready()
			network.Node("bravo").Stop() // its page comes after all that the reboot leads to
			page := phone.Wait(testworld.Firing("AvaxNodeDown", "node=bravo", "severity=page"))
			for _, a := range phone.Alerts() {
				if strings.Contains(fmt.Sprint(a.Labels), "alpha") {
					t.Errorf("%v before the page about bravo: %s %v", page.At.Sub(a.At), a.Status, a.Labels)
				}
			}
		})
	}
}
