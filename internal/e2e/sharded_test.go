package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// shards is the number of exporters that share the nodes. Each has a Prometheus agent, as in a pod.
const shards = 3

// shard is one exporter and its agent.
type shard struct {
	name    string
	env     []string
	process *testworld.Exporter
	agent   *testworld.PrometheusServer
	targets string // the agent's file of targets
}

// start runs the exporter, and adds it to the agent's targets.
func (s *shard) start(t *testing.T) {
	t.Helper()
	s.process = testworld.StartExporter(t, s.env...)
	s.scrape(t, strings.TrimPrefix(s.process.URL, "http://"))
}

// scrape sets the addresses that the agent scrapes. The shard keeps its name.
func (s *shard) scrape(t *testing.T, addresses ...string) {
	t.Helper()
	text := must.Get(json.Marshal([]any{map[string]any{"targets": append([]string{}, addresses...), "labels": map[string]string{"instance": s.name}}}))(t)
	next := s.targets + ".next"
	must.Do(t, os.WriteFile(next, text, 0o600), os.Rename(next, s.targets))
}

// store holds the series of all shards, and a ruler evaluates the rules over it.
type store struct {
	*testworld.PrometheusServer                    // answers queries
	receiver                    *testworld.Program // takes remote writes and holds the samples
	writeURL                    string
	ruler                       *testworld.Program
	evaluations, failures       string                     // counters of the ruler
	down, up                    func(testworld.Alert) bool // notifications while the store is down, and when it is up again
}

func victoriaMetrics(t *testing.T, rules []byte, alertmanagerURL string) store {
	server := testworld.VictoriaMetrics(t)
	return store{
		PrometheusServer: server, receiver: server.Program, writeURL: server.URL + "/api/v1/write",
		ruler:       testworld.VMAlert(t, testworld.File(t, string(withoutKeepFiringFor(t, rules))), server.URL, alertmanagerURL, "-disableAlertgroupLabel"),
		evaluations: "vmalert_execution_total", failures: "vmalert_execution_errors_total",
		down: testworld.Resolved("AvaxWatchdog"), up: testworld.Firing("AvaxWatchdog"), // evaluations fail
	}
}

func thanos(t *testing.T, rules []byte, alertmanagerURL string) store {
	receiver, writeURL, endpoint := testworld.ThanosReceive(t)
	server := testworld.ThanosQuery(t, endpoint)
	return store{
		PrometheusServer: server, receiver: receiver, writeURL: writeURL,
		ruler:       testworld.ThanosRule(t, []string{testworld.File(t, string(rules))}, server.URL, writeURL, alertmanagerURL, "--eval-interval=1s"),
		evaluations: "prometheus_rule_evaluations_total", failures: "prometheus_rule_evaluation_failures_total",
		down: testworld.Firing("AvaxExporterDown"), up: testworld.Resolved("AvaxExporterDown"), // queries find no series, without an error
	}
}

// TestShardsWriteToOneStore runs the setup of docs/fleets.md: shards with agents, one store, and rules over all shards.
func TestShardsWriteToOneStore(t *testing.T) {
	testworld.Full(t)
	for name, start := range map[string]func(*testing.T, []byte, string) store{"VictoriaMetrics": victoriaMetrics, "Thanos": thanos} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shardsWriteToOneStore(t, start)
		})
	}
}

