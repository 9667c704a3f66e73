package node

import (
	"context"
	"errors"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Every method takes the chain that is asked: X, or the alias or blockchain ID of another chain of the same VM.

func avm[T any](ctx context.Context, c *Client, chain, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, at(avmPath, chain), method, params)
}

// AssetBalance is what an address holds of an asset.
type AssetBalance struct {
	Asset   string      `json:"asset"`   // asset ID, or AVAX
	Balance wire.Uint64 `json:"balance"` // in the asset's smallest unit
}

// AVMAllBalances asks avm.getAllBalances of an address such as X-avax1….
//
// Deprecated: since node version 1.9.12, and it may vanish: see IsNotOffered. AVMUTXOs tells the same and more.
func (c *Client) AVMAllBalances(ctx context.Context, chain, address string) ([]AssetBalance, error) {
	answer, err := avm[struct {
		Balances []AssetBalance `json:"balances"`
	}](ctx, c, chain, "avm.getAllBalances", map[string]string{"address": address})
	return answer.Balances, err
}

// Asset is how people call an asset and count it.
type Asset struct {
	AssetID      string      `json:"assetID"`
	Name         string      `json:"name"` // given by its creator; not unique
	Symbol       string      `json:"symbol"`
	Denomination wire.Uint64 `json:"denomination"` // decimal places of an amount as people write it
}

// AVMAssetDescription asks avm.getAssetDescription of an asset ID, or of AVAX.
func (c *Client) AVMAssetDescription(ctx context.Context, chain, assetID string) (Asset, error) {
	return avm[Asset](ctx, c, chain, "avm.getAssetDescription", map[string]string{"assetID": assetID})
}

// AVMBalance is what an address holds of one asset.
type AVMBalance struct {
	Balance wire.Uint64 `json:"balance"` // in the asset's smallest unit
	UTXOIDs []UTXOID    `json:"utxoIDs"`
}

// AVMBalance asks avm.getBalance of an address, of an asset ID or AVAX.
//
// Deprecated: since node version 1.9.12, and it may vanish: see IsNotOffered. AVMUTXOs tells the same and more.
func (c *Client) AVMBalance(ctx context.Context, chain, address, assetID string) (AVMBalance, error) {
	return avm[AVMBalance](ctx, c, chain, "avm.getBalance", map[string]string{"address": address, "assetID": assetID})
}

// AVMBlock asks avm.getBlock of a block ID, which it rejects where it has no such block. An empty encoding means Hex.
func (c *Client) AVMBlock(ctx context.Context, chain, blockID string, as Encoding) (Encoded[Block], error) {
	return avm[Encoded[Block]](ctx, c, chain, "avm.getBlock", blockByID{blockID, as})
}

// AVMBlockByHeight asks avm.getBlockByHeight, which it rejects where it has no such block. An empty encoding means Hex.
func (c *Client) AVMBlockByHeight(ctx context.Context, chain string, height uint64, as Encoding) (Encoded[Block], error) {
	return avm[Encoded[Block]](ctx, c, chain, "avm.getBlockByHeight", struct {
		Height   uint64   `json:"height,string"`
		Encoding Encoding `json:"encoding,omitempty"`
	}{height, as})
}

// AVMHeight asks avm.getHeight: the height of the last accepted block. On an X-Chain that nobody uses it stands still.
func (c *Client) AVMHeight(ctx context.Context, chain string) (uint64, error) {
	answer, err := avm[struct {
		Height wire.Height `json:"height"`
	}](ctx, c, chain, "avm.getHeight", nil)
	return uint64(answer.Height), err
}

// AVMTx asks avm.getTx of a transaction ID; one that the node does not know is an error. An empty encoding means Hex.
func (c *Client) AVMTx(ctx context.Context, chain, txID string, as Encoding) (Encoded[Tx], error) {
	return avm[Encoded[Tx]](ctx, c, chain, "avm.getTx", struct {
		TxID     string   `json:"txID"`
		Encoding Encoding `json:"encoding,omitempty"`
	}{txID, as})
}

// AVMTxFee asks avm.getTxFee: the fixed fees of the chain, the two of TxFee that are in use.
func (c *Client) AVMTxFee(ctx context.Context, chain string) (TxFee, error) {
	return avm[TxFee](ctx, c, chain, "avm.getTxFee", nil)
}

// AVMTxStatus asks avm.getTxStatus of a transaction ID: Accepted, Processing, Rejected or Unknown.
//
// Deprecated: since node version 1.10.0, and it may vanish: see IsNotOffered. AVMTx knows what is accepted.
func (c *Client) AVMTxStatus(ctx context.Context, chain, txID string) (string, error) {
	answer, err := avm[struct {
		Status string `json:"status"`
	}](ctx, c, chain, "avm.getTxStatus", map[string]string{"txID": txID})
	return answer.Status, err
}

// MaxUTXOs is the largest page of unspent outputs, and a node's default.
const MaxUTXOs = 1024

// UTXOQuery says which unspent outputs are wanted.
type UTXOQuery struct {
	Addresses   []string `json:"addresses"`             // at least one; each output refers to at least one of them
	SourceChain string   `json:"sourceChain,omitempty"` // alias or ID: those exported from there and not imported yet
	Limit       int      `json:"limit,omitempty"`       // of one page; 0, and more than MaxUTXOs, mean MaxUTXOs
}

// UTXOIndex is where a page of unspent outputs ends and the next begins.
type UTXOIndex struct {
	Address string `json:"address"`
	UTXO    string `json:"utxo"`
}

// UTXOPage is one page of unspent outputs.
type UTXOPage struct {
	NumFetched  wire.Uint64 `json:"numFetched"`
	UTXOs       []string    `json:"utxos"` // the bytes of each and a checksum of four, hex after 0x
	EndIndex    UTXOIndex   `json:"endIndex"`
	SourceChain string      `json:"sourceChain,omitzero"`
	Encoding    Encoding    `json:"encoding"`
}

// AVMUTXOPage asks avm.getUTXOs for one page, in Hex, the only encoding there is: the first for nil, else the one that
// begins where another ended. From one page to the next an output can repeat, and the set can change.
func (c *Client) AVMUTXOPage(ctx context.Context, chain string, q UTXOQuery, start *UTXOIndex) (UTXOPage, error) {
	return avm[UTXOPage](ctx, c, chain, "avm.getUTXOs", struct {
		UTXOQuery
		StartIndex *UTXOIndex `json:"startIndex,omitempty"`
	}{q, start})
}

// maxUTXOPages bounds a walk through unspent outputs.
const maxUTXOPages = 100

// AVMUTXOs asks avm.getUTXOs page by page and yields each output once, in hex. It ends at an empty page, at one that leads
// no further, and with the first error; more than a hundred pages are an error.
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
