package collectors

import (
	"context"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	l1ConnectedWeight = metric.New("avax_l1_connected_weight",
		"Weight of the active validators that the node is connected to, including the node itself, in the unit of the chain. A configured node that does not "+
			"answer, or whose chain does not answer, counts as not connected.",
		"node", "chain")
	l1ValidatorConnected = metric.New("avax_l1_validator_connected",
		"1 if the node is connected to the validator, 0 if not. 0 for an inactive validator, even if its node is up, and for a configured node whose chain does "+
			"not answer. 1 for a validator that the node has benched. Absent if the validator is the node itself.", "node", "chain", "node_id", "validation_id")
	l1ValidatorUptime = metric.New("avax_l1_validator_uptime_ratio",
		"Uptime of the validator: the share (0 to 1) of its validation in which the node was connected to the validator. Absent if the validator is the node itself.",
		"node", "chain", "node_id", "validation_id")
	l1ValidatorUptimeSeconds = metric.New("avax_l1_validator_uptime_seconds",
		"Time in seconds of its validation in which the node was connected to the validator. Nodes count the time after a top-up of a validator that is down, and "+
			"subtract it when they connect to it. Absent if the validator is the node itself.",
		"node", "chain", "node_id", "validation_id")
)

var l1Views = &collector.Spec{
	Name:     "l1_views",
	Critical: true,
	Help:     "Uptime and connection of L1 validators, as observed by each node that tracks the chain.",
	Calls:    []string{"validators.getCurrentValidators", "info.getNodeID", "info.isBootstrapped", "info.peers"},
	Every:    time.Minute,
	OnChange: true,
	Families: []*metric.Family{l1ConnectedWeight, l1ValidatorConnected, l1ValidatorUptime, l1ValidatorUptimeSeconds},
	Bind:     collector.Per(collector.Pairs(collector.SubnetChains, collector.NodesAndObservers), collectL1Views),
}

// unknownFor is the time after a validator was added in which nodes report it as disconnected: they update their uptime trackers once a
// minute. An L1 that adds a large validator must not look as if it lost that weight.
const unknownFor = 3 * time.Minute

func collectL1Views(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n, c := on.Node, on.Chain
	maxAge := nodes.MaxAnswerAge(ctx)
	self, err := n.ID(ctx)
	if err != nil {
		return err
	}
	set, err := chainSet(ctx, n, c)
	if err != nil {
		return err
	}
	down, stopped := ups.Unreachable(maxAge), ups.ChainStopped(c.Ref)
	peer := peersOf(ctx, n)
	var connected uint64
	for _, v := range set {
		if v.IsActive && !v.IsConnected && time.Since(v.StartTimestamp.Time) < unknownFor {
			v.IsConnected = peer(v.NodeID).NodeID != ""
		}
		if v.IsActive && (v.IsConnected && !down.IDs[v.NodeID] || v.NodeID == self) && !stopped[v.NodeID] {
			connected += uint64(v.Weight)
		}
		if v.NodeID == self {
			continue
		}
		out.SetBool(l1ValidatorConnected, (v.IsConnected || v.IsActive && len(peer(v.NodeID).Benched) > 0) && !stopped[v.NodeID], n.Name(), c.Name, v.NodeID,
			v.ValidationID)
		out.Set(l1ValidatorUptime, v.UptimePercentage.Ratio(), n.Name(), c.Name, v.NodeID, v.ValidationID)
		out.Set(l1ValidatorUptimeSeconds, v.UptimeSeconds.Seconds(), n.Name(), c.Name, v.NodeID, v.ValidationID)
	}
	out.Set(l1ConnectedWeight, float64(connected), n.Name(), c.Name)
	return nil
}

// peersOf returns a function that returns the node's peer with an ID, or the zero Peer. Which validators are its peers explains what it
// reports about them: for a limited time it does not query a validator that it has benched, and reports it as disconnected on all
// chains. The function requests the peers once, and only if it is called.
func peersOf(ctx context.Context, n *nodes.Node) func(id string) node.Peer {
	list := sync.OnceValue(func() map[string]node.Peer {
		found := map[string]node.Peer{}
		if n.Observer {
			return found
		}
		answer, err := n.Peers(ctx)
		if err != nil {
			return found
		}
		for _, p := range answer.Peers {
			found[p.NodeID] = p
		}
		return found
	})
	return func(id string) node.Peer { return list()[id] }
}
