package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// The kinds of costs of an L1 validator. The fee is paid out of the validator's balance, so the sum of fees and refunds is the sum of
// top-ups less the present balances.
const (
	L1TopUp  = "L1_TOP_UP" // added to the balance, also by the transaction that created the validator
	L1Refund = "L1_REFUND" // returned from the balance to its owner
	L1Fee    = "L1_FEE"    // validation fee of a month
)

// TxFee is the kind of the fee of a transaction, which the owners of the consumed outputs paid.
const TxFee = "TX_FEE"

// l1Costs returns the costs of the validators of L1s. If the selection has addresses, it returns what transactions of these addresses
// added to or returned from balances: whose balance a fee comes from is not known then.
func (r *reader) l1Costs(ctx context.Context, s Selection) (found []Payment) {
	if len(s.Addresses) > 0 {
		return r.balanceChanges(ctx, s)
	}
	validators := r.l1Validators(ctx, s)
	histories := map[string][]data.Transaction{}
	for i, id := range slices.Sorted(maps.Keys(validators)) {
		histories[id] = r.transactions(ctx, fmt.Sprintf("L1 validator %d of %d", i+1, len(validators)), data.Args{"l1ValidationId": id}, l1Types)
	}
	if len(validators) > 0 { // balances that are not older than the transactions
		validators = r.l1Validators(ctx, s)
	}
	ours := r.balanceOwners(validators)
	for _, id := range slices.Sorted(maps.Keys(histories)) {
		v, there := validators[id]
		if !there {
			r.lacks("L1 validator "+id, errors.New("the service does not list it any more: run the command again"))
			continue
		}
		costs, err := r.costsOf(ctx, v, histories[id])
		if err != nil {
			r.lacks("L1 validator "+id, err)
		}
		for _, p := range costs {
			if p.Owner = OwnerSelf; ours != nil && !ours(v.L1Validator) {
				p.Owner = OwnerOthers
			}
			found = append(found, p)
		}
		for _, tx := range histories[id] {
			found = append(found, r.txFee(tx)...)
		}
	}
	return found
}

// balanceChanges returns what transactions of addresses added to or returned from balances, of the selected validators and L1s if there are some.
func (r *reader) balanceChanges(ctx context.Context, s Selection) (found []Payment) {
	all := len(s.Nodes)+len(s.Subnets) == 0
	for _, of := range chunks(s.Addresses) {
		for _, tx := range r.transactions(ctx, "transactions", data.Args{"addresses": of}, slices.Concat(l1Types, otherTypes)) {
			ofTx := all || slices.Contains(s.Nodes, tx.NodeID)
			selected := ofTx
			for _, v := range tx.Validators {
				if !ofTx && !slices.Contains(s.Nodes, v.NodeID) && !slices.Contains(s.Subnets, v.SubnetID) {
					continue
				}
				if selected = true; v.BalanceChange != 0 {
					found = append(found, balanceChange(tx, v))
				}
			}
			if selected {
				found = append(found, r.txFee(tx)...)
			}
		}
	}
	return found
}

// txFee returns the line of the fee of a transaction, if the answer has it and says who paid.
func (r *reader) txFee(tx data.Transaction) []Payment {
	fee, err := tx.Fee()
	if err != nil {
		r.lacks("fee of transaction "+tx.TxHash, err)
		return nil
	}
	p := Payment{
		Time: tx.BlockTimestamp.UTC(), Node: tx.NodeID, Addresses: []string{}, Kind: TxFee, RewardTx: tx.TxHash, Asset: "AVAX", Decimals: 9, Amount: fee,
		Remark: tx.TxType, id: TxFee + " " + tx.TxHash,
	}
	for _, o := range tx.Consumed {
		p.Addresses = append(p.Addresses, o.Addresses...)
	}
	slices.Sort(p.Addresses)
	if p.Addresses = slices.Compact(p.Addresses); fee.Sign() == 0 || len(p.Addresses) == 0 {
		return nil
	}
	return []Payment{p}
}

// balanceOwners returns whether the balance of a validator belongs to the user: to the same owner as the balances of the validators that the
// user operates, or to an own address. It is nil if the user has none of them in these L1s: then all costs count as own.
func (r *reader) balanceOwners(validators map[string]l1Validator) func(data.L1Validator) bool {
	own := maps.Clone(r.own)
	for _, v := range validators {
		if r.operated[v.NodeID] {
			own.add(v.RemainingBalanceOwner.Addresses...)
		}
	}
	isOwn := func(v data.L1Validator) bool {
		return r.operated[v.NodeID] || slices.ContainsFunc(v.RemainingBalanceOwner.Addresses, own.has)
	}
	for _, v := range validators {
		if isOwn(v.L1Validator) {
			return isOwn
		}
	}
	return nil
}

