package nodes

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/words"
)

const (
	// pastFor is how long a restart is remembered.
	pastFor = 30 * 24 * time.Hour
	// longestRestart is the longest time without an answer that counts as a restart. Nobody plans a longer one without a word.
	longestRestart = 4 * time.Minute
	// enoughRestarts is how many restarts tell how long one takes, and maxRestarts how many are remembered.
	enoughRestarts, maxRestarts = 3, 50
	// expectedFor is how long a validator that is missing is expected to come back. After this time, the operator wants it so.
	expectedFor = 24 * time.Hour
	// identityFor is how long a node must have had its node ID. Several nodes behind one URL, and one that claims the IDs of others, change it more often.
	identityFor = time.Hour
)

// PastEntry is the key of a stored map of Past by the name of the node.
const PastEntry = "nodes"

// Past is what is known of the answers of a node, also from before the exporter's start if its state is stored.
type Past struct {
	Answered time.Time `json:"answered"` // zero: never
	// Restarts are the last times without an answer, of 30 days.
	Restarts []Restart `json:"restarts,omitempty"`
	ID       string    `json:"id,omitempty"` // the last node ID
	// Changed is the last change of the node ID, if there was one.
	Changed *IDChange `json:"changed,omitempty"`
	// Validated are the IDs with which the node was in the validator set of the primary network, and since when each is missing there; zero if it is not.
	Validated map[string]time.Time `json:"validated,omitempty"`
}

// IDChange is a change of the node ID.
type IDChange struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
}

// identified stores a reported node ID, and returns whether it is another one than before.
func (p *Past) identified(id string, now time.Time) (changed bool) {
	if changed = p.ID != "" && p.ID != id; changed {
		p.Changed = &IDChange{now.Round(0), p.ID}
	}
	p.ID = id
	return changed
}

// Unsettled returns why nobody knows which node answers: its ID has changed within the last hour. It is empty otherwise.
func (p Past) Unsettled() string {
	if p.Changed == nil || time.Since(p.Changed.At) > identityFor {
		return ""
	}
	return fmt.Sprintf("its node ID changed from %s to %s at %s: check which node answers at its URL, and ask again from %s", p.Changed.From, p.ID,
		words.ClockTime(time.Now(), p.Changed.At), words.ClockTime(time.Now(), p.Changed.At.Add(identityFor)))
}

// Expected returns the IDs with which the node was in the validator set of the primary network, but for those that are missing for a day.
func (n *Node) Expected() (ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, missing := range n.past.Validated {
		if missing.IsZero() || time.Since(missing) < expectedFor {
			ids = append(ids, id)
		}
	}
	return ids
}

// NoteValidators stores which of the node's IDs are in the validator set.
func (n *Node) NoteValidators(present map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	validated := maps.Clone(n.past.Validated)
	for id, missing := range validated {
		switch {
		case present[id]:
			validated[id] = time.Time{}
		case missing.IsZero():
			validated[id] = time.Now().Round(0)
		case time.Since(missing) >= expectedFor:
			delete(validated, id)
		}
	}
	if present[n.id] {
		if validated == nil {
			validated = map[string]time.Time{}
		}
		validated[n.id] = time.Time{}
	}
	n.past.Validated = validated // another one: Past has been given out
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
	p := n.past
	p.Restarts = slices.Clone(p.Restarts)
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
