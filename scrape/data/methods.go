package data

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Methods returns all methods of the service, in the documented order.
func Methods() []*scrape.Method { return slices.Clone(methods) }

var methods []*scrape.Method

func declare[T any](m scrape.Method) scrape.Typed[T] { return scrape.Declare[T](&methods, m) }

// The costs of calls in compute units, named as in the service's description.
const (
	small  = 10
	medium = 20
	xl     = 100
)

// largeList is the maximum size in bytes of a page of a list, which is decoded item by item. The service may send the genesis of
// each blockchain.
const largeList = 16 << 20

// The table of methods. The parameters of a path come first. A method without a variable is used only by the command call.
var (
	aggregateSignatures = declare[string](scrape.Method{Name: "data.aggregateSignatures", Verb: http.MethodPost, Member: "signedMessage",
		Path: "/v1/signatureAggregator/{network}/aggregateSignatures", Params: []string{"network?", "message?", "justification?", "signingSubnetId?",
			"quorumPercentage?", "quorumPercentageBuffer?", "pChainHeight?"}, Changes: "make the validators sign a message", Units: medium})
	GetAggregatedSignatures = declare[string](scrape.Method{Name: "data.aggregatedSignatures", Verb: http.MethodGet, Member: "signedMessage",
		Path: "/v1/signatureAggregator/{network}/aggregateSignatures/{txHash}", Params: []string{"network?", "txHash"}, Units: medium})
	ListAssetTransactions = declare[Page[AssetTransaction]](scrape.Method{Name: "data.assetTransactions", Verb: http.MethodGet,
		Path:   "/v1/networks/{network}/blockchains/{blockchainId}/assets/{assetId}/transactions",
		Params: []string{"network?", "blockchainId", "assetId", "txTypes?", "startTimestamp?", "endTimestamp?", "pageToken?", "pageSize?"}, Units: xl,
		MaxPageSize: 100, MaxBody: largeList})
	ListBlockchains = declare[Page[Blockchain]](scrape.Method{Name: "data.blockchains", Verb: http.MethodGet, Path: "/v1/networks/{network}/blockchains",
		Params: []string{"network?", "pageToken?", "pageSize?", "sortOrder?"}, Units: medium, MaxPageSize: 10000, MaxBody: largeList})
	GetSubnet = declare[Subnet](scrape.Method{Name: "data.subnet", Verb: http.MethodGet, Path: "/v1/networks/{network}/subnets/{subnetId}",
		Params: []string{"network?", "subnetId"}, Units: medium, MaxBody: largeList})
	ListRewards = declare[Page[Reward]](scrape.Method{Name: "data.rewards", Verb: http.MethodGet, Path: "/v1/networks/{network}/rewards",
		Params: []string{"network?", "addresses?", "nodeIds?", "pageToken?", "pageSize?", "sortOrder?", "currency?"}, Units: xl, MaxPageSize: 100,
		MaxBody: largeList})
	ListPendingRewards = declare[Page[PendingReward]](scrape.Method{Name: "data.pendingRewards", Verb: http.MethodGet,
		Path: "/v1/networks/{network}/rewards:listPending", Params: []string{"network?", "addresses?", "nodeIds?", "pageToken?", "pageSize?", "sortOrder?"},
		Units: xl, MaxPageSize: 100, MaxBody: largeList})
	ListL1Validators = declare[Page[L1Validator]](scrape.Method{Name: "data.l1Validators", Verb: http.MethodGet,
		Path: "/v1/networks/{network}/l1Validators", Params: []string{"network?", "l1ValidationId?", "nodeId?", "subnetId?", "includeInactiveL1Validators?",
			"pageToken?", "pageSize?"}, Units: medium, MaxPageSize: 100, MaxBody: largeList})
	ListTransactions = declare[Page[Transaction]](scrape.Method{Name: "data.transactions", Verb: http.MethodGet,
		Path: "/v1/networks/{network}/blockchains/{blockchainId}/transactions",
		Params: []string{"network?", "blockchainId", "addresses?", "l1ValidationId?", "txTypes?", "startTimestamp?", "endTimestamp?", "pageToken?", "pageSize?",
			"sortOrder?"}, Units: xl, MaxPageSize: 100, MaxBody: largeList})
	ListERC721Transfers = declare[Page[ERC721Transfer]](scrape.Method{Name: "data.erc721Transfers", Verb: http.MethodGet,
		Path:   "/v1/chains/{chainId}/addresses/{address}/transactions:listErc721",
		Params: []string{"chainId", "address", "startBlock?", "endBlock?", "pageToken?", "pageSize?"}, Units: medium, MaxPageSize: 100, MaxBody: largeList})
	ListInternals = declare[Page[InternalTransaction]](scrape.Method{Name: "data.internalTransactions", Verb: http.MethodGet,
		Path:   "/v1/chains/{chainId}/addresses/{address}/transactions:listInternals",
		Params: []string{"chainId", "address", "startBlock?", "endBlock?", "pageToken?", "pageSize?"}, Units: medium, MaxPageSize: 100, MaxBody: largeList})
	_ = declare[Page[Collectible]](scrape.Method{Name: "data.erc1155Balances", Verb: http.MethodGet,
		Path: "/v1/chains/{chainId}/addresses/{address}/balances:listErc1155", Params: []string{"chainId", "address", "blockNumber?", "pageToken?", "pageSize?",
			"contractAddress?"}, Units: medium, MaxPageSize: 500, MaxBody: largeList})
	_ = declare[Page[Collectible]](scrape.Method{Name: "data.erc721Balances", Verb: http.MethodGet,
		Path: "/v1/chains/{chainId}/addresses/{address}/balances:listErc721", Params: []string{"chainId", "address", "pageToken?", "pageSize?", "contractAddress?"},
		Units: medium, MaxPageSize: 500, MaxBody: largeList})
	ListCollectibles = declare[Page[Collectible]](scrape.Method{Name: "data.collectibles", Verb: http.MethodGet,
		Path:   "/v1/chains/{chainId}/addresses/{address}/balances:listCollectibles",
		Params: []string{"chainId", "address", "pageToken?", "pageSize?", "contractAddress?"}, Units: medium, MaxPageSize: 500, MaxBody: largeList})
	GetNativeBalance = declare[NativeTokenBalance](scrape.Method{Name: "data.nativeBalance", Verb: http.MethodGet, Member: "nativeTokenBalance",
		Path: "/v1/chains/{chainId}/addresses/{address}/balances:getNative", Params: []string{"chainId", "address", "blockNumber?", "currency?"}, Units: medium})
	ListDeployments = declare[Page[Contract]](scrape.Method{Name: "data.deployments", Verb: http.MethodGet,
		Path: "/v1/chains/{chainId}/contracts/{address}/deployments", Params: []string{"chainId", "address", "pageToken?", "pageSize?"}, Units: medium,
		MaxPageSize: 100, MaxBody: largeList})
	ListICMMessages = declare[Page[ICMMessage]](scrape.Method{Name: "data.icmMessages", Verb: http.MethodGet,
		Path: "/v1/icm/addresses/{address}/messages", Params: []string{"address", "pageToken?", "pageSize?", "network?"}, Units: medium, MaxPageSize: 100,
		MaxBody: largeList})
	GetICMMessage = declare[ICMMessage](scrape.Method{Name: "data.icmMessage", Verb: http.MethodGet, Path: "/v1/icm/messages/{messageId}",
		Params: []string{"messageId"}, Units: medium})
	GetBlock = declare[Block](scrape.Method{Name: "data.block", Verb: http.MethodGet, Path: "/v1/chains/{chainId}/blocks/{blockId}",
		Params: []string{"chainId", "blockId"}, Units: small})
	PostReindex = declare[*struct{}](scrape.Method{Name: "data.reindex", Verb: http.MethodPost,
		Path: "/v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex", Params: []string{"chainId", "address", "tokenId"},
		Changes: "make the service read the token's metadata again, at most once an hour", MayBeEmpty: true, Units: small})
)