// l1Validator is a validator of an L1, and the block at which its balance is true; 0 if the service does not say it.
type l1Validator struct {
	data.L1Validator
	height uint64
}

// l1Validators returns the validators of L1s by validation ID, also former ones.
func (r *reader) l1Validators(ctx context.Context, s Selection) map[string]l1Validator {
	found := map[string]l1Validator{}
	for name, ids := range map[string][]string{"nodeId": s.Nodes, "subnetId": s.Subnets} {
		for _, id := range ids {
			list := readWhole(ctx, r, "L1 validators", data.ListL1Validators, data.Args{name: id, "includeInactiveL1Validators": "true"}, data.L1Validator.ID)
			for _, v := range list.Items {
				found[v.ValidationID] = l1Validator{v, list.Heights[v.ValidationID]}
			}
		}
	}
	return found
}

// The types of transactions that users issue: those that change balances of L1 validators, and the others.
var (
	l1Types    = []string{"ConvertSubnetToL1Tx", "RegisterL1ValidatorTx", "SetL1ValidatorWeightTx", "DisableL1ValidatorTx", "IncreaseL1ValidatorBalanceTx"}
	otherTypes = []string{"AddValidatorTx", "AddSubnetValidatorTx", "AddDelegatorTx", "CreateChainTx", "CreateSubnetTx", "ImportTx", "ExportTx",
		"RemoveSubnetValidatorTx", "TransformSubnetTx", "AddPermissionlessValidatorTx", "AddPermissionlessDelegatorTx", "BaseTx", "TransferSubnetOwnershipTx"}
)

// transactions returns transactions of these types in the order of their blocks.
func (r *reader) transactions(ctx context.Context, what string, args data.Args, types []string) []data.Transaction {
	args["blockchainId"], args["txTypes"] = data.PChain, types
	found := readWhole(ctx, r, what, data.ListTransactions, args, data.Transaction.ID).Items
	slices.SortStableFunc(found, func(a, b data.Transaction) int {
		return cmp.Or(a.BlockTimestamp.Compare(b.BlockTimestamp.Time), cmp.Compare(a.BlockNumber, b.BlockNumber), strings.Compare(a.TxHash, b.TxHash))
	})
	return found
}

// change is a transaction that changed the balance of one validator.
type change struct {
	tx     data.Transaction
	before int64 // nAVAX
	after  int64
	line   data.L1BalanceChange
}

// changesOf returns the changes of the balance of a validator up to the block at which its present balance is true. The order within a block,
// and within a second, follows from the balances: no fee is paid in between.
func changesOf(v l1Validator, transactions []data.Transaction) (all []change) {
	for _, tx := range transactions {
		if v.height > 0 && uint64(tx.BlockNumber) > v.height {
			continue
		}
		for _, c := range tx.Validators {
			if c.ValidationID == v.ValidationID {
				after := int64(c.RemainingBalance)
				all = append(all, change{tx, after - int64(c.BalanceChange), after, c})
			}
		}
	}
	for begin := 0; begin < len(all); {
		end := begin + 1
		for end < len(all) && all[end].tx.BlockTimestamp.Equal(all[begin].tx.BlockTimestamp.Time) {
			end++
		}
		link(all[begin:end])
		begin = end
	}
	return all
}

// link orders changes so that each begins with the balance at which the previous one ended. Changes that cannot be linked keep their order.
func link(changes []change) {
	const most = 8 // more changes of one validator within a second are not expected
	var order func(done int) bool
	order = func(done int) bool {
		if done == len(changes) {
			return true
		}
		for i := done; i < len(changes); i++ {
			if done > 0 && changes[i].before != changes[done-1].after {
				continue
			}
			changes[done], changes[i] = changes[i], changes[done]
			if order(done + 1) {
				return true
			}
			changes[done], changes[i] = changes[i], changes[done]
		}
		return false
	}
	if len(changes) > 1 && len(changes) <= most {
		order(0)
	}
}