func shardsWriteToOneStore(t *testing.T, startStore func(t *testing.T, rules []byte, alertmanagerURL string) store) {
	network := simnet.New(simnet.Options{Seed: 1})
	urls := testworld.Serve(t, network)
	names := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
	var nodes []string
	for _, name := range names {
		nodes = append(nodes, name+"="+urls[name])
	}
	webhook := testworld.Webhook(t)
	rules := testworld.ShortenRules(t, alerts.Rules, func(d time.Duration) time.Duration { return d / 20 })
	store := startStore(t, rules, testworld.Alertmanager(t, webhook.URL).URL)

	all := make([]*shard, shards)
	for i := range all {
		s := &shard{
			name: fmt.Sprintf("avax-exporter-%d", i), targets: filepath.Join(t.TempDir(), "targets.json"),
			env: []string{
				"AVAX_NODES=" + strings.Join(nodes, ","), "AVAX_CHAINS=C,examplel1=" + network.Chain("examplel1").ID, "AVAX_ALERTING=off",
				fmt.Sprintf("AVAX_SHARD=%d", i), fmt.Sprintf("AVAX_TOTAL_SHARDS=%d", shards),
			},
		}
		s.start(t)
		s.agent = testworld.Agent(t, s.targets, store.writeURL, 200*time.Millisecond)
		all[i] = s
	}
	awaitSample(t, store.PrometheusServer, fmt.Sprintf("count(avax_node_up == 1) == %d", len(names)))
	awaitSample(t, store.PrometheusServer, fmt.Sprintf("count(avax_exporter_targets) == %d", shards))
	for _, what := range []string{`count({job="avax-exporter"})`, `count by (instance) ({job="avax-exporter"})`, "count by (instance) (avax_node_up)"} {
		found, err := store.Query(t.Context(), what)
		t.Logf("%s: %v %v", what, found, err)
	}

	t.Run("RulesSeeAllShards", func(t *testing.T) {
		webhook.Wait(testworld.Firing("AvaxWatchdog"))
		network.Node("bravo").Stop()
		page := webhook.Wait(func(a testworld.Alert) bool {
			return testworld.Firing("AvaxNodeDown")(a) && a.Labels["node"] == "bravo"
		})
		delete(page.Labels, "severity") // of two alerts, either may be the first
		if diff := cmp.Diff(map[string]string{"alertname": "AvaxNodeDown", "job": "avax-exporter", "node": "bravo"}, page.Labels); diff != "" {
			t.Errorf("labels of the alert (-want +got):\n%s", diff)
		}
		network.Node("bravo").Start()
		webhook.Wait(func(a testworld.Alert) bool {
			return testworld.Resolved("AvaxNodeDown")(a) && a.Labels["node"] == "bravo"
		})
		if n := counted(t, store.ruler.URL, store.failures); n > 0 {
			t.Errorf("%v failed evaluations", n)
		}
		t.Logf("%v evaluations", counted(t, store.ruler.URL, store.evaluations))
	})
	t.Run("DashboardsAsk", func(t *testing.T) {
		queries, filled := 0, 0
		for file, panels := range panels(t) {
			for _, p := range panels {
				for _, q := range p.Targets {
					found, err := store.Query(t.Context(), chosen(q.Expr))
					if err != nil {
						t.Errorf("%s: %s: %v", file, p.Title, err)
					}
					if queries++; len(found) > 0 {
						filled++
					}
				}
			}
		}
		t.Logf("%d queries, %d with a result", queries, filled)
		if filled < queries/2 {
			t.Errorf("%d of %d queries with a result", filled, queries)
		}
	})

	moved := all[1]
	moved.process.End(syscall.SIGKILL)
	moved.start(t) // on another port, as on another machine
	awaitSample(t, store.PrometheusServer, fmt.Sprintf("count(avax_node_up == 1) == %d", len(names)))
	awaitSample(t, store.PrometheusServer, fmt.Sprintf("count(avax_exporter_targets) == %d", shards))

	testworld.Await(t, "the ruler counts all shards", func() error {
		found, err := active(t, store.ruler.URL)
		for _, a := range found {
			if a.Labels["alertname"] == "AvaxExporterDown" {
				err = fmt.Errorf("%s: %v", a.State, a.Labels)
			}
		}
		return err
	})
	notified := len(webhook.Alerts()) // each alert is its own notification
	later := func(match func(testworld.Alert) bool) func(testworld.Alert) bool {
		return func(a testworld.Alert) bool { return match(a) && a.Notification >= notified }
	}
	store.receiver.Stop()
	before := scrapes(t, moved.agent.URL)
	testworld.Await(t, "the agent goes on while the store is down", func() error {
		if n := scrapes(t, moved.agent.URL) - before; n < 3 {
			return fmt.Errorf("%v scrapes", n)
		}
		return nil
	})
	notified = webhook.Wait(later(store.down)).Notification + 1
	store.receiver.Start()
	webhook.Wait(later(store.up))
	for _, s := range all {
		s.scrape(t) // no further scrapes, so that all scraped samples arrive
	}
	for i, s := range all {
		loops := 1.0
		if i == 1 {
			loops = 2 // and the first scrape of each has no interval
		}
		testworld.Await(t, "the agent has no target", func() error {
			if n := counted(t, s.agent.URL, "prometheus_target_scrape_pool_targets"); n > 0 {
				return fmt.Errorf("%v targets", n)
			}
			return nil
		})
		testworld.Await(t, "every scrape of "+s.name+" is in the store", func() error {
			want := scrapes(t, s.agent.URL) + loops
			found, err := store.Query(t.Context(), fmt.Sprintf(`sum(count_over_time(up{job="avax-exporter", instance=%q}[1h]))`, s.name))
			if err != nil || len(found) != 1 || float64(found[0].Value) != want {
				return fmt.Errorf("%v of %v: %w", found, want, err)
			}
			t.Logf("%s: %v scrapes, %v in the store", s.name, want, found[0].Value)
			return nil
		})
	}
	if slices.ContainsFunc(webhook.Alerts(), func(a testworld.Alert) bool {
		return a.Labels["alertname"] == "AvaxNodeDown" && a.Labels["node"] != "bravo"
	}) {
		t.Errorf("healthy node counted as down: %+v", webhook.Alerts())
	}
}

