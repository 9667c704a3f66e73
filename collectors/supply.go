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
	platformGasPrice = metric.New("avax_platform_gas_price_avax",
		"What a P-Chain transaction pays for a unit of gas, in AVAX. Absent where the node's release does not tell.")
	platformValidatorFee = metric.New("avax_platform_validator_fee_avax_per_day",
		"What each active L1 validator pays at the P-Chain's present price, in AVAX a day. Absent where the node's release does not tell.")
)

var supply = &Spec{
	Name:     "supply",
	Help:     "How much AVAX is there, how many blockchains, and what does the P-Chain cost?",
	Calls:    []string{"platform.getCurrentSupply", "platform.getBlockchains", "platform.getFeeState", "platform.getValidatorFeeState"},
	Every:    fullSetEvery,
	Families: []*metric.Family{networkSupply, networkBlockchains, platformGasPrice, platformValidatorFee},
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

	gas, err := first(ctx, t.Nodes(), func(ctx context.Context, n *Node) (node.FeeState, error) {
		return ask(n, "platform.getFeeState", func() (node.FeeState, error) { return n.PlatformFeeState(ctx) })
	})
	if err != nil {
		return err
	}
	out.Set(platformGasPrice, gas.Price.AVAX())
	fee, err := first(ctx, t.Nodes(), func(ctx context.Context, n *Node) (node.ValidatorFeeState, error) {
		return ask(n, "platform.getValidatorFeeState", func() (node.ValidatorFeeState, error) { return n.PlatformValidatorFeeState(ctx) })
	})
	if err != nil {
		return err
	}
	const day = 24 * 60 * 60
	out.Set(platformValidatorFee, fee.Price.AVAX()*day)
	return nil
}
