package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// inOrder shows the incidents, the worst first, and then the other problems: an incident that no alert is about yet as a fact, one that has an alert as the
// problem with this alert, which begins with it.
func (v *view) inOrder(problems []*status.Problem, fact func(*status.Incident) g.Node, problem func(*status.Problem) g.Node) g.Node {
	var all g.Group
	shown := map[string]bool{}
	show := func(name string, first *status.Active) {
		if at := slices.IndexFunc(problems, func(p *status.Problem) bool { return p.Name == name }); at >= 0 && !shown[name] {
			shown[name], all = true, append(all, problem(problems[at].From(first)))
		}
	}
	for _, i := range v.incidents {
		if name := i.Problem(); name != "" {
			show(name, i.Cause)
		} else {
			all = append(all, fact(i))
		}
	}
	for _, p := range problems {
		show(p.Name, p.Worst())
	}
	return all
}

// factItem shows an incident that no alert is about yet.
func (v *view) factItem(i *status.Incident) g.Node {
	title := v.incidentHeadline(i)
	since := ""
	if !i.Since.IsZero() {
		since = sinceText(i.Since, v.At)
	}
	return h.Li(h.Class(status.Urgency{Severity: i.Shown(), Pending: true}.Class()),
		h.P(h.Strong(titled(title.title)), g.Text(" "), h.Span(h.Class("dim"), g.Text(since))), g.If(title.text != "", h.P(h.Class("action"), prose(title.text))))
}

// sinceText says since when something lasts.
func sinceText(at, now time.Time) string {
	return "since " + words.ClockTime(now, at) + " (" + words.Span(now.Sub(at)) + ")"
}

// problemList shows what no alert is about yet, and problems, each with at most maxLines alerts.
func (v *view) problemList(problems []*status.Problem) g.Node {
	return h.Ul(h.Class("problems"), v.inOrder(problems, v.factItem, func(p *status.Problem) g.Node {
		worst := p.Worst()
		shown := p.Alerts[:min(len(p.Alerts), maxLines)]
		var lines g.Group
		for i, a := range shown {
			lines = append(lines, h.P(h.Strong(titled(v.titleOf(a))), g.Text(" "), h.Span(h.Class("dim"), g.Text(v.state(a)))))
			if action := v.action(a); action != "" && (i+1 == len(shown) || v.action(shown[i+1]) != action) { // else it follows the next alert
				lines = append(lines, h.P(h.Class("action"), prose(action)))
			}
		}
		return h.Li(h.Class(worst.Urgency().Class()), h.ID(p.Name),
			lines,
			g.If(len(p.Alerts) > len(shown), h.P(link((&url.URL{Path: "alerts", Fragment: p.Name}).String(), words.Number(len(p.Alerts)-len(shown))+" more"))),
			h.P(h.Class("dim"),
				g.Text(p.Name+" · "+worst.Labels["severity"]+" · "), g.Iff(v.runbookLink(worst) != nil, func() g.Node {
					return g.Group{v.runbookLink(worst), g.Text(" · ")}
				}), v.subjectLinks(worst),
			),
			v.effects(p),
		)
	}))
}

// effects shows, folded, what a problem explains: the alerts that it suppresses, and the collectors that fail because of it.
func (v *view) effects(p *status.Problem) g.Node {
	var failures []*status.Failure
	for _, f := range v.failing {
		if v.Explains(p, f, v.Node(f.Node).Down()) {
			failures = append(failures, f)
		}
	}
	if len(p.Suppressed)+len(failures) == 0 {
		return nil
	}
	text := words.Plural(len(p.Suppressed)+len(failures), "effect", "effects") + ": "
	if len(p.Suppressed) > 0 {
		text += suppressed(p.Suppressed)
	}
	if len(p.Suppressed) > 0 && len(failures) > 0 {
		text += ", "
	}
	if len(failures) > 0 {
		text += "failing collectors"
	}
	shown := p.Suppressed[:min(len(p.Suppressed), maxRows)]
	return h.Details(h.Class("effects"), h.Summary(g.Text(text)), h.Div(
		g.Map(shown, func(a *status.Active) g.Node {
			return h.P(titled(v.titleOf(a)), g.Text(" "), h.Span(h.Class("dim"), g.Text(v.state(a)+" · "+a.Rule.Name+" · ")), v.subjectLinks(a))
		}),
		g.Map(failures, func(f *status.Failure) g.Node {
			return h.P(g.Text(words.Plural(len(f.Collectors), "collector fails", "collectors fail")+": "+f.Title()+". "),
				h.Span(h.Class("dim"), g.Text("Last success: "+lastGood(f, v.At)+". ")), h.Code(h.Class("error"), g.Text(f.Err.Error())))
		}),
	), more(len(p.Suppressed)-len(shown), " more"))
}

