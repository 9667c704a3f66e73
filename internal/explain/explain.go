// Package explain says why an alert fires or does not fire: its state, the operands of its expression with their values and bounds, the samples
// from which its value is computed, and the runbook. For a family it prints the samples and the collector.
package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// maxPrinted is the maximum number of samples, alerts or failures that are printed. Further ones are only counted.
const maxPrinted = 10

// UnknownError is the error for an unknown name or target.
type UnknownError string

func (u UnknownError) Error() string { return string(u) }

// At explains an alert as Of does, for a time in the past, from the samples that the source keeps. Without samples of this time, it returns what explained the
// alert at the moments at which it fired and ended.
func At(ctx context.Context, source alerting.Source, kept []alerting.Moment, name, target string, at time.Time) (Explanation, error) {
	groups, err := source.Groups(ctx)
	if err != nil {
		return Explanation{}, err
	}
	of, err := past(ctx, source, groups, at)
	if gone := UnknownError(""); errors.As(err, &gone) {
		if x, found := newExplanation(ctx, source, groups, nil, target, time.Now()).remembered(kept, name, at); found {
			return x, nil
		}
	}
	if err != nil {
		return Explanation{}, err
	}
	x, err := newExplanation(ctx, source, of, nil, target, at).of(name)
	x.State, x.Do = "At "+at.UTC().Format("2006-01-02 15:04 UTC")+": "+x.State, ""
	return x, err
}

// Moment explains an alert with these labels at a time, a short time ago.
func Moment(ctx context.Context, source alerting.Source, labels map[string]string, at time.Time) (state, why string, err error) {
	x, err := Of(ctx, source, nil, labels[model.AlertNameLabel], subjectOf(labels), at)
	return x.State, x.Why, err
}

// subjectOf returns the target of an alert; empty if it is about everything.
func subjectOf(labels map[string]string) string {
	for _, name := range []string{"node", "validation_id", "node_id", "tx_id", "address", "chain", "target", "upstream"} {
		if labels[name] != "" {
			return labels[name]
		}
	}
	return ""
}

// remembered returns what explained an alert about the target when it fired and when it ended: all moments of the outage that lasted at a time.
func (e *explanation) remembered(kept []alerting.Moment, name string, at time.Time) (Explanation, bool) {
	e.readNames()
	var outage []alerting.Moment
	fires := map[string]bool{} // by labels
	for _, m := range kept {
		labels := metricOf(m.Labels)
		if m.Labels[model.AlertNameLabel] != name || !e.isAbout(labels) {
			continue
		}
		if len(fires) == 0 {
			if m.Ended || m.At.After(at.Add(time.Minute)) { // a time in minutes is that of its begin
				continue
			}
			outage = nil
		}
		outage = append(outage, m)
		if fires[labels.String()] = true; m.Ended {
			delete(fires, labels.String())
		}
	}
	if len(outage) == 0 || len(fires) == 0 && outage[len(outage)-1].At.Before(at) {
		return Explanation{}, false
	}
	x := Explanation{Alert: true}
	for i, m := range outage {
		what := "fires"
		if m.Ended {
			what = "ends"
		}
		if i > 0 {
			x.State, x.Why = x.State+"\n", x.Why+"\n"
		}
		moment := m.At.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + what + " (" + m.Labels["severity"] + ")"
		x.State += moment + ": " + m.State
		x.Why += moment + "\n" + m.Why
	}
	return x, true
}

// past returns the groups with the alerts that were active at a time.
func past(ctx context.Context, source alerting.Source, groups []alerting.Group, at time.Time) ([]alerting.Group, error) {
	active, err := alerting.Vector(source.Query(ctx, "ALERTS", at))
	if err != nil {
		return nil, err
	}
	if len(active) == 0 { // at least the watchdog fires
		return nil, UnknownError("no samples of " + at.UTC().Format("2006-01-02 15:04 UTC") +
			": the exporter keeps some hours (metric avax_exporter_history_seconds) and, for 90 days, " +
			"what decided the alerts that fired. A Prometheus of AVAX_PROMETHEUS_URL keeps more")
	}
	begins, err := alerting.Vector(source.Query(ctx, "ALERTS_FOR_STATE", at))
	if err != nil {
		return nil, err
	}
	since := map[string]time.Time{}
	for _, s := range begins {
		delete(s.Metric, model.MetricNameLabel)
		since[s.Metric.String()] = words.UnixTime(float64(s.Value))
	}
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Rules = slices.Clone(groups[i].Rules)
		for j := range groups[i].Rules {
			r := &groups[i].Rules[j]
			r.Alerts = nil
			for _, s := range active {
				labels := map[string]string{}
				state, of := string(s.Metric["alertstate"]), s.Metric.Clone()
				delete(of, model.MetricNameLabel)
				delete(of, "alertstate")
				for name, value := range of {
					labels[string(name)] = string(value)
				}
				if labels["alertname"] == r.Name && r.Type == alerting.AlertingRule && hasLabels(labels, r.Labels) {
					r.Alerts = append(r.Alerts, alerting.Alert{Labels: labels, State: state, ActiveAt: since[of.String()]})
				}
			}
		}
	}
	return groups, nil
}

