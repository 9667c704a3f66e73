package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// RewardQuery selects payments of rewards. If Addresses and Nodes are empty, it selects the payments for AVAX_VALIDATORS, or else for the
// configured nodes, and for the P-Chain addresses in AVAX_WATCH_DELEGATORS.
type RewardQuery struct {
	Addresses, Nodes []string
	From, To         time.Time // From is included, To is not
	Currency         string
	Verify           bool // compare each payment with a node
}

// Restaked is the kind of a reward that an auto-renewed validator stakes again. It is paid with the last reward of the validator.
const Restaked = "RESTAKED"

// Payment is a reward that was paid or restaked.
type Payment struct {
	Time        time.Time `json:"time"` // end of the stake
	Node        string    `json:"node_id"`
	Addresses   []string  `json:"addresses"`
	Kind        string    `json:"kind"`               // such as data.RewardValidator, or Restaked
	Staking     string    `json:"staking_tx"`         // transaction that staked
	Transaction string    `json:"reward_tx"`          // transaction that paid
	Asset       string    `json:"asset"`              // symbol
	Decimals    uint64    `json:"decimals"`           // of the amount
	Amount      *big.Int  `json:"amount"`             // in the smallest unit: nAVAX
	Price       *float64  `json:"price"`              // of a whole token on that day; nil if unknown
	Hundredths  *big.Int  `json:"value_hundredth"`    // value in hundredths of the currency; nil without a price
	Verified    string    `json:"verified,omitempty"` // Confirmed, or what a node lists instead
	id          string
	index       uint64 // of the output
	staked      uint64 // nAVAX
}

// Confirmed is Payment.Verified if a node lists the payment.
const Confirmed = "confirmed"

// Note says what a payment lacks.
func (p Payment) Note() string {
	var notes []string
	if p.Kind == Restaked {
		notes = append(notes, "computed from the stake, not in the totals")
	}
	if p.Price == nil {
		notes = append(notes, "no price yet")
	}
	if p.Verified != "" {
		notes = append(notes, p.Verified)
	}
	return strings.Join(notes, "; ")
}

// Rewards returns the payments, oldest first.
func Rewards(ctx context.Context, cfg *config.Config, q RewardQuery) ([]Payment, error) {
	queries := []rewardParams{{Addresses: q.Addresses, NodeIDs: q.Nodes}}
	if len(q.Addresses)+len(q.Nodes) == 0 {
		var err error
		if queries, err = configuredRewards(ctx, cfg); err != nil {
			return nil, err
		}
	}
	found := map[string]bool{}
	var payments []Payment
	for _, query := range queries {
		query.Currency = cmp.Or(q.Currency, string(cfg.Currency))
		for r, err := range listedRewards(ctx, cfg, query) {
			if err != nil {
				return nil, err
			}
			if p := paymentOf(r); !found[p.id] {
				payments, found[p.id] = append(payments, p), true
			}
		}
	}
	oldestFirst := func(a, b Payment) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.id, b.id)) }
	slices.SortFunc(payments, oldestFirst)
	payments = append(payments, restaked(payments)...)
	payments = slices.DeleteFunc(payments, func(p Payment) bool { return p.Time.Before(q.From) || !p.Time.Before(q.To) })
	slices.SortFunc(payments, oldestFirst)
	if q.Verify {
		return payments, verify(ctx, cfg, payments)
	}
	return payments, nil
}

// rewardParams are the parameters of data.rewards.
type rewardParams struct {
	Addresses []string `json:"addresses,omitempty"`
	NodeIDs   []string `json:"nodeIds,omitempty"`
	Currency  string   `json:"currency"`
}

// listedRewards yields the rewards that the Data service lists. A malformed item is an error, because a ledger without it is wrong.
func listedRewards(ctx context.Context, cfg *config.Config, query rewardParams) iter.Seq2[data.Reward, error] {
	return func(yield func(data.Reward, error) bool) {
		params, err := json.Marshal(query)
		if err != nil {
			yield(data.Reward{}, err)
			return
		}
		method := data.Methods()[slices.IndexFunc(data.Methods(), func(m *scrape.Method) bool { return m.Name == "data.rewards" })]
		for answer, err := range Call(ctx, cfg, Request{Method: method, Params: params, All: true}) {
			var page data.Page[data.Reward]
			if err == nil {
				err = wire.Decode(wire.NewDecoder(bytes.NewReader(answer)), &page)
			}
			if err != nil {
				yield(data.Reward{}, err)
				return
			}
			for _, item := range page.Items {
				if item.Err != nil {
					item.Err = fmt.Errorf("the service lists a malformed reward, so the ledger would be incomplete: %w", item.Err)
				}
				if !yield(item.Value, item.Err) || item.Err != nil {
					return
				}
			}
		}
	}
}

