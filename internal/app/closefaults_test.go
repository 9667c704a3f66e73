package app_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// change is a change of the simulated network in a story.
type change struct {
	at time.Duration
	do func(w *world, n *simnet.Node)
}

// told is what a receiver learns of one alert in a story.
type told struct {
	alert string
	since time.Duration // its first sign, from the begin of the story
	slow  bool          // its end is sent after hours: a deadline
	does  string        // a text in its action while it fires
	until time.Duration // its end, from the begin of the story; 0: not checked
}

// restart restarts the exporter.
func restart(w *world, _ *simnet.Node) {
	w.Stop()
	time.Sleep(10 * time.Second)
	w.StartNow(w.t)
	w.restarts++
}

// Causes that follow each other on one node: at each second the page leads with the one that is true now, says what to do, and is as red as what it shows. Each
// alert is sent once when it begins and once when it is over, with the time of its first sign.
func TestCausesThatFollowEachOther(t *testing.T) {
	testworld.Story(t)
	const minute = time.Minute
	for what, story := range map[string]struct {
		nodes   []string
		changes []change
		told    []told
	}{
		"restarts twice within four minutes": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Stop() }}, {50 * time.Second, func(_ *world, n *simnet.Node) { n.Start() }},
				{150 * time.Second, func(_ *world, n *simnet.Node) { n.Stop() }}, {210 * time.Second, func(_ *world, n *simnet.Node) { n.Start() }},
			},
		},
		"falls behind, stops, and is still behind when it is back": {
			nodes: []string{"alpha", "bravo", "charlie"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.FallBehind("C") }}, {8 * minute, func(_ *world, n *simnet.Node) { n.Stop() }},
				{14 * minute, func(_ *world, n *simnet.Node) { n.Start() }}, {24 * minute, func(_ *world, n *simnet.Node) { n.CatchUp("C") }},
			},
			told: []told{{"AvaxHeadStale", 0, false, "", 0}, {"AvaxNodeDown", 8 * minute, false, "", 0}},
		},
		"stops, and bootstraps when it is back": {
			nodes: []string{"bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Stop() }},
				{6 * minute, func(_ *world, n *simnet.Node) { n.SetChain("C", simnet.Bootstrapping); n.Start() }},
				{20 * minute, func(_ *world, n *simnet.Node) { n.SetChain("C", simnet.Running) }},
			},
			told: []told{{"AvaxNodeDown", 0, false, "", 0}, {"AvaxChainNotBootstrapped", 0, false, "", 0}},
		},
		"restarts without peers": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Stop() }}, {30 * time.Second, func(_ *world, n *simnet.Node) { n.StartIsolated() }},
				{9 * minute, func(_ *world, n *simnet.Node) { n.Start() }},
			},
			told: []told{{"AvaxConnectedStakeLow", minute, false, "", 0}},
		},
		"takes four seconds for each answer, and then stops": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Inject(simnet.Slow(4 * time.Second)) }}, {18 * minute, func(_ *world, n *simnet.Node) { n.Stop() }},
				{26 * minute, func(_ *world, n *simnet.Node) { n.Recover(); n.Start() }},
			},
			told: []told{{"AvaxNodeSlow", 4 * minute, false, "", 0}, {"AvaxNodeDown", 18 * minute, false, "", 0}},
		},
		"its disk is full, and it stops": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.FillDisk(0, 0) }}, {10 * minute, func(_ *world, n *simnet.Node) { n.Stop() }},
				{20 * minute, func(_ *world, n *simnet.Node) { n.FillDisk(600e9, 0); n.Start() }},
			},
			told: []told{{"AvaxNodeDiskLow", 0, false, "Delete old logs", 0}, {"AvaxNodeDown", 10 * minute, false, "free space first", 0}},
		},
		"rejects the exporter, and stops": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Inject(simnet.WrongHost()) }}, {4 * minute, func(_ *world, n *simnet.Node) { n.Stop() }},
				{14 * minute, func(_ *world, n *simnet.Node) { n.Recover(); n.Start() }},
			},
			told: []told{{"AvaxNodeDown", 4 * minute, false, "", 14 * minute}},
		},
		"stops, and rejects the exporter when it is back": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Stop() }},
				{6 * minute, func(_ *world, n *simnet.Node) { n.Inject(simnet.RateLimited(time.Second)); n.Start() }},
				{22 * minute, func(_ *world, n *simnet.Node) { n.Recover() }},
			},
			told: []told{{"AvaxNodeDown", 0, false, "", 6 * minute}, {"AvaxUpstreamRateLimited", 6 * minute, false, "", 0}},
		},
		"another node restarts without an L1 that it does not validate": {
			nodes: []string{"bravo", "delta"},
			changes: []change{
				{0, func(w *world, _ *simnet.Node) { w.Node("delta").SetChain("examplel1", simnet.Running) }},
				{8 * minute, func(w *world, _ *simnet.Node) {
					w.Node("delta").Start()
					w.Node("delta").SetChain("examplel1", simnet.Untracked)
				}},
				{12 * minute, restart},
				{26 * minute, func(w *world, _ *simnet.Node) { w.Node("delta").SetChain("examplel1", simnet.Running) }},
			},
			told: []told{{"AvaxChainNotBootstrapped", 8 * minute, false, "track-subnets", 26 * minute}},
		},
		"stops, while the exporter restarts at each phase": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.Stop() }}, {minute, restart}, {3 * minute, restart}, {7 * minute, restart},
				{9 * minute, func(_ *world, n *simnet.Node) { n.Start() }}, {9*minute + 20*time.Second, restart}, {11 * minute, restart},
			},
			told: []told{{"AvaxNodeDown", 0, false, "", 9 * minute}},
		},
		"stops with two others, while the exporter restarts at each phase": {
			nodes: []string{"alpha", "bravo", "charlie", "foxtrot"},
			changes: []change{
				{0, func(w *world, _ *simnet.Node) {
					each([]string{"alpha", "bravo", "charlie"}, func(n string) { w.Node(n).Stop() })
				}},
				{minute, restart}, {5 * minute, restart},
				{10 * minute, func(w *world, _ *simnet.Node) {
					each([]string{"alpha", "bravo", "charlie"}, func(n string) { w.Node(n).Start() })
				}},
				{10*minute + 30*time.Second, restart},
			},
			told: []told{{"AvaxNodeDown", 0, false, "", 10 * minute}},
		},
		"its disk is full, while the exporter restarts as it is no more": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(_ *world, n *simnet.Node) { n.FillDisk(0, 0) }},
				{12 * minute, func(_ *world, n *simnet.Node) { n.FillDisk(600e9, 0) }}, {12*minute + 20*time.Second, restart},
			},
			told: []told{{"AvaxNodeDiskLow", 0, false, "", 12 * minute}},
		},
		"has another key, while the exporter restarts at each phase": {
			nodes: []string{"alpha", "bravo"},
			changes: []change{
				{0, func(w *world, n *simnet.Node) { w.setID("bravo", n.ID(), otherID) }}, {minute, restart}, {6 * minute, restart},
				{14 * minute, func(w *world, _ *simnet.Node) { w.setID("", "", "") }}, {14*minute + 20*time.Second, restart},
			},
			told: []told{{"AvaxNodeIdentityChanged", 0, false, "", 14 * minute}},
		},
		"its validation ends while it is down": {
			nodes: []string{"alpha", "bravo", "charlie"},
			changes: []change{
				{0, func(w *world, n *simnet.Node) { w.SetStakeEnd("bravo", time.Now().Add(4*minute)); n.Stop() }},
				{12 * minute, func(_ *world, n *simnet.Node) { n.Start() }},
				{25 * minute, func(w *world, _ *simnet.Node) { w.AddValidator("bravo", 1_950_000e9, 180*day) }},
			},
			told: []told{{"AvaxStakeEndsSoon", minute, true, "", 0}, {"AvaxNodeDown", 0, false, "", 0}, {"AvaxValidatorMissing", 6 * minute, false, "", 0}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			noServices := func(a *apptest.World) {
				a.Env["METRICS_URL"] = ""
				delete(a.Env, "DATA_URL")
				delete(a.Env, "WATCH_ADDRESSES")
			}
			inWorld(t, incident{nodes: story.nodes, change: noServices}, func(t *testing.T, w *world) {
				w.wait(t, 5*time.Minute, nil)
				start := time.Now()
				for _, c := range story.changes {
					w.wait(t, time.Until(start.Add(c.at)), nil)
					c.do(w, w.Node("bravo"))
					w.closely = time.Now().Add(closelyFor)
				}
				w.wait(t, 40*time.Minute, func() bool { return len(w.active) == 0 && w.closely.Before(time.Now()) })
				time.Sleep(11 * time.Minute) // the group of the messages waits for up to ten
				w.historyIsTrue(t)
				w.areTold(t, start, story.told)
			})
		})
	}
}

