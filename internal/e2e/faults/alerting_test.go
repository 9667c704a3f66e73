package faults_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

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

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// aboutNode matches the alert of a node.
func aboutNode(match func(testworld.Alert) bool, node string) func(testworld.Alert) bool {
	return func(a testworld.Alert) bool { return match(a) && a.Labels["node"] == node }
}

var outage = flag.Duration("outage", 2*time.Minute, "how long an Alertmanager or a receiver is down; make faults writes the figures of 10m into docs/reliability.md")

func TestAlertmanagerOutageLosesNoAlert(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	gates := map[string]*gate{}
	var nodes []string
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		gates[name] = newGate(t, network.Node(name))
		nodes = append(nodes, name+"=http://"+gates[name].address)
	}
	pages := testworld.Webhook(t)
	alertmanager := testworld.Alertmanager(t, pages.URL)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	write(t, rules, downRules("Down"))
	listen := testworld.Address(t)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{"http://" + listen}, ScrapeInterval: 5 * time.Second})
	e := start(t, "AVAX_COLLECTORS=up,identity,heads,validators", "AVAX_SCHEDULES=up=@every 5s",
		"AVAX_NODES="+strings.Join(nodes, ","), "AVAX_LISTEN="+listen, "AVAX_ALERTMANAGERS="+alertmanager.URL, "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=500ms")
	e.Ready()
	up := fmt.Sprintf("avax_exporter_alertmanager_up{alertmanager=%q}", strings.TrimPrefix(alertmanager.URL, "http://"))
	notifications := func(outcome string) string { return `avax_exporter_notifications_total{outcome="` + outcome + `"}` }
	pages.Wait(testworld.Firing("Watchdog"))
	before := e.Until("Alertmanager is up", testworld.Is(up, 1))
	began := holds(t, prometheus, up+" == 1")
	stop, watched := make(chan struct{}), make(chan scrapes, 1)
	go func() { watched <- e.scrape(before, stop) }()

	alertmanager.Stop()
	down := time.Now()
	gates["bravo"].shut() // stays down
	gates["charlie"].shut()
	e.Until("charlie fires", testworld.Is(`avax_exporter_alerts{state="firing"}`, 3)) // with bravo and the watchdog
	gates["charlie"].open()
	e.Until("charlie came and went", testworld.Is(notifications("missed"), 1))
	holds(t, prometheus, up+" == 0")
	time.Sleep(*outage - time.Since(down))
	during := e.Until("the metrics show that Alertmanager is down", func(p page) error {
		if p[notifications("failed")] < 3 {
			return fmt.Errorf("%v failed", p[notifications("failed")])
		}
		return testworld.Is(up, 0)(p)
	})
	const slack = 24 << 20 // garbage that was not collected yet
	if b, o := figuresOf(before), figuresOf(during); o.Heap > b.Heap+slack || o.Goroutines > b.Goroutines+20 || o.Descriptors > b.Descriptors+20 {
		t.Errorf("before %v, during the outage %v", b, o)
	}
	lasted := time.Since(down)

	alertmanager.Start()
	pages.Wait(aboutNode(testworld.Firing("Down"), "bravo"))
	e.Until("Alertmanager is up again", testworld.Is(up, 1))
	gates["bravo"].open()
	pages.Wait(aboutNode(testworld.Resolved("Down"), "bravo"))
	e.Until("Down is over", testworld.Is(`avax_exporter_alerts{state="firing"}`, 1))
	if slices.ContainsFunc(pages.Alerts(), aboutNode(testworld.Firing("Down"), "charlie")) {
		t.Error("notification of charlie, whose alert ended long ago")
	}
	for _, line := range []string{"notifications to Alertmanager failed", "notifications to Alertmanager recovered", "alert ended without a notification"} {
		if n := strings.Count(e.Log(), line); n != 1 {
			t.Errorf("logged %d times %q:\n%s", n, line, e.Log())
		}
	}
	close(stop)
	seen := <-watched
	if seen.err != nil {
		t.Error(seen.err)
	}
	window := fmt.Sprintf("[%ds]", int(time.Since(began).Seconds()))
	holds(t, prometheus, "min_over_time(up"+window+") == 1 and on (instance) "+up+" == 1")
	holds(t, prometheus, "max_over_time("+strings.ReplaceAll(notifications("missed"), "missed", "failed")+window+") >= 3")
	after := e.settled(figuresOf(before))
	t.Logf("down for %v; %d scrapes, the longest in %v; before %v, during the outage %v, after it %v", lasted.Round(time.Second), seen.pages, seen.longest, figuresOf(before), figuresOf(during), after)
	reportOutage("outage", "before", figuresOf(before))
	reportOutage("outage", fmt.Sprintf("after %v without an Alertmanager", lasted.Round(time.Second)), figuresOf(during))
	reportOutage("outage", "after the outage", after)
}

