package alertmanager_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const file = "alertmanager.yml"

// rules returns the labels of every alert, including its name.
func rules(t *testing.T) (all []map[string]string) {
	t.Helper()
	for _, r := range testworld.Rules(t, alerts.Rules, alerts.Companion) {
		if r.Alert != "" {
			found := maps.Clone(r.Labels)
			found["alertname"] = r.Alert
			all = append(all, found)
		}
	}
	if len(all) < 50 {
		t.Fatalf("%d alerts found", len(all))
	}
	return all
}

type inhibition struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string
}

func inhibitions(t *testing.T) []inhibition {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	var config struct {
		Rules []inhibition `yaml:"inhibit_rules"`
	}
	must.Do(t, yaml.Unmarshal(text, &config))
	return config.Rules
}

// matching returns the rules whose alerts may match: labels that a rule does not set may have any value.
func matching(t *testing.T, matchers []string, rules []map[string]string) []map[string]string {
	t.Helper()
	parsed, err := testworld.PromQL.ParseMetricSelector("{" + strings.Join(matchers, ",") + "}")
	if err != nil {
		t.Fatalf("%q: %v", matchers, err)
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rule map[string]string) bool {
		return slices.ContainsFunc(parsed, func(m *labels.Matcher) bool {
			value, set := rule[m.Name]
			own := slices.Contains([]string{"within", "scope", "reason", "unit"}, m.Name) // labels that only rules set
			return set && !m.Matches(value) || !set && own && !m.Matches("")
		})
	})
}

func TestAmtoolAcceptsEveryReceiver(t *testing.T) {
	amtool(t, "check-config", file)

	text := must.Get(os.ReadFile(file))(t)
	commented := regexp.MustCompile(`(?m)^    #(\w|  )`)
	if n := len(commented.FindAll(text, -1)); n < 4 {
		t.Fatalf("%d commented lines of receivers", n)
	}
	used := filepath.Join(t.TempDir(), file)
	must.Do(t, os.WriteFile(used, commented.ReplaceAll(text, []byte("    $1")), 0o600))
	amtool(t, "check-config", used)
}

// A separate Alertmanager knows fewer functions than the library of the exporter.
func TestAlertmanagerRendersEveryTemplate(t *testing.T) {
	text := must.Get(os.ReadFile("avax.tmpl"))(t)
	names := regexp.MustCompile(`define "([a-z0-9_A-Z]+\.default\.[a-zA-Z_]+|avax\.text)"`).FindAllSubmatch(text, -1)
	if len(names) < 30 {
		t.Fatalf("%d templates", len(names))
	}
	for _, found := range names {
		name := string(found[1])
		if name == "pagerduty.default.instances" {
			continue // its argument is a list of alerts
		}
		kind := "text"
		if name == "email.default.html" || name == "telegram.default.message" {
			kind = "html"
		}
		if out := amtool(t, "template", "render", "--template.glob=avax.tmpl", "--template.type="+kind, `--template.text={{ template "`+name+`" . }}`); out == "" {
			t.Errorf("%s is empty", name)
		}
	}
}

func TestEverySeverityHasARoute(t *testing.T) {
	severities := map[string]bool{}
	for _, r := range rules(t) {
		severities[r["severity"]] = true
	}
	for severity := range severities {
		want := severity
		if severity == "none" {
			want = "watchdog"
		}
		if got := strings.TrimSpace(amtool(t, "config", "routes", "test", "--config.file="+file, "severity="+severity)); got != want {
			t.Errorf("severity %s routed to %q, want %q", severity, got, want)
		}
	}
}

