package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// Fifty validators of twenty owners: each alert reaches the receiver of its owner, through the exporter's own notifications and through
// an Alertmanager. Alerts about no owner reach the operator.
func TestAlertsAreRoutedByOwner(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const validators, owners = 50, 20
	network := simnet.New(simnet.Options{Seed: 1, Validators: validators})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	peer := func(i int) string { return fmt.Sprintf("peer%04d", i+1) }
	owner := func(i int) string { return fmt.Sprintf("owner%d", i%owners) }
	var nodes, labelled strings.Builder
	for i, name := range []string{"alpha", "bravo", "charlie"} {
		fmt.Fprintf(&nodes, "- {targets: [%q], labels: {node: %s, owner: %s}}\n", urls[name], name, owner(i))
	}
	for i := range validators {
		fmt.Fprintf(&labelled, "%s: {name: validator-%d, owner: %s}\n", network.NodeID(peer(i)), i, owner(i))
	}
	labelledRules, err := alerts.WithLabels(alerts.Rules, []string{"owner"})
	if err != nil {
		t.Fatal(err)
	}
	rules := rulesFile(t, string(testworld.ShortenRules(t, labelledRules, func(d time.Duration) time.Duration { return min(d, 5*time.Second) })))

	own, others := testworld.Webhook(t), testworld.Webhook(t)
	routes := func(url string) map[string]any {
		receivers := []any{map[string]any{"name": "operator", "webhook_configs": []any{map[string]any{"url": url}}}}
		var children []any
		for i := range owners {
			children = append(children, map[string]any{"receiver": owner(i), "matchers": []string{"owner=" + owner(i)}})
			receivers = append(receivers, map[string]any{"name": owner(i), "webhook_configs": []any{map[string]any{"url": url}}})
		}
		return map[string]any{
			"route":     map[string]any{"receiver": "operator", "group_by": []string{"alertname", "owner"}, "group_wait": "100ms", "group_interval": "1s", "repeat_interval": "1h", "routes": children},
			"receivers": receivers,
		}
	}
	alertmanager := testworld.AlertmanagerWith(t, routes(others.URL))
	text, err := json.Marshal(routes(own.URL))
	if err != nil {
		t.Fatal(err)
	}
	notify := testworld.File(t, string(text))
	testworld.StartExporter(t, unhurried+";validator_views=@every 8s", "AVAX_NODES_FILE="+testworld.File(t, nodes.String()), "AVAX_NODES=", "AVAX_VALIDATORS_FILE="+testworld.File(t, labelled.String()),
		"AVAX_VALIDATORS=all", "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=1s", "AVAX_NOTIFY_FILE="+notify, "AVAX_ALERTMANAGERS="+alertmanager.URL).Ready()

	network.Node("charlie").SetChain("C", simnet.Bootstrapping)
	want := map[string]string{} // receiver by what the alert is about
	want["charlie"] = owner(2)
	for _, i := range []int{3, 19, 24, 49} {
		network.Disconnect(peer(i))
		want[network.NodeID(peer(i))] = owner(i)
	}
	for way, phone := range map[string]*testworld.Receiver{"exporter": own, "Alertmanager": others} {
		for subject, receiver := range want {
			a := phone.Wait(func(a testworld.Alert) bool {
				return a.Status == "firing" && (a.Labels["node"] == subject && a.Labels["alertname"] == "AvaxChainNotBootstrapped" || a.Labels["node_id"] == subject && a.Labels["alertname"] == "AvaxValidatorDisconnected")
			})
			if a.Receiver != receiver || a.Labels["owner"] != receiver {
				t.Errorf("%s: %s: %s of %s went to %s, want %s", way, subject, a.Labels["alertname"], a.Labels["owner"], a.Receiver, receiver)
			}
			if a.Labels["node_id"] == subject && !strings.HasPrefix(a.Annotations["summary"], "validator-") {
				t.Errorf("%s: no name in %q", way, a.Annotations["summary"])
			}
		}
		for _, a := range phone.Alerts() {
			if home := a.Labels["owner"]; home != a.Receiver && (home != "none" || a.Receiver != "operator") {
				t.Errorf("%s: an alert of %s went to %s: %v", way, home, a.Receiver, a.Labels)
			}
		}
	}
}
