// Package explain tells where a number or an alert comes from: the samples
// behind it, its formula with the numbers put in, the calls that were made for
// them, and the runbook. It reads a page of /metrics and asks nobody.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// most is how many samples of a family are shown before the rest is counted.
const most = 10

// few is how many numbers may stand in the place of one name.
const few = 4

// Name writes what is behind an alert of the built-in rules or a family, for
// one target: a node, a chain, an ID or any other value of a label. Without a
// target it is told for all. The error names what is not known, and what is.
func Name(w io.Writer, page *Page, name, target string) error {
	e := explanation{w: w, page: page, rules: builtIn(), near: page.alike(target), target: target}
	if target != "" && !page.knows(e.isNear) {
		return fmt.Errorf("nothing that the exporter serves is about %q: name a node, a chain or an ID as /metrics spells it", target)
	}
	if alerts := e.rules.alerts(name); len(alerts) > 0 {
		e.explainAlert(alerts)
		return e.err
	}
	if f, _ := declaration(name); f != nil || len(page.samples[name]) > 0 {
		e.explainFamilies([]string{name})
		return e.err
	}
	if near := e.rules.like(name); len(near) > 0 {
		return fmt.Errorf("there is no alert and no family %q; near it are %s", name, strings.Join(near, ", "))
	}
	return fmt.Errorf("there is no alert and no family %q: avax-exporter rules prints the alerts, docs/metrics.md lists the families", name)
}

// explanation is one answer on its way to the terminal.
type explanation struct {
	w      io.Writer
	page   *Page
	rules  ruleSet
	target string
	// near are the label values that stand for the target, nil for any.
	near map[string]bool
	err  error
}

func (e *explanation) printf(format string, args ...any) {
	_, err := fmt.Fprintf(e.w, format, args...)
	e.err = cmp.Or(e.err, err)
}

// explainAlert tells of all rules of one alert, then of the families they read.
func (e *explanation) explainAlert(alerts []rule) {
	var read []string
	for _, r := range alerts {
		held := "at once when this holds"
		if r.For != "" {
			held = "when this has held for " + r.For
		}
		whose := ""
		if r.companion {
			whose = "of companion.yml, which a Prometheus evaluates, "
		}
		e.printf("%s (%s) %sfires %s:\n\n%s\n", r.Alert, r.Labels["severity"], whose, held, indent(r.Expr))
		if filled := e.fill(r.Expr); filled != strings.TrimSpace(r.Expr) {
			e.printf("\nwith the numbers of %s put in:\n\n%s\n", e.subject(), indent(filled))
		}
		e.printf("\n")
		for _, name := range e.rules.reads(r.Expr) {
			if !slices.Contains(read, name) {
				read = append(read, name)
			}
		}
	}
	var families []string
	for _, name := range read {
		switch recorded := e.rules.records(name); {
		case name == threshold:
		case len(recorded) > 0:
			e.printf("%s is recorded:\n\n%s\n\n", name, indent(recorded[0].Expr))
		default:
			families = append(families, name)
		}
	}
	e.explainFamilies(families)
	e.printf("runbook: %s\n", alerts[0].Annotations["runbook_url"])
}

// explainFamilies tells of each family: what it means, its samples with their
// formula, and the calls behind them.
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
		fitting := e.fitting(name, "")
		for i, sample := range fitting {
			if i == most {
				e.printf("    and %d more; name a narrower target to see them\n", len(fitting)-most)
				break
			}
			e.printf("    %s\n", sample)
			if f != nil && f.Formula != "" {
				e.printf("      = %s\n", e.fillFor(f.Formula, sample))
			}
		}
		switch whose := ofOthers(name); {
		case whose != "":
			e.printf("    %s: not served here, ask Prometheus\n", whose)
		case len(fitting) == 0:
			e.printf("    absent for %s\n", e.subject())
		}
		if s != nil {
			e.printf("    asked by collector %s: %s\n", s.Name, strings.Join(s.Calls, ", "))
			e.explainRuns(s)
		}
		e.printf("\n")
	}
}