// restaked returns what auto-renewed validators staked again: the difference between the stakes of two successive periods with the same
// staking transaction. Nothing pays it at that time. It is computed only between two listed payments.
func restaked(payments []Payment) (found []Payment) {
	newest := map[string]Payment{} // by staking transaction
	for _, p := range payments {
		if p.Kind != data.RewardValidator {
			continue
		}
		if was, there := newest[p.Staking]; there && p.staked > was.staked {
			was.Kind, was.Amount, was.id = Restaked, new(big.Int).SetUint64(p.staked-was.staked), was.id+Restaked
			found = append(found, was.valued())
		}
		newest[p.Staking] = p
	}
	return found
}

// verify sets Verified of each payment to what a node or an observer lists. The output of a payment is listed under the transaction that
// staked, and for an auto-renewed validator under the transaction that paid.
func verify(ctx context.Context, cfg *config.Config, payments []Payment) error {
	t, err := newTargets(cfg, nil, nil)
	if err != nil {
		return config.InputError{Err: err}
	}
	if len(t.ups.All()) == 0 {
		return config.InputError{Err: errors.New("--verify needs a node or an observer: set AVAX_NODES or AVAX_OBSERVERS")}
	}
	for i, p := range payments {
		if p.Kind == Restaked {
			continue
		}
		payments[i].Verified = "the node lists no such payment"
		for _, tx := range []string{p.Staking, p.Transaction} {
			paid, err := nodes.First(ctx, t.ups.Pool, func(ctx context.Context, n *nodes.Node) ([]node.RewardUTXO, error) {
				return n.PlatformRewardUTXOs(ctx, tx)
			})
			if err != nil {
				return fmt.Errorf("verify: %w", err)
			}
			if n := slices.IndexFunc(paid, func(u node.RewardUTXO) bool { return u.Index == p.index }); n >= 0 {
				if payments[i].Verified = Confirmed; p.Amount.Cmp(new(big.Int).SetUint64(paid[n].Amount)) != 0 {
					payments[i].Verified = fmt.Sprintf("the node lists %d nAVAX", paid[n].Amount)
				}
				break
			}
		}
	}
	return nil
}

func paymentOf(r data.Reward) Payment {
	p := Payment{
		Time: r.EndTimestamp.UTC(), Node: r.NodeID, Addresses: r.Addresses, Kind: r.RewardType, Staking: r.TxHash, Transaction: r.RewardTxHash,
		Asset: r.Reward.Symbol, Decimals: uint64(r.Reward.Denomination), Amount: r.Reward.Amount.Int,
		id: r.ID(), index: uint64(r.OutputIndex), staked: uint64(r.AmountStaked),
	}
	if price := r.Reward.HistoricalPrice; price != nil {
		value := float64(price.Value)
		p.Price = &value
	}
	return p.valued()
}

// valued returns the payment with the value of its amount.
func (p Payment) valued() Payment {
	if p.Price != nil {
		exact, _ := new(big.Rat).SetString(strconv.FormatFloat(*p.Price, 'f', -1, 64))
		unit := new(big.Int).Exp(big.NewInt(10), new(big.Int).SetUint64(p.Decimals), nil)
		exact.Mul(exact, new(big.Rat).SetFrac(new(big.Int).Mul(p.Amount, big.NewInt(100)), unit))
		p.Hundredths, _ = new(big.Int).SetString(exact.FloatString(0), 10)
	}
	return p
}

// configuredRewards returns the queries for what the configuration monitors.
func configuredRewards(ctx context.Context, cfg *config.Config) (queries []rewardParams, err error) {
	ids := cfg.Watch.Validators.IDs
	if len(ids) == 0 && len(cfg.Source.Nodes) > 0 {
		t, err := newTargets(cfg, nil, nil)
		if err != nil {
			return nil, config.InputError{Err: err}
		}
		for _, n := range t.ups.Nodes() {
			id, err := n.ID(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Name(), err)
			}
			ids = append(slices.Clip(ids), id)
		}
	}
	if len(ids) > 0 {
		queries = append(queries, rewardParams{NodeIDs: ids})
	}
	var addresses []string
	for _, d := range cfg.Watch.Delegators {
		addresses = append(addresses, d.Address)
	}
	if len(addresses) > 0 {
		queries = append(queries, rewardParams{Addresses: addresses})
	}
	if len(queries) == 0 {
		return nil, config.InputError{Err: errors.New("no validator and no address: write --node or --address, or set AVAX_VALIDATORS or AVAX_WATCH_DELEGATORS")}
	}
	return queries, nil
}