func amtool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "amtool"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("amtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

var alertName = regexp.MustCompile(`^alertname(=~|=|!~|!=)"(.*)"$`)

// An inhibition with a misspelled name would have no effect.
func TestInhibitionsUseExistingAlerts(t *testing.T) {
	all := rules(t)
	for _, i := range inhibitions(t) {
		for _, m := range slices.Concat(i.Source, i.Target) {
			found := alertName.FindStringSubmatch(m)
			if found == nil {
				continue
			}
			for _, pattern := range testworld.Alternatives("(" + found[2] + ")") {
				one := regexp.MustCompile("^(?:" + pattern + ")$")
				if !slices.ContainsFunc(all, func(r map[string]string) bool { return one.MatchString(r["alertname"]) }) {
					t.Errorf("%s: unknown alert %s", m, pattern)
				}
			}
		}
	}
}

func TestNoInhibitionSuppressesAWorseAlert(t *testing.T) {
	rank := map[string]int{"info": 1, "warn": 2, "page": 3, "none": 4}
	all := rules(t)
	for _, i := range inhibitions(t) {
		sources, targets := matching(t, i.Source, all), matching(t, i.Target, all)
		if len(sources) == 0 || len(targets) == 0 {
			t.Errorf("%q suppresses no alert", i.Source)
		}
		sameAlert := slices.Contains(i.Equal, "alertname")
		for _, source := range sources {
			for _, target := range targets {
				if rank[source["severity"]] < rank[target["severity"]] && (!sameAlert || source["alertname"] == target["alertname"]) {
					t.Errorf("%s (%s) suppresses %s (%s)", source["alertname"], source["severity"], target["alertname"], target["severity"])
				}
			}
		}
	}
}

// Nodes of two jobs may have one name. Only alerts of the companion rules come from other jobs.
func TestInhibitionsOfOwnAlertsJoinTheJob(t *testing.T) {
	for _, i := range inhibitions(t) {
		if slices.Contains(i.Equal, "job") {
			continue
		}
		for _, target := range matching(t, i.Target, rules(t)) {
			if strings.HasPrefix(target["alertname"], "Avax") {
				t.Errorf("%q suppresses %s of another job", i.Source, target["alertname"])
			}
		}
	}
}

// alert is the labels of an alert, as name=value.
type alert []string

func (a alert) labels() map[string]string {
	all := map[string]string{}
	for _, l := range a {
		name, value, _ := strings.Cut(l, "=")
		all[name] = value
	}
	return all
}

// Each case has its own label job, so that one Alertmanager can check all.
var cases = []struct {
	name         string
	cause        alert
	effects      []alert
	independents []alert
}{
	{
		name:  "node down",
		cause: alert{"alertname=AvaxNodeDown", "severity=page", "node=alpha"},
		effects: []alert{
			{"alertname=AvaxNodeDown", "severity=warn", "node=alpha"},
			{"alertname=AvaxNodeFlapping", "severity=warn", "node=alpha"},
			{"alertname=AvaxConnectedStakeLow", "severity=page", "node=alpha"},
			{"alertname=AvaxHeadStale", "severity=page", "node=alpha", "chain=C"},
			{"alertname=AvaxNodeDiskLow", "severity=page", "node=alpha", "check=diskspace"},
			{"alertname=AvalancheGoHealthFailing", "severity=warn", "instance=10.0.0.1:9650", "node=alpha", "check=health"},
		},
		independents: []alert{
			{"alertname=AvaxConnectedStakeLow", "severity=page", "node=charlie"},
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=L1"},
			{"alertname=AvalancheGoHealthFailing", "severity=warn", "instance=10.0.0.2:9650", "node=bravo", "check=health"},
			{"alertname=AvalancheGoHealthFailing", "severity=warn", "instance=10.0.0.3:9650", "check=health"},
		},
	},
	{
		name:  "exporter down, with its nodes",
		cause: alert{"alertname=AvaxExporterDown", "severity=page"},
		effects: []alert{
			{"alertname=AvaxExporterDown", "severity=warn", "instance=e1"},
		},
		independents: []alert{
			{"alertname=AvaxWatchdog", "severity=none"},
			{"alertname=AvaxNodeDown", "severity=page", "node=alpha"},
		},
	},
	{
		name:  "a rack of nodes down",
		cause: alert{"alertname=AvaxNodeDown", "severity=page", "scope=several"},
		independents: []alert{
			{"alertname=AvaxNodeDown", "severity=page", "node=alpha"},
			{"alertname=AvaxNodeDiskLow", "severity=page", "node=bravo"},
		},
	},
	{
		name:  "a rack of nodes down, and every alert without node has the external label node, which is a node's name too",
		cause: alert{"alertname=AvaxNodeDown", "severity=page", "scope=several", "node=alpha"},
		independents: []alert{
			{"alertname=AvaxNodeDiskLow", "severity=page", "node=alpha"},
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=L2", "node=alpha"},
			{"alertname=AvaxL1ConnectedWeightLow", "severity=page", "chain=L1", "node=alpha"},
		},
	},
	{
		name:  "a node down, and every alert without node has the external label node, which is its name",
		cause: alert{"alertname=AvaxNodeDown", "severity=page", "node=alpha"},
		independents: []alert{
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=L2", "node=alpha"},
			{"alertname=AvaxL1ConnectedWeightLow", "severity=page", "chain=L1", "node=alpha"},
		},
	},
	{
		name:  "the primary network halts",
		cause: alert{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=C"},
		effects: []alert{
			{"alertname=AvaxHeadStale", "severity=page", "node=alpha", "chain=C"},
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=P"},
		},
		independents: []alert{
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=L1"},
			{"alertname=AvaxHeadStale", "severity=page", "node=alpha", "chain=L2"},
		},
	},
	{
		name:  "inactive L1 validator",
		cause: alert{"alertname=AvaxL1ValidatorInactive", "severity=page", "chain=L1", "validation_id=v1", "node_id=n1"},
		effects: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=24h", "chain=L1", "validation_id=v1", "node_id=n1"},
		},
		independents: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=24h", "chain=L1", "validation_id=v2", "node_id=n2"},
		},
	},
	{
		name:  "validator without balance within a day",
		cause: alert{"alertname=AvaxL1RunwayLow", "severity=page", "within=24h", "chain=L1", "validation_id=v1", "node_id=n1"},
		effects: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=7d", "chain=L1", "validation_id=v1", "node_id=n1"},
			{"alertname=AvaxL1RunwayLow", "severity=warn", "within=30d", "chain=L1", "validation_id=v1", "node_id=n1"},
		},
		independents: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=7d", "chain=L1", "validation_id=v2", "node_id=n2"},
			{"alertname=AvaxL1QuorumLossForecast", "severity=warn", "chain=L1"},
		},
	},
	{
		name:  "disk nearly full",
		cause: alert{"alertname=AvaxNodeDiskLow", "severity=page", "node=alpha"},
		effects: []alert{
			{"alertname=AvalancheGoDiskLow", "severity=warn", "instance=10.0.0.1:9650", "node=alpha"},
			{"alertname=AvalancheGoHealthFailing", "severity=warn", "instance=10.0.0.1:9650", "node=alpha", "check=health"},
		},
		independents: []alert{
			{"alertname=AvalancheGoDiskLow", "severity=warn", "instance=10.0.0.2:9650", "node=bravo"},
			{"alertname=AvalancheGoBadBlocks", "severity=info", "instance=10.0.0.1:9650", "node=alpha", "chain=C"},
		},
	},
	{
		name:  "most of the stake disconnected",
		cause: alert{"alertname=AvaxConnectedStakeLow", "severity=page", "node=alpha"},
		effects: []alert{
			{"alertname=AvaxPeersLow", "severity=warn", "node=alpha"},
			{"alertname=AvaxHeadStale", "severity=page", "node=alpha", "chain=C"},
			{"alertname=AvalancheGoQueryFailures", "severity=warn", "instance=10.0.0.1:9650", "node=alpha", "chain=C"},
		},
		independents: []alert{
			{"alertname=AvaxRewardStakeLow", "severity=page", "node=alpha"},
		},
	},
	{
		name:  "little of the stake disconnected",
		cause: alert{"alertname=AvaxConnectedStakeLow", "severity=warn", "node=alpha"},
		effects: []alert{
			{"alertname=AvaxPeersLow", "severity=warn", "node=alpha"},
		},
		independents: []alert{
			{"alertname=AvaxHeadStale", "severity=page", "node=alpha", "chain=C"},
		},
	},
	{
		name:  "lost reward",
		cause: alert{"alertname=AvaxRewardUnreachable", "severity=page", "node_id=n1"},
		effects: []alert{
			{"alertname=AvaxDowntimeBudgetLow", "severity=warn", "node_id=n1"},
			{"alertname=AvaxDowntimeBudgetBurn", "severity=page", "node_id=n1"},
		},
		independents: []alert{
			{"alertname=AvaxDowntimeBudgetLow", "severity=warn", "node_id=n2"},
			{"alertname=AvaxStakeEndsSoon", "severity=warn", "within=24h", "node_id=n1"},
		},
	},
	{
		name:  "no node connected to the stake",
		cause: alert{"alertname=AvaxConnectedStakeLow", "severity=page", "scope=all"},
		effects: []alert{
			{"alertname=AvaxConnectedStakeLow", "severity=page", "node=alpha"},
			{"alertname=AvaxConnectedStakeLow", "severity=warn", "node=bravo"},
			{"alertname=AvaxNoInboundPeers", "severity=warn", "node=alpha"}, // suppressed itself
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=C"},
			{"alertname=AvaxL1ConnectedWeightLow", "severity=page", "chain=L1"},
		},
		independents: []alert{
			{"alertname=AvaxNodeDown", "severity=page", "node=charlie"},
		},
	},
	{
		name:  "L1 without connected validators",
		cause: alert{"alertname=AvaxL1ConnectedWeightLow", "severity=page", "chain=L1"},
		effects: []alert{
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=L1"},
			{"alertname=AvaxL1ValidatorDisconnected", "severity=warn", "chain=L1", "validation_id=v1", "node_id=n1"},
		},
		independents: []alert{
			{"alertname=AvaxL1ConnectedWeightLow", "severity=page", "scope=node", "node=alpha", "chain=L2"},
			{"alertname=AvaxL1ValidatorInactive", "severity=page", "chain=L1", "validation_id=v2", "node_id=n2"},
			{"alertname=AvaxHeadStale", "severity=page", "scope=all", "chain=C"},
		},
	},
	{
		name:  "L1 whose balances run out",
		cause: alert{"alertname=AvaxL1QuorumLossForecast", "severity=page", "chain=L1"},
		effects: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=7d", "chain=L1", "validation_id=v1", "node_id=n1"},
		},
		independents: []alert{
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=24h", "chain=L1", "validation_id=v1", "node_id=n2"},
			{"alertname=AvaxL1RunwayLow", "severity=page", "within=7d", "chain=L2", "validation_id=v1", "node_id=n3"},
		},
	},
	{
		name:  "relayer without deliveries",
		cause: alert{"alertname=AvaxICMUndelivered", "severity=page", "instance=r1", "source_chain_id=C", "destination_chain_id=L1"},
		effects: []alert{
			{"alertname=ICMRelayerFailures", "severity=warn", "instance=r1", "source_chain_id=C", "destination_chain_id=L1", "failure_reason=gas"},
		},
		independents: []alert{
			{"alertname=ICMRelayerFailures", "severity=warn", "instance=r1", "source_chain_id=C", "destination_chain_id=L2", "failure_reason=gas"},
		},
	},
}