// hasLabels reports whether an alert has the labels of a rule that are no templates.
func hasLabels(alert, rule map[string]string) bool {
	for name, value := range rule {
		if alert[name] != value && !strings.Contains(value, "{{") {
			return false
		}
	}
	return true
}

// Fault is a state of a node that an alert is about, before the rules have found it.
type Fault struct {
	Alert, Node  string
	Since, Pages time.Time // zero: not known
}

// Of explains an alert or a family for one target: a node, a chain, an ID or any other label value. Without a target it explains all
// targets. faults are those that the rules may not have found yet. An UnknownError means that the name or the target does not exist.
func Of(ctx context.Context, source alerting.Source, jobs []*metric.Job, name, target string, now time.Time, faults ...Fault) (Explanation, error) {
	groups, err := source.Groups(ctx)
	if err != nil {
		return Explanation{}, err
	}
	e := newExplanation(ctx, source, groups, jobs, target, now)
	e.faults = faults
	return e.of(name)
}

func (e *explanation) of(name string) (Explanation, error) {
	e.readNames()
	rules := e.rules(name)
	var x Explanation
	switch {
	case len(rules) > 0 && rules[0].Type == alerting.AlertingRule:
		x = e.answer(rules)
		e.alert(rules)
	case len(rules) > 0:
		e.expression(name, "", "")
		for _, family := range append(alerting.ValueFamilies(e.groups, name), name) {
			e.samples(family)
		}
	default:
		if spec, f := collectors.Find(name); f != nil {
			e.family(spec, f)
			break
		}
		return Explanation{}, e.unknown(name)
	}
	if e.err == nil && e.target != "" && !e.found {
		e.err = UnknownError(fmt.Sprintf("no samples about %q: write a node, a chain or an ID as in /metrics", e.target))
	}
	x.Why = e.out.String()
	if x.State == "" { // of a family, the samples are the answer
		x.State, x.Why = strings.TrimSuffix(x.Why, "\n"), ""
	}
	return x, e.err
}

// explanation builds the text of one call of Of.
type explanation struct {
	ctx    context.Context
	source alerting.Source
	jobs   []*metric.Job
	groups []alerting.Group
	target string
	faults []Fault
	names  []string          // the target's names and IDs
	called map[string]string // names that the configuration gives, by ID or address
	now    time.Time
	asked  map[string]model.Vector // results of queries
	done   map[string]bool         // recorded series and families that are already printed
	out    strings.Builder
	found  bool // whether a sample is about the target
	err    error
}

func newExplanation(ctx context.Context, source alerting.Source, groups []alerting.Group, jobs []*metric.Job, target string, now time.Time) *explanation {
	return &explanation{ctx: ctx, source: source, jobs: jobs, groups: groups, target: target, now: now, asked: map[string]model.Vector{}, done: map[string]bool{},
		called: map[string]string{}}
}

func (e *explanation) printf(format string, args ...any) { fmt.Fprintf(&e.out, format, args...) }

// rules returns the rules of an alert or of a recorded series.
func (e *explanation) rules(name string) (found []alerting.Rule) {
	for _, g := range e.groups {
		for _, r := range g.Rules {
			if r.Name == name {
				found = append(found, r)
			}
		}
	}
	return found
}

func (e *explanation) query(expr string) model.Vector {
	if result, asked := e.asked[expr]; asked || e.err != nil {
		return result
	}
	vector, err := alerting.Vector(e.source.Query(e.ctx, expr, e.now))
	e.err = err
	slices.SortFunc(vector, func(a, b *model.Sample) int { return strings.Compare(a.Metric.String(), b.Metric.String()) })
	e.asked[expr] = vector
	return vector
}

// about returns the result of an expression about the target.
func (e *explanation) about(expr string) model.Vector {
	return slices.DeleteFunc(slices.Clone(e.query(expr)), func(s *model.Sample) bool { return !e.isAbout(s.Metric) })
}

