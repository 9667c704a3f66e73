package app_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// incident is an incident of the simulated network, with the expected alerts. The whole app runs with the built-in rules.
type incident struct {
	what       string
	begin, end func(*world)

	// pages and warns are the expected notifications. No other alert may page. If no notification is
	// expected, only notes may be sent.
	pages, warns []string
	within       time.Duration // time after begin within which all are sent; if none is expected, the duration of the incident
	ended        time.Duration // time after end within which pages[0] is resolved; 0: not checked
	goesOn       time.Duration // further duration; 0: twelve minutes, because an alert with a group interval of five may be sent just as it resolves
	heals        time.Duration // nothing fires after this time from end; 0: an hour; negative: do not wait

	notified int    // number of notifications of pages; 0: not counted
	says     string // text in the summary of the first page

	later []time.Duration // when further parts of the fault begin

	downs        bool // nodes do not answer from begin to end
	comesAndGoes bool // the fault ends and returns

	healthy time.Duration // time before begin; 0: five minutes
	startup simnet.Startup
	nodes   []string // monitored nodes; nil: those of the demo, and a spare one
	more    []string // further monitored nodes, each a validator with little stake
	fuji    bool     // the network identifies as Fuji

	idle         bool // examplepoa has no transactions
	permissioned bool // examplepoa is not converted to an L1
	three        bool // examplepoa has only three validators: alpha, bravo and charlie
	quick        bool // with fewer calls and shorter waits
	change       func(*apptest.World)
}

// world is a healthy network, large enough that the loss of one node does not affect others.
type world struct {
	*apptest.World
	*proxy
	t        *testing.T
	episodes []*episode          // in order of time
	seen     int                 // number of received alerts
	closely  time.Time           // until when the status page is checked in every second
	down     bool                // whether a node is
	outages  map[string][]outage // of the nodes, as they are in the simulation
	began    time.Time           // of the exporter

	said        []said           // see isOneFault
	active      []alerting.Alert // at the last check
	compared    int              // number of comparisons with /alerts
	apiAsked    time.Time        // when the incidents of the API were last compared
	differences []string         // that were reported

	also         func(now page, level, title string, items []item) // further checks of a page
	activeBefore []alerting.Alert                                  // at the check before

	restarts int // of the exporter

	asked int // number of questions whether a node may stop
}

// Further participants.
var (
	large   = numbered("large%d", 10)  // validators with 3,000,000 AVAX
	members = numbered("member%d", 10) // validators of both L1s, with the weight of a node
	small   = numbered("peer%04d", 60) // validators with little stake
)

// proxy is between the exporter and the network. It redirects requests to other hosts, and presents nodes as nodes on Fuji.
type proxy struct {
	http.RoundTripper
	mu   sync.Mutex
	to   map[string]string // by host
	fuji map[string]bool   // by host; "" for all
	id   [3]string         // a node, what it answers as its node ID, and what instead; empty: nothing else
}

func (p *proxy) redirect(host, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to[host] = to
}

// setID changes the node ID that a node answers.
func (p *proxy) setID(node, is, instead string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = [3]string{node, is, instead}
}

func (p *proxy) setFuji(host string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fuji[host] = is
}

// RoundTrip implements http.RoundTripper.
func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	to, fuji, id := p.to[r.URL.Host], p.fuji[r.URL.Host] || p.fuji[""], p.id
	p.mu.Unlock()
	if to == "" && !fuji && r.URL.Host != id[0]+".sim" { // most calls: they need no second look
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding") // as wiretest does: compression takes long
		return p.RoundTripper.RoundTrip(r)
	}
	return wiretest.Between(p.RoundTripper, func(c *wiretest.Call) (*http.Response, error) {
		if to != "" {
			c.URL.Host, c.Host = to, to
		}
		if id[1] != "" && r.URL.Host == id[0]+".sim" {
			return c.Rewritten(func(body []byte) []byte {
				if !bytes.Contains(body, []byte("nodePOP")) {
					return body
				}
				return bytes.ReplaceAll(body, []byte(id[1]), []byte(id[2]))
			})
		}
		if !fuji {
			return c.Ask()
		}
		return c.Rewritten(func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`"networkID":"1337"`), []byte(`"networkID":"5"`))
		})
	}).RoundTrip(r)
}

