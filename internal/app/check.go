package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Check runs every collector once and prints the results. Its error contains the number of failures.
func Check(ctx context.Context, cfg *config.Config, out io.Writer) error {
	t, err := newTargets(cfg, nil, nil)
	if err != nil {
		return config.InputError{Err: err}
	}
	ups := t.ups
	ctx = scrape.MaxAge(ctx, time.Minute) // send identical calls of several collectors once
	if cfg.Chains.Auto {
		chains, err := ups.Discover(ctx, ups.Chains())
		if err != nil {
			fmt.Fprintf(out, "chain discovery failed: %v\n", err)
		}
		ups.SetChains(chains)
	}
	spent, err := t.budget()
	if err != nil {
		return config.InputError{Err: err}
	}
	if err := spent.exceeded(); err != nil {
		return errors.Join(spent.print(out), config.InputError{Err: err})
	}
	observers := observe(t)
	var runs []*jobRun
	var wg sync.WaitGroup
	for _, j := range t.jobs() {
		r := &jobRun{Job: j, batch: metric.NewBatch(j.Families)}
		runs = append(runs, r)
		wg.Go(func() { r.run(observers.with(ctx, j)) })
	}
	alertmanagers := make([]finding, len(cfg.Alerting.Alertmanagers))
	for i, address := range cfg.Alerting.Alertmanagers {
		wg.Go(func() {
			// The address may contain a password.
			alertmanagers[i] = finding{"alerting", fmt.Sprintf("Alertmanager %d", i+1), "connected", dial(ctx, address)}
		})
	}
	var receivers []notify.Trial
	if cfg.Notify.On() {
		wg.Go(func() { receivers, err = notify.Reach(ctx, cfg.Notify) })
	}
	wg.Wait()
	if err != nil {
		return config.InputError{Err: err}
	}

	known := newFacts(runs)
	for _, r := range runs {
		if r.Collector == "bootstrap" && r.err == nil {
			r.err = known.notRunning(r.Target.Node)
		}
	}
	for _, n := range ups.Nodes() {
		fmt.Fprintln(out, known.summary(n.Name()))
	}
	findings, series := findingsOf(runs), 0
	for _, r := range runs {
		series += r.samples
	}
	findings = append(findings, alertmanagers...)
	for _, r := range receivers {
		findings = append(findings, finding{"notify", "receiver " + r.Receiver + ", " + r.Integration, "reachable; avax-exporter notify test sends a test", r.Err})
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	failed := 0
	var failures []*failure
	for _, f := range findings {
		if f.err != nil {
			failed++
			failures = add(failures, f)
			continue
		}
		fmt.Fprintf(table, "ok\t%s\t%s\t%s\n", f.check, f.target, f.verdict)
	}
	if cfg.Alerting.On {
		rules, err := alerting.CheckRules(cfg.Alerting)
		if err != nil {
			return config.InputError{Err: err}
		}
		fmt.Fprintf(table, "ok\trules\t%s\t%s, %s\n", rules.Name, plural(rules.Alerts, "alert"), plural(rules.Recording, "recording rule"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, t := range failures {
		fmt.Fprintf(out, "FAILS  %s of %s: %v\n", brief(t.checks), brief(t.targets), t.err)
		if t.remedy != "" {
			fmt.Fprintf(out, "       %s\n", t.remedy)
		}
	}
	fmt.Fprint(out, rulesCost(cfg, series))
	if err := notify.Exposed(cfg.Notify); err != nil {
		fmt.Fprintf(out, "WARNS  %v\n", err)
	}
	if err := spent.print(out); err != nil {
		return err
	}
	observers.runAlone(ctx, runs)
	observers.print(out, int(cfg.ObserverBudget))
	if failed > 0 {
		return fmt.Errorf("%d of %d checks fail, for %s", failed, len(findings), plural(len(failures), "cause"))
	}
	passed := plural(len(findings), "check") + " passed"
	if without := noData(runs); len(without) > 0 {
		fmt.Fprintf(out, "%s, without data of %s: no node or observer offers it. Add a node that does.\n", passed, strings.Join(without, ", "))
		return nil
	}
	fmt.Fprintf(out, "all %s\n", passed)
	return nil
}

// jobRun is the run of one job.
type jobRun struct {
	schedule.Job
	batch   *metric.Batch
	samples int
	err     error
}

// run runs the job within its time limit.
func (r *jobRun) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, schedule.Deadline(r.When, time.Now()))
	defer cancel()
	r.err = r.Collect(ctx, r.batch)
	for _, chunk := range r.batch.Chunks() {
		r.samples += len(chunk.Samples)
		r.err = cmp.Or(r.err, r.fault(chunk))
	}
	r.err = cmp.Or(r.err, r.batch.Err())
}

// faults are the samples that are an error: a family, the value, and the text of the error. The label values fill the text in order.
// With notes, the notes of the collector follow the text.
var faults = map[string]struct {
	value float64
	text  string
	notes bool
}{
	"avax_node_up":                 {0, "node %s does not answer", false},
	"avax_validator_present":       {0, "validator %s is not in the set", false},
	"avax_data_up":                 {0, "the Data service does not answer", false},
	"avax_node_duplicate":          {1, "node %s answers with the node ID of another node: name each node once in AVAX_NODES", true},
	"avax_node_network_mismatch":   {1, "node %s belongs to another network: run an exporter for each network", true},
	"avax_node_chain_start_failed": {1, "node %s cannot start chain %s", true},
}

// fault returns an error if one of the samples is a fault.
func (r *jobRun) fault(chunk metric.Chunk) error {
	f, known := faults[chunk.Family.Name]
	if !known {
		return nil
	}
	for _, s := range chunk.Samples {
		if s.Value != f.value {
			continue
		}
		var labels []any
		for _, l := range s.Labels {
			labels = append(labels, l)
		}
		err := fmt.Errorf(f.text, labels...)
		if f.notes && len(r.batch.Notes()) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.Join(r.batch.Notes(), "; "))
		}
		return err
	}
	return nil
}

