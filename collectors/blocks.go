package collectors

import (
	"cmp"
	"context"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
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
)

var blocks = &Spec{
	Name:     "blocks",
	Help:     "Gas, fees and transactions of the newest block of an EVM chain.",
	Calls:    []string{"eth_getBlockByNumber"},
	Every:    headsEvery,
	Families: []*metric.Family{headGasUsed, headGasLimit, headTransactions, headBaseFee},
	Scope:    metric.ScopeChain,
	Bind:     perChain(collectBlocks),
}

func collectBlocks(ctx context.Context, ups *Upstreams, c nodes.Chain, out *metric.Batch) error {
	found, err := newestBlocks(ctx, ups, c)
	if err != nil {
		return err
	}
	b := slices.MaxFunc(found, func(a, b nodeBlock) int { return cmp.Compare(a.Number, b.Number) })
	out.Set(headGasUsed, float64(b.GasUsed), c.Name)
	out.Set(headGasLimit, float64(b.GasLimit), c.Name)
	out.Set(headTransactions, float64(b.Transactions), c.Name)
	if b.BaseFeePerGas != nil {
		fee, _ := b.BaseFeePerGas.Float64()
		out.Set(headBaseFee, fee, c.Name)
	}
	return nil
}
