package collectors

import (
	"context"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// describeAssets requests the descriptions of AVAX and of the monitored assets. The result has no duplicates.
func describeAssets(ctx context.Context, ups *collector.Upstreams) ([]node.Asset, error) {
	ctx = scrape.MaxAge(ctx, collector.StaticAge)
	var found []node.Asset
	for _, id := range append([]string{"AVAX"}, collector.Values(ups.Watched().Assets)...) {
		a, err := nodes.First(ctx, ups.Pool, nodes.BasisAsset, func(ctx context.Context, n *nodes.Node) (node.Asset, error) {
			return nodes.Optional(n.AVMAssetDescription(ctx, "X", id))
		})
		if err != nil {
			return nil, collector.IfRejected(err, "AVAX_WATCH_ASSETS")
		}
		if !slices.ContainsFunc(found, func(b node.Asset) bool { return b.AssetID == a.AssetID }) {
			found = append(found, a)
		}
	}
	return found, nil
}
