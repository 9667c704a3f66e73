// Package ledger lists the staking rewards that were paid and the costs of L1 validators, as the Data service lists them.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Selection is the part of the ledger that concerns these addresses, validators and L1s. An empty selection stands for AVAX_VALIDATORS, or
// else the configured nodes, for the L1s in AVAX_CHAINS or that the nodes track, and for the P-Chain addresses in AVAX_WATCH_DELEGATORS.
type Selection struct {
	Addresses, Nodes []string
	Subnets          []string // L1s
}

// Query selects the lines of the ledger.
type Query struct {
	Selection
	From, To time.Time      // From is included, To is not; zero: no limit
	Currency string         // of the values, such as usd
	Location *time.Location // of months; nil: UTC
	Dir      string         // where the months of fees are kept; empty: nowhere
	Auto     bool           // AVAX_CHAINS has auto: an empty selection includes the L1s that the nodes track

	// Progress, if set, is called with what the ledger does now.
	Progress func(string)
}

// Restaked is the kind of a reward that an auto-renewed validator stakes again. It is paid with the last reward of the validator.
const Restaked = "RESTAKED"

// Payment is a line of the ledger: a reward that was paid or restaked, or a cost of an L1 validator.
type Payment struct {
	Time           time.Time `json:"time"` // end of the stake, at which the P-Chain pays; of a month's fee: its last second; of a transaction: its block
	Node           string    `json:"node_id"`
	Subnet         string    `json:"subnet_id,omitempty"`     // of the L1
	Validation     string    `json:"validation_id,omitempty"` // of the L1 validator
	Addresses      []string  `json:"addresses"`               // owners
	Owner          string    `json:"owner"`                   // OwnerSelf, OwnerOthers or OwnerShared
	Kind           string    `json:"kind"`                    // such as data.RewardValidator, Restaked, L1Fee or TxFee
	Staking        string    `json:"staking_tx"`              // transaction that staked
	RewardTx       string    `json:"reward_tx"`               // transaction that paid; empty for the fee of a month
	UTXOID         string    `json:"utxo_id,omitempty"`       // that paid
	Begin          time.Time `json:"begin,omitzero"`          // block of the transaction that staked
	Staked         uint64    `json:"staked,omitempty"`        // nAVAX
	Asset          string    `json:"asset"`                   // symbol
	Decimals       uint64    `json:"decimals"`                // of the amount
	Amount         *big.Int  `json:"amount"`                  // in the smallest unit: nAVAX
	Own            *big.Int  `json:"own_amount"`              // part of the own addresses: each owner of an output has an equal share
	Price          *float64  `json:"price"`                   // of a whole token on that day; nil if unknown
	ValueHundredth *big.Int  `json:"value_hundredth"`         // value in hundredths of the currency; nil without a price
	Remark         string    `json:"remark,omitempty"`        // what else is unusual

	id        string
	own       []string // owners that are own addresses
	estimated bool
}

// Whose payment a line is. An own address is one of Selection.Addresses or of AVAX_WATCH_DELEGATORS. If a validator is operated by the user, the
// owners of its own rewards are own addresses too.
const (
	OwnerSelf   = "own"
	OwnerOthers = "others"
	OwnerShared = "shared"
)

// IsCost reports whether the line is a fee, or a cost of an L1 validator.
func (p Payment) IsCost() bool { return p.Validation != "" || p.Kind == TxFee }

// Share returns the part of an owner. Shares are equal, but the first owners get what remains of a division.
func (p Payment) Share(owner int) *big.Int {
	n := int64(max(1, len(p.Addresses)))
	share, rest := new(big.Int).DivMod(p.Amount, big.NewInt(n), new(big.Int))
	if int64(owner) < rest.Int64() {
		share.Add(share, big.NewInt(1))
	}
	return share
}

// IsOwn reports whether an owner is one of the user's addresses.
func (p Payment) IsOwn(address string) bool { return slices.Contains(p.own, address) }

