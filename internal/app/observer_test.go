package app_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// observedCollectors are the collectors of a quick incident that detect faults of one node.
const observedCollectors = "up,fleet,identity,bootstrap,heads,forks,health,peers,connected_stake,uptime,validators,validator_views,observer"

// nodeFaults are incidents of the only node of an operator.
var nodeFaults = []incident{
	{what: "accepts no more P-Chain blocks", begin: func(w *world) { w.Node("alpha").FallBehind("P") }},
	{what: "has another C-Chain block than the network", begin: func(w *world) { w.Node("alpha").Fork("C") }},
	{what: "loses all its peers", begin: func(w *world) { w.Disconnect("alpha") }},
	{what: "stops", begin: func(w *world) { w.Node("alpha").Stop() }},
}

// fired runs the incident with or without an observer. It returns when each alert of each severity except notes first fired, such as
// "Alert (severity) 5 min".
func (i incident) fired(t *testing.T, observed bool, long time.Duration) (alerts []string) {
	i.nodes, i.quick = []string{"alpha"}, true
	i.change = func(a *apptest.World) {
		a.Env["COLLECTORS"], a.Env["CHAINS"] = observedCollectors, "C"
		if observed {
			a.Env["OBSERVERS"] = "public=http://observer.sim"
		}
	}
	inWorld(t, i, func(t *testing.T, w *world) {
		w.wait(t, 10*time.Minute, nil)
		began := time.Now()
		i.begin(w)
		w.wait(t, long, nil)
		seen := map[string]bool{}
		slices.SortStableFunc(w.episodes, func(a, b *episode) int { return a.began.Compare(b.began) })
		for _, e := range w.episodes {
			alert := fmt.Sprintf("%s (%s)", e.labels["alertname"], e.labels["severity"])
			if e.began.Before(began) {
				t.Errorf("alert before the start: %v", e)
			}
			if e.labels["severity"] == "info" || seen[alert] {
				continue
			}
			seen[alert] = true
			alerts = append(alerts, fmt.Sprintf("%s %d min", alert, int(e.began.Sub(began).Round(time.Minute).Minutes())))
			if e.labels["node"] == "public" {
				t.Errorf("alert about an observer: %v", e)
			}
		}
	})
	slices.Sort(alerts) // by name: alerts of the same minute fire in any order
	return alerts
}

func TestObserverRevealsALaggingNode(t *testing.T) {
	t.Parallel()
	found := nodeFaults[0].fired(t, true, 10*time.Minute)
	if !slices.ContainsFunc(found, func(alert string) bool { return strings.HasPrefix(alert, "AvaxHeadStale (page)") }) {
		t.Errorf("no page: %q", found)
	}
}

// docs/observers.md has the table of alerts with and without an observer.
func TestObserverAlertsMatchTheDocs(t *testing.T) {
	testworld.Full(t)
	const file, name = "../../docs/observers.md", "observer-stories"
	table := "\n| the node … | without an observer | with an observer |\n|---|---|---|\n"
	for _, i := range nodeFaults {
		alone, observed := i.fired(t, false, 40*time.Minute), i.fired(t, true, 40*time.Minute)
		cell := func(alerts []string) string { return cmp.Or(strings.Join(alerts, ", "), "–") }
		table += fmt.Sprintf("| %s | %s | %s |\n", i.what, cell(alone), cell(observed))
		if !slices.ContainsFunc(observed, func(alert string) bool { return strings.Contains(alert, "(page)") }) {
			t.Errorf("the node %s: no page with an observer: %q", i.what, observed)
		}
		for _, alert := range alone {
			if first, _, _ := strings.Cut(alert, ")"); !slices.ContainsFunc(observed, func(with string) bool { return strings.HasPrefix(with, first) }) {
				t.Errorf("the node %s: the observer hides %s", i.what, alert)
			}
		}
	}
	table += "\n"
	if testworld.Update() {
		must.Do(t, section.Write(file, name, table))
	}
	written := must.Get(section.Read(file, name))(t)
	// Collectors run once a minute, at a random second.
	minutes := regexp.MustCompile(`(\d+) min`)
	was, is := minutes.FindAllStringSubmatch(written, -1), minutes.FindAllStringSubmatch(table, -1)
	same := minutes.ReplaceAllString(written, "") == minutes.ReplaceAllString(table, "")
	for n := 0; same && n < len(is); n++ {
		a, _ := strconv.Atoi(was[n][1])
		b, _ := strconv.Atoi(is[n][1])
		same = max(a-b, b-a) <= 3
	}
	if !same {
		t.Errorf("%s: run this test with -update and read the difference\nwas %s\nis  %s", file, written, table)
	}
}

