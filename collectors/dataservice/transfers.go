package dataservice

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressTransfers = metric.NewCounter("avax_address_transfers_total",
	"NFTs (ERC-721) transferred to a monitored address (in) or from it (out), since the exporter began to monitor the address.",
	"chain", "address", "direction")

var transfersRead = newRead("avax_address_transfers_read_timestamp_seconds", "NFT transfers of a monitored address", "chain", "address")

var Transfers = &collector.Spec{
	Name: "transfers",
	Help: "NFT transfers of the monitored EVM addresses.",
	Calls: []string{data.ListERC721Transfers.Op(), "eth_getBlockByNumber", "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressTransfers, transfersRead},
	Bind:     collector.PerWithData(collector.Pairs(collector.Chains, collector.Items(collector.Watchlist.EVMItems)), collectTransfers),
	Cost:     collector.Calls(data.ListERC721Transfers.Op(), 1),
}

func collectTransfers(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	address := on.Item.Value
	return transferList[data.ERC721Transfer]{
		op: data.ListERC721Transfers.Op(), family: addressTransfers, read: transfersRead,
		page: func(ctx context.Context, chainID string, p *pass) (data.Page[data.ERC721Transfer], error) {
			return ups.Data.ERC721Transfers(ctx, chainID, address, p.From, p.Token)
		},
		transfer: func(t data.ERC721Transfer) transfer {
			return transfer{uint64(t.BlockNumber), t.ID(), t.From.Address, t.To.Address}
		},
	}.count(ctx, ups, on.Chain, address, out)
}
