package collectors

import (
	"context"
	"slices"
	"time"
)

// peerDetectionDelay is the maximum time until peers report that a stopped or hanging node is not connected. The
// longest measured time was 50 s.
const peerDetectionDelay = time.Minute

// Unreachable returns the names of the nodes that do not answer. A node does not answer if it did not answer the latest
// up probe. If the collector "up" does not run, the node's last call counts instead. A node also does not answer if its
// last answer is older than maxAge (0: no limit).
func (t *Targets) Unreachable(maxAge time.Duration) []string {
	names := []string{}
	for _, n := range t.Nodes() {
		if n.unreachable(maxAge) {
			names = append(names, n.Name())
		}
	}
	return names
}

func (n *Node) unreachable(maxAge time.Duration) bool {
	if n.otherNetwork.Load() {
		return false
	}
	answered, down := n.Answered(), !n.Healthy()
	n.mu.Lock()
	if n.probed {
		down = n.down
	}
	n.mu.Unlock()
	return down || maxAge > 0 && !answered.IsZero() && time.Since(answered) > maxAge
}

// setProbed stores whether the node answered the up probe. If the node did not answer, setProbed cancels the calls that
// wait for the node.
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

// Probed reports whether the collector "up" has called the node.
func (n *Node) Probed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.probed
}

// untilUnreachable returns a context that ends when the node does not answer an up probe.
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
	names []string        // see Targets.unreachable for the nodes that are omitted
	ids   map[string]bool // node IDs; omits the ID if another configured node with the same ID answers
	nodes map[*Node]bool
}

// unreachable returns the nodes that do not answer, as Unreachable defines it. Collectors count these nodes as not
// connected, by their IDs. The ID of a node that has never answered is not known, so this is not possible for such a
// node. Its name is omitted until peerDetectionDelay after the node was added: then its peers report it correctly.
func (t *Targets) unreachable(maxAge time.Duration) unreachableNodes {
	found := unreachableNodes{names: []string{}}
	for _, n := range t.Nodes() {
		if !n.unreachable(maxAge) {
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
		if id != "" || time.Since(n.added) > peerDetectionDelay {
			found.names = append(found.names, n.Name())
		}
	}
	if len(found.ids) == 0 {
		return found // this is the usual case, and must be fast: every run of l1_views calls this method
	}
	for _, n := range t.Nodes() {
		if !found.nodes[n] {
			delete(found.ids, n.knownID())
		}
	}
	return found
}

// maxAnswerAge returns the maximum age of the last answer of a node that counts as reachable. It is one and a half
// periods of the collector. The caller's run has just started, and its deadline is after half a period.
func maxAnswerAge(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return 3 * time.Until(deadline)
}

// present returns those of the nodes that answer. If none answers, it returns all of them.
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
