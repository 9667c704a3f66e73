package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// since sets how long the alerts of a rule have been active.
func since(r alerting.Rule, ago time.Duration) alerting.Rule {
	for i := range r.Alerts {
		r.Alerts[i].ActiveAt = time.Now().Add(-ago)
	}
	return r
}

// until makes a rule a forecast: its value is the time of a loss.
func until(r alerting.Rule, left time.Duration) alerting.Rule {
	r.Annotations = map[string]string{"forecast": "at"}
	for i := range r.Alerts {
		r.Alerts[i].Value = model.SampleValue(time.Now().Add(left).Unix())
	}
	return r
}

// waits sets for how long the expression of a rule must be true before its alerts fire.
func waits(r alerting.Rule, long time.Duration) alerting.Rule {
	r.For = alerting.Seconds(long.Seconds())
	return r
}

// What costs now comes before what will cost, a page before a warning, the newest incident before an older one, and what has been known for a day
// below. Within an incident the first alert comes first: the others may be its effects.
func TestWhatCostsNowLeads(t *testing.T) {
	on := func(node, summary string) map[string]string {
		return map[string]string{"node": node, "summary": summary}
	}
	chain := func(summary string) map[string]string { return map[string]string{"chain": "one", "summary": summary} }
	for name, test := range map[string]struct {
		rules []alerting.Rule
		want  string
	}{
		"a loss before an older forecast": {[]alerting.Rule{
			until(since(rule("Forecast", "page", alerting.Firing, chain("one: falls below 80 %")), 80*time.Minute), 29*time.Hour),
			since(rule("Frozen", "page", alerting.Firing, map[string]string{"chain": "C", "summary": "C: no block"}), 5*time.Minute),
		}, "Frozen Forecast"},
		"a pending loss before a forecast": {[]alerting.Rule{
			until(since(rule("Forecast", "page", alerting.Firing, chain("one: falls below 80 %")), 80*time.Minute), 29*time.Hour),
			since(rule("Frozen", "page", alerting.Pending, map[string]string{"chain": "C", "summary": "C: no block"}), time.Minute),
		}, "Frozen Forecast"},
		"a loss of its subject before a forecast, though it is a warning": {[]alerting.Rule{
			until(rule("Forecast", "page", alerting.Firing, chain("one: falls below 80 %")), 29*time.Hour),
			since(rule("Inactive", "warn", alerting.Firing, chain("echo: inactive on one")), 20*time.Minute),
		}, "Inactive Forecast"},
		"a page before a warning": {[]alerting.Rule{
			since(rule("Warns", "warn", alerting.Firing, on("a", "a: x")), time.Minute), since(rule("Pages", "page", alerting.Firing, on("b", "b: y")), time.Hour),
		}, "Pages Warns"},
		"a warning that fires before a page of another node that is far": {[]alerting.Rule{
			rule("Warns", "warn", alerting.Firing, on("a", "a: x")), waits(since(rule("Pages", "page", alerting.Pending, on("b", "b: y")), time.Minute), 13*time.Minute),
		}, "Warns Pages"},
		"a page that comes soon before a warning that fires": {[]alerting.Rule{
			rule("Warns", "warn", alerting.Firing, on("a", "a: x")), waits(since(rule("Pages", "page", alerting.Pending, on("b", "b: y")), 9*time.Minute), 13*time.Minute),
		}, "Pages Warns"},
		"a page that is far before a warning that waits": {[]alerting.Rule{
			rule("Warns", "warn", alerting.Pending, on("a", "a: x")), waits(since(rule("Pages", "page", alerting.Pending, on("b", "b: y")), time.Minute), 13*time.Minute),
		}, "Pages Warns"},
		"a page about the future before a warning about something else": {[]alerting.Rule{
			since(rule("Warns", "warn", alerting.Firing, on("a", "a: x")), time.Minute), until(rule("Forecast", "page", alerting.Firing, chain("one: y")), time.Hour),
		}, "Forecast Warns"},
		"the newest incident first": {[]alerting.Rule{
			since(rule("Old", "page", alerting.Firing, on("a", "a: x")), 3*time.Hour), since(rule("New", "page", alerting.Firing, on("b", "b: y")), 5*time.Minute),
		}, "New Old"},
		"the first alert of an incident first": {[]alerting.Rule{
			since(rule("Effect", "page", alerting.Firing, on("a", "a: x")), 5*time.Minute), since(rule("Cause", "page", alerting.Firing, on("b", "b: y")), 9*time.Minute),
			since(rule("Old", "page", alerting.Firing, on("c", "c: z")), 2*time.Hour),
		}, "Cause Effect Old"},
		"what is known for a day below": {[]alerting.Rule{
			since(rule("Known", "page", alerting.Firing, on("a", "a: x")), 25*time.Hour), until(rule("Forecast", "page", alerting.Firing, chain("one: y")), 29*time.Hour),
		}, "Forecast Known"},
		"a known page before a warning": {[]alerting.Rule{
			since(rule("Known", "page", alerting.Firing, on("a", "a: x")), 25*time.Hour), rule("Warns", "warn", alerting.Firing, on("b", "b: y")),
		}, "Known Warns"},
		"the nearest forecast first": {[]alerting.Rule{
			until(rule("Later", "page", alerting.Firing, chain("one: later")), 20*time.Hour), until(rule("Sooner", "page", alerting.Firing, chain("one: sooner")), time.Hour),
		}, "Sooner Later"},
		"a forecast whose time is past is a loss": {[]alerting.Rule{
			since(until(rule("Other", "page", alerting.Firing, chain("one: later")), time.Hour), time.Minute),
			since(until(rule("Over", "page", alerting.Firing, chain("one: ran out")), -time.Hour), 4*time.Hour),
		}, "Over Other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := siteWith(t, `avax_node_up{node="a"} 1`)
			sourced(t, s, group(test.rules...))
			page := read(t, ask(t, s, http.MethodGet, "/").Body)
			var got []string
			for _, p := range problemsOf(page) {
				name, _, _ := strings.Cut(p, ":")
				got = append(got, name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%q, want %s", got, test.want)
			}
			lead := got[0]
			for _, r := range test.rules {
				if r.Name == lead && !strings.HasPrefix(title(page), r.Alerts[0].Annotations["summary"]) {
					t.Errorf("title %q, but %s comes first", title(page), lead)
				}
			}
		})
	}
}

