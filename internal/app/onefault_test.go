package app_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// item is one entry of the problems on a page, in the order of the page.
type item struct {
	alert  string // its name; empty if no alert is about it yet
	titles []string
	states []string // of each title: since when
	action string
}

var (
	itemOf   = regexp.MustCompile(`(?s)<li class="(?:bad|warn|note|well)[^"]*"(?: id="(\w+)")?>(.*?)</li>`)
	lineOf   = regexp.MustCompile(`(?s)<strong[^>]*>(.*?)</strong> <span class="dim">(.*?)</span>`)
	actionOf = regexp.MustCompile(`(?s)<p class="action">(.*?)</p>`)
	sinceOf  = regexp.MustCompile(`since (?:\d{4}-\d\d-\d\d )?(\d\d:\d\d) UTC`)
)

// items returns the problems on the status page.
func (p page) items() (all []item) {
	_, list, _ := strings.Cut(p.text, `<ul class="problems">`)
	list, _, _ = strings.Cut(list, "</ul>")
	for _, m := range itemOf.FindAllStringSubmatch(list, -1) {
		one := item{alert: m[1]}
		lines, _, _ := strings.Cut(m[2], "<details")
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

// said is what the headline said at one check.
type said struct {
	at           time.Time
	level, title string
	fault        string // the subject, and the alert if there is one
}

// isOneFault checks that the top of the page, its first problem, the alerts page and the last notification are about the same fault.
func (w *world) isOneFault(t *testing.T, text string, closely bool) {
	t.Helper()
	now := page{t, time.Now().UTC().Format(time.TimeOnly), html.UnescapeString(text)}
	level, title, action := now.headline()
	items := now.items()
	fault, _, _ := strings.Cut(title, ":")
	if len(items) > 0 {
		fault += " " + items[0].alert
	}
	w.said = append(w.said, said{time.Now(), level, title, fault})
	if level == "warn" || level == "bad" {
		switch {
		case len(items) == 0:
			w.once(t, now.what, "the headline has no problem", title)
		case action != items[0].action:
			w.once(t, now.what, "the first problem has another action than the headline", title, action, items[0].titles, items[0].action)
		}
	}
	w.lastMessageIsOn(now, items)
	if !closely {
		return
	}
	_, body := w.Get(t, "/alerts")
	all := page{t, now.what + " /alerts", html.UnescapeString(body)}
	if l, otherTitle, otherAction := all.headline(); l != level || otherTitle != title || otherAction != action {
		w.once(t, now.what, "/alerts has another headline", otherTitle, otherAction, title, action)
	}
	if all.problems() != now.problems() {
		w.once(t, now.what, "/alerts has other problems", all.problems(), now.problems())
	}
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
	return slices.ContainsFunc(w.episodes, func(e *episode) bool {
		return e.fires() && e.labels["alertname"] == a.Labels["alertname"] && e.labels["node"] == a.Labels["node"]
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
