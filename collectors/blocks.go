package collectors

import (
	"cmp"
	"context"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	headGasUsed = metric.New("avax_chain_head_gas_used",
		"Gas used in the newest block that any node has.", "chain")
	headGasLimit = metric.New("avax_chain_head_gas_limit",
		"Gas limit of the newest block that any node has.", "chain")
	headTransactions = metric.New("avax_chain_head_transactions",
		"Transactions in the newest block that any node has.", "chain")
	headBaseFee = metric.New("avax_chain_head_base_fee_wei",
		"Base fee of the newest block that any node has, in wei per gas.", "chain")
	minGasPrice = metric.New("avax_chain_min_gas_price_wei",
		"Lowest base fee that the validators of the C-Chain allow, in wei per gas, from the newest block. Absent before Helicon, and on other chains: see "+
			"avax_chain_fee_config_min_base_fee_wei.", "chain")
	gasTarget = metric.New("avax_chain_gas_target",
		"Gas per second at which the base fee of the C-Chain does not change, from the newest block. Absent before Helicon, and on other chains.", "chain")
	minBlockDelay = metric.New("avax_chain_min_block_delay_seconds",
		"Shortest time between two blocks that the validators allow, in seconds, from the newest block. Absent before Granite.", "chain")
)

var blocks = &collector.Spec{
	Name:     "blocks",
	Help:     "Gas, fees and transactions of the newest block of an EVM chain.",
	Calls:    []string{"eth_getBlockByNumber"},
	Every:    collector.HeadsEvery,
	Families: []*metric.Family{headGasUsed, headGasLimit, headTransactions, headBaseFee, minGasPrice, gasTarget, minBlockDelay},
	Bind:     collector.Per(collector.Chains, collectBlocks),
}

func collectBlocks(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c := on.Chain
	found, err := collector.NewestBlocks(ctx, ups, c)
	if err != nil {
		return err
	}
	b := slices.MaxFunc(found, func(a, b collector.NodeBlock) int { return cmp.Compare(a.Number, b.Number) })
	out.Set(headGasUsed, float64(b.GasUsed), c.Name)
	out.Set(headGasLimit, float64(b.GasLimit), c.Name)
	out.Set(headTransactions, float64(b.Transactions), c.Name)
	if b.BaseFeePerGas != nil {
		fee, _ := b.BaseFeePerGas.Float64()
		out.Set(headBaseFee, fee, c.Name)
	}
	for family, value := range map[*metric.Family]*float64{minGasPrice: b.MinGasPrice(), gasTarget: b.GasTarget(), minBlockDelay: b.MinBlockDelay()} {
		if value != nil {
			out.Set(family, *value, c.Name)
		}
	}
	return metric.WithSamples(b.Incomplete())
}
