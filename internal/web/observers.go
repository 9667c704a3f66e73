package web

import (
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

var observerMeanings = [][2]string{
	{"State", "Whether the observer answered a request within the last 5 minutes. Alerts about nodes do not cover observers."},
	{"Heads", "The newest block of each chain according to the observer, and its age."},
	{"Methods", "How many of the called methods the observer offers, and which ones it does not offer."},
	{"Limit", "The maximum number of calls within any minute."},
}

// observers shows the observers; nil if there are none.
func (v *view) observers() g.Node {
	up, mismatch := v.by("avax_observer_up", "node"), v.by("avax_observer_network_mismatch", "node")
	names := v.by("avax_observer_info", "node").names()
	v.observing = len(names)
	if v.observing == 0 {
		return nil
	}
	rows, left := rowsOf(names, func(name string) mark { return v.about(subject{{"node", name}}) }, maxRows)
	height, made := v.by("avax_chain_height", "node", "chain"), v.by("avax_chain_head_timestamp_seconds", "node", "chain")
	offered := v.by("avax_observer_method_offered", "node", "method")

	return section("observers", "Observers", observerMeanings,
		table("", "Observers, worst first", []string{"Observer", "State", "Heads", "Methods", "Limit"}, g.Map(rows, func(r row) g.Node {
			state := "not known"
			switch {
			case mismatch.is(1, r.name):
				state = "other network"
			case up.is(1, r.name):
				state = "up"
			case up.is(0, r.name):
				state = "down"
			}
			var chains, missing []string
			for l := range height {
				if l[0] == r.name {
					chains = append(chains, l[1])
				}
			}
			slices.SortFunc(chains, compareChains)
			all := 0
			for l, is := range offered {
				if l[0] == r.name {
					all++
					if is == 0 {
						missing = append(missing, l[1])
					}
				}
			}
			slices.Sort(missing)
			methods := number(all-len(missing)) + " of " + number(all)
			if len(missing) > 0 {
				methods += ", without " + brief(missing)
			}
			limit := "–"
			if v.site.ObserverBudget > 0 {
				limit = number(v.site.ObserverBudget) + " calls per minute"
			}
			return tableRow("observer-"+r.name, r.mark, named(r.name, ""),
				textCell("State", state, v.value(subject{{"node", r.name}}, "avax_observer_up", "avax_observer_network_mismatch")),
				cell{name: "Heads", nodes: []g.Node{h.Ul(h.Class("chips"), g.Map(chains, func(chain string) g.Node {
					return h.Li(h.B(g.Text(chain)), g.Text(" "+show(height.of(r.name, chain), count)+", "+moment(v.now, made.of(r.name, chain))))
				}))}},
				textCell("Methods", methods, mark{}),
				textCell("Limit", limit, mark{}),
			)
		})),
		more(left, " more, with no worse alert: see ", link("metrics", "the metrics")),
	)
}

// viewers returns a noun for the upstreams that report whether a validator is connected.
func (v *view) viewers() string {
	switch {
	case v.observing == 0:
		return "nodes"
	case v.noNodes:
		return "observers"
	}
	return "nodes and observers"
}
