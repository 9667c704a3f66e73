package simnet

import (
	"cmp"
	"math"
	"math/big"
	"strings"
	"time"
)

// ledger holds the history that only the Data service has; nodes have only the current state. Periodic events are not
// stored. They are computed from the clock: see beat.
type ledger struct {
	rewards     []reward
	deployments []deployment
	balances    map[holder]*big.Int // set by SetNativeBalance
	reindexed   map[nft]time.Time   // last reindex of a token
	rewardOrder RewardOrder
	held        spans       // times in which no relayer delivers messages
	failing     spans       // times in which messages are delivered, but their calls fail
	paid        spans       // times in which relayers deliver only messages with a fee
	retried     []time.Time // times at which all failed calls are repeated
	resent      []span      // messages of these times are sent again at the end
	lanes       []lane
	mute        map[*member]bool     // participants that sign no messages
	lags        map[*chain][]indexer // oldest first
	counted     map[*chain]*counted
}

// past is the time before the origin from which the ledger has events. Rewards are older.
const past = 23 * time.Hour

// indexer is the lag of the Data service for a chain, from a time on.
type indexer struct {
	from time.Time
	lag  time.Duration
}

// usualLag is the default lag of the Data service.
const usualLag = 2 * time.Second

// indexed returns the time up to which the Data service has indexed a chain. This time never decreases: if the lag grows, the service
// indexes nothing until it has the new lag.
func (t *truth) indexed(c *chain, at time.Time) (newest time.Time) {
	lags := t.ledger.lags[c]
	for i, l := range lags {
		if l.from.After(at) {
			break
		}
		end := at
		if i+1 < len(lags) && lags[i+1].from.Before(at) {
			end = lags[i+1].from
		}
		if upTo := end.Add(-l.lag); upTo.After(newest) {
			newest = upTo
		}
	}
	return newest
}

// newest returns the newest indexed block of a chain.
func (t *truth) newest(c *chain, at time.Time) head { return c.heads.at(t.indexed(c, at)) }

// beat is the interval of a periodic event. The first event is at the start of the ledger.
type beat time.Duration

// at returns the time of the nth event, from 0.
func (b beat) at(t *truth, n int) time.Time {
	return t.origin.Add(time.Duration(n)*time.Duration(b) - past)
}

// times returns the number of events so far.
func (b beat) times(t *truth, now time.Time) int {
	return max(0, int(now.Sub(t.origin.Add(-past))/time.Duration(b))+1)
}

// The kinds of rewards.
const (
	validatorReward = "VALIDATOR"
	delegatorReward = "DELEGATOR"
	feeReward       = "VALIDATOR_FEE" // the validator's share of its delegators' rewards
)

// RewardOrder is the order of rewards in the Data service. None is documented.
type RewardOrder int

// The orders. The first two respect the requested direction.
const (
	RewardsByEnd RewardOrder = iota
	RewardsByStart
	RewardsUnordered
)

// compare orders two rewards.
func (t *truth) compare(a, b reward) int {
	switch t.ledger.rewardOrder {
	case RewardsByStart:
		return a.start.Compare(b.start)
	case RewardsUnordered:
		return cmp.Compare(t.chance("reward order", a.tx, a.end.Unix()), t.chance("reward order", b.tx, b.end.Unix()))
	}
	return a.end.Compare(b.end)
}

// reward is a payment for a period of validation or delegation, at its end.
type reward struct {
	kind           string
	member         *member
	tx             string // transaction that staked
	start, end     time.Time
	staked, amount uint64
	owner          string
	renewed        bool // of an auto-renewed validator
}

// paidBy returns the transaction that paid a reward.
func (t *truth) paidBy(r reward) string { return t.newID("reward", r.tx, r.end.Unix()) }

// output returns the index of the output that paid a reward: a validator's own reward comes before its share of its delegators' rewards.
func (r reward) output() uint32 {
	if r.kind == feeReward {
		return 2
	}
	return 1
}

func (t *truth) buildLedger() {
	t.ledger = ledger{
		lanes:     usualLanes(),
		balances:  make(map[holder]*big.Int),
		reindexed: make(map[nft]time.Time),
		mute:      make(map[*member]bool),
		lags:      make(map[*chain][]indexer),
		counted:   make(map[*chain]*counted),
	}
	for _, c := range t.chains {
		height := c.heads[0].height
		t.ledger.lags[c] = []indexer{{lag: usualLag}}
		t.ledger.counted[c] = &counted{height, usualTransactions * height}
	}
	for _, v := range t.primary.stakers {
		t.buildRewards(v)
	}
	t.buildDeployments()
}

// buildRewards creates the payments of two earlier periods of a validator, with as many delegators as now.
func (t *truth) buildRewards(v *staker) {
	period := 30 * day
	if v.renewal != nil {
		period = v.renewal.period
	}
	for i := range 2 {
		earlier := *v
		earlier.start, earlier.end = v.start.Add(-time.Duration(2-i)*period), v.start.Add(-time.Duration(1-i)*period)
		earlier.reward = rewardFor(v.weight, period)
		earlier.accrued = 0
		if v.renewal == nil {
			earlier.txID = t.newID("stake", v.member.name, "period", i)
		}
		for j, d := range v.delegators {
			t.payDelegator(&earlier, delegator{
				txID:  t.newID("delegation", v.member.name, "period", i, j),
				start: earlier.start.Add(day), end: earlier.end.Add(-day),
				weight: d.weight, reward: rewardFor(d.weight, period-2*day), owner: d.owner,
			})
		}
		t.payValidator(&earlier)
	}
}