// The headline names an own node by its name, says how much time is left, and how much to do.
func TestHeadlineSaysWhoHowLongAndHowMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id = "NodeID-5Lx56fzpZ7EoUqd8nEvYv1Ssm7UDU2qS6"
		s := siteWith(t, `
			avax_node_up{node="charlie"} 1
			avax_node_info{node="charlie",node_id="`+id+`",version="v"} 1`)
		keepL1(s, "one", l1Told(floor, "b 50 0.01", "d 50 3000"))
		r := until(rule("Runway", "page", alerting.Firing, map[string]string{"node_id": id, "chain": "one", "validation_id": "b",
			"summary": id + ": balance on one runs out at 2000-01-01 00:53 UTC", "action": "Top up validation ID b."}), 53*time.Minute)
		r.Query = "avax_l1_validator_runway_seconds < 86400"
		sourced(t, s, group(r))
		for _, path := range []string{"/", "/node/charlie", "/alerts"} {
			page := read(t, ask(t, s, http.MethodGet, path).Body)
			demand(t, page, "charlie: balance on one runs out at 2000-01-01 00:53 UTC, in 53 min", "!: "+id, "Top up validation ID b. ", " AVAX last for 30 days.")
		}
		r.Alerts[0].Annotations["action"] = "Plan top-ups. The metric avax_l1_top_up_avax shows how many AVAX are needed."
		sourced(t, s, group(r))
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "are needed. ", " AVAX last for 30 days.")
		r.Alerts[0].Annotations["action"] = "Top up validation ID b. 30 days cost 1.33 AVAX at the present fee."
		sourced(t, s, group(r))
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "cost 1.33 AVAX", "!AVAX last for")
	})
}

