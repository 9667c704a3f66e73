package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	feeGasLimit = metric.New("avax_chain_fee_config_gas_limit",
		"Gas limit of a block.", "chain")
	feeTargetGas = metric.New("avax_chain_fee_config_target_gas",
		"Target of gas use in ten seconds. If more gas is used, the base fee rises.", "chain")
	feeTargetBlockRate = metric.New("avax_chain_fee_config_target_block_rate_seconds",
		"Target of the time between blocks.", "chain")
	feeMinBaseFee = metric.New("avax_chain_fee_config_min_base_fee_wei",
		"Minimum base fee in wei per gas.", "chain")
	feeBaseFeeChangeDenominator = metric.New("avax_chain_fee_config_base_fee_change_denominator",
		"Divisor that limits how fast the base fee changes. A larger value means slower changes.", "chain")
	feeMinBlockGasCost = metric.New("avax_chain_fee_config_min_block_gas_cost",
		"Minimum gas cost of producing a block.", "chain")
	feeMaxBlockGasCost = metric.New("avax_chain_fee_config_max_block_gas_cost",
		"Maximum gas cost of producing a block.", "chain")
	feeBlockGasCostStep = metric.New("avax_chain_fee_config_block_gas_cost_step",
		"Change of the block gas cost for each second of difference from the target block rate.", "chain")
	feeLastChangedBlock = metric.New("avax_chain_fee_config_last_changed_block",
		"Block of the last change of the fee configuration; 0 if it never changed, or if the chain has no fee manager any more.", "chain")
)

var feeConfig = &collector.Spec{
	Name:  "fee_config",
	Help:  "Fee configuration of a Subnet-EVM chain.",
	Calls: []string{"eth_feeConfig"},
	Every: 150 * time.Second,
	Families: []*metric.Family{
		feeGasLimit, feeTargetGas, feeTargetBlockRate, feeMinBaseFee, feeBaseFeeChangeDenominator,
		feeMinBlockGasCost, feeMaxBlockGasCost, feeBlockGasCostStep, feeLastChangedBlock,
	},
	Bind: collector.Per(collector.SubnetChains, collectFeeConfig),
}

func collectFeeConfig(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	answer, err := nodes.Agreed(ctx, ups.Pool, nodes.FactFeeConfig, exactly, func(ctx context.Context, n *nodes.Node) (node.FeeConfig, error) {
		return nodes.Optional(n.EthFeeConfig(ctx, on.Chain.Ref))
	})
	if err != nil {
		return err
	}
	f := answer.FeeConfig
	for _, s := range []struct {
		family *metric.Family
		value  float64
	}{
		{feeGasLimit, float64(f.GasLimit)},
		{feeTargetGas, float64(f.TargetGas)},
		{feeTargetBlockRate, float64(f.TargetBlockRate)},
		{feeMinBaseFee, float64(f.MinBaseFee)},
		{feeBaseFeeChangeDenominator, float64(f.BaseFeeChangeDenominator)},
		{feeMinBlockGasCost, float64(f.MinBlockGasCost)},
		{feeMaxBlockGasCost, float64(f.MaxBlockGasCost)},
		{feeBlockGasCostStep, float64(f.BlockGasCostStep)},
		{feeLastChangedBlock, float64(answer.LastChangedAt)},
	} {
		out.Set(s.family, s.value, on.Chain.Name)
	}
	return nil
}
