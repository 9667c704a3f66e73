package web

import (
	"bytes"
	"cmp"
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
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
		var text bytes.Buffer
		err := build(ctx).Render(&text)
		_, _ = w.Write(unbroken(text.Bytes()))
		return err
	})
	if err != nil {
		s.pageFailed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = writePage(w, r, page) // a browser may close the connection
}

// units are what must stay on the line of its number.
var units = []string{"s", "ms", "min", "h", "day", "days", "%", "AVAX", "peers", "px"}

// unbroken puts a non-breaking space between each number and its unit, except in code.
func unbroken(page []byte) []byte {
	out := make([]byte, 0, len(page)+len(page)/50)
	inCode := 0 // until this index
	for i, c := range page {
		if c == '<' && i >= inCode {
			for _, tag := range []string{"code", "pre", "style"} {
				if bytes.HasPrefix(page[i+1:], []byte(tag)) {
					inCode = i + max(0, bytes.Index(page[i:], []byte("</"+tag+">")))
				}
			}
		}
		if c != ' ' || i < inCode || i == 0 || page[i-1] < '0' || page[i-1] > '9' {
			out = append(out, c)
			continue
		}
		rest := page[i+1:]
		if slices.ContainsFunc(units, func(unit string) bool {
			return bytes.HasPrefix(rest, []byte(unit)) && (len(rest) == len(unit) || !unicode.IsLetter(rune(rest[len(unit)])))
		}) {
			out = append(out, "\u00a0"...)
		} else {
			out = append(out, c)
		}
	}
	return out
}

func (s *Site) pageFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	if errors.Is(err, errBusy) {
		writeBusy(w, r)
		return
	}
	s.Log.Error("page failed", "path", r.URL.Path, "err", err)
	http.Error(w, "cannot render the page: see the log; /metrics is not affected", http.StatusInternalServerError)
}

// nodeID finds node IDs in texts of alerts.
var nodeID = regexp.MustCompile(`NodeID-[1-9A-HJ-NP-Za-km-z]+`)

// titleOf returns the alert's summary, with names instead of node IDs, and with the time that is left until what it forecasts.
func (v *view) titleOf(a *status.Active) string {
	text := strings.TrimSuffix(strings.TrimSpace(a.Annotations["summary"]), ".")
	text = nodeID.ReplaceAllStringFunc(cmp.Or(text, a.Rule.Name), func(id string) string { return cmp.Or(v.NameOf(id, a.Labels["validation_id"]), id) })
	if left := a.Deadline.Sub(v.At); left > 0 && a.ShowsTime() {
		text += ", in " + words.Span(left)
	}
	return text
}

// titled shows a title, in which node IDs without a name are short.
func titled(title string) g.Node {
	var parts g.Group
	from := 0
	for _, at := range nodeID.FindAllStringIndex(title, -1) {
		parts = append(parts, g.Text(title[from:at[0]]), shortID(title[at[0]:at[1]]))
		from = at[1]
	}
	return append(parts, g.Text(title[from:]))
}

// view has the data of a page.
type view struct {
	*status.Status
	*status.Alerts
	site    *Site
	base    string     // path from the page to the status page
	query   url.Values // of the status page
	silent  []string   // nodes that do not answer
	labels  []string   // see labelFilters
	past    *history
	failing []*status.Failure // see failures
	pool    status.Pool
	err     error // why there are no alerts; may be nil

	inhibition notify.Inhibition
	inhibitErr error // see Site.Inhibition
	silences   []notify.Silence

	ran, jobCount int // see Site.Progress
}

// statusAt returns the status at a time.
func (s *Site) statusAt(now time.Time) *status.Status {
	st := status.Of(s.Store.Jobs(), now, s.given())
	s.restarts.See(st)
	return st
}

func (s *Site) given() status.Given {
	given := status.Given{Labels: s.Labels(), Answered: s.Answered, Restarts: &s.restarts, Chains: s.Chains()}
	if s.Nodes != nil {
		given.Nodes = s.Nodes()
	}
	return given
}

// names returns the names of nodes and validators.
func (s *Site) names() status.Names {
	return status.NamesOf(s.Store.Jobs(), s.Labels()).And(s.given().Nodes)
}

// StopMetric exports the answers of /safe-to-stop.
func (s *Site) StopMetric() prometheus.Collector {
	return status.StopMetric(func() (*status.Status, status.Pool) { return s.nodesAt(time.Now()), s.pool() })
}

func (s *Site) nodesAt(now time.Time) *status.Status {
	st := status.OfNodes(s.Store.Jobs(), now, s.given())
	s.restarts.See(st)
	return st
}

// seeEvery is how often restarts of nodes are looked for.
const seeEvery = 5 * time.Second

