package web

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Failure is a cause of failed jobs.
type Failure struct {
	Title  string // collectors and targets
	Err    error
	Remedy string // empty if the error contains it
}

// Check judges jobs that have run once. It returns a line about each of these nodes, and the failures by cause. A sample that shows a
// mistake in the configuration makes its run a failure. If a node does not answer, this is the cause of all its failures.
func Check(jobs []*metric.Job, names []string) (about []string, failed []Failure) {
	f := snapshotAt(jobs, time.Time{})
	f.findFaults()
	for _, name := range names {
		about = append(about, f.summary(name))
	}
	why := map[string]error{}
	for _, j := range jobs {
		call := (*scrape.Error)(nil)
		if name := upstreamOf(&j.Last); why[name] == nil && errors.As(j.Last.Err, &call) {
			why[name] = j.Last.Err
		}
	}
	for _, j := range jobs {
		r := &j.Last
		name := upstreamOf(r)
		if r.Err != nil && f.is(0, subject{{"node", name}}, "avax_node_up") {
			r.Target, r.Err = metric.Target{Node: name}, cmp.Or(why[name], r.Err)
		}
	}
	for _, cause := range failures(jobs) {
		shown := Failure{Title: cause.title(), Err: cause.err}
		if call := (*scrape.Error)(nil); errors.As(cause.err, &call) {
			shown.Remedy = cause.Do
		}
		failed = append(failed, shown)
	}
	return about, failed
}

// faults are the samples that show a mistake: a family, the value, and the text of the error. The label values fill the text in order.
var faults = []struct {
	family string
	value  float64
	text   string
}{
	{"avax_node_up", 0, "node %s does not answer"},
	{"avax_validator_present", 0, "validator %s is not in the set"},
	{"avax_data_up", 0, "the Data service does not answer"},
	{"avax_node_duplicate", 1, "node %s answers with the node ID of another node: name each node once in AVAX_NODES"},
	{"avax_node_network_mismatch", 1, "node %s belongs to another network: run an exporter for each network"},
	{"avax_node_chain_start_failed", 1, "node %s cannot start chain %s"},
}

// findFaults sets the error of each successful run whose samples show a mistake.
func (f *snapshot) findFaults() {
	for _, fault := range faults {
		for _, s := range f.of(fault.family) {
			if s.Value != fault.value || s.run.Err != nil {
				continue
			}
			labels := mapped(s.Labels, func(l string) any { return l })
			notes := append([]string{fmt.Sprintf(fault.text, labels...)}, s.run.Notes...)
			s.run.Err = errors.New(strings.Join(notes, ": "))
		}
	}
	for _, s := range f.of("avax_node_chain_present") {
		if why := f.notRunning(s); s.Value == 0 && why != "" {
			s.run.Err = errors.Join(s.run.Err, errors.New(why))
		}
	}
}

// notRunning returns why the node of a sample of avax_node_chain_present must run the chain: it validates the chain, it is the C-Chain, or
// no other node runs it either.
func (f *snapshot) notRunning(s sample) string {
	node, chain := s.label("node"), s.label("chain")
	id := f.texts("avax_node_info", "node", "node_id")[node]
	switch {
	case chain == "C":
		return fmt.Sprintf("node %s does not run chain C: it is not created yet, or its VM did not start", node)
	case f.by("avax_l1_validator_weight", "chain", "node_id").of(chain, id) != nil:
		return fmt.Sprintf("node %s validates %s, but does not run it: start the node with --track-subnets for the subnet of the chain, or read its log if it does", node, chain)
	case len(f.lists("chain", "node", isOne, "avax_node_chain_present")[chain]) == 0:
		return fmt.Sprintf("no node runs chain %s: correct AVAX_CHAINS, or start a node with --track-subnets for the subnet of the chain", chain)
	}
	return ""
}

// summary returns the most important facts about a node in one line.
func (f *snapshot) summary(node string) string {
	about := func(label string) string { return f.texts("avax_node_info", "node", label)[node] }
	id := about("node_id")
	if id == "" {
		return node + ": no answer"
	}
	parts := []string{about("version"), "network " + about("network") + " (" + about("network_id") + ")", id}
	this := subject{{"node", node}}
	if f.is(1, this, "avax_node_partial_sync") {
		parts = append(parts, "partial sync")
	}
	if ready := f.lists("node", "chain", isOne, "avax_node_chain_bootstrapped")[node]; len(ready) > 0 {
		parts = append(parts, "bootstrapped: "+strings.Join(ready, ", "))
	}
	if waiting := f.lists("node", "chain", isZero, "avax_node_chain_bootstrapped")[node]; len(waiting) > 0 {
		parts = append(parts, "not bootstrapped: "+strings.Join(waiting, ", "))
	}
	if share := f.value(this, "avax_node_uptime_rewarding_stake_ratio"); share != nil {
		parts = append(parts, "votes for reward: "+percent(*share))
	}
	if end := f.value(subject{{"node_id", id}}, "avax_validator_end_timestamp_seconds"); end != nil {
		parts = append(parts, "period ends "+unixTime(*end).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return node + ": " + strings.Join(parts, "; ")
}
