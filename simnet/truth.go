package simnet

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// truth is the state of the network, independent of any node's view. Each value that changes over time is stored with the times of its
// changes, so that the state at any time, also in the past, can be computed.
type truth struct {
	seed    uint64
	origin  time.Time // when New was called
	genesis time.Time // activation time of the upgrades of the genesis
	helicon time.Time // validation periods that start at or after it need 90 % uptime, earlier ones 80 %

	members  []*member
	primary  *subnet
	subnets  []*subnet // the primary network first
	chains   []*chain  // P first
	upgrades []upgrade
	feePrice uint64 // nAVAX per second and active L1 validator
	tps      tpsTruth
	ledger   ledger

	avaxUTXOs int // unspent outputs of Owner on the X-Chain
}

// member is a participant of the peer-to-peer network: a node, or a peer without an API.
type member struct {
	name, id    string
	number      int
	ip          string // announced address
	inbound     bool   // opens its connections itself, so that peers report an ephemeral port
	publicKey   string
	possession  string
	version     string
	upgradeTime time.Time // time of the newest upgrade that the member knows
	supports    []uint32
	objects     []uint32
	subnets     []*subnet // tracked in addition to the primary network
	away        spans     // times without connection
	silent      spans     // times connected without sending
	// lossBefore is the share of the time before the origin in which the validator was offline.
	lossBefore float64
	// told holds the uptime percentage that another member sends for this member instead of its real observation.
	told map[*member]float64
	node *Node // nil for a peer without an API
}

// subnet is a set of validators and their chains.
type subnet struct {
	id      string
	chains  []*chain
	stakers []*staker      // of the primary network, and permissioned validators of other subnets
	l1      []*l1Validator // validators of an L1
	removed []*l1Validator // former validators of an L1
	created time.Time
	// owner is the current owner, born the first owner.
	owner, born subnetOwner
	// conversion is the ID of the conversion to an L1, empty before it.
	conversion   string
	managerChain *chain         // chain of the contract that manages the L1's validators
	manager      string         // its address
	sets         []validatorSet // history, oldest first
}

// subnetOwner is the owner of a subnet: addresses without a chain prefix, and how many of them must sign.
type subnetOwner struct {
	addresses []string
	threshold int
}

// staker is a validator for a period: with stake on the primary network, or with permission on another subnet.
type staker struct {
	member     *member
	txID       string
	start, end time.Time
	weight     uint64 // nAVAX on the primary network
	fee        float64
	reward     uint64
	accrued    uint64
	delegators []delegator
	renewal    *renewal
	refused    bool      // the vote on its reward is no
	restaked   uint64    // of all periods of an auto-renewed validator
	added      time.Time // zero for those of the initial network
}

type delegator struct {
	txID       string
	start, end time.Time
	weight     uint64
	reward     uint64
	owner      string // of the reward
}

// renewal makes a staker start a new period whenever a period ends.
type renewal struct {
	period time.Duration // 0: the current period is the last
	shares uint64        // share of the reward that is restaked, in millionths
}

// l1Validator validates an L1 while its balance lasts.
type l1Validator struct {
	member       *member
	validationID string
	weight       uint64
	start        time.Time
	balance      uint64    // nAVAX at paidAt
	paidAt       time.Time // the fee is paid up to this time
	before       []funds   // up to paidAt, oldest first
	changes      []balanceChange
	inactive     spans
	added        time.Time // zero for those of the initial network
}

// funds is a balance at a time, and the fee that was charged per second before that time.
type funds struct {
	balance uint64
	at      time.Time
	price   uint64
	rest    uint64 // charged at that time, because it was less than the fee of a second
}

// balanceChange is a transaction that changed the balance of an L1 validator.
type balanceChange struct {
	at           time.Time
	kind         string // of the transaction
	change       int64  // nAVAX; below 0 if it returned the balance to its owner
	left, weight uint64 // after it
}