// siteLabels distinguish sites. A page about one site suppresses nothing on another.
var siteLabels = []string{"cluster", "datacenter", "environment", "region", "site", "zone", "namespace"}

func TestInhibitionsSuppressOnlyEffects(t *testing.T) {
	t.Parallel()
	url := testworld.AlertmanagerWith(t, config(t, testworld.Webhook(t).URL)).URL
	for i, c := range cases {
		job := fmt.Sprintf("job=case%d", i)
		own := func(a alert) alert {
			if strings.HasPrefix(a[0], "alertname=AvalancheGo") && !slices.ContainsFunc(c.cause,
				func(l string) bool { return strings.HasPrefix(l, "alertname=AvalancheGo") }) {
				return append(slices.Clone(a), "job=avalanchego")
			}
			return append(slices.Clone(a), job)
		}
		at := func(site string, a alert) alert { return append(own(a), siteLabels[i%len(siteLabels)]+"="+site) }
		sent := []alert{at("eu", c.cause)}
		for _, a := range slices.Concat(c.effects, c.independents) {
			sent = append(sent, at("eu", a))
		}
		for k, a := range c.effects {
			// Metrics of the node itself may be scraped in another namespace than the exporter's.
			if siteLabels[i%len(siteLabels)] != "namespace" {
				sent = append(sent, at(fmt.Sprint("us", k), a)) // effects may suppress each other
			}
		}
		post(t, url, sent)
		for i, a := range sent {
			want := "active"
			if 1 <= i && i <= len(c.effects) {
				want = "suppressed"
			}
			awaitState(t, url, a, want, c.name)
		}
		resolve(t, url, sent)
	}
}

