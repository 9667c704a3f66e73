package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodeValidating = metric.New("avax_node_validating",
		"1 if the node reports itself as a primary-network validator, 0 if not. Absent while it does not know.", "node")
	nodeRewardingStake = metric.New("avax_node_uptime_rewarding_stake_ratio",
		"Share of all stake (0 to 1) that is connected and saw this node up for long enough to vote for its reward today. After a restart it starts at the node's own stake.", "node")
	nodeWeightedUptime = metric.New("avax_node_uptime_weighted_ratio",
		"Uptime of the node (0 to 1) as its connected peers saw it, weighted by their stake and divided by all stake. A loss of peers lowers it.", "node")
)

var uptime = &Spec{
	Name:     "uptime",
	Help:     "The node's uptime as its peers see it, and the stake that would vote for its reward.",
	Calls:    []string{"info.uptime"},
	Every:    time.Minute,
	Families: []*metric.Family{nodeValidating, nodeRewardingStake, nodeWeightedUptime},
	Scope:    metric.ScopeNode,
	Bind:     perNode(collectUptime),
}

func collectUptime(ctx context.Context, _ *Targets, n *Node, out *metric.Batch) error {
	u, err := n.Uptime(ctx)
	switch {
	case node.IsNotValidator(err), node.IsStartTimeNotFound(err): // the latter without sybil protection
		out.Set(nodeValidating, 0, n.Name())
		return nil
	case node.IsStillBootstrapping(err): // unknown until it has bootstrapped
		return nil
	case err != nil:
		return err
	}
	out.Set(nodeValidating, 1, n.Name())
	out.Set(nodeRewardingStake, u.RewardingStakePercentage.Ratio(), n.Name())
	out.Set(nodeWeightedUptime, u.WeightedAveragePercentage.Ratio(), n.Name())
	return nil
}
