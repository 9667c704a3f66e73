package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// available is the availability of a node, a validator or an L1, by window. A window that is not known is absent.
type available struct {
	kind, name  string
	up, watched map[string]float64
	budget      float64 // share of what may be missed, by the target; 0: there is no target
}

// availability returns the availability of what is accepted, the lowest first.
func (v *view) availability(accepted func(label func(string) string) bool) (all []*available) {
	if v.past.source == nil || v.past.err != nil {
		return nil
	}
	byName, budgets := map[[2]string]*available{}, map[string]float64{}
	allowed, _ := alerting.Vector(v.past.source.Query(v.past.ctx, "max by (objective) (avax:rpc_error_budget_ratio)", v.At))
	for _, s := range allowed {
		budgets[string(s.Metric["objective"])] = float64(s.Value)
	}
	for _, family := range []string{alerting.AvailabilityFamily, alerting.WatchedFamily} {
		found, err := alerting.Vector(v.past.source.Query(v.past.ctx, "max by (node, node_id, chain, objective, window) ("+family+")", v.At))
		if err != nil {
			v.past.err = err
			return nil
		}
		for _, s := range found {
			label := func(name string) string { return string(s.Metric[model.LabelName(name)]) }
			if !accepted(label) {
				continue
			}
			kind, name := "node", label("node")
			switch {
			case label("node_id") != "":
				kind, name = "validator", cmp.Or(v.NameOf(label("node_id"), ""), label("node_id"))
			case label("objective") != "":
				kind, name = "RPC "+label("objective"), label("chain")
			case label("chain") != "":
				kind, name = "L1", label("chain")
			}
			one := byName[[2]string{kind, name}]
			if one == nil {
				one = &available{kind, name, map[string]float64{}, map[string]float64{}, budgets[label("objective")]}
				byName[[2]string{kind, name}], all = one, append(all, one)
			}
			if family == alerting.AvailabilityFamily {
				one.up[label("window")] = float64(s.Value)
			} else {
				one.watched[label("window")] = float64(s.Value)
			}
		}
	}
	lowest := func(a *available) float64 {
		least := 1.0
		for _, up := range a.up {
			least = min(least, up)
		}
		return least
	}
	slices.SortFunc(all, func(a, b *available) int {
		return cmp.Or(cmp.Compare(lowest(a), lowest(b)), strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
	})
	return all
}

// availabilityTable shows the availability of what is accepted; nil if none is known.
func (v *view) availabilityTable(accepted func(label func(string) string) bool) g.Node {
	all := v.availability(accepted)
	if len(all) == 0 {
		return nil
	}
	shown := all[:min(len(all), maxRows)]
	var content g.Node = g.Group{
		table("", "Availability", "Subject", mapped(shown, func(a *available) tableRow {
			cells := []cell{textCell("Kind", a.kind, status.Urgency{})}
			for _, window := range alerting.AvailabilityWindows {
				cells = append(cells, textCell(windowName(window), a.text(window), status.Urgency{}))
			}
			return tableRow{header: titled(a.name), cells: cells}
		})),
		more(len(all)-len(shown), " more"),
	}
	if len(all) > maxCards {
		content = h.Details(h.Summary(g.Text(words.Plural(len(all), "node, validator or L1", "nodes, validators and L1s")+", the lowest first")), content)
	}
	return section("availability", "Availability", [][2]string{
		{"Node", "Share of the watched time in which the node answered."},
		{"Validator", "Share of the watched time in which more than half of your nodes and observers were connected to the validator."},
		{"L1", "Share of the watched time in which the L1 had its quorum, and did not stand still."},
		{"RPC answers, RPC latency", "Share of the answers that were right, and fast. The error budget is what the target allows to miss in 30 days."},
	}, content)
}

// isShown reports whether the status page shows what has these labels: all, or what the request asks for.
func (v *view) isShown(label func(string) string) bool {
	node, id := label("node"), label("node_id")
	return !v.filtered() || node != "" && slices.ContainsFunc(v.nodeRows(), func(r nodeRow) bool { return r.Name == node }) ||
		id != "" && v.matchesValidator(id, "", "")
}

// windowName is a window as a person reads it, such as 7 days.
func windowName(window string) string {
	long, _ := model.ParseDuration(window)
	return words.Span(time.Duration(long))
}

// text is the availability in a window, and for how long it was watched if that is not the whole window.
func (a *available) text(window string) string {
	up, known := a.up[window]
	if !known {
		return "–"
	}
	text := exactShare(up)
	if a.budget > 0 && window == budgetWindow {
		text += fmt.Sprintf(", %.0f %% of the error budget used", 100*(1-up)/a.budget)
	}
	long, _ := model.ParseDuration(window)
	if seen := a.watched[window]; seen < 0.995 {
		text += ", watched for " + words.Span(time.Duration(seen*float64(long)))
	}
	return text
}

// budgetWindow is the window of error budgets.
const budgetWindow = "30d"

// exactShare formats a share of time with three decimals, everywhere. Only a whole is 100 %, and only nothing is 0 %.
func exactShare(up float64) string {
	percent := math.Floor(up*1e5+1e-6) / 1e3
	if up > 0 {
		percent = max(percent, 0.001)
	}
	text := fmt.Sprintf("%.3f", percent)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}
