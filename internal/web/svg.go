package web

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// drawing returns an inline SVG. Screen readers read its text.
func drawing(class string, width, height int, text string, parts ...g.Node) g.Node {
	return g.El("svg", h.Class(class), h.Role("img"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), h.Aria("label", text),
		g.Group(parts))
}

// rect returns a rectangle. The CSS class sets its color.
func rect(class string, x, y, width, height float64) g.Node {
	return g.El("rect", h.Class(class), at("x", x), at("y", y), at("width", width), at("height", height))
}

func line(class string, x1, y1, x2, y2 float64) g.Node {
	return g.El("line", h.Class(class), at("x1", x1), at("y1", y1), at("x2", x2), at("y2", y2))
}

func label(anchor string, x, y float64, text string) g.Node {
	return g.El("text", at("x", x), at("y", y), g.Attr("text-anchor", anchor), g.Text(text))
}

func at(name string, v float64) g.Node { return g.Attr(name, strconv.FormatFloat(v, 'f', -1, 32)) }

// The states of a node in a part of its history.
const (
	unknown = iota
	isUp
	bootstrapping
	isDown
)

var stateClasses = [...]string{"unknown", "up", "bootstrapping", "down"}

// stripParts is the number of parts of the history in a strip.
const stripParts = 120

// strip is the history of one node.
type strip struct {
	states [stripParts]uint8
	step   time.Duration
}

// strips reads the history of these nodes: the worst state within each part.
func (h *history) strips(names []string) map[string]*strip {
	all := map[string]*strip{}
	step := h.step(stripParts)
	from := h.now.Add(-step * time.Duration(stripParts-1))
	read := func(family string, nodes []string, bad, good uint8) {
		series := family + "{" + among("node", nodes) + "}"
		expr := "min by (node) (" + series + ")"
		if step >= time.Minute { // a shorter step may contain no sample
			expr = fmt.Sprintf("min by (node) (min_over_time(%s[%s]))", series, model.Duration(step+30*time.Second))
		}
		for _, stream := range h.query(expr, step, stripParts) {
			name := string(stream.Metric["node"])
			if all[name] == nil {
				all[name] = &strip{step: step}
			}
			for _, v := range stream.Values {
				part := int((v.Timestamp.Time().Sub(from) + step/2) / step)
				if part < 0 || part >= stripParts {
					continue
				}
				now := &all[name].states[part]
				if v.Value == 0 {
					*now = max(*now, bad)
				} else {
					*now = max(*now, good)
				}
			}
		}
	}
	read("avax_node_up", names, isDown, isUp)
	const chains = "avax_node_chain_bootstrapped"
	var bootstrapped []string // nodes with a chain that was bootstrapping: the history of all chains is expensive
	past := model.Duration(step*stripParts + alerting.Lookback)
	for _, stream := range h.query(fmt.Sprintf("min by (node) (min_over_time(%s{%s}[%s])) == 0", chains, among("node", names), past), step, 1) {
		bootstrapped = append(bootstrapped, string(stream.Metric["node"]))
	}
	if len(bootstrapped) > 0 {
		read(chains, bootstrapped, bootstrapping, unknown)
	}
	return all
}

