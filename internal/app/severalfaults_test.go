package app_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A kind of fault of a node, which no fault of another node explains.
type faultKind struct {
	alert, severity string
	told            time.Duration // time from its begin within which its message is sent
	clears          time.Duration // time from its end within which its end is sent
	shown           time.Duration // time from its end after which nothing is red because of it
	begin, end      func(w *world, node string)
}

var faultKinds = map[string]faultKind{
	"stops": {alert: "AvaxNodeDown", severity: "page", told: 6 * time.Minute, clears: 5 * time.Minute, shown: 30 * time.Second,
		begin: func(w *world, n string) { w.Node(n).Stop() },
		end:   func(w *world, n string) { w.Node(n).Start() }},
	"falls behind": {alert: "AvaxHeadStale", severity: "page", told: 6 * time.Minute, clears: 6 * time.Minute, shown: 3 * time.Minute,
		begin: func(w *world, n string) { w.Node(n).FallBehind("C") },
		end:   func(w *world, n string) { w.Node(n).CatchUp("C") }},
	"bootstraps": {alert: "AvaxChainNotBootstrapped", severity: "page", told: 13 * time.Minute, clears: 6 * time.Minute, shown: 2 * time.Minute,
		begin: func(w *world, n string) { w.Node(n).SetChain("C", simnet.Bootstrapping) },
		end:   func(w *world, n string) { w.Node(n).SetChain("C", simnet.Running) }},
	"has another key": {alert: "AvaxNodeIdentityChanged", severity: "page", told: 5 * time.Minute, clears: 6 * time.Minute, shown: 2 * time.Minute,
		begin: func(w *world, n string) { w.setID(n, w.NodeID(n), otherID) },
		end:   func(w *world, _ string) { w.setID("", "", "") }},
	"rejects the exporter": {alert: "AvaxUpstreamForbidden", severity: "warn", told: 12 * time.Minute, clears: 12 * time.Minute, shown: 30 * time.Second,
		begin: func(w *world, n string) { w.Node(n).Inject(simnet.WrongHost()) },
		end:   func(w *world, n string) { w.Node(n).Recover() }},
}

// happening is a fault of a node in a story.
type happening struct {
	node, what string
	at, long   time.Duration // from the begin of the story; its length

	faultKind
	began, ended time.Time // zero: not yet
	seen         bool      // on the page
}

func (h *happening) String() string { return h.node + " " + h.what }

// beganAt reports whether a minute on a page is that of its begin: of the answer before it, or of the first sample and the evaluation after it.
func (h *happening) beganAt(minute string) bool {
	for late := -apptest.Interval; late <= time.Minute+apptest.Interval; late += apptest.Interval {
		if h.began.Add(late).UTC().Format("15:04") == minute {
			return true
		}
	}
	return false
}

var historyBegins = regexp.MustCompile(`\| (\d\d:\d\d) UTC \|`)

func (h *happening) on() bool { return !h.began.IsZero() && h.ended.IsZero() }

// isSubject reports whether a title is about the node, maybe with others that have the same fault.
func (h *happening) isSubject(title string) bool {
	of, about, _ := strings.Cut(title, ": ")
	if strings.Contains(of, "not answer") {
		of = about
	}
	return slices.Contains(strings.FieldsFunc(of, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }), h.node)
}

// isIn reports whether an item of the page is about the fault, and which of its titles is.
func (h *happening) isIn(i item) (title int, is bool) {
	title = slices.IndexFunc(i.titles, h.isSubject)
	return title, title >= 0 && (i.alert == h.alert || i.alert == "" && slices.Contains(alertsOf(i.titles[title]), h.alert))
}

// rank is how urgent the fault is for those who read the page: silence first, then what pages, and what warns. What will page may lead over a warning.
func (h *happening) rank(active []alerting.Alert) int {
	rank := 0
	for _, a := range active {
		if a.Labels["alertname"] == h.alert && cmp.Or(a.Labels["node"], a.Labels["upstream"]) == h.node && a.State == alerting.Firing {
			rank = max(rank, map[string]int{"warn": 1, "page": 2}[a.Labels["severity"]])
		}
	}
	if h.what == "stops" {
		return 3
	}
	return rank
}

