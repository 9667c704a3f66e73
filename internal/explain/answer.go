package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Explanation is the explanation of an alert or a family.
type Explanation struct {
	State string // one sentence: the state with its value, bound and time
	Do    string // what to do
	Why   string // the operands and the samples from which the value is computed
	Alert bool
	// Severity is that of the worst active alert; empty if none is active.
	Severity string
}

// Text returns the answer, and with why also the operands and samples.
func (x Explanation) Text(why bool) string {
	text := x.State
	if x.Do != "" {
		text += "\n" + x.Do
	}
	if why && x.Why != "" {
		text += "\n\n" + x.Why
	}
	return text
}

// reading is a value that a rule compares with a bound.
type reading struct {
	who, of      string // of is the series
	value, bound float64
	unit         string
	op           parser.ItemType
	holds        bool
}

// answer sets the answer about an alert.
func (e *explanation) answer(rules []alerting.Rule) (x Explanation) {
	x.Alert = true
	subject := rules[0].Name
	if e.target != "" {
		subject += " for " + e.target
	}
	worst, of := e.worst(rules)
	if worst == nil {
		x.State, x.Do = e.quiet(rules)
		x.State = subject + " does not fire: " + x.State
		if coming := e.coming(rules[0].Name); coming != "" {
			x.State, x.Do = subject+" "+coming+".", "The status page says what to do now."
		}
		if others := e.others(rules[0].Name); len(others) > 0 && x.Do == nothing {
			x.Do = "Nothing to do about this alert. Others are active about " + e.target + ": " + words.Brief(others) + "."
		}
		return x
	}
	x.Severity = worst.Labels["severity"]
	title := cmp.Or(strings.TrimSuffix(worst.Annotations["summary"], "."), of.Name)
	x.State = fmt.Sprintf("%s (%s) is %s: %s", of.Name, x.Severity, e.since(*of, *worst), title)
	if readings := e.readings(of.Query, unitOf(*of), 0); len(readings) > 0 && readings[0].holds {
		if bounds := e.bounds([]alerting.Rule{*of}, nil); len(bounds) > 0 {
			x.State += "; the value is " + readings[0].text(readings[0].value, e.now) + ", the alert " + strings.Join(bounds, ", ")
		}
	}
	x.State += "."
	x.Do = cmp.Or(worst.Annotations["action"], worst.Annotations["description"])
	return x
}

const nothing = "Nothing to do."

// coming returns since when the fault lasts of which the alert does not fire yet, and when it pages if nothing changes; empty if there is none.
func (e *explanation) coming(name string) string {
	faults := e.about(`avax:fault_since_timestamp_seconds{alert="` + name + `"}`)
	if len(faults) == 0 {
		return e.notFound(name)
	}
	text := "does not fire yet: the fault lasts for " + words.Span(e.now.Sub(words.UnixTime(float64(faults[0].Value))))
	for _, p := range e.about(`avax:fault_pages_timestamp_seconds{alert="` + name + `"}`) {
		if left := words.UnixTime(float64(p.Value)).Sub(e.now); left > 0 && e.who(p.Metric) == e.who(faults[0].Metric) {
			text += ", and it pages in " + words.Exact(left) + " if nothing changes"
		}
	}
	return text
}

// notFound says the same about a fault that the rules have not found yet.
func (e *explanation) notFound(name string) string {
	for _, f := range e.faults {
		if left := f.Pages.Sub(e.now); f.Alert == name && e.isAbout(model.Metric{"node": model.LabelValue(f.Node)}) && left > 0 {
			return "does not fire yet: the fault lasts for " + words.Span(e.now.Sub(f.Since)) + ", and it pages within " + words.Exact(left) +
				" if nothing changes"
		}
	}
	return ""
}

// others returns the names of other active alerts about the target, with the severity of each.
func (e *explanation) others(name string) (names []string) {
	for _, g := range e.groups {
		for _, r := range g.Rules {
			for _, a := range r.Alerts {
				l := metricOf(a.Labels)
				named := e.target != "" && l["node"]+l["chain"]+l["node_id"]+l["validation_id"] != ""
				if text := r.Name + " (" + a.Labels["severity"] + ", " + a.State + ")"; named && r.Name != name && a.KeepFiringSince.IsZero() &&
					a.Labels["severity"] != "info" && e.isAbout(l) && !slices.Contains(names, text) {
					names = append(names, text)
				}
			}
		}
	}
	return names
}

