package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodeValidating = metric.New("avax_node_validating",
		"1 if the node reports itself as a primary-network validator, 0 if not. Absent while the node is bootstrapping.", "node")
	nodeRewardingStake = metric.New("avax_node_uptime_rewarding_stake_ratio",
		"Share of all stake (0 to 1) that would vote for this node's reward today. This is the stake of the node itself and of connected validators that observed "+
			"enough uptime of the node. After a restart of the node, the value starts at the share of the node's own stake.", "node")
	nodeWeightedUptime = metric.New("avax_node_uptime_weighted_ratio",
		"Uptime of the node (0 to 1) as observed by its connected peers, weighted by their stake and divided by all stake. A loss of peers lowers the value.", "node")
)

var uptime = &collector.Spec{
	Name:     "uptime",
	Critical: true,
	Help:     "Uptime of the node as observed by its peers, and the stake that would vote for its reward.",
	Calls:    []string{"info.uptime"},
	Every:    time.Minute,
	Families: []*metric.Family{nodeValidating, nodeRewardingStake, nodeWeightedUptime},
	Bind:     collector.Per(collector.Nodes, collectUptime),
}

func collectUptime(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	u, err := n.Uptime(ctx)
	switch {
	case node.IsNotValidator(err), node.IsStartTimeNotFound(err): // IsStartTimeNotFound: a node without sybil protection
		out.Set(nodeValidating, 0, n.Name())
		return nil
	case node.IsStillBootstrapping(err): // the uptime is not known until the P-Chain is bootstrapped
		return nil
	case err != nil:
		return err
	}
	out.Set(nodeValidating, 1, n.Name())
	out.Set(nodeRewardingStake, u.RewardingStakePercentage.Ratio(), n.Name())
	out.Set(nodeWeightedUptime, u.WeightedAveragePercentage.Ratio(), n.Name())
	return nil
}
