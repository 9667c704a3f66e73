package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var assetTransactionsFamily = metric.NewCounter("avax_asset_transactions_total",
	"X-Chain transactions of a monitored asset by type. Counted from one day before the asset was first monitored.", "asset_id", "type")

var assetTransactions = &Spec{
	Name:     "asset_transactions",
	Help:     "Transactions of the monitored X-Chain assets. Needs AVAX_WATCH_ASSETS.",
	Calls:    []string{opAssetTransactions, "info.getNetworkID"},
	Every:    15 * time.Minute,
	Families: []*metric.Family{assetTransactionsFamily},
	Scope:    metric.ScopeItem,
	Bind:     withData(perItem(Watchlist.assets, collectAssetTransactions)),
	Cost:     calls(opAssetTransactions, 1),
}

// transactionCounts is the ledger entry for the transactions of a monitored asset.
type transactionCounts struct {
	Newest time.Time       // time of the newest transaction
	Seen   map[string]bool // IDs of the counted transactions at the time Newest
	Counts map[string]int  // transactions by type
}

func collectAssetTransactions(ctx context.Context, ups *Upstreams, asset string, out *metric.Batch) error {
	name := ups.Data.entry("asset", asset)
	counts := load[transactionCounts](&ups.Data.Ledger, out, name)
	if counts.Newest.IsZero() {
		counts.Newest = time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	}
	if counts.Counts == nil {
		counts.Counts = map[string]int{}
	}
	newest, seen := counts.Newest, counts.Seen
	// Start one second earlier, because it is not documented whether the range includes its start.
	from := counts.Newest.Add(-time.Second)
	for t, err := range readable(out, ups.Data.AssetTransactions(ctx, ups.Data.networkName(), asset, from, data.Paging{MaxPages: maxNewPages})) {
		if data.IsTruncated(err) {
			out.Note("%s has more transactions than one run reads: some are not counted", asset)
			break
		}
		if err != nil {
			return ifUnknown(err, "AVAX_WATCH_ASSETS")
		}
		at := t.Timestamp.Time
		if at.Before(counts.Newest) || at.Equal(counts.Newest) && counts.Seen[t.TxHash] {
			continue
		}
		counts.Counts[kindOrOther(counts.Counts, t.TxType)]++
		if at.After(newest) {
			newest, seen = at, map[string]bool{}
		}
		if at.Equal(newest) {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[t.TxHash] = true
		}
	}
	counts.Newest, counts.Seen = newest, seen
	ups.Data.Ledger.save(out, name, counts)
	for kind, count := range counts.Counts {
		out.Set(assetTransactionsFamily, float64(count), asset, kind)
	}
	return nil
}
