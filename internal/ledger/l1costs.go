package ledger

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// The kinds of costs of an L1 validator. The fee is paid out of the validator's balance, so the sum of fees and refunds is the sum of
// top-ups less the present balances.
const (
	L1TopUp  = "L1_TOP_UP" // added to the balance, also by the transaction that created the validator
	L1Refund = "L1_REFUND" // returned from the balance to its owner
	L1Fee    = "L1_FEE"    // validation fee of a month
)

// l1Costs returns the costs of the validators of L1s. If the selection has addresses, it returns what transactions of these addresses
// added to or returned from balances: whose balance a fee comes from is not known then.
func (r *reader) l1Costs(ctx context.Context, s Selection) (found []Payment, err error) {
	if len(s.Addresses) > 0 {
		transactions, err := r.l1Transactions(ctx, data.Args{"addresses": s.Addresses})
		if err != nil {
			return nil, err
		}
		for _, tx := range transactions {
			for _, v := range tx.Validators {
				here := len(s.Nodes)+len(s.Subnets) == 0 || slices.Contains(s.Nodes, v.NodeID) || slices.Contains(s.Subnets, v.SubnetID)
				if here && v.BalanceChange != 0 {
					found = append(found, balanceChange(tx, v))
				}
			}
		}
		return found, nil
	}
	validators, err := r.l1Validators(ctx, s)
	if err != nil {
		return nil, err
	}
	histories := map[string][]data.L1Transaction{}
	for id := range validators {
		if histories[id], err = r.l1Transactions(ctx, data.Args{"l1ValidationId": id}); err != nil {
			return nil, err
		}
	}
	if validators, err = r.l1Validators(ctx, s); err != nil { // balances that are not older than the transactions
		return nil, err
	}
	for id, transactions := range histories {
		v, there := validators[id]
		if !there {
			return nil, fmt.Errorf("L1 validator %s: the service does not list it any more: run the command again", id)
		}
		costs, err := r.costsOf(v, transactions)
		if err != nil {
			return nil, fmt.Errorf("L1 validator %s: %w", id, err)
		}
		found = append(found, costs...)
	}
	return found, nil
}

// l1Validators returns the validators of L1s by validation ID, also former ones.
func (r *reader) l1Validators(ctx context.Context, s Selection) (map[string]data.L1Validator, error) {
	found := map[string]data.L1Validator{}
	for name, ids := range map[string][]string{"nodeId": s.Nodes, "subnetId": s.Subnets} {
		for _, id := range ids {
			args := data.Args{"network": r.network, name: id, "includeInactiveL1Validators": "true"}
			for v, err := range complete(data.List(ctx, r.ups.Data.Client, data.ListL1Validators, args, data.L1Validator.ID)) {
				if err != nil {
					return nil, err
				}
				found[v.ValidationID] = v
			}
		}
	}
	return found, nil
}

// l1Transactions returns the transactions that change the balances of L1 validators, oldest first.
func (r *reader) l1Transactions(ctx context.Context, args data.Args) (found []data.L1Transaction, err error) {
	args["network"], args["blockchainId"], args["sortOrder"] = r.network, data.PChain, "asc"
	args["txTypes"] = []string{"ConvertSubnetToL1Tx", "RegisterL1ValidatorTx", "SetL1ValidatorWeightTx", "DisableL1ValidatorTx", "IncreaseL1ValidatorBalanceTx"}
	for tx, err := range complete(data.List(ctx, r.ups.Data.Client, data.ListTransactions, args, data.L1Transaction.ID)) {
		if err != nil {
			return nil, err
		}
		found = append(found, tx)
	}
	slices.SortStableFunc(found, func(a, b data.L1Transaction) int { return a.BlockTimestamp.Compare(b.BlockTimestamp.Time) })
	return found, nil
}