type chain struct {
	name    string
	aliases []string
	id      string
	vm      string
	evmID   uint64
	subnet  *subnet
	heads   heads
	fees    []feeChange // Subnet-EVM only
	// precompiles are active from genesis; Subnet-EVM only.
	precompiles []string
	upgrades    []precompileUpgrade
	pending     uint64        // transactions in the pool of each node
	frozen      time.Duration // the time between blocks before nobody could build blocks; 0: somebody can
}

// isL1 reports whether a chain runs Subnet-EVM: chains of every subnet but the primary network.
func (c *chain) isL1() bool { return c.subnet.id != primaryNetworkID }

// label returns a node's name of a chain in health checks and loggers.
func (c *chain) label() string {
	if len(c.aliases) > 0 {
		return c.aliases[0]
	}
	return c.id
}

type upgrade struct {
	name string
	at   time.Time // zero: not scheduled
}

// total returns the weight of a staker with its delegators, as on the primary network.
func (s *staker) total() uint64 { return s.weight + s.delegated() }

func (s *staker) delegated() (w uint64) {
	for _, d := range s.delegators {
		w += d.weight
	}
	return w
}

func (s *subnet) staker(m *member) *staker {
	if i := slices.IndexFunc(s.stakers, func(v *staker) bool { return v.member == m }); i >= 0 {
		return s.stakers[i]
	}
	return nil
}

func (s *subnet) l1Validator(m *member) *l1Validator {
	if i := slices.IndexFunc(s.l1, func(v *l1Validator) bool { return v.member == m }); i >= 0 {
		return s.l1[i]
	}
	return nil
}

func (s *subnet) validatedBy(m *member) bool { return s.staker(m) != nil || s.l1Validator(m) != nil }

func (t *truth) member(name string) *member {
	if i := slices.IndexFunc(t.members, func(m *member) bool { return m.name == name || m.id == name }); i >= 0 {
		return t.members[i]
	}
	return nil
}

func (t *truth) mustMember(name string) *member {
	m := t.member(name)
	if m == nil {
		panic(fmt.Sprintf("simnet: no participant %q", name))
	}
	return m
}

func (t *truth) mustStaker(s *subnet, m *member) *staker {
	v := s.staker(m)
	if v == nil {
		panic(fmt.Sprintf("simnet: %s does not validate subnet %s", m.name, s.id))
	}
	return v
}

func (t *truth) mustL1Validator(s *subnet, m *member) *l1Validator {
	v := s.l1Validator(m)
	if v == nil {
		panic(fmt.Sprintf("simnet: %s is no L1 validator of subnet %s", m.name, s.id))
	}
	return v
}

func (t *truth) chain(name string) *chain {
	for _, c := range t.chains {
		if c.name == name || c.id == name || slices.Contains(c.aliases, name) {
			return c
		}
	}
	return nil
}

func (t *truth) mustChain(name string) *chain {
	c := t.chain(name)
	if c == nil {
		panic(fmt.Sprintf("simnet: no chain %q", name))
	}
	return c
}

func (t *truth) pChain() *chain { return t.chains[0] }