// costsOf returns the top-ups, refunds and fees of a validator. A fee between two transactions is the difference of the balances, and
// therefore exact. The error says which part is missing.
func (r *reader) costsOf(ctx context.Context, v l1Validator, transactions []data.Transaction) (found []Payment, err error) {
	f := fees{price: staking.MainnetFloor}
	var left int64
	var since time.Time
	pay := func(until time.Time, balance int64) {
		switch {
		case left < balance || since.IsZero() && balance != 0:
			err = fmt.Errorf("its balance of %d nAVAX at %s does not follow from its transactions: the fees before are missing: run the command again in a minute",
				balance, until.UTC().Format(time.DateTime))
		case left > balance:
			f.pay(since, until, uint64(left-balance), balance == 0)
		}
	}
	for _, c := range changesOf(v, transactions) {
		pay(c.tx.BlockTimestamp.Time, c.before)
		left, since = c.after, c.tx.BlockTimestamp.Time
		if c.line.BalanceChange != 0 {
			found = append(found, balanceChange(c.tx, c.line))
		}
	}
	pay(time.Now(), int64(v.RemainingBalance))
	if !f.useDays(r.feeDays(ctx, v)) {
		r.fixClosed(v, f.parts)
	}
	return append(found, r.months(v, f.parts)...), err
}

// feeDays returns the fees of each day from the Metrics service, oldest first, if it is configured and has them.
func (r *reader) feeDays(ctx context.Context, v l1Validator) []part {
	if r.ups.Metrics == nil {
		return nil
	}
	days, err := r.ups.Metrics.ValidationFees(ctx, v.ValidationID)
	if err != nil {
		r.lacks("fees of each day of L1 validator "+v.ValidationID+" (its months are estimated)", err)
		return nil
	}
	var parts []part
	for _, d := range days {
		parts = append(parts, part{d.Timestamp.UTC(), d.Timestamp.UTC().Add(24 * time.Hour), uint64(d.Value), false})
	}
	return parts
}

// balanceChange returns the line of a transaction that changed a balance.
func balanceChange(tx data.Transaction, v data.L1BalanceChange) Payment {
	kind := L1TopUp
	if v.BalanceChange < 0 {
		kind = L1Refund
	}
	p := l1Payment(kind, v.L1Validator, tx.TxHash)
	p.Time, p.RewardTx = tx.BlockTimestamp.UTC(), tx.TxHash
	p.Amount.Abs(big.NewInt(int64(v.BalanceChange)))
	return p
}

func l1Payment(kind string, v data.L1Validator, key string) Payment {
	return Payment{
		Node: v.NodeID, Subnet: v.SubnetID, Validation: v.ValidationID, Addresses: []string{}, Owner: OwnerSelf,
		Kind: kind, Asset: "AVAX", Decimals: 9, Amount: new(big.Int),
		id: fmt.Sprint(kind, " ", v.ValidationID, " ", key),
	}
}

// part is a fee that was paid evenly between two times.
type part struct {
	begin, end time.Time
	amount     uint64 // nAVAX
	estimated  bool   // the fee per second changed in between
}

// until returns what was paid from the begin to a time. The parts of a part add up to it, wherever it is cut.
func (p part) until(at time.Time) uint64 {
	length, s := uint64(p.end.Sub(p.begin)/time.Second), uint64(max(0, at.Sub(p.begin)/time.Second))
	if s >= length {
		return p.amount
	}
	high, low := bits.Mul64(p.amount, s)
	share, _ := bits.Div64(high, low, length)
	return share
}

