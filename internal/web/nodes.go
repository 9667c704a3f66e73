package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var nodeMeanings = [][2]string{
	{"History", "The stored history until now. Green: the node answered. Amber: a chain was bootstrapping. Red: the node did not answer. Empty: no samples."},
	{"Chains", "State of each chain. On a card also its height and the age of its newest block. “Behind”: number of blocks behind a height that another node reported before."},
	{"Votes for reward", "Share of all stake that would vote for this node’s reward today."},
	{"Weighted uptime", "Uptime that the connected peers observed, weighted by their share of all stake."},
	{"Connected stake", "Share of the primary network’s stake to which this node is connected."},
	{"Peers", "Number of connections, and how many of them are inbound."},
	{"Safe to stop", "Yes if at least 80 % of the weight of each network that the node validates stays active and connected when the node stops."},
	{"Failing checks", "Failing health checks of the node, with its error texts."},
	{"–", "No recent answer. A value expires after three periods without a new one."},
}

// healthCollector is the collector with a table of failing health checks: node, check, error.
const healthCollector = "health"

// checkErrors returns the error texts of failing health checks, by node and check.
func (f *snapshot) checkErrors() map[[2]string]string {
	return once(f, "errors of checks", func() map[[2]string]string {
		errs := map[[2]string]string{}
		for _, t := range metric.Tables(f.jobs, f.now) {
			if t.Collector == healthCollector {
				for _, cells := range t.Rows {
					errs[[2]string{cells[0], cells[1]}] = cells[len(cells)-1]
				}
			}
		}
		return errs
	})
}

// nodes shows every node, worst first.
func (v *view) nodes() (g.Node, []string) {
	up := v.by("avax_node_up", "node")
	if v.noNodes && v.observing > 0 {
		return nil, []string{plural(v.observing, "observer", "observers") + ", no node"}
	}
	if v.noNodes && v.ran == v.jobCount && !slices.ContainsFunc(v.jobs, func(j *metric.Job) bool { return j.Last.Key.Target.Node != "" }) {
		return nil, []string{"no node"}
	}
	if v.noNodes {
		return section("nodes", "Nodes", nil, dim("No samples of nodes.")), nil
	}
	limit := maxRows
	if v.ask.Get("nodes") == "all" {
		limit = len(up)
	}
	rows := v.nodeRows()
	left := max(0, len(rows)-limit)
	rows = rows[:len(rows)-left]
	names := mapped(rows, func(r nodeRow) string { return r.node })
	strips, these := v.past.strips(names), v.only(names, nil)
	var body g.Node
	if len(up) <= maxCards {
		body = h.Div(h.Class("cards"), g.Map(rows, func(r nodeRow) g.Node { return these.nodeCard(r, strips[r.node]) }))
	} else {
		body = g.Group{v.nodeFilter(), table("nodes", "Nodes, worst first", "Node", mapped(rows, func(r nodeRow) tableRow { return these.nodeRow(r, strips[r.node]) }))}
	}
	return section("nodes", "Nodes", nodeMeanings, body, more(left, " more: ", link(v.with("nodes", "all"), "show all"))),
		[]string{number(len(v.lists("", "node", isOne, "avax_node_up")[""])) + " of " + plural(len(up), "node", "nodes") + " up"}
}

// nodeRow is a node with its state and the color of its alerts.
type nodeRow struct {
	state
	mark mark
}

func (v *view) rowOf(s state) nodeRow { return nodeRow{s, v.about(subject{{"node", s.node}})} }

// nodeRows returns the nodes that the request asks for, worst first or by a column.
func (v *view) nodeRows() (rows []nodeRow) {
	versions := v.texts("avax_node_info", "node", "version")
	for _, state := range v.states {
		if v.wanted(state.node+" "+state.text+" "+versions[state.node], v.labelsOf(state.node, v.ids[state.node], "")) {
			rows = append(rows, v.rowOf(state))
		}
	}
	by := v.ask.Get("sort")
	family := map[string]string{
		"votes": "avax_node_uptime_rewarding_stake_ratio", "stake": "avax_node_connected_stake_ratio", "peers": "avax_node_peers", "safe": "avax_node_safe_to_stop",
	}[by]
	values := v.by(family, "node")
	slices.SortStableFunc(rows, func(a, b nodeRow) int {
		switch {
		case by == "name":
			return strings.Compare(a.node, b.node)
		case by == "version":
			return cmp.Or(strings.Compare(versions[a.node], versions[b.node]), strings.Compare(a.node, b.node))
		case family != "":
			return cmp.Compare(values[labels{a.node}], values[labels{b.node}]) // lowest first
		}
		return cmp.Or(cmp.Compare(b.state.level, a.state.level), cmp.Compare(b.mark.level, a.mark.level))
	})
	return rows
}