// ValueOf returns the value of an amount of the line in hundredths of the currency, or nil without a price.
func (p Payment) ValueOf(amount *big.Int) *big.Int {
	if p.Price == nil {
		return nil
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(*p.Price, 'f', -1, 64))
	unit := new(big.Int).Exp(big.NewInt(10), new(big.Int).SetUint64(p.Decimals), nil)
	exact.Mul(exact, new(big.Rat).SetFrac(new(big.Int).Mul(amount, big.NewInt(100)), unit))
	value, _ := new(big.Int).SetString(exact.FloatString(0), 10)
	return value
}

// Note says what a payment lacks.
func (p Payment) Note() string {
	var notes []string
	if p.Kind == Restaked {
		notes = append(notes, "computed from the stake, not in the totals")
	}
	if p.estimated {
		notes = append(notes, "the fee changed: divided evenly among the months")
	}
	if p.Remark != "" {
		notes = append(notes, p.Remark)
	}
	switch {
	case p.Price != nil:
	case p.IsCost():
		notes = append(notes, "no price: the Data service has prices of rewards only")
	case p.Remark == "":
		notes = append(notes, "no price yet")
	}
	return strings.Join(notes, "; ")
}

// IncompleteError is the error of a ledger from which something is missing. The other lines are right.
type IncompleteError struct{ Lines []string }

func (e *IncompleteError) Error() string { return "incomplete: " + strings.Join(e.Lines, "; ") }

// reader reads the ledger.
type reader struct {
	Query
	ups      *collector.Upstreams
	network  string
	own      addresses
	operated map[string]bool // validators that the user operates, by node ID
	missing  []string        // lines of IncompleteError
	assumed  addresses       // IDs of nodes and L1s that nobody wrote as a selection: they need not be known to the service
}

// addresses is a set of addresses of any chain.
type addresses map[string]bool

func (s addresses) add(all ...string) {
	for _, a := range all {
		s[data.BareAddress(a)] = true
	}
}

func (s addresses) has(address string) bool { return s[data.BareAddress(address)] }

// Read returns the payments, oldest first. If the configuration lacks something, the error is a config.InputError. If something could not be
// read, the error is an *IncompleteError, and the payments are what could be read.
func Read(ctx context.Context, ups *collector.Upstreams, q Query) ([]Payment, error) {
	if err := q.Check(); err != nil {
		return nil, config.InputError{Err: err}
	}
	if ups.Data == nil {
		return nil, config.ErrNoData
	}
	r := &reader{Query: q, ups: ups, own: addresses{}, assumed: addresses{}, operated: map[string]bool{}}
	if r.Location == nil {
		r.Location = time.UTC
	}
	if r.Progress == nil {
		r.Progress = func(string) {}
	}
	payments, err := r.read(ctx)
	if err == nil && len(r.missing) > 0 {
		err = &IncompleteError{r.missing}
	}
	return payments, err
}

