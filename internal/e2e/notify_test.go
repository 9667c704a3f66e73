package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// nodeRules fire at once. NodeDown inhibits NodeQuiet.
const nodeRules = `
groups:
  - name: nodes
    rules:
      - {alert: NodeUp, expr: avax_node_up == 1, labels: {severity: info}}
      - {alert: NodeDown, expr: avax_node_up == 0, labels: {severity: page}}
      - {alert: NodeQuiet, expr: avax_node_up == 0, labels: {severity: warn}}
      - {alert: Reminder, expr: vector(1), labels: {severity: warn}}
`

// notifyFile writes a configuration that sends nodeRules to a webhook.
func notifyFile(t *testing.T, webhook string) string {
	t.Helper()
	return testworld.File(t, `
route:
  receiver: phone
  group_by: [alertname, node, severity]
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 1h
  routes:
    - {matchers: [alertname="NodeUp"], group_by: [alertname]}
    - {matchers: [alertname="Reminder"], repeat_interval: 2s}
inhibit_rules:
  - {source_matchers: [alertname="NodeDown"], target_matchers: [alertname="NodeQuiet"], equal: [node]}
receivers:
  - name: phone
    webhook_configs: [{url_file: "`+testworld.File(t, webhook)+`", send_resolved: true}]
`)
}

// paging returns a simulated network, a webhook, and the environment of an exporter for both.
func paging(t *testing.T) (network *simnet.Network, phone *testworld.Receiver, environment []string) {
	t.Helper()
	network, phone = simnet.New(simnet.Options{Seed: 1}), testworld.Webhook(t)
	urls := testworld.Serve(t, network)
	return network, phone, []string{
		"AVAX_TRUST_LOOPBACK=true", "AVAX_SCHEDULES=up=@every 1s", "AVAX_COLLECTORS=up",
		"AVAX_NODES=alpha=" + urls["alpha"] + ",bravo=" + urls["bravo"],
		"AVAX_RULES_FILE=" + testworld.File(t, nodeRules), "AVAX_ALERTING_INTERVAL=1s", "AVAX_EXTERNAL_LABELS=instance=exporter:9865",
		"AVAX_NOTIFY_FILE=" + notifyFile(t, phone.URL),
	}
}

