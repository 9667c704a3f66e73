package data

import "net/http"

// Endpoint is a method and path of the service.
type Endpoint struct {
	Name        string // method of Client; for a list, the method that yields all items
	Method      string // GET or POST
	Path        string // pattern, such as /v1/networks/{network}/rewards
	Units       int    // cost of a request in compute units; each page of a list is a request
	MaxPageSize int    // maximum number of items per page; 0 for an endpoint without pages
}

// Op returns the name of the endpoint as an op, such as "GET /v1/networks/{network}/rewards".
func (e Endpoint) Op() string { return e.Method + " " + e.Path }

// Endpoints returns all endpoints, in the documented order.
func Endpoints() []Endpoint {
	list := make([]Endpoint, len(endpoints))
	for i, e := range endpoints {
		list[i] = *e
	}
	return list
}

var endpoints = []*Endpoint{
	aggregateSignatures, aggregatedSignatures,
	assetTransactions, blockchains, subnet, rewards,
	erc721Transfers, internalTransactions,
	erc1155Balances, erc721Balances, collectibles, nativeBalance,
	deployments, icmMessages, block, reindex,
}

// The costs of calls, named as in the service's description.
const (
	small  = 10
	medium = 20
	xl     = 100
)

var (
	aggregateSignatures  = &Endpoint{"AggregateSignatures", http.MethodPost, "/v1/signatureAggregator/{network}/aggregateSignatures", medium, 0}
	aggregatedSignatures = &Endpoint{"AggregatedSignatures", http.MethodGet, "/v1/signatureAggregator/{network}/aggregateSignatures/{txHash}", medium, 0}
	assetTransactions    = &Endpoint{"AssetTransactions", http.MethodGet, "/v1/networks/{network}/blockchains/{blockchainId}/assets/{assetId}/transactions", xl, 100}
	blockchains          = &Endpoint{"Blockchains", http.MethodGet, "/v1/networks/{network}/blockchains", medium, 10000}
	subnet               = &Endpoint{"Subnet", http.MethodGet, "/v1/networks/{network}/subnets/{subnetId}", medium, 0}
	rewards              = &Endpoint{"Rewards", http.MethodGet, "/v1/networks/{network}/rewards", xl, 100}
	erc721Transfers      = &Endpoint{"ERC721Transfers", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/transactions:listErc721", medium, 100}
	internalTransactions = &Endpoint{"InternalTransactions", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/transactions:listInternals", medium, 100}
	erc1155Balances      = &Endpoint{"ERC1155Balances", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/balances:listErc1155", medium, 500}
	erc721Balances       = &Endpoint{"ERC721Balances", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/balances:listErc721", medium, 500}
	collectibles         = &Endpoint{"Collectibles", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/balances:listCollectibles", medium, 500}
	nativeBalance        = &Endpoint{"NativeBalance", http.MethodGet, "/v1/chains/{chainId}/addresses/{address}/balances:getNative", medium, 0}
	deployments          = &Endpoint{"Deployments", http.MethodGet, "/v1/chains/{chainId}/contracts/{address}/deployments", medium, 100}
	icmMessages          = &Endpoint{"ICMMessages", http.MethodGet, "/v1/icm/addresses/{address}/messages", medium, 100}
	block                = &Endpoint{"Block", http.MethodGet, "/v1/chains/{chainId}/blocks/{blockId}", small, 0}
	reindex              = &Endpoint{"Reindex", http.MethodPost, "/v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex", small, 0}
)
