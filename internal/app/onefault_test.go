package app_test

import (
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// item is one entry of the problems on a page, in the order of the page.
type item struct {
	alert  string // its name; empty if no alert is about it yet
	color  string // the class, such as bad pending
	titles []string
	states []string // of each title: since when
	action string
}

var (
	itemOf   = regexp.MustCompile(`(?s)<li class="((?:bad|warn|note|well)[^"]*)"(?: id="(\w+)")?>(.*?)</li>`)
	lineOf   = regexp.MustCompile(`(?s)<strong[^>]*>(.*?)</strong> <span class="dim">(.*?)</span>`)
	actionOf = regexp.MustCompile(`(?s)<p class="action">(.*?)</p>`)
	sinceOf  = regexp.MustCompile(`since (?:\d{4}-\d\d-\d\d )?(\d\d:\d\d) UTC`)
)

// items returns the problems on the status page.
func (p page) items() (all []item) {
	_, list, _ := strings.Cut(p.text, `<ul class="problems">`)
	list, _, _ = strings.Cut(list, "</ul>")
	for _, m := range itemOf.FindAllStringSubmatch(list, -1) {
		one := item{color: m[1], alert: m[2]}
		lines, _, _ := strings.Cut(m[3], "<details")
		for _, l := range lineOf.FindAllStringSubmatch(lines, -1) {
			one.titles, one.states = append(one.titles, l[1]), append(one.states, l[2])
		}
		if a := actionOf.FindStringSubmatch(lines); a != nil {
			one.action = a[1]
		}
		all = append(all, one)
	}
	return all
}

// urgency is how urgent an item is for those who read the page: silence first, then what pages or does soon, what warns, and what is to come.
func (i item) urgency() int {
	pages := nextPage.FindStringSubmatch(i.titles[0])
	severity, pending, _ := strings.Cut(i.color, " ")
	if severity == "bad" && pending != "" && pages == nil {
		pages = nextFires.FindStringSubmatch(i.states[0])
	}
	switch { // an item without a state is true now, before an alert says when it pages
	case severity == "note":
		return 0
	case strings.Contains(i.titles[0], "no answer") || strings.Contains(i.titles[0], "not answer: "):
		return 4
	case severity == "bad" && (pending == "" || i.states[0] == "") || pages != nil && durationOf(pages[1]) <= 5*time.Minute:
		return 3
	case pending == "":
		return 2
	}
	return 1
}

var (
	nextPage  = regexp.MustCompile(`; pages (?:(?:in|within) ((?:\d+ (?:h|min|s) ?)+)|with )`)
	nextFires = regexp.MustCompile(`, fires (?:in ((?:\d+ (?:h|min|s) ?)+)|with )`)
)

// redOf finds a node of which something pending is red.
var redOf = regexp.MustCompile(`<article class="card bad pending[^>]*>.{0,200}`)

// durationOf returns a duration on a page; zero if there is none.
func durationOf(text string) time.Duration {
	d, _ := time.ParseDuration(strings.NewReplacer(" min", "m", " s", "s", " h", "h", " ", "").Replace(text))
	return d
}

// inOrder checks that the problems are sorted by urgency, and that what is over has no color of a problem.
func (w *world) inOrder(now page, items []item) {
	for at, i := range items {
		if at > 0 && i.urgency() > items[at-1].urgency() {
			w.once(now.t, now.what, "a problem comes after one that is less urgent", items[at-1].color, items[at-1].titles, items[at-1].states, i.color, i.titles, i.states)
		}
		if strings.HasPrefix(i.states[0], "over") && !strings.HasPrefix(i.color, "note") { // which is also that of what only informs
			w.once(now.t, now.what, "the color of a problem says something else than its state", i.color, i.titles, i.states)
		}
	}
}

var (
	nodeOf  = regexp.MustCompile(`id="node-([^"]+)"`)
	chipsOf = regexp.MustCompile(`(?s)<ul class="chips">(.*?)</ul>`)
	chipOf  = regexp.MustCompile(`<li class="([^"]*)"><b>(.*?)</b>`)
)

// chips returns the colors of chains of nodes, by node and chain.
func (p page) chips() map[[2]string]string {
	colors := map[[2]string]string{}
	for card := range strings.SplitSeq(strings.ReplaceAll(p.text, ` id="node-`, "\x00 id=\"node-"), "\x00") {
		node, chips := nodeOf.FindStringSubmatch(card), chipsOf.FindStringSubmatch(card)
		if node == nil || chips == nil {
			continue
		}
		for _, chip := range chipOf.FindAllStringSubmatch(chips[1], -1) {
			colors[[2]string{node[1], chip[2]}] = chip[1]
		}
	}
	return colors
}

// chipsAgree checks that no chain is grey that the title of an alert names: on the node of the alert, and on all if no chain has a new block.
func (w *world) chipsAgree(now page, before []alerting.Alert) {
	named := func(all []alerting.Alert, at [2]string) int {
		return slices.IndexFunc(all, func(a alerting.Alert) bool {
			title, _, _ := strings.Cut(a.Annotations["summary"], ";")
			words := strings.FieldsFunc(title, func(r rune) bool { return r == ' ' || r == ',' })
			return strings.HasPrefix(title, "No chain ") || a.Labels["node"] == at[0] && slices.Contains(words, at[1])
		})
	}
	for at, color := range now.chips() {
		if i := named(w.active, at); color == "off" && i >= 0 && named(before, at) >= 0 {
			w.once(now.t, now.what, "a chain is grey that a title names", at, w.active[i].Annotations["summary"])
		}
	}
}

// said is what the headline said at one check.
type said struct {
	at           time.Time
	level, title string
	fault        string // the subject, and the alert if there is one
}

// isOneFault checks that the headline, the first problem, the alerts page and the last message are about the same fault since the same time, that no action
// belongs to another alert than its title, and that nothing is green while an alert fires.
func (w *world) isOneFault(t *testing.T, text string, alertsPage bool) {
	t.Helper()
	now := page{t, time.Now().UTC().Format(time.TimeOnly), html.UnescapeString(text)}
	level, title, action := now.headline()
	items := now.items()
	before := w.active
	w.active = activeAlerts(t, w)
	for _, i := range items {
		w.ownAction(now, i, append(before, w.active...)) // a page may be a second old
	}
	w.inOrder(now, items)
	w.chipsAgree(now, before)
	if w.also != nil {
		w.activeBefore = before
		w.also(now, level, title, items)
	}
	w.isWhole(now, level, title, action, items)
	fault, _, _ := strings.Cut(title, ":")
	if len(items) > 0 {
		fault += " " + items[0].alert
	}
	w.said = append(w.said, said{time.Now(), level, title, fault})
	switch level {
	case "well":
		fires := func(a alerting.Alert) bool {
			return a.State == alerting.Firing && status.SeverityOf(a.Labels) >= status.Warn
		}
		if slices.ContainsFunc(before, fires) && slices.ContainsFunc(w.active, fires) {
			w.once(t, now.what, "the page is green while an alert fires", title, w.active[slices.IndexFunc(w.active, fires)].Annotations["summary"])
		}
	case "warn", "bad":
		if one := redOf.FindString(now.text); level == "warn" && one != "" {
			w.once(t, now.what, "what is pending about a node is redder than the headline", title, one)
		}
		switch {
		case len(items) == 0:
			w.once(t, now.what, "the headline has no problem", title)
		case action != items[0].action:
			w.once(t, now.what, "the first problem has another action than the headline", title, action, items[0].titles, items[0].action)
		default:
			w.isFirst(now, title, items[0])
		}
	}
	w.lastMessageIsOn(now, items)
	if !alertsPage {
		return
	}
	_, body := w.Get(t, "/alerts")
	all := page{t, now.what + " /alerts", html.UnescapeString(body)}
	if asOf.FindString(all.text) != asOf.FindString(now.text) {
		return // one of them is shared
	}
	w.compared++
	if level == "warn" || level == "bad" {
		w.isInTheAPI(now, title, action)
	}
	if l, otherTitle, otherAction := all.headline(); l != level || otherTitle != title || otherAction != action {
		w.once(t, now.what, "/alerts has another headline", otherTitle, otherAction, title, action)
	}
	if all.problems() != now.problems() {
		w.once(t, now.what, "/alerts has other problems", all.problems(), now.problems())
	}
}

// isWhole checks that a headline that needs somebody says what to do, and is as red as the problems below it.
func (w *world) isWhole(now page, level, title, action string, items []item) {
	if level != "warn" && level != "bad" {
		return
	}
	if action == "" {
		w.once(now.t, now.what, "the headline does not say what to do", title)
	}
	has := func(color string) bool {
		return slices.ContainsFunc(items, func(i item) bool { return strings.HasPrefix(i.color, color) })
	}
	silent := strings.Contains(title, "no answer") || strings.Contains(title, "not answer: ") // red before its alert is
	if len(items) > 0 && !silent && has("bad") != (level == "bad") {
		w.once(now.t, now.what, "the headline is redder than the problems, or less red", level, title, titlesOf(items))
	}
}

// isInTheAPI checks that the first incident of the API is the headline. Both the page and the answer may be a second old.
func (w *world) isInTheAPI(now page, title, action string) {
	if time.Since(w.apiAsked) < 2*time.Second || !strings.Contains(asOf.FindString(now.text), now.what) {
		return
	}
	w.apiAsked = time.Now()
	_, body := w.Get(now.t, "/api/v1/incidents")
	var answer struct {
		Data struct {
			Incidents []struct {
				Title, Action string
				Since         time.Time
			}
		}
	}
	must.Do(now.t, json.Unmarshal([]byte(body), &answer))
	text := func(s string) string { return strings.ReplaceAll(tags.ReplaceAllString(s, ""), "`", "") }
	if all := answer.Data.Incidents; len(all) == 0 || text(all[0].Title) != text(title) || text(all[0].Action) != text(action) {
		w.once(now.t, now.what, "the API has another first incident", title, action, all)
	}
	for _, i := range answer.Data.Incidents {
		if at := headsAt.FindStringSubmatch(i.Title); at != nil && at[1] != i.Since.UTC().Format("15:04") {
			w.once(now.t, now.what, "the API has another begin than its title", i)
		}
	}
}

// alertsOf returns the alerts to which what the newest samples say may lead, by the fact in the title.
func alertsOf(title string) []string {
	for fact, names := range map[string][]string{
		`: no answer|not answer: `:      {"AvaxNodeDown"},
		`: bootstrapping `:              {"AvaxChainNotBootstrapped", "AvaxConnectedStakeLow"},
		` did not start`:                {"AvaxChainNotBootstrapped", "AvaxHealthCheckFailing"},
		`: (does not|no longer) runs? `: {"AvaxChainNotBootstrapped"},
		`: (unhealthy: )?disk `:         {"AvaxNodeDiskLow"},
		`: unhealthy: \d`:               {"AvaxHealthCheckFailing"},
		`: node ID changed`:             {"AvaxNodeIdentityChanged"},
		`: rejects the exporter`:        {"AvaxUpstreamForbidden", "AvaxUpstreamRateLimited"},
		`: not connected`:               {"AvaxValidatorDisconnected"},
		`: not in the set`:              {"AvaxValidatorMissing"},
		`: reward out of reach`:         {"AvaxRewardUnreachable"},
	} {
		if regexp.MustCompile(fact).MatchString(title) {
			return names
		}
	}
	return nil
}

var (
	lasts   = regexp.MustCompile(`no answer for ((?:\d+ (?:h|min|s) ?)+)`)
	headsAt = regexp.MustCompile(`(?:^|[^s] )since (?:\d{4}-\d\d-\d\d )?(\d\d:\d\d) UTC`) // not "pages since" and not "alerts since"
)

// isFirst checks that the headline is the title of the first problem, or a fact that leads to its alert, with the same begin.
func (w *world) isFirst(now page, title string, first item) {
	own := strings.HasPrefix(title, first.titles[0])
	if !own && (first.alert == "" || !slices.Contains(alertsOf(title), first.alert)) {
		w.once(now.t, now.what, "the first problem is about something else than the headline", title, first.alert, first.titles)
	}
	since := sinceOf.FindStringSubmatch(first.states[0])
	if since == nil {
		return
	}
	begins := []string{}
	if m := lasts.FindStringSubmatch(title); m != nil {
		if long := durationOf(m[1]); long < 100*time.Minute { // else it is in hours
			for _, off := range []time.Duration{-30 * time.Second, 0, 30 * time.Second} {
				begins = append(begins, time.Now().Add(off-long).UTC().Format("15:04"))
			}
		}
	}
	if m := headsAt.FindStringSubmatch(title); m != nil {
		begins = append(begins, m[1])
	}
	if len(begins) > 0 && !slices.Contains(begins, since[1]) {
		w.once(now.t, now.what, "the first problem has another begin than the headline", title, first.titles, first.states)
	}
}

// asOf is the time of a page.
var asOf = regexp.MustCompile(`as of [-\d]+ [:\d]+ UTC`)

var tags = regexp.MustCompile(`<[^>]*>`)

// ownAction checks that the action of a problem is that of an alert of its name. What no alert is about has not the action of an alert.
func (w *world) ownAction(now page, i item, active []alerting.Alert) {
	if i.action == "" {
		return
	}
	action := tags.ReplaceAllString(i.action, "")
	has := func(a alerting.Alert) bool {
		its := strings.TrimSpace(strings.ReplaceAll(cmp.Or(a.Annotations["action"], a.Annotations["description"]), "`", ""))
		return its != "" && (strings.HasPrefix(action, its) || a.Annotations["action"] == "" && strings.HasPrefix(its, action))
	}
	own := func(a alerting.Alert) bool { return a.Labels["alertname"] == i.alert }
	switch {
	case i.alert != "" && !slices.ContainsFunc(active, func(a alerting.Alert) bool { return own(a) && has(a) }):
		w.once(now.t, now.what, "the action is not that of the alert", i.alert, i.titles, action)
	case i.alert == "":
		its := alertsOf(i.titles[0])
		if at := slices.IndexFunc(active, func(a alerting.Alert) bool { return has(a) && !slices.Contains(its, a.Labels["alertname"]) }); at >= 0 {
			w.once(now.t, now.what, "the action of an alert is that of a fact", active[at].Labels["alertname"], i.titles, action)
		}
	}
}

// activeAlerts returns the firing and the pending alerts.
func activeAlerts(t *testing.T, w *world) []alerting.Alert {
	t.Helper()
	code, body := w.Get(t, "/api/v1/alerts")
	var answer struct {
		Data struct{ Alerts []alerting.Alert }
	}
	must.Do(t, json.Unmarshal([]byte(body), &answer))
	if code != http.StatusOK {
		t.Fatalf("/api/v1/alerts: %d %s", code, body)
	}
	return answer.Data.Alerts
}

// once reports a difference at its first time.
func (w *world) once(t *testing.T, at, what string, texts ...any) {
	t.Helper()
	if !slices.Contains(w.differences, what) {
		w.differences = append(w.differences, what)
		t.Errorf("%s: %s: %q", at, what, texts)
	}
}

// lastMessageIsOn checks that the page shows the alert of the last message, with the same begin, while it fires.
func (w *world) lastMessageIsOn(now page, items []item) {
	for _, a := range slices.Backward(w.Receiver.Alerts()) {
		if a.Labels["severity"] != "page" && a.Labels["severity"] != "warn" || time.Since(a.At) < resolvePause {
			continue
		}
		if a.Status != "firing" {
			return
		}
		at := slices.IndexFunc(items, func(i item) bool { return i.alert == a.Labels["alertname"] })
		if at < 0 {
			if !strings.Contains(now.text, a.Labels["alertname"]) && w.firesNow(a) {
				w.once(now.t, now.what, "the page lacks the alert of a message", a.Annotations["summary"])
			}
			return
		}
		since := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)
		for i, title := range items[at].titles {
			shown := sinceOf.FindStringSubmatch(items[at].states[i])
			if title != strings.TrimSuffix(a.Annotations["summary"], ".") || shown == nil {
				continue
			}
			if of := since.UTC().Format("15:04"); of != shown[1] && since.Add(30*time.Second).UTC().Format("15:04") != shown[1] {
				w.once(now.t, now.what, "the page has another begin than the message", title, shown[1], of)
			}
		}
		return
	}
}

