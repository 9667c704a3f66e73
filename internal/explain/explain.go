// Package explain explains why an alert fires or does not fire, and how a value is computed. It prints the value and its
// threshold, the formula with numbers, the samples, the calls that they come from, messages of the node, and the runbook.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
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
)

// maxPrinted is the maximum number of samples, alerts or runs that are printed. Further ones are only counted.
const maxPrinted = 10

// maxReplaced is the maximum number of values that can replace a name in a formula.
const maxReplaced = 4

// Exporter is the source of an explanation: the query source of the running exporter, and facts that are not samples.
// A Prometheus does not have such facts.
type Exporter struct {
	alerting.Source
	Jobs   []Job
	Tables []Table
}

// Job is the last run of a collector for one target.
type Job struct {
	Collector, Target string
	Err               string // empty after success
}

// Table is a table of a collector, such as the error texts of a node's failing health checks.
type Table struct {
	Collector, Target, About string
	Rows                     [][]string
}

// Name explains an alert or a family for one target. A target is a node, a chain, an ID or any other label value. Without a
// target Name explains all targets. An UnknownError means that the name or the target does not exist.
func Name(ctx context.Context, w io.Writer, from Exporter, name, target string, now time.Time) error {
	e := &explanation{ctx: ctx, w: w, from: from, target: target, now: now, cache: map[string]model.Vector{}, reading: map[string]bool{}}
	groups, err := from.Groups(ctx)
	if err != nil {
		return err
	}
	e.groups = groups
	if err := e.readKin(); err != nil {
		return err
	}
	alerts := e.rules(func(r alerting.Rule) bool { return r.Alerting && r.Name == name })
	f, _ := declaration(name)
	switch {
	case len(alerts) > 0:
		e.explainAlert(name, alerts)
	case f != nil || len(e.query(name)) > 0:
		e.explainFamilies([]string{name})
	default:
		if r := shipped(name); r != nil {
			e.explainElsewhere(*r)
			break
		}
		return e.unknown(name)
	}
	if e.err == nil && target != "" && !e.found {
		return UnknownError(fmt.Sprintf("no samples about %q: write a node, a chain or an ID as in /metrics", target))
	}
	if e.err == nil {
		_, e.err = io.WriteString(w, e.out.String())
	}
	return e.err
}

// UnknownError is the error for an unknown name or target, with similar names.
type UnknownError string

func (u UnknownError) Error() string { return string(u) }

func (e *explanation) unknown(name string) error {
	if near := like(name, e.groups); len(near) > 0 {
		return UnknownError(fmt.Sprintf("unknown alert or family %q: did you mean %s?", name, strings.Join(near, ", ")))
	}
	return UnknownError(fmt.Sprintf("unknown alert or family %q: avax-exporter rules prints the alerts, docs/metrics.md lists the families", name))
}

// explanation builds the output of one call of Name.
type explanation struct {
	ctx    context.Context
	w      io.Writer
	from   Exporter
	groups []alerting.Group
	target string
	near   map[string]bool // names and IDs of the target
	now    time.Time
	cache  map[string]model.Vector
	// reading holds the names of the recorded series that are being expanded.
	reading map[string]bool
	out     strings.Builder
	found   bool // whether a sample matched the target
	err     error
}

func (e *explanation) printf(format string, args ...any) { fmt.Fprintf(&e.out, format, args...) }

func (e *explanation) rules(such func(alerting.Rule) bool) (found []alerting.Rule) {
	for _, g := range e.groups {
		for _, r := range g.Rules {
			if such(r) {
				found = append(found, r)
			}
		}
	}
	return found
}

// recorded returns the recording rules of a series name.
func (e *explanation) recorded(name string) []alerting.Rule {
	return e.rules(func(r alerting.Rule) bool { return !r.Alerting && r.Name == name })
}

// query runs a query against the source.
func (e *explanation) query(expr string) model.Vector {
	vector, asked := e.cache[expr]
	if !asked && e.err == nil {
		vector, e.err = e.from.Query(e.ctx, expr, e.now)
		slices.SortFunc(vector, func(a, b *model.Sample) int { return strings.Compare(a.Metric.String(), b.Metric.String()) })
		e.cache[expr] = vector
	}
	return vector
}

