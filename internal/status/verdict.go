package status

import (
	"fmt"
	"slices"
	"sync"
	"time"

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

// Pool is what the pool of nodes and the scheduler know now, without samples.
type Pool struct {
	// Progress returns the number of jobs whose first run has ended, and the number of jobs.
	Progress func() (ran, of int)
	// Undiscovered returns the names of the nodes whose chains are not known yet; nil without discovery of chains.
	Undiscovered func() []string
	// Chains returns the names of the monitored chains of subnets.
	Chains func() []string
	// Unreachable returns the names of the nodes that do not answer now, or whose last answer is older than the duration within.
	Unreachable func(within time.Duration) []string
}

// Once returns a pool that is asked at most once for each fact, for many verdicts at one time.
func (p Pool) Once() Pool {
	p.Chains = sync.OnceValue(p.Chains)
	if p.Undiscovered != nil {
		p.Undiscovered = sync.OnceValue(p.Undiscovered)
	}
	known, unreachable := map[time.Duration][]string{}, p.Unreachable
	p.Unreachable = func(within time.Duration) []string {
		names, asked := known[within]
		if !asked {
			names = unreachable(within)
			known[within] = names
		}
		return names
	}
	return p
}

// starting returns why nothing is known while the collectors run for the first time; empty afterwards.
func (p Pool) starting() string {
	if ran, of := p.Progress(); ran < of || of == 0 {
		return fmt.Sprintf("not known: %d of %d collectors have run", ran, of)
	}
	return ""
}

// uncounted returns why the last good run of safe_to_stop may be incomplete or outdated: the chains of a node are not known yet, the run is old or
// did not count a chain, or nodes have stopped answering that the run counted as connected. Otherwise it returns an empty string.
func (st *Status) uncounted(p Pool) string {
	if p.Undiscovered != nil {
		if nodes := p.Undiscovered(); len(nodes) > 0 {
			return "the chains of " + words.Brief(nodes) + " are not known yet: retry in a few seconds"
		}
	}
	run := st.safeToStopRun
	oldest := run.Period * 3 / 2 // a run may take half a period
	if age := st.At.Sub(run.At); age > oldest && run.Collector != "" {
		return fmt.Sprintf("the last answer is %s old: %s", words.Seconds(age.Seconds()), st.why(isStop))
	}
	if added := Missing(p.Chains(), run.Facts.Chains); len(added) > 0 {
		return "chain " + words.Brief(added) + " is not counted yet: retry in a few seconds"
	}
	if missed := Missing(p.Unreachable(oldest), run.Facts.Unreachable); len(missed) > 0 {
		return words.Brief(missed) + " stopped answering and still counts as connected: retry in a few seconds"
	}
	return ""
}

// Missing returns the names that are not in the list.
func Missing(names, list []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}
