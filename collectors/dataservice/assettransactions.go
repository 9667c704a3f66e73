package dataservice

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var assetTransactionsFamily = metric.NewCounter("avax_asset_transactions_total",
	"X-Chain transactions of a monitored asset by type. Type other: types that the exporter does not know. Counted from one day before the asset was first "+
		"monitored.", "asset_id", "type")

var assetTransactionsRead = newRead("avax_asset_transactions_read_timestamp_seconds", "transactions of a monitored asset", "asset_id")

var AssetTransactions = &collector.Spec{
	Name:     "asset_transactions",
	Help:     "Transactions of the monitored X-Chain assets. Needs AVAX_WATCH_ASSETS.",
	Calls:    []string{data.ListAssetTransactions.Op(), "info.getNetworkID"},
	Every:    15 * time.Minute,
	Families: []*metric.Family{assetTransactionsFamily, assetTransactionsRead},
	Bind:     collector.PerWithData(collector.Items(collector.Watchlist.AssetItems), collectAssetTransactions),
	Cost:     collector.Calls(data.ListAssetTransactions.Op(), 1),
}

// transactionCounts is the stored value for the transactions of a monitored asset.
type transactionCounts struct {
	Events eventCursor
	Counts map[string]int // transactions by type
}

// assetTransactionTypes are the types of X-Chain transactions. They are exported before the first transaction.
var assetTransactionTypes = []string{"BaseTx", "CreateAssetTx", "ExportTx", "ImportTx", "OperationTx", collector.Other}

func collectAssetTransactions(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	asset := on.Item.Value
	name := ups.Data.Entry("asset", asset)
	counts := collector.Load[transactionCounts](ups, name)
	events, now := &counts.Events, time.Now()
	if events.Start.IsZero() {
		events.Start = now.Add(-24 * time.Hour)
		counts.Counts = map[string]int{}
		for _, kind := range assetTransactionTypes {
			counts.Counts[kind] = 0
		}
	}
	events.begin(now, 0)
	_, err := readPass(ctx, events, data.ListAssetTransactions.Op(), out, func(ctx context.Context, p *pass) (data.Page[data.AssetTransaction], error) {
		return ups.Data.AssetTransactions(ctx, ups.Data.NetworkName(), asset, p.From-1, p.Token) // it is not documented whether the range includes its start
	}, func(items []data.AssetTransaction) bool {
		for _, t := range items {
			if !events.isNew(t.TxHash, t.Timestamp.Unix(), false) {
				continue
			}
			events.notePosition(t.Timestamp.Unix(), now.Unix())
			counts.Counts[collector.KnownOrOther(counts.Counts, t.TxType)]++
		}
		return false
	})
	ups.Save(out, name, counts)
	if err = ups.Data.OrStored(name, collector.IfUnknown(err, "AVAX_WATCH_ASSETS")); err != nil && !metric.HasSamples(err) {
		return err
	}
	events.set(out, assetTransactionsRead, asset)
	for kind, count := range counts.Counts {
		out.Set(assetTransactionsFamily, float64(count), asset, kind)
	}
	return err
}
