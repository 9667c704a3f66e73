package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Failure is a cause with all jobs that fail because of it. For example, all collectors of a node fail if the node is down.
type Failure struct {
	remedy.Remedy
	Err        error  // of one of the jobs
	Node       string // the node whose answers are missing; empty if it is no node
	Targets    []string
	Collectors []string
	Good       time.Time // start of the most recent successful run
}

// Title returns the collectors and targets that fail.
func (f *Failure) Title() string { return words.Brief(f.Collectors) + " of " + words.Brief(f.Targets) }

// FailureOf returns the cause of an error, without its jobs.
func FailureOf(err error) *Failure { return &Failure{Remedy: remedy.Of(err), Err: err} }

// Failures groups failed jobs by cause: the same outcome at one upstream. That nothing offers a call is no failure.
func Failures(jobs []*metric.Job) []*Failure {
	byCause := map[string]*Failure{}
	var all []*Failure
	for _, j := range jobs {
		if j.Last.Err == nil || errors.Is(j.Last.Err, metric.ErrNotOffered) {
			continue
		}
		one := FailureOf(j.Last.Err)
		cause := upstreamOf(&j.Last) + "\x00" + one.What + one.Do
		if one.ByText {
			cause += one.Err.Error()
		}
		f := byCause[cause]
		if f == nil {
			f = one
			f.Node = upstreamOf(&j.Last)
			byCause[cause] = f
			all = append(all, f)
		}
		f.Targets = AppendNew(f.Targets, j.Last.Target.String())
		f.Collectors = AppendNew(f.Collectors, j.Last.Collector)
		if j.Good.At.After(f.Good) {
			f.Good = j.Good.At
		}
	}
	return all
}

// upstreamOf returns the name of the node that caused the error of a run, or else of the node that the run is about.
func upstreamOf(r *metric.Run) string {
	if call := (*nodes.CallError)(nil); errors.As(r.Err, &call) {
		return call.Node.Name()
	}
	return r.Target.Node
}

// serviceOf returns the upstream that all these collectors call: "data" or "metrics"; empty if there is no such service.
func serviceOf(names []string) (service string) {
	for _, spec := range collectors.All() {
		if !slices.Contains(names, spec.Name) {
			continue
		}
		one := map[bool]string{true: "data", false: ""}[spec.Cost != nil]
		if spec.NeedsNoNode {
			one = "metrics"
		}
		if one == "" || service != "" && service != one {
			return ""
		}
		service = one
	}
	return service
}

// Check judges jobs that have run once. It returns a line about each of these nodes, and the failures by cause. A sample that shows a
// mistake in the configuration makes its run a failure. If a node does not answer, this is the cause of all its failures.
func Check(jobs []*metric.Job, names []string) (about []string, failed []*Failure) {
	st := Of(jobs, time.Time{}, Pool{})
	st.findFaults()
	var silent, nameless []string
	for _, name := range names {
		switch n := st.Node(name); {
		case n.ID != "":
			about = append(about, st.summary(name))
		case n.Up.Is(1):
			nameless = append(nameless, name)
		default:
			silent = append(silent, name)
		}
	}
	if len(nameless) > 0 {
		about = append(about, words.Brief(nameless)+": up, node ID not known")
	}
	if len(silent) > 0 {
		about = append(about, words.Brief(silent)+": "+noAnswer)
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
		if r.Err != nil && st.Node(name).Down() {
			r.Target, r.Err = metric.Target{Node: name}, cmp.Or(why[name], r.Err)
		}
	}
	return about, joined(Failures(jobs))
}

// joined joins the failures of the same collectors with the same cause at several nodes: one mistake in the configuration of all of them is read once.
func joined(all []*Failure) (few []*Failure) {
	byCause := map[string]*Failure{}
	for _, f := range all {
		cause := f.What + "\x00" + f.Do
		if !slices.Contains(f.Collectors, "up") { // else the node does not answer, and what else is asked of it differs by chance
			cause += strings.Join(f.Collectors, "\x00")
		}
		if f.ByText {
			cause += strings.ReplaceAll(f.Err.Error(), f.Node, "\x00")
		}
		if first := byCause[cause]; first != nil && f.Node != "" && first.Node != "" {
			for _, name := range f.Collectors {
				first.Collectors = AppendNew(first.Collectors, name)
			}
			first.Targets = append(first.Targets, f.Targets...)
			continue
		}
		byCause[cause], few = f, append(few, f)
	}
	return few
}

