package web

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/docs"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// node serves /node/NAME: one node with its alerts, its history and its samples.
func (s *Site) node(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if nodes := s.names(); !nodes.IsNode(name) {
		http.Error(w, "unknown node: the nodes are "+words.Brief(nodes.NodeNames), http.StatusNotFound)
		return
	}
	s.servePage(w, r, s.namedPages, "", func(ctx context.Context) g.Node {
		v := s.view(ctx, nil, "../", time.Now())
		n := v.Node(name)
		isIts := func(label func(string) string) bool {
			of := notify.NodesOf(label)
			return slices.Contains(of, name) || n.ID != "" && slices.Contains(of, n.ID)
		}
		_, stop := v.SafeToStop(name)
		return v.subjectPage(name, []g.Node{
			h.P(h.Class("card"), g.Text("Safe to stop: "+stop.Reason+". "), v.link("safe-to-stop?hold=false&node="+url.QueryEscape(name), "Check again"), g.Text(" · "),
				v.link("alerts?silence="+url.QueryEscape(name)+"#silences", "Silence")),
			v.nodeCard(v.rowOf(n), v.strips([]string{name})[name], nil), v.weekOf(n),
		}, isIts)
	})
}

// l1 serves /l1/NAME: one L1 with its validators, alerts, history and samples.
func (s *Site) l1(w http.ResponseWriter, r *http.Request) {
	chain := r.PathValue("chain")
	if chains := append(status.L1Names(s.Store.Jobs(), time.Now()), s.Chains()...); !slices.Contains(chains, chain) {
		http.Error(w, "unknown L1: the L1s are "+words.Brief(chains), http.StatusNotFound)
		return
	}
	s.servePage(w, r, s.namedPages, "", func(ctx context.Context) g.Node {
		v := s.view(ctx, url.Values{"l1": {chain}}, "../", time.Now())
		l := v.L1(chain)
		card := v.l1Card(row[*status.L1]{l, v.aboutL1(l)}, v.l1ValidatorTable(l))
		return v.subjectPage(chain, []g.Node{
			g.If(s.Silences != nil, h.P(h.Class("card"), v.link("alerts?silence="+url.QueryEscape(chain)+"#silences", "Silence"))), card},
			func(label func(string) string) bool { return label("chain") == chain })
	})
}

// subjectPage shows a node or an L1: its alerts, its cards, past alerts and all samples. isIts decides by labels what is about it.
func (v *view) subjectPage(name string, cards []g.Node, isIts func(label func(string) string) bool) g.Node {
	its := func(a *status.Active) bool {
		return isIts(func(label string) string { return a.Labels[label] }) || a.StandsFor(name)
	}
	problems, _ := v.With(its)
	var worst *status.Active // also if another alert suppresses it: the page leads with what concerns its subject
	var suppressed []*status.Active
	for _, a := range v.All {
		if !its(a) {
			continue
		}
		if worst == nil || worst.Over() && !a.Over() {
			worst = a
		}
		if a.SuppressedBy != nil && a.SuppressedBy.Rule.Name != a.Rule.Name {
			suppressed = append(suppressed, a)
		}
	}
	title, sums := headline{severity: status.Well, title: "No active alerts"}, []string{"as of " + v.At.UTC().Format("2006-01-02 15:04:05 UTC")}
	if quiet, least := v.Quiet(func(chain string) bool { return chain == name }); len(quiet) > 0 {
		title = quietHeadline("no new block", least)
	}
	n := v.Node(name)
	isNode := n.State.Severity > 0 // also if there is no data of it
	if isNode {
		title = headline{severity: n.State.Severity, title: n.State.Text}
	}
	if l := v.L1(name); !isNode && l.State.Severity > title.severity {
		title = headline{severity: l.State.Severity, title: l.State.Text}
	}
	gaps := slices.DeleteFunc(v.Gaps(), func(g status.Gap) bool { return g.Target.Node != name && g.Target.Chain != name })
	if title.severity <= status.Note && len(gaps) > 0 {
		title = v.gapHeadline(gaps)
	}
	if v.alertsErr != nil { // then nothing says that no alert is active
		unknown := v.alertHeadline()
		if unknown.severity = max(title.severity, unknown.severity); isNode {
			unknown.title = title.title + "; " + strings.Replace(unknown.title, "Alerts", "alerts", 1)
		}
		title, sums = unknown, append(sums, v.sums()...)
	}
	title.title = name + ": " + strings.ToLower(title.title[:1]) + title.title[1:]
	for _, i := range v.incidents { // the worst about this subject
		if slices.Contains(i.Subjects, name) && v.alertsErr == nil && i.Shown() >= title.severity {
			one := *i
			one.Subjects = []string{name}
			if isNode && i.NoAnswer {
				one.Fact = n.State.Text
			}
			title = v.incidentHeadline(&one)
			break
		}
	}
	if worst != nil && worst.Urgency().Severity >= title.severity && !v.isFact(name) {
		title = v.headlineOf(worst.Whole())
	}
	return document(title, v.top(), h.Main(
		headlineSection(title, sums),
		v.silencedLine(),
		v.inhibitWarning(),
		g.If(len(problems) > 0, section("alerts", "Alerts", nil, g.Map(problems, v.alertCard))),
		g.If(len(suppressed) > 0, section("suppressed", "Suppressed alerts", nil, g.Map(suppressed, func(a *status.Active) g.Node {
			return h.P(titled(v.titleOf(a)), g.Text(" "), h.Span(h.Class("dim"), g.Text(stateOf(a, v.At)+", suppressed by "+a.SuppressedBy.Rule.Name)))
		}))),
		section("state", "State", nil, g.Group(cards)),
		v.availabilityTable(isIts),
		v.firingTable(name, isIts),
		v.sampleTable(isIts),
	), v.bottom())
}