// Check returns an error about what is written wrong: an address, an ID or the times.
func (q Query) Check() error {
	var errs []error
	for _, a := range q.Addresses {
		errs = append(errs, data.CheckAddress(a))
	}
	for _, id := range q.Nodes {
		errs = append(errs, data.CheckNodeID(id))
	}
	for _, id := range q.Subnets {
		errs = append(errs, data.CheckID(id))
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.From.After(q.To) {
		errs = append(errs, errors.New("--from is after --to: swap them"))
	}
	return errors.Join(errs...)
}

// lacks adds a line about what is missing. An error of the key says what to do about it.
func (r *reader) lacks(what string, err error) {
	text := what + ": " + err.Error()
	if data.IsKeyRejected(err) {
		text += ": " + remedy.Of(err).Do
	}
	if text = metric.Truncate(text); !slices.Contains(r.missing, text) {
		r.missing = append(r.missing, text)
	}
}

func (r *reader) read(ctx context.Context) (all []Payment, err error) {
	selections := []Selection{r.Selection}
	if len(r.Addresses)+len(r.Nodes)+len(r.Subnets) == 0 {
		if selections, err = r.configured(ctx); err != nil {
			return nil, err
		}
	}
	r.findOwn(ctx, selections)
	if r.network, err = r.ups.FindNetwork(ctx); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var rewards, costs []Payment
	for _, s := range selections {
		for _, paid := range r.rewards(ctx, s) {
			if p := r.paymentOf(paid); !found[p.id] {
				rewards, found[p.id] = append(rewards, p), true
			}
		}
		for _, p := range r.l1Costs(ctx, s) {
			if !found[p.id] {
				costs, found[p.id] = append(costs, p), true
			}
		}
		r.unknown(ctx, s, rewards, costs)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted: %w: run the same command again", context.Cause(ctx))
	}
	oldestFirst := func(a, b Payment) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.id, b.id)) }
	slices.SortFunc(rewards, oldestFirst)
	r.findOwners(rewards)
	all = slices.Concat(rewards, restaked(rewards), costs)
	for i := range all {
		r.divide(&all[i])
	}
	all = slices.DeleteFunc(all, func(p Payment) bool {
		return p.Time.Before(r.From) || !r.To.IsZero() && !p.Time.Before(r.To) || p.Kind == TxFee && p.Owner == OwnerOthers
	})
	slices.SortFunc(all, oldestFirst)
	return all, nil
}

// rewards returns the rewards of a selection.
func (r *reader) rewards(ctx context.Context, s Selection) (all []data.Reward) {
	addresses, ids := chunks(s.Addresses), chunks(s.Nodes)
	if len(s.Addresses)+len(s.Nodes) == 0 {
		return nil
	}
	for _, of := range addresses {
		for _, by := range ids {
			all = append(all, readWhole(ctx, r, "rewards", data.ListRewards, data.Args{"addresses": of, "nodeIds": by, "currency": r.Currency}, data.Reward.ID).Items...)
		}
	}
	return all
}

// chunks divides a list for several requests. An empty list is one empty chunk: the parameter is not used.
func chunks(list []string) [][]string {
	if len(list) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(list, data.MaxAddresses))
}

// readWhole reads a list until it is complete, and notes what is missing.
func readWhole[T any](ctx context.Context, r *reader, what string, m scrape.Typed[data.Page[T]], args data.Args, id func(T) string) data.Whole[T] {
	args["network"] = r.network
	began := time.Now()
	list := data.ReadWhole(ctx, r.ups.Data.Client, m, args, id, r.try, func(p data.Progress) {
		text := fmt.Sprintf("%s: %d read, page %d of reading %d", what, p.Items, p.Pages, p.Reading+1)
		if left := p.Before - p.Pages; p.Reading > 0 && left > 0 {
			each := time.Since(began) / time.Duration(p.Before*p.Reading+p.Pages)
			text += fmt.Sprintf(", about %s left", (each * time.Duration(left)).Round(time.Second))
		}
		r.Progress(text)
	})
	for _, err := range list.Wrong {
		r.lacks(what, err)
	}
	if list.Err != nil && ctx.Err() == nil {
		r.lacks(what, list.Err)
	}
	return list
}

// The waits for the service. A budget is waited for as long as it takes.
const (
	retries    = 5
	firstWait  = 2 * time.Second
	pauseWait  = 15 * time.Second
	maxPauses  = 80
	waitAction = "waiting %s for %s"
)

// noAnswer are the outcomes of a call that may soon succeed.
var noAnswer = []scrape.Outcome{scrape.Unreachable, scrape.Timeout, scrape.Unavailable, scrape.RateLimited, scrape.LocalLimit}