// readKin finds the other names of the target: the node ID of a node, the IDs of a chain.
func (e *explanation) readKin() error {
	e.near = map[string]bool{e.target: true}
	if e.target == "" {
		return nil
	}
	for _, info := range []struct {
		family string
		labels []model.LabelName
	}{
		{"avax_node_info", []model.LabelName{"node", "node_id"}},
		{"avax_chain_info", []model.LabelName{"chain", "blockchain_id", "subnet_id"}},
		{"avax_l1_validator_info", []model.LabelName{"node_id", "validation_id"}},
	} {
		for _, s := range e.query(info.family) {
			for _, l := range info.labels {
				if string(s.Metric[l]) != e.target {
					continue
				}
				e.found = true
				for _, other := range info.labels {
					e.near[string(s.Metric[other])] = true
				}
			}
		}
	}
	return e.err
}

// general lists the labels that do not identify the subject of a sample.
var general = map[model.LabelName]bool{model.MetricNameLabel: true, "job": true, "instance": true, "alert": true, "severity": true, "within": true, "needs": true}

// isNear reports whether a label matches the target. A target may have two parts, node/chain, as in
// avax_exporter_collector_success. A sample without labels matches every target.
func (e *explanation) isNear(labels model.Metric) bool {
	if e.target == "" {
		return true
	}
	particular := false
	for name, v := range labels {
		if e.near[string(v)] {
			e.found = true
			return true
		}
		for part := range strings.SplitSeq(string(v), "/") {
			if e.near[part] {
				e.found = true
				return true
			}
		}
		particular = particular || !general[name]
	}
	return !particular
}

// fitting returns the samples of an expression that match the target.
func (e *explanation) fitting(expr string) model.Vector {
	return slices.DeleteFunc(slices.Clone(e.query(expr)), func(s *model.Sample) bool { return !e.isNear(s.Metric) })
}

// explainAlert prints the answer, then all rules of the alert and their inputs.
func (e *explanation) explainAlert(name string, alerts []alerting.Rule) {
	e.printf("%s\n", e.answer(name, alerts))
	var read []string
	for _, r := range alerts {
		held := "at once"
		if r.For > 0 {
			held = "after " + model.Duration(r.For).String()
		}
		e.printf("\n%s, fires %s:\n", cmp.Or(r.Labels["severity"], "no severity"), held)
		e.explainFormula(r.Query)
		for _, series := range e.selectors(r.Query) {
			if !slices.Contains(read, series) {
				read = append(read, series)
			}
		}
	}
	var families []string
	for _, series := range read {
		recorded := e.recorded(series)
		if len(recorded) == 0 {
			families = append(families, series)
			continue
		}
		if len(recorded) > maxReplaced {
			continue // thresholds: the formulas already contain their numbers
		}
		for _, r := range recorded {
			e.printf("\n%s is recorded from:\n", series)
			e.explainFormula(r.Query)
		}
	}
	e.printf("\n")
	e.explainFamilies(families)
	if link := alerts[0].Annotations["runbook_url"]; link != "" {
		e.printf("Runbook: %s\n", link)
	}
}

// answer returns a text: whether the alert fires for the target, and its value compared with the threshold.
func (e *explanation) answer(name string, alerts []alerting.Rule) string {
	var lines []string
	count := 0
	for _, r := range alerts {
		for _, a := range r.Alerts {
			labels := model.Metric{}
			for l, v := range a.Labels {
				labels[model.LabelName(l)] = model.LabelValue(v)
			}
			if !e.isNear(labels) {
				continue
			}
			if count++; count > maxPrinted {
				continue
			}
			state := "firing"
			if a.State == alerting.Pending {
				state = "pending, fires in " + span(a.ActiveAt.Add(r.For).Sub(e.now))
			}
			text := fmt.Sprintf("%s for %s: %s (%s), active since %s (%s)", name, subjectOf(a.Labels), state, a.Labels["severity"],
				a.ActiveAt.UTC().Format("2006-01-02 15:04:05 UTC"), span(e.now.Sub(a.ActiveAt)))
			if why := e.compared(r, labels, true); why != "" {
				text += ": " + why
			}
			lines = append(lines, text+".")
		}
	}
	switch {
	case count > maxPrinted:
		lines = append(lines, fmt.Sprintf("and %d more; add a target to see them", count-maxPrinted))
	case count > 0:
	default:
		text := name + ": not firing"
		if e.target != "" {
			text = name + " for " + e.target + ": not firing"
		}
		if why := e.whyNot(alerts); why != "" {
			text += ": " + why
		}
		lines = append(lines, text+".")
	}
	return strings.Join(lines, "\n")
}

