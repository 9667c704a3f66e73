// Package status tells the state of what is monitored: of nodes, validators and L1s, and the active alerts about them.
package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Status is the state of everything that is monitored at one time. It is built once for a page or an answer.
type Status struct {
	At time.Time
	// Force ignores that another node was told within a minute that it may stop.
	Force bool
	Names
	Jobs              []*metric.Job
	Nodes             []*Node       // configured nodes, worst first
	Observers         []*Observer   // by name
	Validators        []*Validator  // of the primary network, by node ID
	L1s               []*L1         // monitored L1s and permissioned subnets, by name
	Delegations       []*Delegation // by transaction
	UnknownDelegators []string      // a text about each monitored address of which nothing is known

	samples       samples
	voices        voices
	allL1s        []*L1            // those of l1ByChain in the order of their chains
	nodeByName    map[string]*Node // of every node and observer with a sample
	l1ByChain     map[string]*L1   // of every chain with a sample about its validators
	validators    map[string]*Validator
	pool          Pool
	unreachable   func() []string      // see Pool
	missing       map[string]time.Time // set while Restarts.See notes what is missing, and since when
	restarts      *Restarts            // which nodes have restarted, set by Restarts.See; until then SafeToStop does not know of nodes that are away
	safeToStopRun *metric.Run          // the last good run of safe_to_stop; empty if there is none
	// Both look at all nodes, and the answer about each node needs them.
	uncounted, onWordOf func() string // whyUncounted and restsOn, once
}

// Of returns the status at a time. At the zero time, no sample has expired.
func Of(jobs []*metric.Job, now time.Time, pool Pool) *Status {
	st := newStatus(jobs, now, pool)
	st.readNodes()
	st.readValidators()
	st.readL1s()
	st.readDelegations()
	st.readObservers()
	st.readStates()
	return st
}

// newStatus returns a status with the samples of these families; of all without families.
func newStatus(jobs []*metric.Job, now time.Time, pool Pool, only ...family) *Status {
	run := safeToStopRun(jobs)
	pool.Nodes, pool.Chains, pool.Undiscovered = once(pool.Nodes), once(pool.Chains), once(pool.Undiscovered)
	st := &Status{
		At: now, Jobs: jobs, Names: NamesOf(jobs, pool), samples: samplesAt(jobs, now, only...), voices: voicesOf(jobs, now), pool: pool, safeToStopRun: run,
		unreachable: sync.OnceValue(func() []string { return pool.Unreachable(maxAge(run)) }),
		nodeByName:  map[string]*Node{}, l1ByChain: map[string]*L1{}, validators: map[string]*Validator{},
	}
	st.uncounted, st.onWordOf = sync.OnceValue(st.whyUncounted), sync.OnceValue(st.restsOn)
	return st
}

// OfNodes returns the status with what nodes report about themselves and their chains only. It is cheap.
func OfNodes(jobs []*metric.Job, now time.Time, pool Pool) *Status {
	st := newStatus(jobs, now, pool, nodeFamilies()...)
	st.readNodes()
	st.readStates()
	return st
}

// NoNodes reports whether no node is configured.
func (st *Status) NoNodes() bool { return len(st.Nodes) == 0 }

// Node returns the node or observer with this name. All is absent if nothing is known about it.
func (st *Status) Node(name string) *Node {
	if n := st.nodeByName[name]; n != nil {
		return n
	}
	return st.newNode(name)
}

// L1 returns the L1 with this chain. All is absent if nothing is known about it.
func (st *Status) L1(chain string) *L1 {
	if l := st.l1ByChain[chain]; l != nil {
		return l
	}
	return newL1(chain)
}

// why returns why these jobs have no valid samples.
func (st *Status) why(of func(metric.Key) bool) string {
	var failing []string
	ran := false
	for _, j := range st.Jobs {
		if !of(j.Last.Key) {
			continue
		}
		ran = true
		switch {
		case j.Last.Err != nil:
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" fails: "+j.Last.Err.Error())
		case !st.At.Before(j.Good.Until):
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" has not run since "+j.Good.At.UTC().Format(time.RFC3339))
		}
	}
	switch {
	case len(failing) > 0:
		return strings.Join(failing, "; ")
	case !ran:
		return "its collector has not run here: it may be disabled"
	}
	return "the last runs did not report it"
}

// Sample is a sample with its series in PromQL.
type Sample struct {
	Series string
	Value  float64
}

// Samples returns the samples that a function accepts by their labels, sorted by series.
func (st *Status) Samples(accepts func(label func(name string) string) bool) (found []Sample) {
	for family, chunks := range st.samples {
		for _, c := range chunks {
			for _, s := range c.Samples {
				label := func(name string) string {
					if i := slices.Index(c.Family.Labels, name); i >= 0 {
						return s.Labels[i]
					}
					return ""
				}
				if accepts(label) {
					var labels []string
					for i, name := range c.Family.Labels {
						labels = append(labels, name+"="+strconv.Quote(s.Labels[i]))
					}
					found = append(found, Sample{family + "{" + strings.Join(labels, ",") + "}", s.Value})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Sample) int { return strings.Compare(a.Series, b.Series) })
	return found
}

// CompareChains sorts the chains of the primary network first, then by name.
func CompareChains(a, b string) int {
	const primary = "PXC"
	place := func(chain string) int {
		if at := strings.Index(primary, chain); len(chain) == 1 && at >= 0 {
			return at
		}
		return len(primary)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
}

// sorted returns the values of a map in the order of their keys.
func sorted[T any](all map[string]T, compare func(a, b string) int) (list []T) {
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compare)
	for _, key := range keys {
		list = append(list, all[key])
	}
	return list
}
