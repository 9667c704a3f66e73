package collectors

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	validatorUptime = metric.New("avax_validator_uptime_ratio",
		"Uptime of the validator: the share (0 to 1) of the elapsed staking period in which the node was connected to the validator. Absent if the validator is "+
			"the node itself.",
		"node", "node_id")
	validatorConnected = metric.New("avax_validator_connected",
		"1 if the node is connected to the validator, 0 if not. 1 for a validator that the node has benched. Absent if the validator is the node itself.", "node",
		"node_id")
)

var validatorViews = &collector.Spec{
	Name:      "validator_views",
	Help:      "Uptime and connection of the monitored validators, as observed by up to 25 of your nodes and by all observers.",
	Calls:     []string{"platform.getCurrentValidators", "info.getNodeID", "info.peers"},
	Every:     time.Minute,
	RareIfAll: true,
	Families:  []*metric.Family{validatorUptime, validatorConnected},
	Bind: func(ups *collector.Upstreams) []collector.Job {
		jobs, count := collector.Per(collector.NodesAndObservers, collectViews)(ups), len(ups.Nodes())
		return slices.Delete(jobs, min(count, maxViews), count)
	},
}

func collectViews(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	self, err := n.ID(ctx)
	if err != nil {
		return err
	}
	entries, err := entriesOf(ctx, ups, n)
	if err != nil {
		return err
	}
	peer := peersOf(ctx, n)
	for _, v := range entries {
		if v.NodeID == self {
			continue
		}
		if v.Uptime != nil {
			out.Set(validatorUptime, v.Uptime.Ratio(), n.Name(), v.NodeID)
		}
		if v.Connected != nil {
			out.SetBool(validatorConnected, *v.Connected || len(peer(v.NodeID).Benched) > 0, n.Name(), v.NodeID)
		}
	}
	return nil
}
