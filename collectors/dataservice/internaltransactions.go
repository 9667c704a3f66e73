package dataservice

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressInternals = metric.NewCounter("avax_address_internal_transactions_total",
	"Internal transactions to a monitored address (in) or from it (out), since the exporter began to monitor the address. In an internal transaction, a "+
		"contract calls with a value or creates a contract. Reverted transactions do not count.",
	"chain", "address", "direction")

var internalsRead = newRead("avax_address_internal_transactions_read_timestamp_seconds", "internal transactions of a monitored address", "chain", "address")

var InternalTransactions = &collector.Spec{
	Name: "internal_transactions",
	Help: "Internal transactions of the monitored EVM addresses.",
	Calls: []string{data.ListInternals.Op(), "eth_getBlockByNumber", "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressInternals, internalsRead},
	Bind:     collector.PerWithData(collector.Pairs(collector.Chains, collector.Items(collector.Watchlist.EVMItems)), collectInternalTransactions),
	Cost:     collector.Calls(data.ListInternals.Op(), 1),
}

func collectInternalTransactions(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	address := on.Item.Value
	return transferList[data.InternalTransaction]{
		op: data.ListInternals.Op(), family: addressInternals, read: internalsRead, copies: true,
		page: func(ctx context.Context, chainID string, p *pass) (data.Page[data.InternalTransaction], error) {
			return ups.Data.InternalTransactions(ctx, chainID, address, p.From, p.Until, p.Token)
		},
		transfer: func(t data.InternalTransaction) transfer {
			if t.IsReverted {
				return transfer{}
			}
			return transfer{uint64(t.BlockNumber), t.ID(), t.From.Address, t.To.Address}
		},
	}.count(ctx, ups, on.Chain, address, out)
}
