package faults_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// gated returns a gate in front of each of these nodes of a new network, and the variable that lists them.
func gated(t testing.TB, names ...string) (gates map[string]*gate, nodes string) {
	t.Helper()
	network, urls := simnet.New(simnet.Options{Seed: 1}), map[string]string{}
	gates = map[string]*gate{}
	for _, name := range names {
		gates[name] = newGate(t, network.Node(name))
		urls[name] = gates[name].url()
	}
	return gates, listed(urls, names...)
}

// listed returns the variable that lists these nodes.
func listed(urls map[string]string, names ...string) string {
	var nodes []string
	for _, name := range names {
		nodes = append(nodes, name+"="+urls[name])
	}
	return "AVAX_NODES=" + strings.Join(nodes, ",")
}

// isUp requires that these nodes are up.
func isUp(nodes ...string) func(page) error {
	return func(p page) (err error) {
		for _, node := range nodes {
			err = errors.Join(err, testworld.Is(`avax_node_up{node="`+node+`"}`, 1)(p))
		}
		return err
	}
}

// isDown requires that a node is down.
func isDown(node string) func(page) error { return testworld.Is(`avax_node_up{node="`+node+`"}`, 0) }

// quickly is a schedule of a second for these collectors.
func quickly(names ...string) []string {
	var schedules []string
	for _, name := range names {
		schedules = append(schedules, name+"=@every 1s")
	}
	return []string{"AVAX_COLLECTORS=" + strings.Join(names, ","), "AVAX_SCHEDULES=" + strings.Join(schedules, ";")}
}

// probed probes the nodes every four seconds, with two seconds for the answer, because the attacker and the nodes share a machine with the
// exporter. Other collectors run every second.
func probed(names ...string) []string {
	all := quickly(append(names, "up")...)
	all[1] = strings.Replace(all[1], "up=@every 1s", "up=@every 4s", 1)
	return all
}

// downRules fire at once when a node is down; the alert has this name.
func downRules(name string) string {
	return `
groups:
  - name: nodes
    rules:
      - {alert: ` + name + `, expr: avax_node_up == 0, labels: {severity: page}}
      - {alert: Watchdog, expr: vector(1)}
`
}

// judging makes the exporter evaluate these rules twice a second.
func judging(t testing.TB, rules string) []string {
	t.Helper()
	return []string{"AVAX_RULES_FILE=" + testworld.File(t, rules), "AVAX_ALERTING_INTERVAL=500ms"}
}

// notifying is the environment of an exporter that sends an alert to each webhook when a node is down.
func notifying(t testing.TB, nodes string, webhooks map[string]string) []string {
	t.Helper()
	var routes, receivers strings.Builder
	for name, url := range webhooks {
		fmt.Fprintf(&routes, "    - {receiver: %s, continue: true}\n", name)
		fmt.Fprintf(&receivers, "  - {name: %s, webhook_configs: [{url_file: %q}]}\n", name, testworld.File(t, url))
	}
	file := testworld.File(t, "route:\n  receiver: nobody\n  group_by: [alertname]\n  group_wait: 10ms\n  group_interval: 1s\n  routes:\n"+
		routes.String()+"receivers:\n  - name: nobody\n"+receivers.String())
	return append(append(quickly("up"), nodes, "AVAX_NOTIFY_FILE="+file, "AVAX_STATE_DIR="+t.TempDir()), judging(t, downRules("Down"))...)
}

// rewarded is the environment of an exporter that exports rewards of alpha, and saves them in dir.
func rewarded(urls map[string]string, dir string) []string {
	return append(
		quickly("up", "rewards"),
		listed(urls, "alpha"),
		"AVAX_NETWORK=mainnet",
		"AVAX_DATA_URL="+urls["data"],
		"AVAX_DATA_BUDGET=1000000/m",
		"AVAX_STATE_DIR="+dir,
	)
}

// hasRewards requires a sample of rewards.
func hasRewards(p page) error {
	if len(p.Of("avax_rewards_total")) == 0 {
		return errors.New("no rewards exported")
	}
	return nil
}

func write(t testing.TB, file, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(file, []byte(content), 0o600))
}

// awaitLog waits for a line in the log.
func (e *exporter) awaitLog(pattern string) {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	testworld.Await(e.t, "the log", func() error {
		if !re.MatchString(e.Log()) {
			return fmt.Errorf("no line matches %q:\n%s", pattern, e.Log())
		}
		return nil
	})
}

// needs limits the resident memory that the process needs in an attack, in bytes, and reports it.
func (e *exporter) needs(attack string, peak, limit int64) {
	e.t.Helper()
	report("outside", fmt.Sprintf("| %s | %.0f MB | | | | |", attack, float64(peak)/1e6))
	if peak > limit {
		e.t.Errorf("%s: %.0f MB of memory, want at most %.0f MB", attack, float64(peak)/1e6, float64(limit)/1e6)
	}
}
