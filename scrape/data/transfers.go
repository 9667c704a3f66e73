package data

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// BlockRange selects blocks. A nil StartBlock means the first block, a nil EndBlock means up to the latest block.
type BlockRange struct {
	StartBlock *uint64 // first block
	EndBlock   *uint64 // block after the last
	Paging
}

// ERC721Transfer is the transfer of an NFT.
type ERC721Transfer struct {
	TxHash              string        `json:"txHash"`
	LogIndex            wire.Uint64   `json:"logIndex"`
	BlockNumber         wire.Height   `json:"blockNumber"`
	BlockHash           string        `json:"blockHash"`
	BlockTimestamp      wire.UnixTime `json:"blockTimestamp"`
	BlockTimestampMilli *wire.Uint64  `json:"blockTimestampMilliseconds"` // Unix milliseconds; nil in blocks before Granite
	From                Party         `json:"from"`
	To                  Party         `json:"to"`
	Token               Collectible   `json:"erc721Token"`
}

// ID returns the identity of a transfer on its chain.
func (t ERC721Transfer) ID() string { return fmt.Sprint(t.TxHash, " ", t.LogIndex) }

// ERC721TransferPage is one page of NFT transfers.
type ERC721TransferPage struct {
	Transfers     []Item[ERC721Transfer] `json:"transactions"`
	NextPageToken string                 `json:"nextPageToken,omitzero"`
}

func (p ERC721TransferPage) content() ([]Item[ERC721Transfer], string) {
	return p.Transfers, p.NextPageToken
}

// ERC721TransferPage calls GET /v1/chains/{chainId}/addresses/{address}/transactions:listErc721 for one page.
func (c *Client) ERC721TransferPage(ctx context.Context, chainID, address string, r BlockRange, pageToken string) (ERC721TransferPage, error) {
	return get[ERC721TransferPage](ctx, c, blocksRequest(erc721Transfers, chainID, address, r, pageToken))
}

// ERC721Transfers yields the NFT transfers of an address, page by page.
func (c *Client) ERC721Transfers(ctx context.Context, chainID, address string, r BlockRange) iter.Seq2[ERC721Transfer, error] {
	r.Paging = r.forWalk(erc721Transfers)
	return walk(ctx, erc721Transfers, r.MaxPages, func(ctx context.Context, token string) (ERC721TransferPage, error) {
		return c.ERC721TransferPage(ctx, chainID, address, r, token)
	}, ERC721Transfer.ID)
}

// The types of internal transactions. The service lists only creations, and calls that transfer a value.
const (
	InternalUnknown      = "UNKNOWN"
	InternalCall         = "CALL"
	InternalCallCode     = "CALLCODE"
	InternalDelegateCall = "DELEGATECALL"
	InternalStaticCall   = "STATICCALL"
	InternalCreate       = "CREATE"
	InternalCreate2      = "CREATE2"
	InternalCreate3      = "CREATE3"
)

// InternalTransaction is a call by a contract.
type InternalTransaction struct {
	TxHash              string        `json:"txHash"`
	BlockNumber         wire.Height   `json:"blockNumber"`
	BlockHash           string        `json:"blockHash"`
	BlockTimestamp      wire.UnixTime `json:"blockTimestamp"`
	BlockTimestampMilli *wire.Uint64  `json:"blockTimestampMilliseconds"` // Unix milliseconds; nil in blocks before Granite
	From                Party         `json:"from"`
	To                  Party         `json:"to"`
	InternalTxType      string        `json:"internalTxType"`
	Value               Amount        `json:"value"` // in wei of the chain's token
	IsReverted          bool          `json:"isReverted"`
	GasUsed             Amount        `json:"gasUsed"`
	GasLimit            Amount        `json:"gasLimit"`

	nth int // zero-based index among the identical calls of its page
}

// ID returns the identity of an internal transaction on its chain. The service provides none, and a transaction can contain
// identical calls. Identical calls on one page get different numbers. Identical calls on different pages count as one call,
// because pages may overlap.
func (t InternalTransaction) ID() string { return fmt.Sprint(t.fingerprint(), " ", t.nth) }

func (t InternalTransaction) fingerprint() string {
	return fmt.Sprint(t.TxHash, " ", t.From.Address, " ", t.To.Address, " ", t.InternalTxType, " ", t.Value, " ", t.IsReverted, " ", t.GasUsed, " ", t.GasLimit)
}

// InternalTransactionPage is one page of internal transactions.
type InternalTransactionPage struct {
	Transactions  []Item[InternalTransaction] `json:"transactions"`
	NextPageToken string                      `json:"nextPageToken,omitzero"`
}

func (p InternalTransactionPage) content() ([]Item[InternalTransaction], string) {
	count := map[string]int{}
	list := slices.Clone(p.Transactions) // the page may be shared
	for i := range list {
		fingerprint := list[i].Value.fingerprint()
		list[i].Value.nth = count[fingerprint]
		count[fingerprint]++
	}
	return list, p.NextPageToken
}

// InternalTransactionPage calls GET /v1/chains/{chainId}/addresses/{address}/transactions:listInternals for one page.
func (c *Client) InternalTransactionPage(ctx context.Context, chainID, address string, r BlockRange, pageToken string) (InternalTransactionPage, error) {
	return get[InternalTransactionPage](ctx, c, blocksRequest(internalTransactions, chainID, address, r, pageToken))
}

// InternalTransactions yields the internal transactions of an address, page by page.
func (c *Client) InternalTransactions(ctx context.Context, chainID, address string, r BlockRange) iter.Seq2[InternalTransaction, error] {
	r.Paging = r.forWalk(internalTransactions)
	return walk(ctx, internalTransactions, r.MaxPages, func(ctx context.Context, token string) (InternalTransactionPage, error) {
		return c.InternalTransactionPage(ctx, chainID, address, r, token)
	}, InternalTransaction.ID)
}

func blocksRequest(e *Endpoint, chainID, address string, r BlockRange, pageToken string) *request {
	q := newRequest(e)
	q.chain(chainID)
	q.address(address)
	q.blocks(r)
	q.page(r.Paging, pageToken)
	return q
}
