package collectors

import (
	"context"
	"errors"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var networkConnectedStake = metric.New("avax_network_connected_stake_ratio",
	"Share of the set's weight (0 to 1) that the node sees connected: of the primary network in the P-Chain's eyes, of a subnet in its chain's.",
	"node", "subnet_id")

var networkViews = &Spec{
	Name:     "network_views",
	Help:     "How much of each validator set does the node see connected?",
	Calls:    []string{"platform.getCurrentValidators", "validators.getCurrentValidators", "platform.getBlockchains", "info.getBlockchainID", "info.getNodeID"},
	Every:    fullSetEvery,
	Families: []*metric.Family{networkConnectedStake},
	Bind:     perNode(collectNetworkViews),
}

func collectNetworkViews(ctx context.Context, ups *Upstreams, n *Node, out *metric.Batch) error {
	self, err := n.ID(ctx)
	if err != nil {
		return err
	}
	ctx = scrape.MaxAge(ctx, fullSetEvery)
	primary, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID)
	if err != nil {
		return err
	}
	var connected, all uint64
	for _, v := range primary {
		all += stakeOf(v)
		if v.NodeID == self || v.Connected != nil && *v.Connected {
			connected += stakeOf(v)
		}
	}
	if all > 0 {
		out.Set(networkConnectedStake, float64(connected)/float64(all), n.Name(), node.PrimaryNetworkID)
	}

	subnets, err := ups.subnets(ctx)
	for _, s := range subnets {
		set, err := chainSet(ctx, n, s.chain)
		switch {
		case errors.Is(err, ErrNotOffered):
			continue
		case err != nil:
			return err
		}
		connected, all = 0, 0
		for _, v := range set {
			all += uint64(v.Weight)
			if v.NodeID == self || v.IsConnected {
				connected += uint64(v.Weight)
			}
		}
		if all > 0 {
			out.Set(networkConnectedStake, float64(connected)/float64(all), n.Name(), s.subnetID)
		}
	}
	return err
}