// payValidator pays the reward of a period that ends, except for the restaked part, and the delegation fees of that period. After the
// last period of an auto-renewed validator, it pays what was restaked too. Every vote is yes, except after
// RefuseReward.
func (t *truth) payValidator(v *staker) {
	own := v.reward
	if v.renewal != nil && v.renewal.period > 0 {
		own -= own * v.renewal.shares / 1_000_000
	} else if v.renewal != nil {
		own += v.restaked
	}
	r := reward{kind: validatorReward, member: v.member, tx: v.txID, start: v.start, end: v.end, staked: v.weight, amount: own, owner: Owner,
		renewed: v.renewal != nil}
	if !v.refused {
		t.pay(r)
	}
	if v.accrued > 0 {
		r.kind, r.amount = feeReward, v.accrued
		t.pay(r)
	}
	v.accrued = 0
}

// payDelegator pays the reward of a delegation that ends. The validator's share accrues until the end of its period.
func (t *truth) payDelegator(v *staker, d delegator) {
	if v.refused {
		return
	}
	net := v.net(d)
	v.accrued += d.reward - net
	t.pay(reward{kind: delegatorReward, member: v.member, tx: d.txID, start: d.start, end: d.end, staked: d.weight, amount: net, owner: d.owner})
}

// net returns the reward of a delegation without the validator's fee.
func (s *staker) net(d delegator) uint64 {
	millionths := big.NewInt(1_000_000 - int64(math.Round(s.fee*10_000)))
	net := new(big.Int).Mul(new(big.Int).SetUint64(d.reward), millionths)
	return net.Div(net, big.NewInt(1_000_000)).Uint64()
}

func (t *truth) pay(r reward) { t.ledger.rewards = append(t.ledger.rewards, r) }

// price returns the price of AVAX on a day in US dollars.
func (t *truth) price(at time.Time) float64 {
	return 20 + math.Round(2_000*t.chance("price", at.Truncate(day).Unix()))/100
}

// currencies are the currencies of the Data service, with their exchange rates to the US dollar.
var currencies = map[string]float64{
	"usd": 1, "eur": 0.92, "aud": 1.5, "cad": 1.4, "chf": 0.9, "clp": 950, "cny": 7.2, "czk": 23, "dkk": 6.9, "gbp": 0.8,
	"hkd": 7.8, "huf": 370, "jpy": 150, "nzd": 1.7,
}

// Addresses and contracts on the EVM chains, with checksum as in the Data service.
const (
	// Account holds and transfers tokens, sends and receives messages between chains, and deploys contracts.
	Account = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
	// Partner exchanges collectibles with Account.
	Partner = "0x1000000000000000000000000000000000000001"
	// Relayer delivers messages between chains and pays for it.
	Relayer = "0x2000000000000000000000000000000000000002"
	// Collection is the contract of ERC-721 tokens: 0 to 11 on the C-Chain, 0 to 2 on examplel1.
	Collection = "0x7210000000000000000000000000000000000721"
	// Items is the contract of ERC-1155 tokens: 1 and 2 on the C-Chain.
	Items = "0x1155000000000000000000000000000000001155"
	// Messenger is the contract of the messages between chains.
	Messenger = "0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf"
)

// deployment is a deployed contract.
type deployment struct {
	chain              *chain
	at                 time.Time
	address, deployer  string
	factory            string // contract that created it, empty if the transaction did
	kind, name, symbol string
}

func (t *truth) buildDeployments() {
	add := func(chain, address, factory, kind, name, symbol string) {
		l := &t.ledger
		at := t.origin.Add(-past + time.Duration(len(l.deployments))*time.Hour)
		l.deployments = append(l.deployments, deployment{t.mustChain(chain), at, address, Account, factory, kind, name, symbol})
	}
	add("C", Collection, "", "ERC-721", "Example Collection", "EXC")
	add("C", Items, "", "ERC-1155", "Example Items", "EXI")
	add("C", t.newAddress("token"), "", "ERC-20", "Example Token", "EXT")
	add("C", t.newAddress("made"), t.newAddress("factory"), "UNKNOWN", "", "")
	add("examplel1", Collection, "", "ERC-721", "Example Collection", "EXC")
}

// newAddress returns an address without letters, so that it has only one spelling.
func (t *truth) newAddress(label ...any) string {
	var b strings.Builder
	b.WriteString("0x")
	for _, c := range t.hex(40, append(label, "address")...)[2:42] {
		b.WriteByte('0' + byte(c)%10)
	}
	return b.String()
}

// counted is the number of transactions of a chain up to a block.
type counted struct{ height, total uint64 }

// usualTransactions is the average number of transactions per block.
const usualTransactions = 3

// cumulative returns the number of transactions up to a block. It is exact for the latest blocks, and an estimate for old ones.
func (t *truth) cumulative(c *chain, height uint64) uint64 {
	k := t.ledger.counted[c]
	for k.height < height {
		k.height++
		k.total += uint64(t.transactionsIn(c, k.height))
	}
	if k.height-height > searchedBlocks {
		return usualTransactions * height
	}
	total := k.total
	for h := k.height; h > height; h-- {
		total -= uint64(t.transactionsIn(c, h))
	}
	return total
}

// holder is an address on a chain, in lower case.
type holder struct {
	chain   *chain
	address string
}

// nft is a token of Collection or Items.
type nft struct {
	chain    *chain
	contract string
	token    int
}

// collectibles returns the number of Collection's tokens on a chain.
func (c *chain) collectibles() int {
	switch c.name {
	case "C-Chain":
		return 12
	case "examplel1":
		return 3
	}
	return 0
}