// explainRuns tells how the collector's last runs went, for the target where
// some run is about it, else for all.
func (e *explanation) explainRuns(s *collectors.Spec) {
	runs := slices.DeleteFunc(slices.Clone(e.page.samples[success]), func(x Sample) bool { return x.Labels["collector"] != s.Name })
	if about := slices.DeleteFunc(slices.Clone(runs), func(x Sample) bool { return !e.isNear(x.Labels) }); len(about) > 0 {
		runs = about
	}
	if len(runs) == 0 {
		e.printf("    it has not run yet, or is not switched on\n")
	}
	for i, run := range runs {
		if i == most {
			e.printf("    and %d more runs\n", len(runs)-most)
			break
		}
		verdict := "the last run succeeded"
		if run.Value == 0 {
			verdict = "the last run FAILED, see the status page or the log for why"
		}
		last := "never a good answer"
		for _, x := range e.page.samples[lastSuccess] {
			if x.Labels["collector"] == s.Name && x.Labels["target"] == run.Labels["target"] {
				last = "good answer " + e.page.At.Sub(time.Unix(int64(x.Value), 0)).Round(time.Second).String() + " ago"
			}
		}
		e.printf("    about %s: %s; %s\n", run.Labels["target"], verdict, last)
	}
}

const (
	success     = "avax_exporter_collector_success"
	lastSuccess = "avax_exporter_collector_last_success_timestamp_seconds"
	threshold   = "avax:threshold"
)

func (e *explanation) subject() string { return cmp.Or(e.target, "any target") }

// fitting returns the family's samples that the matchers take and that are of
// the target, or, where none names the target, all that do not speak of another
// one of its kind.
func (e *explanation) fitting(name, matchers string) []Sample {
	taken := slices.DeleteFunc(slices.Clone(e.page.samples[name]), func(s Sample) bool { return !matches(matchers, s.Labels) })
	return slices.DeleteFunc(taken, func(s Sample) bool { return !e.isNear(s.Labels) })
}

// isNear tells whether some label stands for the target. A target of two parts
// reads node/chain, as avax_exporter_collector_success has it. What has no
// labels is about everything.
func (e *explanation) isNear(labels map[string]string) bool {
	if e.target == "" || len(labels) == 0 {
		return true
	}
	for _, v := range labels {
		if e.near[v] {
			return true
		}
		for part := range strings.SplitSeq(v, "/") {
			if e.near[part] {
				return true
			}
		}
	}
	return false
}

// fill puts numbers into an expression, where a selector has exactly one sample
// that is the target's, or is a threshold.
func (e *explanation) fill(expr string) string {
	return replaceSelectors(expr, func(s selector) string {
		if s.name == threshold {
			for _, r := range e.rules.records(threshold) {
				if matches(s.matchers, r.Labels) {
					return strings.TrimSuffix(strings.TrimPrefix(r.Expr, "vector("), ")")
				}
			}
		}
		if found := e.fitting(s.name, s.matchers); len(found) == 1 && !s.ranged {
			return found[0].number()
		}
		return s.text
	})
}

// fillFor puts numbers into a family's formula: of each family in it the sample
// that agrees with this one in all labels that both have, or the few samples.
func (e *explanation) fillFor(formula string, of Sample) string {
	formula = strings.ReplaceAll(formula, "time()", number(float64(e.page.At.UnixMilli())/1e3))
	return replaceSelectors(formula, func(s selector) string {
		agree := slices.DeleteFunc(slices.Clone(e.page.samples[s.name]), func(x Sample) bool {
			for l, v := range x.Labels {
				if other, both := of.Labels[l]; both && other != v {
					return true
				}
			}
			return !matches(s.matchers, x.Labels)
		})
		if len(agree) == 0 || len(agree) > few || s.ranged {
			return s.text
		}
		var numbers []string
		for _, x := range agree {
			numbers = append(numbers, x.number())
		}
		return strings.Join(numbers, ", ")
	})
}

// ofOthers says whose a family is that is not the exporter's own, and is empty
// for one that is.
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
		return "of Prometheus, which makes it of each scrape"
	}
	return ""
}

// declaration finds the family and the collector that emits it; nil for what
// the exporter tells of itself.
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

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// errEmpty says that a page is none of an exporter's.
var errEmpty = errors.New("no sample of avax_… is on the page: is it the exporter's /metrics?")