// A dead node that has been known for a day does not hide a new page.
func TestNodeKnownToBeDownDoesNotHideANewPage(t *testing.T) {
	for ago, want := range map[time.Duration]string{25 * time.Hour: "C: no block", time.Hour: "dead: no answer"} {
		s := siteWith(t, `
			avax_node_up{node="dead"} 0
			avax_node_up{node="a"} 1`)
		sourced(t, s, group(since(rule("Down", "page", alerting.Firing, map[string]string{"node": "dead", "summary": "dead: no answer"}), ago),
			rule("Frozen", "page", alerting.Firing, map[string]string{"chain": "C", "summary": "C: no block"})))
		if got := title(read(t, ask(t, s, http.MethodGet, "/").Body)); !strings.HasPrefix(got, want) {
			t.Errorf("down for %v: title %q, want %s", ago, got, want)
		}
	}
}

// The card of a node has the colour of the worst alert about the node, about calls to it, and about its validator.
func TestCardOfANodeHasTheColourOfItsWorstAlert(t *testing.T) {
	for label, value := range map[string]string{"node": "a", "upstream": "a", "target": "a", "node_id": "NodeID-a"} {
		s := siteWith(t, `
			avax_node_up{node="a"} 1
			avax_node_info{node="a",node_id="NodeID-a",version="v"} 1
			avax_node_up{node="b"} 1`)
		sourced(t, s, group(rule("Any", "warn", alerting.Firing, map[string]string{label: value, "summary": "a: a fault"})))
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `class="card warn" id="node-a"`, `class="card well" id="node-b"`)
	}
}