// naming are families whose series have several names of one thing, and the labels with these names.
var naming = map[string][]model.LabelName{
	"avax_node_info": {"node", "node_id"}, "avax_chain_info": {"chain", "blockchain_id", "subnet_id"},
	"avax_l1_validator_info": {"node", "node_id", "chain", "subnet_id", "validation_id"},
	"avax_validator_labels":  {"name", "node_id", "validation_id"}, "avax_watch_labels": {"name", "address", "asset_id", "contract"},
}

// readNames finds the other names of the target: the node ID of a node, the IDs of a chain, the address that has a name.
func (e *explanation) readNames() {
	e.names = []string{e.target}
	for _, family := range slices.Sorted(maps.Keys(naming)) {
		for _, s := range e.query(family) {
			var ids []string
			for _, l := range naming[family] {
				if v := string(s.Metric[l]); v != "" {
					ids = append(ids, v)
				}
			}
			if name := string(cmp.Or(s.Metric["node"], s.Metric["name"])); name != "" {
				for _, id := range ids {
					e.called[id] = cmp.Or(e.called[id], name)
				}
			}
			if slices.Contains(ids, e.target) && (family != "avax_l1_validator_info" || e.target != string(s.Metric["chain"])) {
				e.names, e.found = append(e.names, ids...), true
			}
		}
	}
}

// notTarget are labels that do not say what a sample is about.
var notTarget = []model.LabelName{"__name__", "job", "instance", "pod", "alertname", "alert", "severity", "within", "needs", "scope"}

// isAbout reports whether a label is one of the target's names, or joins one and another name with a slash. A sample without a label that
// says what it is about is about every target.
func (e *explanation) isAbout(labels model.Metric) bool {
	general := true
	for name, v := range labels {
		is := func(name string) bool { return slices.Contains(e.names, name) }
		if e.target != "" && (is(string(v)) || slices.ContainsFunc(strings.Split(string(v), "/"), is)) {
			e.found = true
			return true
		}
		general = general && slices.Contains(notTarget, name)
	}
	return e.target == "" || general
}

func metricOf(labels map[string]string) model.Metric {
	m := model.Metric{}
	for name, v := range labels {
		m[model.LabelName(name)] = model.LabelValue(v)
	}
	return m
}

// alert prints each rule of an alert with the state of its alerts, then the samples that the rules read.
func (e *explanation) alert(rules []alerting.Rule) {
	for _, r := range rules {
		unit := unitOf(r)
		e.printf("%s, severity %s, fires after %s\n", r.Name+labelled("within", r.Labels), cmp.Or(r.Labels["severity"], "none"), model.Duration(r.For.Duration()))
		active := 0
		for _, a := range r.Alerts {
			labels := metricOf(a.Labels)
			if !e.isAbout(labels) {
				continue
			}
			if active++; active <= maxPrinted {
				e.printf("  %s (since %s): %s, value %s%s\n", e.since(r, a), a.ActiveAt.UTC().Format("2006-01-02 15:04:05 UTC"),
					cmp.Or(a.Annotations["summary"], r.Name), format(float64(a.Value), unit), subject(labels))
			}
		}
		e.rest(active, "alerts")
		if active == 0 {
			e.printf("  not firing\n")
		}
		e.expression(r.Query, unit, "  ")
	}
	e.printf("\n")
	for _, r := range rules {
		for _, name := range alerting.ValueFamilies(e.groups, r.Query) {
			e.samples(name)
		}
	}
	e.printf("\nRunbook: %s\n", rules[0].Annotations["runbook_url"])
}

func labelled(name string, labels map[string]string) string {
	if labels[name] == "" {
		return ""
	}
	return " " + name + " " + labels[name]
}

// expression prints an expression, whether each of its operands has a result about the target, the values and bounds of comparisons, and then
// the expressions of the recorded series from which its value is computed.
func (e *explanation) expression(query, unit, indent string) {
	parsed, err := alerting.Parser.ParseExpr(query)
	if err != nil || e.err != nil {
		return
	}
	operands := alerting.Operands(parsed)
	if len(operands) > 1 {
		e.printf("%s%s\n", indent, oneLine(parsed))
		indent += "  "
	}
	for _, o := range operands {
		state := "false"
		if len(e.about(o.String())) > 0 {
			state = "true"
		}
		e.printf("%s%-5s  %s\n", indent, state, strings.TrimSpace(o.Operator+" "+oneLine(o.Expr)))
		if c, ok := o.Expr.(*parser.BinaryExpr); ok && c.Op.IsComparisonOperator() {
			e.values("value", c.LHS, unit, indent+"       ")
			e.values("bound "+c.Op.String(), c.RHS, unit, indent+"       ")
		}
	}
	for _, name := range alerting.ValueNames(parsed) {
		recorded := e.rules(name)
		if len(recorded) == 0 || e.done["rule "+name] || strings.HasPrefix(name, thresholds) {
			continue
		}
		e.done["rule "+name] = true
		e.printf("%s%s is recorded from\n", indent, name)
		for _, r := range recorded {
			e.expression(r.Query, "", indent+"  ")
		}
	}
}