// titleOf returns the alert's summary, with names instead of node IDs, and with the time that is left until what it forecasts.
func (v *view) titleOf(a *status.Active) string {
	text := strings.TrimSuffix(strings.TrimSpace(a.Annotations["summary"]), ".")
	text = nodeID.ReplaceAllStringFunc(cmp.Or(text, a.Rule.Name), func(id string) string { return cmp.Or(v.NameOf(id, a.Labels["validation_id"]), id) })
	if left := a.Deadline.Sub(v.At); left > 0 && a.ShowsTime() {
		text += ", in " + words.Span(left)
	}
	return text
}

// silenced returns until when alerts with these labels are silenced, and why; empty if they are not.
func (v *view) silenced(labels map[string]string) string {
	for _, s := range slices.Backward(v.silences) { // the last one ends last
		if s.Mutes(labels, v.At) {
			text := "silenced until " + words.ClockTime(v.At, s.Ends) + " by " + s.By
			if s.Comment != "" {
				text += ": " + s.Comment
			}
			return text
		}
	}
	return ""
}

// silencedLine shows the silences below the headline.
func (v *view) silencedLine() g.Node {
	active := slices.DeleteFunc(slices.Clone(v.silences), func(s notify.Silence) bool { return s.Starts.After(v.At) })
	if len(active) == 0 {
		return nil
	}
	text := mapped(active, func(s notify.Silence) string { return s.Matches + " until " + words.ClockTime(v.At, s.Ends) })
	return h.P(h.Class("dim silenced"), g.Text("Silenced: "+words.Brief(text)+". "), v.link("alerts#silences", "All silences"))
}

// state returns since when an alert fires or when it will, and whether it is silenced.
func (v *view) state(a *status.Active) string {
	if silenced := v.silenced(a.Labels); silenced != "" {
		return stateOf(a, v.At) + ", " + silenced
	}
	return stateOf(a, v.At)
}

// stateOf returns since when an alert fires, when it will fire, or when it clears.
func stateOf(a *status.Active, now time.Time) string {
	switch {
	case a.Over() && !a.Kept() && !a.HeldSince.IsZero():
		return "over: it ended while the exporter did not watch. It is resolved within minutes"
	case a.Over() && !a.Kept():
		return "over for " + words.Span(now.Sub(a.OverSince())) + ", ends with the next evaluation unless it returns"
	case a.Kept():
		over := "over for " + words.Span(now.Sub(a.OverSince()))
		if left := a.KeepFiringSince.Add(a.Rule.KeepFiringFor.Duration()).Sub(now); left > 0 {
			over += ", clears in " + words.Span(left) + " unless it returns"
		}
		return over
	case a.Firing:
		return sinceText(a.Since(), now)
	}
	pending := sinceText(a.Since(), now) + ", pending"
	if left := a.Fires().Sub(now); left > 0 {
		return pending + ", fires in " + words.Exact(left)
	}
	return pending + ", fires with the next evaluation"
}

// suppressed lists alert names with their numbers.
func suppressed(alerts []*status.Active) string {
	var names []string
	counts := map[string]int{}
	for _, a := range alerts {
		names = status.AppendNew(names, a.Rule.Name)
		counts[a.Rule.Name]++
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] += " (" + words.Number(counts[name]) + ")"
		}
	}
	return strings.Join(names, ", ")
}