// worst returns the worst active alert about the target, and its rule; nil if none is active.
func (e *explanation) worst(rules []alerting.Rule) (worst *alerting.Alert, of *alerting.Rule) {
	rank := func(a alerting.Alert) int {
		n := 2 * slices.Index([]string{"info", "warn", "page"}, a.Labels["severity"])
		if a.State == alerting.Firing {
			n++
		}
		return n
	}
	for i := range rules {
		for j, a := range rules[i].Alerts {
			if e.isAbout(metricOf(a.Labels)) && (worst == nil || rank(a) > rank(*worst)) {
				worst, of = &rules[i].Alerts[j], &rules[i]
			}
		}
	}
	return worst, of
}

// since returns the state of an alert in words, with durations.
func (e *explanation) since(r alerting.Rule, a alerting.Alert) string {
	long := words.Span(e.now.Sub(a.ActiveAt))
	switch {
	case a.State == alerting.Pending:
		left := max(0, a.ActiveAt.Add(r.For.Duration()).Sub(e.now))
		return "pending for " + long + " and fires in " + words.Exact(left)
	case !a.KeepFiringSince.IsZero():
		return "over for " + words.Span(e.now.Sub(a.KeepFiringSince)) + ", kept for " + words.Span(r.KeepFiringFor.Duration())
	}
	return "firing for " + long
}

// quiet returns why an alert does not fire, and what to do.
func (e *explanation) quiet(rules []alerting.Rule) (why, do string) {
	var nearest *reading
	for _, r := range rules {
		for _, one := range e.readings(r.Query, unitOf(r), 0) {
			if nearest == nil || one.nearer(*nearest) {
				nearest = &one
			}
		}
	}
	if nearest == nil {
		return e.unread(rules)
	}
	why = nearest.who + " has " + nearest.text(nearest.value, e.now)
	if nearest.unit == "" {
		why = nearest.of + " of " + nearest.who + " is " + nearest.text(nearest.value, e.now)
	}
	if bounds := e.bounds(rules, nearest); len(bounds) > 0 {
		why += "; the alert " + strings.Join(bounds, ", ")
	}
	if nearest.holds {
		why += ", but another of its conditions is not met"
	}
	return why + ".", nothing
}

// nearer reports whether a value is nearer to its bound than another value of the same comparison.
func (r reading) nearer(than reading) bool {
	if r.holds != than.holds {
		return r.holds
	}
	return r.op == than.op && r.unit == than.unit && math.Abs(r.value-r.bound) < math.Abs(than.value-than.bound)
}

// unread says that there are no samples about the target, and why.
func (e *explanation) unread(rules []alerting.Rule) (why, do string) {
	for _, name := range alerting.ValueFamilies(e.groups, rules[0].Query) {
		spec, _ := collectors.Find(name)
		if len(e.about(name)) > 0 {
			continue
		}
		if why = "there are no samples of " + name; spec == nil {
			return why + ".", nothing
		}
		if e.target != "" {
			why += " about " + e.target
		}
		ran := false
		for _, j := range e.jobs {
			if j.Last.Collector != spec.Name || e.target != "" && !e.isAbout(model.Metric{"target": model.LabelValue(j.Last.Target.String())}) {
				continue
			}
			if ran = true; j.Last.Err != nil && !errors.Is(j.Last.Err, metric.ErrNotOffered) {
				return why + ", because " + j.Last.Err.Error() + ".", remedy.Of(j.Last.Err).Do
			}
		}
		if !ran && !slices.ContainsFunc(e.jobs, func(j *metric.Job) bool { return j.Last.Target.Node != "" }) {
			return why + ", because " + nodes.NoNode + ".", "Add nodes to AVAX_NODES_FILE or AVAX_NODES."
		}
		if !ran {
			return why + ", because the collector " + spec.Name + " does not run here.", "If you need this alert, add +" + spec.Name + " to AVAX_COLLECTORS."
		}
		return why + ": nothing here is a case for this alert.", nothing
	}
	return "its condition is not met.", nothing
}

