package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Check runs every collector once. It prints first what needs a person, then one line about all that is well, or with all a list of it. Its error
// contains the number of findings.
func Check(ctx context.Context, cfg *config.Config, out io.Writer, all bool) error {
	registry := prometheus.NewRegistry()
	t, err := newTargets(cfg, nil, scrape.NewMetrics(registry))
	if err != nil {
		return config.InputError{Err: err}
	}
	ups := t.ups
	ctx = scrape.MaxAge(ctx, time.Minute) // send identical calls of several collectors once
	var undiscovered error
	if cfg.Chains.Auto {
		var chains []nodes.Chain
		chains, undiscovered = ups.Discover(ctx, ups.Chains())
		ups.SetChains(chains)
	}
	spent, err := t.budget()
	if err != nil {
		return config.InputError{Err: err}
	}
	if err := spent.exceeded(); err != nil {
		return errors.Join(spent.print(out), config.InputError{Err: err})
	}
	planned := t.jobs()
	asked := &trial{cfg: cfg, upstreams: cfg.Upstreams, targets: t}
	jobs := make([]*metric.Job, len(planned))
	var running sync.WaitGroup
	running.Go(func() { asked.ask(ctx) })
	for i, j := range planned {
		running.Go(func() { jobs[i] = runOnce(ctx, j) })
	}
	running.Wait()
	if asked.invalid != nil {
		return config.InputError{Err: asked.invalid}
	}
	jobs = append(jobs, asked.passed...)

	found := append(status.Findings(jobs), asked.failures...)
	about, failures := status.Check(jobs, nodes.Names(ups.Nodes()))
	failed, series := 0, 0
	for _, j := range jobs {
		series += samples(j)
		if r := j.Last; r.Err != nil && !errors.Is(r.Err, metric.ErrNotOffered) {
			failed++
		}
	}
	rules, checked := "", alerting.RulesSummary{}
	if cfg.Alerting.On {
		if checked, err = alerting.CheckRules(cfg.Alerting); err != nil {
			return config.InputError{Err: err}
		}
		rules = plural(checked.Alerts, "alert rule") + " of " + checked.Name
	}
	for _, f := range failures {
		fmt.Fprintf(out, "FAILS  %s: %v\n", f.Title(), f.Err)
		if advice := f.Advice(); advice != "" {
			fmt.Fprintf(out, "       %s\n", advice)
		}
	}
	found = append(found, expiring(registry, time.Now())...)
	if ups.IsEmpty() && !cfg.OnlyData {
		found = append(found, status.Finding{About: "nodes", Text: nodes.NoNode, Do: "Add nodes to AVAX_NODES_FILE."})
	}
	for _, f := range found {
		fmt.Fprintf(out, "FAILS  %s: %s\n       %s\n", f.About, f.Text, f.Do)
	}
	if undiscovered != nil && len(failures) == 0 && !ups.IsEmpty() { // else they say why
		fmt.Fprintf(out, "WARNS  AVAX_CHAINS: not all chains of the nodes are known: %v\n", undiscovered)
	}
	fmt.Fprint(out, rulesCost(cfg, series))
	for _, f := range asked.warnings {
		fmt.Fprintf(out, "WARNS  %s: %s\n       %s\n", f.About, f.Text, f.Do)
	}
	passed := plural(len(jobs)-failed, "check") + " passed"
	switch without := withoutData(jobs); {
	case failed == len(jobs):
	case failed > 0:
		fmt.Fprintf(out, "ok     %s\n", sum(passed, rules, all))
	case len(without) > 0 && !ups.IsEmpty():
		fmt.Fprintf(out, "%s, without data of %s: no node or observer offers it. Enable its API on a node, or add a node that does.\n",
			passed, strings.Join(without, ", "))
	case len(found) > 0:
		fmt.Fprintf(out, "ok     all %s\n", sum(passed, rules, all))
	default:
		fmt.Fprintf(out, "all %s\n", sum(passed, rules, all))
	}
	if all && failed < len(jobs) {
		if err := listWell(out, jobs, checked); err != nil {
			return err
		}
	}
	for _, line := range slices.Concat(about, t.others(ctx, jobs), asked.facts) {
		fmt.Fprintln(out, line)
	}
	if err := spent.print(out); err != nil {
		return err
	}
	switch {
	case failed > 0 && len(found) > 0:
		return fmt.Errorf("%d of %d checks fail, for %s; %s", failed, len(jobs), plural(len(failures), "cause"), plural(len(found), "finding"))
	case failed > 0:
		return fmt.Errorf("%d of %d checks fail, for %s", failed, len(jobs), plural(len(failures), "cause"))
	case len(found) > 0:
		return errors.New(plural(len(found), "finding"))
	}
	return nil
}

