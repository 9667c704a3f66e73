package collectors

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

var (
	nodeIdentityChanges = metric.NewCounter("avax_node_identity_changes_total",
		"Changes of the node ID or BLS key since the exporter started. A change means that another machine answers at the node's address, or that the node has "+
			"new keys.",
		"node")
	nodeDuplicate = metric.New("avax_node_duplicate",
		"1 if another node of this exporter has the same node ID, 0 if not. If 1, two configured names lead to one machine, or two machines use the same key.",
		"node")
	nodeNetworkMismatch = metric.New("avax_node_network_mismatch",
		"1 if the node does not belong to the expected network, 0 if it does. The expected network is AVAX_NETWORK. If the variable is not set, the expected "+
			"network is the network of most nodes.",
		"node")
)

var fleet = &collector.Spec{
	Name:          "fleet",
	Critical:      true,
	Help:          "Identity changes, duplicate node IDs and wrong networks.",
	Calls:         []string{"info.getNodeID", "info.getNetworkID"},
	Every:         time.Minute,
	ReusesAnswers: true, // the collector named identity makes the same calls
	Families:      []*metric.Family{nodeIdentityChanges, nodeDuplicate, nodeNetworkMismatch},
	Bind:          collector.PerBegin(collector.Network, func() collector.Collect { return knownNodes{}.collect }),
}

// knownNodes holds the last known identity of each node. A node with another URL is another node.
type knownNodes map[*nodes.Node]*knownNode

type knownNode struct {
	id, key string
	changes int
}

// changed reports whether a reported node ID or BLS key differs from the last one, and notes it. It then stores the reported one in
// last. An empty text is not a change: an old release does not report the key.
func changed(out *metric.Batch, name, what string, last *string, reported string) bool {
	before := *last
	*last = cmp.Or(reported, before)
	if before == "" || *last == before {
		return false
	}
	out.Note("the %s of %s changed from %s to %s", what, name, before, reported)
	return true
}

func (seen knownNodes) collect(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	if len(ups.Nodes()) == 0 {
		return nil
	}
	past := map[string]nodes.Past{}
	for _, n := range ups.Nodes() {
		past[n.Name()] = n.Past()
	}
	ups.Save(out, nodes.PastEntry, past)
	all, err := ups.Identities(ctx)
	if err != nil {
		return err
	}
	expected, err := ups.Network(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(seen, func(n *nodes.Node, _ *knownNode) bool { return !slices.Contains(ups.Nodes(), n) })
	names := map[string][]string{} // by node ID
	for _, n := range all {
		names[n.Identity.NodeID] = append(names[n.Identity.NodeID], n.Name())
	}
	for _, n := range all {
		name, key := n.Name(), ""
		if n.POP != nil {
			key = n.POP.PublicKey
		}
		same := names[n.Identity.NodeID]
		out.SetBool(nodeDuplicate, len(same) > 1, name)
		if len(same) > 1 && same[0] == name {
			out.Note("%s have the same node ID, %s", strings.Join(same, " and "), n.Identity.NodeID)
		}
		s := seen[n.Node]
		if s == nil {
			s = &knownNode{}
			seen[n.Node] = s
		}
		idChanged := changed(out, name, "node ID", &s.id, n.Identity.NodeID)
		if keyChanged := changed(out, name, "BLS key", &s.key, key); idChanged || keyChanged {
			s.changes++
		}
		out.Set(nodeIdentityChanges, float64(s.changes), name)
		out.SetBool(nodeNetworkMismatch, n.Network != expected, name)
		if n.Network != expected {
			out.Note("%s belongs to network %d, expected network %d", name, n.Network, expected)
		}
	}
	return nil
}