// faults are the samples that show a mistake: a family, the value, and the text of the error. The label values fill the text in order.
var faults = []struct {
	family
	value float64
	text  string
}{
	{read("avax_node_up", "node"), 0, "node %s does not answer"},
	{read("avax_validator_present", "node_id"), 0, "validator %s is not in the set"},
	{read("avax_data_up"), 0, "the Data service does not answer"},
	{read("avax_node_duplicate", "node"), 1, "node %s answers with the node ID of another node: name each node once in AVAX_NODES"},
	{read("avax_node_network_mismatch", "node"), 1, "node %s belongs to another network: run an exporter for each network"},
	{delegatorKnown, 0, unknownDelegator},
}

var chainPresent = read("avax_node_chain_present", "node", "chain")

// findFaults sets the error of each successful run whose samples show a mistake.
func (st *Status) findFaults() {
	for _, fault := range faults {
		st.samples.each(fault.family, func(s sample) {
			if s.V != fault.value || s.run.Err != nil {
				return
			}
			var labels []any
			for _, l := range s.labels {
				labels = append(labels, l)
			}
			notes := append([]string{fmt.Sprintf(fault.text, labels...)}, s.run.Notes...)
			s.run.Err = errors.New(strings.Join(notes, ": "))
		})
	}
	tried := map[string]int{} // nodes that run a chain, or tried to: Findings says why it did not start
	st.samples.each(chainPresent, func(s sample) {
		if s.V == 1 || st.startFailed(s.labels[0], s.labels[1]) {
			tried[s.labels[1]]++
		}
	})
	st.samples.each(chainPresent, func(s sample) {
		node, chain := s.labels[0], s.labels[1]
		if s.V != 0 || st.startFailed(node, chain) {
			return
		}
		if why := st.notRunning(node, chain, tried[chain] > 0); why != "" {
			s.run.Err = errors.Join(s.run.Err, errors.New(why))
		}
	})
}

// startFailed reports whether the node could not start the chain.
func (st *Status) startFailed(node, chain string) bool {
	c := st.Node(node).chains[chain]
	return c != nil && c.StartFailed.Is(1)
}

// misnamed reports whether the P-Chain does not have a chain: another failure says so, and which chain is meant.
func (st *Status) misnamed(chain string) bool {
	return slices.ContainsFunc(st.Jobs, func(j *metric.Job) bool {
		setting, is := errors.AsType[*nodes.SettingError](j.Last.Err)
		return is && j.Last.Target.Chain == chain && setting.Variable == "AVAX_CHAINS"
	})
}

// notRunning returns why a node must run a chain: it validates the chain, it is the C-Chain, or no other node runs it or tried to.
func (st *Status) notRunning(node, chain string, others bool) string {
	switch c := st.Node(node).chains[chain]; {
	case chain == "C":
		return fmt.Sprintf("node %s does not run chain C: it is not created yet, or its VM did not start", node)
	case c != nil && c.Missing:
		return fmt.Sprintf("node %s validates %s, but does not run it: start the node with --track-subnets for the subnet of the chain, or read its log if it does",
			node, chain)
	case !others && !st.misnamed(chain):
		return fmt.Sprintf("no node runs chain %s: correct AVAX_CHAINS, or start a node with --track-subnets for the subnet of the chain", chain)
	}
	return ""
}

// summary returns the most important facts about a node in one line.
func (st *Status) summary(name string) string {
	n := st.Node(name)
	parts := []string{n.Version(), "network " + n.network + " (" + n.networkID + ")", n.ID}
	if n.PartialSync.Is(1) {
		parts = append(parts, "partial sync")
	}
	var ready, waiting []string
	for _, c := range sorted(n.chains, CompareChains) {
		if c.Bootstrapped.Is(1) {
			ready = append(ready, c.Name)
		} else if c.Bootstrapped.Is(0) {
			waiting = append(waiting, c.Name)
		}
	}
	if len(ready) > 0 {
		parts = append(parts, "bootstrapped: "+strings.Join(ready, ", "))
	}
	if len(waiting) > 0 {
		parts = append(parts, "not bootstrapped: "+strings.Join(waiting, ", "))
	}
	if n.Votes.Known {
		parts = append(parts, "votes for reward: "+words.Percent(n.Votes.V))
	}
	if v := st.validators[n.ID]; v != nil && v.End.Known {
		parts = append(parts, "period ends "+words.UnixTime(v.End.V).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return name + ": " + strings.Join(parts, "; ")
}

// Advice returns what to do about the failure, if the error itself does not say it.
func (f *Failure) Advice() string {
	if call := (*scrape.Error)(nil); errors.As(f.Err, &call) {
		return f.Do
	}
	return ""
}