// listWell prints a line about each check that passed.
func listWell(out io.Writer, jobs []*metric.Job, rules alerting.RulesSummary) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, j := range jobs {
		if r := j.Last; r.Err == nil || errors.Is(r.Err, metric.ErrNotOffered) {
			fmt.Fprintf(table, "ok\t%s\t%s\t%s\n", r.Collector, r.Target, verdict(j))
		}
	}
	if rules.Name != "" {
		fmt.Fprintf(table, "ok\trules\t%s\t%s, %s\n", rules.Name, plural(rules.Alerts, "alert"), plural(rules.Recording, "recording rule"))
	}
	return table.Flush()
}

// sum returns the line about all that is well.
func sum(passed, rules string, listed bool) string {
	text := passed
	if rules != "" {
		text += ", and " + rules
	}
	if !listed {
		text += " (-v lists them)"
	}
	return text
}

// expiresSoon is the time before the expiry of a certificate from which on it is a finding, as for AvaxCertificateExpires.
const expiresSoon = 14 * day

// expiring returns the certificates of upstreams that expire soon.
func expiring(g prometheus.Gatherer, now time.Time) (found []status.Finding) {
	families, err := g.Gather()
	if err != nil {
		return nil
	}
	for _, f := range families {
		if f.GetName() != "avax_exporter_upstream_certificate_expiry_timestamp_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if left := words.UnixTime(m.GetGauge().GetValue()).Sub(now); left < expiresSoon {
				found = append(found, status.Finding{About: m.GetLabel()[0].GetValue(), Text: "TLS certificate expires in " + words.Span(left),
					Do: "Renew the certificate, and reload the program that serves it."})
			}
		}
	}
	return found
}

// runOnce runs a job within its time limit.
func runOnce(ctx context.Context, j schedule.Job) *metric.Job {
	ctx, cancel := context.WithTimeout(ctx, schedule.Deadline(j.When, time.Now()))
	defer cancel()
	batch := metric.NewBatch(j.Families)
	err := j.Collect(ctx, batch)
	return newJob(metric.Run{Key: j.Key, Chunks: batch.Chunks(), Tables: batch.Tables(), Notes: batch.Notes(), Err: cmp.Or(err, batch.Err())})
}

// tried returns the check of a connection as a job without samples.
func tried(check, name, verdict string, err error) *metric.Job {
	return newJob(metric.Run{Key: metric.Key{Collector: check, Target: metric.Target{Node: name}}, Notes: []string{verdict}, Err: err})
}

func newJob(r metric.Run) *metric.Job {
	r.Until = time.Now() // not the zero time: that of status.Check
	j := &metric.Job{Last: r}
	j.Good = &j.Last
	return j
}

func samples(j *metric.Job) (n int) {
	for _, chunk := range j.Last.Chunks {
		n += len(chunk.Samples)
	}
	return n
}

// verdict says what a successful run found.
func verdict(j *metric.Job) string {
	var parts []string
	if n := samples(j); n > 0 {
		parts = append(parts, plural(n, "sample"))
	}
	if j.Last.Err != nil {
		parts = append(parts, j.Last.Err.Error())
	}
	return cmp.Or(strings.Join(append(parts, j.Last.Notes...), "; "), "no samples here")
}

// withoutData returns the collectors that have no samples because nothing offers their calls.
func withoutData(jobs []*metric.Job) []string {
	var without, with []string
	for _, j := range jobs {
		if j.Last.Err != nil && samples(j) == 0 {
			without = append(without, j.Last.Collector)
		} else {
			with = append(with, j.Last.Collector)
		}
	}
	return slices.DeleteFunc(slices.Compact(without), func(name string) bool { return slices.Contains(with, name) })
}

// plural returns a count with its noun, such as "1 sample" or "2 samples".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Limits above which the evaluation of the rules causes a warning.
const (
	maxRuleCores = 0.25
	maxRuleBytes = 300e6
)

// rulesCost returns a warning if the evaluation of the rules costs more than maxRuleCores or maxRuleBytes.
func rulesCost(cfg *config.Config, series int) string {
	if !cfg.Alerting.On {
		return ""
	}
	cores, bytes := cfg.Alerting.Cost(series)
	if cores <= maxRuleCores && bytes <= maxRuleBytes {
		return ""
	}
	return fmt.Sprintf("WARNS  rules over %d series take about %.2f cores and %.0f MB of heap in this process\n"+
		"       Set AVAX_ALERTING=off and let a Prometheus evaluate them, raise AVAX_ALERTING_INTERVAL, or divide the nodes among shards.\n",
		series, cores, bytes/1e6)
}