// Several faults at once are several problems, the worst first. Each has its own begin, action, end, message and downtime, as if it were alone.
func TestSeveralFaultsAreSeveralProblems(t *testing.T) {
	testworld.Story(t)
	stories := [][]*happening{
		{ // a fault that fires, and a worse one
			{node: "charlie", what: "falls behind", long: 16 * time.Minute}, {node: "bravo", what: "stops", at: 6 * time.Minute, long: 7 * time.Minute},
		}, { // the same fault of two nodes
			{node: "bravo", what: "stops", long: 10 * time.Minute}, {node: "alpha", what: "stops", at: 3 * time.Minute, long: 14 * time.Minute},
		}, { // the same, of which one pages before the other has an alert
			{node: "bravo", what: "bootstraps", long: 18 * time.Minute}, {node: "alpha", what: "bootstraps", at: 4 * time.Minute, long: 16 * time.Minute},
		}, { // a warning, and then a page
			{node: "alpha", what: "rejects the exporter", long: 26 * time.Minute}, {node: "charlie", what: "has another key", at: 12 * time.Minute, long: 7 * time.Minute},
		}, { // what will page, what pages, and a warning
			{node: "charlie", what: "bootstraps", long: 18 * time.Minute}, {node: "bravo", what: "falls behind", at: 2 * time.Minute, long: 8 * time.Minute},
			{node: "alpha", what: "rejects the exporter", at: 4 * time.Minute, long: 22 * time.Minute},
		},
	}
	if !testing.Short() {
		for seed := range uint64(12) {
			stories = append(stories, randomStory(seed))
		}
	}
	for _, story := range stories {
		name := ""
		for _, h := range story {
			name += fmt.Sprintf("%s from %v for %v, ", h, h.at, h.long)
			h.faultKind = faultKinds[h.what]
		}
		t.Run(strings.TrimSuffix(name, ", "), func(t *testing.T) {
			t.Parallel()
			inWorld(t, incident{quick: true}, func(t *testing.T, w *world) { w.play(t, story) })
		})
	}
}

// randomStory returns two or three faults of different nodes that overlap.
func randomStory(seed uint64) (story []*happening) {
	chance := rand.New(rand.NewPCG(seed, 3))
	nodes := []string{"alpha", "bravo", "charlie", "foxtrot"}
	chance.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	kinds := []string{"stops", "falls behind", "bootstraps", "has another key", "rejects the exporter"}
	for i := range 2 + chance.IntN(2) {
		kind := chance.IntN(len(kinds))
		minutes := func(n int) time.Duration { return time.Duration(chance.IntN(60*n)) * time.Second }
		story = append(story, &happening{node: nodes[i], what: kinds[kind], at: minutes(8), long: faultKinds[kinds[kind]].told + time.Minute + minutes(9)})
		if kinds[kind] == "has another key" { // the proxy changes one key
			kinds = slices.Delete(kinds, kind, kind+1)
		}
	}
	return story
}

// play plays a story, checks each page, and then the messages and the history.
func (w *world) play(t *testing.T, story []*happening) {
	t.Helper()
	w.wait(t, 5*time.Minute, nil)
	start := time.Now()
	w.also = func(now page, level, title string, items []item) { w.areAll(now, level, title, items, story) }
	type event struct {
		at time.Duration
		do func()
	}
	var events []event
	for _, h := range story {
		events = append(events, event{h.at, func() { h.began = time.Now(); h.begin(w, h.node) }}, event{h.at + h.long, func() { h.ended = time.Now(); h.end(w, h.node) }})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		w.wait(t, time.Until(start.Add(e.at)), nil)
		e.do()
		w.closely = time.Now().Add(45 * time.Second)
	}
	w.wait(t, 40*time.Minute, func() bool { return len(w.active) == 0 && w.closely.Before(time.Now()) })
	w.also = nil
	time.Sleep(6 * time.Minute) // the group of the messages waits for five
	for _, h := range story {
		h.isTold(t, w)
	}
	w.historyIsTrue(t)
}

