package collectors

import (
	"context"
	"slices"
	"time"
)

// peerDetectionDelay is the maximum time until peers report a stopped or hanging node as disconnected. The longest
// measured time was 50 s.
const peerDetectionDelay = time.Minute

// Unreachable returns the names of the nodes that do not answer. A node is listed if the latest run of the collector
// up got no answer. If that collector does not run, the node's last call counts instead. A node is also listed if its
// last answer is older than within (0: no limit). Peers may report a listed node as connected for up to
// peerDetectionDelay.
func (t *Targets) Unreachable(within time.Duration) []string {
	names := []string{}
	for _, n := range t.Nodes() {
		if n.unreachable(within) {
			names = append(names, n.Name())
		}
	}
	return names
}

func (n *Node) unreachable(within time.Duration) bool {
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

// setProbed stores whether the node answered the collector up. If it did not, setProbed cancels the calls that wait
// for the node.
func (n *Node) setProbed(answers bool) {
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

// untilUnreachable returns a context that ends when a run of the collector up gets no answer from the node.
func (n *Node) untilUnreachable(ctx context.Context) (context.Context, context.CancelFunc) {
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

// unreachableNodes holds the configured nodes that do not answer, for one run.
type unreachableNodes struct {
	names []string        // excludes nodes without a known ID that stopped less than peerDetectionDelay ago
	ids   map[string]bool // node IDs for which no configured node answers
	nodes map[*Node]bool
}

// unreachable returns the nodes that do not answer. The ID of a node that has never answered is not known, so a view
// may still count that node as connected. Its name is returned only after peerDetectionDelay.
func (t *Targets) unreachable(within time.Duration) unreachableNodes {
	found := unreachableNodes{names: []string{}}
	for _, n := range t.Nodes() {
		if !n.unreachable(within) {
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
		if id != "" || time.Since(n.made) > peerDetectionDelay {
			found.names = append(found.names, n.Name())
		}
	}
	if len(found.ids) == 0 {
		return found // the usual case; it must be fast, because every run of l1_views calls this
	}
	for _, n := range t.Nodes() {
		if !found.nodes[n] {
			delete(found.ids, n.knownID())
		}
	}
	return found
}

// lastAnswer returns the maximum age of a node's last answer, for a run that begins now. It is one and a half
// periods: the run's deadline is after half a period.
func lastAnswer(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return 3 * time.Until(deadline)
}

// present returns the nodes that answer. If no node answers, it returns all nodes.
func (a unreachableNodes) present(nodes []*Node) []*Node {
	if len(a.nodes) == 0 {
		return nodes
	}
	there := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return a.nodes[n] })
	if len(there) == 0 {
		return nodes
	}
	return there
}
