package web

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// The states of a node in a step of its history.
const (
	unknown = iota
	isUp
	bootstrapping
	isDown
)

var stateClasses = [...]string{"unknown", "up", "bootstrapping", "down"}

// stripSteps is the number of steps of the history in a strip.
const stripSteps = 120

// strip is the history of one node.
type strip struct {
	states [stripSteps]uint8
	step   time.Duration
}

// strips reads the history of these nodes: the worst state within each step.
func (h *history) strips(names []string) map[string]*strip {
	all := map[string]*strip{}
	step := h.step(stripSteps)
	read := func(family string, nodes []string, bad, good uint8) {
		series := family + "{" + among("node", nodes) + "}"
		expr := "min by (node) (" + series + ")"
		if step >= time.Minute { // a shorter step may contain no sample
			expr = fmt.Sprintf("min by (node) (min_over_time(%s[%s]))", series, model.Duration(step+30*time.Second))
		}
		for _, stream := range h.query(expr, step, stripSteps) {
			name := string(stream.Metric["node"])
			if all[name] == nil {
				all[name] = &strip{step: step}
			}
			eachStep(stream, h.now, step, stripSteps, func(i int, value float64) {
				state := good
				if value == 0 {
					state = bad
				}
				all[name].states[i] = max(all[name].states[i], state)
			})
		}
	}
	read(status.UpFamily, names, isDown, isUp)
	chains := status.BootstrappedFamily
	var bootstrapped []string // nodes with a chain that was bootstrapping: the history of all chains is expensive
	past := model.Duration(step*stripSteps + alerting.Lookback)
	for _, stream := range h.query(fmt.Sprintf("min by (node) (min_over_time(%s{%s}[%s])) == 0", chains, among("node", names), past), step, 1) {
		bootstrapped = append(bootstrapped, string(stream.Metric["node"]))
	}
	if len(bootstrapped) > 0 {
		read(chains, bootstrapped, bootstrapping, unknown)
	}
	return all
}

// strips reads the history of these nodes. A node that does not answer is down there since its last answer, as everywhere on the page: samples and steps show
// this up to a step later.
func (v *view) strips(names []string) map[string]*strip {
	all := v.past.strips(names)
	for name, s := range all {
		if now := v.Node(name).State; now.NoAnswer && !now.Since.IsZero() {
			s.downFor(v.At.Sub(now.Since))
		}
	}
	return all
}

// downFor makes the last steps of the history down, and the step before them not.
func (s *strip) downFor(long time.Duration) {
	first := max(0, stripSteps-int((long+s.step/2)/s.step))
	for i := range s.states {
		switch {
		case i >= first:
			s.states[i] = isDown
		case i == first-1 && s.states[i] == isDown && (i == 0 || s.states[i-1] != isDown):
			s.states[i] = isUp
		}
	}
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
	var rects []g.Node
	for from := 0; from < stripSteps; {
		to := from
		for to < stripSteps && s.states[to] == s.states[from] {
			to++
		}
		counts[s.states[from]] += to - from
		rects = append(rects, g.El("rect", h.Class(stateClasses[s.states[from]]), g.Attr("x", strconv.Itoa(from)), h.Width(strconv.Itoa(to-from)), h.Height("10")))
		from = to
	}
	text := "Last " + words.Span(s.step*stripSteps) + ":"
	for state, class := range stateClasses {
		if counts[state] > 0 {
			text += " " + strings.Replace(class, "unknown", "no data", 1) + " " + words.Span(s.step*time.Duration(counts[state])) + ","
		}
	}
	text = strings.TrimSuffix(text, ",")
	return g.Group{
		g.El("svg", h.Class("strip"), h.Role("img"), g.Attr("viewBox", fmt.Sprintf("0 0 %d 10", stripSteps)), g.Attr("preserveAspectRatio", "none"),
			h.Aria("label", name+". "+text), g.Group(rects)),
		g.If(caption, h.P(h.Class("dim small"), g.Text(text))),
	}
}
