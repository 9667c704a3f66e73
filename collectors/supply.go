package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	networkSupply = metric.New("avax_network_supply_avax",
		"Upper bound of the AVAX supply. Burned AVAX, such as fees, is not subtracted. The label subnet_id always has the ID of the primary network.",
		"subnet_id")
	networkBlockchains = metric.New("avax_network_blockchains",
		"Number of blockchains ever created, without the P-Chain.")
	platformGasPrice = metric.New("avax_platform_gas_price_avax",
		"Price of a unit of gas on the P-Chain, in AVAX. Absent if the node's release does not report this price.")
	platformValidatorFee = metric.New("avax_platform_validator_fee_avax_per_day",
		"Fee of each active L1 validator at the current price on the P-Chain, in AVAX per day. Absent if the node's release does not report this price.")
)

var supply = &collector.Spec{
	Name:     "supply",
	Help:     "Supply of AVAX, number of blockchains, and prices of the P-Chain.",
	Calls:    []string{"platform.getCurrentSupply", "platform.getBlockchains", "platform.getFeeState", "platform.getValidatorFeeState"},
	Every:    collector.FullSetEvery,
	Families: []*metric.Family{networkSupply, networkBlockchains, platformGasPrice, platformValidatorFee},
	Bind:     collector.PerNetwork(collectSupply),
}

func collectSupply(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) error {
	s, err := nodes.First(ctx, ups.Pool, func(ctx context.Context, n *nodes.Node) (node.Supply, error) {
		return n.PlatformCurrentSupply(ctx, node.PrimaryNetworkID)
	})
	if err != nil {
		return err
	}
	out.Set(networkSupply, wire.NanoAVAX(s.Supply).AVAX(), node.PrimaryNetworkID)

	all, err := nodes.First(ctx, ups.Pool, func(ctx context.Context, n *nodes.Node) ([]node.Blockchain, error) { return n.PlatformBlockchains(ctx) })
	if err != nil {
		return err
	}
	out.Set(networkBlockchains, float64(len(all)))

	gas, err := nodes.First(ctx, ups.Pool, func(ctx context.Context, n *nodes.Node) (node.FeeState, error) {
		return nodes.Optional(n.PlatformFeeState(ctx))
	})
	if err != nil {
		return err
	}
	out.Set(platformGasPrice, gas.Price.AVAX())
	fee, err := nodes.First(ctx, ups.Pool, func(ctx context.Context, n *nodes.Node) (node.ValidatorFeeState, error) {
		return nodes.Optional(n.PlatformValidatorFeeState(ctx))
	})
	if err != nil {
		return err
	}
	const day = 24 * 60 * 60
	out.Set(platformValidatorFee, fee.Price.AVAX()*day)
	return nil
}