// resolvePause is the time in which an alert may resolve without a message.
const resolvePause = time.Minute

func (w *world) firesNow(a testworld.Alert) bool {
	return slices.ContainsFunc(w.active, func(o alerting.Alert) bool {
		return o.State == alerting.Firing && o.Labels["alertname"] == a.Labels["alertname"] && o.Labels["node"] == a.Labels["node"]
	})
}

// neverGreenBetween checks that the page is not green between two times at which it was red about the same.
func (w *world) neverGreenBetween(t *testing.T, began, ended time.Time) {
	t.Helper()
	last := map[string]int{} // by fault: the last check at which the headline was red about it
	green := -1
	for i, now := range w.said {
		switch {
		case now.at.Before(began) || now.at.After(ended):
		case now.level == "well":
			green = i
		case now.level == "warn" || now.level == "bad":
			if before, has := last[now.fault]; has && green > before {
				t.Errorf("red %v after the begin (%s), green after %v (%s), red after %v (%s)", w.said[before].at.Sub(began), w.said[before].title,
					w.said[green].at.Sub(began), w.said[green].title, now.at.Sub(began), now.title)
				return
			}
			last[now.fault] = i
		}
	}
}

// downtimeIs checks that messages and history say how long nodes did not answer that went and came together.
func (w *world) downtimeIs(t *testing.T, began, ended time.Time) {
	t.Helper()
	const probe = 45 * time.Second // a probe, a scrape and an evaluation
	time.Sleep(6 * time.Minute)    // the group of the messages waits for five
	long, found := ended.Sub(began), false
	for _, a := range w.Receiver.Alerts() {
		if a.Labels["alertname"] != "AvaxNodeDown" || a.Labels["severity"] != "page" {
			continue
		}
		since := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)
		if off := since.Sub(began).Abs(); off > probe {
			t.Errorf("%s: %s since %v, %v beside the begin", a.Status, a.Annotations["summary"], since, off)
		}
		if a.Status == "resolved" {
			found = true
			if off := (a.EndsAt.Sub(since) - long).Abs(); off > 2*probe {
				t.Errorf("%s lasted %v, want %v", a.Annotations["summary"], a.EndsAt.Sub(since), long)
			}
		}
	}
	if !found {
		t.Error("no message that a node is back")
	}
	for _, row := range w.pastAlerts(t, "AvaxNodeDown") {
		near := slices.ContainsFunc([]time.Duration{-2 * probe, -probe, 0, probe, 2 * probe}, func(off time.Duration) bool {
			return strings.Contains(row, "after "+words.Span(long+off))
		})
		if !near {
			t.Errorf("history %q, want %v", row, long)
		}
	}
}