// scrapes returns the number of intervals between scrapes of the exporter that the agent has ended.
func scrapes(t *testing.T, url string) float64 {
	t.Helper()
	return counted(t, url, "prometheus_target_interval_length_seconds_count")
}

// counted sums a counter of a program, or the counts of a summary.
func counted(t *testing.T, url, name string) (sum float64) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), testworld.Deadline(t))
	defer cancel()
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil))(t)
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := must.Get(parser.TextToMetricFamilies(response.Body))(t)
	for _, m := range families[strings.TrimSuffix(name, "_count")].GetMetric() {
		sum += float64(m.GetSummary().GetSampleCount())
	}
	for _, m := range families[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetUntyped().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// What docs/alerting.md says about agents of two shards that give their targets an equal instance: their samples have the same series, such as up, so the store
// refuses requests of one of them, with all samples in it. With instances of their own, no sample is lost.
func TestShardsNeedAnInstanceOfTheirOwn(t *testing.T) {
	testworld.Full(t)
	for _, equal := range []bool{false, true} {
		t.Run(fmt.Sprint("equal ", equal), func(t *testing.T) {
			t.Parallel()
			urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1}))
			store := testworld.Prometheus(t, testworld.PrometheusConfig{})
			nodes := []string{"alpha", "bravo"}
			all := make([]*shard, len(nodes))
			for i, node := range nodes {
				all[i] = &shard{name: node, targets: filepath.Join(t.TempDir(), "targets.json"), env: []string{
					"AVAX_NODES=" + node + "=" + urls[node], "AVAX_CHAINS=C", "AVAX_ALERTING=off",
				}}
				if equal {
					all[i].name = "avax-exporter"
				}
				all[i].start(t)
				all[i].agent = testworld.Agent(t, all[i].targets, store.URL+"/api/v1/write", 5*time.Second)
			}
			testworld.Await(t, "both agents have scraped 30 times", func() error {
				for _, s := range all {
					if n := scrapes(t, s.agent.URL); n < 30 {
						return fmt.Errorf("%v", n)
					}
				}
				return nil
			})
			for _, s := range all {
				s.scrape(t)
			}
			arrived := func() (least float64) {
				least = 1
				for i, node := range nodes {
					found, err := store.Query(t.Context(), fmt.Sprintf(`count_over_time(avax_node_up{node=%q}[10m])`, node))
					share := 0.0
					if err == nil && len(found) == 1 {
						share = float64(found[0].Value) / scrapes(t, all[i].agent.URL)
					}
					least = min(least, share)
				}
				return least
			}
			if equal {
				time.Sleep(10 * time.Second) // what is sent again arrives
				if least := arrived(); least > 0.5 {
					t.Errorf("%.0f %% of the samples of each shard arrived", 100*least)
				} else {
					t.Logf("of one shard, %.0f %% of the samples arrived", 100*least)
				}
				return
			}
			testworld.Await(t, "all samples are in the store", func() error {
				if least := arrived(); least < 0.9 { // the node is up from the second scrape on
					return fmt.Errorf("%.0f %%", 100*least)
				}
				return nil
			})
		})
	}
}