func reportOutage(table, when string, f figures) {
	report(table, fmt.Sprintf("| %s | %d | %d | %.0f MB | %.0f MB |", when, f.Goroutines, f.Descriptors, float64(f.Heap)/1e6, float64(f.Resident)/1e6))
}

// Invalid rules stop a start, and change nothing of a running process.
func TestInvalidRulesFileStopsOnlyAStart(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	alpha, bravo := newGate(t, network.Node("alpha")), newGate(t, network.Node("bravo"))
	pages := testworld.Webhook(t)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	environment := append(quickly("up", "identity"), "AVAX_NODES=alpha=http://"+alpha.address+",bravo=http://"+bravo.address,
		"AVAX_ALERTMANAGERS="+testworld.Alertmanager(t, pages.URL).URL, "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=200ms")
	bad := []string{
		strings.Replace(downRules("Down"), "== 0", "==", 1),
		strings.Replace(downRules("Down"), "expr: avax", "exp: avax", 1),
		downRules("Down")[:60],
		"\x00",
		"",
	}
	where := []string{rules + ": 5:", "line 5: ", "line ", rules, rules}
	for i, content := range bad {
		write(t, rules, content)
		cmd := exec.Command(testworld.ExporterPath(t))
		cmd.Env = append(append(os.Environ(), "AVAX_LISTEN=127.0.0.1:0"), environment...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "AVAX_RULES_FILE: "+rules) || !strings.Contains(string(out), where[i]) {
			t.Errorf("%q at the start: exit code %d:\n%s", content, code, out)
		}
	}

	write(t, rules, downRules("Down"))
	e := start(t, environment...)
	const read = "avax_exporter_rules_last_reload_successful"
	e.Until("the rules are read", testworld.Is(read, 1))
	pages.Wait(testworld.Firing("Watchdog"))
	reload := func(content string) {
		t.Helper()
		write(t, rules, content)
		e.Signal(syscall.SIGHUP)
	}
	for i, content := range bad {
		reload(content)
		testworld.Await(t, fmt.Sprintf("the log tells of %q", content), func() error {
			if n := strings.Count(e.Log(), "keeping the previous configuration"); n <= i {
				return fmt.Errorf("%d failed reloads in the log:\n%s", n, e.Log())
			}
			return nil
		})
		e.Until("the metric tells", testworld.Is(read, 0))
	}
	e.awaitLog(`keeping the previous configuration.*` + rules + `: 5:`)
	bravo.shut()
	pages.Wait(aboutNode(testworld.Firing("Down"), "bravo"))
	if err := testworld.Is(read, 0)(e.Until("a page", func(page) error { return nil })); err != nil {
		t.Error(err)
	}
	reload(downRules("Gone"))
	e.Until("the metric tells", testworld.Is(read, 1))
	e.awaitLog(`configuration reloaded.*alert rules`)
	pages.Wait(aboutNode(testworld.Firing("Gone"), "bravo"))
}

// The shipped files in a real Prometheus.
func TestPrometheusLoadsTheShippedRules(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	var files []string
	for _, name := range []string{"rules.yml", "companion.yml"} {
		file, err := filepath.Abs("../../../alerts/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{RuleFiles: files})
	testworld.Await(t, "every rule is evaluated", func() error { return healthy(t, prometheus.URL, files) })
}

// healthy returns an error if a rule has not been evaluated successfully.
func healthy(t *testing.T, prometheus string, files []string) error {
	response, err := http.Get(prometheus + "/api/v1/rules")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Groups []struct {
				File  string
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	counted := map[string]int{}
	var errs []error
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			counted[g.File]++
			if r.Health != "ok" {
				errs = append(errs, fmt.Errorf("%s: %s: %s", r.Name, r.Health, r.LastError))
			}
		}
	}
	for _, file := range files {
		if counted[file] == 0 {
			errs = append(errs, fmt.Errorf("%s: no rules", file))
		}
	}
	return errors.Join(errs...)
}