// subjectOf returns the subject of an alert: the values of its labels except the scrape's labels and the severity.
func subjectOf(labels map[string]string) string {
	var parts []string
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		if l != "alertname" && l != "within" && !general[model.LabelName(l)] {
			parts = append(parts, labels[l])
		}
	}
	return cmp.Or(strings.Join(parts, ", "), labels["instance"])
}

// compared compares the value of an active alert with its threshold.
func (e *explanation) compared(r alerting.Rule, labels model.Metric, holds bool) string {
	parsed, err := promQL.ParseExpr(r.Query)
	if err != nil {
		return ""
	}
	for _, c := range e.conditions(parsed) {
		for _, s := range e.query(c.left.String()) {
			if !agrees(s.Metric, labels) {
				continue
			}
			if bar, has := e.bar(c, s.Metric); has && c.holds(float64(s.Value), bar) == holds {
				return e.sentence(c, float64(s.Value), bar)
			}
		}
	}
	return ""
}

// agrees reports whether two label sets have equal values for every label that both have.
func agrees(a, b model.Metric) bool {
	for name, v := range a {
		if other, both := b[name]; both && name != model.MetricNameLabel && other != v {
			return false
		}
	}
	return true
}

// bar returns the value of the right side of a comparison, for one sample of the left side.
func (e *explanation) bar(c condition, of model.Metric) (float64, bool) {
	found := slices.DeleteFunc(slices.Clone(e.query(c.right.String())), func(s *model.Sample) bool { return !agrees(s.Metric, of) })
	if len(found) != 1 || math.IsNaN(float64(found[0].Value)) {
		return 0, false
	}
	return float64(found[0].Value), true
}

// whyNot returns a sentence about a false condition for the target. Of all false conditions in the rules of the alert, it is
// the one closest to its threshold.
func (e *explanation) whyNot(alerts []alerting.Rule) string {
	best, text, all, silent := math.Inf(1), "", true, ""
	for _, r := range alerts {
		parsed, err := promQL.ParseExpr(r.Query)
		if err != nil {
			continue
		}
		for _, c := range e.conditions(parsed) {
			samples, leftOut := e.fitting(c.left.String()), ""
			if whole := e.unfiltered(c.left); len(samples) == 0 && whole != c.left {
				if samples = e.fitting(whole.String()); len(samples) > 0 {
					c.left, leftOut = whole, ", and "+c.left.String()+" excludes it"
				}
			}
			if len(samples) == 0 && silent == "" {
				silent = c.left.String()
			}
			for _, s := range samples {
				bar, has := e.bar(c, s.Metric)
				holds := c.holds(float64(s.Value), bar)
				if !has || holds && leftOut == "" {
					continue
				}
				all = false
				sentence, far := e.sentence(c, float64(s.Value), bar), math.Abs(float64(s.Value)-bar)/max(math.Abs(bar), 1e-9)
				if holds {
					sentence, far = sentence+leftOut, math.MaxFloat64
				}
				if far < best {
					best, text = far, sentence
				}
			}
		}
	}
	switch {
	case text != "":
		return text
	case silent != "":
		return "no sample of " + silent + " about " + cmp.Or(e.target, "any target")
	case all && len(alerts) > 0:
		return "the result of its expression is empty, see below"
	}
	return ""
}

func (c condition) holds(value, bar float64) bool {
	switch c.op {
	case parser.LSS:
		return value < bar
	case parser.LTE:
		return value <= bar
	case parser.GTR:
		return value > bar
	case parser.GTE:
		return value >= bar
	case parser.EQLC:
		return value == bar
	case parser.NEQ:
		return value != bar
	}
	return false
}

