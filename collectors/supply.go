package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
		"Number of blockchains ever created, without the P-Chain. Absent if no node offers platform.getBlockchains, which is deprecated.")
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
	Bind:     collector.Per(collector.Network, collectSupply),
}

// currentSupply requests the supply of AVAX. The nodes must agree.
func currentSupply(ctx context.Context, ups *collector.Upstreams) (node.Supply, error) {
	same := func(a, b node.Supply) bool { return closely(float64(a.Supply), float64(b.Supply)) }
	return nodes.Agreed(ctx, ups.Pool, nodes.FactSupply, same, func(ctx context.Context, n *nodes.Node) (node.Supply, error) {
		return n.PlatformCurrentSupply(ctx, node.PrimaryNetworkID)
	})
}

// validatorFee requests the fee of L1 validators. The nodes must agree.
func validatorFee(ctx context.Context, ups *collector.Upstreams) (node.ValidatorFeeState, error) {
	same := func(a, b node.ValidatorFeeState) bool { return closely(float64(a.Price), float64(b.Price)) }
	return nodes.Agreed(ctx, ups.Pool, nodes.FactFees, same, func(ctx context.Context, n *nodes.Node) (node.ValidatorFeeState, error) {
		return nodes.Optional(n.PlatformValidatorFeeState(ctx))
	})
}

func collectSupply(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	s, err := currentSupply(ctx, ups)
	if err != nil {
		return err
	}
	out.Set(networkSupply, wire.NanoAVAX(s.Supply).AVAX(), node.PrimaryNetworkID)

	// The price of gas changes with each block.
	samePrice := func(a, b node.FeeState) bool { return a.Price <= 2*b.Price && b.Price <= 2*a.Price }
	gas, err := nodes.Agreed(ctx, ups.Pool, nodes.FactFees, samePrice, func(ctx context.Context, n *nodes.Node) (node.FeeState, error) {
		return nodes.Optional(n.PlatformFeeState(ctx))
	})
	if err == nil {
		out.Set(platformGasPrice, gas.Price.AVAX())
	}
	fee, feeErr := validatorFee(ctx, ups)
	if feeErr == nil {
		const day = 24 * 60 * 60
		out.Set(platformValidatorFee, fee.Price.AVAX()*day)
	}

	closeCounts := func(a, b int) bool { return closely(float64(a), float64(b)) }
	count, countErr := nodes.Agreed(ctx, ups.Pool, nodes.FactBlockchains, closeCounts, func(ctx context.Context, n *nodes.Node) (int, error) {
		all, err := n.PlatformBlockchains(ctx)
		return len(all), err
	})
	if node.IsNotServed(countErr) { // only this deprecated method counts them, and no alert needs the number
		countErr = fmt.Errorf("%w: %w", metric.ErrNotOffered, countErr)
	}
	if countErr == nil {
		out.Set(networkBlockchains, float64(count))
	}
	return firstFailure(err, feeErr, countErr)
}

// firstFailure returns the first error that is a failure, or else the first one that says what is not offered.
func firstFailure(errs ...error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, metric.ErrNotOffered) {
			return err
		}
	}
	return cmp.Or(errs...)
}
