package web

import (
	"cmp"
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

// nodeFacts are the samples of the nodes section.
type nodeFacts struct {
	up, validating, votes, uptime, connected, peers, inbound, newer, safe values
	bootstrapped, present, height, behind, made, forked                   values
	versions                                                              map[string]string
	chains                                                                map[string][]string
	checks                                                                map[string][]string
	words                                                                 map[[2]string]string // error texts, by node and check
	strips                                                                map[string]*strip
}

func (v *view) nodeFacts(shown []string) *nodeFacts {
	these := v.from(shown, nil)
	of := func(family string) values { return these.by(family, "node") }
	at := func(family string) values { return these.by(family, "node", "chain") }
	f := &nodeFacts{
		up: of("avax_node_up"), validating: of("avax_node_validating"), votes: of("avax_node_uptime_rewarding_stake_ratio"),
		uptime: of("avax_node_uptime_weighted_ratio"), connected: of("avax_node_connected_stake_ratio"), peers: of("avax_node_peers"),
		inbound: of("avax_node_peers_inbound"), newer: of("avax_node_newer_version_stake_ratio"), safe: of("avax_node_safe_to_stop"),
		bootstrapped: at("avax_node_chain_bootstrapped"), present: at("avax_node_chain_present"),
		height: at("avax_chain_height"), behind: v.behind(), made: at("avax_chain_head_timestamp_seconds"), forked: at("avax_chain_fork_detected"),
		versions: map[string]string{}, chains: map[string][]string{}, checks: map[string][]string{}, words: map[[2]string]string{},
		strips: v.past.strips(shown),
	}
	for l := range these.by("avax_node_info", "node", "version") {
		f.versions[l[0]] = l[1]
	}
	for _, family := range []values{f.present, f.bootstrapped, f.height} {
		for l := range family {
			f.chains[l[0]] = appendNew(f.chains[l[0]], l[1])
		}
	}
	for _, chains := range f.chains {
		slices.SortFunc(chains, compareChains)
	}
	for l, failing := range these.by("avax_node_health_check_failing", "node", "check") {
		if failing == 1 {
			f.checks[l[0]] = append(f.checks[l[0]], l[1])
		}
	}
	for _, t := range metric.Tables(these.jobs, v.now) {
		if t.Collector == healthCollector {
			for _, words := range t.Rows {
				f.words[[2]string{words[0], words[1]}] = words[len(words)-1]
			}
		}
	}
	return f
}

// healthCollector is the collector with a table of failing health checks: node, check, error.
const healthCollector = "health"

// nodes shows every node, worst first.
func (v *view) nodes() (g.Node, []string) {
	up := v.by("avax_node_up", "node")
	isUp := 0
	for _, value := range up {
		if value == 1 {
			isUp++
		}
	}
	v.noNodes = len(up) == 0
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
	if v.ask.allNodes {
		limit = len(up)
	}
	rows := v.nodeRows()
	left := max(0, len(rows)-limit)
	rows = rows[:len(rows)-left]
	var shown []string
	for _, r := range rows {
		shown = append(shown, r.node)
	}
	f := v.nodeFacts(shown)
	var body g.Node
	if len(up) <= maxCards {
		body = h.Div(h.Class("cards"), g.Map(rows, func(r nodeRow) g.Node { return v.nodeCard(f, r) }))
	} else {
		columns := []string{"Node", "State", "History", "Chains", "Votes for reward", "Connected stake", "Peers", "Safe to stop", "Version"}
		body = g.Group{v.nodeFilter(), table("nodes", "Nodes, worst first", columns, g.Map(rows, func(r nodeRow) g.Node { return v.nodeTableRow(f, r) }))}
	}
	return section("nodes", "Nodes", nodeMeanings, body, more(left, " more: ", link(v.ask.with("nodes", "all"), "show all"))),
		[]string{number(isUp) + " of " + plural(len(up), "node", "nodes") + " up"}
}

// nodeRow is a node with its state and the color of its alerts.
type nodeRow struct {
	state
	mark mark
}

func (v *view) rowOf(s state) nodeRow { return nodeRow{s, v.about(subject{{"node", s.node}})} }

// nodeRows returns the nodes that the request asks for, worst first or by a column.
func (v *view) nodeRows() (rows []nodeRow) {
	versions := map[string]string{}
	for l := range v.by("avax_node_info", "node", "version") {
		versions[l[0]] = l[1]
	}
	var given map[string][]string
	if v.site.Labels != nil {
		given = v.site.Labels()
	}
	label, _, _ := strings.Cut(v.ask.label, "=")
	known := false // another parameter is no label
	for _, labels := range given {
		known = known || slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(l, label+"=") })
	}
	for _, state := range v.states {
		labels := given[state.node]
		if known && !slices.Contains(labels, v.ask.label) {
			continue
		}
		if v.ask.filter == "" || strings.Contains(state.node+" "+state.text+" "+versions[state.node]+" "+strings.Join(labels, " "), v.ask.filter) {
			rows = append(rows, v.rowOf(state))
		}
	}
	family := map[string]string{
		"votes": "avax_node_uptime_rewarding_stake_ratio", "stake": "avax_node_connected_stake_ratio", "peers": "avax_node_peers", "safe": "avax_node_safe_to_stop",
	}[v.ask.sort]
	values := v.by(family, "node")
	slices.SortStableFunc(rows, func(a, b nodeRow) int {
		switch {
		case v.ask.sort == "name":
			return strings.Compare(a.node, b.node)
		case v.ask.sort == "version":
			return cmp.Or(strings.Compare(versions[a.node], versions[b.node]), strings.Compare(a.node, b.node))
		case family != "":
			return cmp.Compare(values[labels{a.node}], values[labels{b.node}]) // lowest first
		}
		return cmp.Or(cmp.Compare(b.state.level, a.state.level), cmp.Compare(b.mark.level, a.mark.level))
	})
	return rows
}

