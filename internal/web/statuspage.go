package web

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// statusPage is the page for people.
func statusPage(v view) g.Node {
	metrics := link("metrics", "the metrics")
	return document(v.Verdict,
		top(
			link("metrics", "Metrics"),
			g.If(v.Alerting, link("alerts", "Alerts")),
			link(manual("metrics.md"), "Families"),
			link(manual("configuration.md"), "Configuration"),
			link(manual("runbooks"), "Runbooks"),
		),
		h.Main(
			verdictSection(v.Verdict, v.Now),
			heading("nodes", "Nodes"),
			nodeSection(v),
			g.Iff(len(v.Differences) > 0, func() g.Node {
				return h.Article(h.Class("card "+v.Differences[0].Level.String()+" apart"), h.ID("differences"),
					h.Header(h.H3(g.Text("Your nodes differ"))), remarkList(v.Differences), factTables(v.Variants))
			}),
			g.If(len(v.Validators) > 0, g.Group{heading("validators", "Watched validators"), boxed(
				table("", []string{"Validator", "State", "Ends", "Lowest uptime", "Own stake, AVAX", "Delegated, AVAX", "Reward, AVAX"},
					g.Map(v.Validators, validatorRow)),
				more(v.MoreValidators, " more: see ", metrics),
			)}),
			g.If(len(v.Budgets) > 0, g.Group{heading("budgets", "Reward budget"), boxed(
				table("budgets", []string{"Validator", "Reward", "Downtime left", "Used", "Uptime in the peers’ eyes", "At 80 %", "At 90 %"},
					g.Map(v.Budgets, budgetRow)),
				more(v.MoreBudgets, " more, with more left: see avax_validator_downtime_used_seconds in ", metrics),
			)}),
			factTables(v.Dissenters),
			g.If(len(v.L1s) > 0, g.Group{heading("l1s", "L1s and permissioned subnets"), g.Map(v.L1s, l1Card)}),
			g.If(len(v.Failing) > 0, g.Group{heading("failing", "What fails"),
				h.Div(h.Class("cards"), g.Map(v.Failing, failureCard)),
				more(v.MoreFailing, " more causes: see avax_exporter_collector_success in ", metrics),
			}),
			g.If(len(v.Facts.List) > 0, g.Group{heading("facts", "More"), factTables(v.Facts)}),
			h.Details(h.Class("fold"), h.ID("collectors"), h.Summary(g.Text("Collectors")), collectorTable(v.Collectors)),
		),
		bottom(v.Version, link("-/ready", "ready"), link("-/healthy", "healthy")),
	)
}

func nodeSection(v view) g.Node {
	switch {
	case len(v.Nodes) > 0:
	case v.Verdict.Waiting:
		return dim("Waiting for the first answers.")
	default:
		return dim("No collector that runs tells of a node.")
	}
	return g.Group{
		h.Div(h.Class("cards"), g.Map(v.Nodes, nodeCard)),
		g.If(len(v.MoreNodes) > 0, h.Details(h.Class("fold"),
			h.Summary(g.Text(number(len(v.MoreNodes))+" more nodes, worst first")),
			h.Div(h.Class("cards"), g.Map(v.MoreNodes, nodeCard)),
		)),
	}
}

func nodeCard(n *nodeView) g.Node {
	return h.Article(h.Class("card "+n.Level.String()), h.ID(n.Anchor),
		titled(n.Name, n.State),
		g.If(n.Version != "", h.Span(h.Class("dim"), g.Text(n.Version))),
		g.If(n.ID != "", h.Code(h.Class("id"), g.Text(n.ID))),
		remarkList(n.Remarks),
		g.If(len(n.Chains) > 0, h.Ul(h.Class("chips"), g.Map(n.Chains, chainChip))),
		g.If(len(n.Figures) > 0, figureList(n.Figures)),
		g.Map(n.Failing, func(f *failure) g.Node { return h.Div(h.Class("why"), failureText(f)) }),
		g.If(n.Down && len(n.Failing) == 0, h.P(h.Class("why dim"), g.Text("No collector has told why yet."))),
		g.If(n.MoreFailing > 0, dim("and "+number(n.MoreFailing)+" more causes")),
	)
}

func chainChip(c chainView) g.Node {
	return h.Li(h.Class(c.State.Level.String()), h.Title(c.State.Title),
		h.B(g.Text(c.Name)), g.Text(" "+c.State.Text),
		g.If(c.Height.Text != "", g.Group{g.Text(" "), h.Span(
			shown(c.Height),
			g.If(c.Head.Text != "", g.Group{g.Text(" · "), h.Span(g.If(c.Head.Level > well, h.Class(c.Head.Level.String())), shown(c.Head))}),
		)}),
	)
}

