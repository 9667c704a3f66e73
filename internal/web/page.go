package web

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Limits of a page. What exceeds a limit is counted, but not shown.
const (
	maxCards   = 8   // nodes with a card; more nodes are shown as a table
	maxRows    = 100 // rows of a table
	maxL1s     = 8   // L1s with their validators
	maxDetails = 20  // rows of a collector's table
	maxTables  = 20
	maxLines   = 5 // alerts of one name
)

//go:embed status.css
var statusCSS string

// repository is the location of the linked documents.
const repository = "https://github.com/avax-exporter/avax-exporter"

// policy is the Content-Security-Policy. It allows the page's style and icon, and no script.
var policy = func() string {
	style := sha256.Sum256([]byte(statusCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}()

// status serves the status page. The source provides rules and samples, the store provides the state of the collectors. Parameters:
//
//   - nodes=all: all nodes
//   - filter=TEXT: nodes whose name, state, version or labels contain the text, and validators whose name or labels contain it
//   - sort=COLUMN: nodes by this column instead of their state
//   - owner=acme: nodes and validators with this label
//   - l1=CHAIN: the validators of this L1
func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	ask, among := s.known(r.URL.Query()), s.fixedPages
	if len(ask) > 0 {
		among = s.filteredPages
	}
	s.servePage(w, r, among, ask.Encode(), func(ctx context.Context) g.Node { return s.statusPage(ctx, ask, time.Now()) })
}

// known returns the parameters that the status page knows. Others select no other page.
func (s *Site) known(all url.Values) url.Values {
	given := map[string]bool{"nodes": true, "filter": true, "sort": true, "l1": true}
	for _, labels := range s.Labels() {
		for name := range labels {
			given[name] = true
		}
	}
	maps.DeleteFunc(all, func(name string, _ []string) bool { return !given[name] })
	return all
}

// servePage serves a page. With ?refresh=SECONDS the browser reloads it. Requests within a second share the page. The key
// tells pages of the same path apart.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request, among *shared[[]byte], key string, build func(context.Context) g.Node) {
	if text := r.FormValue("refresh"); text != "" {
		every, err := strconv.Atoi(text)
		if err != nil || every < 5 || every > 3600 {
			http.Error(w, fmt.Sprintf("refresh=%s: write seconds from 5 to 3600", text), http.StatusBadRequest)
			return
		}
		w.Header().Set("Refresh", text)
	}
	page, err := s.pageOf(r, among, r.URL.Path+" "+key, func(ctx context.Context, w io.Writer) error {
		return build(ctx).Render(w)
	})
	if err != nil {
		s.pageFailed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = writePage(w, r, page) // a browser may close the connection
}

func (s *Site) pageFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	if errors.Is(err, errBusy) {
		w.Header().Set("Retry-After", "3")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.Log.Error("page failed", "path", r.URL.Path, "err", err)
	http.Error(w, "cannot render the page: see the log; /metrics is not affected", http.StatusInternalServerError)
}

// titleOf returns the alert's summary.
func titleOf(a *active) string {
	if text := strings.TrimSuffix(strings.TrimSpace(a.Annotations["summary"]), "."); text != "" {
		return text
	}
	return a.rule.Name
}

// view has the data of a page.
type view struct {
	*snapshot
	*judgement
	nodeNames
	site         *Site
	base         string     // path from the page to the status page
	ask          url.Values // of the status page
	states       []state    // of the nodes, worst first
	silent       []string   // nodes that do not answer
	asked        []string   // see askedLabels
	past         *history
	blocksBehind values // see snapshot.behind
	err          error  // why there are no alerts; may be nil

	inhibitErr error // see Site.Inhibition

	observing     int  // observers
	noNodes       bool // no node is configured, or none has been asked yet
	ran, jobCount int  // see Site.Progress
}

// only returns a view of what the jobs tell whose target has one of these nodes, and one of these chains. Nil stands for all. A target without
// a node or chain may be about any. A page reads the rows that it shows from this view: a thousand others would take most of its time.
func (v *view) only(nodes, chains []string) *view {
	among := func(names []string) func(string) bool {
		set := map[string]bool{"": true}
		for _, name := range names {
			set[name] = true
		}
		return func(name string) bool { return names == nil || set[name] }
	}
	mayNode, mayChain := among(nodes), among(chains)
	these := *v
	these.snapshot = snapshotAt(slices.DeleteFunc(slices.Clone(v.jobs), func(j *metric.Job) bool {
		return !mayNode(j.Last.Target.Node) || !mayChain(j.Last.Target.Chain)
	}), v.now)
	return &these
}

// view reads the data of a page.
func (s *Site) view(ctx context.Context, ask url.Values, base string, now time.Time) *view {
	jobs := s.Store.Jobs()
	v := &view{snapshot: snapshotAt(jobs, now), nodeNames: s.names(jobs), site: s, base: base, ask: ask, past: &history{ctx: ctx, source: s.source(), now: now}}
	v.ran, v.jobCount = s.Progress()
	v.observing, v.noNodes = len(v.by("avax_observer_info", "node")), len(v.by("avax_node_up", "node")) == 0
	v.states = v.nodeStates(s.Answered)
	v.silent = silent(v.states)
	v.blocksBehind = v.behind()
	var groups []alerting.Group
	groups, v.err = s.groups(ctx)
	inhibition, inhibitErr := s.Inhibition()
	v.inhibitErr = inhibitErr
	v.judgement = judge(groups, inhibition, v.silent)
	return v
}

func (s *Site) statusPage(ctx context.Context, ask url.Values, now time.Time) g.Node {
	v := s.view(ctx, ask, "", now)
	nodes, nodeSums := v.nodes()
	verdict := v.headline()
	sums := append([]string{"as of " + now.UTC().Format("2006-01-02 15:04:05 UTC")}, nodeSums...)
	sums = append(sums, v.sums()...)
	problems, others := v.wantedProblems()
	if v.filtered() {
		sums = append(sums, "of the whole fleet")
	}
	return document(verdict,
		v.top(),
		h.Main(
			verdictSection(verdict, sums),
			g.If(len(problems) > 0 || others > 0, h.Section(h.Aria("label", "Problems"), v.problemList(problems),
				more(others, " about other nodes and validators: see ", link("alerts", "all alerts")))),
			cannotRead(v.past.err, "The history cannot be read."),
			v.inhibitWarning(),
			nodes, v.validators(), v.delegations(), v.l1s(), v.observers(),
			collectorSections(v.jobs, v.judgement, now),
		),
		v.bottom(),
	)
}

// inhibitWarning says that the alerts on the page may differ from the notifications.
func (v *view) inhibitWarning() g.Node {
	return cannotRead(v.inhibitErr, "The inhibit rules of Alertmanager cannot be read. The page suppresses alerts by the rules read before, or by the shipped rules.")
}

// cannotRead warns about what a page lacks; nil without an error.
func cannotRead(err error, effect string) g.Node {
	if err == nil {
		return nil
	}
	return h.Article(h.Class("card warn"), h.P(h.Strong(g.Text(effect))), h.Code(h.Class("error"), g.Text(err.Error())))
}

func (v *view) sums() []string {
	if errors.Is(v.err, errNoSource) {
		return []string{"alerts are not evaluated here"}
	}
	if v.err != nil {
		return []string{"alerts are unknown: " + v.err.Error()}
	}
	sums := []string{plural(v.firing, "alert fires", "alerts fire")}
	if v.pending > 0 {
		sums = append(sums, number(v.pending)+" pending")
	}
	if v.over > 0 {
		sums = append(sums, number(v.over)+" over")
	}
	return sums
}

// wantedProblems returns the problems with the alerts about what the request asks for, and about no single node or validator. others is the
// number of the other alerts.
func (v *view) wantedProblems() (problems []*problem, others int) {
	if !v.filtered() {
		return v.problems, 0
	}
	nodes := mapped(v.nodeRows(), func(r nodeRow) string { return r.node })
	return v.problemsWith(func(a *active) bool {
		node, nodeID, validationID := a.Labels["node"], a.Labels["node_id"], a.Labels["validation_id"]
		return node+nodeID+validationID == "" || slices.Contains(nodes, node) ||
			nodeID+validationID != "" && v.wantedValidator(nodeID, validationID, a.Labels["chain"])
	})
}

// problemList shows problems, each with at most maxLines alerts.
func (v *view) problemList(problems []*problem) g.Node {
	return h.Ul(h.Class("problems"), g.Map(problems, func(p *problem) g.Node {
		worst := p.worst()
		shown := p.alerts[:min(len(p.alerts), maxLines)]
		var lines g.Group
		for i, a := range shown {
			lines = append(lines, h.P(h.Strong(g.Text(titleOf(a))), g.Text(" "), h.Span(h.Class("dim"), g.Text(stateOf(a, v.now)))))
			if action := v.action(a); action != "" && (i+1 == len(shown) || v.action(shown[i+1]) != action) { // else it follows the next alert
				lines = append(lines, h.P(h.Class("action"), prose(action)))
			}
		}
		return h.Li(h.Class(worst.mark().class()), h.ID(p.name),
			lines,
			g.If(len(p.alerts) > len(shown), h.P(link((&url.URL{Path: "alerts", Fragment: p.name}).String(), number(len(p.alerts)-len(shown))+" more"))),
			h.P(h.Class("dim"),
				g.Text(p.name+" · "+worst.Labels["severity"]+" · "), v.runbookLink(worst), g.Text(" · "), v.subjectLinks(worst),
				g.If(len(p.suppressed) > 0, g.Text(" · suppresses "+suppressed(p.suppressed))),
			),
		)
	}))
}

// stateOf returns since when an alert fires, when it will fire, or when it clears.
func stateOf(a *active, now time.Time) string {
	switch {
	case a.kept():
		over := "over since " + span(now.Sub(a.KeepFiringSince))
		if left := a.KeepFiringSince.Add(a.rule.KeepFiringFor.Duration()).Sub(now); left > 0 {
			over += ", clears in " + span(left) + " unless it returns"
		}
		return over
	case a.firing:
		return "since " + clockTime(now, a.ActiveAt) + " (" + span(now.Sub(a.ActiveAt)) + ")"
	}
	pending := "pending for " + span(now.Sub(a.ActiveAt))
	if left := a.fires().Sub(now); left > 0 {
		return pending + ", fires in " + exact(left)
	}
	return pending + ", fires with the next evaluation"
}

// suppressed lists alert names with their numbers.
func suppressed(alerts []*active) string {
	var names []string
	counts := map[string]int{}
	for _, a := range alerts {
		names = appendNew(names, a.rule.Name)
		counts[a.rule.Name]++
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] += " (" + number(counts[name]) + ")"
		}
	}
	return strings.Join(names, ", ")
}

