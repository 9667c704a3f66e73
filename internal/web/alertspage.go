package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// alerts serves the alerts page. A request that accepts JSON gets the answer of /api/v1/alerts.
func (s *Site) alerts(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if r.FormValue("format") == "json" || strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		s.alertsAPI(w, r)
		return
	}
	among, what := s.fixedPages, r.URL.Query().Get("silence")
	past := url.Values{"past": {r.URL.Query().Get("past")}, "page": {r.URL.Query().Get("page")}}
	if what != "" || past.Get("past")+past.Get("page") != "" {
		among = s.filteredPages
	}
	may := s.maySilence(r)
	if may {
		w.Header().Set("Referrer-Policy", "same-origin") // with no-referrer, a browser marks the form as a cross-site request
	}
	s.servePage(w, r, among, fmt.Sprint(s.silenceChanges.Load(), may, what, past.Encode()), func(ctx context.Context) g.Node {
		return s.alertsPage(ctx, what, past, may, time.Now())
	})
}

// alertsPage shows the active alerts by name, the silences, the receivers of alerts, and the rules. silence is what
// the form for a new silence is filled in; it may be empty. may reports whether the client may change silences.
func (s *Site) alertsPage(ctx context.Context, silence string, past url.Values, may bool, now time.Time) g.Node {
	v := s.view(ctx, past, "", now)
	var receivers []alerting.Receiver
	if s.Receivers != nil {
		receivers = s.Receivers()
	}
	verdict := v.headline()
	facts := []string{"as of " + now.UTC().Format("2006-01-02 15:04:05 UTC")}
	if s.Reloads != nil {
		facts = append(facts, s.Reloads()...)
	}
	if s.Gap != nil {
		if from, to, cause := s.Gap(); cause != "" && now.Sub(to) < 24*time.Hour {
			facts = append(facts, fmt.Sprintf("rules were not evaluated from %s to %s because %s",
				from.UTC().Format("2006-01-02 15:04:05"), to.UTC().Format("2006-01-02 15:04:05 UTC"), cause))
		}
	}
	return document(verdict,
		v.top(),
		h.Main(
			headlineSection(verdict, append(facts, v.sums()...)),
			v.inhibitWarning(),
			section("alerts", "Alerts", nil,
				g.If(len(v.Problems) == 0 && v.alertsErr == nil, dim("No alert is active.")),
				cannotRead(v.alertsErr, "Alerts are unknown."),
				v.inOrder(v.Problems, func(i *status.Incident) g.Node { return h.Ul(h.Class("problems"), v.factItem(i)) }, v.alertCard)),
			v.firingTable("", func(func(string) string) bool { return true }),
			v.silenceSection(silence, may),
			g.If(len(receivers) > 0, section("alertmanagers", "Alertmanagers", nil,
				table("", "Alertmanagers", "Alertmanager", mapped(receivers, func(r alerting.Receiver) tableRow {
					state := "accepts alerts since " + words.ClockTime(now, r.Since)
					if !r.Up {
						state = "does not accept alerts since " + words.ClockTime(now, r.Since) + ": " + r.Err
					}
					return tableRow{header: g.Text(r.Name), cells: []cell{textCell("State", state, v.About(status.Subject{{"alertmanager", r.Name}}))}}
				})))),
			section("rules", "Rules", nil, g.Map(v.Groups, func(of alerting.Group) g.Node {
				return h.Details(h.Summary(g.Text(of.Name+", "+words.Plural(len(of.Rules), "rule", "rules"))),
					table("", "Rules of "+of.Name, "Rule", mapped(of.Rules, func(r alerting.Rule) tableRow { return ruleRow(r, now, v.site.began) })))
			})),
		),
		v.bottom(),
	)
}