// fees divides the fees of a validator among times.
type fees struct {
	price uint64 // newest known fee in nAVAX per second
	parts []part
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
	begin := since.UTC().Truncate(time.Second)
	end := begin.Add(time.Duration(seconds) * time.Second)
	whole := part{begin, end, fee, !constant}
	at := func(t time.Time) uint64 { // paid until then
		if s := uint64(max(0, t.Sub(whole.begin)/time.Second)); constant && s < seconds {
			return price * s
		}
		return whole.until(t)
	}
	for begin.Before(end) {
		next := time.Date(begin.Year(), begin.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		if next.After(end) {
			next = end
		}
		f.parts = append(f.parts, part{begin, next, at(next) - at(begin), !constant && (begin.After(whole.begin) || next.Before(end))})
		begin = next
	}
}

// useDays replaces the fees of the time that a series of days covers. The newest day of the series may be incomplete, and is not used. What the
// balances say beyond the days was paid in the remaining time. The days are not used if they cannot be in nAVAX.
func (f *fees) useDays(days []part) (used bool) {
	if len(days) < 2 {
		return false
	}
	slices.SortFunc(days, func(a, b part) int { return a.begin.Compare(b.begin) })
	days = days[:len(days)-1]
	first, last := days[0].begin, days[len(days)-1].end
	var rest []part
	var total, covered, counted uint64
	for _, p := range f.parts {
		total += p.amount
		low, high := p.until(first), p.until(last)
		covered += high - low
		if low > 0 {
			rest = append(rest, part{p.begin, first, low, p.estimated})
		}
		if p.amount > high {
			begin := p.begin
			if begin.Before(last) {
				begin = last
			}
			rest = append(rest, part{begin, p.end, p.amount - high, false})
		}
	}
	for _, d := range days {
		counted += d.amount
	}
	const tolerance = 5 // one part in five: the division of the balances among the months is only an estimate
	if counted > total || max(counted, covered)-min(counted, covered) > covered/tolerance+24*60*60*f.price {
		return false
	}
	var left uint64
	for _, p := range rest {
		left += p.amount
	}
	missing := total - counted - min(left, total-counted) // beyond the rest
	switch {
	case len(rest) == 0 && missing > 0: // the last day on which a fee was paid
		i := len(days) - 1
		for i > 0 && days[i].amount == 0 {
			i--
		}
		days[i].amount += missing
	case len(rest) > 0:
		scale(rest, total-counted)
	}
	f.parts = slices.Concat(days, rest)
	slices.SortStableFunc(f.parts, func(a, b part) int { return a.begin.Compare(b.begin) })
	return true
}

// scale changes the amounts of parts so that they add up to a sum.
func scale(parts []part, sum uint64) {
	var total, before, given uint64
	for _, p := range parts {
		total += p.amount
	}
	for i := range parts {
		before += parts[i].amount
		high, low := bits.Mul64(sum, before)
		upTo, _ := bits.Div64(high, low, max(1, total))
		parts[i].amount, given = upTo-given, upTo
	}
}

// fixClosed keeps what the first run after the end of a month computed for it. The month that has not ended gets what remains, so the sum stays
// exact.
func (r *reader) fixClosed(v l1Validator, parts []part) {
	if r.Dir == "" {
		return
	}
	dir, err := state.Open(r.Dir)
	if err != nil && !errors.Is(err, state.ErrInUse) {
		return
	}
	entry := "closed months " + v.ValidationID
	stored, _ := state.Load[map[string]uint64](dir, entry)
	closed := maps.Clone(stored)
	if closed == nil {
		closed = map[string]uint64{}
	}
	now := time.Now().UTC()
	open := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var excess int64 // of the estimates over what is stored
	for i, p := range parts {
		if p.end.After(open) {
			continue
		}
		key := p.begin.Format(time.DateTime) + " " + p.end.Format(time.DateTime)
		if before, there := closed[key]; there {
			excess += int64(p.amount) - int64(before)
			parts[i].amount = before
		} else {
			closed[key] = p.amount
		}
	}
	for i := len(parts) - 1; i >= 0 && excess != 0; i-- { // the newest parts
		change := max(excess, -int64(parts[i].amount))
		parts[i].amount, parts[i].estimated = uint64(int64(parts[i].amount)+change), true
		excess -= change
	}
	if !maps.Equal(stored, closed) {
		_ = dir.Save(entry, closed)
	}
}

// months returns a line for each month of the location in which fees were paid.
func (r *reader) months(v l1Validator, parts []part) (lines []Payment) {
	for _, p := range parts {
		for begin := p.begin; begin.Before(p.end); {
			local := begin.In(r.Location)
			next := time.Date(local.Year(), local.Month()+1, 1, 0, 0, 0, 0, r.Location)
			if next.After(p.end) {
				next = p.end
			}
			first, last := begin, next
			if first.Before(r.From) {
				first = r.From
			}
			if !r.To.IsZero() && last.After(r.To) {
				last = r.To
			}
			if last.After(first) {
				if amount := p.until(last) - p.until(first); amount > 0 {
					lines = addFee(lines, l1Payment(L1Fee, v.L1Validator, local.Format("2006-01")), last, amount, p.estimated)
				}
			}
			begin = next
		}
	}
	return lines
}

// addFee adds an amount to the line of a month.
func addFee(lines []Payment, line Payment, end time.Time, amount uint64, estimated bool) []Payment {
	i := slices.IndexFunc(lines, func(m Payment) bool { return m.id == line.id })
	if i < 0 {
		i = len(lines)
		lines = append(lines, line)
	}
	m := &lines[i]
	if at := end.UTC().Add(-time.Second); at.After(m.Time) {
		m.Time = at
	}
	m.Amount.Add(m.Amount, new(big.Int).SetUint64(amount))
	m.estimated = m.estimated || estimated
	return lines
}