// sentence compares a value with its threshold, in the unit of the value.
func (e *explanation) sentence(c condition, value, bar float64) string {
	u := e.unitOf(c.left)
	v, b := e.written(value, u), e.written(bar, u)
	switch {
	case c.op == parser.EQLC && value == bar, c.op == parser.NEQ && value != bar:
		return fmt.Sprintf("%s is %s", c.left, v)
	case c.op == parser.EQLC:
		return fmt.Sprintf("%s is %s, the alert fires at %s", c.left, v, b)
	}
	than := "equal to"
	if value < bar {
		than = "below"
	} else if value > bar {
		than = "above"
	}
	if what := c.left.String(); u == plain && len(what) <= 80 {
		return fmt.Sprintf("%s is %s, %s %s", what, v, than, b)
	}
	return fmt.Sprintf("%s is %s %s", v, than, b)
}

// written formats a value with its unit.
func (e *explanation) written(v float64, u unit) string {
	switch u {
	case ratio:
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(math.Round(v*1e4)/100, 'f', 2, 64), "0"), ".") + " %"
	case seconds:
		return span(time.Duration(max(min(v, 9e9), -9e9) * float64(time.Second)))
	case timestamp:
		return time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04:05 UTC")
	case avax:
		return number(v) + " AVAX"
	}
	return number(v)
}

// explainFormula prints an expression, then the same expression with numbers.
func (e *explanation) explainFormula(query string) {
	pretty, numbers := filled(query, func(selector string) (string, bool) {
		if found := e.fitting(selector); len(found) == 1 {
			return number(float64(found[0].Value)), true
		}
		return "", false
	})
	e.printf("%s\n", indent(folded(pretty)))
	if numbers != pretty {
		e.printf("  with the numbers of %s:\n%s\n", cmp.Or(e.target, "the only samples"), indent(folded(numbers)))
	}
}

// explainFamilies prints for each family its help, its samples with their formula, and the calls that collect them.
func (e *explanation) explainFamilies(names []string) {
	for _, name := range names {
		f, s := declaration(name)
		e.printf("%s\n", name)
		if f != nil {
			e.printf("    %s\n", f.Help)
			if f.Formula != "" {
				e.printf("    = %s\n", f.Formula)
			}
		}
		samples, whose := e.fitting(name), ofOthers(name)
		if whose != "" {
			samples = nil // not samples of that program: for example, this up is about the exporter itself
		}
		for i, sample := range samples {
			if i == maxPrinted {
				e.printf("    and %d more; use a narrower target to see them\n", len(samples)-maxPrinted)
				break
			}
			e.printf("    %s\n", e.line(sample))
			if f != nil && f.Formula != "" {
				_, numbers := filled(f.Formula, func(selector string) (string, bool) { return e.agreeing(selector, sample.Metric) })
				e.printf("      = %s\n", strings.Join(strings.Fields(numbers), " "))
			}
		}
		switch {
		case len(samples) > 0:
		case whose != "":
			e.printf("    %s: not served here; query Prometheus\n", whose)
		default:
			e.printf("    absent for %s\n", cmp.Or(e.target, "any target"))
		}
		if s != nil {
			e.explainRuns(s)
		}
		e.printf("\n")
	}
}

// agreeing returns the values of the samples whose labels agree with labels. It returns false if there is no value, or if there
// are more than maxReplaced values.
func (e *explanation) agreeing(selector string, labels model.Metric) (string, bool) {
	var numbers []string
	for _, s := range e.query(selector) {
		if agrees(s.Metric, labels) {
			numbers = append(numbers, number(float64(s.Value)))
		}
	}
	return strings.Join(numbers, ", "), len(numbers) > 0 && len(numbers) <= maxReplaced
}

