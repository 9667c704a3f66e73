package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Fifty validators of twenty owners: each alert reaches the receiver of its owner, through the exporter's own notifications and through
// an Alertmanager, once when it begins and once when it ends, and reaches nobody else. Alerts about no owner reach the operator.
func TestAlertsAreRoutedByOwner(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const validators, owners = 50, 20
	network := simnet.New(simnet.Options{Seed: 1, Validators: validators})
	urls := testworld.Serve(t, network)
	peer := func(i int) string { return fmt.Sprintf("peer%04d", i+1) }
	owner := func(i int) string { return fmt.Sprintf("owner%d", i%owners) }
	var nodes, labelled strings.Builder
	for i, name := range []string{"alpha", "bravo", "charlie"} {
		fmt.Fprintf(&nodes, "- {targets: [%q], labels: {node: %s, owner: %s}}\n", urls[name], name, owner(i))
	}
	for i := range validators {
		fmt.Fprintf(&labelled, "%s: {name: validator-%d, owner: %s}\n", network.NodeID(peer(i)), i, owner(i))
	}
	labelledRules := must.Get(alerts.With(alerts.Options{Labels: []string{"owner"}}))(t)
	rules := testworld.File(t, string(testworld.ShortenRules(t, labelledRules, func(d time.Duration) time.Duration { return min(d, 5*time.Second) })))

	own, others := testworld.Webhook(t), testworld.Webhook(t)
	routes := func(url string) map[string]any {
		receivers := []any{map[string]any{"name": "operator", "webhook_configs": []any{map[string]any{"url": url}}}}
		var children []any
		for i := range owners {
			children = append(children, map[string]any{"receiver": owner(i), "matchers": []string{"owner=" + owner(i)}})
			receivers = append(receivers, map[string]any{"name": owner(i), "webhook_configs": []any{map[string]any{"url": url}}})
		}
		return map[string]any{
			"route": map[string]any{
				"receiver":        "operator",
				"group_by":        []string{"..."},
				"group_wait":      "100ms",
				"group_interval":  "1s",
				"repeat_interval": "1h",
				"routes":          children,
			},
			"receivers": receivers,
		}
	}
	alertmanager := testworld.AlertmanagerWith(t, routes(others.URL))
	text := must.Get(json.Marshal(routes(own.URL)))(t)
	notify := testworld.File(t, string(text))
	testworld.StartExporter(t, unhurried+";validator_views=@every 8s", "AVAX_NODES_FILE="+testworld.File(t, nodes.String()), "AVAX_NODES=", "AVAX_VALIDATORS_FILE="+testworld.File(t, labelled.String()),
		"AVAX_VALIDATORS=all", "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=1s", "AVAX_NOTIFY_FILE="+notify, "AVAX_ALERTMANAGERS="+alertmanager.URL).
		Ready()

	network.Node("charlie").SetChain("C", simnet.Bootstrapping)
	incidents := map[string]string{"AvaxChainNotBootstrapped charlie": owner(2)} // owner by alert
	disconnected := []int{3, 19, 20, 24, 26, 27, 48, 49}                         // one validator of each of eight owners
	for _, i := range disconnected {
		network.Disconnect(peer(i))
		incidents["AvaxValidatorDisconnected "+network.NodeID(peer(i))] = owner(i)
	}
	names := []string{"AvaxChainNotBootstrapped", "AvaxValidatorDisconnected"}
	alertOf := func(a testworld.Alert) string {
		return a.Labels["alertname"] + " " + cmp.Or(a.Labels["node"], a.Labels["node_id"])
	}
	ways := map[string]*testworld.Receiver{"exporter": own, "Alertmanager": others}
	await := func(status string) {
		for _, phone := range ways {
			for alert := range incidents {
				phone.Wait(func(a testworld.Alert) bool {
					return a.Status == status && a.Labels["severity"] == "page" && alertOf(a) == alert
				})
			}
		}
	}
	await("firing")
	network.Node("charlie").SetChain("C", simnet.Running)
	for _, i := range disconnected {
		network.Reconnect(peer(i))
	}
	await("resolved")

	want := map[string][]string{} // what each receiver gets of these incidents
	for alert, of := range incidents {
		want[of] = append(want[of], alert+" firing", alert+" resolved")
	}
	for _, alerts := range want {
		slices.Sort(alerts)
	}
	for way, phone := range ways {
		got := map[string][]string{}
		for _, a := range phone.Alerts() {
			home := a.Labels["owner"]
			if home == "none" {
				home = "operator"
			}
			if a.Receiver != home {
				t.Errorf("%s: an alert of %s went to %s: %v", way, home, a.Receiver, a.Labels)
			}
			if slices.Contains(names, a.Labels["alertname"]) && a.Labels["severity"] == "page" {
				got[a.Receiver] = append(got[a.Receiver], alertOf(a)+" "+a.Status)
			}
			if a.Labels["alertname"] == "AvaxValidatorDisconnected" && !strings.HasPrefix(a.Annotations["summary"], "validator-") {
				t.Errorf("%s: no name in %q", way, a.Annotations["summary"])
			}
		}
		for _, alerts := range got {
			slices.Sort(alerts)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: alerts by receiver (-want +got):\n%s", way, diff)
		}
	}
}
