package collectors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var (
	nodeIdentityChanges = metric.NewCounter("avax_node_identity_changes_total",
		"Changes of the node ID or BLS key since the exporter started. A change means that another machine answers at the node's address, or that the node has new keys.",
		"node")
	nodeDuplicate = metric.New("avax_node_duplicate",
		"1 if another node of this exporter has the same node ID, 0 if not. If 1, two configured names lead to one machine, or two machines use the same key.",
		"node")
	nodeNetworkMismatch = metric.New("avax_node_network_mismatch",
		"1 if the node does not belong to the expected network, 0 if it does. The expected network is AVAX_NETWORK. If the variable is not set, the expected network is the network of most nodes.",
		"node")
)

var fleet = &Spec{
	Name:     "fleet",
	Paged:    true,
	Help:     "Identity changes, duplicate node IDs and wrong networks.",
	Calls:    []string{"info.getNodeID", "info.getNetworkID"},
	Every:    time.Minute,
	Shares:   true, // the collector named identity makes the same calls
	Families: []*metric.Family{nodeIdentityChanges, nodeDuplicate, nodeNetworkMismatch},
	Bind:     perNetworkOf(func() networkCollect { return knownNodes{}.collect }),
}

// knownNodes holds the last known identity of each node, by its configured name.
type knownNodes map[string]*knownNode

type knownNode struct {
	id, key string
	changes int
	notes   []string // one for each different change, at most maxChangeNotes
}

// maxChangeNotes is the maximum number of notes about changes of one node. A limit is needed: if the node's address is
// a load balancer, the identity may change with every call.
const maxChangeNotes = 10

// changed reports whether a reported node ID or BLS key differs from the last one. It then stores the reported one in
// last. An empty text is not a change: an old release does not report the key.
func (s *knownNode) changed(name, what string, last *string, reported string) bool {
	if reported == "" || reported == *last {
		return false
	}
	before := *last
	*last = reported
	if before == "" {
		return false
	}
	// With a load balancer, the identity alternates between a few values. Each different change is logged once.
	note := fmt.Sprintf("the %s of %s changed from %s to %s", what, name, before, reported)
	if !slices.Contains(s.notes, note) {
		s.notes = append(s.notes[max(0, len(s.notes)+1-maxChangeNotes):], note)
	}
	return true
}

// found is the reported identity of one node.
type found struct {
	node          *nodes.Node
	name, id, key string
	network       uint64
}

func (seen knownNodes) collect(ctx context.Context, ups *Upstreams, out *metric.Batch) error {
	if len(ups.Nodes()) == 0 {
		return nil
	}
	all, err := nodes.Each(ctx, ups.Nodes(), func(ctx context.Context, n *nodes.Node) (found, error) {
		who, err := n.Identity(ctx)
		if err != nil {
			return found{}, err
		}
		network, err := n.NetworkID(scrape.MaxAge(ctx, networkAge))
		f := found{node: n, name: n.Name(), id: who.NodeID, network: network}
		if who.POP != nil {
			f.key = who.POP.PublicKey
		}
		return f, err
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(seen, func(name string, _ *knownNode) bool { return !ups.HasNode(name) })
	names := map[string][]string{} // by node ID
	networks := map[uint64]int{}
	for _, f := range all {
		names[f.id] = append(names[f.id], f.name)
		networks[f.network]++
	}
	expected := ups.NetworkID
	if expected == 0 {
		expected = slices.MaxFunc(all, func(a, b found) int { return networks[a.network] - networks[b.network] }).network
	}
	for _, f := range all {
		f.node.SetOtherNetwork(f.network != expected)
		same := names[f.id]
		out.SetBool(nodeDuplicate, len(same) > 1, f.name)
		if len(same) > 1 && same[0] == f.name {
			out.Note("%s have the same node ID, %s", strings.Join(same, " and "), f.id)
		}
		s := seen[f.name]
		if s == nil {
			s = &knownNode{}
			seen[f.name] = s
		}
		idChanged := s.changed(f.name, "node ID", &s.id, f.id)
		if keyChanged := s.changed(f.name, "BLS key", &s.key, f.key); idChanged || keyChanged {
			s.changes++
		}
		for _, note := range s.notes {
			out.Note("%s", note)
		}
		out.Set(nodeIdentityChanges, float64(s.changes), f.name)
		out.SetBool(nodeNetworkMismatch, f.network != expected, f.name)
		if f.network != expected {
			out.Note("%s belongs to network %d, expected network %d", f.name, f.network, expected)
		}
	}
	return nil
}

// networkAge is the maximum age of a node's network ID. The network changes only if another machine answers.
const networkAge = 30 * time.Second
