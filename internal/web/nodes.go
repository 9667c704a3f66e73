package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var nodeMeanings = [][2]string{
	{"History", "The stored history until now. Green: the node answered. Amber: a chain was bootstrapping. Red: the node did not answer. " +
		"Empty: no samples."},
	{"Days", "Share of each of the last 7 days in which the node answered, in UTC. The title of a day has the time without data."},
	{"Chains", "State of each chain. On a card also its height and the age of its newest block. “Behind”: number of blocks behind a height that " +
		"another node reported before."},
	{"Votes for reward", "Share of all stake that would vote for this node’s reward today."},
	{"Weighted uptime", "Uptime that the connected peers observed, weighted by their share of all stake."},
	{"Connected stake", "Share of the primary network’s stake to which this node is connected."},
	{"Peers", "Number of connections, and how many of them are inbound."},
	{"Safe to stop", "Yes if at least 80 % of the weight of each network that the node validates stays active and connected when the node stops. A dash: " +
		"not known at present. The page of the node says why."},
	{"Failing checks", "Failing health checks of the node, with its error texts."},
	{"–", "No recent answer. A value expires after three periods without a new one."},
}

// nodes shows every node, worst first. Of many nodes it shows a square each, and rows only for those that are not well.
func (v *view) nodes() (g.Node, []string) {
	switch {
	case v.NoNodes() && len(v.Observers) > 0:
		return nil, []string{words.Plural(len(v.Observers), "observer", "observers") + ", no node"}
	case v.NoNodes() && v.ran == v.jobCount && !slices.ContainsFunc(v.Jobs, func(j *metric.Job) bool { return j.Last.Key.Target.Node != "" }):
		return nil, []string{"no node"}
	case v.NoNodes():
		return section("nodes", "Nodes", nil, dim("No samples of nodes.")), nil
	}
	rows, all := v.nodeRows(), v.query.Get("nodes") == "all"
	shown := rows
	if !all {
		if len(v.Nodes) > maxCards && !v.filtered() && v.query.Get("sort") == "" {
			shown = slices.DeleteFunc(slices.Clone(rows), func(r nodeRow) bool { return r.color().Severity < status.Warn })
		}
		shown = shown[:min(len(shown), maxRows)]
	}
	strips := v.strips(mapped(shown, func(r nodeRow) string { return r.Name }))
	var body g.Node
	if len(v.Nodes) <= maxCards {
		days := v.past.days(mapped(shown, func(r nodeRow) string { return r.Name }), false)
		body = h.Div(h.Class("cards"), g.Map(shown, func(r nodeRow) g.Node { return v.nodeCard(r, strips[r.Name], v.dayList(days[r.Name])) }))
	} else {
		body = g.Group{v.nodeFilter(), v.nodeGrid(rows), g.Iff(len(shown) > 0, func() g.Node {
			return table("nodes", "Nodes, worst first", "Node", mapped(shown, func(r nodeRow) tableRow { return v.nodeRow(r, strips[r.Name]) }))
		}), g.Iff(len(rows) > len(shown), func() g.Node { return v.otherNodes(rows, shown) })}
	}
	up, unknown := 0, 0
	for _, n := range v.Nodes {
		switch {
		case n.Up.Is(1):
			up++
		case !n.Down():
			unknown++
		}
	}
	facts := []string{words.Number(up) + " of " + words.Plural(len(v.Nodes), "node", "nodes") + " up"}
	if unknown > 0 {
		facts = append(facts, words.Number(unknown)+" without data")
	}
	return section("nodes", "Nodes", nodeMeanings, body), facts
}

// maxGroups is the maximum number of groups of the grid. A label with more values does not group it.
const maxGroups = 20

// nodeGrid shows a square for each node, by name, in groups by the value of a label.
func (v *view) nodeGrid(rows []nodeRow) g.Node {
	label := v.groupLabel(rows)
	groups := map[string][]nodeRow{}
	for _, r := range rows {
		value := valueOf(r.Node, label)
		groups[value] = append(groups[value], r)
	}
	return g.Group(mapped(slices.Sorted(maps.Keys(groups)), func(value string) g.Node {
		in, up := groups[value], 0
		for _, r := range in {
			if r.Up.Is(1) {
				up++
			}
		}
		slices.SortFunc(in, func(a, b nodeRow) int { return strings.Compare(a.Name, b.Name) })
		return g.Group{
			g.Iff(label != "", func() g.Node {
				name := g.Text("without " + label)
				if value != "" {
					name = v.link("?"+url.Values{label: {value}}.Encode(), label+"="+value)
				}
				return h.P(h.Class("group"), name, h.Span(h.Class("dim"), g.Text(fmt.Sprintf(" %s of %s up", words.Number(up), words.Number(len(in))))))
			}),
			h.Ul(h.Class("grid"), g.Map(in, func(r nodeRow) g.Node {
				text := r.Name + ": " + r.State.Text
				if r.urgency.Severity > status.Well {
					text += ", with alerts"
				}
				color := r.color()
				return h.Li(h.A(h.Href(v.base+"node/"+url.PathEscape(r.Name)), h.Class(color.Class()), h.Title(text), h.Span(g.Text(text))))
			})),
		}
	}))
}