// alertCard shows all alerts of one name, with links to silence their nodes.
func (v *view) alertCard(p *status.Problem) g.Node {
	worst := p.Worst()
	text := func(name string) g.Node {
		return g.If(worst.Annotations[name] != "", h.P(prose(worst.Annotations[name])))
	}
	return h.Article(h.Class("card "+worst.Urgency().Class()), h.ID(p.Name),
		h.Header(h.H3(g.Text(p.Name)), h.Span(h.Class("tag "+worst.Urgency().Severity.String()), g.Text(worst.Labels["severity"]))),
		g.Map(p.Alerts, func(a *status.Active) g.Node {
			return h.Div(h.Class("why"),
				h.P(h.Strong(h.Class(a.Urgency().Severity.String()), titled(v.titleOf(a))), g.Text(" "), h.Span(h.Class("dim"), g.Text(v.state(a)))),
				h.Code(g.Text(subjectOf(a.Labels))), h.P(v.subjectLinks(a)),
			)
		}),
		h.Div(h.Class("why"),
			g.If(v.action(worst) != "", h.P(prose(v.action(worst)))),
			// The description of a pending alert does not apply yet, and that of an alert whose cause is over no longer.
			g.If(worst.Firing && !worst.Over(), g.Group{text("description"), text("impact")}),
			h.P(v.runbookLink(worst)), v.effects(p)),
	)
}

// subjectLinks links to what helps with an alert: its explanation, the page of its node or L1, and a silence.
func (v *view) subjectLinks(a *status.Active) g.Node {
	query := url.Values{"name": {a.Rule.Name}}
	node := cmp.Or(a.Labels["node"], v.NodeOf(a.Labels["node_id"]))
	for _, target := range append([]string{node}, mapped(targetLabels, func(label string) string { return a.Labels[label] })...) {
		if target != "" {
			query.Set("target", target)
			break
		}
	}
	links := []g.Node{v.link("explain?"+query.Encode(), "Explain")}
	if v.IDOf(node) != "" {
		links = append(links, g.Text(" · "), v.link("node/"+url.PathEscape(node), node))
	}
	if l := v.L1(a.Labels["chain"]); l.Weight.Known {
		chain := l.Chain
		links = append(links, g.Text(" · "), v.link("l1/"+url.PathEscape(chain), chain))
	}
	if v.site.Silences != nil {
		silence := func(what, text string) {
			links = append(links, g.Text(" · "), v.link("alerts?silence="+url.QueryEscape(what)+"#silences", text))
		}
		for _, of := range notify.NodesOf(func(label string) string { return a.Labels[label] }) {
			if name := cmp.Or(v.NodeOf(of), of); v.IsNode(name) {
				silence(name, "Silence "+name)
				break
			}
		}
		if only := notify.AlertMatchers(a.Labels, nil); len(url.QueryEscape(only)) < maxAddress-100 { // a longer address is refused
			silence(only, "Silence only this")
		}
	}
	return g.Group(links)
}

// targetLabels are the labels of an alert that are a target of /explain, the most exact first.
var targetLabels = []string{"target", "upstream", "address", "tx_id", "validation_id", "node_id", "subnet_id", "chain"}

func ruleRow(r alerting.Rule, now, began time.Time) tableRow {
	state, evaluated := "recording", "not yet"
	m := status.Urgency{}
	if r.Type == alerting.AlertingRule {
		state = r.State
		for _, a := range r.Alerts {
			m = m.Worse(status.Urgency{Severity: status.SeverityOf(a.Labels), Pending: a.State != alerting.Firing})
		}
	}
	switch {
	case r.Evaluated.IsZero() && now.Sub(began) > evaluatedPatience:
		evaluated, m = "never, for "+words.Span(now.Sub(began)), status.Urgency{Severity: status.Bad}
	case !r.Evaluated.IsZero():
		evaluated = words.Since(now, r.Evaluated)
	}
	if r.LastError != "" {
		state, m = "cannot be evaluated: "+r.LastError, status.Urgency{Severity: status.Bad}
	}
	return tableRow{header: named(r.Name, r.Query), cells: []cell{textCell("State", state, m), textCell("Evaluated", evaluated, status.Urgency{})}}
}
