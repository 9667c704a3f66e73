package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	l1ConnectedWeight = metric.New("avax_l1_connected_weight",
		"Weight of the active validators that the node is connected to, including itself, in the unit of the chain. Configured nodes that do not answer are left out.",
		"node", "chain")
	l1ValidatorConnected = metric.New("avax_l1_validator_connected",
		"1 if the node is connected to the validator, 0 if not. An inactive validator has 0 even if it is up. The node's view of itself is left out.", "node", "chain", "node_id", "validation_id")
	l1ValidatorUptime = metric.New("avax_l1_validator_uptime_ratio",
		"Share (0 to 1) of the validation in which the node saw the validator connected. The node's view of itself is left out.",
		"node", "chain", "node_id", "validation_id")
	l1ValidatorUptimeSeconds = metric.NewCounter("avax_l1_validator_uptime_seconds_total",
		"How long the node saw the validator connected. The node's view of itself is left out.",
		"node", "chain", "node_id", "validation_id")
)

var l1Views = &Spec{
	Name:     "l1_views",
	Help:     "Uptime and connection of L1 validators, as a node that tracks the chain sees them.",
	Calls:    []string{"validators.getCurrentValidators", "info.getNodeID"},
	Every:    time.Minute,
	OnChange: true,
	Families: []*metric.Family{l1ConnectedWeight, l1ValidatorConnected, l1ValidatorUptime, l1ValidatorUptimeSeconds},
	Scope:    metric.ScopeNodeChain,
	Bind:     perNodeOrObserverAndChain((*Targets).subnetChains, collectL1Views),
}

func collectL1Views(ctx context.Context, t *Targets, n *Node, c Chain, out *metric.Batch) error {
	within := lastAnswer(ctx)
	self, err := n.ID(ctx)
	if err != nil {
		return err
	}
	set, err := chainSet(ctx, n, c)
	if err != nil {
		return err
	}
	gone := t.away(within)
	var connected uint64
	for _, v := range set {
		if v.IsActive && (v.IsConnected && !gone.ids[v.NodeID] || v.NodeID == self) {
			connected += uint64(v.Weight)
		}
		if v.NodeID == self {
			continue
		}
		out.SetBool(l1ValidatorConnected, v.IsConnected, n.Name(), c.Name, v.NodeID, v.ValidationID)
		out.Set(l1ValidatorUptime, v.UptimePercentage.Ratio(), n.Name(), c.Name, v.NodeID, v.ValidationID)
		out.Set(l1ValidatorUptimeSeconds, v.UptimeSeconds.Seconds(), n.Name(), c.Name, v.NodeID, v.ValidationID)
	}
	out.Set(l1ConnectedWeight, float64(connected), n.Name(), c.Name)
	return nil
}
