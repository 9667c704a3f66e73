package data

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// XChain is the alias of the X-Chain in a path.
const XChain = "x-chain"

// The types of transactions of the primary network's chains.
const (
	AddValidatorTx               = "AddValidatorTx"
	AddSubnetValidatorTx         = "AddSubnetValidatorTx"
	AddDelegatorTx               = "AddDelegatorTx"
	CreateChainTx                = "CreateChainTx"
	CreateSubnetTx               = "CreateSubnetTx"
	ImportTx                     = "ImportTx"
	ExportTx                     = "ExportTx"
	AdvanceTimeTx                = "AdvanceTimeTx"
	RewardValidatorTx            = "RewardValidatorTx"
	RemoveSubnetValidatorTx      = "RemoveSubnetValidatorTx"
	TransformSubnetTx            = "TransformSubnetTx"
	AddPermissionlessValidatorTx = "AddPermissionlessValidatorTx"
	AddPermissionlessDelegatorTx = "AddPermissionlessDelegatorTx"
	BaseTx                       = "BaseTx"
	TransferSubnetOwnershipTx    = "TransferSubnetOwnershipTx"
	ConvertSubnetToL1Tx          = "ConvertSubnetToL1Tx"
	RegisterL1ValidatorTx        = "RegisterL1ValidatorTx"
	SetL1ValidatorWeightTx       = "SetL1ValidatorWeightTx"
	DisableL1ValidatorTx         = "DisableL1ValidatorTx"
	IncreaseL1ValidatorBalanceTx = "IncreaseL1ValidatorBalanceTx"
	CreateAssetTx                = "CreateAssetTx"
	OperationTx                  = "OperationTx"
	UnknownTx                    = "UNKNOWN"
)

// The formats of the X-Chain: a graph of vertices at first, a chain of blocks since the Cortina upgrade.
const (
	NonLinear = "non-linear"
	Linear    = "linear"
)

// The kinds of cap on an asset's supply.
const (
	CapFixed    = "fixed"
	CapVariable = "variable"
)

// The types of unspent outputs of the X-Chain. On the P-Chain the types are in upper case.
const (
	UTXOTransfer = "transfer"
	UTXOMint     = "mint"
)

// AssetTransactionQuery selects transactions of an asset.
type AssetTransactionQuery struct {
	TxTypes    []string  // such as ImportTx; empty: all
	Start, End time.Time // exclusive, precise to the second; zero: no limit
	Paging
}

// AssetTransaction is a transaction of the X-Chain.
type AssetTransaction struct {
	TxHash           string        `json:"txHash"`
	ChainFormat      string        `json:"chainFormat,omitzero"`
	Timestamp        wire.UnixTime `json:"timestamp"`
	TxType           string        `json:"txType"`
	Memo             string        `json:"memo,omitzero"` // hex
	ConsumedUTXOs    []UTXO        `json:"consumedUtxos"`
	EmittedUTXOs     []UTXO        `json:"emittedUtxos"`
	AmountUnlocked   []AssetAmount `json:"amountUnlocked"`
	AmountCreated    []AssetAmount `json:"amountCreated"`
	SourceChain      string        `json:"sourceChain,omitzero"`      // blockchain ID, of an import
	DestinationChain string        `json:"destinationChain,omitzero"` // blockchain ID, of an export
	AssetCreated     *AssetCreated `json:"assetCreated"`

	Vertices    []Vertex     `json:"vertices,omitzero"` // of the format NonLinear
	BlockHeight *wire.Height `json:"blockHeight"`       // of the format Linear
	BlockHash   string       `json:"blockHash,omitzero"`
}

