package collectors

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	platformBalance = metric.New("avax_platform_balance_avax",
		"What a watched address has on the P-Chain, in AVAX: unlocked, locked_stakeable (may be staked, not spent), locked_not_stakeable.",
		"address", "state")
	assetBalance = metric.New("avax_asset_balance_tokens",
		"What a watched address has of AVAX and of each watched asset on the X-Chain, with the decimal places that the asset has for people. "+
			"What it cannot spend alone and now is not in it.",
		"address", "asset_id")
	utxos = metric.New("avax_utxos",
		"Unspent outputs that refer to a watched address.", "chain", "address")
)

var addresses = &Spec{
	Name:     "addresses",
	Help:     "What do the watched P- and X-Chain addresses hold? Asked where AVAX_WATCH_ADDRESSES is set.",
	Calls:    []string{"platform.getBalance", "avm.getUTXOs", "avm.getBalance", "avm.getAssetDescription"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{platformBalance, assetBalance, utxos},
	Scope:    metric.ScopeItem,
	Bind:     perItem(Watchlist.addresses, collectAddress),
}

func collectAddress(ctx context.Context, ups *Upstreams, address string, out *metric.Batch) error {
	if strings.HasPrefix(address, "P-") {
		return collectPAddress(ctx, ups, address, out)
	}
	return collectXAddress(ctx, ups, address, out)
}

func collectPAddress(ctx context.Context, ups *Upstreams, address string, out *metric.Batch) error {
	has, err := first(ctx, ups.Nodes(), func(ctx context.Context, n *Node) (node.PlatformBalance, error) {
		return ask(n, "platform.getBalance", func() (node.PlatformBalance, error) {
			return n.PlatformBalance(ctx, address) //nolint:staticcheck // deprecated, and there is no other that tells
		})
	})
	if err != nil {
		return ifRejected(err, SettingAddresses)
	}
	for state, amount := range map[string]*wire.NanoAVAX{
		"unlocked":             has.Unlocked,
		"locked_stakeable":     has.LockedStakeable,
		"locked_not_stakeable": has.LockedNotStakeable,
	} {
		if amount != nil {
			out.Set(platformBalance, amount.AVAX(), address, state)
		}
	}
	out.Set(utxos, float64(len(has.UTXOIDs)), "P", address)
	return nil
}

func collectXAddress(ctx context.Context, ups *Upstreams, address string, out *metric.Batch) error {
	count, err := first(ctx, ups.Nodes(), func(ctx context.Context, n *Node) (int, error) {
		return ask(n, "avm.getUTXOs", func() (count int, err error) {
			for _, err := range n.AVMUTXOs(ctx, "X", node.UTXOQuery{Addresses: []string{address}}) {
				if err != nil {
					return 0, err
				}
				count++
			}
			return count, nil
		})
	})
	if err != nil {
		return ifRejected(err, SettingAddresses)
	}
	out.Set(utxos, float64(count), "X", address)

	watched, err := ups.describeAssets(ctx)
	if err != nil {
		return err
	}
	for _, a := range watched {
		has, err := first(ctx, ups.Nodes(), func(ctx context.Context, n *Node) (node.AVMBalance, error) {
			return ask(n, "avm.getBalance", func() (node.AVMBalance, error) {
				return n.AVMBalance(ctx, "X", address, a.AssetID) //nolint:staticcheck // deprecated, and no other adds up
			})
		})
		if err != nil {
			return err
		}
		out.Set(assetBalance, float64(has.Balance)/math.Pow10(int(a.Denomination)), address, a.AssetID)
	}
	return nil
}
