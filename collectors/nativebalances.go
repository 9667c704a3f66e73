package collectors

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	addressBalance = metric.New("avax_address_balance_tokens",
		"Balance of a monitored address in the chain's own token.", "chain", "address")
	addressToken = metric.New("avax_address_token_info",
		"Symbol of the token in avax_address_balance_tokens; always 1. Absent if it is not known: only the Data service knows the symbol of an L1's token.", "chain",
		"address", "symbol")
	addressValue = metric.New("avax_address_balance_value",
		"Value of avax_address_balance_tokens in a currency. Absent if the Data service reports no value.", "chain", "address", "currency")
)

var nativeBalances = &collector.Spec{
	Name: "native_balances",
	Help: "Balances of the monitored EVM addresses, from a node or an observer that serves the chain. Values are from the Data service, and balances too " +
		"if no node or observer reports them. Needs AVAX_WATCH_ADDRESSES.",
	Calls: []string{"eth_getBalance", data.GetNativeBalance.Op(), "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{addressBalance, addressToken, addressValue},
	Bind:     collector.Per(collector.Pairs(collector.Chains, collector.Items(collector.Watchlist.EVMItems)), collectNativeBalance),
	Cost:     collector.Calls(data.GetNativeBalance.Op(), 1),
}

func collectNativeBalance(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c, address := on.Chain, on.Item.Value
	symbol := ""
	tokens, err := nodes.Agreed(ctx, ups.Pool, nodes.FactBalances, closely, func(ctx context.Context, n *nodes.Node) (float64, error) {
		return nodes.Optional(n.EthBalance(ctx, c.Ref, address))
	})
	if ups.Data != nil {
		b, listedErr := listedBalance(ctx, ups, c, address)
		symbol = b.Symbol
		switch {
		case listedErr == nil && err != nil:
			tokens, err = b.Tokens(), nil
		case listedErr != nil && (ups.IsEmpty() || nodes.NotServed(err)):
			err = listedErr
		case listedErr != nil && err == nil && !errors.Is(listedErr, metric.ErrNotOffered):
			out.Note("no value in a currency: %v", listedErr)
		}
		if worth := b.BalanceValue; listedErr == nil && worth != nil {
			value, wrong := worth.In(ups.Data.Currency)
			if wrong != nil {
				out.Note("no value in a currency: %v", wrong)
			} else {
				out.Set(addressValue, value, c.Name, address, cmp.Or(ups.Data.Currency, data.USD))
			}
		}
	}
	if err != nil {
		return err
	}
	out.Set(addressBalance, tokens, c.Name, address)
	if known, err := ups.KnownBlockchain(ctx, c); err == nil && known.SubnetID == node.PrimaryNetworkID {
		symbol = "AVAX"
	}
	if symbol != "" {
		out.Set(addressToken, 1, c.Name, address, symbol)
	}
	return nil
}

// listedBalance requests a balance from the Data service.
func listedBalance(ctx context.Context, ups *collector.Upstreams, c nodes.Chain, address string) (data.NativeTokenBalance, error) {
	if _, err := ups.FindNetwork(ctx); err != nil {
		return data.NativeTokenBalance{}, err
	}
	b, err := collector.OfChain(ctx, ups, c, data.GetNativeBalance.Op()+" "+address, func(chainID string) (data.NativeTokenBalance, error) {
		return ups.Data.NativeBalance(ctx, chainID, address, ups.Data.Currency)
	})
	if err == nil {
		err = ups.CheckChain(ctx, data.GetNativeBalance.Op(), c, b.ChainID)
	}
	return b, err
}
