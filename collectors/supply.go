package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	networkSupply = metric.New("avax_network_supply_avax",
		"An upper bound on the AVAX there is: what was burnt, fees included, is not taken off. Of the primary network: no other has AVAX to stake.",
		"subnet_id")
	networkBlockchains = metric.New("avax_network_blockchains",
		"Blockchains that were ever created, the P-Chain left out.")
)

var supply = &Spec{
	Name:     "supply",
	Help:     "How much AVAX is there, and how many blockchains?",
	Calls:    []string{"platform.getCurrentSupply", "platform.getBlockchains"},
	Every:    fullSetEvery,
	Families: []*metric.Family{networkSupply, networkBlockchains},
	Scope:    metric.ScopeNetwork,
	Bind:     perNetwork(collectSupply),
}

func collectSupply(ctx context.Context, t *Targets, out *metric.Batch) error {
	s, err := first(ctx, t.Nodes(), func(ctx context.Context, n *Node) (node.Supply, error) {
		return n.PlatformCurrentSupply(ctx, node.PrimaryNetworkID)
	})
	if err != nil {
		return err
	}
	out.Set(networkSupply, wire.NanoAVAX(s.Supply).AVAX(), node.PrimaryNetworkID)

	all, err := first(ctx, t.Nodes(), func(ctx context.Context, n *Node) ([]node.Blockchain, error) { return n.PlatformBlockchains(ctx) })
	if err != nil {
		return err
	}
	out.Set(networkBlockchains, float64(len(all)))
	return nil
}
