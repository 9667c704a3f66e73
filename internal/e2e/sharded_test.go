//go:build sharded

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/e2e/stack"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// shards is the number of exporters that share the nodes. Each has a Prometheus agent, as in a pod.
const shards = 3

// shard is one exporter and its agent.
type shard struct {
	name    string
	env     []string
	process *process
	agent   *stack.PrometheusServer
	targets string // the agent's file of targets
}

// start runs the exporter, and adds it to the agent's targets.
func (s *shard) start(t *testing.T) {
	t.Helper()
	s.process = start(t, s.env...)
	s.scrape(t, strings.TrimPrefix(s.process.url, "http://"))
}

// scrape sets the addresses that the agent scrapes. The shard keeps its name.
func (s *shard) scrape(t *testing.T, addresses ...string) {
	t.Helper()
	text, err := json.Marshal([]any{map[string]any{"targets": append([]string{}, addresses...), "labels": map[string]string{"instance": s.name}}})
	if err != nil {
		t.Fatal(err)
	}
	next := s.targets + ".next"
	if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, s.targets)); err != nil {
		t.Fatal(err)
	}
}

// TestShardsWriteToOneStore runs the setup of docs/fleets.md: shards with agents, one store, and rules over all shards.
func TestShardsWriteToOneStore(t *testing.T) {
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
	var nodes []string
	for _, name := range names {
		nodes = append(nodes, name+"="+urls[name])
	}
	store := stack.VictoriaMetrics(t)
	webhook := stack.Webhook(t)
	alertmanager := stack.Alertmanager(t, webhook.URL)
	// vmalert 1.79.5 does not know keep_firing_for.
	rules := stack.ShortenRules(t, alerts.Rules, func(d time.Duration) time.Duration { return d / 20 })
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, regexp.MustCompile(`(?m)^ *keep_firing_for:.*\n`).ReplaceAll(rules, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	ruler := stack.VMAlert(t, file, store.URL, alertmanager.URL)

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
		s.agent = stack.Agent(t, s.targets, store.URL+"/api/v1/write")
		all[i] = s
	}
	awaitSample(t, store, fmt.Sprintf("count(avax_node_up == 1) == %d", len(names)))
	awaitSample(t, store, fmt.Sprintf("count(avax_exporter_targets) == %d", shards))
	for _, what := range []string{`count({job="avax-exporter"})`, `count by (instance) ({job="avax-exporter"})`, "count by (instance) (avax_node_up)"} {
		found, err := store.Query(t.Context(), what)
		t.Logf("%s: %v %v", what, found, err)
	}

	t.Run("RulesSeeAllShards", func(t *testing.T) {
		webhook.Wait(stack.Firing("AvaxWatchdog"))
		network.Node("bravo").Stop()
		webhook.Wait(func(a stack.Alert) bool { return stack.Firing("AvaxNodeDown")(a) && a.Labels["node"] == "bravo" })
		network.Node("bravo").Start()
		webhook.Wait(func(a stack.Alert) bool { return stack.Resolved("AvaxNodeDown")(a) && a.Labels["node"] == "bravo" })
		if n := counted(t, ruler.URL, "vmalert_execution_errors_total"); n > 0 {
			t.Errorf("%v failed evaluations", n)
		}
		t.Logf("%v evaluations", counted(t, ruler.URL, "vmalert_execution_total"))
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
	moved.process.end(syscall.SIGKILL)
	moved.start(t) // on another port, as on another machine
	awaitSample(t, store, fmt.Sprintf("count(avax_node_up == 1) == %d", len(names)))
	awaitSample(t, store, fmt.Sprintf("count(avax_exporter_targets) == %d", shards))

	store.Stop()
	before := scrapes(t, moved.agent.URL)
	stack.Await(t, "the agent goes on while the store is down", func() error {
		if n := scrapes(t, moved.agent.URL) - before; n < 3 {
			return fmt.Errorf("%v scrapes", n)
		}
		return nil
	})
	store.Start()
	for i, s := range all {
		s.scrape(t) // no further scrapes, so that all scraped samples arrive
		loops := 1.0
		if i == 1 {
			loops = 2 // and the first scrape of each has no interval
		}
		stack.Await(t, "every scrape of "+s.name+" is in the store", func() error {
			want := scrapes(t, s.agent.URL) + loops
			found, err := store.Query(t.Context(), fmt.Sprintf(`sum(count_over_time(up{job="avax-exporter", instance=%q}[1h]))`, s.name))
			if err != nil || len(found) != 1 || float64(found[0].Value) != want {
				return fmt.Errorf("%v of %v: %w", found, want, err)
			}
			return nil
		})
		found, err := store.Query(t.Context(), fmt.Sprintf(`sum(count_over_time(up{job="avax-exporter", instance=%q}[1h]))`, s.name))
		t.Logf("%s: %v scrapes, %v in the store %v", s.name, scrapes(t, s.agent.URL)+loops, found, err)
	}
	if slices.ContainsFunc(webhook.Alerts(), func(a stack.Alert) bool {
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
	ctx, cancel := context.WithDeadline(t.Context(), stack.Deadline(t))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[strings.TrimSuffix(name, "_count")].GetMetric() {
		sum += float64(m.GetSummary().GetSampleCount())
	}
	for _, m := range families[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetUntyped().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}
