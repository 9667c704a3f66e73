package web

import (
	"net/url"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// document is a page of pages; its style is the only one that the policy lets in.
func document(v verdict, body ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(v.Title+" – avax-exporter")),
			h.Link(h.Rel("icon"), h.Href("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23"+
				v.Colour()+"'/%3E%3C/svg%3E")),
			h.StyleEl(g.Raw(statusCSS)),
		),
		h.Body(body...),
	))
}

// top leads to other pages.
func top(links ...g.Node) g.Node {
	return h.Header(h.Class("top"), h.B(g.Text("avax-exporter")), h.Nav(links...))
}

// bottom tells the version and leads to what programs ask.
func bottom(version string, links ...g.Node) g.Node {
	return h.Footer(g.Text(version), g.Map(links, func(link g.Node) g.Node { return g.Group{g.Text(" · "), link} }))
}

// link leads to a page, or is mere text where the address is neither one on the web
// nor relative: a browser would run javascript.
func link(address, text string) g.Node {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "" && to.Scheme != "https" && to.Scheme != "http" {
		return g.Text(text)
	}
	return h.A(h.Href(address), g.Text(text))
}

// toRunbook leads to what helps with an alert.
func toRunbook(alert string) g.Node { return link(runbookOf(alert), "runbook") }

// runbookOf is where that is.
func runbookOf(alert string) string { return manual("runbooks/" + alert + ".md") }

// manual is where a page of docs/ is read.
func manual(page string) string { return repository + "/blob/main/docs/" + page }

func heading(anchor, text string) g.Node { return h.H2(h.ID(anchor), g.Text(text)) }

func dim(text string) g.Node { return h.P(h.Class("dim"), g.Text(text)) }

// more says how many are not shown, and where they are.
func more(n int, of string, where ...g.Node) g.Node {
	return g.If(n > 0, h.P(h.Class("more"), g.Text("and "+number(n)+of), g.Group(where)))
}

func verdictSection(v verdict, now time.Time) g.Node {
	return h.Section(h.Class("verdict "+v.Level.String()),
		h.H1(h.Class(v.Level.String()), g.Text(v.Title)),
		g.If(len(v.Problems) > 0, h.Ul(g.Map(v.Problems, problemItem))),
		h.P(h.Class("sums dim"),
			g.Map(v.Sums, func(sum string) g.Node { return h.Span(g.Text(sum)) }),
			h.Span(g.Text("as of "+now.UTC().Format("2006-01-02 15:04:05 UTC"))),
		),
	)
}

func problemItem(p problem) g.Node {
	return h.Li(
		h.Strong(h.Class(p.Level.String()), g.Text(p.Text())),
		h.Span(h.Class("where"),
			g.Map(p.Named(), placeLink),
			g.If(p.More() > 0, h.Span(h.Class("dim"), g.Text(" and "+number(p.More())+" more"))),
		),
		h.Span(
			g.If(p.Fires, g.Group{link((&url.URL{Path: "alerts", Fragment: p.alert}).String(), "fires"), g.Text(" ")}),
			g.If(p.Runbook != "", link(p.Runbook, "runbook")),
		),
	)
}

func placeLink(at place) g.Node {
	if at.Anchor == "" {
		return h.Span(g.Text(at.Text))
	}
	return link((&url.URL{Path: at.Page, Fragment: at.Anchor}).String(), at.Text)
}

// shown is a value, with whose it is and what belongs to it.
func shown(c cell) g.Node {
	return g.Group{
		h.Span(g.If(c.Title != "", h.Title(c.Title)), g.Text(c.Text)),
		g.If(c.By != "", g.Group{g.Text(" "), h.Span(h.Class("dim"), g.Text("by "+c.By))}),
		g.If(c.Aside != "", g.Group{g.Text(" "), h.Span(h.Class("aside"), g.Text(c.Aside))}),
	}
}

// titled is the upper line of a card.
func titled(title string, state cell) g.Node {
	return h.Header(h.H3(g.Text(title)), h.Span(h.Class("tag "+state.Level.String()), shown(state)))
}

func figureList(figures []figure) g.Node {
	return h.Dl(h.Class("figures"), g.Map(figures, func(f figure) g.Node {
		return h.Div(h.Dt(g.Text(f.Name)), h.Dd(h.Class(f.Level.String()), shown(f.cell)))
	}))
}

func remarkList(remarks []remark) g.Node {
	return g.If(len(remarks) > 0, h.Ul(h.Class("remarks"), g.Map(remarks, func(r remark) g.Node {
		return h.Li(h.Class(r.Level.String()), g.Text(r.Text+" "), toRunbook(r.Alert))
	})))
}

// table has its columns' names above, unless it has none.
func table(class string, columns []string, rows ...g.Node) g.Node {
	return h.Table(
		g.If(class != "", h.Class(class)),
		g.If(len(columns) > 0, h.THead(h.Tr(g.Map(columns, func(name string) g.Node { return h.Th(g.Text(name)) })))),
		h.TBody(rows...),
	)
}

// boxed is a table that scrolls, with what is said below it.
func boxed(table g.Node, below ...g.Node) g.Node {
	return h.Div(h.Class("table"), table, g.Group(below))
}

// column is a cell of a table with the name of its column, for screens on which
// columns have no room.
func column(name string, c cell) g.Node { return h.Td(h.Data("name", name), shown(c)) }

// judged is a column that shows how urgent its value is.
func judged(name string, c cell) g.Node {
	return h.Td(h.Data("name", name), h.Class(c.Level.String()), shown(c))
}

// named is the column of a validator's name and ID.
func named(name, id string) g.Node {
	return h.Td(g.If(name != "", h.B(g.Text(name))), h.Code(g.Text(id)))
}
