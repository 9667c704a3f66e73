package data

import (
	"context"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Parameters of the methods in typed. They are valid and do not affect how an answer is decoded.
const (
	anyChain = "43114"
	anyID    = "1"
)

var (
	anyAddress = "0x" + strings.Repeat("0", 40)
	onePage    = Paging{MaxPages: 1}
)

// typed holds the client's method for each endpoint, by Endpoint.Name.
var typed = map[string]func(context.Context, *Client) error{
	"AggregateSignatures": func(ctx context.Context, c *Client) error {
		return only(c.AggregateSignatures(ctx, Mainnet, SignatureQuery{Message: "00"}))
	},
	"AggregatedSignatures": func(ctx context.Context, c *Client) error {
		return only(c.AggregatedSignatures(ctx, Mainnet, anyID))
	},
	"AssetTransactions": func(ctx context.Context, c *Client) error {
		return only(c.AssetTransactionPage(ctx, Mainnet, XChain, anyID, AssetTransactionQuery{}, ""))
	},
	"Blockchains": func(ctx context.Context, c *Client) error {
		return all(c.Blockchains(ctx, Mainnet, BlockchainQuery{Paging: onePage}))
	},
	"Subnet": func(ctx context.Context, c *Client) error { return only(c.Subnet(ctx, Mainnet, anyID)) },
	"Rewards": func(ctx context.Context, c *Client) error {
		return all(c.Rewards(ctx, Mainnet, RewardQuery{NodeIDs: []string{"NodeID-" + anyID}, Paging: onePage}))
	},
	"ERC721Transfers": func(ctx context.Context, c *Client) error {
		return all(c.ERC721Transfers(ctx, anyChain, anyAddress, BlockRange{Paging: onePage}))
	},
	"InternalTransactions": func(ctx context.Context, c *Client) error {
		return all(c.InternalTransactions(ctx, anyChain, anyAddress, BlockRange{Paging: onePage}))
	},
	"ERC1155Balances": func(ctx context.Context, c *Client) error {
		return all(c.ERC1155Balances(ctx, anyChain, anyAddress, ERC1155Query{Paging: onePage}))
	},
	"ERC721Balances": func(ctx context.Context, c *Client) error {
		return all(c.ERC721Balances(ctx, anyChain, anyAddress, CollectibleQuery{Paging: onePage}))
	},
	"Collectibles": func(ctx context.Context, c *Client) error {
		return all(c.Collectibles(ctx, anyChain, anyAddress, CollectibleQuery{Paging: onePage}))
	},
	"NativeBalance": func(ctx context.Context, c *Client) error {
		return only(c.NativeBalance(ctx, anyChain, anyAddress, NativeBalanceQuery{}))
	},
	"Deployments": func(ctx context.Context, c *Client) error {
		return all(c.Deployments(ctx, anyChain, anyAddress, onePage))
	},
	"ICMMessages": func(ctx context.Context, c *Client) error {
		return all(c.ICMMessages(ctx, anyAddress, ICMQuery{Paging: onePage}))
	},
	"Block":   func(ctx context.Context, c *Client) error { return only(c.Block(ctx, anyChain, anyID)) },
	"Reindex": func(ctx context.Context, c *Client) error { return c.Reindex(ctx, anyChain, anyAddress, anyID) },
}

// only returns the error of a typed call.
func only[T any](_ T, err error) error { return err }

// all returns the error of a walk over one page.
func all[T any](page iter.Seq2[T, error]) error {
	for _, err := range page {
		if err != nil && !IsTruncated(err) {
			return err
		}
	}
	return nil
}

// Check decodes an answer of the endpoint as the typed client does. If that fails, the error has the outcome malformed.
func (e Endpoint) Check(ctx context.Context, answer jsontext.Value) error {
	u, err := scrape.Replay(answer)
	if err != nil {
		return err
	}
	return typed[e.Name](ctx, New(u))
}