// document returns a page. Its style is the only style that the policy allows.
func document(v verdict, body ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(v.title+" – avax-exporter")),
			h.Link(h.Rel("icon"), h.Href("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23"+
				[...]string{"59636e", "1a7f37", "0969da", "bf8700", "d1242f"}[v.level]+"'/%3E%3C/svg%3E")),
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

func verdictSection(v verdict, sums []string) g.Node {
	return h.Section(h.Class("verdict "+v.level.String()), h.Aria("label", "Verdict"),
		h.H1(h.Class(v.level.String()), g.Text(v.title)),
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
	mark    mark
	content g.Node
}

// cell returns a cell with the value of the first of these families about a subject, in the color of the alerts about all of them.
func (v *view) cell(name string, s subject, format func(float64) string, families ...string) cell {
	return textCell(name, show(v.value(s, families[0]), format), v.color(s, families...))
}

func textCell(name, text string, m mark) cell { return cell{name, m, g.Text(text)} }

// tableRow is a row of a table.
type tableRow struct {
	anchor string
	mark   mark
	header g.Node
	cells  []cell
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
			return h.Tr(g.If(r.anchor != "", h.ID(r.anchor)), h.Class(r.mark.class()), h.Th(h.Scope("row"), r.header), g.Map(r.cells, func(c cell) g.Node {
				return h.Td(h.Data("name", c.name), h.Class(c.mark.class()), c.content)
			}))
		})),
	))
}

