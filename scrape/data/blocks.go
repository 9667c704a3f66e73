package data

import (
	"context"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Block is a block of an EVM chain.
type Block struct {
	ChainID                string        `json:"chainId,omitzero"`
	BlockNumber            wire.Height   `json:"blockNumber"`
	BlockHash              string        `json:"blockHash"`
	ParentHash             string        `json:"parentHash"`
	BlockTimestamp         wire.UnixTime `json:"blockTimestamp"`
	BlockTimestampMilli    *wire.Uint64  `json:"blockTimestampMilliseconds"` // Unix milliseconds; nil in blocks before Granite
	BlockMinDelayExcess    *wire.Uint64  `json:"blockMinDelayExcess"`        // nil in blocks before Granite
	TxCount                wire.Uint64   `json:"txCount"`
	BaseFee                Amount        `json:"baseFee"` // wei per gas
	GasUsed                Amount        `json:"gasUsed"`
	GasLimit               Amount        `json:"gasLimit"`
	GasCost                Amount        `json:"gasCost"`
	FeesSpent              Amount        `json:"feesSpent"`              // in wei
	CumulativeTransactions wire.Uint64   `json:"cumulativeTransactions"` // of the chain, up to this block
}

// Block calls GET /v1/chains/{chainId}/blocks/{blockId} for a block number or hash. If the service does not know the block, or
// has not indexed it yet, the error has the outcome not_found.
func (c *Client) Block(ctx context.Context, chainID, id string) (Block, error) {
	q := newRequest(block)
	q.chain(chainID)
	q.want(blockID.MatchString(id), "blockId %s: write the number of a block, or its hash, 64 hex digits after 0x", quote(id))
	q.fill("blockId", id, "")
	return get[Block](ctx, c, q)
}
