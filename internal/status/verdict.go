package status

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
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
}

// once returns a function that asks for names at most once: a status has one time, and many verdicts need them.
func once(names func() []string) func() []string {
	if names == nil {
		return func() []string { return nil }
	}
	return sync.OnceValue(names)
}

// starting returns why nothing is known while the collectors run for the first time; empty afterwards.
func (st *Status) starting() string {
	if ran, of := st.pool.Progress(); ran < of || of == 0 {
		return fmt.Sprintf("not known: %d of %d collectors have run", ran, of)
	}
	return ""
}

// uncounted returns why the last good run of safe_to_stop may be incomplete or outdated: the chains of a node are not known yet, the run is old or
// did not count a chain, or nodes have stopped answering that the run counted as connected. Otherwise it returns an empty string.
func (st *Status) uncounted() string {
	if nodes := st.pool.Undiscovered(); len(nodes) > 0 {
		return "the chains of " + words.Brief(nodes) + " are not known yet: retry in a few seconds"
	}
	run := st.safeToStopRun
	if age := st.At.Sub(run.At); age > maxAge(run) && run.Collector != "" {
		return fmt.Sprintf("the last answer is %s old: %s", words.Seconds(age.Seconds()), st.why(isStop))
	}
	if added := Missing(st.pool.Chains(), run.Facts.Chains); len(added) > 0 {
		return "chain " + words.Brief(added) + " is not counted yet: retry in a few seconds"
	}
	if missed := Missing(st.unreachable(), run.Facts.Unreachable); len(missed) > 0 {
		return words.Brief(missed) + " stopped answering and still counts as connected: retry in a few seconds"
	}
	return ""
}

// oldest is the maximum age of a run: it may take half a period.
func maxAge(run *metric.Run) time.Duration { return run.Period * 3 / 2 }

// Missing returns the names that are not in the list.
func Missing(names, list []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}