// advance applies changes that depend only on the clock: balances run out, periods end or are renewed.
func (t *truth) advance(now time.Time) {
	var out []*l1Validator
	for _, s := range t.subnets {
		for _, v := range s.l1 {
			if v.active() && !v.runsOut(t.feePrice).After(now) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, func(a, b *l1Validator) int {
		return a.runsOut(t.feePrice).Compare(b.runsOut(t.feePrice))
	})
	for _, v := range out {
		at := v.runsOut(t.feePrice)
		v.pay(at, t.feePrice)
		v.before[len(v.before)-1].rest, v.balance = v.balance, 0
		v.inactive.begin(at)
		t.pChain().heads.add(at) // a block is accepted for it, to the second
		t.recordSets(at)
	}
	for _, s := range t.subnets {
		accepted := t.pChain().heads.at(now).time
		for _, v := range s.stakers {
			v.delegators = slices.DeleteFunc(v.delegators, func(d delegator) bool {
				ended := !d.end.After(accepted)
				if ended {
					t.payDelegator(v, d)
				}
				return ended
			})
			for v.renewal != nil && v.renewal.period > 0 && !v.end.After(accepted) {
				t.payValidator(v)
				restaked := v.reward * v.renewal.shares / 1_000_000
				v.weight, v.restaked = v.weight+restaked, v.restaked+restaked
				v.start, v.end = v.end, v.end.Add(v.renewal.period)
				v.reward = rewardFor(v.weight, v.renewal.period)
			}
		}
		s.stakers = slices.DeleteFunc(s.stakers, func(v *staker) bool {
			ended := !v.end.After(accepted)
			if ended && s == t.primary {
				t.payValidator(v)
			}
			return ended
		})
	}
}

func (v *l1Validator) active() bool { return v.balance > 0 }

// runsOut returns when the balance of an active validator runs out.
func (v *l1Validator) runsOut(price uint64) time.Time {
	if price == 0 || v.balance/price > uint64(math.MaxInt64/time.Second) {
		return v.paidAt.Add(math.MaxInt64)
	}
	return v.paidAt.Add(time.Duration(v.balance/price) * time.Second)
}

// balanceAt returns the balance with the fee paid up to a time. A lagging node does not know later top-ups.
func (v *l1Validator) balanceAt(at time.Time, price uint64) uint64 {
	for _, was := range v.before {
		if at.Before(was.at) {
			return was.balance + uint64(was.at.Sub(at)/time.Second)*was.price
		}
	}
	d := at.Sub(v.paidAt)
	if !v.active() || d <= 0 {
		return v.balance
	}
	spent := uint64(d/time.Second) * price
	return v.balance - min(spent, v.balance)
}

// changed records a transaction that changed the balance to what it is now.
func (v *l1Validator) changed(at time.Time, kind string, change int64) {
	v.changes = append(v.changes, balanceChange{at, kind, change, v.balance, v.weight})
}

// feesBetween returns the fees that the validator paid between two times, in nAVAX.
func (v *l1Validator) feesBetween(from, to time.Time, price uint64) (paid uint64) {
	began := v.start
	charge := func(until time.Time, price, rest uint64) {
		seconds := min(until.Unix(), to.Unix()) - max(began.Unix(), from.Unix())
		paid += uint64(max(seconds, 0)) * price
		if until.After(from) && !until.After(to) {
			paid += rest
		}
		began = until
	}
	for _, was := range v.before {
		charge(was.at, was.price, was.rest)
	}
	if v.active() {
		charge(v.runsOut(price), price, 0)
	}
	return paid
}

// pay charges the fee of an active validator up to a time.
func (v *l1Validator) pay(at time.Time, price uint64) {
	if !v.active() {
		price = 0
	}
	v.balance, v.paidAt = v.balanceAt(at, price), at
	v.before = append(v.before, funds{v.balance, at, price, 0})
}

// rewardFor returns about 8 % per year.
func rewardFor(weight uint64, period time.Duration) uint64 {
	return uint64(float64(weight) * 0.08 * period.Hours() / (365 * 24))
}

// stakerUptime returns the ratio of its period, 0 to 1, in which `by` observed a primary validator as connected.
func (t *truth) stakerUptime(v *staker, by *member, now time.Time) float64 {
	if percent, ok := v.member.told[by]; ok && v.member != by {
		return percent / 100
	}
	return 1 - t.lost(v.member, by, v.start, now, nil).Seconds()/max(1, now.Sub(v.start).Seconds())
}

// lost returns how long, since a time, `by` did not observe the member m as connected, or m was inactive. A node always observes itself
// as connected. The time in which `by` itself was offline counts as connected time of m.
func (t *truth) lost(m, by *member, since, now time.Time, inactive spans) time.Duration {
	if m == by {
		return lostBetween(since, now, nil, inactive)
	}
	lost := lostBetween(since, now, by.away, m.away, inactive)
	if before := t.origin.Sub(since); before > 0 && m.lossBefore > 0 {
		opinion := 0.9 + 0.2*t.chance("opinion", m.id, by.id)
		lost += time.Duration(float64(before) * m.lossBefore * opinion)
	}
	return min(lost, now.Sub(since))
}

// heads is the history of a chain: its newest block at any time. A segment starts with a block, and then has one block every period. A
// period of zero means that no further block follows.
type heads []segment

type segment struct {
	height uint64
	time   time.Time
	every  time.Duration
}

type head struct {
	height uint64
	time   time.Time
}

func (h heads) at(now time.Time) head {
	for i := len(h) - 1; i >= 0; i-- {
		s := h[i]
		if i > 0 && s.time.After(now) {
			continue
		}
		if s.every == 0 {
			return head{s.height, s.time}
		}
		n := now.Sub(s.time) / s.every
		if back := s.time.Sub(now); back > 0 { // the past had the same period
			n = min((back+s.every-1)/s.every, time.Duration(s.height))
			return head{s.height - uint64(n), s.time.Add(-n * s.every)}
		}
		return head{s.height + uint64(n), s.time.Add(n * s.every)}
	}
	return head{}
}

// timeOf returns the time of the accepted block at a height.
func (h heads) timeOf(height uint64) time.Time {
	for i := len(h) - 1; i >= 0; i-- {
		if s := h[i]; height >= s.height {
			return s.time.Add(time.Duration(height-s.height) * s.every)
		}
	}
	return h[0].time.Add(-time.Duration(h[0].height-height) * h[0].every)
}

// add accepts one more block and keeps the period.
func (h *heads) add(at time.Time) {
	last := h.at(at)
	h.insert(segment{last.height + 1, at, (*h)[len(*h)-1].every})
}

// pace sets the time between blocks from a time on.
func (h *heads) pace(at time.Time, every time.Duration) {
	last := h.at(at)
	if every > 0 && at.Sub(last.time) >= every {
		h.insert(segment{last.height + 1, at, every}) // a stalled chain does not catch up
		return
	}
	h.insert(segment{last.height, last.time, every})
}

func (h *heads) insert(s segment) {
	if last := &(*h)[len(*h)-1]; !s.time.After(last.time) {
		s.height = max(s.height, last.height)
		*last = s
		return
	}
	*h = append(*h, s)
}

// spans are time ranges in order; only the last may be open.
type spans []span

type span struct {
	from, to time.Time // to is zero while the span is open
}

func (s span) covers(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || at.Before(s.to))
}

