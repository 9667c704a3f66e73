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
	all := t.jobs()
	observers := observe(t)
	results := make([]error, len(all))
	samples := make([]int, len(all))
	batches := make([]*metric.Batch, len(all))
	alertmanagers := make([]error, len(cfg.Alerting.Alertmanagers))
	var wg sync.WaitGroup
	for i, j := range all {
		wg.Go(func() {
			batches[i] = metric.NewBatch(j.Families)
			results[i] = checkJob(observers.with(ctx, j), j, batches[i])
			for _, chunk := range batches[i].Chunks() {
				samples[i] += len(chunk.Samples)
			}
		})
	}
	var receivers []notify.Trial
	if cfg.Notify.On() {
		wg.Go(func() { receivers, err = notify.Reach(ctx, cfg.Notify) })
	}
	for i, address := range cfg.Alerting.Alertmanagers {
		wg.Go(func() { alertmanagers[i] = dial(ctx, address) })
	}
	wg.Wait()
	if err != nil {
		return config.InputError{Err: err}
	}
	facts := newSummaryFacts(batches)
	for i, j := range all {
		if j.Collector == "bootstrap" && results[i] == nil {
			results[i] = facts.notRunning(j.Target.Node)
		}
	}
	for _, n := range ups.Nodes() {
		fmt.Fprintln(out, facts.summary(n.Name()))
	}

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	failed, series := 0, 0
	var troubles []*trouble
	down, nobodyBy := downBy(all, results)
	without := noData(all, results, samples)
	for i, j := range all {
		series += samples[i]
		verdict := plural(samples[i], "sample")
		node := j.Target.Node
		switch err := results[i]; {
		case err != nil && down[node] != nil:
			failed++
			troubles = add(troubles, j.Collector, node, down[node])
			continue
		case errors.Is(err, nodes.ErrNotOffered) && samples[i] == 0 && nobodyBy != nil:
			failed++
			troubles = add(troubles, j.Collector, j.Target.String(), nobodyBy)
			continue
		case errors.Is(err, nodes.ErrNotOffered) && samples[i] == 0:
			verdict = err.Error()
		case errors.Is(err, nodes.ErrNotOffered):
			verdict += "; " + err.Error()
		case err != nil:
			failed++
			troubles = add(troubles, j.Collector, j.Target.String(), err)
			continue
		case samples[i] == 0:
			verdict = "no samples here"
		}
		fmt.Fprintf(table, "ok\t%s\t%s\t%s\n", j.Collector, j.Target, verdict)
	}
	if cfg.Alerting.On {
		rules, err := alerting.CheckRules(cfg.Alerting)
		if err != nil {
			return config.InputError{Err: err}
		}
		fmt.Fprintf(table, "ok\trules\t%s\t%s, %s\n", rules.Name, plural(rules.Alerts, "alert"), plural(rules.Recording, "recording rule"))
	}
	for i, err := range alertmanagers {
		name := fmt.Sprintf("Alertmanager %d", i+1) // the address may contain a password
		if err != nil {
			failed++
			troubles = add(troubles, "alerting", name, err)
			continue
		}
		fmt.Fprintf(table, "ok\talerting\t%s\tconnected\n", name)
	}
	for _, r := range receivers {
		name := "receiver " + r.Receiver + ", " + r.Integration
		if r.Err != nil {
			failed++
			troubles = add(troubles, "notify", name, r.Err)
			continue
		}
		fmt.Fprintf(table, "ok\tnotify\t%s\treachable; avax-exporter notify test sends a test\n", name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, t := range troubles {
		fmt.Fprintf(out, "FAILS  %s of %s: %v\n", few(t.collectors), few(t.targets), t.err)
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
	observers.runAlone(ctx, all)
	observers.print(out, int(cfg.ObserverBudget))
	if failed > 0 {
		return fmt.Errorf("%d of %d checks fail, for %s", failed, len(all)+len(alertmanagers)+len(receivers), plural(len(troubles), "cause"))
	}
	passed := plural(len(all)+len(alertmanagers)+len(receivers), "check") + " passed"
	if len(without) > 0 {
		fmt.Fprintf(out, "%s, without data of %s: no node or observer offers it. Add a node that does.\n", passed, strings.Join(without, ", "))
		return nil
	}
	fmt.Fprintf(out, "all %s\n", passed)
	return nil
}

// noData returns the collectors that have no samples because nothing offers their calls.
func noData(jobs []schedule.Job, results []error, samples []int) (without []string) {
	has := map[string]bool{}
	for i, j := range jobs {
		has[j.Collector] = has[j.Collector] || samples[i] > 0 || !errors.Is(results[i], nodes.ErrNotOffered)
	}
	for _, j := range jobs {
		if !has[j.Collector] && !slices.Contains(without, j.Collector) {
			without = append(without, j.Collector)
		}
	}
	return without
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

// downBy returns the errors of the nodes that do not answer, by name. Such an error is the cause of all other failures about the
// node. If no node answers, nobody is the error of the first node.
func downBy(jobs []schedule.Job, results []error) (down map[string]error, nobody error) {
	down = map[string]error{}
	for i, j := range jobs {
		if j.Collector == "up" && results[i] != nil {
			down[j.Target.Node] = results[i]
		}
	}
	for i, j := range jobs {
		node := j.Target.Node
		if call := (*scrape.Error)(nil); down[node] != nil && !errors.As(down[node], &call) && errors.As(results[i], &call) {
			down[node] = results[i]
		}
	}
	for i, j := range jobs {
		switch {
		case j.Collector == "up" && results[i] == nil:
			return down, nil
		case j.Collector == "up" && nobody == nil:
			nobody = down[j.Target.Node]
		}
	}
	return down, nobody
}

// trouble is a cause and all collectors and targets that fail because of it. For example, if a node is down, every collector of
// the node fails with the same error.
type trouble struct {
	err                 error
	cause, remedy       string
	collectors, targets []string
}

// add adds an error to the trouble with the same cause, or to a new trouble.
func add(troubles []*trouble, collector, target string, err error) []*trouble {
	cause, do := err.Error(), ""
	if call := (*scrape.Error)(nil); errors.As(err, &call) && call.Err != nil {
		cause, do = string(call.Outcome)+call.Err.Error(), remedy.Of(err).Do
	}
	i := slices.IndexFunc(troubles, func(t *trouble) bool { return t.cause == cause })
	if i < 0 {
		i = len(troubles)
		troubles = append(troubles, &trouble{err: err, cause: cause, remedy: do})
	}
	t := troubles[i]
	if !slices.Contains(t.collectors, collector) {
		t.collectors = append(t.collectors, collector)
	}
	if !slices.Contains(t.targets, target) {
		t.targets = append(t.targets, target)
	}
	return troubles
}

// few lists the first names.
func few(names []string) string {
	const listed = 2
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

// missing holds the families whose value 0 is a finding, and the text of the finding. The label values fill the text in order.
var missing = map[string]string{
	"avax_node_up":           "node %s does not answer",
	"avax_validator_present": "validator %s is not in the set",
	"avax_data_up":           "the Data service does not answer",
}

// found holds the families whose value 1 is a finding, and the text of the finding. The notes of the collector follow the text.
var found = map[string]string{
	"avax_node_duplicate":          "node %s answers with the node ID of another node: name each node once in AVAX_NODES",
	"avax_node_network_mismatch":   "node %s belongs to another network: run an exporter for each network",
	"avax_node_chain_start_failed": "node %s cannot start chain %s",
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

// summaryLabels are the families that summaries read. A summary finds their samples by this label.
var summaryLabels = map[string]string{
	"avax_node_info":                         "node",
	"avax_node_partial_sync":                 "node",
	"avax_node_chain_bootstrapped":           "node",
	"avax_node_uptime_rewarding_stake_ratio": "node",
	"avax_validator_end_timestamp_seconds":   "node_id",
	"avax_node_chain_present":                "node",
	"avax_l1_validator_weight":               "node_id",
}

// notRunning returns an error if the node does not run a chain that it should run: a chain that it validates, the C-Chain, or a chain
// that no other node runs either.
func (facts summaryFacts) notRunning(node string) error {
	running := map[string]bool{}
	for _, all := range facts["avax_node_chain_present"] {
		for _, f := range all {
			running[f.labels["chain"]] = running[f.labels["chain"]] || f.value == 1
		}
	}
	validates := map[string]bool{"C": true}
	for _, who := range facts["avax_node_info"][node] {
		for _, f := range facts["avax_l1_validator_weight"][who.labels["node_id"]] {
			validates[f.labels["chain"]] = true
		}
	}
	var errs []error
	for _, f := range facts["avax_node_chain_present"][node] {
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

// summaryFacts holds samples by family and by the value of its summaryLabels.
type summaryFacts map[string]map[string][]summaryFact

type summaryFact struct {
	labels map[string]string
	value  float64
}

func newSummaryFacts(batches []*metric.Batch) summaryFacts {
	facts := summaryFacts{}
	for family := range summaryLabels {
		facts[family] = map[string][]summaryFact{}
	}
	for _, batch := range batches {
		for _, chunk := range batch.Chunks() {
			by, ok := summaryLabels[chunk.Family.Name]
			if !ok {
				continue
			}
			of := facts[chunk.Family.Name]
			for _, s := range chunk.Samples {
				labels := map[string]string{}
				for i, name := range chunk.Family.Labels {
					labels[name] = s.Labels[i]
				}
				of[labels[by]] = append(of[labels[by]], summaryFact{labels, s.Value})
			}
		}
	}
	return facts
}

// summary returns the most important facts about a node in one line.
func (facts summaryFacts) summary(node string) string {
	var parts, ready, waiting []string
	var id string
	for _, f := range facts["avax_node_info"][node] {
		id = f.labels["node_id"]
		parts = append(parts, f.labels["version"], "network "+f.labels["network"]+" ("+f.labels["network_id"]+")", id)
	}
	if id == "" {
		return node + ": no answer"
	}
	for _, f := range facts["avax_node_partial_sync"][node] {
		if f.value == 1 {
			parts = append(parts, "partial sync")
		}
	}
	for _, f := range facts["avax_node_chain_bootstrapped"][node] {
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
	for _, f := range facts["avax_node_uptime_rewarding_stake_ratio"][node] {
		parts = append(parts, "votes for reward: "+strconv.FormatFloat(math.Floor(f.value*1e4+1e-6)/100, 'f', -1, 64)+" %")
	}
	for _, f := range facts["avax_validator_end_timestamp_seconds"][id] {
		parts = append(parts, "period ends "+time.Unix(int64(f.value), 0).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return node + ": " + strings.Join(parts, "; ")
}

// checkJob runs one job within its time limit.
func checkJob(ctx context.Context, j schedule.Job, batch *metric.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, schedule.Deadline(j.When, time.Now()))
	defer cancel()
	if err := j.Collect(ctx, batch); err != nil {
		return err
	}
	for _, chunk := range batch.Chunks() {
		bad, words := 0.0, missing[chunk.Family.Name]
		if words == "" {
			bad, words = 1, found[chunk.Family.Name]
		}
		if words == "" {
			continue
		}
		for _, s := range chunk.Samples {
			if s.Value == bad {
				labels := make([]any, len(s.Labels))
				for i, l := range s.Labels {
					labels[i] = l
				}
				err := fmt.Errorf(words, labels...)
				if bad == 1 && len(batch.Notes()) > 0 {
					err = fmt.Errorf("%w: %s", err, strings.Join(batch.Notes(), "; "))
				}
				return err
			}
		}
	}
	return batch.Err()
}