// The page of an L1 leads with the worst that concerns it, also if another alert suppresses this.
func TestPageOfAnL1LeadsWithItsWorst(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="a"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_active_weight{chain="one"} 100
		avax_l1_proposers_left{chain="one"} 0`)
	plan := until(
		since(rule("Runway", "warn", alerting.Firing, map[string]string{"chain": "one", "summary": "b: balance on one runs out"}), time.Hour),
		700*time.Hour,
	)
	sourced(t, s, group(
		plan,
		rule(
			"AvaxConnectedStakeLow",
			"page",
			alerting.Firing,
			map[string]string{"scope": "all", "summary": "All nodes reach less than 80 %", "action": "Check the network."},
		),
		rule("AvaxL1ConnectedWeightLow", "page", alerting.Firing, map[string]string{"chain": "one", "summary": "one: 60 % of the weight connected"}),
	))
	demand(t, read(t, ask(t, s, http.MethodGet, "/l1/one").Body),
		`<h1 class="bad">one: 60 % of the weight connected`, "; an effect of: All nodes reach less than 80 %", "Check the network.")
	s = siteWith(t, `
		avax_node_up{node="a"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_active_weight{chain="one"} 100
		avax_l1_proposers_left{chain="one"} 0`)
	sourced(t, s, group(plan))
	for _, path := range []string{"/l1/one", "/"} { // also without an alert about it
		demand(t, read(t, ask(t, s, http.MethodGet, path).Body), `<h1 class="bad">one: no validator can build the next block`, `class="card bad" id="l1-one" open`)
	}
}

// What is configured and cannot be read stays on the page, with the reason, and nothing is green.
func TestPageShowsWhatCannotBeRead(t *testing.T) {
	overdue := func(s *Site, key metric.Key, err error) {
		at := time.Now().Add(-4 * time.Minute)
		s.Store.Put(metric.Run{Key: key, At: at, Until: at.Add(time.Minute)})
		if err != nil {
			s.Store.Put(metric.Run{Key: key, At: time.Now(), Err: err})
		}
	}
	for name, test := range map[string]struct {
		change func(s *Site)
		want   []string
	}{
		"a node that was never read": {func(*Site) {}, []string{"3 of 4 nodes up", "<span>1 without data</span>", `id="node-delta"`, "not read", "has no job for it", "!not read yet"}},
		"a node whose probe fails": {func(s *Site) {
			overdue(s, metric.Key{Collector: "up", Target: metric.Target{Node: "delta"}}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
		}, []string{"3 of 4 nodes up", `class="card warn" id="node-delta"`, `<h1 class="warn">delta: no data for 4 min`, "no answer within 10s"}},
		"a node whose probe is overdue": {func(s *Site) { overdue(s, metric.Key{Collector: "up", Target: metric.Target{Node: "delta"}}, nil) },
			[]string{"3 of 4 nodes up", `<h1 class="warn">delta: no data for 4 min`, "the collector is overdue", "1 of 2 collector runs succeeded, 1 overdue"}},
		"an L1": {func(s *Site) {
			s.Nodes, s.Chains = nil, func() []string { return []string{"one"} }
			overdue(s, metric.Key{Collector: "l1", Target: metric.Target{Chain: "one"}}, errors.New("platform.getValidatorsAt: refused"))
		}, []string{`id="l1-one" open`, `<h1 class="warn">one: no data for 4 min`, "platform.getValidatorsAt: refused"}},
		"the validators": {func(s *Site) {
			overdue(s, metric.Key{Collector: "validators"}, errors.New("platform.getCurrentValidators: refused"))
		}, []string{`id="validators"`, "no data for 4 min, because platform.getCurrentValidators: refused", "!No active alerts</h1>"}},
		"the delegations": {func(s *Site) { overdue(s, metric.Key{Collector: "delegations"}, errors.New("refused")) },
			[]string{`id="delegations"`, "no data for 4 min, because refused"}},
		"any other collector": {func(s *Site) {
			s.Nodes = nil
			overdue(s, metric.Key{Collector: "peers", Target: metric.Target{Node: "a"}}, nil)
		},
			[]string{"No active alerts, but no data: peers of a", "no data for 4 min, because the collector is overdue",
				`class="card note" id="node-a"`, "up; no data of peers", `class="card well" id="node-b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite()
				s.Nodes = func() []string { return []string{"a", "b", "c", "delta"} }
				time.Sleep(time.Hour)
				put(t, s, metric.Key{Collector: "nodes"}, `
					avax_node_up{node="a"} 1
					avax_node_up{node="b"} 1
					avax_node_up{node="c"} 1`)
				test.change(s)
				sourced(t, s, group())
				demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), append(test.want, `!<h1 class="well"`)...)
			})
		})
	}
}