// config returns the example, with every receiver sending to the webhook without waiting.
func config(t *testing.T, webhookURL string) map[string]any {
	t.Helper()
	config := testworld.ShippedRoutes(t, webhookURL)
	route := config["route"].(map[string]any)
	route["group_wait"], route["group_interval"] = "300ms", "300ms"
	return config
}

func TestDownNodePagesOnce(t *testing.T) {
	t.Parallel()
	received := testworld.Webhook(t)
	url := testworld.AlertmanagerWith(t, config(t, received.URL)).URL
	down := cases[0]
	post(t, url, append([]alert{down.cause}, down.effects...))
	received.Wait(testworld.Firing("AvaxNodeDown"))

	// Wait for the notification of a later alert. If the effects were not suppressed, they would have been sent before it.
	post(t, url, []alert{{"alertname=AvaxPeersLow", "severity=warn", "node=bravo"}})
	received.Wait(testworld.Firing("AvaxPeersLow"))
	for _, a := range received.Alerts() {
		if a.Labels["node"] == "alpha" && (a.Labels["alertname"] != "AvaxNodeDown" || a.Labels["severity"] != "page") {
			t.Errorf("sent although its source was active: %v", a.Labels)
		}
	}
}

func post(t *testing.T, url string, alerts []alert) { send(t, url, alerts, time.Time{}) }