// areAll checks that the page has each fault of a story that it has shown once, until its end, the worst first, and that nothing is green meanwhile.
func (w *world) areAll(now page, level, title string, items []item, story []*happening) {
	t, before := now.t, w.activeBefore
	worst := -1
	for _, h := range story {
		at, shown := 0, 0
		var in item
		for _, i := range items {
			if title, is := h.isIn(i); is {
				if shown++; shown == 1 {
					at, in = title, i
				}
			}
		}
		if shown > 1 {
			w.once(t, now.what, h.String()+" is two problems", titlesOf(items))
		}
		switch {
		case h.on() && shown == 0 && h.seen:
			w.once(t, now.what, h.String()+" is no longer on the page", title, titlesOf(items))
		case h.on() && shown == 0:
			if time.Since(h.began) > h.told {
				w.once(t, now.what, h.String()+" is not on the page", title, titlesOf(items))
			}
		case h.on():
			h.seen = true
			worst = max(worst, min(h.rank(before), h.rank(w.active))) // an alert may begin or end between the answers
			if level == "well" || level == "note" {
				w.once(t, now.what, "nothing is red, but "+h.String(), title, in.titles)
			}
			if since := sinceOf.FindStringSubmatch(in.states[at]); since != nil && strings.HasPrefix(in.titles[at], h.node+":") && !h.beganAt(since[1]) {
				w.once(t, now.what, h.String()+" since "+since[1]+", it began at "+h.began.UTC().Format(time.TimeOnly), in.titles, in.states)
			}
		case shown > 0 && !h.ended.IsZero() && time.Since(h.ended) > h.shown && strings.HasPrefix(in.states[at], "since"):
			w.once(t, now.what, h.String()+" is over, but it is on the page", in.titles, in.states)
		}
	}
	for _, h := range story {
		if leads := strings.HasPrefix(title, h.node+":"); leads && h.on() && max(h.rank(before), h.rank(w.active)) < worst && (worst > 1 || h.severity != "page") {
			w.once(t, now.what, h.String()+" leads, although another fault is worse", title, titlesOf(items))
		} else if leads && items[0].alert == h.alert && !h.ended.IsZero() && time.Since(h.ended) > h.shown && worst >= 0 {
			w.once(t, now.what, h.String()+" leads, although it is over and another fault goes on", title, titlesOf(items))
		}
	}
}

func titlesOf(items []item) (all []string) {
	for _, i := range items {
		all = append(all, i.titles...)
	}
	return all
}

// isTold checks that the receiver learned of the fault and of its end in time, once each, with its own begin and length, and that so does the history.
func (h *happening) isTold(t *testing.T, w *world) {
	t.Helper()
	const probe = 90 * time.Second // a period of a collector, and an evaluation
	lasted := func(row string) bool {
		for off := -probe; off <= 3*probe; off += 30 * time.Second {
			if strings.Contains(row, "after "+words.Span(h.long+off)) {
				return true
			}
		}
		return false
	}
	told := map[string][]string{}
	for _, a := range w.Receiver.Alerts() {
		if a.Labels["alertname"] != h.alert || a.Labels["severity"] != h.severity || cmp.Or(a.Labels["node"], a.Labels["upstream"]) != h.node {
			continue
		}
		if told[a.Status] = append(told[a.Status], a.At.UTC().Format(time.TimeOnly)); len(told[a.Status]) > 1 {
			continue // a group is sent again while another alert of it begins or ends
		}
		since := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)
		if late := since.Sub(h.began); late < -probe/2 || late > probe {
			t.Errorf("%s: %s since %v, it began at %v", h, a.Status, since, h.began)
		}
		limit := h.began.Add(h.told)
		if a.Status == "resolved" {
			limit = h.ended.Add(h.clears)
		}
		if a.At.After(limit) {
			t.Errorf("%s: %s sent at %v, want %v at the latest", h, a.Status, a.At, limit)
		}
	}
	if len(told["firing"]) == 0 || len(told["resolved"]) != 1 {
		t.Errorf("%s from %v until %v: messages %v", h, h.began, h.ended, told)
	}
	of := slices.DeleteFunc(w.pastAlerts(t, h.alert), func(row string) bool { return !strings.Contains(row, h.node) })
	if h.severity != "page" || len(of) == 0 {
		return
	}
	begin := historyBegins.FindStringSubmatch(of[0])
	if len(of) != 1 || !lasted(of[0]) || begin == nil || !h.beganAt(begin[1]) {
		t.Errorf("%s for %v: history %q", h, h.long, of)
	}
}
