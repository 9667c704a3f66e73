package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Verdict is the kind of an answer.
type Verdict int

// The verdicts about a question.
const (
	Unknown Verdict = iota // not known at present
	Yes
	No
	NotFound // it is about nothing that is monitored
	Invalid  // the question lacks a name
)

// Answer is what each answer about a stop has, as JSON.
type Answer struct {
	Safe   *bool  `json:"safe,omitempty"` // absent if it is not known
	Reason string `json:"reason"`
}

// Set sets the answer, and returns its verdict.
func (a *Answer) Set(verdict Verdict, reason string) Verdict {
	a.Reason = reason
	if a.Safe = nil; verdict == Yes || verdict == No {
		a.Safe = new(verdict == Yes)
	}
	return verdict
}

// decide sets the answer: no if something is against it, else not known if something is unknown, else yes, for which missed must be empty.
func (a *Answer) decide(against, unknown []string, missed, yes func() string) Verdict {
	switch {
	case len(against) > 0:
		return a.Set(No, "no: "+strings.Join(against, "; "))
	case len(unknown) > 0:
		return a.Set(Unknown, "not known: "+strings.Join(unknown, "; "))
	}
	if text := missed(); text != "" {
		return a.Set(Unknown, "not known: "+text)
	}
	return a.Set(Yes, "yes: "+yes())
}

// Pool is what the configuration, the pool of nodes and the scheduler know now, without samples. A function that is nil knows nothing.
type Pool struct {
	// Progress returns the number of jobs whose first run has ended, and the number of jobs.
	Progress func() (ran, of int)
	// Nodes returns the names of the configured nodes, and Chains those of the monitored chains of subnets. What is configured and cannot be read
	// is shown as unread.
	Nodes, Chains func() []string
	// Labels returns the labels that the user gave, by name of the node, or by node ID or validation ID of the validator.
	Labels func() map[string]map[string]string
	// Answered returns when a node last answered a call; zero if it never did.
	Answered func(node string) time.Time
	// Undiscovered returns the names of the nodes whose chains are not known yet; nil without discovery of chains.
	Undiscovered func() []string
	// Unreachable returns the names of the nodes that do not answer now, or whose last answer is older than the duration within.
	Unreachable func(within time.Duration) []string
	// Restarts knows since when something is not known yet; nil: now.
	Restarts *Restarts
}

// once returns a function that asks for names at most once: a status has one time, and many verdicts need them.
func once(names func() []string) func() []string {
	if names == nil {
		return func() []string { return nil }
	}
	return sync.OnceValue(names)
}

// What is not known yet is part of a start or of a change. After these times it is a fault.
const (
	firstRuns = 5 * time.Minute // until each collector has run
	nextRuns  = 2 * time.Minute // until what a node tells, or what has changed, is counted
)

// notYet says until when something may be missing, or, once that is over, for how long it has been missing and what to do. A time that is zero is now.
func (st *Status) notYet(yet, missing string, since time.Time, patience time.Duration, remedy string) (text string, fault bool) {
	if since.IsZero() {
		since = st.At
	}
	if waited := st.At.Sub(since); waited >= patience {
		return missing + " for " + words.Span(waited) + ": " + remedy, true
	}
	return yet + "; a fault from " + words.ClockTime(st.At, since.Add(patience)), false
}

// since returns since when something is missing.
func (st *Status) since(missing string) time.Time {
	since := st.At
	r := cmp.Or(st.restarts, st.pool.Restarts)
	if r == nil {
		return since
	}
	if known := r.unknown.Load(); known != nil {
		since = cmp.Or((*known)[missing], since)
	}
	if st.missing != nil {
		st.missing[missing] = since
	}
	return since
}

// Starting says which collectors have not run since the exporter started, and whether this is a fault; empty once all have.
func (st *Status) Starting() (text string, fault bool) {
	ran, of := st.pool.Progress()
	if ran >= of && of > 0 {
		return "", false
	}
	return st.notYet(fmt.Sprintf("%d of %d collectors have run", ran, of), words.Plural(of-ran, "collector has", "collectors have")+" not run",
		st.since("first runs"), firstRuns, "read the log of the exporter: it may lack CPU, or an upstream does not answer")
}

// starting returns why nothing is known while the collectors run for the first time; empty afterwards.
func (st *Status) starting() string {
	if text, _ := st.Starting(); text != "" {
		return "not known: " + text
	}
	return ""
}

// soon returns why the next runs are awaited.
func (st *Status) soon(yet, missing, remedy string) string {
	text, _ := st.notYet(yet+": retry in a few seconds", missing, st.since(missing), nextRuns, remedy)
	return text
}

