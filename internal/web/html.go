package web

import (
	"bytes"
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// document returns a page. Its style is the only style that the policy allows.
func document(v headline, body ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(strings.ReplaceAll(v.title, "`", "")+" – avax-exporter")),
			h.Link(h.Rel("icon"), h.Href("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23"+
				[...]string{"59636e", "1a7f37", "0969da", "bf8700", "d1242f"}[v.severity]+"'/%3E%3C/svg%3E")),
			h.StyleEl(g.Raw(statusCSS)),
		),
		h.Body(body...),
	))
}

// link returns a link. If the address is neither http(s) nor relative, it returns only the text, because a browser would run an
// address such as javascript:….
func link(address, text string) g.Node {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "" && to.Scheme != "https" && to.Scheme != "http" {
		return g.Text(text)
	}
	return h.A(h.Href(address), g.Text(text))
}

// manual links to a page of docs/.
func manual(page string) string { return repository + "/blob/main/docs/" + page }

func headlineSection(v headline, sums []string) g.Node {
	return h.Section(h.Class("verdict "+v.severity.String()), h.Aria("label", "Verdict"),
		h.H1(h.Class(v.severity.String()), titled(v.title)),
		g.If(v.text != "", h.P(h.Class("action"), prose(v.text))),
		h.P(h.Class("sums dim"), g.Map(sums, func(sum string) g.Node { return h.Span(g.Text(sum)) })),
	)
}

// section has a heading and an explanation of its columns.
func section(anchor, title string, meanings [][2]string, body ...g.Node) g.Node {
	return h.Section(h.Aria("labelledby", anchor),
		h.H2(h.ID(anchor), g.Text(title)),
		g.Group(body),
		g.If(len(meanings) > 0, h.Details(h.Class("meanings"), h.Summary(g.Text("What this shows")),
			h.Dl(g.Map(meanings, func(m [2]string) g.Node { return g.Group{h.Dt(g.Text(m[0])), h.Dd(g.Text(m[1]))} })))),
	)
}

// cell is one value in a table or card.
type cell struct {
	name    string // name of its column
	urgency status.Urgency
	content g.Node
}

// cell returns a cell with a value about a subject, in the color of the alerts about it.
func (v *view) cell(name string, s status.Subject, format func(float64) string, value status.Value) cell {
	return textCell(name, value.Text(format), v.AboutValues(s, value))
}

func textCell(name, text string, m status.Urgency) cell { return cell{name, m, g.Text(text)} }

// tableRow is a row of a table.
type tableRow struct {
	anchor  string
	urgency status.Urgency
	header  g.Node
	cells   []cell
}

// table has a caption, and a header for the first column. The other columns have the names of the cells.
func table(class, caption, header string, rows []tableRow) g.Node {
	columns := []string{header}
	if len(rows) > 0 {
		for _, c := range rows[0].cells {
			columns = append(columns, c.name)
		}
	}
	return h.Div(h.Class("table"), h.TabIndex("0"), h.Role("group"), h.Aria("label", caption), h.Table(g.If(class != "", h.Class(class)),
		h.Caption(g.Text(caption)),
		h.THead(h.Tr(g.Map(columns, func(name string) g.Node { return h.Th(h.Scope("col"), g.Text(name)) }))),
		h.TBody(g.Map(rows, func(r tableRow) g.Node {
			return h.Tr(g.If(r.anchor != "", h.ID(r.anchor)), h.Class(r.urgency.Class()), h.Th(h.Scope("row"), r.header), g.Map(r.cells, func(c cell) g.Node {
				return h.Td(h.Data("name", c.name), h.Class(c.urgency.Class()), c.content)
			}))
		})),
	))
}

// row is what a row of a table is about, with the urgency of its alerts.
type row[T any] struct {
	of      T
	urgency status.Urgency
}

// rowsOf returns the rows, worst first. compare decides among rows of the same urgency.
func rowsOf[T any](all []T, about func(T) status.Urgency, compare func(a, b T) int) (rows []row[T]) {
	for _, one := range all {
		rows = append(rows, row[T]{one, about(one)})
	}
	slices.SortStableFunc(rows, func(a, b row[T]) int {
		return cmp.Or(cmp.Compare(b.urgency.Severity, a.urgency.Severity), compare(a.of, b.of))
	})
	return rows
}

// matching returns those of a list that the request asks for; all without a filter.
func matching[T any](v *view, list []T, matches func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool { return v.filtered() && !matches(one) })
}

// isWell reports whether a row needs no attention.
func (r row[T]) isWell() bool { return r.urgency.Severity < status.Warn }

// folded shows rows. Of a long list it shows those that are not well, and the others below their sum, closed.
func folded[T any](v *view, rows []row[T], sum func(n int, well []row[T]) string, show func([]row[T]) g.Node) g.Node {
	list := func(rows []row[T]) g.Node {
		return g.Group{show(rows[:min(len(rows), maxRows)]), more(len(rows)-maxRows, " more, with no worse alert: see ", v.link("metrics", "the metrics"))}
	}
	well := slices.IndexFunc(rows, row[T].isWell)
	if len(rows) <= maxCards || well < 0 {
		return list(rows)
	}
	return g.Group{
		g.Iff(well > 0, func() g.Node { return list(rows[:well]) }),
		h.Details(h.Class("rest"), h.Summary(g.Text(sum(len(rows)-well, rows[well:]))), list(rows[well:])),
	}
}

