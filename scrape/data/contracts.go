package data

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Contract is a deployed contract and its known properties.
type Contract struct {
	Address           string             `json:"address"`
	ERCType           string             `json:"ercType"` // such as ERC20, or ERCUnknown
	Name              string             `json:"name,omitzero"`
	Symbol            string             `json:"symbol,omitzero"`
	Decimals          *wire.Uint64       `json:"decimals"` // only of ERC-20
	Description       string             `json:"description,omitzero"`
	OfficialSite      string             `json:"officialSite,omitzero"`
	Email             string             `json:"email,omitzero"`
	Color             string             `json:"color,omitzero"`
	LogoAsset         *Image             `json:"logoAsset"`
	BannerAsset       *Image             `json:"bannerAsset"`
	ResourceLinks     []ResourceLink     `json:"resourceLinks,omitzero"`
	Tags              []string           `json:"tags,omitzero"`
	DeploymentDetails *DeploymentDetails `json:"deploymentDetails"`
}

// Image is a picture of a contract.
type Image struct {
	AssetID  string `json:"assetId,omitzero"`
	ImageURI string `json:"imageUri,omitzero"`
}

// ResourceLink is a link to a project's publication.
type ResourceLink struct {
	Type string `json:"type"` // such as Github
	URL  string `json:"url"`
}

// DeploymentDetails identifies the deployer of a contract.
type DeploymentDetails struct {
	TxHash                  string `json:"txHash"`
	DeployerAddress         string `json:"deployerAddress"`
	DeployerContractAddress string `json:"deployerContractAddress,omitzero"` // empty unless a contract deployed it
}

// DeploymentPage is one page of deployed contracts.
type DeploymentPage struct {
	Contracts     []Item[Contract] `json:"contracts"`
	NextPageToken string           `json:"nextPageToken,omitzero"`
}

func (p DeploymentPage) content() ([]Item[Contract], string) { return p.Contracts, p.NextPageToken }

// DeploymentPage calls GET /v1/chains/{chainId}/contracts/{address}/deployments for one page.
func (c *Client) DeploymentPage(ctx context.Context, chainID, address string, p Paging, pageToken string) (DeploymentPage, error) {
	q := newRequest(deployments)
	q.chain(chainID)
	q.address(address)
	q.page(p, pageToken)
	return get[DeploymentPage](ctx, c, q)
}

// Deployments yields the contracts that an address deployed, page by page.
func (c *Client) Deployments(ctx context.Context, chainID, address string, p Paging) iter.Seq2[Contract, error] {
	p = p.forWalk(deployments)
	return walk(ctx, deployments, p.MaxPages, func(ctx context.Context, token string) (DeploymentPage, error) {
		return c.DeploymentPage(ctx, chainID, address, p, token)
	}, func(c Contract) string { return strings.ToLower(c.Address) })
}

// nft identifies a token.
type nft struct{ chainID, address, tokenID string }

// reindexEvery is the minimum time between two requests to index the metadata of a token.
const reindexEvery = time.Hour

// Reindex calls POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex. The service then indexes the
// metadata of an NFT again, some time later. The request is sent at most once. For an hour after a request, further calls
// for the same token return the outcome rate_limited and are not sent. A request that the service rejected does not count.
func (c *Client) Reindex(ctx context.Context, chainID, address, tokenID string) error {
	q := newRequest(reindex)
	q.chain(chainID)
	q.address(address)
	q.fill("tokenId", tokenID, "the ID of a token of the contract")
	token := nft{chainID, strings.ToLower(address), tokenID}
	if err := q.refusal(); err != nil {
		return err
	}
	if left := c.reserve(token); left > 0 {
		return &scrape.Error{Op: q.Op(), Outcome: scrape.RateLimited,
			Err: fmt.Errorf("a token can be indexed once an hour: wait another %s", max(time.Second, left.Round(time.Second)))}
	}
	_, err := post[*struct{}](ctx, c, q, nil)
	switch scrape.OutcomeOf(err) {
	case scrape.Rejected, scrape.Forbidden, scrape.NotFound, scrape.RateLimited:
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.reindexed, token)
	}
	return err
}

// reserve stores the time of a request for token and returns 0. If there was a request in the last hour, it only returns the
// time to wait.
func (c *Client) reserve(token nft) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reindexed == nil {
		c.reindexed = make(map[nft]time.Time)
	}
	for t, at := range c.reindexed {
		if time.Since(at) >= reindexEvery {
			delete(c.reindexed, t)
		}
	}
	if at, ok := c.reindexed[token]; ok {
		return reindexEvery - time.Since(at)
	}
	c.reindexed[token] = time.Now()
	return 0
}