// Facts color and order rows before any alert: a dead validator is first.
func TestFactsAreWorstFirst(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="a"} 1
		avax_validator_present{node_id="NodeID-good"} 1
		avax_validator_connected{node_id="NodeID-good",node="a"} 1
		avax_validator_present{node_id="NodeID-zdead"} 1
		avax_validator_connected{node_id="NodeID-zdead",node="a"} 0
		avax_delegation_end_timestamp_seconds{tx_id="t1",node_id="NodeID-good",name="me"} 4102444800
		avax_delegation_end_timestamp_seconds{tx_id="t2",node_id="NodeID-good",name="me"} 4002444800
		avax_delegation_end_timestamp_seconds{tx_id="t3",node_id="NodeID-zdead",name="me"} 4202444800
		avax_delegation_stake_avax{tx_id="t1",node_id="NodeID-good",name="me"} 100
		avax_delegation_stake_avax{tx_id="t3",node_id="NodeID-zdead",name="me"} 25
		avax_l1_weight{chain="one"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-1",validation_id="a"} 50
		avax_l1_validator_active{chain="one",node_id="NodeID-1",validation_id="a"} 1
		avax_l1_validator_weight{chain="one",node_id="NodeID-2",validation_id="b"} 50
		avax_l1_validator_active{chain="one",node_id="NodeID-2",validation_id="b"} 0`)
	sourced(t, s, group())
	page := read(t, ask(t, s, http.MethodGet, "/").Body)
	for section, want := range map[string]string{"validators": "NodeID-zdead", "l1s": "NodeID-2"} {
		if rows := rowsIn(page, section); len(rows) != 2 || rows[0] != want {
			t.Errorf("%s: %q, want %s first", section, rows, want)
		}
	}
	if rows := rowsIn(page, "delegations", "Uptime"); len(rows) != 3 || rows[0] != "NodeID-zdead | –, not connected" {
		t.Errorf("delegations: %q", rows)
	}
	if strings.Index(page, `id="delegation-t2"`) > strings.Index(page, `id="delegation-t1"`) {
		t.Error("the delegation that ends first is not first")
	}
	demand(t, page, `<tr id="validator-NodeID-zdead" class="warn">`, `<h1 class="warn">NodeID-zdead: not connected`, "3 delegations, stake 125 AVAX")
}

// A number stays on the line of its unit, and of “in”. Code keeps its spaces, so that a copy of it works.
func TestUnitsStayWithTheirNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"<p>in 5 min, 80 % of 7 AVAX</p>":        "<p>in\u00a05\u00a0min, 80\u00a0% of 7\u00a0AVAX</p>",
		"<p>5 minutes, 3 sheep, a h</p>":         "<p>5 minutes, 3 sheep, a h</p>",
		"<td>in 164 days</td>, main 3":           "<td>in\u00a0164\u00a0days</td>, main 3",
		"<code>x > 5 s</code><p>for 5 s</p>":     "<code>x > 5 s</code><p>for 5\u00a0s</p>",
		"<pre class=x><b>1 h</b></pre> 1 h":      "<pre class=x><b>1 h</b></pre> 1\u00a0h",
		"<style>a { margin: 0 s }</style>2 days": "<style>a { margin: 0 s }</style>2\u00a0days",
	} {
		if got := string(unbroken([]byte(text))); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// What a cause explains stands under it, folded: suppressed alerts, and the collectors that fail because the node does not answer. Other failures stay apart.
func TestEffectsStandUnderTheirCause(t *testing.T) {
	lines := "avax_node_up{node=\"bravo\"} 0\n"
	for i := range 9 {
		lines += fmt.Sprintf("avax_node_up{node=\"n%d\"} 1\n", i)
	}
	s := siteWith(t, lines)
	silent := outcome("info.peers", scrape.Unreachable, "connection refused")
	fail(s, "peers", metric.Target{Node: "bravo"}, silent)
	fail(s, "heads", metric.Target{Node: "bravo"}, silent)
	fail(s, "rewards", metric.Target{Item: "treasury"}, outcome("listRewards", scrape.Unreachable, "the service refuses connections"))
	fail(s, "tps", metric.Target{Chain: "C"}, outcome("avg_tps", scrape.Malformed, "no JSON"))
	down := rule("AvaxNodeDown", "page", alerting.Firing, map[string]string{"node": "bravo", "summary": "bravo: no answer"})
	stale := rule("AvaxHeadStale", "warn", alerting.Firing, map[string]string{"node": "bravo", "summary": "bravo: no new block"})
	data := rule("AvaxDataServiceDown", "warn", alerting.Firing, map[string]string{"upstream": "data", "summary": "Data service: no answer"})
	stale.Query, data.Query = "avax_chain_height == 0", "avax:service_down"
	sourced(t, s, group(down, stale, data))
	for _, path := range []string{"/", "/alerts"} {
		page := read(t, ask(t, s, http.MethodGet, path).Body)
		demand(t, page, "<summary>2 effects: AvaxHeadStale, failing collectors</summary>", "bravo: no new block", "2 collectors fail: heads, peers of bravo.",
			"<summary>1 effect: failing collectors</summary>", "1 collector fails: rewards of treasury.", "the service refuses connections")
	}
	_, failing, _ := strings.Cut(read(t, ask(t, s, http.MethodGet, "/").Body), `id="failing"`)
	failing, _, _ = strings.Cut(failing, "</section>")
	demand(t, failing, "tps of C", "!bravo", "!rewards")
}

// Once a node is back, what only was about to follow from its silence colors nothing.
func TestPendingEffectsEndWithTheirCause(t *testing.T) {
	down := rule("AvaxNodeDown", "page", alerting.Firing, map[string]string{"node": "bravo", "summary": "bravo: no answer"})
	votes := rule("AvaxRewardStakeLow", "page", "pending", map[string]string{"node": "bravo", "summary": "bravo: only 27 % of the stake would vote"})
	votes.Query = "avax_node_uptime_rewarding_stake_ratio < 0.5"
	for _, over := range []bool{false, true} {
		if over {
			down.KeepFiringFor, down.Alerts[0].KeepFiringSince = 60, time.Now().Add(-10*time.Second)
		}
		s := siteWith(t, "avax_node_up{node=\"bravo\"} 1\navax_node_uptime_rewarding_stake_ratio{node=\"bravo\"} 1")
		sourced(t, s, group(down, votes))
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		_, card, _ := strings.Cut(page, `id="node-bravo"`)
		card, _, _ = strings.Cut(card, "</article>")
		if red := strings.Contains(card, `class="bad`); red == over {
			t.Errorf("over: %v, red: %v: %s", over, red, card)
		}
		if over {
			demand(t, card, ">up</span>", "!27")
		}
	}
}

