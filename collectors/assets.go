package collectors

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var assetInfo = metric.New("avax_asset_info",
	"How a watched asset of the X-Chain, or AVAX, calls itself, and how many decimal places its amounts have for people; always 1.",
	"asset_id", "name", "symbol", "denomination")

var assets = &Spec{
	Name:     "assets",
	Help:     "Which asset is behind the ID? Asked where AVAX_WATCH_ASSETS or AVAX_WATCH_ADDRESSES is set.",
	Calls:    []string{"avm.getAssetDescription"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{assetInfo},
	Scope:    metric.ScopeNetwork,
	Bind: func(ups *Upstreams) []Job {
		if len(ups.Watch.Assets)+len(ups.Watch.Addresses) == 0 {
			return nil
		}
		return perNetwork(func(ctx context.Context, _ *Targets, out *metric.Batch) error { return collectAssets(ctx, ups, out) })(ups)
	},
}

func collectAssets(ctx context.Context, ups *Upstreams, out *metric.Batch) error {
	watched, err := ups.assets(ctx)
	if err != nil {
		return err
	}
	for _, a := range watched {
		out.Set(assetInfo, 1, a.AssetID, a.Name, a.Symbol, strconv.FormatUint(uint64(a.Denomination), 10))
	}
	return nil
}

// assets describes AVAX and the watched assets, each once.
func (ups *Upstreams) assets(ctx context.Context) ([]node.Asset, error) {
	ctx = scrape.MaxAge(ctx, slowFacts)
	var found []node.Asset
	for _, id := range append([]string{"AVAX"}, ups.Watch.Assets...) {
		a, err := first(ctx, ups.Nodes(), func(ctx context.Context, n *Node) (node.Asset, error) {
			return ask(n, "avm.getAssetDescription", func() (node.Asset, error) { return n.AVMAssetDescription(ctx, "X", id) })
		})
		if err != nil {
			return nil, mistaken(err, "AVAX_WATCH_ASSETS")
		}
		if !slices.ContainsFunc(found, func(b node.Asset) bool { return b.AssetID == a.AssetID }) {
			found = append(found, a)
		}
	}
	return found, nil
}
