package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

func TestNodePageShowsWhatIsAboutTheNode(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="a"} 1
		avax_node_up{node="b"} 1
		avax_node_info{node="a",node_id="NodeID-a",version="v"} 1
		avax_node_peers{node="a"} 7
		avax_node_peers{node="b"} 8
		avax_validator_present{node_id="NodeID-a"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="V"} 100`)
	source := newSource(t, group(
		rule("Down", "page", alerting.Firing, map[string]string{"node": "a", "summary": "a: down"}, map[string]string{"node": "b", "summary": "b: down"}),
		rule("Drains", "warn", alerting.Firing, map[string]string{"node_id": "NodeID-a", "chain": "one", "summary": "balance of a"}),
	))
	firing := func(from, to time.Duration) func(time.Duration) float64 {
		return func(ago time.Duration) float64 {
			if ago <= from && ago > to {
				return 1
			}
			return stale
		}
	}
	source.past(t, stripHistory, firing(time.Hour, 50*time.Minute), "__name__", "ALERTS", "alertname", "Down", "alertstate", "firing", "severity", "page", "node",
		"a")
	source.past(t, stripHistory, firing(time.Hour, 50*time.Minute), "__name__", "ALERTS", "alertname", "Down", "alertstate", "firing", "severity", "page", "node",
		"b")
	source.read(t, s)
	s.Notified = func() []notify.Sent {
		return []notify.Sent{{At: time.Now().Add(-59 * time.Minute), Receiver: "pager",
			Alerts: []model.LabelSet{{"alertname": "Down", "severity": "page", "node": "a"}}}}
	}
	node := read(t, ask(t, s, http.MethodGet, "/node/a").Body)
	demand(t, node, "a: down, since ", "balance of a", "!b: down", "Safe to stop: not known", `href="../safe-to-stop?hold=false&node=a"`, `href="../explain?name=Down`,
		`avax_node_peers{node="a"}`, `!avax_node_peers{node="b"}`, "avax_validator_present", `href="../alerts"`)
	if rows := rowsIn(node, "history", "Severity", "Notified"); len(rows) != 1 || rows[0] != "Down node=a | page | pager" {
		t.Errorf("history %q", rows)
	}
	if row := rowsIn(node, "history", "Ended"); !strings.Contains(row[0], "after 10 min") {
		t.Errorf("history %q", row)
	}
	for _, path := range []string{"/node/b", "/l1/one", "/"} { // a screen reader reads the headings in their order
		page := read(t, ask(t, s, http.MethodGet, path).Body)
		if h2, h3 := strings.Index(page, "<h2"), strings.Index(page, "<h3"); h3 >= 0 && (h2 < 0 || h3 < h2) {
			t.Errorf("%s: a heading of the third level is before the first of the second", path)
		}
	}
	demand(t, read(t, ask(t, s, http.MethodGet, "/l1/one").Body), "balance of a", "!a: down", `id="l1-one" open`, "avax_l1_validator_weight{")
	for path, want := range map[string]int{"/node/c": 404, "/l1/two": 404, "/runbook/AvaxNodeDown": 200, "/runbook/AvaxNodeDown.md": 200, "/runbook/Nope": 404,
		"/runbook/..%2fdesign": 404} {
		if answer := ask(t, s, http.MethodGet, path); answer.StatusCode != want {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	demand(t, read(t, ask(t, s, http.MethodGet, "/runbook/AvaxNodeDown").Body), "<h2>Meaning</h2>", "<table>", "<code>main.log</code>")
}

// An alert that only keep_firing_for keeps is over: it is a note without an action, and comes last.
func TestAlertsThatAreOverSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `avax_node_up{node="a"} 1`)
		over := rule("Down", "page", alerting.Firing, map[string]string{"node": "a", "summary": "a: down", "action": "Log in to a."})
		over.KeepFiringFor, over.Alerts[0].KeepFiringSince = 10*60, time.Now().Add(-2*time.Minute)
		sourced(t, s, group(over, rule("Small", "info", alerting.Firing, map[string]string{"node": "a", "summary": "small"})))
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		demand(t, page, "a: down</strong> <span class=\"dim\">over for 2 min, clears in 8 min unless it returns", "!Log in to a", "1 over",
			`<li class="note" id="Down">`, "<title>small, since ")
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "over for 2 min", "!Log in to a")
		if strings.Index(page, `id="Down"`) < strings.Index(page, `id="Small"`) {
			t.Error("the alert that is over is first")
		}
	})
}

// Without a configuration the page says what to set, instead of how to repair a node that nobody named.
func TestPageWithoutAConfiguredNodeNamesTheVariable(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="local"} 0`)
	s.DefaultNode = true
	sourced(t, s, group(rule("Down", "page", alerting.Firing, map[string]string{"node": "local", "summary": "local: down", "action": "Log in to local."})))
	for _, path := range []string{"/", "/alerts", "/node/local"} {
		demand(t, read(t, ask(t, s, http.MethodGet, path).Body), "AVAX_NODES", "!Log in to local")
	}
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "<title>No node is configured")
}

// A set of nodes may be scaled to zero.
func TestPageSaysThatNoNodeIsConfiguredNow(t *testing.T) {
	s := siteWith(t, `avax_network_validators{subnet_id="x"} 7`)
	empty := true
	s.Empty = func() bool { return empty }
	sourced(t, s)
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "No node configured here now", "AVAX_NODES_FILE", "!No active alerts", "!Starting")
	empty = false
	demand(t, read(t, ask(t, s, http.MethodGet, "/?x=1").Body), "!No node configured")
}

func TestNodesAreFilteredAndSortedByTheURL(t *testing.T) {
	s := fleet(t, 12, 0)
	first := func(path string) string {
		_, rest, _ := strings.Cut(read(t, ask(t, s, http.MethodGet, path).Body), `id="node-`)
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	s.Labels = func() map[string]map[string]string {
		return map[string]map[string]string{"node0003": {"owner": "acme"}, "node0004": {"owner": "beam", "region": "eu"}, "node0007": {"region": "us"}}
	}
	for path, want := range map[string]string{
		"/?owner=acme": "node0003", "/?owner=beam&refresh=30": "node0004", "/?owner=none": "", "/?filter=region=eu": "node0004", "/?unknown=x": "node0007",
	} {
		if got := first(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{"/": "node0007", "/?sort=name": "node0000", "/?filter=no+answer": "node0007", "/?filter=node0011": "node0011",
		"/?filter=nothing": ""} {
		if got := first(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// The heights of two nodes are compared only if the higher one was read before the lower one.
func TestHeightsAreComparedAtOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		read := func(node string, height float64) {
			putSamples(t, s, metric.Key{Collector: "heads", Target: metric.Target{Node: node}},
				testSample{"avax_chain_height", []string{"node", node, "chain", "C"}, height})
		}
		behind := func(node string) float64 { return s.statusAt(time.Now()).Node(node).Chains[0].Behind.V }
		read("a", 100)
		time.Sleep(10 * time.Second)
		read("b", 110)
		if behind("a") != 0 || behind("b") != 0 {
			t.Errorf("a is %v behind, b is %v behind", behind("a"), behind("b"))
		}
		time.Sleep(10 * time.Second)
		read("a", 105)
		if behind("a") != 5 {
			t.Errorf("a is %v behind, want 5", behind("a"))
		}
	})
}

func TestNodePageWithoutRecentSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `avax_node_up{node="a"} 1`)
		time.Sleep(2 * time.Minute) // the samples have expired
		demand(t, read(t, ask(t, s, http.MethodGet, "/node/a").Body), "no recent samples")
	})
}
