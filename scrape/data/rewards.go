package data

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// The types of rewards.
const (
	RewardValidator    = "VALIDATOR"
	RewardDelegator    = "DELEGATOR"
	RewardValidatorFee = "VALIDATOR_FEE"
)

// RewardQuery selects rewards by at least one address or node ID.
type RewardQuery struct {
	Addresses []string // of the X-Chain or the P-Chain, such as P-avax1… or avax1…
	NodeIDs   []string
	SortOrder string // Ascending or Descending; empty: the service's default
	Currency  string // one of Currencies; empty: USD
	Paging
}

// Reward is a staking reward that was paid to a validator or delegator.
type Reward struct {
	NodeID         string        `json:"nodeId"`
	Addresses      []string      `json:"addresses"`      // recipients
	TxHash         string        `json:"txHash"`         // transaction that staked
	RewardTxHash   string        `json:"rewardTxHash"`   // transaction that paid
	RewardType     string        `json:"rewardType"`     // such as RewardValidator
	AmountStaked   Amount        `json:"amountStaked"`   // nAVAX
	StartTimestamp wire.UnixTime `json:"startTimestamp"` // of the block that accepted the stake
	EndTimestamp   wire.UnixTime `json:"endTimestamp"`   // of the stake, which is also the time of payment
	UTXOID         string        `json:"utxoId"`
	OutputIndex    wire.Uint64   `json:"outputIndex"`
	Reward         PaidAsset     `json:"reward"`
}

// ID returns the identity of a reward. One transaction can pay several.
func (r Reward) ID() string { return fmt.Sprint(r.RewardTxHash, " ", r.UTXOID, " ", r.OutputIndex) }

// PaidAsset is an amount and the price of its asset.
type PaidAsset struct {
	AssetAmount
	HistoricalPrice *Money `json:"historicalPrice"` // of a whole token at the time of payment; nil for about a day after the payment, or if unknown
}

// RewardPage is one page of rewards.
type RewardPage struct {
	Rewards       []Item[Reward] `json:"historicalRewards"`
	NextPageToken string         `json:"nextPageToken,omitzero"`
}

func (p RewardPage) content() ([]Item[Reward], string) { return p.Rewards, p.NextPageToken }

// RewardPage calls GET /v1/networks/{network}/rewards for one page.
func (c *Client) RewardPage(ctx context.Context, network string, r RewardQuery, pageToken string) (RewardPage, error) {
	q := newRequest(rewards)
	q.network(network)
	q.want(len(r.Addresses)+len(r.NodeIDs) > 0, "write at least one of addresses and nodeIds")
	for _, a := range r.Addresses {
		q.want(primaryAddress.MatchString(a), "addresses %s: write addresses of the X- or P-Chain such as P-avax1… or avax1…", quote(a))
	}
	for _, id := range r.NodeIDs {
		q.want(nodeID.MatchString(id), "nodeIds %s: write node IDs such as NodeID-7Xhw…", quote(id))
	}
	q.set("addresses", strings.Join(r.Addresses, ","))
	q.set("nodeIds", strings.Join(r.NodeIDs, ","))
	q.sort(r.SortOrder)
	q.currency(r.Currency)
	q.page(r.Paging, pageToken)
	return get[RewardPage](ctx, c, q)
}

// Rewards yields rewards that were paid, page by page.
func (c *Client) Rewards(ctx context.Context, network string, r RewardQuery) iter.Seq2[Reward, error] {
	r.Paging = r.forWalk(rewards)
	return walk(ctx, rewards, r.MaxPages, func(ctx context.Context, token string) (RewardPage, error) {
		return c.RewardPage(ctx, network, r, token)
	}, Reward.ID)
}
