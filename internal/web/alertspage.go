package web

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// alertsPage shows what in-process alerting does.
func alertsPage(v alertsView) g.Node {
	return document(v.Verdict,
		top(
			link("./", "Status"),
			link("metrics", "Metrics"),
			link(manual("alerting.md"), "Alerting"),
			link(manual("runbooks"), "Runbooks"),
		),
		h.Main(
			verdictSection(v.Verdict, v.Now),
			heading("alerts", "Alerts"),
			g.If(len(v.Alerts) > 0, h.Div(h.Class("cards"), g.Map(v.Alerts, alertCard))),
			g.If(len(v.Alerts) == 0, dim("None is active.")),
			heading("alertmanagers", "Alertmanagers"),
			g.If(len(v.Receivers) > 0, boxed(table("", nil, g.Map(v.Receivers, func(r receiverView) g.Node {
				return h.Tr(h.Td(h.B(g.Text(r.Name))), h.Td(h.Class(r.State.Level.String()), shown(r.State)))
			})))),
			g.If(len(v.Receivers) == 0, dim("Nothing was to be sent yet.")),
			h.Details(h.Class("fold"), h.ID("rules"), h.Summary(g.Text("Rules")),
				g.Map(v.Groups, func(of ruleGroupView) g.Node {
					return g.Group{h.H3(g.Text(of.Name)), boxed(table("", []string{"Rule", "State", "Evaluated"}, g.Map(of.Rules, ruleRow)))}
				}),
				g.If(len(v.Groups) == 0, dim("None is evaluated yet.")),
			),
		),
		bottom(v.Version, link("api/v1/alerts", "JSON"), link("-/ready", "ready"), link("-/healthy", "healthy")),
	)
}

func alertCard(a *alertView) g.Node {
	return h.Article(h.Class("card "+a.State.Level.String()), g.If(a.Anchor != "", h.ID(a.Anchor)),
		titled(a.Name, a.State),
		h.P(h.Strong(g.Text(a.Summary))),
		h.P(g.Text(a.Description)),
		g.If(a.Impact != "", h.P(g.Text(a.Impact))),
		h.P(h.Class("dim"), g.Text("active since "), shown(a.Since),
			g.If(a.Runbook != "", g.Group{g.Text(" · "), link(a.Runbook, "runbook")})),
		h.Div(h.Class("why"), figureList(a.Labels)),
	)
}

func ruleRow(r ruleView) g.Node {
	return h.Tr(
		h.Td(h.B(g.Text(r.Name)), h.Code(g.Text(r.Query)), g.If(r.Error != "", h.Code(h.Class("error"), g.Text(r.Error)))),
		judged("State", r.State), column("Evaluated", r.Last),
	)
}