// inWorld runs the app with rules and notifications.
func inWorld(t *testing.T, i incident, test func(t *testing.T, w *world)) {
	t.Helper()
	apptest.Run(t, func(t *testing.T, a *apptest.World) {
		n := simnet.New(simnet.Options{Seed: 1, Validators: len(small), Nodes: i.more, Startup: i.startup})
		n.SetBlockPeriod("X", 20*time.Second)
		for _, name := range large {
			n.AddValidator(name, 3_000_000e9, 300*day)
		}
		for _, name := range members {
			n.AddL1Validator("examplel1", name, 100, 100e9)
			if !i.permissioned {
				n.AddL1Validator("examplepoa", name, 20, 100e9)
			}
		}
		for _, name := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
			n.SetBalance("examplel1", name, 100e9)
		}
		if i.three {
			each(members, func(m string) { n.RemoveValidator("examplepoa", m) })
		}
		if i.idle {
			n.SetBlockPeriod("examplepoa", 0)
		}
		nodes := i.nodes
		if nodes == nil {
			nodes = append([]string{"spare"}, demo.Nodes...)
		}
		a.Use(n, append(nodes, i.more...)...)
		w := &world{t: t, World: a, proxy: &proxy{RoundTripper: n.Transport(), to: map[string]string{"spare.sim": "echo.sim"}, fuji: map[string]bool{"": i.fuji}}}
		a.Transport = w.proxy
		a.Env["CHAINS"] += ",examplepoa=" + n.Chain("examplepoa").ID
		switch {
		case i.quick:
			a.Env["COLLECTORS"], a.Env["METRICS_URL"] = "up,fleet,identity,bootstrap,heads,health,peers,connected_stake,uptime,validators,l1,l1_views", ""
		case i.fuji: // the simulated services have only Mainnet
			a.Env["METRICS_URL"] = ""
		default:
			a.Env["DATA_URL"] = "http://data.sim"
			a.Env["WATCH_ADDRESSES"] = "P-" + simnet.Owner + "," + simnet.Account
		}
		a.Notify(t)
		notified := a.Configure
		a.Configure = func(c *config.Config) {
			notified(c)
			c.Network.Name = data.Mainnet // the simulated services have no other
		}
		if i.change != nil {
			i.change(a)
		}
		a.StartNow(t)
		w.began = time.Now()
		test(t, w)
	})
}

// episode is an alert from its firing to its end.
type episode struct {
	labels       map[string]string
	group        string    // of its notification
	began, ended time.Time // ended is zero while it fires
	notified     time.Time // the first notification; zero if there was none, because another alert suppresses it
	since        time.Time // the begin of the fault as the notification says it
	summary      string    // in that notification
}

func (e *episode) fires() bool { return e.ended.IsZero() }

// announces reports whether the alert was notified as a warning, and the other one as its page within minutes: two messages of one fault.
func (e *episode) announces(page *episode) bool {
	const minutes = 7 * time.Minute
	return !e.notified.IsZero() && e.labels["severity"] == "warn" && page.labels["severity"] == "page" && e.labels["alertname"] == page.labels["alertname"] &&
		page.notified.After(e.notified) && page.notified.Sub(e.notified) < minutes
}

func (e *episode) String() string {
	rest := maps.Clone(e.labels)
	maps.DeleteFunc(rest, func(name, _ string) bool { return slices.Contains([]string{"alertname", "job", "instance"}, name) })
	return fmt.Sprint(e.labels["alertname"], rest)
}

// closelyFor is how long the status page is checked in every second after a change.
const closelyFor = 2 * time.Minute

// wait records all alerts and notifications until the time is over, or until the condition is true. It checks the status page in every second after a
// change, and after a node goes down or comes back, every 15 seconds for 20 minutes, and then once a minute.
func (w *world) wait(t *testing.T, long time.Duration, until func() bool) {
	t.Helper()
	steps := 0
	for end := time.Now().Add(long); time.Now().Before(end) && (until == nil || !until()); {
		for next := time.Now().Add(min(15*time.Second, time.Until(end))); time.Now().Before(next); {
			time.Sleep(min(time.Second, time.Until(next)))
			w.seeOutages()
			if down := w.aNodeIsDown(); down != w.down {
				w.down, w.closely = down, time.Now().Add(closelyFor)
			}
			if time.Now().Before(w.closely) {
				w.isOneFault(t, w.pageIsHonest(t), time.Now().Second()%3 == 0) // the other page is made of the same
				w.noFalseYes(t)
			}
		}
		w.record(t)
		if steps++; steps%4 == 0 || steps < 80 {
			w.isOneFault(t, w.pageIsHonest(t), steps%4 == 0 && steps < 80)
			w.noFalseYes(t)
		}
	}
}

// noFalseYes asks whether one node after the other may stop: the answer is not yes where the network's truth denies it. Nodes behind a proxy that answers
// for others are left out.
func (w *world) noFalseYes(t *testing.T) {
	t.Helper()
	var own []string
	for pair := range strings.SplitSeq(w.Env["NODES"], ",") {
		if name, _, _ := strings.Cut(pair, "="); name != "" && w.honest(name) {
			own = append(own, name)
		}
	}
	if len(own) == 0 {
		return
	}
	name := own[w.asked%len(own)]
	w.asked++
	before := stopDenied(w.Network, own, "", name)
	status, answer := w.Get(t, "/safe-to-stop?hold=false&node="+name)
	if status != http.StatusOK || before == "" {
		return
	}
	if after := stopDenied(w.Network, own, "", name); after != "" {
		t.Errorf("%s may stop: %s, but %s", name, strings.TrimSpace(answer), after)
	}
}

