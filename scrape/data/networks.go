package data

import (
	"context"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// BlockchainQuery sets the order of blockchains.
type BlockchainQuery struct {
	SortOrder string // Ascending or Descending; empty: the service's default
	Paging
}

// Blockchain is a chain of the primary network, a subnet or an L1.
type Blockchain struct {
	BlockchainID         string        `json:"blockchainId"`
	BlockchainName       string        `json:"blockchainName"`
	SubnetID             string        `json:"subnetId"`
	VMID                 string        `json:"vmId"`
	EVMChainID           *wire.Uint64  `json:"evmChainId"` // nil for another VM
	CreateBlockTimestamp wire.UnixTime `json:"createBlockTimestamp"`
	CreateBlockNumber    wire.Int64    `json:"createBlockNumber"` // -1 for chains of the genesis
	GenesisData          *Genesis      `json:"genesisData"`       // nil if absent; the service may omit it in a list
}

// BlockchainPage is one page of blockchains.
type BlockchainPage struct {
	Blockchains   []Item[Blockchain] `json:"blockchains"`
	NextPageToken string             `json:"nextPageToken,omitzero"`
}

func (p BlockchainPage) content() ([]Item[Blockchain], string) { return p.Blockchains, p.NextPageToken }

// BlockchainPage calls GET /v1/networks/{network}/blockchains for one page.
func (c *Client) BlockchainPage(ctx context.Context, network string, b BlockchainQuery, pageToken string) (BlockchainPage, error) {
	q := newRequest(blockchains)
	q.network(network)
	q.sort(b.SortOrder)
	q.page(b.Paging, pageToken)
	return get[BlockchainPage](ctx, c, q)
}

// Blockchains yields all blockchains of a network, page by page.
func (c *Client) Blockchains(ctx context.Context, network string, b BlockchainQuery) iter.Seq2[Blockchain, error] {
	b.Paging = b.forWalk(blockchains)
	return walk(ctx, blockchains, b.MaxPages, func(ctx context.Context, token string) (BlockchainPage, error) {
		return c.BlockchainPage(ctx, network, b, token)
	}, func(b Blockchain) string { return b.BlockchainID })
}

// Subnet is a subnet or L1.
type Subnet struct {
	SubnetID                  string        `json:"subnetId"`
	CreateBlockTimestamp      wire.UnixTime `json:"createBlockTimestamp"`
	CreateBlockIndex          wire.Int64    `json:"createBlockIndex"`
	IsL1                      bool          `json:"isL1"`
	L1ConversionTxHash        string        `json:"l1ConversionTransactionHash,omitzero"`
	L1ValidatorManagerDetails *L1Manager    `json:"l1ValidatorManagerDetails"`
	SubnetOwnershipInfo       *Ownership    `json:"subnetOwnershipInfo"`
	Blockchains               []Blockchain  `json:"blockchains"`

	// OwnerAddresses is outdated if SubnetOwnershipInfo is present.
	OwnerAddresses []string     `json:"ownerAddresses,omitzero"`
	Threshold      *wire.Uint64 `json:"threshold"`
	Locktime       *wire.Float  `json:"locktime"`
}

// L1Manager is the contract that manages the validators of an L1.
type L1Manager struct {
	BlockchainID    string `json:"blockchainId"`
	ContractAddress string `json:"contractAddress"`
}

// Ownership is the right to change a subnet after Locktime. Threshold is the number of Addresses that must sign.
type Ownership struct {
	Addresses []string    `json:"addresses"`
	Threshold wire.Uint64 `json:"threshold"`
	Locktime  wire.Float  `json:"locktime"` // Unix seconds; 0 for none
}

// Subnet calls GET /v1/networks/{network}/subnets/{subnetId}.
func (c *Client) Subnet(ctx context.Context, network, subnetID string) (Subnet, error) {
	q := newRequest(subnet)
	q.network(network)
	q.fill("subnetId", subnetID, "the ID of a subnet")
	return get[Subnet](ctx, c, q)
}