// none shows why a section has nothing to show: unread reports whether nothing is known of what the section is about. Without a reason, the section is
// left out.
func none(anchor, title string, unread bool, why string) g.Node {
	if !unread || why == "" {
		return nil
	}
	return section(anchor, title, nil, dim(why))
}

// worseOf returns the worse of the urgency of alerts and what the newest samples say.
func worseOf(alerts status.Urgency, fact status.State) status.Urgency {
	return alerts.Worse(status.Urgency{Severity: fact.Severity})
}

func mapped[T, U any](items []T, to func(T) U) (all []U) {
	for _, item := range items {
		all = append(all, to(item))
	}
	return all
}

// named shows a name above an ID.
func named(name, id string) g.Node {
	return g.Group{g.If(name != "", h.B(g.Text(name))), g.If(id != "", h.Code(cutID(id)))}
}

// cutID returns a node ID in short, and other text as it is.
func cutID(text string) g.Node {
	if strings.HasPrefix(text, "NodeID-") {
		return shortID(text)
	}
	return g.Text(text)
}

// shortID returns an ID of which one line shows the begin and the end. A copy has the whole ID.
func shortID(id string) g.Node {
	const begin, end = 14, 6
	if len(id) <= begin+end+4 || strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) }) {
		return g.Text(id)
	}
	return g.Group{g.Text(id[:begin]), h.Span(h.Class("cut"), g.Text(id[begin:len(id)-end])), g.Text(id[len(id)-end:])}
}

// lowestOf returns the lowest known value of a list; absent if none is known.
func lowestOf[T any](list []T, of func(T) status.Value) (lowest status.Value) {
	for _, one := range list {
		if value := of(one); value.Known && (!lowest.Known || value.V < lowest.V) {
			lowest = value
		}
	}
	return lowest
}

func figures(cells []cell) g.Node {
	return h.Dl(h.Class("figures"), g.Map(cells, func(c cell) g.Node {
		return h.Div(h.Dt(g.Text(c.name)), h.Dd(h.Class(c.urgency.Class()), c.content))
	}))
}

// prose renders text between backticks as code, as rules and runbooks use it.
func prose(text string) g.Node { return marked(text, func(part string) g.Node { return g.Text(part) }) }

// marked renders text between backticks as code. plain renders the parts of both kinds.
func marked(text string, plain func(part string) g.Node) g.Node {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // a backtick without a partner
		return plain(text)
	}
	var nodes g.Group
	for i, part := range parts {
		if i%2 == 1 {
			nodes = append(nodes, h.Code(plain(part)))
		} else {
			nodes = append(nodes, plain(part))
		}
	}
	return nodes
}

func dim(text string) g.Node { return h.P(h.Class("dim"), g.Text(text)) }

// more returns a line with the number of rows that are not shown, and a link to them.
func more(n int, of string, where ...g.Node) g.Node {
	return g.If(n > 0, h.P(h.Class("dim"), g.Text("and "+words.Number(n)+of), g.Group(where)))
}

// nodeID finds node IDs in texts of alerts.
var nodeID = regexp.MustCompile(`NodeID-[1-9A-HJ-NP-Za-km-z]+`)

// titled shows a title, in which node IDs without a name are short, and text between backticks is code.
func titled(title string) g.Node {
	return marked(title, func(part string) g.Node {
		var parts g.Group
		from := 0
		for _, at := range nodeID.FindAllStringIndex(part, -1) {
			parts = append(parts, g.Text(part[from:at[0]]), shortID(part[at[0]:at[1]]))
			from = at[1]
		}
		return append(parts, g.Text(part[from:]))
	})
}

// cannotRead warns about what a page lacks; nil without an error.
func cannotRead(err error, effect string) g.Node {
	if err == nil {
		return nil
	}
	return h.Article(h.Class("card warn"), h.P(h.Strong(g.Text(effect))), h.Code(h.Class("error"), g.Text(err.Error())))
}

// units are what must stay on the line of its number.
var units = []string{"s", "ms", "min", "h", "day", "days", "%", "AVAX", "UTC", "peers", "px"}

// belongs reports whether what is after a space stays on the line of what is before it.
func belongs(before, after []byte) bool {
	isDigit := func(text []byte) bool { return len(text) > 0 && text[0] >= '0' && text[0] <= '9' }
	if bytes.HasSuffix(before, []byte(" in")) || bytes.HasSuffix(before, []byte(">in")) {
		return isDigit(after)
	}
	return isDigit(before[max(0, len(before)-1):]) && slices.ContainsFunc(units, func(unit string) bool {
		return bytes.HasPrefix(after, []byte(unit)) && (len(after) == len(unit) || !unicode.IsLetter(rune(after[len(unit)])))
	})
}

// unbroken puts a non-breaking space between each number and its unit, and between “in” and a number, except in code.
func unbroken(page []byte) []byte {
	out := make([]byte, 0, len(page)+len(page)/50)
	done := 0 // of the page
	for i := 0; i < len(page); i++ {
		switch page[i] {
		case '<':
			for _, tag := range []string{"code", "pre", "style"} {
				if bytes.HasPrefix(page[i+1:], []byte(tag)) {
					i += max(0, bytes.Index(page[i:], []byte("</"+tag+">")))
				}
			}
		case ' ':
			if belongs(page[:i], page[i+1:]) {
				out = append(append(out, page[done:i]...), "\u00a0"...)
				done = i + 1
			}
		}
	}
	return append(out, page[done:]...)
}
