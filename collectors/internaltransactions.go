package collectors

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressInternals = metric.NewCounter("avax_address_internal_transactions_total",
	"Internal transactions to a monitored address (in) or from it (out), since the exporter began to monitor the address. In an internal transaction, a contract calls with a value or creates a contract. Reverted transactions do not count.",
	"chain", "address", "direction")

var internalTransactions = &Spec{
	Name:     "internal_transactions",
	Help:     "Internal transactions of the monitored EVM addresses.",
	Calls:    []string{opInternalTransactions, "eth_getBlockByNumber", "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressInternals},
	Scope:    metric.ScopeItemChain,
	Bind:     withData(perItemAndChain(Watchlist.evm, collectInternalTransactions)),
	Cost:     calls(opInternalTransactions, 1),
}

func collectInternalTransactions(ctx context.Context, ups *Upstreams, c nodes.Chain, address string, out *metric.Batch) error {
	return countTransfers(ctx, ups, c, address, opInternalTransactions, addressInternals, out, func(chainID string, startBlock uint64, p data.Paging) iter.Seq2[transfer, error] {
		identical := map[string]int{} // number of identical calls so far
		return transfersFrom(readable(out, ups.Data.InternalTransactions(ctx, chainID, address, startBlock, p)), func(t data.InternalTransaction) transfer {
			if t.IsReverted {
				return transfer{}
			}
			identical[t.ID()]++
			return transfer{uint64(t.BlockNumber), fmt.Sprint(t.ID(), " ", identical[t.ID()]), t.From.Address, t.To.Address}
		})
	})
}
