package nodes

import (
	"slices"
	"time"
)

const (
	// pastFor is how long a restart is remembered.
	pastFor = 30 * 24 * time.Hour
	// longestRestart is the longest time without an answer that counts as a restart. Nobody plans a longer one without a word.
	longestRestart = 4 * time.Minute
	// enoughRestarts is how many restarts tell how long one takes, and maxRestarts how many are remembered.
	enoughRestarts, maxRestarts = 3, 50
)

// PastEntry is the key of a stored map of Past by the name of the node.
const PastEntry = "nodes"

// Past is what is known of the answers of a node, also from before the exporter's start if its state is stored.
type Past struct {
	Answered time.Time `json:"answered"` // zero: never
	// Restarts are the last times without an answer, of 30 days.
	Restarts []Restart `json:"restarts,omitempty"`
}

// Restart is a time without an answer, from the last probe that was answered to the next one.
type Restart struct {
	Ended time.Time     `json:"ended"`
	Took  time.Duration `json:"took"`
}

// restarted adds a restart.
func (p *Past) restarted(r Restart) {
	p.Restarts = append(slices.DeleteFunc(p.Restarts, func(old Restart) bool { return r.Ended.Sub(old.Ended) > pastFor }), r)
	p.Restarts = p.Restarts[max(0, len(p.Restarts)-maxRestarts):]
}

// Longest returns the longest restart of the last 30 days; zero if there were less than three: one short restart says nothing about the next.
func (p Past) Longest() (longest time.Duration) {
	n := 0
	for _, r := range p.Restarts {
		if time.Since(r.Ended) <= pastFor {
			longest = max(longest, r.Took)
			n++
		}
	}
	if n < enoughRestarts {
		return 0
	}
	return longest
}

// Past returns what is known of the node's answers.
func (n *Node) Past() Past {
	succeeded := n.Succeeded()
	n.mu.Lock()
	defer n.mu.Unlock()
	p := Past{n.past.Answered, slices.Clone(n.past.Restarts)}
	if succeeded.After(p.Answered) {
		p.Answered = succeeded
	}
	return p
}

// Remember gives a node what was known of its answers before the exporter's start. Call it before the first call of the node.
func (n *Node) Remember(p Past) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.past = p
}

// noteProbe stores what a probe says about restarts. The caller holds mu.
func (n *Node) noteProbe(answers bool, now time.Time) {
	if !answers {
		return
	}
	if took := now.Sub(n.upProbe); n.down && !n.upProbe.IsZero() && took <= longestRestart {
		n.past.restarted(Restart{now.Round(0), took})
	}
	n.upProbe = now
}
