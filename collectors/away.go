package collectors

import (
	"context"
	"slices"
	"time"
)

// peersNotice is the time that peers may take to notice that a node has stopped or hangs. The longest measured was 50 s.
const peersNotice = time.Minute

// Away returns the names of the nodes that do not answer now. A node is listed if the latest run of the
// collector up got no answer. If that collector does not run, a node is listed if the last call failed. A node whose last
// answer is older than within is listed too (0: any age is accepted). Peers may report such a node as connected for up to
// a minute more.
func (t *Targets) Away(within time.Duration) []string {
	names := []string{}
	for _, n := range t.Nodes() {
		if n.away(within) {
			names = append(names, n.Name())
		}
	}
	return names
}

func (n *Node) away(within time.Duration) bool {
	if n.otherNetwork.Load() {
		return false
	}
	answered, down := n.Answered(), !n.Healthy()
	n.mu.Lock()
	if n.probed {
		down = n.down
	}
	n.mu.Unlock()
	return down || within > 0 && !answered.IsZero() && time.Since(answered) > within
}

// found stores whether the node answered the collector up.
func (n *Node) found(answers bool) {
	n.mu.Lock()
	changed := n.down == answers
	n.probed, n.down = true, !answers
	if !answers {
		for end := range n.waiting {
			(*end)()
		}
	}
	n.mu.Unlock()
	if changed && n.Changed != nil {
		n.Changed(answers)
	}
}

// Probed reports whether the collector up has called the node.
func (n *Node) Probed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.probed
}

// untilAway returns a context that ends when the node is found not to answer.
func (n *Node) untilAway(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = map[*context.CancelFunc]bool{}
	}
	n.waiting[&end] = true
	return ctx, func() {
		n.mu.Lock()
		delete(n.waiting, &end)
		n.mu.Unlock()
		end()
	}
}

// away holds the configured nodes that do not answer, for one run.
type away struct {
	names []string        // without nodes that a view may still count as connected
	ids   map[string]bool // node IDs of which no configured name answers
	nodes map[*Node]bool
}

// away returns the nodes that do not answer. The ID of a node that has never answered is not
// known. The name of such a node is returned after peersNotice.
func (t *Targets) away(within time.Duration) away {
	found := away{names: []string{}}
	for _, n := range t.Nodes() {
		if !n.away(within) {
			continue
		}
		if found.nodes == nil {
			found.nodes, found.ids = map[*Node]bool{}, map[string]bool{}
		}
		found.nodes[n] = true
		id := n.knownID()
		if id != "" {
			found.ids[id] = true
		}
		if id != "" || time.Since(n.made) > peersNotice {
			found.names = append(found.names, n.Name())
		}
	}
	if len(found.ids) == 0 {
		return found // the usual case; return early, because this is called for each node of a fleet
	}
	for _, n := range t.Nodes() {
		if !found.nodes[n] {
			delete(found.ids, n.knownID())
		}
	}
	return found
}

// lastAnswer is the maximum age of a node's last answer for a run that begins now: one and a half
// periods, since a run may take half a period.
func lastAnswer(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return 3 * time.Until(deadline)
}

// present returns the nodes that answer, or all nodes if none does.
func (a away) present(nodes []*Node) []*Node {
	if len(a.nodes) == 0 {
		return nodes
	}
	there := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return a.nodes[n] })
	if len(there) == 0 {
		return nodes
	}
	return there
}
