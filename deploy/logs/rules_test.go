package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const config = `auth_enabled: false
server: {http_listen_address: 127.0.0.1, http_listen_port: %[2]s, grpc_listen_address: 127.0.0.1, grpc_listen_port: %[3]s}
common:
  path_prefix: %[1]s
  storage: {filesystem: {chunks_directory: %[1]s/chunks, rules_directory: %[1]s/unused}}
  replication_factor: 1
  instance_addr: 127.0.0.1
  ring: {kvstore: {store: inmemory}}
schema_config:
  configs: [{from: 2024-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {prefix: index_, period: 24h}}]
ruler:
  storage: {type: local, local: {directory: %[1]s/rules}}
  rule_path: %[1]s/scratch
  enable_api: true
  evaluation_interval: 1s
  ring: {kvstore: {store: inmemory}}
analytics: {reporting_enabled: false}
`

// TestLokiEvaluatesRulesAndDashboard sends lines with the labels of alloy.alloy to a real Loki, whose ruler has loaded rules.yml, and asks it
// for the logs on the dashboard inside the nodes.
func TestLokiEvaluatesRulesAndDashboard(t *testing.T) {
	testworld.Full(t)
	dir := t.TempDir()
	rules := must.Get(os.ReadFile("rules.yml"))(t)
	write := func(name, text string) {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var ports []string
	for range 2 {
		address, release, err := simnet.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ports = append(ports, address[strings.LastIndex(address, ":")+1:])
	}
	write("rules/fake/rules.yml", string(rules)) // the tenant without authentication
	write("loki.yml", fmt.Sprintf(config, dir, ports[0], ports[1]))
	loki := exec.CommandContext(t.Context(), "../../.tools/bin/loki", "-config.file="+filepath.Join(dir, "loki.yml"), "-log.level=error")
	loki.Stderr = t.Output()
	must.Do(t, loki.Start())
	defer func() { _ = loki.Process.Kill(); _ = loki.Wait() }()
	base := "http://127.0.0.1:" + ports[0]

	var streams []map[string]any
	lines := func(labels map[string]string, text string, n int) {
		var values [][]string
		for i := range n {
			values = append(values, []string{strconv.FormatInt(time.Now().UnixNano()+int64(i), 10), text})
		}
		labels["job"] = "avalanchego"
		streams = append(streams, map[string]any{"stream": labels, "values": values})
	}
	lines(map[string]string{"node": "alpha", "level": "fatal"}, "failed to initialize node", 1)
	lines(map[string]string{"node": "alpha", "chain": "C", "level": "error"}, "failed to sync uptime tracker", 6)
	lines(map[string]string{"node": "bravo", "chain": "C", "level": "error"}, "failed to sync uptime tracker", 5)
	lines(map[string]string{"node": "bravo", "chain": "C", "level": "info"}, "starting state sync", 2)
	lines(map[string]string{"node": "alpha", "chain": "C", "level": "info"}, "starting state sync", 1)
	body := must.Get(json.Marshal(map[string]any{"streams": streams}))(t)
	testworld.Await(t, "push", func() error {
		resp, err := http.Post(base+"/loki/api/v1/push", "application/json", strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent {
			text, _ := io.ReadAll(resp.Body)
			return fmt.Errorf("%s: %s", resp.Status, text)
		}
		return nil
	})
	want := map[string]bool{"AvalancheGoLogFatal alpha ": true, "AvalancheGoLogErrors alpha C": true, "AvalancheGoStateSyncRestarted bravo C": true}
	testworld.Await(t, "alerts", func() error {
		resp, err := http.Get(base + "/prometheus/api/v1/alerts")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Data struct {
				Alerts []struct{ Labels map[string]string }
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		got := map[string]bool{}
		for _, a := range answer.Data.Alerts {
			got[a.Labels["alertname"]+" "+a.Labels["node"]+" "+a.Labels["chain"]] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("alerts %q: %s", slices.Sorted(maps.Keys(got)), diff)
		}
		return nil
	})
	found := map[string]int{}
	for title, expr := range logsOfNode(t, "alpha") {
		resp := must.Get(http.Get(base + "/loki/api/v1/query_range?" + url.Values{"query": {expr}}.Encode()))(t)
		defer resp.Body.Close()
		var answer struct {
			Data struct{ Result []struct{ Values [][]string } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatalf("%s: %s: %v", expr, resp.Status, err)
		}
		for _, stream := range answer.Data.Result {
			found[title] += len(stream.Values)
		}
	}
	if diff := cmp.Diff(map[string]int{"Warnings and errors": 7, "Bootstrap and state sync": 1}, found); diff != "" {
		t.Errorf("lines on the dashboard, by panel: %s", diff)
	}
}

// logsOfNode returns the queries of Loki on the dashboard inside the nodes, by panel.
func logsOfNode(t *testing.T, node string) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("../../dashboards/node.json"))(t)
	type panel struct {
		Title, Type string
		Targets     []struct{ Expr string }
	}
	var board struct {
		Panels []struct{ Panels []panel }
	}
	must.Do(t, json.Unmarshal(text, &board))
	queries := map[string]string{}
	for _, row := range board.Panels {
		for _, p := range row.Panels {
			if p.Type == "logs" {
				queries[p.Title] = strings.ReplaceAll(p.Targets[0].Expr, "$node", node)
			}
		}
	}
	return queries
}
