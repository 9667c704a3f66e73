package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// RewardQuery selects payments of rewards. If Addresses and Nodes are empty, it selects the payments for AVAX_VALIDATORS, or else for the
// configured nodes, and for the P-Chain addresses in AVAX_WATCH_DELEGATORS.
type RewardQuery struct {
	Addresses, Nodes []string
	From, To         time.Time // From is included, To is not
	Currency         string
}

// Payment is a reward that was paid.
type Payment struct {
	Time        time.Time `json:"time"` // end of the stake
	Node        string    `json:"node_id"`
	Addresses   []string  `json:"addresses"`
	Kind        string    `json:"kind"`            // such as data.RewardValidator
	Staking     string    `json:"staking_tx"`      // transaction that staked
	Transaction string    `json:"reward_tx"`       // transaction that paid
	Asset       string    `json:"asset"`           // symbol
	Decimals    uint64    `json:"decimals"`        // of the amount
	Amount      *big.Int  `json:"amount"`          // in the smallest unit: nAVAX
	Price       *float64  `json:"price"`           // of a whole token on that day; nil if unknown
	Hundredths  *big.Int  `json:"value_hundredth"` // value in hundredths of the currency; nil without a price
	id          string
}

// Note says what a payment lacks.
func (p Payment) Note() string {
	if p.Price == nil {
		return "no price yet"
	}
	return ""
}

// Rewards returns the payments, oldest first.
func Rewards(ctx context.Context, cfg *config.Config, q RewardQuery) ([]Payment, error) {
	queries := []map[string]any{{"addresses": q.Addresses, "nodeIds": q.Nodes}}
	if len(q.Addresses)+len(q.Nodes) == 0 {
		var err error
		if queries, err = configuredRewards(ctx, cfg); err != nil {
			return nil, err
		}
	}
	found := map[string]bool{}
	var payments []Payment
	for _, query := range queries {
		query["currency"] = cmp.Or(q.Currency, cfg.Currency)
		for name, list := range query {
			if list, isList := list.([]string); isList && len(list) == 0 {
				delete(query, name)
			}
		}
		params, err := json.Marshal(query)
		if err != nil {
			return nil, err
		}
		method := data.Methods()[slices.IndexFunc(data.Methods(), func(m *scrape.Method) bool { return m.Name == "data.rewards" })]
		for answer, err := range Call(ctx, cfg, Request{Method: method, Params: params, All: true}) {
			if err != nil {
				return nil, err
			}
			var page data.Page[data.Reward]
			if err := wire.Decode(wire.NewDecoder(bytes.NewReader(answer)), &page); err != nil {
				return nil, fmt.Errorf("rewards: %w", err)
			}
			for _, item := range page.Items {
				if item.Err != nil {
					return nil, fmt.Errorf("rewards: the service lists a malformed reward, so the ledger would be incomplete: %w", item.Err)
				}
				p := paymentOf(item.Value)
				if !found[p.id] && !p.Time.Before(q.From) && p.Time.Before(q.To) {
					payments = append(payments, p)
				}
				found[p.id] = true
			}
		}
	}
	slices.SortFunc(payments, func(a, b Payment) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.id, b.id)) })
	return payments, nil
}

func paymentOf(r data.Reward) Payment {
	p := Payment{
		Time: r.EndTimestamp.UTC(), Node: r.NodeID, Addresses: r.Addresses, Kind: r.RewardType, Staking: r.TxHash, Transaction: r.RewardTxHash,
		Asset: r.Reward.Symbol, Decimals: uint64(r.Reward.Denomination), Amount: r.Reward.Amount.Int, id: r.ID(),
	}
	if price := r.Reward.HistoricalPrice; price != nil {
		value := float64(price.Value)
		p.Price = &value
		exact, _ := new(big.Rat).SetString(strconv.FormatFloat(value, 'f', -1, 64))
		unit := new(big.Int).Exp(big.NewInt(10), new(big.Int).SetUint64(p.Decimals), nil)
		exact.Mul(exact, new(big.Rat).SetFrac(new(big.Int).Mul(p.Amount, big.NewInt(100)), unit))
		p.Hundredths, _ = new(big.Int).SetString(exact.FloatString(0), 10)
	}
	return p
}

// configuredRewards returns the queries for what the configuration monitors.
func configuredRewards(ctx context.Context, cfg *config.Config) (queries []map[string]any, err error) {
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
		queries = append(queries, map[string]any{"nodeIds": ids})
	}
	var addresses []string
	for _, d := range cfg.Watch.Delegators {
		addresses = append(addresses, d.Address)
	}
	if len(addresses) > 0 {
		queries = append(queries, map[string]any{"addresses": addresses})
	}
	if len(queries) == 0 {
		return nil, config.InputError{Err: errors.New("no validator and no address: write --node or --address, or set AVAX_VALIDATORS or AVAX_WATCH_DELEGATORS")}
	}
	return queries, nil
}