// wanted reports whether the request asks for a node or validator: the text or one of its labels contains the filter, and it has the
// labels.
func (v *view) wanted(text string, labels []string) bool {
	if filter := v.ask.Get("filter"); !strings.Contains(text, filter) && !slices.ContainsFunc(labels, func(l string) bool { return strings.Contains(l, filter) }) {
		return false
	}
	return len(missing(v.askedLabels(), labels)) == 0
}

// wantedValidator reports whether the request asks for a validator. On an L1 it has a validation ID, and the text is the name of the L1.
func (v *view) wantedValidator(nodeID, validationID, text string) bool {
	return v.wanted(strings.Join([]string{text, v.nameOf(nodeID, validationID), nodeID, validationID}, " "), v.labelsOf(v.nodeOf(nodeID), nodeID, validationID))
}

// askedLabels returns the parameters of the request that are labels, as name=value.
func (v *view) askedLabels() []string {
	if v.asked == nil {
		v.asked = []string{}
		for name := range v.ask {
			for _, given := range v.given {
				if _, is := given[name]; is {
					v.asked = appendNew(v.asked, name+"="+v.ask.Get(name))
				}
			}
		}
	}
	return v.asked
}

// filtered reports whether the request asks for a part of the nodes and validators.
func (v *view) filtered() bool { return v.ask.Get("filter") != "" || len(v.askedLabels()) > 0 }

// with returns the address of the nodes with one parameter changed.
func (v *view) with(name, value string) string {
	query := maps.Clone(v.ask)
	query.Set(name, value)
	return "?" + query.Encode() + "#nodes"
}

// nodeFilter shows how to filter and sort the table of nodes.
func (v *view) nodeFilter() g.Node {
	return h.Form(h.Class("silence"), h.Method("get"),
		h.Label(g.Text("Name, state, version or label contains "), h.Input(h.Name("filter"), h.Value(v.ask.Get("filter")))), h.Button(g.Text("Filter")),
		h.Span(h.Class("dim"), g.Text("Sort by "), g.Map([]string{"state", "name", "votes", "stake", "peers", "safe", "version"}, func(by string) g.Node {
			return g.Group{link(v.with("sort", by), by), g.Text(" ")}
		})))
}

// color is the color of the node's state and alerts.
func (r nodeRow) color() mark { return r.mark.worse(mark{level: r.state.level}) }

func (f *snapshot) isDown(node string) bool {
	return f.is(0, subject{{"node", node}}, "avax_node_up")
}

// versions returns the versions that a node reports, as a text; empty if none is known.
func (f *snapshot) versions(node string) string {
	return strings.Join(f.lists("node", "version", anyValue, "avax_node_info")[node], ", ")
}

func (v *view) nodeRow(r nodeRow, history *strip) tableRow {
	cells := []cell{{name: "Chains", content: v.chips(r.node, true)}}
	for _, c := range v.figures(r.node) {
		if slices.Contains([]string{"Votes for reward", "Connected stake", "Peers", "Safe to stop"}, c.name) {
			cells = append(cells, c)
		}
	}
	cells = append(cells, textCell("Version", cmp.Or(v.versions(r.node), "–"), mark{}))
	if v.isDown(r.node) { // its last values are not current
		for i := range cells {
			cells[i] = textCell(cells[i].name, "–", mark{})
		}
	}
	return tableRow{"node-" + r.node, r.color(), g.Group{h.B(v.link("node/"+url.PathEscape(r.node), r.node)), v.labelLinks(r.node)}, append([]cell{
		textCell("State", r.text, mark{level: r.state.level}), {name: "History", content: history.svg(r.node, false)},
	}, cells...)}
}

func (v *view) nodeCard(r nodeRow, history *strip) g.Node {
	return h.Article(h.Class("card "+r.color().class()), h.ID("node-"+r.node),
		h.Header(h.H3(v.link("node/"+url.PathEscape(r.node), r.node)), h.Span(h.Class("tag "+r.state.level.String()), g.Text(r.text))),
		v.labelLinks(r.node),
		g.If(v.versions(r.node) != "", h.Span(h.Class("dim"), g.Text(v.versions(r.node)))),
		g.If(v.ids[r.node] != "", h.Code(h.Class("id"), g.Text(v.ids[r.node]))),
		history.svg(r.node, true),
		g.Iff(!v.isDown(r.node), func() g.Node {
			return g.Group{v.chips(r.node, false), figures(v.figures(r.node)), v.failingChecks(r.node)}
		}),
		g.Iff(r.failure != nil, func() g.Node { return r.failure.text() }),
	)
}

// labelLinks shows the labels of a node. Each is a link to the nodes and validators with this label.
func (v *view) labelLinks(node string) g.Node {
	labels := v.labelsOf(node, v.ids[node], "")
	return g.If(len(labels) > 0, h.Span(h.Class("labels dim"), g.Map(labels, func(label string) g.Node {
		name, value, _ := strings.Cut(label, "=")
		return g.Group{v.link("?"+url.Values{name: {value}}.Encode(), label), g.Text(" ")}
	})))
}