// nodeFilter shows how to filter and sort the table of nodes.
func (v *view) nodeFilter() g.Node {
	return h.Form(h.Class("silence"), h.Method("get"),
		h.Label(g.Text("Name, state, version or label contains "), h.Input(h.Name("filter"), h.Value(v.ask.filter))), h.Button(g.Text("Filter")),
		h.Span(h.Class("dim"), g.Text("Sort by "), g.Map([]string{"state", "name", "votes", "stake", "peers", "safe", "version"}, func(by string) g.Node {
			return g.Group{link(v.ask.with("sort", by), by), g.Text(" ")}
		})))
}

func (r nodeRow) class() string { return r.mark.worse(mark{level: r.state.level}).class() }

func (v *view) nodeTableRow(f *nodeFacts, r nodeRow) g.Node {
	cells := []cell{textCell("State", r.text, mark{level: r.state.level}), {name: "History", nodes: []g.Node{f.strips[r.node].svg(r.node, false)}}}
	if f.up.is(0, r.node) { // the last values of a node that is down are not current
		for _, name := range []string{"Chains", "Votes for reward", "Connected stake", "Peers", "Safe to stop", "Version"} {
			cells = append(cells, textCell(name, "–", mark{}))
		}
	} else {
		cells = append(cells, cell{name: "Chains", nodes: []g.Node{v.chips(f, r.node, true)}})
		for _, c := range v.nodeFigures(f, r.node) {
			if slices.Contains([]string{"Votes for reward", "Connected stake", "Peers", "Safe to stop"}, c.name) {
				cells = append(cells, c)
			}
		}
		cells = append(cells, textCell("Version", cmp.Or(f.versions[r.node], "–"), mark{}))
	}
	return tableRow("node-"+r.node, r.mark.worse(mark{level: r.state.level}), h.B(v.link("node/"+url.PathEscape(r.node), r.node)), cells...)
}

func (v *view) nodeCard(f *nodeFacts, r nodeRow) g.Node {
	return h.Article(h.Class("card "+r.class()), h.ID("node-"+r.node),
		h.Header(h.H3(v.link("node/"+url.PathEscape(r.node), r.node)), h.Span(h.Class("tag "+r.state.level.String()), g.Text(r.text))),
		g.If(f.versions[r.node] != "", h.Span(h.Class("dim"), g.Text(f.versions[r.node]))),
		g.If(v.ids[r.node] != "", h.Code(h.Class("id"), g.Text(v.ids[r.node]))),
		f.strips[r.node].svg(r.node, true),
		g.Iff(!f.up.is(0, r.node), func() g.Node {
			return g.Group{v.chips(f, r.node, false), figures(v.nodeFigures(f, r.node)), v.failingChecks(f, r.node)}
		}),
		g.Iff(r.failure != nil, func() g.Node { return r.failure.text() }),
	)
}

