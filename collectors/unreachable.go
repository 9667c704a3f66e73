package collectors

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// peerDetectionDelay is the maximum time until peers report that a stopped or hanging node is not connected. The
// longest measured time was 50 s.
const peerDetectionDelay = time.Minute

// Unreachable returns the names of the unreachable nodes. A node is unreachable if it did not answer the latest up
// probe. If the collector "up" does not run, the node's last call counts instead. A node is also unreachable if its last
// answer is older than maxAge (0: no limit).
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

// probeOtherShards calls each node of another shard, so that its state is known here. The collector "up" calls only the
// nodes of this shard.
func (t *Targets) probeOtherShards(ctx context.Context) {
	nodes := slices.DeleteFunc(slices.Clone(t.Nodes()), func(n *Node) bool { return !n.OtherShard })
	// The client stores the result of each call.
	_, _ = each(scrape.MaxAge(ctx, maxAnswerAge(ctx)/3), nodes, func(ctx context.Context, n *Node) (struct{}, error) {
		_, err := n.Identity(ctx)
		return struct{}{}, err
	})
}

// unreachableNodes holds the configured nodes that are unreachable during one run.
type unreachableNodes struct {
	names []string        // omits some new nodes: see Targets.unreachable
	ids   map[string]bool // node IDs; an ID is omitted if another configured node with this ID is reachable
	nodes map[*Node]bool
}

// unreachable returns the unreachable nodes, as Unreachable defines them. Collectors count an unreachable node as not
// connected, by its ID. If a node has never answered, its ID is not known, and its peers may report it as connected. So
// the field names omits such a node until peerDetectionDelay after the exporter added it.
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

// maxAnswerAge returns the maximum age of the last answer of a reachable node: one and a half periods of the collector.
// Call it at the start of a run, because the deadline of ctx is then half a period away.
func maxAnswerAge(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return 3 * time.Until(deadline)
}

// present returns the nodes of the list that are reachable. If none is reachable, it returns the whole list.
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
