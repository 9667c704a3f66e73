// Package ledger lists the staking rewards that were paid and the costs of L1 validators, as the Data service lists them.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Selection is the part of the ledger that concerns these addresses, validators and L1s. An empty selection stands for AVAX_VALIDATORS, or
// else the configured nodes, for the L1s in AVAX_CHAINS, and for the P-Chain addresses in AVAX_WATCH_DELEGATORS.
type Selection struct {
	Addresses, Nodes []string
	Subnets          []string // L1s
}

// Query selects the lines of the ledger.
type Query struct {
	Selection
	From, To time.Time // From is included, To is not
	Currency string    // of the values, such as usd
	Verify   bool      // compare each reward with a node
}

// Restaked is the kind of a reward that an auto-renewed validator stakes again. It is paid with the last reward of the validator.
const Restaked = "RESTAKED"

// Payment is a line of the ledger: a reward that was paid or restaked, or a cost of an L1 validator.
type Payment struct {
	Time        time.Time `json:"time"` // end of the stake; of a fee: its last second
	Node        string    `json:"node_id"`
	Subnet      string    `json:"subnet_id,omitempty"`     // of the L1
	Validation  string    `json:"validation_id,omitempty"` // of the L1 validator
	Addresses   []string  `json:"addresses"`
	Kind        string    `json:"kind"`               // such as data.RewardValidator, Restaked or L1Fee
	Staking     string    `json:"staking_tx"`         // transaction that staked
	Transaction string    `json:"reward_tx"`          // transaction that paid; empty for a fee
	Asset       string    `json:"asset"`              // symbol
	Decimals    uint64    `json:"decimals"`           // of the amount
	Amount      *big.Int  `json:"amount"`             // in the smallest unit: nAVAX
	Price       *float64  `json:"price"`              // of a whole token on that day; nil if unknown
	Hundredths  *big.Int  `json:"value_hundredth"`    // value in hundredths of the currency; nil without a price
	Verified    string    `json:"verified,omitempty"` // Confirmed, or what a node lists instead
	id          string
	index       uint64 // of the output
	staked      uint64 // nAVAX
	estimated   bool
}

// IsL1 reports whether the line is a cost of an L1 validator.
func (p Payment) IsL1() bool { return p.Validation != "" }

// Confirmed is Payment.Verified if a node lists the payment.
const Confirmed = "confirmed"

// Note says what a payment lacks.
func (p Payment) Note() string {
	var notes []string
	if p.Kind == Restaked {
		notes = append(notes, "computed from the stake, not in the totals")
	}
	if p.estimated {
		notes = append(notes, "the fee changed: divided evenly among the months")
	}
	switch {
	case p.Price != nil:
	case p.IsL1():
		notes = append(notes, "no price: the Data service has prices of rewards only")
	default:
		notes = append(notes, "no price yet")
	}
	if p.Verified != "" {
		notes = append(notes, p.Verified)
	}
	return strings.Join(notes, "; ")
}

// reader reads the ledger.
type reader struct {
	Query
	ups     *collector.Upstreams
	network string
}

// Read returns the payments, oldest first. If the configuration lacks something, the error is a config.InputError.
func Read(ctx context.Context, ups *collector.Upstreams, q Query) ([]Payment, error) {
	if ups.Data == nil {
		return nil, config.InputError{Err: errors.New("no Data service configured: set AVAX_DATA_URL")}
	}
	r := &reader{q, ups, ""}
	payments, err := r.read(ctx)
	if data.IsKeyRejected(err) {
		err = fmt.Errorf("%w: %s", err, remedy.Of(err).Do)
	}
	return payments, err
}

func (r *reader) read(ctx context.Context) (all []Payment, err error) {
	selections := []Selection{r.Selection}
	if len(r.Addresses)+len(r.Nodes)+len(r.Subnets) == 0 {
		if selections, err = configured(ctx, r.ups); err != nil {
			return nil, err
		}
	}
	if r.network, err = r.ups.FindNetwork(ctx); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var rewards, costs []Payment
	add := func(list *[]Payment, p Payment) {
		if !found[p.id] {
			*list, found[p.id] = append(*list, p), true
		}
	}
	for _, s := range selections {
		if len(s.Addresses)+len(s.Nodes) > 0 {
			paid := data.List(ctx, r.ups.Data.Client, data.ListRewards, data.Args{"network": r.network, "addresses": s.Addresses, "nodeIds": s.Nodes,
				"currency": r.Currency}, data.Reward.ID)
			for reward, err := range complete(paid) {
				if err != nil {
					return nil, err
				}
				add(&rewards, paymentOf(reward))
			}
		}
		more, err := r.l1Costs(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			add(&costs, p)
		}
	}
	oldestFirst := func(a, b Payment) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.id, b.id)) }
	slices.SortFunc(rewards, oldestFirst)
	all = slices.Concat(rewards, restaked(rewards), costs)
	all = slices.DeleteFunc(all, func(p Payment) bool { return p.Time.Before(r.From) || !p.Time.Before(r.To) })
	slices.SortFunc(all, oldestFirst)
	if r.Verify {
		err = verify(ctx, r.ups, all)
	}
	return all, err
}

// complete yields the items of a list. A malformed item is an error that says what it means for the ledger.
func complete[T any](items iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range items {
			if data.IsItem(err) {
				err = fmt.Errorf("%w: the ledger would be incomplete", err)
			}
			if !yield(item, err) {
				return
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
func verify(ctx context.Context, ups *collector.Upstreams, payments []Payment) error {
	if ups.IsEmpty() {
		return config.InputError{Err: errors.New("--verify needs a node or an observer: set AVAX_NODES or AVAX_OBSERVERS")}
	}
	for i, p := range payments {
		if p.Kind == Restaked || p.IsL1() {
			continue
		}
		payments[i].Verified = "the node lists no such payment"
		for _, tx := range []string{p.Staking, p.Transaction} {
			paid, err := nodes.First(ctx, ups.Pool, func(ctx context.Context, n *nodes.Node) ([]node.RewardUTXO, error) {
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

// configured returns what the configuration monitors.
func configured(ctx context.Context, ups *collector.Upstreams) (found []Selection, err error) {
	mine := Selection{Nodes: slices.Clone(ups.Watched().Validators.IDs)}
	if len(mine.Nodes) == 0 {
		for _, n := range ups.Nodes() {
			id, err := n.ID(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Name(), err)
			}
			mine.Nodes = append(mine.Nodes, id)
		}
	}
	if !ups.IsEmpty() {
		for _, c := range ups.Chains() {
			b, err := ups.Blockchain(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if b.SubnetID != node.PrimaryNetworkID {
				mine.Subnets = append(mine.Subnets, b.SubnetID)
			}
		}
	}
	if len(mine.Nodes)+len(mine.Subnets) > 0 {
		found = append(found, mine)
	}
	var addresses []string
	for _, d := range ups.Watched().Delegators {
		addresses = append(addresses, d.Address)
	}
	if len(addresses) > 0 {
		found = append(found, Selection{Addresses: addresses})
	}
	if len(found) == 0 {
		return nil, config.InputError{Err: errors.New("no validator and no address: write --node, --subnet or --address, or set AVAX_VALIDATORS or " +
			"AVAX_WATCH_DELEGATORS")}
	}
	return found, nil
}