// notOffered reports whether the job has no sample because nothing offers its calls.
func (r *jobRun) notOffered() bool { return errors.Is(r.err, nodes.ErrNotOffered) && r.samples == 0 }

// noData returns the collectors that have no samples because nothing offers their calls.
func noData(runs []*jobRun) (without []string) {
	has := map[string]bool{}
	for _, r := range runs {
		has[r.Collector] = has[r.Collector] || !r.notOffered()
	}
	for _, r := range runs {
		if !has[r.Collector] && !slices.Contains(without, r.Collector) {
			without = append(without, r.Collector)
		}
	}
	return without
}

// finding is the result of one check.
type finding struct {
	check, target string
	verdict       string // if err is nil
	err           error
}

// findingsOf returns a finding for each run. If a node does not answer, this is the error of all failed runs about the node. If no node
// answers, the error of the first node is also that of the runs whose calls nothing offers.
func findingsOf(runs []*jobRun) (all []finding) {
	down := map[string]error{}
	var nobody error
	answers := false
	for _, r := range runs {
		if r.Collector == "up" {
			answers = answers || r.err == nil
			if r.err != nil {
				down[r.Target.Node] = r.err
			}
		}
	}
	for _, r := range runs { // the error of a call says more than that the node does not answer
		if call := (*scrape.Error)(nil); down[r.Target.Node] != nil && !errors.As(down[r.Target.Node], &call) && errors.As(r.err, &call) {
			down[r.Target.Node] = r.err
		}
	}
	if i := slices.IndexFunc(runs, func(r *jobRun) bool { return r.Collector == "up" }); i >= 0 && !answers {
		nobody = down[runs[i].Target.Node]
	}
	for _, r := range runs {
		f := finding{r.Collector, r.Target.String(), plural(r.samples, "sample"), nil}
		switch {
		case r.err != nil && down[r.Target.Node] != nil:
			f.target, f.err = r.Target.Node, down[r.Target.Node]
		case r.notOffered() && nobody != nil:
			f.err = nobody
		case r.notOffered():
			f.verdict = r.err.Error()
		case errors.Is(r.err, nodes.ErrNotOffered):
			f.verdict += "; " + r.err.Error()
		case r.err == nil && r.samples == 0:
			f.verdict = "no samples here"
		default:
			f.err = r.err
		}
		all = append(all, f)
	}
	return all
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

// failure is a cause and all checks and targets that fail because of it. For example, if a node is down, every collector of the node
// fails with the same error.
type failure struct {
	err             error
	cause, remedy   string
	checks, targets []string
}

// add adds a finding to the failure with the same cause, or to a new failure.
func add(failures []*failure, f finding) []*failure {
	t := &failure{err: f.err, cause: f.err.Error()}
	if call := (*scrape.Error)(nil); errors.As(f.err, &call) && call.Err != nil {
		t.cause, t.remedy = string(call.Outcome)+call.Err.Error(), remedy.Of(f.err).Do
	}
	if i := slices.IndexFunc(failures, func(o *failure) bool { return o.cause == t.cause }); i >= 0 {
		t = failures[i]
	} else {
		failures = append(failures, t)
	}
	if !slices.Contains(t.checks, f.check) {
		t.checks = append(t.checks, f.check)
	}
	if !slices.Contains(t.targets, f.target) {
		t.targets = append(t.targets, f.target)
	}
	return failures
}

// brief lists the first names.
func brief(names []string) string {
	const listed = 2
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

// dial connects to the address of an Alertmanager.
func dial(ctx context.Context, address string) error {
	at, err := url.Parse(address)
	if err != nil {
		return errors.New("invalid URL: correct AVAX_ALERTMANAGERS")
	}
	port := at.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[at.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), cmp.Or(port, "80")))
	if err != nil {
		return fmt.Errorf("connect: %w: start it, or correct AVAX_ALERTMANAGERS", err)
	}
	return conn.Close()
}

