package web

import (
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
	if v.observing == 0 {
		return nil
	}
	rows, left := rowsOf(v.by("avax_observer_info", "node").names(), func(name string) mark { return v.about(subject{{"node", name}}) }, maxRows)
	chains := v.lists("node", "chain", anyValue, "avax_chain_height")
	methods := v.lists("node", "method", anyValue, "avax_observer_method_offered")
	missing := v.lists("node", "method", isZero, "avax_observer_method_offered")
	limit := "–"
	if v.site.ObserverBudget > 0 {
		limit = number(v.site.ObserverBudget) + " calls per minute"
	}
	return section("observers", "Observers", observerMeanings,
		table("", "Observers, worst first", "Observer", mapped(rows, func(r row) tableRow {
			about := subject{{"node", r.name}}
			state := "not known"
			switch {
			case v.is(1, about, "avax_observer_network_mismatch"):
				state = "other network"
			case v.is(1, about, "avax_observer_up"):
				state = "up"
			case v.is(0, about, "avax_observer_up"):
				state = "down"
			}
			all, without := methods[r.name], missing[r.name]
			offered := number(len(all)-len(without)) + " of " + number(len(all))
			if len(without) > 0 {
				offered += ", without " + brief(without)
			}
			return tableRow{"observer-" + r.name, r.mark, named(r.name, ""), []cell{
				textCell("State", state, v.color(about, "avax_observer_up", "avax_observer_network_mismatch")),
				{name: "Heads", content: h.Ul(h.Class("chips"), g.Map(chains[r.name], func(chain string) g.Node {
					on := subject{{"node", r.name}, {"chain", chain}}
					return h.Li(h.B(g.Text(chain)), g.Text(" "+show(v.value(on, "avax_chain_height"), count)+", "+moment(v.now, v.value(on, "avax_chain_head_timestamp_seconds"))))
				}))},
				textCell("Methods", offered, mark{}),
				textCell("Limit", limit, mark{}),
			}}
		})), v.moreRows(left))
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