func (s spans) covers(at time.Time) bool {
	return slices.ContainsFunc(s, func(s span) bool { return s.covers(at) })
}

// begin opens a span, unless one is open.
func (s *spans) begin(at time.Time) {
	if n := len(*s); n == 0 || !(*s)[n-1].to.IsZero() {
		*s = append(*s, span{from: at})
	}
}

// finish closes the open span, if any.
func (s *spans) finish(at time.Time) {
	n := len(*s)
	switch {
	case n == 0 || !(*s)[n-1].to.IsZero():
	case !at.After((*s)[n-1].from):
		*s = (*s)[:n-1]
	default:
		(*s)[n-1].to = at
	}
}

// last returns the end of the last span before a time, or zero if there is none. During a span it returns the time itself.
func (s spans) last(at time.Time) time.Time {
	var end time.Time
	for _, s := range s {
		switch {
		case s.from.After(at):
		case s.covers(at):
			return at
		default:
			end = s.to
		}
	}
	return end
}

// lostBetween returns the part of a time range that one of the lists covers and `except` does not.
func lostBetween(from, to time.Time, except spans, lists ...spans) (lost time.Duration) {
	cuts := []time.Time{from, to}
	for _, list := range append(lists, except) {
		for _, s := range list {
			for _, at := range []time.Time{s.from, s.to} {
				if at.After(from) && at.Before(to) {
					cuts = append(cuts, at)
				}
			}
		}
	}
	slices.SortFunc(cuts, time.Time.Compare)
	for i := range len(cuts) - 1 {
		at := cuts[i]
		covered := slices.ContainsFunc(lists, func(s spans) bool { return s.covers(at) })
		if covered && !except.covers(at) {
			lost += cuts[i+1].Sub(at)
		}
	}
	return lost
}