// Page is one page of a list, and the token of the next page. An object with a page has one member that is a list.
type Page[T any] struct {
	Items         []Item[T]
	NextPageToken string // empty on the last page
	Network       string // of the items; empty if the answer does not name it
	BlockHeight   uint64 // at which the items are true; 0 if the answer does not say it
}

// Next returns the cursor of the next page.
func (p Page[T]) Next() scrape.Cursor {
	return scrape.Cursor{Param: "pageToken", Value: p.NextPageToken}
}

func (p *Page[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	lists := 0
	var next *string
	err := wire.Members(d, func(name string) error {
		switch {
		case name == "nextPageToken":
			return wire.Decode(d, &next)
		case name == "chainInfo":
			var of struct {
				Network string `json:"network"`
			}
			err := wire.Decode(d, &of)
			p.Network = of.Network
			return err
		case name == "blockHeight":
			var height wire.Uint64
			err := wire.Decode(d, &height)
			p.BlockHeight = uint64(height)
			return err
		case d.PeekKind() == jsontext.KindBeginArray:
			lists++
			return wire.Elements(d, func() error {
				item, err := readItem[T](d)
				p.Items = append(p.Items, item)
				return err
			})
		}
		return d.SkipValue()
	})
	if err == nil && lists != 1 {
		err = errors.New("the answer does not have exactly one list")
	}
	if next != nil {
		p.NextPageToken = *next
	}
	return err
}

// Item is an element of a list. A malformed item does not affect the other items.
type Item[T any] struct {
	Value T
	Err   error // nil for a valid item
}

func readItem[T any](d *jsontext.Decoder) (item Item[T], err error) {
	text, err := d.ReadValue()
	if err == nil {
		if item.Err = wire.DecodeBytes(text, &item.Value); item.Err != nil {
			item.Err = fmt.Errorf("%s: %w", nameOf(text), item.Err)
		}
	}
	return item, err
}

// nameOf names an item that could not be decoded, by its ID or its beginning.
func nameOf(text jsontext.Value) string {
	var members map[string]jsontext.Value
	if json.Unmarshal(text, &members) == nil {
		for _, id := range []string{"utxoId", "rewardTxHash", "txHash", "validationId", "messageId", "blockchainId", "address"} {
			var value string
			if json.Unmarshal(members[id], &value) == nil && value != "" {
				return id + " " + quote(value)
			}
		}
	}
	return quote(string(text))
}

// itemError is the error of one item of a list.
type itemError struct{ error }

// IsItem reports whether an error of a walk concerns one item. After such an error the walk continues with the next item.
func IsItem(err error) bool { return errors.As(err, new(itemError)) }

func newItemError(m *scrape.Method, err error) error {
	return &scrape.Error{Op: m.Op(), Outcome: scrape.Malformed, Err: itemError{fmt.Errorf("one item: %w", err)}}
}
