package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	addressBalance = metric.New("avax_address_balance_tokens",
		"What a watched address has of the chain's own token.", "chain", "address", "symbol")
	addressValue = metric.New("avax_address_balance_value",
		"What that is worth in a currency; absent where nobody knows.", "chain", "address", "currency")
)

var nativeBalances = &Spec{
	Name:     "native_balances",
	Help:     "What do the watched EVM addresses hold? Asked where AVAX_WATCH_ADDRESSES has such.",
	Calls:    []string{opNativeBalance, "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{addressBalance, addressValue},
	Scope:    metric.ScopeItemChain,
	Bind:     withData(perItemAndChain(Watchlist.evm, collectNativeBalance)),
	Cost:     calls(opNativeBalance, 1),
}

func collectNativeBalance(ctx context.Context, ups *Upstreams, c Chain, address string, out *metric.Batch) error {
	b, err := ofChain(ctx, ups, c, opNativeBalance+" "+address, func(chainID string) (data.NativeTokenBalance, error) {
		return ups.Data.NativeBalance(ctx, chainID, address, data.NativeBalanceQuery{Currency: ups.Data.Currency})
	})
	if err == nil {
		err = ups.checkChain(ctx, opNativeBalance, c, b.ChainID)
	}
	if err != nil {
		return err
	}
	out.Set(addressBalance, b.Tokens(), c.Name, address, b.Symbol)
	if worth := b.BalanceValue; worth != nil {
		out.Set(addressValue, float64(worth.Value), c.Name, address, worth.CurrencyCode)
	}
	return nil
}