// groupLabel returns the label that groups the grid: the one that most nodes have, of these the one with the fewest values; empty if there is none.
func (v *view) groupLabel(rows []nodeRow) (best string) {
	have, values := map[string]int{}, map[string]map[string]bool{}
	for _, r := range rows {
		for _, label := range r.Labels {
			name, value, _ := strings.Cut(label, "=")
			if values[name] == nil {
				values[name] = map[string]bool{}
			}
			have[name]++
			values[name][value] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if n := len(values[name]); name != "name" && n > 1 && n <= maxGroups && (have[name] > have[best] || have[name] == have[best] && n < len(values[best])) {
			best = name
		}
	}
	return best
}

// valueOf returns the value of a node's label; empty if it has no such label.
func valueOf(n *status.Node, label string) string {
	for _, one := range n.Labels {
		if name, value, _ := strings.Cut(one, "="); name == label {
			return value
		}
	}
	return ""
}

// otherNodes sums up the nodes without a row.
func (v *view) otherNodes(rows, shown []nodeRow) g.Node {
	rest := slices.DeleteFunc(slices.Clone(rows), func(r nodeRow) bool {
		return slices.ContainsFunc(shown, func(s nodeRow) bool { return s.Name == r.Name })
	})
	var parts []string
	least := func(name string, of func(*status.Node) status.Value, format func(float64) string) {
		if lowest := lowestOf(rest, func(r nodeRow) status.Value { return of(r.Node) }); lowest.Known {
			parts = append(parts, name+" "+format(lowest.V))
		}
	}
	least("lowest votes for reward", func(n *status.Node) status.Value { return n.Votes }, words.Percent)
	least("lowest connected stake", func(n *status.Node) status.Value { return n.ConnectedStake }, words.Percent)
	least("fewest peers", func(n *status.Node) status.Value { return n.Peers }, words.Count)
	text := words.Plural(len(rest), "other node", "other nodes")
	if !slices.ContainsFunc(rest, func(r nodeRow) bool { return r.color().Severity > status.Note }) {
		text += " well"
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return h.P(h.Class("dim"), g.Text(text+". "), link(v.with("nodes", "all"), "Show all nodes"))
}

// nodeRow is a node with the urgency of its alerts.
type nodeRow struct {
	*status.Node
	urgency status.Urgency
}

// rowOf combines the alerts about the node, about calling it and about what it validates, and what is known of its validator before an alert is.
func (v *view) rowOf(n *status.Node) nodeRow {
	urgency := v.AboutNode(n.Name, n.ID)
	if validator := v.ValidatorOf(n.ID); validator != nil {
		urgency = worseOf(urgency, validator.Fact())
	}
	return nodeRow{n, urgency}
}

// nodeRows returns the nodes that the request asks for, worst first or by a column.
func (v *view) nodeRows() (rows []nodeRow) {
	for _, n := range v.Nodes {
		if v.matches(n.Name+" "+n.State.Text+" "+n.Version(), n.Labels) {
			rows = append(rows, v.rowOf(n))
		}
	}
	by := v.query.Get("sort")
	value := map[string]func(n *status.Node) status.Value{
		"votes": func(n *status.Node) status.Value { return n.Votes }, "stake": func(n *status.Node) status.Value { return n.ConnectedStake },
		"peers": func(n *status.Node) status.Value { return n.Peers }, "safe": func(n *status.Node) status.Value {
			safe, _ := v.SafeToStop(n.Name)
			return status.Value{V: float64(slices.Index([]status.Verdict{status.No, status.Unknown, status.Yes}, safe))}
		},
	}[by]
	slices.SortStableFunc(rows, func(a, b nodeRow) int {
		switch {
		case by == "name":
			return strings.Compare(a.Name, b.Name)
		case by == "version":
			return cmp.Or(strings.Compare(a.Version(), b.Version()), strings.Compare(a.Name, b.Name))
		case value != nil:
			return cmp.Compare(value(a.Node).V, value(b.Node).V) // lowest first
		}
		return cmp.Or(cmp.Compare(b.State.Severity, a.State.Severity), cmp.Compare(b.urgency.Severity, a.urgency.Severity))
	})
	return rows
}

// matches reports whether the request asks for a node or validator: the text or one of its labels contains the filter, and it has the
// labels.
func (v *view) matches(text string, labels []string) bool {
	filter := v.query.Get("filter")
	contains := func(text string) bool { return strings.Contains(text, filter) }
	if !contains(text) && !slices.ContainsFunc(labels, contains) {
		return false
	}
	return len(status.Missing(v.labels, labels)) == 0
}

// matchesValidator reports whether the request asks for a validator. On an L1 it has a validation ID, and the text is the name of the L1.
func (v *view) matchesValidator(nodeID, validationID, text string) bool {
	return v.matches(strings.Join([]string{text, v.NameOf(nodeID, validationID), nodeID, validationID}, " "), v.LabelsOf(v.NodeOf(nodeID), nodeID, validationID))
}

// filtered reports whether the request asks for a part of the nodes and validators.
func (v *view) filtered() bool { return v.query.Get("filter") != "" || len(v.labels) > 0 }

// with returns the address of the nodes with one parameter changed.
func (v *view) with(name, value string) string {
	query := maps.Clone(v.query)
	query.Set(name, value)
	return "?" + query.Encode() + "#nodes"
}

// nodeFilter shows how to filter and sort the table of nodes.
func (v *view) nodeFilter() g.Node {
	return h.Form(h.Class("silence"), h.Method("get"),
		h.Label(g.Text("Name, state, version or label contains "), h.Input(h.Name("filter"), h.Value(v.query.Get("filter")))), h.Button(g.Text("Filter")),
		h.Span(h.Class("dim"), g.Text("Sort by "), g.Map([]string{"state", "name", "votes", "stake", "peers", "safe", "version"}, func(by string) g.Node {
			return g.Group{link(v.with("sort", by), by), g.Text(" ")}
		})))
}

// color is the urgency of the node's state and alerts.
func (r nodeRow) color() status.Urgency {
	return r.urgency.Worse(status.Urgency{Severity: r.State.Severity})
}

// tag returns what is said first about a node: its state, or the worst alert about it if the state is well. It is not green beside a card that is not.
func (v *view) tag(r nodeRow) (text string, color status.Urgency) {
	color = status.Urgency{Severity: r.State.Severity}
	if r.State.Severity != status.Well || r.color() == color {
		return r.State.Text, color
	}
	for _, a := range v.All { // worst first
		if is := a.Urgency(); is.Severity > status.Well && !a.Ends() && (a.Labels["node"] == r.Name || r.ID != "" && a.Labels["node_id"] == r.ID) {
			return strings.TrimPrefix(v.titleOf(a.Whole()), r.Name+": "), is
		}
	}
	return r.State.Text, status.Urgency{}
}

func (v *view) nodeRow(r nodeRow, history *strip) tableRow {
	cells := []cell{{name: "Chains", content: v.chips(r.Node, true)}}
	for _, c := range v.figures(r.Node) {
		if slices.Contains([]string{"Votes for reward", "Connected stake", "Peers", "Safe to stop"}, c.name) {
			cells = append(cells, c)
		}
	}
	cells = append(cells, textCell("Version", cmp.Or(r.Version(), "–"), status.Urgency{}))
	if !r.Up.Is(1) { // its last values are not current
		for i := range cells {
			cells[i] = textCell(cells[i].name, "–", status.Urgency{})
		}
	}
	text, color := v.tag(r)
	return tableRow{"node-" + r.Name, r.color(), g.Group{h.B(v.link("node/"+url.PathEscape(r.Name), r.Name)), v.labelLinks(r.Node)}, append([]cell{
		textCell("State", text, color), {name: "History", content: history.svg(r.Name, false)},
	}, cells...)}
}

func (v *view) nodeCard(r nodeRow, history *strip, days g.Node) g.Node {
	text, color := v.tag(r)
	return h.Article(h.Class("card "+r.color().Class()), h.ID("node-"+r.Name),
		h.Header(h.H3(v.link("node/"+url.PathEscape(r.Name), r.Name)), h.Span(h.Class("tag "+color.Class()), g.Text(text))),
		v.labelLinks(r.Node),
		g.If(r.Version() != "", h.Span(h.Class("dim"), g.Text(r.Version()))),
		g.If(r.ID != "", h.Code(h.Class("id"), shortID(r.ID))),
		history.svg(r.Name, true), days,
		g.Iff(v.silenced(map[string]string{"node": r.Name}) != "", func() g.Node { return dim(v.silenced(map[string]string{"node": r.Name})) }),
		g.Iff(r.Up.Is(1), func() g.Node {
			return g.Group{v.chips(r.Node, false), figures(v.figures(r.Node)), v.failingChecks(r.Node)}
		}),
		g.Iff(r.State.Err != nil, func() g.Node { return failureText(status.FailureOf(r.State.Err)) }),
	)
}

// labelLinks shows the labels of a node. Each is a link to the nodes and validators with this label.
func (v *view) labelLinks(n *status.Node) g.Node {
	return g.If(len(n.Labels) > 0, h.Span(h.Class("labels dim"), g.Map(n.Labels, func(label string) g.Node {
		name, value, _ := strings.Cut(label, "=")
		if slices.Contains(pageParameters, name) {
			name, value = "filter", label
		}
		return g.Group{v.link("?"+url.Values{name: {value}}.Encode(), label), g.Text(" ")}
	})))
}

func (v *view) figures(n *status.Node) []cell {
	about := status.Subject{{"node", n.Name}}
	peers := v.cell("Peers", about, words.Count, n.Peers)
	if n.InboundPeers.Known {
		peers = textCell("Peers", n.Peers.Text(words.Count)+", "+words.Count(n.InboundPeers.V)+" inbound", v.AboutValues(about, n.Peers, n.InboundPeers))
	}
	cells := []cell{
		v.cell("Validating", about, words.YesNo, n.Validating),
		v.cell("Votes for reward", about, words.Percent, n.Votes),
		v.cell("Weighted uptime", about, words.Percent, n.WeightedUptime),
		v.cell("Connected stake", about, words.Percent, n.ConnectedStake),
		peers,
		textCell("Safe to stop", v.safeToStop(n.Name), v.AboutValues(about, n.SafeToStop)),
	}
	if n.NewerStake.Known && n.NewerStake.V > 0 {
		cells = append(cells, v.cell("Stake on newer versions", about, words.Percent, n.NewerStake))
	}
	return cells
}

// safeToStop returns the verdict of /safe-to-stop in one word.
func (v *view) safeToStop(node string) string {
	switch verdict, _ := v.SafeToStop(node); verdict {
	case status.Yes:
		return "yes"
	case status.No:
		return "no"
	}
	return "–"
}

// chips shows the state of the node on each chain, in a table without heights.
func (v *view) chips(n *status.Node, inTable bool) g.Node {
	return g.If(len(n.Chains) > 0, h.Ul(h.Class("chips"), g.Map(n.Chains, func(c *status.NodeChain) g.Node {
		state := ""
		switch {
		case c.Forked.Is(1):
			state = " forked"
		case c.Bootstrapped.Is(0) || c.Bootstraps:
			state = " bootstrapping"
		case c.Present.Is(0):
			state = " not run"
		}
		var parts []string
		if c.Height.Known {
			if !inTable {
				parts = append(parts, words.Count(c.Height.V))
				if c.Head.Known {
					parts = append(parts, c.Head.Moment(v.At))
				}
			}
			if c.Behind.Known && c.Behind.V > 0 {
				parts = append(parts, words.Count(c.Behind.V)+" behind")
			}
		}
		if len(parts) > 0 {
			state += " " + strings.Join(parts, ", ")
		}
		return h.Li(h.Class(v.AboutChain(n.Name, c.Name).Class()), h.B(g.Text(c.Name)), g.Text(state))
	})))
}

// failingChecks shows the failing checks of the node with their error texts. Checks with the same text are grouped.
func (v *view) failingChecks(n *status.Node) g.Node {
	same := map[string][]status.FailingCheck{}
	var texts []string
	for _, check := range n.FailingChecks {
		same[check.Error] = append(same[check.Error], check)
		texts = status.AppendNew(texts, check.Error)
	}
	return g.If(len(texts) > 0, h.Div(h.Class("why"), h.P(h.B(g.Text("Failing checks"))), g.Map(texts, func(text string) g.Node {
		var urgency status.Urgency
		for _, check := range same[text] {
			urgency = urgency.Worse(v.AboutValues(status.Subject{{"node", n.Name}, {"check", check.Name}}, check.Value))
		}
		names := mapped(same[text], func(check status.FailingCheck) string { return check.Name })
		return g.Group{h.P(h.Class(urgency.Class()), g.Text(strings.Join(names, ", "))), g.If(text != "", h.Code(h.Class("error"), g.Text(text)))}
	})))
}