// bounds returns for each severity when the rules fire, such as "fires below 30 days (warn)", of the rules that compare the same as a reading.
func (e *explanation) bounds(rules []alerting.Rule, as *reading) (all []string) {
	for _, r := range rules {
		readings := e.readings(r.Query, unitOf(r), 0)
		if len(readings) == 0 {
			continue
		}
		one := readings[0]
		if as == nil {
			as = &one
		}
		if one.unit != as.unit || one.op != as.op || one.of != as.of {
			continue
		}
		if one.unit == "" && (one.op == parser.EQLC || one.op == parser.NEQ) {
			continue // a state, which the text of the alert names
		}
		text := one.relation() + " " + one.text(one.bound, e.now) + " (" + cmp.Or(r.Labels["severity"], "none") + ")"
		if !slices.ContainsFunc(all, func(s string) bool { return strings.HasSuffix(s, text) }) {
			if len(all) == 0 {
				text = "fires " + text
			}
			all = append(all, text)
		}
	}
	return all
}

func (r reading) relation() string {
	switch r.op {
	case parser.LSS:
		return "below"
	case parser.LTE:
		return "at or below"
	case parser.GTR:
		return "above"
	case parser.GTE:
		return "at or above"
	case parser.NEQ:
		return "at anything but"
	}
	return "at"
}