// try makes a request, again while the service may soon answer.
func (r *reader) try(ctx context.Context, request func(context.Context) error) error {
	failures, pauses := 0, 0
	for {
		err := request(scrape.MaxAge(ctx, 0))
		wait, reason := time.Duration(0), "the compute units of AVAX_DATA_BUDGET"
		switch outcome := scrape.OutcomeOf(err); {
		case err == nil || ctx.Err() != nil:
			return err
		case data.IsOverBudget(err):
			wait = data.BudgetWait(err)
		case outcome == scrape.RateLimited && pauses < maxPauses:
			pauses++
			wait, reason = pauseWait, "the Data service, which limits the rate"
		case (outcome == scrape.Malformed || slices.Contains(noAnswer, outcome)) && failures < retries:
			wait, reason = firstWait<<failures, "another attempt after an error"
			failures++
		}
		if wait == 0 {
			return err
		}
		r.Progress(fmt.Sprintf(waitAction, wait.Round(time.Second), reason))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// findOwn finds the own addresses, and the validators that the user operates: the configured nodes, and without own addresses all selected
// validators.
func (r *reader) findOwn(ctx context.Context, selections []Selection) {
	r.own.add(r.Addresses...)
	if len(r.Addresses) > 0 {
		return
	}
	r.own.add(collector.Values(r.ups.Watched().Delegators)...)
	for _, n := range r.ups.Nodes() {
		if id, err := n.ID(ctx); err == nil {
			r.operated[id] = true
		}
	}
	if len(r.own) == 0 {
		for _, s := range selections {
			for _, id := range s.Nodes {
				r.operated[id] = true
			}
		}
	}
	if len(r.operated) == 0 || r.ups.IsEmpty() {
		return
	}
	// If no node answers, the listed rewards still tell the owners.
	current, _ := nodes.First(ctx, r.ups.Pool, nodes.BasisPaid, func(ctx context.Context, n *nodes.Node) ([]node.Validator, error) {
		return n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, slices.Sorted(maps.Keys(r.operated))...)
	})
	for _, v := range current {
		for _, owner := range []*node.Owner{v.ValidationRewardOwner, v.DelegationRewardOwner} {
			if owner != nil && r.operated[v.NodeID] {
				r.own.add(owner.Addresses...)
			}
		}
	}
}

// findOwners adds the owners of the rewards of operated validators to the own addresses.
func (r *reader) findOwners(rewards []Payment) {
	for _, p := range rewards {
		if r.operated[p.Node] && (p.Kind == data.RewardValidator || p.Kind == data.RewardValidatorFee) {
			r.own.add(p.Addresses...)
		}
	}
}

// divide sets the own part of a line.
func (r *reader) divide(p *Payment) {
	if p.Kind != TxFee && p.IsCost() {
		p.Own = p.Amount
		if p.Owner == OwnerOthers {
			p.Own = new(big.Int)
		}
		return
	}
	p.Own, p.Owner = new(big.Int), OwnerOthers
	own := 0
	for i, a := range p.Addresses {
		if r.own.has(a) {
			p.Own.Add(p.Own, p.Share(i))
			p.own = append(p.own, a)
			own++
		}
	}
	switch {
	case own > 0 && own == len(p.Addresses):
		p.Owner = OwnerSelf
	case own > 0:
		p.Owner = OwnerShared
		if p.Kind == TxFee {
			p.Own, p.Remark = new(big.Int), p.Remark+"; addresses of others paid too: not in the totals"
		}
	}
}

// unknown notes the selected addresses and validators of which the service knows nothing, because they may be wrong.
func (r *reader) unknown(ctx context.Context, s Selection, rewards, costs []Payment) {
	known := maps.Clone(r.assumed) // addresses and IDs
	for _, p := range slices.Concat(rewards, costs) {
		known.add(p.Node, p.Subnet)
		known.add(p.Addresses...)
	}
	if len(s.Addresses) > 0 && len(costs) > 0 {
		return // of which of the addresses they are is not known
	}
	owners, ids := slices.DeleteFunc(slices.Clone(s.Addresses), known.has), slices.DeleteFunc(slices.Clone(s.Nodes), known.has)
	if len(s.Addresses) > 0 {
		ids = nil // only what concerns both is read
	}
	for name, all := range map[string][]string{"addresses": owners, "nodeIds": ids} {
		for _, of := range chunks(all) {
			if len(of) == 0 {
				continue
			}
			pending := readWhole(ctx, r, "pending rewards", data.ListPendingRewards, data.Args{name: of}, data.PendingReward.ID)
			if pending.Err != nil {
				return // already noted
			}
			for _, p := range pending.Items {
				known.add(p.NodeID)
				known.add(p.Addresses...)
			}
		}
	}
	if ctx.Err() != nil || len(r.missing) > 0 {
		return
	}
	for _, of := range slices.Concat(owners, ids, s.Subnets) {
		if !known.has(of) {
			r.missing = append(r.missing, fmt.Sprintf("nothing known of %s: is it correct?", of))
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
		if was, there := newest[p.Staking]; there && p.Staked > was.Staked {
			was.Kind, was.Amount, was.id = Restaked, new(big.Int).SetUint64(p.Staked-was.Staked), was.id+Restaked
			was.ValueHundredth = was.ValueOf(was.Amount)
			found = append(found, was)
		}
		newest[p.Staking] = p
	}
	return found
}

func (r *reader) paymentOf(reward data.Reward) Payment {
	p := Payment{
		Time: reward.EndTimestamp.UTC(), Node: reward.NodeID, Addresses: reward.Addresses, Kind: reward.RewardType, Staking: reward.TxHash,
		RewardTx: reward.RewardTxHash, UTXOID: reward.UTXOID, Staked: uint64(reward.AmountStaked), Asset: reward.Reward.Symbol,
		Decimals: uint64(reward.Reward.Denomination), Amount: reward.Reward.Amount.Int, id: reward.ID(),
	}
	if !reward.StartTimestamp.IsZero() {
		p.Begin = reward.StartTimestamp.UTC()
	}
	if price := reward.Reward.HistoricalPrice; price != nil {
		value, err := price.In(r.Currency)
		if err != nil {
			p.Remark = "no price: " + err.Error()
			r.lacks("price of reward "+p.id, err)
		} else {
			p.Price = &value
		}
	}
	if p.Time.After(time.Now()) {
		p.Remark = "dated after this machine's clock"
	}
	p.ValueHundredth = p.ValueOf(p.Amount)
	return p
}

// configured returns what the configuration monitors.
func (r *reader) configured(ctx context.Context) (found []Selection, err error) {
	ups := r.ups
	mine := Selection{Nodes: slices.Clone(ups.Watched().Validators.IDs)}
	if len(mine.Nodes) == 0 {
		for _, n := range ups.Nodes() {
			id, err := n.ID(ctx)
			if err != nil {
				r.lacks("validator of "+n.Name(), err)
				continue
			}
			mine.Nodes = append(mine.Nodes, id)
			r.assumed.add(id)
		}
	}
	if !ups.IsEmpty() {
		if r.Auto {
			chains, err := ups.Discover(ctx, ups.Chains())
			if ups.SetChains(chains); err != nil {
				r.lacks("L1s of your nodes", err)
			}
		}
		for _, c := range ups.Chains() {
			b, err := ups.Blockchain(ctx, c)
			if err != nil {
				r.lacks("L1 of "+c.Name, err)
				continue
			}
			if b.SubnetID != node.PrimaryNetworkID {
				mine.Subnets = append(mine.Subnets, b.SubnetID)
				r.assumed.add(b.SubnetID)
			}
		}
	}
	if len(mine.Nodes)+len(mine.Subnets) > 0 {
		found = append(found, mine)
	}
	if addresses := collector.Values(ups.Watched().Delegators); len(addresses) > 0 {
		found = append(found, Selection{Addresses: addresses})
	}
	if len(found) == 0 && len(r.missing) > 0 {
		return nil, &IncompleteError{r.missing}
	}
	if len(found) == 0 {
		return nil, config.InputError{Err: errors.New("no validator and no address: write --node, --subnet or --address, or set AVAX_VALIDATORS or " +
			"AVAX_WATCH_DELEGATORS")}
	}
	return found, nil
}