// among returns a matcher of these values.
func among(label string, values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return label + "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// svg draws the history, with the duration of each state in a caption.
func (s *strip) svg(name string, caption bool) g.Node {
	if s == nil {
		return nil
	}
	counts := [len(stateClasses)]int{}
	var parts []g.Node
	for from := 0; from < stripParts; {
		to := from
		for to < stripParts && s.states[to] == s.states[from] {
			to++
		}
		counts[s.states[from]] += to - from
		parts = append(parts, rect(stateClasses[s.states[from]], float64(from), 0, float64(to-from), 10))
		from = to
	}
	text := "Last " + span(s.step*stripParts) + ":"
	for state, class := range stateClasses {
		if counts[state] > 0 {
			text += " " + strings.Replace(class, "unknown", "no data", 1) + " " + span(s.step*time.Duration(counts[state])) + ","
		}
	}
	text = strings.TrimSuffix(text, ",")
	return g.Group{
		g.El("svg", h.Class("strip"), h.Role("img"), g.Attr("viewBox", fmt.Sprintf("0 0 %d 10", stripParts)), g.Attr("preserveAspectRatio", "none"),
			h.Aria("label", name+". "+text), g.Group(parts)),
		g.If(caption, h.P(h.Class("dim small"), g.Text(text))),
	}
}

// budgetBar shows used and allowed downtime, both in seconds, and the share of the staking period that has passed.
func budgetBar(used, allowed, passed float64, end string) g.Node {
	const width, top, height = 200.0, 2.0, 10.0
	share := 1.0
	if allowed > 0 {
		share = min(1, used/allowed)
	}
	passed = max(0, min(1, passed))
	text := fmt.Sprintf("%s of %s downtime used; %s of the period is over; the period ends %s", seconds(used), seconds(allowed), percent(passed), end)
	return drawing("budget", int(width), 26, text,
		rect("rest", 0, top, width, height),
		rect("used", 0, top, width*share, height),
		line("now", width*passed, 0, width*passed, top+height+2),
		line("end", width-0.5, 0, width-0.5, top+height+2),
		label("end", width, 25, "ends "+end),
		label("start", 0, 25, percent(share)+" used"),
	)
}

// weightStep is the share of an L1's weight that is left after this number of seconds.
type weightStep struct{ after, share float64 }

// forecast returns how the active weight falls when balances run out. left is the runway of each validator in seconds. A
// validator that is not in left stays active.
func forecast(left, weights map[string]float64, active, whole float64) []weightStep {
	type end struct{ after, weight float64 }
	var ends []end
	for id, after := range left {
		if after > 0 {
			ends = append(ends, end{after, weights[id]})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.after, b.after) })
	steps := []weightStep{{0, active / whole}}
	for _, e := range ends {
		active -= e.weight
		steps = append(steps, weightStep{e.after, max(0, active/whole)})
	}
	return steps
}

// maxDrawn is the maximum number of drawn steps.
const maxDrawn = 200

// forecastDrawing shows the active share of an L1's weight over time, with the quorums of the protocol.
func forecastDrawing(chain string, now time.Time, steps []weightStep) g.Node {
	const width, height, left, right, top, bottom = 480.0, 190.0, 40.0, 445.0, 10.0, 165.0
	// The drawing ends after the deadline: the loss of the last quorum, else the last balance that runs out within the longest time.
	const longest = 90 * 24 * 60 * 60.0
	horizon, last := 60*60.0, staking.Quorums[len(staking.Quorums)-1].Share
	for _, s := range steps[:min(len(steps), maxDrawn)] {
		if s.after < longest {
			horizon = max(horizon, s.after*1.5)
		}
		if s.share < last {
			break // later steps have no effect
		}
	}
	if len(steps) > 1 && steps[1].after >= longest {
		horizon = steps[1].after * 1.5
	}
	moment := func(after float64) string {
		at := now.Add(time.Duration(after * 1e9))
		if horizon < 2*24*60*60 {
			return clockTime(now, at)
		}
		return date(at)
	}
	x := func(after float64) float64 { return left + (right-left)*min(1, after/horizon) }
	y := func(share float64) float64 { return bottom - (bottom-top)*share }
	text := fmt.Sprintf("%s: forecast of the active weight without top-ups: %s now", chain, percent(steps[0].share))
	parts := []g.Node{}
	sides := [...]struct { // labels alternate between the sides, because the lines are close together
		anchor string
		x      float64
	}{{"end", left - 4}, {"start", right + 4}}
	for i, q := range staking.Quorums {
		parts = append(parts, line("quorum", left, y(q.Share), right, y(q.Share)), label(sides[i%2].anchor, sides[i%2].x, y(q.Share)+3.5, percent(q.Share)))
		for _, s := range steps {
			if s.share < q.Share {
				text += fmt.Sprintf(", below %s in %s", percent(q.Share), seconds(s.after))
				break
			}
		}
	}
	path := fmt.Sprintf("M%.1f %.1f", x(0), y(steps[0].share))
	for _, s := range steps[1:] {
		if s.after > horizon {
			break
		}
		path += fmt.Sprintf("H%.1fV%.1f", x(s.after), y(s.share))
	}
	path += fmt.Sprintf("H%.1f", right)
	parts = append(parts,
		g.El("path", h.Class("weight"), g.Attr("d", path)),
		line("axis", left, bottom, right, bottom), line("axis", left, top, left, bottom),
		label("end", left-4, y(0)+3.5, "0"), label("end", left-4, y(1)+3.5, "100 %"),
		label("start", left, height-8, "now"),
		label("middle", (left+right)/2, height-8, moment(horizon/2)),
		label("end", right, height-8, moment(horizon)),
	)
	return drawing("forecast", int(width), int(height), text, parts...)
}
