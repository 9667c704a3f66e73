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

// RewardQuery says whose rewards are wanted: at least one address or node ID.
type RewardQuery struct {
	Addresses []string // of the X- or P-Chain, such as P-avax1… or avax1…
	NodeIDs   []string
	SortOrder string // Ascending or Descending; empty: as the service likes
	Currency  string // one of Currencies; empty: USD
	Paging
}

// Reward is what a validator or delegator was paid for staking.
type Reward struct {
	NodeID         string        `json:"nodeId"`
	Addresses      []string      `json:"addresses"`      // that it was paid to
	TxHash         string        `json:"txHash"`         // of the transaction that staked
	RewardTxHash   string        `json:"rewardTxHash"`   // of the one that paid
	RewardType     string        `json:"rewardType"`     // such as RewardValidator
	AmountStaked   Amount        `json:"amountStaked"`   // nAVAX
	StartTimestamp wire.UnixTime `json:"startTimestamp"` // of the block that accepted the stake
	EndTimestamp   wire.UnixTime `json:"endTimestamp"`   // of the stake; it is paid then
	UTXOID         string        `json:"utxoId"`
	OutputIndex    wire.Uint64   `json:"outputIndex"`
	Reward         PaidAsset     `json:"reward"`
}

// ID is the identity of a reward: a transaction can pay several.
func (r Reward) ID() string { return fmt.Sprint(r.RewardTxHash, " ", r.UTXOID, " ", r.OutputIndex) }

// PaidAsset is an amount, and what its asset was worth.
type PaidAsset struct {
	AssetAmount
	HistoricalPrice *Money `json:"historicalPrice"` // of a whole token when it was paid; nil for a day or so, and where nobody knows
}

// RewardPage is one page of rewards.
type RewardPage struct {
	Rewards       []Item[Reward] `json:"historicalRewards"`
	NextPageToken string         `json:"nextPageToken,omitzero"`
}

func (p RewardPage) content() ([]Item[Reward], string) { return p.Rewards, p.NextPageToken }

// RewardPage asks GET /v1/networks/{network}/rewards for one page.
func (c *Client) RewardPage(ctx context.Context, network string, r RewardQuery, pageToken string) (RewardPage, error) {
	q := ask(rewards)
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

// Rewards walks through rewards that were paid.
func (c *Client) Rewards(ctx context.Context, network string, r RewardQuery) iter.Seq2[Reward, error] {
	r.Paging = r.forWalk(rewards)
	return walk(ctx, rewards, r.MaxPages, func(ctx context.Context, token string) (RewardPage, error) {
		return c.RewardPage(ctx, network, r, token)
	}, Reward.ID)
}