// honest reports whether the proxy passes what a node answers on unchanged.
func (p *proxy) honest(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to[node+".sim"] == "" && !p.fuji[node+".sim"] && !p.fuji[""] && (node != p.id[0] || p.id[1] == "")
}

// isPossible checks that what a text advises is possible: commands are not for a node at the default address, and only a public network has a status page.
func (w *world) isPossible(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "127.0.0.1") || strings.Contains(text, "status.avax.network") && w.honest("") {
		t.Errorf("advice for another node or network: %s", text)
	}
}

func (w *world) record(t *testing.T) {
	t.Helper()
	now, active := time.Now(), w.Alerts(t)
	find := func(labels map[string]string) *episode { // the last one
		for _, e := range slices.Backward(w.episodes) {
			if maps.Equal(e.labels, labels) {
				return e
			}
		}
		return nil
	}
	for _, e := range w.episodes {
		if e.fires() && !slices.ContainsFunc(active, func(a apptest.Alert) bool { return maps.Equal(a.Labels, e.labels) }) {
			e.ended = now
		}
	}
	for _, a := range active {
		if e := find(a.Labels); a.Labels["severity"] != "none" && (e == nil || !e.fires()) {
			w.episodes = append(w.episodes, &episode{labels: a.Labels, began: a.StartsAt})
		}
	}
	received := w.Receiver.Alerts()
	for _, a := range received[w.seen:] {
		w.isPossible(t, fmt.Sprint(a.Annotations))
		if e := find(a.Labels); e != nil && a.Status == "firing" && e.notified.IsZero() {
			e.notified, e.group, e.summary = a.At, a.Group, a.Annotations["summary"]
			e.since = alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)
		}
	}
	w.seen = len(received)
}

// outcome is the result of an incident.
type outcome struct {
	incident
	episodes  []*episode
	shown     []string // problems on the status page, at the moments and when all alerts are sent
	at        time.Time
	recovered time.Time
}

// run runs the incident, and checks its outcome.
func (i incident) run(t *testing.T) outcome {
	t.Helper()
	o, asked, checked, compared := outcome{incident: i}, 0, 0, 0
	inWorld(t, i, func(t *testing.T, w *world) {
		w.wait(t, cmp.Or(i.healthy, 5*time.Minute), nil)
		for _, e := range w.episodes {
			t.Errorf("alert before the incident: %v", e)
		}
		o.at = time.Now()
		w.closely = o.at.Add(closelyFor)
		i.begin(w)
		for _, moment := range moments {
			w.wait(t, moment-time.Since(o.at), nil)
			o.shown = append(o.shown, shown(t, w))
		}
		w.wait(t, i.within-time.Since(o.at), func() bool { return len(i.pages)+len(i.warns) > 0 && len(i.missing(w.episodes)) == 0 })
		for _, name := range i.missing(w.episodes) {
			t.Errorf("%s not sent within %v", name, i.within)
		}
		o.shown = append(o.shown, shown(t, w))
		w.wait(t, cmp.Or(i.goesOn, 12*time.Minute), nil)
		o.recovered = time.Now()
		w.closely = o.recovered.Add(closelyFor)
		if i.end != nil {
			i.end(w)
		}
		w.wait(t, cmp.Or(i.heals, time.Hour), func() bool {
			return (i.quick || time.Since(o.recovered) > 5*time.Minute) && !slices.ContainsFunc(w.episodes, (*episode).fires)
		})
		o.episodes, asked, checked, compared = w.episodes, w.asked, len(w.said), w.compared
		if !i.comesAndGoes {
			w.neverGreenBetween(t, o.at, o.recovered)
		}
		if i.downs {
			w.downtimeIs(t, o.at, o.recovered)
		}
		w.historyIsTrue(t)
	})
	t.Logf("asked %d times whether a node may stop", asked)
	t.Logf("checked %d pages for one fault, and %d times with /alerts", checked, compared)
	t.Logf("status page: %s", strings.Join(o.shown, " | "))
	for _, e := range o.episodes {
		notified, since, ended := "-", "-", "-"
		if !e.notified.IsZero() {
			notified, since = e.notified.Sub(o.at).Round(time.Second).String(), e.since.Sub(o.at).Round(time.Second).String()
		}
		if !e.fires() {
			ended = e.ended.Sub(o.recovered).Round(time.Second).String()
		}
		t.Logf("fires %8s, sent %8s, since %8s, ends %8s: %s", e.began.Sub(o.at).Round(time.Second), notified, since, ended, e)
	}
	i.counts(t, o.episodes)
	for _, e := range o.episodes {
		if first := len(i.pages) > 0 && e.labels["alertname"] == i.pages[0]; first && i.ended > 0 && e.labels["severity"] == "page" && e.ended.Sub(o.recovered) > i.ended {
			t.Errorf("not resolved within %v: %s", i.ended, e)
		}
		if !e.notified.IsZero() && !i.comesAndGoes {
			o.isTimely(t, e)
		}
		if before := slices.IndexFunc(o.episodes, e.announces); before >= 0 {
			t.Errorf("%s was sent %v before its page", e, o.episodes[before].notified.Sub(e.notified))
		}
		page, quiet := e.labels["severity"] == "page", len(i.pages)+len(i.warns) == 0 && e.labels["severity"] != "info"
		if !e.notified.IsZero() && (page || quiet) && !slices.Contains(i.pages, e.labels["alertname"]) {
			t.Errorf("unexpected notification after %v: %s", e.notified.Sub(o.at), e)
		}
		if e.fires() && i.heals >= 0 {
			t.Errorf("%v after the end still active: %s", cmp.Or(i.heals, time.Hour), e)
		}
	}
	return o
}