// text formats a value in the unit of the reading. A time is shown as what is left until then.
func (r reading) text(v float64, now time.Time) string {
	switch {
	case r.unit == "Timestamp" && v > 0 && v < 1e11:
		left := words.UnixTime(v).Sub(now).Round(time.Minute) // a bound is computed some milliseconds before
		if left < 0 {
			return "ended " + words.Span(-left) + " ago"
		}
		return words.Span(left)
	case r.unit == "Duration" && math.IsInf(v, 1):
		return "unlimited time"
	case r.unit == "Duration" && math.Abs(v) < 9e9:
		return words.Seconds(v)
	case r.unit == "Percentage":
		return words.Percent(v)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// holdsBefore reports whether the value has held for longer than that of another reading of the same, because its bound is nearer.
func (r reading) holdsBefore(o reading) bool {
	if r.who != o.who || r.of != o.of || r.op != o.op {
		return false
	}
	if r.op == parser.GTR || r.op == parser.GTE {
		return r.bound < o.bound
	}
	return (r.op == parser.LSS || r.op == parser.LTE) && r.bound > o.bound
}

// readings returns the values about the target that an expression compares with its first bound, or with that of another branch that is met before; of
// recorded series if it has none itself.
func (e *explanation) readings(query, unit string, depth int) (found []reading) {
	const deepest = 3
	parsed, err := alerting.Parser.ParseExpr(query)
	if err != nil || e.err != nil || depth > deepest {
		return nil
	}
	var first model.Vector // values of the operand that is not compared itself
	operands := alerting.Operands(parsed)
	for i, o := range operands {
		c, ok := o.Expr.(*parser.BinaryExpr)
		if !ok || !c.Op.IsComparisonOperator() || o.Operator == "unless" || ends(c) {
			if o.Operator == "" {
				first = e.about(o.String())
			}
			continue
		}
		branch := o.Operator == "or" || i+1 < len(operands) && operands[i+1].Operator == "or"
		if len(found) > 0 && o.Operator != "or" || branch && !e.met(operands[i+1:]) {
			continue
		}
		values := e.about(c.LHS.String())
		if len(values) == 0 && unit != "" {
			values = first // what the alert would compare does not exist, because the alert does not apply
		}
		all := e.compared(values, c, unit)
		all = slices.DeleteFunc(all, func(r reading) bool { return !telling(o.Operator == "and" && !branch, c, r) || r.remembers(e.now) })
		holds := func(r reading) bool { return r.holds }
		if len(found) == 0 || slices.ContainsFunc(all, holds) && !slices.ContainsFunc(found, holds) ||
			slices.ContainsFunc(all, func(r reading) bool { return r.holds && slices.ContainsFunc(found, r.holdsBefore) }) {
			found = all
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, name := range alerting.ValueNames(parsed) {
		for _, r := range e.rules(name) {
			if found = e.readings(r.Query, unit, depth+1); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// met reports whether the conditions that follow a comparison in its branch are met.
func (e *explanation) met(following []alerting.Operand) bool {
	for _, o := range following {
		if o.Operator != "and" {
			break
		}
		if len(e.about(o.String())) == 0 {
			return false
		}
	}
	return true
}

// ends reports whether a comparison says when an alert that fires is over: it is with a multiple of its threshold.
func ends(c *parser.BinaryExpr) bool {
	multiple, is := c.RHS.(*parser.BinaryExpr)
	if !is || multiple.Op != parser.MUL {
		return false
	}
	_, scalar := multiple.LHS.(*parser.Call)
	_, number := multiple.RHS.(*parser.NumberLiteral)
	return scalar && number
}

// compared returns the readings of a comparison: each value with the bound of the same subject, or with the first.
func (e *explanation) compared(values model.Vector, c *parser.BinaryExpr, unit string) (found []reading) {
	bounds := e.about(c.RHS.String())
	if len(bounds) == 0 {
		return nil
	}
	for _, v := range values {
		bound := bounds[0]
		for _, b := range bounds {
			if e.who(b.Metric) == e.who(v.Metric) {
				bound = b
			}
		}
		if math.IsNaN(float64(bound.Value)) { // scalar() of a threshold that was not evaluated yet
			continue
		}
		value := float64(v.Value)
		of, unit := nameAndUnit(unit, c.LHS, value)
		found = append(found, reading{e.who(v.Metric), of, value, float64(bound.Value), unit, c.Op, holds(c.Op, value, float64(bound.Value))})
	}
	return found
}

// telling reports whether a comparison says how near an alert is, or why it does not fire. A series that is compared with itself and has not
// changed says neither, nor does a condition that is met, unless it is the threshold.
func telling(condition bool, c *parser.BinaryExpr, r reading) bool {
	bounds := alerting.ValueNames(c.RHS)
	same := r.value == r.bound && slices.ContainsFunc(alerting.ValueNames(c.LHS), func(name string) bool { return slices.Contains(bounds, name) })
	return !same && (!condition || !r.holds || strings.Contains(c.RHS.String(), thresholds))
}

// remembers reports whether the comparison is whether a time is recent: its bound is past. This does not say how near an alert is.
func (r reading) remembers(now time.Time) bool {
	return r.unit == "Timestamp" && r.bound > 0 && words.UnixTime(r.bound).Before(now) && (r.op == parser.GTR || r.op == parser.GTE)
}

// nameAndUnit returns the series of a compared value, and its unit: by name and size, because a rule may compare something else than what its text shows.
func nameAndUnit(unit string, of parser.Expr, v float64) (name, is string) {
	if names := alerting.ValueNames(of); len(names) > 0 {
		name = names[0]
	}
	switch {
	case strings.HasSuffix(name, "_seconds") && v > 9e8 && !math.IsInf(v, 0): // a time, also if the series counts from now
		return name, "Timestamp"
	case strings.HasSuffix(name, "_seconds"):
		return name, "Duration"
	case strings.HasSuffix(name, "_ratio"):
		return name, "Percentage"
	case unit == "Timestamp" && v < 1e8, unit == "Percentage" && v > 10:
		return name, ""
	}
	return name, unit
}

func holds(op parser.ItemType, a, b float64) bool {
	switch op {
	case parser.LSS:
		return a < b
	case parser.LTE:
		return a <= b
	case parser.GTR:
		return a > b
	case parser.GTE:
		return a >= b
	case parser.NEQ:
		return a != b
	}
	return a == b
}

// who returns the name of what a sample is about.
func (e *explanation) who(labels model.Metric) string {
	id := string(cmp.Or(labels["node_id"], labels["address"], labels["asset_id"]))
	who := cmp.Or(string(labels["node"]), e.called[string(labels["validation_id"])], e.called[id],
		string(labels["target"]), string(labels["upstream"]), string(labels["upgrade"]), id)
	chain := string(labels["chain"])
	switch {
	case who == "":
		return cmp.Or(chain, string(labels["instance"]), e.target, "it")
	case chain != "" && chain != e.target || chain != "" && who != e.target:
		return who + " on " + chain
	}
	return who
}
