package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var assetInfo = metric.New("avax_asset_info",
	"Name, symbol and decimal places of AVAX or of a monitored X-Chain asset; always 1.",
	"asset_id", "name", "symbol", "denomination")

var assets = &collector.Spec{
	Name:     "assets",
	Help:     "Names of the monitored X-Chain assets. Needs AVAX_WATCH_ASSETS or AVAX_WATCH_ADDRESSES.",
	Calls:    []string{"avm.getAssetDescription"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{assetInfo},
	Bind: func(ups *collector.Upstreams) []collector.Job {
		if len(ups.Watched().Assets)+len(ups.Watched().Addresses) == 0 {
			return nil
		}
		return collector.Per(collector.Network, collectAssets)(ups)
	},
}

func collectAssets(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	monitored, err := describeAssets(ctx, ups)
	if err != nil {
		return err
	}
	for _, a := range monitored {
		out.Set(assetInfo, 1, a.AssetID, a.Name, a.Symbol, strconv.FormatUint(uint64(a.Denomination), 10))
	}
	return nil
}