// amounts are the numbers of a title that change, with their units.
var amounts = regexp.MustCompile(`[0-9.]+( ?[dhms]\b)?( [0-9.]+[hms]\b)*`)

// lacksOnlyADetail matches what the title of an end may lack, because it is not known any more: what is in parentheses or behind a comma.
var lacksOnlyADetail = regexp.MustCompile(`^$|^( \(|, )`)

// areTold checks that a receiver got these alerts, each once firing and once resolved, with its first sign, and no other. The
// title of the end is that of the begin.
func (w *world) areTold(t *testing.T, start time.Time, want []told) {
	t.Helper()
	const sample = 75 * time.Second // a period of a collector, and a probe
	got, titles := map[string]int{}, map[string]string{}
	for _, a := range w.Receiver.Alerts() {
		if severity := a.Labels["severity"]; severity != "page" && severity != "warn" {
			continue
		}
		name := a.Labels["alertname"]
		got[name+" "+a.Status]++
		title := amounts.ReplaceAllString(a.Annotations["summary"], "#")
		if fired, is := titles[name]; is && a.Status == "resolved" && !lacksOnlyADetail.MatchString(strings.TrimPrefix(fired, title)) {
			t.Errorf("resolved with the title %q, and fired with %q", title, fired)
		}
		titles[name] = title
		since := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt).Sub(start)
		known := false
		for _, one := range want {
			known = known || one.alert == name
			if one.alert == name && a.Status == "firing" && !strings.Contains(a.Annotations["action"], one.does) {
				t.Errorf("%s: action %q, want %q", name, a.Annotations["action"], one.does)
			}
			if lasted := a.EndsAt.Sub(start); one.alert == name && a.Status == "resolved" && one.until > 0 && (lasted-one.until).Abs() > sample {
				t.Errorf("%s: until %v, want %v", a.Annotations["summary"], lasted, one.until)
			}
			if one.alert == name && (since-one.since).Abs() > sample {
				t.Errorf("%s: %s since %v, want %v", a.Status, a.Annotations["summary"], since, one.since)
			}
		}
		if !known {
			t.Errorf("%v after the begin: %s: %s", a.At.Sub(start), a.Status, a.Annotations["summary"])
		}
	}
	for _, one := range want {
		if got[one.alert+" firing"] != 1 || got[one.alert+" resolved"] != 1 && !one.slow {
			t.Errorf("%s: %d times firing, %d times resolved", one.alert, got[one.alert+" firing"], got[one.alert+" resolved"])
		}
	}
}
