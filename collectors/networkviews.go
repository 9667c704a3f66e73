package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var networkConnectedStake = metric.New("avax_network_connected_stake_ratio",
	"Share of the validator set's weight (0 to 1) that the node is connected to, including the node itself. For the primary network, computed from the node's "+
		"peers. For a subnet, computed from the node's validators API of the chain.",
	"node", "subnet_id")

var networkViews = &collector.Spec{
	Name: "network_views",
	Help: "Share of each validator set that the node is connected to.",
	Calls: []string{"info.peers", "info.uptime", "platform.getCurrentValidators", "validators.getCurrentValidators", "platform.getBlockchains",
		"platform.getTx", "info.getNodeID", "info.isBootstrapped"},
	Every:         collector.FullSetEvery,
	ReusesAnswers: true,
	Families:      []*metric.Family{networkConnectedStake},
	Bind: func(ups *collector.Upstreams) []collector.Job {
		return append(collector.Per(collector.Nodes, collectPrimaryView)(ups),
			collector.Per(collector.Pairs(collector.SubnetChains, collector.Nodes), collectSubnetView)(ups)...)
	},
}

// collectPrimaryView uses the node's peers, which other collectors also request. It does not request the whole set
// from each node, because that answer is larger than 1 MB.
func collectPrimaryView(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	r, err := primaryReach(ctx, ups, on.Node)
	if err == nil && r.all > 0 {
		out.Set(networkConnectedStake, float64(r.connected)/float64(r.all), on.Node.Name(), node.PrimaryNetworkID)
	}
	return err
}

func collectSubnetView(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	b, err := ups.Blockchain(ctx, on.Chain)
	if err != nil || b.SubnetID == node.PrimaryNetworkID || !ups.ChainReports(on.Chain, on.Node.Name()+"'s view of "+b.SubnetID) {
		return err
	}
	self, err := on.Node.ID(ctx)
	if err != nil {
		return err
	}
	set, err := chainSet(ctx, on.Node, on.Chain)
	if err != nil {
		return err
	}
	var connected, all uint64
	for _, v := range set {
		all += uint64(v.Weight)
		if v.NodeID == self || v.IsConnected {
			connected += uint64(v.Weight)
		}
	}
	if all > 0 {
		out.Set(networkConnectedStake, float64(connected)/float64(all), on.Node.Name(), b.SubnetID)
	}
	return nil
}