// costsOf returns the top-ups, refunds and monthly fees of a validator. A fee between two transactions is the difference of the balances,
// and therefore exact.
func (r *reader) costsOf(v data.L1Validator, transactions []data.L1Transaction) (found []Payment, err error) {
	f := fees{validator: v, from: r.From, to: r.To, price: staking.MainnetFloor}
	var left int64
	var since time.Time
	pay := func(until time.Time, balance int64) {
		if left < balance || since.IsZero() && balance != 0 {
			err = fmt.Errorf("its balance of %d nAVAX at %s does not follow from its transactions: run the command again in a minute", balance,
				until.Format(time.DateTime))
		}
		if err == nil && left > balance {
			f.pay(since, until, uint64(left-balance), balance == 0)
		}
	}
	for _, tx := range transactions {
		for _, c := range tx.Validators {
			if c.ValidationID != v.ValidationID {
				continue
			}
			pay(tx.BlockTimestamp.Time, int64(c.RemainingBalance)-int64(c.BalanceChange))
			left, since = int64(c.RemainingBalance), tx.BlockTimestamp.Time
			if c.BalanceChange != 0 {
				found = append(found, balanceChange(tx, c))
			}
		}
	}
	pay(time.Now(), int64(v.RemainingBalance))
	return append(found, f.months...), err
}

// balanceChange returns the line of a transaction that changed a balance.
func balanceChange(tx data.L1Transaction, v data.L1BalanceChange) Payment {
	kind := L1TopUp
	if v.BalanceChange < 0 {
		kind = L1Refund
	}
	p := l1Payment(kind, v.L1Validator, tx.TxHash)
	p.Time, p.Transaction = tx.BlockTimestamp.UTC(), tx.TxHash
	p.Amount.Abs(big.NewInt(int64(v.BalanceChange)))
	return p
}

func l1Payment(kind string, v data.L1Validator, key string) Payment {
	return Payment{
		Node: v.NodeID, Subnet: v.SubnetID, Validation: v.ValidationID, Addresses: []string{}, Kind: kind, Asset: "AVAX", Decimals: 9, Amount: new(big.Int),
		id: fmt.Sprint(kind, " ", v.ValidationID, " ", key),
	}
}

// fees divides the fees of a validator among the months between two times.
type fees struct {
	validator data.L1Validator
	from, to  time.Time
	price     uint64 // newest known fee in nAVAX per second
	months    []Payment
}

// pay adds a fee that was paid between two times. If it used up the balance, the validator paid only until then. The division is exact if
// the fee per second did not change in between. The sum is always exact.
//
// A balance fell by 5,120 nAVAX in the 10 s around the end of a month, 4 s of them before: 512 nAVAX per second, so that the months paid
// 2,048 and 3,072. A fall by 5,123 has no such price: the months share it by time, 2,049 and 3,074, as an estimate. A fall by 512,000 to 0
// in 10,000 s at the previous price of 512 was paid in the first 1,000 s.
func (f *fees) pay(since, until time.Time, fee uint64, usedUp bool) {
	const drift = 600 // seconds that the service's newest balance may be old
	seconds := uint64(max(1, until.Unix()-since.Unix()))
	price := (fee + seconds/2) / seconds
	constant := price > 0 && fee%price == 0 && max(fee/price, seconds)-min(fee/price, seconds) < drift
	switch {
	case constant:
		f.price = price
		seconds = fee / price
	case usedUp && fee/f.price < seconds:
		constant, price = true, f.price
		seconds = max(1, fee/price)
	}
	paidAt := func(at time.Time) uint64 { // between since and at
		switch s := uint64(max(0, at.Unix()-since.Unix())); {
		case s >= seconds:
			return fee
		case constant:
			return price * s
		default:
			high, low := bits.Mul64(fee, s)
			share, _ := bits.Div64(high, low, seconds)
			return share
		}
	}
	end := since.UTC().Add(time.Duration(seconds) * time.Second)
	for begin := since.UTC(); begin.Before(end); {
		next := time.Date(begin.Year(), begin.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		first := slices.MaxFunc([]time.Time{begin, f.from}, time.Time.Compare)
		last := slices.MinFunc([]time.Time{next, end, f.to}, time.Time.Compare)
		if last.After(first) {
			f.add(begin.Format("2006-01"), last, paidAt(last)-paidAt(first), !constant && (first.After(since) || last.Before(end)))
		}
		begin = next
	}
}

// add adds an amount to the line of a month.
func (f *fees) add(month string, end time.Time, amount uint64, estimated bool) {
	p := l1Payment(L1Fee, f.validator, month)
	i := slices.IndexFunc(f.months, func(m Payment) bool { return m.id == p.id })
	if i < 0 {
		i = len(f.months)
		f.months = append(f.months, p)
	}
	m := &f.months[i]
	m.Time = end.UTC().Add(-time.Second)
	m.Amount.Add(m.Amount, new(big.Int).SetUint64(amount))
	m.estimated = m.estimated || estimated
}