// A chain that begins to bootstrap refuses calls before the node reports that. The card of the node says so, and no second card.
func TestAChainThatBeginsToBootstrapIsNoFailingCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, "avax_node_up{node=\"a\"} 1\navax_chain_height{node=\"a\",chain=\"C\"} 5\navax_node_chain_bootstrapped{node=\"a\",chain=\"C\"} 1")
		sourced(t, s, group())
		fail(s, "heads", metric.Target{Node: "a", Chain: "C"}, outcome("eth_getBlockByNumber", scrape.Bootstrapping, "HTTP 503"))
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `<h1 class="warn">a: bootstrapping C`, "<b>C</b> bootstrapping", "!Failing collectors")
	})
}

// An alert that stands for several chains is shown at each of them, on its node or on all, and on the pages of the L1s.
func TestAnAlertThatStandsForSeveralChainsIsShownAtEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples := ""
		for _, at := range []string{`node="a",chain="P"`, `node="a",chain="C"`, `node="a",chain="one"`, `node="a",chain="two"`, `node="b",chain="one"`} {
			samples += "avax_chain_height{" + at + "} 5\n"
		}
		s := siteWith(t, samples+"avax_l1_weight{chain=\"one\"} 5\navax_node_up{node=\"a\"} 1\navax_node_up{node=\"b\"} 1")
		halted := rule("Frozen", "page", alerting.Firing, map[string]string{"chain": "C", "summary": "All halted", "chains": "P C one"})
		lost := rule("Lost", "warn", alerting.Firing, map[string]string{"node": "a", "summary": "a: two is lost", "chains": "two"})
		sourced(t, s, group(halted, lost))
		page := read(t, ask(t, s, http.MethodGet, "/").Body)
		demand(t, page,
			`<li class="bad"><b>P</b>`, `<li class="bad"><b>C</b>`, `<li class="warn"><b>two</b>`, `!class="off"><b>`,
			`class="card bad" id="l1-one"><summary>`, `<strong class="bad"> All halted</strong>`)
		demand(t, read(t, ask(t, s, http.MethodGet, "/l1/one").Body), `<h1 class="bad">All halted`, "!two is lost")

		sourced(t, s, group(lost))
		page = read(t, ask(t, s, http.MethodGet, "/").Body)
		demand(t, page, `<li class="off"><b>P</b>`, `<li class="warn"><b>two</b>`, `class="card off" id="l1-one"`)
	})
}