func (v *view) nodeFigures(f *nodeFacts, name string) []cell {
	about := subject{{"node", name}}
	one := func(title string, from values, format func(float64) string, family string) cell {
		return textCell(title, show(from.of(name), format), v.value(about, family))
	}
	peers := one("Peers", f.peers, count, "avax_node_peers")
	if in := f.inbound.of(name); in != nil {
		peers = textCell("Peers", show(f.peers.of(name), count)+", "+count(*in)+" inbound", v.value(about, "avax_node_peers", "avax_node_peers_inbound"))
	}
	cells := []cell{
		one("Validating", f.validating, yesNo, "avax_node_validating"),
		one("Votes for reward", f.votes, percent, "avax_node_uptime_rewarding_stake_ratio"),
		one("Weighted uptime", f.uptime, percent, "avax_node_uptime_weighted_ratio"),
		one("Connected stake", f.connected, percent, "avax_node_connected_stake_ratio"),
		peers,
		one("Safe to stop", f.safe, yesNo, "avax_node_safe_to_stop"),
	}
	if newer := f.newer.of(name); newer != nil && *newer > 0 {
		cells = append(cells, one("Stake on newer versions", f.newer, percent, "avax_node_newer_version_stake_ratio"))
	}
	return cells
}

// chips shows the state of the node on each chain, in a table without heights.
func (v *view) chips(f *nodeFacts, node string, inTable bool) g.Node {
	chips := make([]g.Node, 0, len(f.chains[node]))
	for _, chain := range f.chains[node] {
		state := ""
		switch {
		case f.forked.is(1, node, chain):
			state = " forked"
		case f.bootstrapped.is(0, node, chain):
			state = " bootstrapping"
		case f.present.is(0, node, chain):
			state = " not run"
		}
		if height := f.height.of(node, chain); height != nil {
			var parts []string
			if made := f.made.of(node, chain); !inTable {
				parts = append(parts, count(*height))
				if made != nil {
					parts = append(parts, moment(v.now, made))
				}
			}
			if behind := f.behind.of(node, chain); behind != nil && *behind > 0 {
				parts = append(parts, count(*behind)+" behind")
			}
			if len(parts) > 0 {
				state += " " + strings.Join(parts, ", ")
			}
		}
		m := v.about(subject{{"node", node}, {"chain", chain}})
		if !slices.ContainsFunc(v.byLabel[[2]string{"node", node}], func(a *active) bool { return a.Labels["chain"] == chain }) {
			m = mark{} // the alerts are about the whole node
		}
		chips = append(chips, h.Li(h.Class(m.class()), h.B(g.Text(chain)), g.Text(state)))
	}
	return g.If(len(chips) > 0, h.Ul(h.Class("chips"), g.Group(chips)))
}

// behind returns how many blocks each node is behind on each chain. A height counts only for heights that were read at the same time or
// later, because later heights are higher anyway. Heights of the X-Chain are left out: they may be older than their run.
func (f *facts) behind() values {
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
func (v *view) failingChecks(f *nodeFacts, node string) g.Node {
	checks := f.checks[node]
	slices.SortFunc(checks, compareChains)
	same := map[string][]string{}
	var texts []string
	for _, check := range checks {
		text := f.words[[2]string{node, check}]
		same[text] = append(same[text], check)
		texts = appendNew(texts, text)
	}
	return g.If(len(checks) > 0, h.Div(h.Class("why"), h.P(h.B(g.Text("Failing checks"))), g.Map(texts, func(text string) g.Node {
		var m mark
		for _, check := range same[text] {
			m = m.worse(v.value(subject{{"node", node}, {"check", check}}, "avax_node_health_check_failing"))
		}
		return g.Group{h.P(h.Class(m.class()), g.Text(strings.Join(same[text], ", "))), g.If(text != "", h.Code(h.Class("error"), g.Text(text)))}
	})))
}

// ownTables returns the collectors' tables that no other section shows.
func ownTables(tables []metric.JobTable) []metric.JobTable {
	return slices.DeleteFunc(tables, func(t metric.JobTable) bool { return t.Collector == healthCollector || len(t.Rows) == 0 })
}