// A load balancer selects another machine for each answer, and requests pauses.
func TestLoadBalancedObserverCausesNoAlerts(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	const long, budget = 3 * time.Hour, 60
	i := incident{nodes: []string{"alpha", "bravo"}, quick: true, change: func(a *apptest.World) {
		a.Env["OBSERVERS"], a.Env["OBSERVER_BUDGET"] = "public=http://observer.sim", fmt.Sprint(budget)
		delete(a.Env, "COLLECTORS")
	}}
	inWorld(t, i, func(t *testing.T, w *world) {
		calls, highest, pauses, minutes := 0, 0, 0, int(long/time.Minute)
		for minute := range minutes {
			if minute%60 == 30 { // once an hour it is rate-limited
				w.Observer().SetLimit(1, 2*time.Minute)
				pauses++
			}
			if minute%60 == 35 {
				w.Observer().SetLimit(0, 0)
			}
			w.ResetCalls()
			w.wait(t, time.Minute, nil)
			n := w.CallsTo("observer")
			calls, highest = calls+n, max(highest, n)
		}
		t.Logf("%v: %d calls to the observer, %.1f per minute, at most %d in a minute; budget %d; %d requested pauses",
			long, calls, float64(calls)/float64(minutes), highest, budget, pauses)
		if highest > budget || calls == 0 {
			t.Errorf("%d calls within a minute, budget %d", highest, budget)
		}
		for _, e := range w.episodes {
			t.Errorf("alert %v", e)
		}
	})
}

// delegator monitors a validator with an observer, without a node.
func delegator(of string) incident {
	return incident{nodes: []string{}, quick: true, change: func(a *apptest.World) {
		a.Env["NODES"], a.Env["OBSERVERS"], a.Env["VALIDATORS"], a.Env["CHAINS"] = "", "public=http://observer.sim", of, "C"
		a.Env["COLLECTORS"] = "observer,heads,forks,network,validators,validator_views,reward_budget,safe_to_stop,fleet,variants,up"
	}}
}

func TestStatusPageOfADelegator(t *testing.T) {
	t.Parallel()
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	inWorld(t, delegator(of), func(t *testing.T, w *world) {
		time.Sleep(12 * time.Minute)
		_, page := w.Get(t, "/")
		for _, text := range []string{
			"No active alerts", "1 observer, no node", `id="observer-public"`, ">up<", "<b>P</b> 2", "without ", ">60 calls per minute<", of,
			"validating, 1 of 1 observers connected",
		} {
			if !strings.Contains(page, text) {
				t.Errorf("missing on the page: %s", text)
			}
		}
		if strings.Contains(page, `id="nodes"`) {
			t.Error("page with a section of nodes")
		}
		if t.Failed() {
			t.Log(page)
		}
	})
}

// A delegator has no node.
func TestDelegatorIsAlertedOfADownValidator(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	var network string
	inWorld(t, delegator(of), func(t *testing.T, w *world) {
		if network = w.NodeID("charlie"); network != of {
			t.Fatal("network with other IDs")
		}
		w.wait(t, 15*time.Minute, nil)
		for _, e := range w.episodes {
			t.Errorf("alert before the incident: %v", e)
		}
		began := time.Now()
		w.Node("charlie").Stop()
		w.wait(t, 45*time.Minute, nil)
		fired := map[string]time.Duration{}
		for _, e := range w.episodes {
			fired[e.labels["alertname"]+" "+e.labels["severity"]] = e.began.Sub(began)
		}
		t.Log(fired)
		for alert, within := range map[string]time.Duration{"AvaxValidatorDisconnected warn": 10 * time.Minute, "AvaxValidatorDisconnected page": 40 * time.Minute} {
			if after, is := fired[alert]; !is || after > within {
				t.Errorf("%s: %v", alert, fired)
			}
			delete(fired, alert)
		}
		if len(fired) > 0 {
			t.Errorf("further alerts: %v", fired)
		}
	})
}

// A delegator who has no node is notified when the only observer does not answer: everything that the exporter reports comes from it.
func TestDelegatorIsAlertedOfAnObserverThatDoesNotAnswer(t *testing.T) {
	testworld.Story(t)
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	inWorld(t, delegator(of), func(t *testing.T, w *world) {
		w.wait(t, 15*time.Minute, nil)
		began := time.Now()
		w.Observer().Stop()
		w.wait(t, 50*time.Minute, nil)
		fired := map[string]time.Duration{}
		for _, e := range w.episodes {
			fired[e.labels["alertname"]+" "+e.labels["severity"]] = e.began.Sub(began)
		}
		for alert, within := range map[string]time.Duration{"AvaxDataTooOld warn": 32 * time.Minute, "AvaxDataTooOld page": 42 * time.Minute} {
			if after, is := fired[alert]; !is || after > within {
				t.Errorf("%s: %v", alert, fired)
			}
		}
	})
}
