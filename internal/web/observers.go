package web

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var observerMeanings = [][2]string{
	{"State", "Whether the observer answered a request within the last 5 minutes. Alerts about nodes do not cover observers."},
	{"Heads", "The newest block of each chain according to the observer, and its age."},
	{"Methods", "How many of the called methods the observer offers, and which ones it does not offer."},
	{"Limit", "The maximum number of calls within any minute."},
}

// observers shows the observers; nil if there are none.
func (v *view) observers() g.Node {
	if len(v.Observers) == 0 {
		return nil
	}
	about := func(o *status.Observer) status.Subject { return status.Subject{{"node", o.Name}} }
	rows := rowsOf(v.Observers, func(o *status.Observer) status.Urgency { return v.About(about(o)) },
		func(a, b *status.Observer) int { return strings.Compare(a.Name, b.Name) })
	shown := rows[:min(len(rows), maxRows)]
	limit := "–"
	if v.site.ObserverBudget > 0 {
		limit = words.Number(v.site.ObserverBudget) + " calls per minute"
	}
	return section("observers", "Observers", observerMeanings,
		table("", "Observers, worst first", "Observer", mapped(shown, func(r row[*status.Observer]) tableRow {
			o, state := r.of, "not known"
			switch {
			case o.OtherNetwork.Is(1):
				state = "other network"
			case o.ObserverUp.Is(1):
				state = "up"
			case o.ObserverUp.Is(0):
				state = "down"
			}
			offered := words.Number(o.Methods-len(o.Missing)) + " of " + words.Number(o.Methods)
			if len(o.Missing) > 0 {
				offered += ", without " + words.Brief(o.Missing)
			}
			heads := slices.DeleteFunc(slices.Clone(o.Chains), func(c *status.NodeChain) bool { return !c.Height.Known })
			return tableRow{"observer-" + o.Name, r.urgency, named(o.Name, ""), []cell{
				textCell("State", state, v.AboutValues(about(o), o.ObserverUp, o.OtherNetwork)),
				{name: "Heads", content: h.Ul(h.Class("chips"), g.Map(heads, func(c *status.NodeChain) g.Node {
					return h.Li(h.B(g.Text(c.Name)), g.Text(" "+c.Height.Text(words.Count)+", "+c.Head.Moment(v.At)))
				}))},
				textCell("Methods", offered, status.Urgency{}),
				textCell("Limit", limit, status.Urgency{}),
			}}
		})), more(len(rows)-len(shown), " more, with no worse alert: see ", v.link("metrics", "the metrics")))
}

// viewers returns a noun for the upstreams that report whether a validator is connected.
func (v *view) viewers() string {
	switch {
	case len(v.Observers) == 0:
		return "nodes"
	case v.NoNodes():
		return "observers"
	}
	return "nodes and observers"
}
