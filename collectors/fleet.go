package collectors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	nodeIdentityChanges = metric.NewCounter("avax_node_identity_changes_total",
		"Changes of the node ID or BLS key since the exporter started. After a change, another machine answers at this name, or the node has new keys.",
		"node")
	nodeDuplicate = metric.New("avax_node_duplicate",
		"1 if another configured node has the same node ID, 0 if not. 1 means that two names lead to one machine, or that two machines use one key.",
		"node")
	nodeNetworkMismatch = metric.New("avax_node_network_mismatch",
		"1 if the node belongs to another network than AVAX_NODE_NETWORK_ID, or than most nodes if that is not set; 0 if not.",
		"node")
)

var fleet = &Spec{
	Name:     "fleet",
	Help:     "Identity changes, duplicate node IDs and wrong networks.",
	Calls:    []string{"info.getNodeID", "info.getNetworkID"},
	Every:    time.Minute,
	Shares:   true, // answers of the collector identity
	Families: []*metric.Family{nodeIdentityChanges, nodeDuplicate, nodeNetworkMismatch},
	Scope:    metric.ScopeNetwork,
	Bind: func(ups *Upstreams) []Job {
		s := &seenNodes{byName: map[string]*seenNode{}}
		return perNetwork(s.collect)(ups)
	},
}

// seenNodes are the last known identities of the nodes, by their configured names.
type seenNodes struct {
	mu     sync.Mutex
	byName map[string]*seenNode
}

type seenNode struct {
	id, key string
	changes int
	notes   []string // the last notes
}

// mostChanges is the maximum number of changes to log for one node: behind a load balancer its identity
// changes with every call.
const mostChanges = 10

// changed stores the reported identity of the node. A key that an old release does not report is not a
// change.
func (s *seenNode) changed(name, what string, was *string, is string) bool {
	if is == "" || is == *was {
		return false
	}
	before := *was
	*was = is
	if before == "" {
		return false
	}
	// Behind a load balancer the identity alternates. Each one is logged once.
	note := fmt.Sprintf("the %s of %s changed from %s to %s", what, name, before, is)
	if !slices.Contains(s.notes, note) {
		s.notes = append(s.notes[max(0, len(s.notes)+1-mostChanges):], note)
	}
	return true
}

// found is the reported identity of one node.
type found struct {
	node          *Node
	name, id, key string
	network       uint64
}

func (seen *seenNodes) collect(ctx context.Context, t *Targets, out *metric.Batch) error {
	if len(t.Nodes()) == 0 {
		return nil
	}
	all, err := each(ctx, t.Nodes(), func(ctx context.Context, n *Node) (found, error) {
		who, err := n.Identity(ctx)
		if err != nil {
			return found{}, err
		}
		network, err := n.networkID(ctx)
		f := found{node: n, name: n.Name(), id: who.NodeID, network: network}
		if who.POP != nil {
			f.key = who.POP.PublicKey
		}
		return f, err
	})
	if err != nil {
		return err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.forget(t.Nodes())
	names := map[string][]string{} // by node ID
	networks := map[uint64]int{}
	for _, f := range all {
		names[f.id] = append(names[f.id], f.name)
		networks[f.network]++
	}
	expected := t.NetworkID
	if expected == 0 {
		expected = slices.MaxFunc(all, func(a, b found) int { return networks[a.network] - networks[b.network] }).network
	}
	for _, f := range all {
		s := seen.byName[f.name]
		if s == nil {
			s = &seenNode{}
			seen.byName[f.name] = s
		}
		idChanged := s.changed(f.name, "node ID", &s.id, f.id)
		if keyChanged := s.changed(f.name, "BLS key", &s.key, f.key); idChanged || keyChanged {
			s.changes++
		}
		for _, note := range s.notes {
			out.Note("%s", note)
		}
		out.Set(nodeIdentityChanges, float64(s.changes), f.name)
		out.SetBool(nodeDuplicate, len(names[f.id]) > 1, f.name)
		if same := names[f.id]; len(same) > 1 && same[0] == f.name {
			out.Note("%s answer with one node ID, %s", strings.Join(same, " and "), f.id)
		}
		f.node.otherNetwork.Store(f.network != expected)
		out.SetBool(nodeNetworkMismatch, f.network != expected, f.name)
		if f.network != expected {
			out.Note("%s belongs to network %d, not to network %d", f.name, f.network, expected)
		}
	}
	return nil
}

// forget removes the nodes that are no longer configured.
func (seen *seenNodes) forget(present []*Node) {
	wanted := map[string]bool{}
	for _, n := range present {
		wanted[n.Name()] = true
	}
	for name := range seen.byName {
		if !wanted[name] {
			delete(seen.byName, name)
		}
	}
}
