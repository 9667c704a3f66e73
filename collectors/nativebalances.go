package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	addressBalance = metric.New("avax_address_balance_tokens",
		"Balance of a monitored address in the chain's own token.", "chain", "address", "symbol")
	addressValue = metric.New("avax_address_balance_value",
		"Value of avax_address_balance_tokens in a currency. Absent if the Data service reports no value.", "chain", "address", "currency")
)

var nativeBalances = &Spec{
	Name:     "native_balances",
	Help:     "Balances of the monitored EVM addresses. Needs AVAX_WATCH_ADDRESSES.",
	Calls:    []string{opNativeBalance, "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{addressBalance, addressValue},
	Scope:    metric.ScopeItemChain,
	Bind:     withData(perItemAndChain(Watchlist.evm, collectNativeBalance)),
	Cost:     calls(opNativeBalance, 1),
}

func collectNativeBalance(ctx context.Context, ups *Upstreams, c nodes.Chain, address string, out *metric.Batch) error {
	b, err := ofChain(ctx, ups, c, opNativeBalance+" "+address, func(chainID string) (data.NativeTokenBalance, error) {
		return ups.Data.NativeBalance(ctx, chainID, address, ups.Data.Currency)
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