// headlineOf says what an alert is about, and of what it is an effect.
func (v *view) headlineOf(a *status.Active) headline {
	title := headline{a.Urgency().Severity, v.titleOf(a), v.action(a)}
	if a.Over() {
		title.title = "Just over: " + title.title
	}
	if a.Deadline.IsZero() || a.Over() {
		title.title += ", " + stateOf(a, v.At)
	}
	if root := a.Root(); root != a && root.Rule.Name != a.Rule.Name && !root.Over() {
		title.title, title.text = title.title+"; an effect of: "+v.titleOf(root), cmp.Or(v.action(root), title.text)
	}
	return title
}

// isFact reports whether an incident about the subject leads that the newest samples say.
func (v *view) isFact(name string) bool {
	for _, i := range v.incidents {
		if slices.Contains(i.Subjects, name) {
			return true
		}
		if i.Cause != nil && i.Cause.Labels["node"] == name {
			return false
		}
	}
	return false
}

// sampleTable shows all samples of a node or an L1.
func (v *view) sampleTable(isIts func(label func(string) string) bool) g.Node {
	const limit = 1000
	all := v.Samples(isIts)
	return section("samples", "Samples", nil, h.Details(h.Summary(g.Text(words.Plural(len(all), "sample", "samples"))),
		table("facts", "Samples", "Series", mapped(all[:min(len(all), limit)], func(s status.Sample) tableRow {
			value := strconv.FormatFloat(s.Value, 'f', -1, 64)
			return tableRow{header: h.Code(g.Text(s.Series)), cells: []cell{textCell("Value", value, status.Urgency{})}}
		})), more(len(all)-limit, " more: see ", v.link("metrics", "the metrics"))))
}

// markdown renders runbooks. It leaves out raw HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// runbook serves /runbook/NAME, the runbook of an alert: the network may be down when it is needed.
func (s *Site) runbook(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(r.PathValue("name"), ".md") // runbooks link to each other's files
	text, err := docs.Runbooks.ReadFile("runbooks/" + name + ".md")
	if err != nil {
		http.Error(w, "no runbook of this name", http.StatusNotFound)
		return
	}
	var page bytes.Buffer
	err = markdown.Convert(text, &page)
	if err == nil {
		v := &view{base: "../", site: s}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = document(headline{severity: status.Note, title: name}, v.top(), h.Main(h.Class("runbook"),
			g.Raw(strings.ReplaceAll(page.String(), `href="../`, `href="`+manual("")))), v.bottom()).Render(w)
	}
	if err != nil {
		s.Log.Error("runbook not shown", "runbook", name, "err", err)
	}
}

// runbookLink links to the runbook of an alert: to that in this program, else to the address in the rule.
func (v *view) runbookLink(a *status.Active) g.Node {
	if _, err := docs.Runbooks.ReadFile("runbooks/" + a.Rule.Name + ".md"); err == nil {
		return v.link("runbook/"+a.Rule.Name, "runbook")
	}
	if address := a.Annotations["runbook_url"]; address != "" {
		return link(address, "runbook")
	}
	return nil
}

// link links to a page of this site.
func (v *view) link(path, text string) g.Node { return link(v.base+path, text) }

func (v *view) top() g.Node {
	return h.Header(h.Class("top"), h.B(g.Text("avax-exporter")),
		h.Nav(h.Aria("label", "Pages"),
			link(cmp.Or(v.base, "./"), "Status"), v.link("alerts", "Alerts"), v.link("runbook/", "Runbooks"),
			g.If(v.site.Inbox != nil, v.link("demo/inbox", "Inbox")), v.link("metrics", "Metrics"), link("?refresh=15", "Refresh every 15 s")),
		h.Nav(h.Class("documents dim"), h.Aria("label", "Documents"), g.Text("Documents: "),
			link(manual("start.md"), "Start"), link(manual("operating.md"), "Operating"), link(manual("metrics.md"), "List of metrics"),
			link(manual("configuration.md"), "Configuration"),
			link(manual("alerting.md"), "Alerting")))
}

func (v *view) bottom() g.Node {
	return h.Footer(g.Text(v.site.Version+" · "), v.link("api/v1/alerts", "alerts as JSON"), g.Text(" · "), v.link("-/ready", "ready"), g.Text(" · "),
		v.link("-/healthy", "healthy"))
}

// runbooks serves /runbook/, the list of the runbooks.
func (s *Site) runbooks(w http.ResponseWriter, r *http.Request) {
	s.servePage(w, r, s.fixedPages, "", func(context.Context) g.Node {
		files, err := docs.Runbooks.ReadDir("runbooks")
		v := &view{base: "../", site: s}
		return document(headline{severity: status.Note, title: "Runbooks"}, v.top(), h.Main(h.Class("runbook"), h.H1(g.Text("Runbooks")),
			cannotRead(err, "The runbooks cannot be read."),
			h.Ul(g.Map(files, func(f fs.DirEntry) g.Node {
				name := strings.TrimSuffix(f.Name(), ".md")
				return g.If(name != "README", h.Li(v.link("runbook/"+name, name), g.Text(" "+meaningOf(name))))
			}))), v.bottom())
	})
}

// meaningOf returns the first sentence of a runbook.
func meaningOf(name string) string {
	text, err := docs.Runbooks.ReadFile("runbooks/" + name + ".md")
	_, meaning, found := strings.Cut(string(text), "## Meaning\n")
	if err != nil || !found {
		return ""
	}
	sentence, _, _ := strings.Cut(strings.Join(strings.Fields(meaning), " "), ". ")
	return strings.NewReplacer("`", "", "**", "").Replace(strings.TrimSuffix(sentence, ".")) + "."
}