// amtool runs amtool against the exporter, and returns its output.
func amtool(t *testing.T, exporter *testworld.Exporter, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "amtool"), append([]string{"--alertmanager.url=" + exporter.URL}, args...)...).
		CombinedOutput()
	if err != nil {
		t.Fatalf("amtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestExporterSendsNotifications(t *testing.T) {
	t.Parallel()
	network, phone, environment := paging(t)
	exporter := testworld.StartExporter(t, environment...)

	// Alerts of one group share a notification: the first, or the next one if bravo was scraped later.
	testworld.Await(t, "two alerts of one group share a notification", func() error {
		nodes := map[int]string{} // by notification
		for _, a := range phone.Alerts() {
			if testworld.Firing("NodeUp")(a) {
				nodes[a.Notification] += a.Labels["node"]
			}
		}
		for _, names := range nodes {
			if strings.Contains(names, "alpha") && strings.Contains(names, "bravo") {
				return nil
			}
		}
		return fmt.Errorf("notified apart: %v", nodes)
	})

	network.Node("alpha").Stop()
	phone.Wait(testworld.Firing("NodeDown", "node=alpha"))
	phone.Wait(testworld.Resolved("NodeUp", "node=alpha"))

	silence := strings.TrimSpace(amtool(t, exporter, "silence", "add", "--duration=1h", "--comment=test", "node=bravo"))
	network.Node("bravo").Stop()
	testworld.Await(t, "NodeDown of bravo is silenced", func() error {
		if muted := amtool(t, exporter, "alert", "query", "--silenced", "alertname=NodeDown"); !strings.Contains(muted, "NodeDown") {
			return errors.New(muted)
		}
		return nil
	})
	if shown := amtool(t, exporter, "silence", "query"); !strings.Contains(shown, silence) {
		t.Errorf("output of amtool:\n%s", shown)
	}
	// Reminders continue: groups are notified, and bravo's is silenced.
	reminders := count(phone, testworld.Firing("Reminder"))
	testworld.Await(t, "reminders", func() error {
		if n := count(phone, testworld.Firing("Reminder")); n < reminders+2 {
			return fmt.Errorf("%d, before %d", n, reminders)
		}
		return nil
	})
	if n := count(phone, testworld.Firing("NodeDown", "node=bravo")); n > 0 {
		t.Errorf("silenced alert sent %d times", n)
	}
	amtool(t, exporter, "silence", "expire", silence)
	phone.Wait(testworld.Firing("NodeDown", "node=bravo"))

	// An invalid file keeps the previous configuration, and is logged.
	for _, variable := range environment {
		if path, is := strings.CutPrefix(variable, "AVAX_NOTIFY_FILE="); is {
			must.Do(t, os.WriteFile(path, []byte("route: {receiver: nobody}"), 0o600))
		}
	}
	exporter.Until("the change is noticed, and the reload failed", testworld.Is(`avax_exporter_config_last_reload_successful{what="notifications"}`, 0))
	network.Node("alpha").Start()
	phone.Wait(testworld.Resolved("NodeDown", "node=alpha"))

	if n := count(phone, testworld.Firing("NodeQuiet")); n > 0 {
		t.Errorf("inhibited alert sent %d times", n)
	}
	if n := count(phone, testworld.Firing("NodeDown", "node=alpha")); n != 1 {
		t.Errorf("NodeDown of alpha sent %d times", n)
	}
}

// memories fire because of what was before an interruption of the exporter, and stay on while a node is down.
const memories = `
groups:
  - name: memories
    rules:
      - {record: node:up, expr: 'last_over_time(avax_node_up[20s])'}
      - {alert: AtOnce, expr: avax_node_up == 0}
      - {alert: Recorded, expr: 'node:up == 0', for: 3s}
      - {alert: Offset, expr: avax_node_up == 0 and avax_node_up offset 5s == 0}
      - {alert: Changed, expr: 'changes(avax_node_up[1h]) > 0'}
      - {alert: Kept, expr: avax_node_up == 0 unless avax_node_up offset 10s == 0, keep_firing_for: 1h}
`

// No notification is repeated either, and silences stay.
func TestNoInterruptionResolvesAnAlert(t *testing.T) {
	testworld.Full(t)
	all := []string{"AtOnce", "Recorded", "Offset", "Changed", "Kept"}
	for name, interrupt := range map[string]func(t *testing.T, e *testworld.Exporter, environment []string) *testworld.Exporter{
		"SIGTERM": func(t *testing.T, e *testworld.Exporter, environment []string) *testworld.Exporter {
			e.End(syscall.SIGTERM)
			return testworld.StartExporter(t, environment...)
		},
		"SIGKILL": func(t *testing.T, e *testworld.Exporter, environment []string) *testworld.Exporter {
			e.End(syscall.SIGKILL)
			return testworld.StartExporter(t, environment...)
		},
		"SIGSTOP": func(t *testing.T, e *testworld.Exporter, _ []string) *testworld.Exporter {
			e.Signal(syscall.SIGSTOP)
			time.Sleep(45 * time.Second) // longer than an interruption needs to be to be noticed
			e.Signal(syscall.SIGCONT)
			testworld.Await(t, "the interruption is noticed", func() error {
				if !strings.Contains(e.Log(), "rule evaluation interrupted") {
					return errors.New("not logged")
				}
				return nil
			})
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network, phone, environment := paging(t)
			state := t.TempDir()
			environment = append(environment, "AVAX_RULES_FILE="+testworld.File(t, memories), "AVAX_STATE_DIR="+state)
			e := testworld.StartExporter(t, environment...)
			e.Until("alpha is up", testworld.Is(`avax_node_up{node="alpha"}`, 1))
			network.Node("alpha").Stop()
			for _, alert := range all {
				phone.Wait(testworld.Firing(alert, "node=alpha"))
				stored(t, state, "nflog", alert) // a notification in progress would be repeated
			}
			amtool(t, e, "silence", "add", "--duration=1h", "--comment=test", "node=charlie")
			stored(t, state, "silences", "charlie")
			e = interrupt(t, e, environment)
			network.Node("bravo").Stop() // its alerts are sent after evaluations of the rules
			for _, alert := range all {
				phone.Wait(testworld.Firing(alert, "node=bravo"))
			}
			for _, alert := range all {
				if sent, resolved := count(phone, testworld.Firing(alert, "node=alpha")), count(phone, testworld.Resolved(alert, "node=alpha")); sent != 1 ||
					resolved != 0 {
					t.Errorf("%s: sent %d times, resolved %d times", alert, sent, resolved)
				}
			}
			network.Node("alpha").Start()
			for _, alert := range all[:3] {
				phone.Wait(testworld.Resolved(alert, "node=alpha"))
			}
			if shown := amtool(t, e, "silence", "query"); !strings.Contains(shown, "charlie") {
				t.Errorf("silence missing:\n%s", shown)
			}
			if t.Failed() {
				for _, a := range phone.Alerts() {
					t.Logf("%s %s %s since %s", a.Labels["alertname"], a.Labels["node"], a.Status, a.StartsAt)
				}
			}
		})
	}
}

// stored waits until a state file of notifications contains a text.
func stored(t *testing.T, state, file, text string) {
	t.Helper()
	testworld.Await(t, file, func() error {
		if content, _ := os.ReadFile(filepath.Join(state, "notify", file)); !bytes.Contains(content, []byte(text)) {
			return errors.New("no " + text)
		}
		return nil
	})
}

// A separate Alertmanager with the same file sends the same notifications.
func TestNotificationsEqualThoseOfAlertmanager(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	rules := shortRules(t)
	w := newWorld(t, rules)
	inside, outside := testworld.Webhook(t), testworld.Webhook(t)
	environment := slices.DeleteFunc(slices.Clone(w.environment), func(v string) bool { return strings.HasPrefix(v, "AVAX_ALERTMANAGERS=") })
	text := must.Get(yaml.Marshal(testworld.ShortRoutes(t, inside.URL)))(t)
	testworld.StartExporter(
		t,
		append(
			environment,
			"AVAX_NOTIFY_FILE="+testworld.File(t, string(text)),
			"AVAX_ALERTMANAGERS="+testworld.AlertmanagerWith(t, testworld.ShortRoutes(t, outside.URL)).URL,
		)...)
	w.play(t, func() error { return nil }, inside, outside)
	received := func(r *testworld.Receiver) []string {
		set := map[string]bool{}
		for _, a := range r.Alerts() {
			set[fmt.Sprint(a.Receiver, " ", a.Group, " ", a.Status, " ", a.Fingerprint, " ", a.Labels, " ", a.GeneratorURL)] = true
		}
		return slices.Sorted(maps.Keys(set))
	}
	testworld.Await(t, "same notifications", func() error { return equal(received(outside), received(inside)) })
}
