package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// The time budget of docs/rules.md, with the shipped rules and the default periods, as it is measured at the receivers: of the file that `notify init`
// prints, of an Alertmanager with the shipped configuration, and of such an Alertmanager behind a Prometheus that loses one scrape in four.
func TestNotificationsArriveWithinTheTimeBudget(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	members := []string{"member1", "member2", "member3", "member4", "member5", "member6"}
	for _, i := range []struct {
		what       string
		before     func(*testing.T, *testworld.Exporter, *simnet.Network)
		begin, end func(*simnet.Network)
		alert      string
		labels     []string // name=value
		paged      time.Duration
		resolved   time.Duration // two minutes if zero
	}{
		{
			what:  "the node of a validator stops",
			begin: func(n *simnet.Network) { n.Node("bravo").Stop() },
			end:   func(n *simnet.Network) { n.Node("bravo").Start() },
			alert: "AvaxNodeDown", labels: []string{"node=bravo"}, paged: 5*time.Minute + 30*time.Second,
		},
		{
			what:   "the node of a validator stops, which has restarted three times",
			before: restartThrice,
			begin:  func(n *simnet.Network) { n.Node("bravo").Stop() },
			end:    func(n *simnet.Network) { n.Node("bravo").Start() },
			alert:  "AvaxNodeDown", labels: []string{"node=bravo"}, paged: 2*time.Minute + 30*time.Second,
		},
		{
			what: "an L1 loses its quorum",
			begin: func(n *simnet.Network) {
				for _, m := range members[:3] {
					n.Disconnect(m)
				}
			},
			end: func(n *simnet.Network) {
				for _, m := range members[:3] {
					n.Reconnect(m)
				}
			},
			alert: "AvaxL1ConnectedWeightLow", labels: []string{"chain=examplel1"}, paged: 4*time.Minute + 45*time.Second,
			resolved: 6 * time.Minute, // it keeps firing until the first blocks
		},
		{
			what:  "the C-Chain stands still on a node",
			begin: func(n *simnet.Network) { n.Node("bravo").FallBehind("C") },
			end:   func(n *simnet.Network) { n.Node("bravo").CatchUp("C") },
			alert: "AvaxHeadStale", labels: []string{"node=bravo", "chain=C"}, paged: 4 * time.Minute,
		},
	} {
		t.Run(strings.ReplaceAll(i.what, " ", "_"), func(t *testing.T) {
			t.Parallel()
			network := simnet.New(simnet.Options{Seed: 1, Validators: 60})
			for n := range 10 {
				network.AddValidator(fmt.Sprintf("large%d", n), 3_000_000e9, 300*24*time.Hour)
			}
			for _, m := range members {
				network.AddL1Validator("examplel1", m, 150, 100e9)
			}
			urls := testworld.Serve(t, network)
			inside, outside, scraped := testworld.Webhook(t), testworld.Webhook(t), testworld.Webhook(t)
			ways := map[string]*testworld.Receiver{"notify init": inside, "Alertmanager": outside, "Prometheus": scraped}
			nodes := make([]string, 0, 4)
			for _, name := range []string{"alpha", "bravo", "charlie", "foxtrot"} {
				nodes = append(nodes, name+"="+urls[name])
			}
			exporter := testworld.StartExporter(
				t,
				"AVAX_TRUST_LOOPBACK=true",
				"AVAX_NODES="+strings.Join(nodes, ","),
				"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID, // not examplepoa, whose quorum bravo costs
				"AVAX_NOTIFY_FILE="+printedFile(t, inside.URL),
				"AVAX_ALERTMANAGERS="+testworld.AlertmanagerWith(t, testworld.ShippedRoutes(t, outside.URL)).URL,
			)
			testworld.Prometheus(t, testworld.PrometheusConfig{
				Targets: []string{lossy(t, exporter.URL)}, RuleFiles: []string{testworld.File(t, string(alerts.Rules))},
				Alertmanagers:  []string{testworld.AlertmanagerWith(t, testworld.ShippedRoutes(t, scraped.URL)).URL},
				ScrapeInterval: 15 * time.Second, EvaluationInterval: 15 * time.Second, ResendDelay: time.Minute,
			})
			exporter.Until("healthy for two minutes", func(s testworld.Samples) error {
				weight := s[`avax_l1_weight{chain="examplel1"}`]
				if connected := s[`avax_l1_connected_weight{node="alpha",chain="examplel1"}`]; connected == 0 || connected < 0.8*weight {
					return fmt.Errorf("%v of %v connected", connected, weight)
				}
				if lasts := s["avax_exporter_history_seconds"]; lasts < 120 {
					return fmt.Errorf("rules are evaluated for %v s", lasts)
				}
				return nil
			})

			if i.before != nil {
				i.before(t, exporter, network)
			}
			page := append(slices.Clone(i.labels), "severity=page")
			began := time.Now()
			i.begin(network)
			for way, r := range ways {
				inTime(t, way+": page", r.Wait(testworld.Firing(i.alert, page...)).At.Sub(began), i.paged)
			}
			ended := time.Now()
			i.end(network)
			for way, r := range ways {
				inTime(t, way+": resolved", r.Wait(testworld.Resolved(i.alert, page...)).At.Sub(ended), cmp.Or(i.resolved, 2*time.Minute))
				for _, a := range r.Alerts() {
					if a.Status == "firing" && a.Labels["severity"] == "page" && a.Labels["alertname"] != i.alert {
						t.Errorf("%s: %s paged as well: %v", way, a.Labels["alertname"], a.Labels)
					}
					if a.Labels["severity"] == "warn" && a.Labels["alertname"] == i.alert {
						t.Errorf("%s: a message of its own before the page: %v", way, a.Labels)
					}
				}
			}
		})
	}
}

// restartThrice restarts bravo as long as the exporter needs to see it, three times.
func restartThrice(t *testing.T, e *testworld.Exporter, n *simnet.Network) {
	t.Helper()
	for range 3 {
		n.Node("bravo").Stop()
		e.Until("bravo is down", testworld.Is(`avax_node_up{node="bravo"}`, 0))
		n.Node("bravo").Start()
		e.Until("bravo is up", testworld.Is(`avax_node_up{node="bravo"}`, 1))
	}
	e.Until("the restarts are known", func(s testworld.Samples) error {
		longest, known := s[`avax_node_longest_restart_seconds{node="bravo"}`]
		if !known || longest > 37 {
			return fmt.Errorf("longest restart: %v s", longest)
		}
		return nil
	})
}

// inTime compares a delay with the budget, and logs it.
func inTime(t *testing.T, what string, took, budget time.Duration) {
	t.Helper()
	t.Logf("%s after %s, budget %s", what, took.Round(time.Second), budget)
	if took > budget {
		t.Errorf("%s after %s, want at most %s", what, took.Round(time.Second), budget)
	}
}

// printedFile returns a file that `notify init webhook` has printed, with this URL.
func printedFile(t *testing.T, url string) string {
	t.Helper()
	text := must.Get(exec.CommandContext(t.Context(), testworld.ExporterPath(t), "notify", "init", "webhook").Output())(t)
	const placeholder = "/etc/avax-exporter/webhook.url"
	if !bytes.Contains(text, []byte(placeholder)) {
		t.Fatalf("the printed file does not name %s:\n%s", placeholder, text)
	}
	return testworld.File(t, strings.Replace(string(text), "url_file: "+placeholder, "url_file: "+testworld.File(t, url), 1))
}
