package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A pair of exporters, a pair of Prometheus servers and an Alertmanager. Each is killed in turn and started again, and an incident begins
// while it is down. All incidents last until the end: each is sent once when it begins and once when it ends.
func TestPairOfExportersAlertsExactlyOnce(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	rules := seconds(t)
	w := newWorld(t, rules)
	w.environment = append(w.environment, "AVAX_NODES=alpha="+w.urls["alpha"]+",bravo="+w.urls["bravo"]+",charlie="+w.urls["charlie"])

	exporters := make([]*testworld.Exporter, 2)
	addresses := []string{testworld.Address(t), testworld.Address(t)}
	startExporter := func(i int) {
		exporters[i] = testworld.StartExporter(
			t,
			append(slices.Clone(w.environment), unhurried, "AVAX_ALERTING=off", "AVAX_ALERTMANAGERS=", "AVAX_RULES_FILE=", "AVAX_LISTEN="+addresses[i])...)
	}
	startExporter(0)
	startExporter(1)

	// Two Prometheus servers evaluate at different times: one may send an alert again that the other has just resolved. As in
	// deploy/alertmanager, the group interval is several times the resend delay.
	alertmanager := testworld.AlertmanagerWith(t, map[string]any{
		"route": map[string]any{
			"receiver": "webhook", "group_by": []string{"..."}, "group_wait": "10ms", "group_interval": "30s", "repeat_interval": "1h",
		},
		"receivers": []any{map[string]any{
			"name":            "webhook",
			"webhook_configs": []any{map[string]any{"url": w.pages.URL, "send_resolved": true}},
		}},
	})
	servers := make([]*testworld.PrometheusServer, 2)
	for i := range servers {
		servers[i] = testworld.Prometheus(t, testworld.PrometheusConfig{
			Targets:        []string{exporters[0].URL, exporters[1].URL},
			RuleFiles:      []string{rules},
			Alertmanagers:  []string{alertmanager.URL},
			ScrapeInterval: 5 * time.Second, EvaluationInterval: time.Second, // the interval is also the timeout: a busy machine must not look like a dead exporter
			Replica: fmt.Sprint(i),
		})
	}
	// allSee waits until the expression has a result in each Prometheus.
	allSee := func(expr string) {
		t.Helper()
		for _, p := range servers {
			awaitSample(t, p, expr)
		}
	}
	const bothUp = `count (avax_node_up{node="alpha"} == 1 and on (instance) up{job="avax-exporter"} == 1) == 2`
	settledAgain := func() {
		t.Helper()
		allSee(bothUp)
		allSee(`ALERTS{alertname="Settled", alertstate="firing"}`)
		allSee(`absent(ALERTS{alertname="AvaxExporterDown"})`)
	}
	settledAgain()
	w.pages.Wait(testworld.Firing("Settled"))

	bootstrap := func(node, chain string) incident {
		return incident{
			begin:  func(n *simnet.Network) { n.Node(node).SetChain(chain, simnet.Bootstrapping) },
			end:    func(n *simnet.Network) { n.Node(node).SetChain(chain, simnet.Running) },
			alert:  "AvaxChainNotBootstrapped",
			labels: []string{"node=" + node, "severity=page"},
		}
	}
	uptime := incident{
		begin:  func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(70) },
		end:    func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(99) },
		alert:  "AvaxRewardStakeLow",
		labels: []string{"node=alpha", "severity=page"},
	}
	var all []incident
	for _, c := range []struct {
		kill, start func()
		incident    incident
	}{
		{
			kill:     func() { exporters[0].End(syscall.SIGKILL) },
			start:    func() { startExporter(0) },
			incident: uptime,
		},
		{
			kill:     func() { exporters[1].End(syscall.SIGKILL) },
			start:    func() { startExporter(1) },
			incident: bootstrap("charlie", "X"),
		},
		{kill: servers[0].Kill, start: servers[0].Start, incident: bootstrap("alpha", "C")},
		{kill: servers[1].Kill, start: servers[1].Start, incident: bootstrap("bravo", "C")},
	} {
		c.kill()
		c.incident.begin(w.network)
		w.pages.Wait(testworld.Firing(c.incident.alert, c.incident.labels...))
		all = append(all, c.incident)
		c.start()
		allSee(bothUp)
		for _, i := range all { // a restarted server needs the rule's `for` until it sends an alert that began without it
			allSee(i.firing())
		}
	}

	// Alertmanager has saved its notifications a second later, before it is killed.
	written := func() float64 {
		page := must.Get(getText(t.Context(), alertmanager.URL+"/metrics"))(t)
		samples := must.Get(testworld.ParseSamples(page))(t)
		return samples["alertmanager_nflog_maintenance_total"]
	}
	before := written()
	testworld.Await(t, "Alertmanager writes what it notified", func() error {
		if n := written(); n < before+2 {
			return fmt.Errorf("written %v times, before %v", n, before)
		}
		return nil
	})
	alertmanager.Kill()
	dry := incident{
		begin:  func(n *simnet.Network) { n.SetBalance("examplel1", "echo", 0) },
		alert:  "AvaxL1ValidatorInactive",
		labels: []string{"chain=examplel1"},
	}
	dry.begin(w.network)
	allSee(dry.firing())
	alertmanager.Start()
	w.pages.Wait(testworld.Firing(dry.alert, dry.labels...))
	all = append(all, dry)

	for _, i := range all {
		if n := count(w.pages, testworld.Resolved(i.alert, i.labels...)); n > 0 {
			t.Errorf("%s %v: sent as resolved while it is active", i.alert, i.labels)
		}
	}
	for _, i := range all {
		if i.end != nil {
			i.end(w.network)
		}
	}
	for _, i := range all {
		if i.end != nil {
			w.pages.Wait(testworld.Resolved(i.alert, i.labels...))
		}
	}

	statuses := map[string][]string{} // the notifications of each alert, in order
	var pages []string
	for _, a := range w.pages.Alerts() {
		if a.Labels["instance"] != "" { // about one process: it ends with that process
			continue
		}
		key := fmt.Sprint(a.Labels)
		statuses[key] = append(statuses[key], a.Status)
		if a.Labels["severity"] == "page" && a.Status == "firing" {
			pages = append(pages, strings.Join([]string{a.Labels["alertname"], a.Labels["node"], a.Labels["chain"]}, " "))
		}
		if a.Labels["alertname"] == "AvaxWatchdog" && a.Status != "firing" {
			t.Error("watchdog sent as resolved")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(statuses)) {
		if n := statuses[key]; !slices.Equal(n, []string{"firing"}) && !slices.Equal(n, []string{"firing", "resolved"}) {
			t.Errorf("%s sent as %v", key, n)
		}
	}
	slices.Sort(pages)
	want := []string{
		"AvaxChainNotBootstrapped alpha ", "AvaxChainNotBootstrapped bravo ", "AvaxChainNotBootstrapped charlie ", "AvaxRewardStakeLow alpha ",
	}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// firing returns an expression for the firing alerts of the incident.
func (i incident) firing() string {
	matchers := []string{fmt.Sprintf("alertname=%q", i.alert), `alertstate="firing"`}
	for _, label := range i.labels {
		name, value, _ := strings.Cut(label, "=")
		matchers = append(matchers, fmt.Sprintf("%s=%q", name, value))
	}
	return "ALERTS{" + strings.Join(matchers, ",") + "}"
}

// Two networks whose nodes have the same names, each monitored by a pair of exporters under a job of its own: a fault of one network pages
// once, for this network alone.
func TestNetworksWithEqualNodeNamesAlertSeparately(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	rules := seconds(t)
	networks, jobs := map[string]world{}, map[string][]string{}
	for _, job := range []string{"one-avax-exporter", "two-avax-exporter"} {
		w := newWorld(t, rules)
		networks[job] = w
		for range 2 {
			exporter := testworld.StartExporter(t, append(slices.Clone(w.environment), unhurried, "AVAX_ALERTING=off", "AVAX_ALERTMANAGERS=", "AVAX_RULES_FILE=")...)
			jobs[job] = append(jobs[job], exporter.URL)
		}
	}
	one := networks["one-avax-exporter"]
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
		Jobs: jobs, RuleFiles: []string{rules}, Alertmanagers: []string{one.alertmanager}, ScrapeInterval: 5 * time.Second, EvaluationInterval: time.Second,
	})
	awaitSample(t, prometheus, `count(avax_node_up{node="alpha"} == 1) == 4`)

	pages := func(status string) func(testworld.Alert) bool {
		return func(a testworld.Alert) bool {
			return a.Status == status && a.Labels["alertname"] == "AvaxChainNotBootstrapped" && a.Labels["severity"] == "page"
		}
	}
	one.network.Node("alpha").SetChain("C", simnet.Bootstrapping)
	one.pages.Wait(pages("firing"))
	awaitSample(t, prometheus, `count(ALERTS{alertname="AvaxChainNotBootstrapped", severity="page", alertstate="firing"}) == 1`)
	one.network.Node("alpha").SetChain("C", simnet.Running)
	one.pages.Wait(pages("resolved"))
	got := map[string]int{}
	for _, a := range one.pages.Alerts() {
		if pages("firing")(a) || pages("resolved")(a) {
			got[a.Labels["job"]+" "+a.Labels["node"]+" "+a.Status]++
		}
	}
	if diff := cmp.Diff(map[string]int{"one-avax-exporter alpha firing": 1, "one-avax-exporter alpha resolved": 1}, got); diff != "" {
		t.Error(diff)
	}
}