// FollowRestarts remembers which nodes restart, until ctx ends.
func (s *Site) FollowRestarts(ctx context.Context) {
	every := time.NewTicker(seeEvery)
	defer every.Stop()
	for {
		s.nodesAt(time.Now())
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// pool returns what the pool knows now.
func (s *Site) pool() status.Pool {
	return status.Pool{Progress: s.Progress, Undiscovered: s.Undiscovered, Chains: s.Chains, Unreachable: s.Unreachable}
}

// view reads the data of a page.
func (s *Site) view(ctx context.Context, ask url.Values, base string, now time.Time) *view {
	v := &view{Status: s.statusAt(now), pool: s.pool().Once(), site: s, base: base, query: ask, past: &history{ctx: ctx, source: s.source(), now: now}}
	v.ran, v.jobCount = s.Progress()
	v.silent = v.Silent()
	var groups []alerting.Group
	groups, v.err = s.groups(ctx)
	inhibition, inhibitErr := s.Inhibition()
	v.inhibition, v.inhibitErr = inhibition, inhibitErr
	if s.Silences != nil {
		if silences, err := s.Silences.Silences(ctx); err == nil { // else the alerts page shows the error
			v.silences = silences
		}
	}
	v.Alerts = status.AlertsOf(groups, inhibition, v.silent, func(labels map[string]string) bool { return v.silenced(labels) != "" })
	return v
}

func (s *Site) statusPage(ctx context.Context, ask url.Values, now time.Time) g.Node {
	v := s.view(ctx, ask, "", now)
	nodes, nodeSums := v.nodes()
	verdict := v.headline()
	sums := append([]string{"as of " + now.UTC().Format("2006-01-02 15:04:05 UTC")}, nodeSums...)
	sums = append(sums, v.sums()...)
	problems, others := v.matchingProblems()
	if v.filtered() {
		sums = append(sums, "of the whole fleet")
	}
	return document(verdict,
		v.top(),
		h.Main(
			verdictSection(verdict, sums),
			v.silencedLine(),
			g.If(len(problems) > 0 || others > 0, h.Section(h.Aria("label", "Problems"), v.problemList(problems),
				more(others, " about other nodes and validators: see ", link("alerts", "all alerts")))),
			cannotRead(v.past.err, "The history cannot be read."),
			v.inhibitWarning(),
			nodes, v.validators(), v.delegations(), v.l1s(), v.observers(),
			v.collectorSections(),
		),
		v.bottom(),
	)
}

// inhibitWarning says that the alerts on the page may differ from the notifications.
func (v *view) inhibitWarning() g.Node {
	return cannotRead(v.inhibitErr, "The inhibit rules of Alertmanager cannot be read. The page suppresses alerts by the rules read before, or by the shipped "+
		"rules.")
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
	sums := []string{words.Plural(v.Firing, "alert fires", "alerts fire")}
	if v.Pending > 0 {
		sums = append(sums, words.Number(v.Pending)+" pending")
	}
	if v.Over > 0 {
		sums = append(sums, words.Number(v.Over)+" over")
	}
	return sums
}

// matchingProblems returns the problems with the alerts about what the request asks for, and about no single node or validator. others is the
// number of the other alerts.
func (v *view) matchingProblems() (problems []*status.Problem, others int) {
	if !v.filtered() {
		return v.Problems, 0
	}
	nodes := mapped(v.nodeRows(), func(r nodeRow) string { return r.Name })
	return v.With(func(a *status.Active) bool {
		node, nodeID, validationID := a.Labels["node"], a.Labels["node_id"], a.Labels["validation_id"]
		return node+nodeID+validationID == "" || slices.Contains(nodes, node) ||
			nodeID+validationID != "" && v.matchesValidator(nodeID, validationID, a.Labels["chain"])
	})
}

// problemList shows problems, each with at most maxLines alerts.
func (v *view) problemList(problems []*status.Problem) g.Node {
	return h.Ul(h.Class("problems"), g.Map(problems, func(p *status.Problem) g.Node {
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
	for _, f := range v.failures() {
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
	case a.Kept():
		over := "over since " + words.Span(now.Sub(a.KeepFiringSince))
		if left := a.KeepFiringSince.Add(a.Rule.KeepFiringFor.Duration()).Sub(now); left > 0 {
			over += ", clears in " + words.Span(left) + " unless it returns"
		}
		return over
	case a.Firing:
		return "since " + words.ClockTime(now, a.ActiveAt) + " (" + words.Span(now.Sub(a.ActiveAt)) + ")"
	}
	pending := "pending for " + words.Span(now.Sub(a.ActiveAt))
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
		names = appendNew(names, a.Rule.Name)
		counts[a.Rule.Name]++
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] += " (" + words.Number(counts[name]) + ")"
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
		h.H1(h.Class(v.level.String()), titled(v.title)),
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

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
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

func figures(cells []cell) g.Node {
	return h.Dl(h.Class("figures"), g.Map(cells, func(c cell) g.Node {
		return h.Div(h.Dt(g.Text(c.name)), h.Dd(h.Class(c.urgency.Class()), c.content))
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

func dim(text string) g.Node { return h.P(h.Class("dim"), g.Text(text)) }

// more returns a line with the number of rows that are not shown, and a link to them.
func more(n int, of string, where ...g.Node) g.Node {
	return g.If(n > 0, h.P(h.Class("dim"), g.Text("and "+words.Number(n)+of), g.Group(where)))
}
