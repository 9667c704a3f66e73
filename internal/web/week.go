package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// weekDays is the number of days that a page shows, with the current one.
const weekDays = int(alerting.WeekHistory / (24 * time.Hour))

// ofWeek evaluates an expression over the week, at an end and at this number of steps in all.
func (h *history) ofWeek(expr string, end time.Time, step time.Duration, steps int) model.Matrix {
	if h.source == nil || h.err != nil {
		return nil
	}
	source, _ := h.source.week()
	matrix, err := source.QueryRange(h.ctx, expr, end.Add(-step*time.Duration(steps-1)), end, step)
	if err != nil {
		h.err = err
	}
	return matrix
}

// week evaluates an expression at each WeekStep of the week.
func (h *history) week(expr string) model.Matrix {
	return h.ofWeek(expr, h.now.Truncate(alerting.WeekStep), alerting.WeekStep, int(alerting.WeekHistory/alerting.WeekStep))
}

// dayOf is how long a node answered on a day, and for how much of the day that is known. Both are shares, and negative if that is not known.
type dayOf struct{ up, known float64 }

// days returns the last days of these nodes by name, the current day last. A node without samples on an earlier day has no entry, unless all is true.
func (h *history) days(names []string, all bool) map[string]*[weekDays]dayOf {
	const day = 24 * time.Hour
	end := h.now.UTC().Truncate(day).Add(day)
	found := map[string]*[weekDays]dayOf{}
	read := func(expr string, set func(of *dayOf, value float64)) {
		for _, stream := range h.ofWeek(fmt.Sprintf(expr, status.UpFamily+"{"+among("node", names)+"}"), end, day, weekDays) {
			name := string(stream.Metric["node"])
			eachStep(stream, end, day, weekDays, func(i int, value float64) {
				if found[name] == nil {
					found[name] = new([weekDays]dayOf)
					for i := range found[name] {
						found[name][i] = dayOf{-1, -1}
					}
				}
				set(&found[name][i], value)
			})
		}
	}
	if len(names) == 0 || h.source == nil {
		return found
	}
	read("avg by (node) (avg_over_time(%s[1d]))", func(of *dayOf, value float64) { of.up = value })
	if _, own := h.source.week(); own { // else the time between samples is not known
		read("max by (node) (count_over_time(%s[1d]))", func(of *dayOf, value float64) {
			if of.known = min(1, value/float64(day/alerting.WeekStep)); value < 2 { // a sample at midnight belongs to the day before it
				of.up = -1
			}
		})
	}
	for name, days := range found {
		earlier := false
		for _, d := range days[:weekDays-1] {
			earlier = earlier || d.up >= 0
		}
		if !earlier && !all {
			delete(found, name)
		}
	}
	return found
}

// dayList shows the days of a node, each with the share of the time in which it answered.
func (v *view) dayList(days *[weekDays]dayOf) g.Node {
	if days == nil {
		return nil
	}
	today := v.At.UTC().Truncate(24 * time.Hour)
	items := make([]g.Node, weekDays)
	for i, d := range days {
		at := today.AddDate(0, 0, i+1-weekDays)
		passed := min(1, v.At.Sub(at).Hours()/24)
		class, share, text := "unknown", "–", at.Format("Mon 2 Jan")+": no data"
		if d.up >= 0 {
			share = exactShare(d.up)
			if text = at.Format("Mon 2 Jan"); i == weekDays-1 {
				text += ", from midnight UTC until now" // the last 24 h are in another table
			}
			text += ": answered for " + share + " of the time"
			if missing := time.Duration((passed - d.known) * 24 * float64(time.Hour)); d.known >= 0 && missing > 3*alerting.WeekStep {
				text += ", no data for " + words.Span(missing)
			}
			switch {
			case d.up >= 0.999:
				class = "up"
			case d.up >= 0.99:
				class = "bootstrapping"
			default:
				class = "down"
			}
		}
		items[i] = h.Li(h.Class(class), h.Title(text), h.Span(g.Text(at.Format("Mon"))), g.Text(share))
	}
	return h.Ol(h.Class("days"), h.Aria("label", "Answered, by day"), g.Group(items))
}

// The size of a chart.
const (
	chartWidth, chartHeight = 168, 40
	chartStep               = 2 * time.Hour
	chartSteps              = int(alerting.WeekHistory / chartStep)
)

// weekChart is the course of a value in the last week.
type weekChart struct {
	values [chartSteps]float64 // negative: not known
	last   float64
}

// charts reads the courses of an expression, by the value of a label.
func (h *history) charts(expr, label string) map[string]*weekChart {
	end := h.now.Truncate(alerting.WeekStep)
	found := map[string]*weekChart{}
	for _, stream := range h.ofWeek(expr, end, chartStep, chartSteps) {
		c := &weekChart{}
		for i := range c.values {
			c.values[i] = -1
		}
		known := 0
		eachStep(stream, end, chartStep, chartSteps, func(i int, value float64) {
			if value >= 0 {
				c.values[i], c.last = value, value
				known++
			}
		})
		if known > 1 {
			found[string(stream.Metric[model.LabelName(label)])] = c
		}
	}
	return found
}

// svg draws the course. limit is the value of the upper edge; 0: the largest value. format formats values in the text for screen readers.
func (c *weekChart) svg(what string, limit float64, format func(float64) string) g.Node {
	if c == nil {
		return nil
	}
	top, first := limit, -1.0
	for _, v := range c.values {
		if v >= 0 && first < 0 {
			first = v
		}
		if limit == 0 {
			top = max(top, v)
		}
	}
	if top <= 0 {
		top = 1
	}
	var lines []g.Node
	var points []string
	flush := func() {
		if len(points) > 0 {
			lines = append(lines, g.El("polyline", g.Attr("points", strings.Join(points, " "))))
		}
		points = nil
	}
	for i, v := range c.values {
		if v < 0 {
			flush()
			continue
		}
		points = append(points, fmt.Sprintf("%d,%.1f", i*chartWidth/(chartSteps-1), 1+(chartHeight-2)*(1-min(1, v/top))))
	}
	flush()
	text := fmt.Sprintf("%s in the last %d days: from %s to %s", what, weekDays, format(first), format(c.last))
	return g.El("svg", h.Class("chart"), h.Role("img"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", chartWidth, chartHeight)),
		g.Attr("preserveAspectRatio", "none"), h.Aria("label", text), g.Group(lines))
}

// weekOf shows the last week of a node: how long it answered on each day, and the course of the downtime of its validator.
func (v *view) weekOf(n *status.Node) g.Node {
	days := v.past.days([]string{n.Name}, true)[n.Name]
	var downtime g.Node
	for _, one := range v.Validators {
		if one.NodeID != n.ID || n.ID == "" || !one.DowntimeBudget.Known {
			continue
		}
		chart := v.past.charts(fmt.Sprintf("max by (node_id) (%s{%s})", status.DowntimeFamily, among("node_id", []string{n.ID})), "node_id")[n.ID]
		if chart != nil {
			downtime = g.Group{h.P(h.Class("dim small"), g.Text("Downtime of the staking period: "+words.Seconds(chart.last)+" of "+words.Seconds(one.DowntimeBudget.V)+
				" used. The upper edge of the chart is the budget.")), chart.svg("Downtime used", one.DowntimeBudget.V, words.Seconds)}
		}
	}
	if days == nil && downtime == nil {
		return nil
	}
	return h.Article(h.Class("card"), h.H3(g.Text("Last 7 days")), v.dayList(days), downtime)
}