func mapped[T, U any](items []T, to func(T) U) (all []U) {
	for _, item := range items {
		all = append(all, to(item))
	}
	return all
}

// named shows a name above an ID.
func named(name, id string) g.Node {
	return g.Group{g.If(name != "", h.B(g.Text(name))), g.If(id != "", h.Code(g.Text(id)))}
}

func figures(cells []cell) g.Node {
	return h.Dl(h.Class("figures"), g.Map(cells, func(c cell) g.Node {
		return h.Div(h.Dt(g.Text(c.name)), h.Dd(h.Class(c.mark.class()), c.content))
	}))
}

// prose renders text between backticks as code, as rules and runbooks use it.
func prose(text string) g.Node {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // a backtick without a partner
		return g.Text(text)
	}
	var nodes []g.Node
	for i, part := range parts {
		if i%2 == 1 {
			nodes = append(nodes, h.Code(g.Text(part)))
		} else {
			nodes = append(nodes, g.Text(part))
		}
	}
	return g.Group(nodes)
}

// moreRows returns a line with the number of rows that a table of subjects does not show.
func (v *view) moreRows(n int) g.Node {
	return more(n, " more, with no worse alert: see ", v.link("metrics", "the metrics"))
}

func dim(text string) g.Node { return h.P(h.Class("dim"), g.Text(text)) }

// more returns a line with the number of rows that are not shown, and a link to them.
func more(n int, of string, where ...g.Node) g.Node {
	return g.If(n > 0, h.P(h.Class("dim"), g.Text("and "+number(n)+of), g.Group(where)))
}
