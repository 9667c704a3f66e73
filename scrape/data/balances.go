package data

import (
	"context"
	"iter"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// The types of tokens and of their contracts.
const (
	ERC20      = "ERC-20"
	ERC721     = "ERC-721"
	ERC1155    = "ERC-1155"
	ERCUnknown = "UNKNOWN"
)

// NativeTokenBalance is the balance of an address in its chain's native token.
type NativeTokenBalance struct {
	ChainID      string      `json:"chainId"`
	Name         string      `json:"name,omitzero"`
	Symbol       string      `json:"symbol"`
	Decimals     wire.Uint64 `json:"decimals"`
	LogoURI      string      `json:"logoUri,omitzero"`
	Balance      Amount      `json:"balance"`      // in wei
	Price        *Money      `json:"price"`        // of a whole token; nil if unknown
	BalanceValue *Money      `json:"balanceValue"` // of the balance
}

// Tokens returns the balance in whole tokens, to the nearest float64.
func (b NativeTokenBalance) Tokens() float64 { return b.Balance.Tokens(uint64(b.Decimals)) }

// NativeBalanceQuery selects the block of a balance and the currency of its value.
type NativeBalanceQuery struct {
	BlockNumber *uint64 // nil: the latest
	Currency    string  // one of Currencies; empty: USD
}

// NativeBalance calls GET /v1/chains/{chainId}/addresses/{address}/balances:getNative.
func (c *Client) NativeBalance(ctx context.Context, chainID, address string, b NativeBalanceQuery) (NativeTokenBalance, error) {
	q := newRequest(nativeBalance)
	q.chain(chainID)
	q.address(address)
	q.setNumber("blockNumber", b.BlockNumber)
	q.currency(b.Currency)
	answer, err := get[struct {
		NativeTokenBalance NativeTokenBalance `json:"nativeTokenBalance"`
	}](ctx, c, q)
	return answer.NativeTokenBalance, err
}

// Collectible is an NFT (ERC-721), or the balance of an address in a multi-token contract (ERC-1155).
type Collectible struct {
	Address      string       `json:"address"` // of the contract
	TokenID      string       `json:"tokenId"`
	ERCType      string       `json:"ercType"` // ERC721 or ERC1155
	TokenURI     string       `json:"tokenUri,omitzero"`
	ChainID      string       `json:"chainId,omitzero"` // empty in a transfer
	Name         string       `json:"name,omitzero"`    // of the collection; Name, Symbol and OwnerAddress are empty for ERC-1155
	Symbol       string       `json:"symbol,omitzero"`
	OwnerAddress string       `json:"ownerAddress,omitzero"`
	Balance      *Amount      `json:"balance"` // nil except for ERC-1155
	Metadata     *NFTMetadata `json:"metadata"`
}

func (t Collectible) id() string { return strings.ToLower(t.Address) + " " + t.TokenID }

// The states of the service's copy of an NFT's metadata.
const (
	NFTUnknown                 = "UNKNOWN"
	NFTMissingToken            = "MISSING_TOKEN"
	NFTInvalidTokenURI         = "INVALID_TOKEN_URI"        //nolint:gosec // no credentials
	NFTInvalidTokenURIScheme   = "INVALID_TOKEN_URI_SCHEME" //nolint:gosec // no credentials
	NFTUnreachableTokenURI     = "UNREACHABLE_TOKEN_URI"
	NFTThrottledTokenURI       = "THROTTLED_TOKEN_URI"
	NFTMetadataContentTooLarge = "METADATA_CONTENT_TOO_LARGE"
	NFTInvalidMetadata         = "INVALID_METADATA"
	NFTInvalidMetadataJSON     = "INVALID_METADATA_JSON"
	NFTIndexed                 = "INDEXED"
	NFTUnindexed               = "UNINDEXED"
)

// NFTMetadata is the service's copy of the metadata at an NFT's token URI.
type NFTMetadata struct {
	IndexStatus                  string         `json:"indexStatus"` // such as NFTIndexed, in upper or lower case
	MetadataLastUpdatedTimestamp *wire.UnixTime `json:"metadataLastUpdatedTimestamp"`
	Name                         string         `json:"name,omitzero"`
	Symbol                       string         `json:"symbol,omitzero"`
	ImageURI                     string         `json:"imageUri,omitzero"`
	Description                  string         `json:"description,omitzero"`
	AnimationURI                 string         `json:"animationUri,omitzero"`
	ExternalURL                  string         `json:"externalUrl,omitzero"`
	Background                   string         `json:"background,omitzero"`
	Attributes                   string         `json:"attributes,omitzero"` // of ERC-721
	Decimals                     *wire.Uint64   `json:"decimals"`            // of ERC-1155
	Properties                   string         `json:"properties,omitzero"` // of ERC-1155
}

// Indexed reports whether the service has a valid copy of the metadata.
func (m *NFTMetadata) Indexed() bool { return m != nil && strings.EqualFold(m.IndexStatus, NFTIndexed) }

// ERC1155Query selects ERC-1155 balances.
type ERC1155Query struct {
	BlockNumber     *uint64 // nil: the latest
	ContractAddress string  // empty: all contracts
	Paging
}

// ERC1155BalancePage is one page of ERC-1155 balances.
type ERC1155BalancePage struct {
	NativeTokenBalance NativeTokenBalance  `json:"nativeTokenBalance"`
	Balances           []Item[Collectible] `json:"erc1155TokenBalances"`
	NextPageToken      string              `json:"nextPageToken,omitzero"`
}

func (p ERC1155BalancePage) content() ([]Item[Collectible], string) {
	return p.Balances, p.NextPageToken
}

// ERC1155BalancePage calls GET /v1/chains/{chainId}/addresses/{address}/balances:listErc1155 for one page.
func (c *Client) ERC1155BalancePage(ctx context.Context, chainID, address string, b ERC1155Query, pageToken string) (ERC1155BalancePage, error) {
	q := collectiblesRequest(erc1155Balances, chainID, address, CollectibleQuery{b.ContractAddress, b.Paging}, pageToken)
	q.setNumber("blockNumber", b.BlockNumber)
	return get[ERC1155BalancePage](ctx, c, q)
}

// ERC1155Balances yields the ERC-1155 balances of an address, page by page.
func (c *Client) ERC1155Balances(ctx context.Context, chainID, address string, b ERC1155Query) iter.Seq2[Collectible, error] {
	b.Paging = b.forWalk(erc1155Balances)
	return walk(ctx, erc1155Balances, b.MaxPages, func(ctx context.Context, token string) (ERC1155BalancePage, error) {
		return c.ERC1155BalancePage(ctx, chainID, address, b, token)
	}, Collectible.id)
}

// CollectibleQuery selects collectibles.
type CollectibleQuery struct {
	ContractAddress string // empty: all contracts
	Paging
}

// ERC721BalancePage is one page of ERC-721 balances.
type ERC721BalancePage struct {
	NativeTokenBalance NativeTokenBalance  `json:"nativeTokenBalance"`
	Balances           []Item[Collectible] `json:"erc721TokenBalances"`
	NextPageToken      string              `json:"nextPageToken,omitzero"`
}

func (p ERC721BalancePage) content() ([]Item[Collectible], string) {
	return p.Balances, p.NextPageToken
}

// ERC721BalancePage calls GET /v1/chains/{chainId}/addresses/{address}/balances:listErc721 for one page.
func (c *Client) ERC721BalancePage(ctx context.Context, chainID, address string, b CollectibleQuery, pageToken string) (ERC721BalancePage, error) {
	return get[ERC721BalancePage](ctx, c, collectiblesRequest(erc721Balances, chainID, address, b, pageToken))
}

// ERC721Balances yields the NFTs of an address, page by page.
func (c *Client) ERC721Balances(ctx context.Context, chainID, address string, b CollectibleQuery) iter.Seq2[Collectible, error] {
	b.Paging = b.forWalk(erc721Balances)
	return walk(ctx, erc721Balances, b.MaxPages, func(ctx context.Context, token string) (ERC721BalancePage, error) {
		return c.ERC721BalancePage(ctx, chainID, address, b, token)
	}, Collectible.id)
}

// CollectiblePage is one page of collectibles of both types.
type CollectiblePage struct {
	Collectibles  []Item[Collectible] `json:"collectibleBalances"`
	NextPageToken string              `json:"nextPageToken,omitzero"`
}

func (p CollectiblePage) content() ([]Item[Collectible], string) {
	return p.Collectibles, p.NextPageToken
}

// CollectiblePage calls GET /v1/chains/{chainId}/addresses/{address}/balances:listCollectibles for one page.
func (c *Client) CollectiblePage(ctx context.Context, chainID, address string, b CollectibleQuery, pageToken string) (CollectiblePage, error) {
	return get[CollectiblePage](ctx, c, collectiblesRequest(collectibles, chainID, address, b, pageToken))
}

// Collectibles yields the ERC-721 and ERC-1155 tokens of an address, page by page.
func (c *Client) Collectibles(ctx context.Context, chainID, address string, b CollectibleQuery) iter.Seq2[Collectible, error] {
	b.Paging = b.forWalk(collectibles)
	return walk(ctx, collectibles, b.MaxPages, func(ctx context.Context, token string) (CollectiblePage, error) {
		return c.CollectiblePage(ctx, chainID, address, b, token)
	}, Collectible.id)
}

func collectiblesRequest(e *Endpoint, chainID, address string, b CollectibleQuery, pageToken string) *request {
	q := newRequest(e)
	q.chain(chainID)
	q.address(address)
	q.contract(b.ContractAddress)
	q.page(b.Paging, pageToken)
	return q
}