func resolve(t *testing.T, url string, alerts []alert) { send(t, url, alerts, time.Now()) }

func send(t *testing.T, url string, alerts []alert, ends time.Time) {
	t.Helper()
	var all []map[string]any
	for _, a := range alerts {
		one := map[string]any{"labels": a.labels()}
		if !ends.IsZero() {
			one["endsAt"] = ends.Format(time.RFC3339Nano)
		}
		all = append(all, one)
	}
	body := must.Get(json.Marshal(all))(t)
	response := must.Get(http.Post(url+"/api/v2/alerts", "application/json", bytes.NewReader(body)))(t)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("alerts: %s", response.Status)
	}
}

// awaitState waits until the alert has this state in Alertmanager, which processes alerts and inhibitions one after the other.
func awaitState(t *testing.T, url string, a alert, want, name string) {
	t.Helper()
	testworld.Await(t, name, func() error {
		if got := state(t, url, a); got != want {
			return fmt.Errorf("%v is %s, want %s", a, got, want)
		}
		return nil
	})
}

func state(t *testing.T, url string, a alert) string {
	t.Helper()
	response := must.Get(http.Get(url + "/api/v2/alerts"))(t)
	defer response.Body.Close()
	var all []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	must.Do(t, json.NewDecoder(response.Body).Decode(&all))
	for _, found := range all {
		if maps.Equal(found.Labels, a.labels()) {
			return found.Status.State
		}
	}
	return "unknown"
}