// values prints the results of an expression about the target.
func (e *explanation) values(what string, expr parser.Expr, unit, indent string) {
	values := e.about(expr.String())
	for _, v := range values[:min(len(values), maxPrinted)] {
		e.printf("%s%s %s%s\n", indent, what, format(float64(v.Value), unit), subject(v.Metric))
	}
	e.rest(len(values), "values")
}

// thresholds is the prefix of the series of thresholds. Their values are bounds.
const thresholds = "avax:threshold"

func (e *explanation) rest(n int, of string) {
	if n > maxPrinted {
		e.printf("  and %d more %s: add a target\n", n-maxPrinted, of)
	}
}

// samples prints the samples of a series about the target. It omits thresholds and ALERTS, because alert prints them.
func (e *explanation) samples(name string) {
	if e.done[name] || strings.HasPrefix(name, thresholds) || name == "ALERTS" {
		return
	}
	e.done[name] = true
	samples := e.about(name)
	for _, s := range samples[:min(len(samples), maxPrinted)] {
		labels := s.Metric.Clone()
		delete(labels, "job")
		delete(labels, "instance")
		unit := ""
		if strings.HasSuffix(name, "_timestamp_seconds") {
			unit = "Timestamp"
		}
		e.printf("%s %s\n", labels, format(float64(s.Value), unit))
	}
	if len(samples) == 0 {
		e.printf("%s has no samples here\n", name)
	}
	e.rest(len(samples), "samples")
}

// family prints the help, the samples and the collector of a family, with the failures of the collector.
func (e *explanation) family(spec *collector.Spec, f *metric.Family) {
	e.printf("%s\n", f.Help)
	e.samples(f.Name)
	if f.Formula != "" {
		e.printf("= %s\n", f.Formula)
		for _, name := range alerting.ValueFamilies(nil, f.Formula) {
			e.samples(name)
		}
	}
	e.printf("collector %s calls %s\n", spec.Name, strings.Join(spec.Calls, ", "))
	for _, j := range e.jobs {
		if j.Last.Collector == spec.Name && j.Last.Err != nil && e.isAbout(model.Metric{"target": model.LabelValue(j.Last.Target.String())}) {
			e.printf("the last run for %s failed: %s\n", j.Last.Target, j.Last.Err)
		}
	}
}

// unknown returns the error for an unknown name, with similar names.
func (e *explanation) unknown(name string) error {
	var known []string
	for _, g := range e.groups {
		for _, r := range g.Rules {
			known = append(known, r.Name)
		}
	}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			known = append(known, f.Name)
		}
	}
	slices.Sort(known)
	remedy := "avax-exporter rules prints the alerts, docs/metrics.md lists the families"
	if strings.Contains(string(alerts.Companion), "alert: "+name+"\n") {
		return UnknownError(name + " is not evaluated here: ask the Prometheus that evaluates companion.yml")
	}
	if near := spelling.Near(name, slices.Compact(known)); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return UnknownError(fmt.Sprintf("unknown alert or family %q: %s", name, remedy))
}

// subject returns the labels that say what a sample is about, after a space; empty if there are none.
func subject(labels model.Metric) string {
	labels = labels.Clone()
	maps.DeleteFunc(labels, func(name model.LabelName, _ model.LabelValue) bool { return slices.Contains(notTarget, name) })
	if len(labels) == 0 {
		return ""
	}
	return " " + labels.String()
}

func oneLine(expr parser.Expr) string { return strings.Join(strings.Fields(expr.String()), " ") }

// inUnit finds how the texts of an alert format its value. A value that the texts only test has no unit.
var inUnit = regexp.MustCompile(`\$value \| humanize(Duration|Percentage|Timestamp)`)

func unitOf(r alerting.Rule) string {
	text := r.Annotations["summary"] + r.Annotations["description"]
	if m := inUnit.FindStringSubmatch(text); m != nil && !strings.Contains(text, "if $value") {
		return m[1]
	}
	return ""
}

func format(v float64, unit string) string {
	switch {
	case unit == "Duration" && math.Abs(v) < 9e9:
		return words.Seconds(v)
	case unit == "Percentage":
		return strconv.FormatFloat(math.Round(v*1e4)/100, 'f', -1, 64) + " %"
	case unit == "Timestamp" && v > 0 && v < 1e11:
		return time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04 UTC")
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}