// facts are the samples of all runs, by family.
type facts map[string][]fact

type fact struct {
	labels map[string]string
	value  float64
}

func newFacts(runs []*jobRun) facts {
	known := facts{
		"avax_node_info": nil, "avax_node_partial_sync": nil, "avax_node_chain_bootstrapped": nil, "avax_node_chain_present": nil,
		"avax_node_uptime_rewarding_stake_ratio": nil, "avax_validator_end_timestamp_seconds": nil, "avax_l1_validator_weight": nil,
	}
	for _, r := range runs {
		for _, chunk := range r.batch.Chunks() {
			name := chunk.Family.Name
			if _, read := known[name]; !read {
				continue
			}
			for _, s := range chunk.Samples {
				f := fact{map[string]string{}, s.Value}
				for i, label := range chunk.Family.Labels {
					f.labels[label] = s.Labels[i]
				}
				known[name] = append(known[name], f)
			}
		}
	}
	return known
}

// with returns the samples of a family with this label.
func (all facts) with(family, label, value string) (found []fact) {
	for _, f := range all[family] {
		if f.labels[label] == value {
			found = append(found, f)
		}
	}
	return found
}

// notRunning returns an error if the node does not run a chain that it should run: a chain that it validates, the C-Chain, or a chain
// that no other node runs either.
func (all facts) notRunning(node string) error {
	running, validates := map[string]bool{}, map[string]bool{"C": true}
	for _, f := range all["avax_node_chain_present"] {
		running[f.labels["chain"]] = running[f.labels["chain"]] || f.value == 1
	}
	for _, self := range all.with("avax_node_info", "node", node) {
		for _, f := range all.with("avax_l1_validator_weight", "node_id", self.labels["node_id"]) {
			validates[f.labels["chain"]] = true
		}
	}
	var errs []error
	for _, f := range all.with("avax_node_chain_present", "node", node) {
		switch chain := f.labels["chain"]; {
		case f.value == 1:
		case chain == "C":
			errs = append(errs, fmt.Errorf("node %s does not run chain C: it is not created yet, or its VM did not start", node))
		case validates[chain]:
			errs = append(errs, fmt.Errorf("node %s validates %s, but does not run it: start the node with --track-subnets for the subnet of the chain, or read its log if it does", node, chain))
		case !running[chain]:
			errs = append(errs, fmt.Errorf("no node runs chain %s: correct AVAX_CHAINS, or start a node with --track-subnets for the subnet of the chain", chain))
		}
	}
	return errors.Join(errs...)
}

// summary returns the most important facts about a node in one line.
func (all facts) summary(node string) string {
	info := all.with("avax_node_info", "node", node)
	if len(info) == 0 {
		return node + ": no answer"
	}
	self := info[0].labels
	parts := []string{self["version"], "network " + self["network"] + " (" + self["network_id"] + ")", self["node_id"]}
	for _, f := range all.with("avax_node_partial_sync", "node", node) {
		if f.value == 1 {
			parts = append(parts, "partial sync")
		}
	}
	var ready, waiting []string
	for _, f := range all.with("avax_node_chain_bootstrapped", "node", node) {
		if f.value == 1 {
			ready = append(ready, f.labels["chain"])
		} else {
			waiting = append(waiting, f.labels["chain"])
		}
	}
	if len(ready) > 0 {
		parts = append(parts, "bootstrapped: "+strings.Join(ready, ", "))
	}
	if len(waiting) > 0 {
		parts = append(parts, "not bootstrapped: "+strings.Join(waiting, ", "))
	}
	for _, f := range all.with("avax_node_uptime_rewarding_stake_ratio", "node", node) {
		parts = append(parts, "votes for reward: "+strconv.FormatFloat(math.Floor(f.value*1e4+1e-6)/100, 'f', -1, 64)+" %")
	}
	for _, f := range all.with("avax_validator_end_timestamp_seconds", "node_id", self["node_id"]) {
		parts = append(parts, "period ends "+time.Unix(int64(f.value), 0).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return node + ": " + strings.Join(parts, "; ")
}
