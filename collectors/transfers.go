package collectors

import (
	"context"
	"iter"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressTransfers = metric.NewCounter("avax_address_transfers_total",
	"NFTs (ERC-721) transferred to a monitored address (in) or from it (out), since the exporter began to monitor the address.",
	"chain", "address", "direction")

var transfers = &Spec{
	Name:     "transfers",
	Help:     "NFT transfers of the monitored EVM addresses.",
	Calls:    []string{opERC721Transfers, "eth_getBlockByNumber", "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressTransfers},
	Scope:    metric.ScopeItemChain,
	Bind:     withData(perItemAndChain(Watchlist.evm, collectTransfers)),
	Cost:     calls(opERC721Transfers, 1),
}

func collectTransfers(ctx context.Context, ups *Upstreams, c nodes.Chain, address string, out *metric.Batch) error {
	return countTransfers(ctx, ups, c, address, opERC721Transfers, addressTransfers, out, func(chainID string, startBlock uint64, p data.Paging) iter.Seq2[transfer, error] {
		return transfersFrom(readable(out, ups.Data.ERC721Transfers(ctx, chainID, address, startBlock, p)), func(t data.ERC721Transfer) transfer {
			return transfer{uint64(t.BlockNumber), t.ID(), t.From.Address, t.To.Address}
		})
	})
}