// outage is a time without an answer of a node.
type outage struct{ began, ended time.Time }

// seeOutages remembers when the nodes of the simulation answer.
func (w *world) seeOutages() {
	if w.outages == nil {
		w.outages = map[string][]outage{}
	}
	for name, node := range w.configured() {
		all, answers := w.outages[name], node.Answers()
		switch out := len(all) > 0 && all[len(all)-1].ended.IsZero(); {
		case out && answers:
			all[len(all)-1].ended = time.Now()
		case !out && !answers:
			w.outages[name] = append(all, outage{began: time.Now()})
		}
	}
}

// configured returns the nodes behind the names of the configuration.
func (w *world) configured() map[string]*simnet.Node {
	all := map[string]*simnet.Node{}
	for pair := range strings.SplitSeq(w.Env["NODES"], ",") {
		name, _, _ := strings.Cut(pair, "=")
		if name == "" {
			continue // only observers are configured
		}
		w.mu.Lock()
		host := cmp.Or(w.to[name+".sim"], name+".sim")
		w.mu.Unlock()
		all[name] = w.Node(strings.TrimSuffix(host, ".sim"))
	}
	return all
}

// historyIsTrue checks that the sum of the downtime in the history of each node is that of the simulation. A restart of the exporter is not watched.
func (w *world) historyIsTrue(t *testing.T) {
	t.Helper()
	if time.Since(w.began) > 23*time.Hour {
		return // the history of a day no longer has the begin
	}
	const probe = apptest.Interval // the rules see a probe then
	w.seeOutages()
	last := w.began // until it is in the history
	for _, all := range w.outages {
		for _, o := range all {
			if o.ended.After(last) {
				last = o.ended
			}
		}
	}
	time.Sleep(time.Until(last.Add(2 * alerting.WeekStep)))
	for name := range w.configured() {
		down := time.Duration(0)
		for _, o := range w.outages[name] {
			down += o.ended.Sub(o.began)
		}
		up, watched := w.sample(t, `avax_availability_ratio{window="24h",node="`+name+`"}`), w.sample(t, `avax_availability_watched_ratio{window="24h",node="`+name+`"}`)
		lost := time.Duration((1 - up) * watched * float64(24*time.Hour))
		if off := (lost - down).Abs(); off > probe*time.Duration(len(w.outages[name])+w.restarts) {
			t.Errorf("%s: down for %v in %d outages, for %v in the history", name, down, len(w.outages[name]), lost)
		}
	}
}

// sample returns the value of the only series of an expression.
func (w *world) sample(t *testing.T, expr string) float64 {
	t.Helper()
	_, body := w.Get(t, "/api/v1/query?"+url.Values{"query": {expr}}.Encode())
	var answer struct {
		Data struct{ Result model.Vector }
	}
	must.Do(t, json.Unmarshal([]byte(body), &answer))
	if len(answer.Data.Result) != 1 {
		t.Fatalf("%s: %s", expr, body)
	}
	return float64(answer.Data.Result[0].Value)
}