// explainRuns prints a collector's calls, the age of its last answer, its failures and the messages of the node.
func (e *explanation) explainRuns(s *collectors.Spec) {
	e.printf("    collector %s calls %s\n", s.Name, strings.Join(s.Calls, ", "))
	success := e.query(`avax_exporter_collector_success{collector="` + s.Name + `"}`)
	runs := slices.DeleteFunc(slices.Clone(success), func(x *model.Sample) bool { return !e.isNear(x.Metric) })
	if len(runs) == 0 {
		runs = success
	}
	if len(runs) == 0 {
		e.printf("    the collector has not run yet, or is disabled\n")
	}
	answers := e.query(`avax_exporter_collector_last_success_timestamp_seconds{collector="` + s.Name + `"}`)
	for i, run := range runs {
		if i == maxPrinted {
			e.printf("    and %d more runs\n", len(runs)-maxPrinted)
			break
		}
		target := string(run.Metric["target"])
		last := "no answer since the exporter started"
		for _, x := range answers {
			if x.Metric["target"] == run.Metric["target"] {
				last = "last answer " + span(e.now.Sub(time.Unix(0, int64(float64(x.Value)*1e9)))) + " ago"
			}
		}
		e.printf("    %s: %s\n", target, last)
		for _, job := range e.from.Jobs {
			if job.Collector == s.Name && job.Target == target && job.Err != "" {
				e.printf("      the last run failed: %s\n", job.Err)
			}
		}
		for _, words := range e.from.Tables {
			if words.Collector == s.Name && words.Target == target {
				e.printf("      %s\n", words.About)
				for _, row := range words.Rows[:min(len(words.Rows), maxPrinted)] {
					e.printf("        %s\n", strings.Join(row, ": "))
				}
			}
		}
	}
}

// line formats a sample as in the text format, without the scrape's labels. Times and long durations are formatted for people.
func (e *explanation) line(s *model.Sample) string {
	labels := s.Metric.Clone()
	delete(labels, "job")
	delete(labels, "instance")
	name := string(labels[model.MetricNameLabel])
	text := labels.String() + " " + number(float64(s.Value))
	u := e.unitOf(&parser.VectorSelector{Name: name})
	if u == timestamp && s.Value > 0 && s.Value < 1e11 || u == seconds && math.Abs(float64(s.Value)) >= 120 && math.Abs(float64(s.Value)) < 9e9 {
		text += " (" + e.written(float64(s.Value), u) + ")"
	}
	return text
}

// explainElsewhere explains a shipped rule that this exporter does not evaluate.
func (e *explanation) explainElsewhere(r shippedRule) {
	e.found = true
	where := "is in the shipped rules.yml, but not in the rules file of this exporter"
	if r.companion {
		where = "is in companion.yml, which a Prometheus evaluates: its state is unknown here"
	}
	e.printf("%s %s.\n\n%s, fires after %s:\n", r.Alert, where, r.Labels["severity"], cmp.Or(r.For, "0s"))
	pretty, _ := filled(r.Expr, func(string) (string, bool) { return "", false })
	e.printf("%s\n\n", indent(pretty))
	e.explainFamilies(slices.DeleteFunc(e.selectors(r.Expr), func(name string) bool { return strings.Contains(name, ":") }))
	e.printf("Runbook: %s\n", r.Annotations["runbook_url"])
}

// ofOthers describes where a family of another program comes from. It returns an empty string for the exporter's own families.
func ofOthers(name string) string {
	for prefix, whose := range map[string]string{
		"avalanche_": "of the node's own /ext/metrics",
		"node_":      "of node_exporter on the node's host",
		"app_":       "of the ICM relayer's /metrics",
	} {
		if strings.HasPrefix(name, prefix) {
			return whose
		}
	}
	if name == "up" {
		return "of Prometheus, which adds it to each scrape"
	}
	return ""
}

// declaration returns a family and its collector. It returns nil for metrics about the exporter itself.
func declaration(name string) (*metric.Family, *collectors.Spec) {
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			if f.Name == name {
				return f, s
			}
		}
	}
	return nil, nil
}

// folded puts an expression into one line if the line is short enough.
func folded(expr string) string {
	if line := strings.Join(strings.Fields(expr), " "); len(line) <= 110 {
		return line
	}
	return expr
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// number formats a value. It uses an exponent only for very large and very small values.
func number(v float64) string {
	if a := math.Abs(v); a >= 1e-4 && a < 1e15 || a == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// span formats a duration.
func span(d time.Duration) string {
	if days := d / (24 * time.Hour); days != 0 {
		return fmt.Sprintf("%dd%dh", days, int((d % (24 * time.Hour)).Abs().Hours()))
	}
	return d.Round(time.Second).String()
}