// UTXO is an output of a transaction, spent or not.
type UTXO struct {
	UTXOID               string           `json:"utxoId"`
	Addresses            []string         `json:"addresses"`
	Asset                AssetAmount      `json:"asset"`
	UTXOType             string           `json:"utxoType,omitzero"`
	OutputIndex          wire.Uint64      `json:"outputIndex"`
	CreationTxHash       string           `json:"creationTxHash"`
	CreatedOnChainID     string           `json:"createdOnChainId,omitzero"`
	Timestamp            wire.UnixTime    `json:"timestamp"`
	ConsumingTxHash      string           `json:"consumingTxHash,omitzero"` // empty while unspent
	ConsumedOnChainID    string           `json:"consumedOnChainId,omitzero"`
	ConsumingTxTimestamp *wire.UnixTime   `json:"consumingTxTimestamp"`
	Locktime             wire.Float       `json:"locktime"` // Unix seconds, 0 for none; a float, because the service rounds a locktime near 2^64 seconds
	Threshold            wire.Uint64      `json:"threshold"`
	GroupID              *wire.Uint64     `json:"groupId"`          // of an NFT
	Payload              string           `json:"payload,omitzero"` // of an NFT
	UTXOBytes            string           `json:"utxoBytes,omitzero"`
	Credentials          []UTXOCredential `json:"credentials,omitzero"` // of the spender
}

// UTXOCredential is a signature that spent an output.
type UTXOCredential struct {
	Signature string `json:"signature,omitzero"`
	PublicKey string `json:"publicKey,omitzero"`
}

// AssetCreated is the asset that a transaction created.
type AssetCreated struct {
	AssetID            string        `json:"assetId"`
	Name               string        `json:"name,omitzero"`
	Symbol             string        `json:"symbol,omitzero"`
	Denomination       wire.Uint64   `json:"denomination"` // decimals
	Type               string        `json:"type,omitzero"`
	CreatedAtTimestamp wire.UnixTime `json:"createdAtTimestamp"`
	Cap                string        `json:"cap,omitzero"`
}

// Vertex is a vertex of the X-Chain that holds a transaction.
type Vertex struct {
	Hash      string        `json:"hash"`
	Height    wire.Uint64   `json:"height"`
	Timestamp wire.UnixTime `json:"timestamp"`
}

// ChainInfo identifies a chain of the primary network.
type ChainInfo struct {
	ChainName string `json:"chainName"` // p-chain, x-chain or c-chain
	Network   string `json:"network"`
}

// AssetTransactionPage is one page of an asset's transactions.
type AssetTransactionPage struct {
	Transactions  []Item[AssetTransaction] `json:"transactions"`
	ChainInfo     ChainInfo                `json:"chainInfo"`
	NextPageToken string                   `json:"nextPageToken,omitzero"`
}

func (p AssetTransactionPage) content() ([]Item[AssetTransaction], string) {
	return p.Transactions, p.NextPageToken
}

// AssetTransactionPage calls GET /v1/networks/{network}/blockchains/{blockchainId}/assets/{assetId}/transactions for one
// page. BlockchainID is XChain or the X-Chain's own ID.
func (c *Client) AssetTransactionPage(ctx context.Context, network, blockchainID, assetID string, a AssetTransactionQuery, pageToken string) (AssetTransactionPage, error) {
	q := newRequest(assetTransactions)
	q.network(network)
	q.fill("blockchainId", blockchainID, "x-chain, or the blockchain ID of the X-Chain")
	q.fill("assetId", assetID, "the ID of an asset of the X-Chain")
	for _, t := range a.TxTypes {
		q.want(fits(t), "txTypes %s: write types such as ImportTx", quote(t))
		q.query.Add("txTypes", t)
	}
	q.times(a.Start, a.End)
	q.page(a.Paging, pageToken)
	return get[AssetTransactionPage](ctx, c, q)
}

// AssetTransactions yields the transactions of an asset, page by page.
func (c *Client) AssetTransactions(ctx context.Context, network, blockchainID, assetID string, a AssetTransactionQuery) iter.Seq2[AssetTransaction, error] {
	a.Paging = a.forWalk(assetTransactions)
	return walk(ctx, assetTransactions, a.MaxPages, func(ctx context.Context, token string) (AssetTransactionPage, error) {
		page, err := c.AssetTransactionPage(ctx, network, blockchainID, assetID, a, token)
		if named := page.ChainInfo.Network; err == nil && (named == Mainnet) != (network == Mainnet) {
			err = &scrape.Error{Op: assetTransactions.Op(), Outcome: scrape.Malformed, Err: fmt.Errorf("requested %s, the answer is about %s", network, quote(named))}
		}
		return page, err
	}, func(t AssetTransaction) string { return t.TxHash })
}
