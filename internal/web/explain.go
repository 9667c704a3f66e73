package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/explain"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
)

// explainPatience limits the time of an explanation, which makes many queries.
const explainPatience = 10 * time.Second

// explain answers GET /explain?name=ALERT|FAMILY&target=TARGET: 404 if the name or the target is unknown. A browser gets a page, others get text: first the
// answer, and without why=0 what it is computed from.
func (s *Site) explain(w http.ResponseWriter, r *http.Request) {
	if s.Source == nil {
		http.Error(w, errNoSource.Error(), http.StatusNotFound)
		return
	}
	if !sameSite(r) && r.Header.Get("Sec-Fetch-Mode") != "navigate" { // a link in a notification is from another site
		http.Error(w, crossSite, http.StatusForbidden)
		return
	}
	name, target := r.FormValue("name"), r.FormValue("target")
	at, err := pastTime(r.FormValue("at"), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := url.Values{"name": {name}, "target": {target}, "at": {r.FormValue("at")}}.Encode()
	answer, err := s.explanations.get(r.Context(), key, explainPatience, func(ctx context.Context) (explain.Explanation, error) {
		if !at.IsZero() {
			return explain.At(ctx, s.source(), s.source().moments(), name, target, at)
		}
		now := time.Now()
		return explain.Of(ctx, s.source(), s.Store.Jobs(), name, target, now, s.faults(ctx, now)...)
	})
	var unknown explain.UnknownError
	var failed *apiError
	switch {
	case errors.Is(err, errBusy):
		writeBusy(w, r)
	case errors.As(err, &unknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.As(err, &failed):
		http.Error(w, "no explanation: "+err.Error(), failed.status)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		var page bytes.Buffer
		_ = s.explainPage(answer, name, target).Render(&page)
		_, _ = w.Write(unbroken(page.Bytes())) //nolint:gosec // gomponents escapes what clients write
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, answer.Text(r.FormValue("why") != "0"))
	}
}

// faults returns the faults of nodes that alerts are about, also those that the rules have not found yet.
func (s *Site) faults(ctx context.Context, now time.Time) (all []explain.Fault) {
	groups, err := s.groups(ctx)
	if err != nil {
		return nil
	}
	for key, of := range s.statusAt(now).Expect(status.AlertsOf(groups, notify.Inhibition{}, nil), nil) {
		all = append(all, explain.Fault{Alert: key[0], Node: key[1], Since: of.Since, Pages: of.Pages})
	}
	return all
}

// pastTime reads a time in UTC: a time of day, which is the last one, or a date with a time. It returns zero for no text.
func pastTime(text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	now = now.UTC()
	if at, err = time.Parse("15:04", text); err == nil {
		at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		if at.After(now) {
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04 UTC", time.RFC3339} {
		if at, err = time.Parse(layout, text); err == nil && !at.After(now) {
			return at, nil
		}
	}
	return at, fmt.Errorf("at=%s: write a time in the past in UTC, such as 03:12 or \"%s\"", text, now.Add(-24*time.Hour).Format("2006-01-02 15:04"))
}

func (s *Site) explainPage(x explain.Explanation, name, target string) g.Node {
	v := &view{site: s}
	level := status.Well
	if x.Severity != "" {
		level = status.SeverityOf(map[string]string{"severity": x.Severity})
	}
	title := headline{severity: level, title: name, text: x.Do}
	if target != "" {
		title.title += " for " + target
	}
	if !x.Alert {
		return document(title, v.top(), h.Main(headlineSection(title, nil), h.Pre(h.Class("why"), g.Text(x.State))), v.bottom())
	}
	return document(title, v.top(), h.Main(
		h.Section(h.Class("verdict "+level.String()), h.Aria("label", "Answer"), h.H1(h.Class(level.String()), titled(title.title)),
			h.P(h.Class("action"), titled(x.State)), h.P(prose(x.Do)),
			h.P(v.link("runbook/"+name, "Runbook"), g.Text(" · "), v.link("alerts#"+name, "Alerts"))),
		h.Details(h.Class("card"), h.Summary(g.Text("How this is computed")), h.Pre(g.Text(x.Why)))), v.bottom())
}