// whyUncounted returns why the last good run of safe_to_stop may be incomplete or outdated: the chains of a node are not known yet, the run is old or
// did not count a chain, or nodes have stopped answering that the run counted as connected. Otherwise it returns an empty string.
func (st *Status) whyUncounted() string {
	if names := st.pool.Undiscovered(); len(names) > 0 {
		chains := "the chains of " + words.Brief(names) + " are not known"
		return st.soon(chains+" yet", chains, "check that info.getBlockchainID and /ext/health answer on the node")
	}
	run := st.safeToStopRun
	if age := st.At.Sub(run.At); age > maxAge(run) && run.Collector != "" {
		return fmt.Sprintf("the last answer is %s old: %s", words.Seconds(age.Seconds()), st.why(isStop))
	}
	if added := Missing(st.pool.Chains(), run.Facts.Chains); len(added) > 0 {
		chain := "chain " + words.Brief(added) + " is not counted"
		return st.soon(chain+" yet", chain, st.why(isStop))
	}
	if missed := Missing(st.unreachable(), run.Facts.Unreachable); len(missed) > 0 {
		text := words.Brief(missed) + " stopped answering and still counts as connected"
		return st.soon(text, text, st.why(isStop))
	}
	var known []nodes.Presence
	for name := range st.validatorSets().Nodes {
		if id := st.IDOf(name); id != "" {
			known = append(known, nodes.Presence{Node: name, ID: id})
		}
	}
	return st.Contradicted(known)
}

// maxSample is the maximum number of node IDs in Sample.
const maxSample = 200

// Sample returns the node IDs of validators that carry much of the weight of the sets, and that the last good run of safe_to_stop counts as connected.
func (st *Status) Sample() (ids []string) {
	for _, set := range st.validatorSets().Sets {
		for _, id := range slices.Sorted(maps.Keys(set.Sample)) {
			if len(ids) < maxSample {
				ids = AppendNew(ids, id)
			}
		}
	}
	return ids
}

// Contradicted returns what nodes say now that the last good run of safe_to_stop did not count, so that a yes about these nodes does not hold: a node, a chain
// or a part of the weight that counts as connected is not, a node validates another chain, or another node answers at an address. It is empty if there is
// nothing.
func (st *Status) Contradicted(now []nodes.Presence, stop ...string) string {
	facts, counted := st.validatorSets(), st.safeToStopRun.Facts.Unreachable
	var silent, stopped, joined, changed []string
	peers := map[string][]string{}
	for _, is := range now {
		id := facts.Nodes[is.Node]
		switch {
		case is.ID == "" && !slices.Contains(counted, is.Node):
			silent = append(silent, is.Node)
		case is.ID != "" && id != "" && is.ID != id:
			changed = append(changed, is.Node)
		}
		if is.Peers != nil {
			peers[is.Node] = is.Peers
		}
		for _, set := range facts.Sets {
			switch {
			case slices.Contains(is.Active[set.Chain], is.ID) && len(set.Views) > 0 && set.Members != nil && !set.Members[is.ID]:
				joined = append(joined, is.Node+" of "+set.Chain)
			case slices.Contains(is.Stopped, set.Chain) && set.Views.Up(is.ID):
				stopped = append(stopped, set.Chain+" of "+is.Node)
			}
		}
	}
	alone, texts := facts.Alone(peers), st.gone(facts, now, stop)
	if silent = append(silent, stopped...); len(silent) > 0 {
		texts = append(texts, words.Brief(silent)+" did not answer within 2 s and counts as connected")
	}
	if len(joined) > 0 {
		texts = append(texts, words.Brief(joined)+" is a new validator and does not count as one")
	}
	if len(changed) > 0 {
		texts = append(texts, words.Brief(changed)+" has another node ID now, whose validator sets are not counted yet")
	}
	if len(alone) > 0 {
		texts = append(texts, words.Brief(alone)+" has lost its peers and counts as connected")
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(texts, "; ") + ": retry in a few seconds"
}

// gone returns the sets of which so much weight has disconnected or become inactive since the run that these nodes must not stop, as sentences.
func (st *Status) gone(facts *staking.ValidatorSets, now []nodes.Presence, stop []string) (texts []string) {
	var ids []string
	for _, name := range stop {
		ids = append(ids, facts.Nodes[name])
	}
	shares, _ := st.shares(facts, ids...)
	for _, share := range shares {
		i := slices.IndexFunc(facts.Sets, func(s staking.StopSet) bool { return s.Chain == share.Chain })
		there := map[string][]string{} // validators that are active and connected, by the name of the node that says so
		for _, is := range now {
			if is.Peers == nil {
				continue
			}
			active, says := is.Active[share.Chain]
			there[is.Node] = slices.DeleteFunc(slices.Clone(is.Peers), func(id string) bool { return says && !slices.Contains(active, id) })
		}
		if gone := facts.Sets[i].Gone(there); gone > 0 && share.Leaves*(1-gone) < staking.Quorum {
			texts = append(texts, fmt.Sprintf("validators with about %s of the connected %s of %s have disconnected or become inactive, and count as connected",
				words.Percent(gone), share.whole(), share.Chain))
		}
	}
	return texts
}

// oldest is the maximum age of a run: it may take half a period.
func maxAge(run *metric.Run) time.Duration { return run.Period * 3 / 2 }

// Missing returns the names that are not in the list.
func Missing(names, list []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}