func (v *view) figures(node string) []cell {
	about := subject{{"node", node}}
	peers := v.cell("Peers", about, count, "avax_node_peers")
	if in := v.value(about, "avax_node_peers_inbound"); in != nil {
		peers = textCell("Peers", show(v.value(about, "avax_node_peers"), count)+", "+count(*in)+" inbound", v.color(about, "avax_node_peers", "avax_node_peers_inbound"))
	}
	cells := []cell{
		v.cell("Validating", about, yesNo, "avax_node_validating"),
		v.cell("Votes for reward", about, percent, "avax_node_uptime_rewarding_stake_ratio"),
		v.cell("Weighted uptime", about, percent, "avax_node_uptime_weighted_ratio"),
		v.cell("Connected stake", about, percent, "avax_node_connected_stake_ratio"),
		peers,
		v.cell("Safe to stop", about, yesNo, "avax_node_safe_to_stop"),
	}
	if newer := v.value(about, "avax_node_newer_version_stake_ratio"); newer != nil && *newer > 0 {
		cells = append(cells, v.cell("Stake on newer versions", about, percent, "avax_node_newer_version_stake_ratio"))
	}
	return cells
}

// chips shows the state of the node on each chain, in a table without heights.
func (v *view) chips(node string, inTable bool) g.Node {
	chains := v.lists("node", "chain", anyValue, "avax_node_chain_present", "avax_node_chain_bootstrapped", "avax_chain_height")[node]
	return g.If(len(chains) > 0, h.Ul(h.Class("chips"), g.Map(chains, func(chain string) g.Node {
		about := subject{{"node", node}, {"chain", chain}}
		state := ""
		switch {
		case v.is(1, about, "avax_chain_fork_detected"):
			state = " forked"
		case v.is(0, about, "avax_node_chain_bootstrapped"):
			state = " bootstrapping"
		case v.is(0, about, "avax_node_chain_present"):
			state = " not run"
		}
		var parts []string
		if height := v.value(about, "avax_chain_height"); height != nil {
			if !inTable {
				parts = append(parts, count(*height))
				if made := v.value(about, "avax_chain_head_timestamp_seconds"); made != nil {
					parts = append(parts, moment(v.now, made))
				}
			}
			if behind := v.blocksBehind.of(node, chain); behind != nil && *behind > 0 {
				parts = append(parts, count(*behind)+" behind")
			}
		}
		if len(parts) > 0 {
			state += " " + strings.Join(parts, ", ")
		}
		m := v.about(about)
		if !slices.ContainsFunc(v.byLabel[[2]string{"node", node}], func(a *active) bool { return a.Labels["chain"] == chain }) {
			m = mark{} // the alerts are about the whole node
		}
		return h.Li(h.Class(m.class()), h.B(g.Text(chain)), g.Text(state))
	})))
}

// behind returns how many blocks each node is behind on each chain. A height counts only for heights that were read at the same time or
// later, because later heights are higher anyway. Heights of the X-Chain are left out: they may be older than their run.
func (f *snapshot) behind() values {
	heights := slices.Clone(f.of("avax_chain_height"))
	slices.SortFunc(heights, func(a, b sample) int { return cmp.Or(a.run.At.Compare(b.run.At), cmp.Compare(b.Value, a.Value)) })
	highest, behind := map[string]float64{}, values{}
	for _, s := range heights {
		chain := s.label("chain")
		if chain == "X" {
			continue
		}
		highest[chain] = max(highest[chain], s.Value)
		behind[s.pick([]string{"node", "chain"})] = highest[chain] - s.Value
	}
	return behind
}

// failingChecks shows the failing checks of the node with their error texts. Checks with the same text are grouped.
func (v *view) failingChecks(node string) g.Node {
	checks := v.lists("node", "check", isOne, "avax_node_health_check_failing")[node]
	same := map[string][]string{}
	var texts []string
	for _, check := range checks {
		text := v.checkErrors()[[2]string{node, check}]
		same[text] = append(same[text], check)
		texts = appendNew(texts, text)
	}
	return g.If(len(checks) > 0, h.Div(h.Class("why"), h.P(h.B(g.Text("Failing checks"))), g.Map(texts, func(text string) g.Node {
		var m mark
		for _, check := range same[text] {
			m = m.worse(v.color(subject{{"node", node}, {"check", check}}, "avax_node_health_check_failing"))
		}
		return g.Group{h.P(h.Class(m.class()), g.Text(strings.Join(same[text], ", "))), g.If(text != "", h.Code(h.Class("error"), g.Text(text)))}
	})))
}

// ownTables returns the collectors' tables that no other section shows.
func ownTables(tables []metric.JobTable) []metric.JobTable {
	return slices.DeleteFunc(tables, func(t metric.JobTable) bool { return t.Collector == healthCollector || len(t.Rows) == 0 })
}
