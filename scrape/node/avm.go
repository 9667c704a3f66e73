package node

import (
	"context"
	"errors"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Every method takes the chain: X, or the alias or blockchain ID of another chain of the same VM.

func avm[T any](ctx context.Context, c *Client, chain, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, at(avmPath, chain), method, params)
}

// AssetBalance is the balance of an address in one asset.
type AssetBalance struct {
	Asset   string      `json:"asset"`   // asset ID, or AVAX
	Balance wire.Uint64 `json:"balance"` // in the asset's smallest unit
}

// AVMAllBalances calls avm.getAllBalances for an address such as X-avax1….
//
// Deprecated: since node version 1.9.12. A release may remove it: see IsNotOffered. AVMUTXOs returns the same information and
// more.
func (c *Client) AVMAllBalances(ctx context.Context, chain, address string) ([]AssetBalance, error) {
	answer, err := avm[struct {
		Balances []AssetBalance `json:"balances"`
	}](ctx, c, chain, "avm.getAllBalances", map[string]string{"address": address})
	return answer.Balances, err
}

// Asset is the name and the unit of an asset.
type Asset struct {
	AssetID      string      `json:"assetID"`
	Name         string      `json:"name"` // set by its creator; not unique
	Symbol       string      `json:"symbol"`
	Denomination wire.Uint64 `json:"denomination"` // decimal places
}

// AVMAssetDescription calls avm.getAssetDescription for an asset ID, or for AVAX.
func (c *Client) AVMAssetDescription(ctx context.Context, chain, assetID string) (Asset, error) {
	return avm[Asset](ctx, c, chain, "avm.getAssetDescription", map[string]string{"assetID": assetID})
}

// AVMBalance is the balance of an address in one asset, with its outputs.
type AVMBalance struct {
	Balance wire.Uint64 `json:"balance"` // in the asset's smallest unit
	UTXOIDs []UTXOID    `json:"utxoIDs"`
}

// AVMBalance calls avm.getBalance for an address and an asset ID, or AVAX.
//
// Deprecated: since node version 1.9.12. A release may remove it: see IsNotOffered. AVMUTXOs returns the same information and
// more.
func (c *Client) AVMBalance(ctx context.Context, chain, address, assetID string) (AVMBalance, error) {
	return avm[AVMBalance](ctx, c, chain, "avm.getBalance", map[string]string{"address": address, "assetID": assetID})
}

// AVMBlock calls avm.getBlock for a block ID. An unknown block is an error. An empty encoding means Hex.
func (c *Client) AVMBlock(ctx context.Context, chain, blockID string, as Encoding) (Encoded[Block], error) {
	return avm[Encoded[Block]](ctx, c, chain, "avm.getBlock", blockByID{blockID, as})
}

// AVMBlockByHeight calls avm.getBlockByHeight. An unknown block is an error. An empty encoding means Hex.
func (c *Client) AVMBlockByHeight(ctx context.Context, chain string, height uint64, as Encoding) (Encoded[Block], error) {
	return avm[Encoded[Block]](ctx, c, chain, "avm.getBlockByHeight", struct {
		Height   uint64   `json:"height,string"`
		Encoding Encoding `json:"encoding,omitempty"`
	}{height, as})
}

// AVMHeight calls avm.getHeight: the height of the last accepted block. It does not change while the X-Chain is unused.
func (c *Client) AVMHeight(ctx context.Context, chain string) (uint64, error) {
	answer, err := avm[struct {
		Height wire.Height `json:"height"`
	}](ctx, c, chain, "avm.getHeight", nil)
	return uint64(answer.Height), err
}

// AVMTx calls avm.getTx for a transaction ID. An unknown transaction is an error. An empty encoding means Hex.
func (c *Client) AVMTx(ctx context.Context, chain, txID string, as Encoding) (Encoded[Tx], error) {
	return avm[Encoded[Tx]](ctx, c, chain, "avm.getTx", struct {
		TxID     string   `json:"txID"`
		Encoding Encoding `json:"encoding,omitempty"`
	}{txID, as})
}

// AVMTxFee calls avm.getTxFee: the fixed fees of the chain. Only the first two fields of TxFee are set.
func (c *Client) AVMTxFee(ctx context.Context, chain string) (TxFee, error) {
	return avm[TxFee](ctx, c, chain, "avm.getTxFee", nil)
}

// AVMTxStatus calls avm.getTxStatus for a transaction ID: Accepted, Processing, Rejected or Unknown.
//
// Deprecated: since node version 1.10.0. A release may remove it: see IsNotOffered. AVMTx finds accepted transactions.
func (c *Client) AVMTxStatus(ctx context.Context, chain, txID string) (string, error) {
	answer, err := avm[struct {
		Status string `json:"status"`
	}](ctx, c, chain, "avm.getTxStatus", map[string]string{"txID": txID})
	return answer.Status, err
}

// MaxUTXOs is the maximum number of unspent outputs per page. It is also a node's default.
const MaxUTXOs = 1024

// UTXOQuery selects unspent outputs.
type UTXOQuery struct {
	Addresses   []string `json:"addresses"`             // at least one; each output belongs to at least one of them
	SourceChain string   `json:"sourceChain,omitempty"` // alias or ID: only outputs exported from there and not imported yet
	Limit       int      `json:"limit,omitempty"`       // outputs per page; 0 or a number above MaxUTXOs means MaxUTXOs
}

// UTXOIndex is the end of a page of unspent outputs and the start of the next.
type UTXOIndex struct {
	Address string `json:"address"`
	UTXO    string `json:"utxo"`
}

// UTXOPage is one page of unspent outputs.
type UTXOPage struct {
	NumFetched  wire.Uint64 `json:"numFetched"`
	UTXOs       []string    `json:"utxos"` // bytes and a checksum of four bytes, in hex after 0x
	EndIndex    UTXOIndex   `json:"endIndex"`
	SourceChain string      `json:"sourceChain,omitzero"`
	Encoding    Encoding    `json:"encoding"`
}

// AVMUTXOPage calls avm.getUTXOs for one page, in Hex, the only encoding. Start is the end of the previous page, and nil for
// the first page. Two pages may contain the same output, and the set may change between two calls.
func (c *Client) AVMUTXOPage(ctx context.Context, chain string, q UTXOQuery, start *UTXOIndex) (UTXOPage, error) {
	return avm[UTXOPage](ctx, c, chain, "avm.getUTXOs", struct {
		UTXOQuery
		StartIndex *UTXOIndex `json:"startIndex,omitempty"`
	}{q, start})
}

// maxUTXOPages is the maximum number of pages of one list of unspent outputs.
const maxUTXOPages = 100

// AVMUTXOs calls avm.getUTXOs page by page and yields each output once, in hex. It ends after an empty page, after a page
// whose end equals its start, or after an error. More than a hundred pages are an error.
func (c *Client) AVMUTXOs(ctx context.Context, chain string, q UTXOQuery) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := make(map[string]bool)
		var start *UTXOIndex
		for range maxUTXOPages {
			page, err := c.AVMUTXOPage(ctx, chain, q, start)
			if err != nil {
				yield("", err)
				return
			}
			for _, utxo := range page.UTXOs {
				if !seen[utxo] {
					seen[utxo] = true
					if !yield(utxo, nil) {
						return
					}
				}
			}
			if len(page.UTXOs) == 0 || start != nil && *start == page.EndIndex {
				return
			}
			start = &page.EndIndex
		}
		yield("", &scrape.Error{Op: "avm.getUTXOs", Outcome: scrape.TooLarge, Err: errors.New("more than a hundred pages: request fewer addresses at once")})
	}
}