// failureText says what is wrong and what to do about it.
func failureText(f *failure) g.Node {
	return g.Group{
		h.P(h.Strong(g.Text(f.What + "."))),
		h.Code(h.Class("error"), g.Text(f.Text)),
		h.P(g.Text(f.Do+" "), toRunbook(f.Alert)),
		h.P(h.Class("dim"), g.Text("Stops "+strings.Join(f.Collectors, ", ")+". Last good answer: "), shown(f.LastGood), g.Text(".")),
	}
}

func failureCard(f *failure) g.Node {
	class := "card warn"
	if f.Follows != "" {
		class = "card note"
	}
	return h.Article(h.Class(class), g.If(f.Anchor != "", h.ID(f.Anchor)),
		h.Header(h.H3(g.Text(f.Label()))),
		g.If(f.Follows != "", h.P(h.Class("note"), g.Text("because "+f.Follows))),
		failureText(f),
	)
}

func factTables(ts tables) g.Node {
	return g.Group{
		g.Map(ts.List, func(t tableView) g.Node {
			rows := g.Map(t.Rows, func(row []tableCell) g.Node { return h.Tr(g.Map(row, factCell)) })
			return h.Details(h.Class("fold"), g.If(t.Open, g.Attr("open")), h.Summary(g.Text(t.About)),
				boxed(table("facts", t.Columns, rows), more(t.More, " more")))
		}),
		more(ts.More, " more tables"),
	}
}

func factCell(c tableCell) g.Node {
	text := g.Text(c.Text)
	if c.Long() {
		text = g.Group{h.Class("long"), h.Code(text)}
	}
	return h.Td(h.Data("name", c.Column), g.If(c.Name != "", g.Group{h.B(g.Text(c.Name)), g.Text(" ")}), text)
}

func validatorRow(v *validatorView) g.Node {
	return h.Tr(h.ID(v.Anchor), named(v.Name, v.ID), judged("State", v.State), judged("Ends", v.Ends), column("Lowest uptime", v.Uptime),
		column("Own AVAX", v.Stake), column("Delegated AVAX", v.Delegated), column("Reward AVAX", v.Reward))
}

func budgetRow(b *budgetView) g.Node {
	return h.Tr(h.ID(b.Anchor), named(b.Name, b.ID), judged("Reward", b.Reward), judged("Downtime left", b.Left), column("Used", b.Used),
		column("Uptime", b.Uptime), column("At 80 %", b.At80), column("At 90 %", b.At90))
}

func l1Card(l *l1View) g.Node {
	columns := []string{"Validator", "State", "Period", "Weight", "Connected", "Safe to stop"}
	if l.Pays {
		columns = []string{"Validator", "State", "Runs dry", "Balance, AVAX", "Burn a day", "Top-up", "Weight", "Connected", "Safe to stop"}
	}
	return h.Details(h.Class("card "+l.Level.String()), h.ID(l.Anchor), g.If(l.Open, g.Attr("open")),
		h.Summary(h.H3(g.Text(l.Chain)), g.If(l.SubnetID != "", g.Group{g.Text(" "), h.Code(h.Class("dim"), g.Text(l.SubnetID))})),
		remarkList(l.Remarks),
		figureList(l.Figures),
		g.If(len(l.Rows) > 0, boxed(table("l1", columns, g.Map(l.Rows, func(r *l1Row) g.Node { return l1TableRow(r, l.Pays) })))),
		more(l.More, " more, with longer runways: see ",
			g.If(l.Plan != "", g.Group{link(l.Plan, "the plan"), g.Text(" or ")}), link("metrics", "the metrics")),
		g.If(l.More == 0 && l.Plan != "", h.P(h.Class("more"), link(l.Plan, "The plan as JSON"))),
	)
}

// l1RowOf shows what a validator that pays has left, and of another how long it is one.
func l1TableRow(r *l1Row, pays bool) g.Node {
	left := judged("Period", r.Balance)
	if pays {
		left = g.Group{judged("Runs dry", r.Runway), judged("Balance", r.Balance), column("Burn a day", r.Burn), column("Top-up", r.TopUp)}
	}
	return h.Tr(h.ID(r.Anchor), named(r.Name, r.ID), judged("State", r.State), left,
		column("Weight", r.Weight), judged("Connected", r.Connected), column("Safe to stop", r.Stop))
}

func collectorTable(collectors []collectorView) g.Node {
	if len(collectors) == 0 {
		return dim("None has run yet.")
	}
	rows := g.Map(collectors, func(c collectorView) g.Node {
		return h.Tr(
			h.Td(link(manual("metrics.md#"+c.Name), c.Name)),
			h.Td(h.Data("name", "Targets"), g.Text(number(c.Targets))),
			judged("State", c.State), column("Last run", c.Last), column("Took", c.Took),
			h.Td(h.Data("name", "Series"), g.Text(number(c.Series))),
		)
	})
	return boxed(table("runs", []string{"Collector", "Targets", "State", "Last run", "Took", "Series"}, rows))
}