// counts checks the number of notifications of pages, and the text of the first one.
func (i incident) counts(t *testing.T, episodes []*episode) {
	t.Helper()
	sent := map[string]*episode{} // by notification
	var first *episode
	for _, e := range episodes {
		if e.labels["severity"] != "page" || e.notified.IsZero() {
			continue
		}
		sent[fmt.Sprint(e.group, e.notified)] = e
		if first == nil || e.notified.Before(first.notified) {
			first = e
		}
	}
	if i.notified > 0 && len(sent) != i.notified {
		t.Errorf("%d notifications of pages, want %d: %v", len(sent), i.notified, slices.Collect(maps.Values(sent)))
	}
	if first != nil && !strings.Contains(first.summary, i.says) {
		t.Errorf("the first page says %q, want %q", first.summary, i.says)
	}
}

// missing returns the expected alerts that were not sent yet.
func (i incident) missing(episodes []*episode) (names []string) {
	sent := func(name, severity string) bool {
		return slices.ContainsFunc(episodes, func(e *episode) bool {
			return !e.notified.IsZero() && e.labels["alertname"] == name && (e.labels["severity"] == "page") == (severity == "page")
		})
	}
	for _, name := range i.pages {
		if !sent(name, "page") {
			names = append(names, name)
		}
	}
	for _, name := range i.warns {
		if !sent(name, "warn") {
			names = append(names, name)
		}
	}
	return names
}

// Exactly the expected alerts are sent, in time.
func TestIncidentsPageAndResolve(t *testing.T) {
	testworld.Story(t)
	incident{
		what: "a node stops, the C-Chain is not bootstrapped on another, and validators of an L1 run out of balance",
		begin: func(w *world) {
			w.Node("bravo").Stop()
			w.Node("charlie").SetChain("C", simnet.Bootstrapping)
			each(members[:4], func(m string) { w.SetBalance("examplel1", m, 0) })
		},
		end: func(w *world) {
			w.Node("bravo").Start()
			w.Node("charlie").SetChain("C", simnet.Running)
			each(members[:4], func(m string) { w.TopUp("examplel1", m, 100e9) })
		},
		pages:  []string{"AvaxNodeDown", "AvaxChainNotBootstrapped", "AvaxL1ConnectedWeightLow"},
		within: 12 * time.Minute, goesOn: time.Second, heals: 10 * time.Minute, healthy: 2 * time.Minute, quick: true,
	}.run(t)
}

// Incidents of each kind are one fault for those who read the pages and the messages, and the history has their downtime, also in a short run.
func TestIncidentsOfEachKindAreOneFault(t *testing.T) {
	testworld.Story(t)
	for _, i := range []incident{
		nodeIncidents[0], cascades[1], networkIncidents[1], stakeIncidents[0], l1Incidents[3], quietIncidents[0],
	} {
		t.Run(i.what, func(t *testing.T) {
			i.quick, i.healthy, i.goesOn = true, 5*time.Minute, time.Minute
			i.run(t)
		})
	}
}

func TestRestartSendsNoPage(t *testing.T) {
	t.Parallel()
	incident{
		begin: func(w *world) {
			w.Node("alpha").Stop()
			time.AfterFunc(75*time.Second, w.Node("alpha").Start)
		},
		within: 6 * time.Minute, goesOn: time.Second, heals: time.Minute, healthy: 2 * time.Minute, quick: true,
	}.run(t)
}

func each(names []string, f func(name string)) {
	for _, name := range names {
		f(name)
	}
}

func numbered(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return all
}
