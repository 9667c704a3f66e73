package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Every method takes the chain: X, or the alias or blockchain ID of another chain of the same VM.

type avmBalances struct {
	Balances []struct {
		Asset   string      `json:"asset"`
		Balance wire.Uint64 `json:"balance"`
	} `json:"balances"`
}

// Asset is the name and the unit of an asset.
type Asset struct {
	AssetID      string        `json:"assetID"`
	Name         string        `json:"name"` // set by its creator; not unique
	Symbol       string        `json:"symbol"`
	Denomination wire.Decimals `json:"denomination"` // decimal places
}

// AVMAssetDescription calls avm.getAssetDescription for an asset ID, or for AVAX.
func (c *Client) AVMAssetDescription(ctx context.Context, chain, assetID string) (Asset, error) {
	return call(ctx, c, getAssetDescription, chain, map[string]string{"assetID": assetID})
}

// AVMBalance is the balance of an address in one asset.
type AVMBalance struct {
	Balance wire.Uint64 `json:"balance"` // in the asset's smallest unit
}

// AVMBalance calls avm.getBalance for an address and an asset ID. If the node does not serve that deprecated method, it adds up the unspent outputs
// of the address that it can spend now, without other signers.
func (c *Client) AVMBalance(ctx context.Context, chain, address, assetID string) (AVMBalance, error) {
	answer, err := call(ctx, c, getAVMBalance, chain, map[string]string{"address": address, "assetID": assetID})
	if !IsNotServed(err) {
		return answer, err
	}
	all, listErr := c.unspent(ctx, getUTXOs, chain, address)
	if IsNotServed(listErr) {
		return answer, err
	} else if listErr != nil {
		return answer, listErr
	}
	for _, o := range all {
		if o.asset == assetID && o.transfer && o.locktime <= uint64(time.Now().Unix()) && o.owners == 1 {
			answer.Balance += wire.Uint64(o.amount)
		}
	}
	return answer, nil
}

// encoded is a block or a transaction, in hex or JSON.
type encoded struct {
	Block    jsontext.Value `json:"block,omitzero"`
	Tx       jsontext.Value `json:"tx,omitzero"`
	Encoding string         `json:"encoding"`
}

type avmBlock struct {
	Block struct {
		Time *wire.PastUnixTime `json:"time"`
	} `json:"block"`
}

var getAVMBlockTime = scrape.As[avmBlock](getBlockByHeight.Method)

// AVMBlockTime calls avm.getBlockByHeight and returns the time of the block, or zero for a block without one. An unknown block is
// an error.
func (c *Client) AVMBlockTime(ctx context.Context, chain string, height uint64) (time.Time, error) {
	answer, err := call(ctx, c, getAVMBlockTime, chain, map[string]string{"height": strconv.FormatUint(height, 10), "encoding": "json"})
	if err == nil {
		err = c.compare(getAVMBlockTime.Method, chain, wire.Optional(answer.Block)).Incomplete()
	}
	if err != nil || answer.Block.Time == nil {
		return time.Time{}, err
	}
	return answer.Block.Time.Time, nil
}

// AVMHeight calls avm.getHeight: the height of the last accepted block. It does not change while the X-Chain is unused.
func (c *Client) AVMHeight(ctx context.Context, chain string) (uint64, error) {
	height, err := call(ctx, c, getAVMHeight, chain, nil)
	return uint64(height), err
}

// TxFee holds the fixed fees of the X-Chain.
type TxFee struct {
	TxFee            wire.NanoAVAX `json:"txFee"`
	CreateAssetTxFee wire.NanoAVAX `json:"createAssetTxFee"`
}

// AVMTxFee calls avm.getTxFee.
func (c *Client) AVMTxFee(ctx context.Context, chain string) (TxFee, error) {
	return call(ctx, c, getAVMTxFee, chain, nil)
}

type utxoIndex struct {
	Address string `json:"address"`
	UTXO    string `json:"utxo"`
}

type utxoPage struct {
	NumFetched *wire.Uint64 `json:"numFetched"`
	UTXOs      []string     `json:"utxos"` // bytes and a checksum of four bytes, in hex after 0x
	EndIndex   utxoIndex    `json:"endIndex"`
}

// maxUTXOPages is the maximum number of pages of one list of unspent outputs. A page has 1,024 outputs.
const maxUTXOPages = 100

// AVMUTXOs calls avm.getUTXOs page by page and returns the number of unspent outputs of an address.
func (c *Client) AVMUTXOs(ctx context.Context, chain, address string) (int, error) {
	all, err := c.listUnspent(ctx, getUTXOs, chain, address)
	return len(all), err
}

// unspent returns the unspent outputs of an address.
func (c *Client) unspent(ctx context.Context, m scrape.Typed[utxoPage], chain, address string) ([]output, error) {
	texts, err := c.listUnspent(ctx, m, chain, address)
	if err != nil {
		return nil, err
	}
	all := make([]output, 0, len(texts))
	for text := range texts {
		o, err := parseOutput(text)
		if err != nil {
			return nil, &scrape.Error{Op: m.Name, Outcome: scrape.Malformed, Err: err}
		}
		all = append(all, o)
	}
	return all, nil
}

// listUnspent requests the unspent outputs of an address page by page. The last page is empty, or its end equals its start. More than a hundred
// pages are an error. Two pages may contain the same output, which counts once.
func (c *Client) listUnspent(ctx context.Context, m scrape.Typed[utxoPage], chain, address string) (map[string]bool, error) {
	seen := make(map[string]bool)
	var start *utxoIndex
	for range maxUTXOPages {
		page, err := call(ctx, c, m, chain, struct {
			Addresses  []string   `json:"addresses"`
			StartIndex *utxoIndex `json:"startIndex,omitempty"`
		}{[]string{address}, start})
		if err != nil {
			return nil, err
		}
		if page.NumFetched != nil && int(*page.NumFetched) != len(page.UTXOs) {
			err := fmt.Errorf("numFetched is %d, but the page has %d outputs", *page.NumFetched, len(page.UTXOs))
			return nil, &scrape.Error{Op: m.Name, Outcome: scrape.Malformed, Err: err}
		}
		for _, utxo := range page.UTXOs {
			seen[utxo] = true
		}
		if len(page.UTXOs) == 0 || start != nil && *start == page.EndIndex {
			return seen, nil
		}
		start = &page.EndIndex
	}
	return nil, &scrape.Error{Op: m.Name, Outcome: scrape.TooLarge,
		Err: errors.New("more than a hundred pages: monitor addresses with fewer unspent outputs")}
}
