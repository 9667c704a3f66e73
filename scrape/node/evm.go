package node

import (
	"context"
	"fmt"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

func evm[T any](ctx context.Context, c *Client, chain, method string, params ...any) (T, error) {
	if params == nil {
		params = []any{}
	}
	return scrape.RPC[T](ctx, c.u, chainPath(chain, "rpc"), method, params)
}

// FeeConfig is the fee configuration of an EVM chain. Its numbers have no upper bound, so they are floats.
type FeeConfig struct {
	FeeConfig struct {
		GasLimit                 wire.Float `json:"gasLimit"`
		TargetBlockRate          wire.Float `json:"targetBlockRate"` // seconds between blocks
		MinBaseFee               wire.Float `json:"minBaseFee"`      // wei per gas
		TargetGas                wire.Float `json:"targetGas"`
		BaseFeeChangeDenominator wire.Float `json:"baseFeeChangeDenominator"`
		MinBlockGasCost          wire.Float `json:"minBlockGasCost"`
		MaxBlockGasCost          wire.Float `json:"maxBlockGasCost"`
		BlockGasCostStep         wire.Float `json:"blockGasCostStep"`
	} `json:"feeConfig"`
	LastChangedAt wire.Uint64 `json:"lastChangedAt"` // block; 0 until changed
}

// EthFeeConfig asks eth_feeConfig at a block number, or at the latest block for nil. Only Subnet-EVM chains offer it: see
// IsNotOffered.
func (c *Client) EthFeeConfig(ctx context.Context, chain string, block *uint64) (FeeConfig, error) {
	if block == nil {
		return evm[FeeConfig](ctx, c, chain, "eth_feeConfig")
	}
	return evm[FeeConfig](ctx, c, chain, "eth_feeConfig", fmt.Sprintf("%#x", *block))
}

// EthChainID asks eth_chainId: the number by which wallets and the services know the chain.
func (c *Client) EthChainID(ctx context.Context, chain string) (uint64, error) {
	n, err := evm[wire.HexUint64](ctx, c, chain, "eth_chainId")
	return uint64(n), err
}

// EthBlockNumber asks eth_blockNumber: the height of the newest block.
func (c *Client) EthBlockNumber(ctx context.Context, chain string) (uint64, error) {
	n, err := evm[wire.HexUint64](ctx, c, chain, "eth_blockNumber")
	return uint64(n), err
}
