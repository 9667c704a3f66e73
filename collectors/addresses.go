package collectors

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	platformBalance = metric.New("avax_platform_balance_avax",
		"P-Chain balance of a monitored address in AVAX, by state: unlocked, locked_stakeable (may be staked but not spent) or locked_not_stakeable.",
		"address", "state")
	assetBalance = metric.New("avax_asset_balance_tokens",
		"X-Chain balance of a monitored address in AVAX and in each monitored asset, with the asset's decimal places. An output counts only if the address can "+
			"spend it now, without other signers.",
		"address", "asset_id")
	utxos = metric.New("avax_utxos",
		"Unspent transaction outputs (UTXOs) that name a monitored address as owner.", "chain", "address")
)

var addresses = &collector.Spec{
	Name: "addresses",
	Help: "Balances of the monitored P- and X-Chain addresses. Needs AVAX_WATCH_ADDRESSES.",
	Calls: []string{"platform.getBalance", "platform.getUTXOs", "platform.getStakingAssetID", "avm.getUTXOs", "avm.getBalance",
		"avm.getAssetDescription"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{platformBalance, assetBalance, utxos},
	Bind:     collector.Per(collector.Items(collector.Watchlist.AddressItems), collectAddress),
}

func collectAddress(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	if strings.HasPrefix(on.Item.Value, "P-") {
		return collectPAddress(ctx, ups, on.Item.Value, out)
	}
	return collectXAddress(ctx, ups, on.Item.Value, out)
}

func collectPAddress(ctx context.Context, ups *collector.Upstreams, address string, out *metric.Batch) error {
	has, err := nodes.Agreed(ctx, ups.Pool, nodes.FactBalances, exactly, func(ctx context.Context, n *nodes.Node) (node.PlatformBalance, error) {
		return nodes.Optional(n.PlatformBalance(ctx, address))
	})
	if err != nil {
		return collector.IfRejected(err, "AVAX_WATCH_ADDRESSES")
	}
	for state, amount := range map[string]wire.NanoAVAX{
		"unlocked":             has.Unlocked,
		"locked_stakeable":     has.LockedStakeable,
		"locked_not_stakeable": has.LockedNotStakeable,
	} {
		out.Set(platformBalance, amount.AVAX(), address, state)
	}
	out.Set(utxos, float64(has.UTXOs), "P", address)
	return nil
}

func collectXAddress(ctx context.Context, ups *collector.Upstreams, address string, out *metric.Batch) error {
	count, err := nodes.Agreed(ctx, ups.Pool, nodes.FactBalances, exactly, func(ctx context.Context, n *nodes.Node) (int, error) {
		return nodes.Optional(n.AVMUTXOs(ctx, "X", address))
	})
	if err != nil {
		return collector.IfRejected(err, "AVAX_WATCH_ADDRESSES")
	}
	out.Set(utxos, float64(count), "X", address)

	monitored, err := describeAssets(ctx, ups)
	if err != nil {
		return err
	}
	for _, a := range monitored {
		has, err := nodes.Agreed(ctx, ups.Pool, nodes.FactBalances, exactly, func(ctx context.Context, n *nodes.Node) (node.AVMBalance, error) {
			return nodes.Optional(n.AVMBalance(ctx, "X", address, a.AssetID))
		})
		if err != nil {
			return err
		}
		out.Set(assetBalance, float64(has.Balance)/math.Pow10(int(a.Denomination)), address, a.AssetID)
	}
	return nil
}
