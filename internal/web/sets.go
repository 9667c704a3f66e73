package web

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// topUpDays is how long a plan keeps an L1 funded unless it is asked otherwise.
const topUpDays = 30

// l1Set is the validators of an L1 as the samples have them.
type l1Set struct {
	members []l1Member // by validation ID
	// at is the P-Chain's time of the balances, as far as it is known; zero where
	// it is not.
	at time.Time
	// missing is what the samples do not tell and the plan needs; empty where they do.
	missing string
}

// l1Member is a validator of an L1 with its samples; nil is not told.
type l1Member struct {
	staking.Validator
	nodeID  string
	active  bool
	weight  *float64
	balance *float64 // AVAX
	burn    *float64 // AVAX a day
}

// l1Sets puts together what the samples tell of the L1s' validators, by chain.
func (f facts) l1Sets(jobs []snapshot.Job, now time.Time) map[string]*l1Set {
	weights := f.by("avax_l1_validator_weight", "chain", "validation_id")
	balances := f.by("avax_l1_validator_balance_avax", "chain", "validation_id")
	burns := f.by("avax_l1_validator_burn_avax_per_day", "chain", "validation_id")
	sets := map[string]*l1Set{}
	f.each("avax_l1_validator_active", []string{"chain", "validation_id", "node_id"}, func(l labels, active float64) {
		set := sets[l[0]]
		if set == nil {
			set = &l1Set{}
			sets[l[0]] = set
		}
		m := l1Member{
			Validator: staking.Validator{ID: l[1]}, nodeID: l[2], active: active == 1,
			weight: weights.of(l[0], l[1]), balance: balances.of(l[0], l[1]), burn: burns.of(l[0], l[1]),
		}
		if m.weight != nil {
			m.Weight = uint64(*m.weight)
		} else {
			set.missing = "the weight of " + m.nodeID + " is"
		}
		switch m.Legacy = m.balance == nil; {
		case m.Legacy:
		case m.burn == nil:
			set.missing = "what " + m.nodeID + " burns is"
		default:
			m.Burn = nanosPerSecond(*m.burn)
			if m.active {
				m.Balance = nanoAVAX(*m.balance)
			}
		}
		set.members = append(set.members, m)
	})
	// A balance is as of the P-Chain's last block, which may be old, and as old as
	// the run that told it.
	var block time.Time
	for l, unix := range f.by("avax_chain_head_timestamp_seconds", "chain", "node") {
		if at := time.UnixMilli(int64(1000 * unix)); l[0] == "P" && at.After(block) {
			block = at
		}
	}
	for _, j := range jobs {
		if set := sets[j.Good.Target]; set != nil && j.Good.Collector == "l1" && now.Before(j.Good.Until) {
			set.at = j.Good.At
			if !block.IsZero() && block.Before(set.at) {
				set.at = block
			}
		}
	}
	for _, set := range sets {
		slices.SortFunc(set.members, func(a, b l1Member) int { return cmp.Compare(a.ID, b.ID) })
	}
	return sets
}

// pays tells whether any of its validators has a balance to pay a fee from.
func (s *l1Set) pays() bool {
	return s != nil && slices.ContainsFunc(s.members, func(m l1Member) bool { return !m.Legacy })
}

// validators are the members in the terms of package staking.
func (s *l1Set) validators() []staking.Validator {
	all := make([]staking.Validator, len(s.members))
	for i, m := range s.members {
		all[i] = m.Validator
	}
	return all
}

// topUps are the cheapest that keep all validators active for so many days from
// now on, in nAVAX by validation ID, and their sum.
func (s *l1Set) topUps(days int, now time.Time) (amounts map[string]uint64, sum uint64) {
	keep := time.Duration(days) * 24 * time.Hour
	if !s.at.IsZero() {
		keep += max(0, now.Sub(s.at)) // balances have fallen since, although no sample says so
	}
	amounts = map[string]uint64{}
	for _, t := range staking.Plan(s.validators(), keep) {
		amounts[t.ID] = t.Amount
		if sum += t.Amount; sum < t.Amount {
			sum = math.MaxUint64
		}
	}
	return amounts, sum
}

// nanoAVAX reads an amount in AVAX as the integer that it was made from.
func nanoAVAX(avax float64) uint64 {
	switch nano := math.Round(avax * 1e9); {
	case nano >= math.MaxUint64:
		return math.MaxUint64
	case nano > 0:
		return uint64(nano)
	}
	return 0
}

// nanosPerSecond turns AVAX a day into nAVAX a second. The fee is a whole number
// of these: what is one but for the rounding of floats becomes it again.
func nanosPerSecond(avaxPerDay float64) float64 {
	burn := avaxPerDay * 1e9 / day
	if whole := math.Round(burn); math.Abs(burn-whole) < 1e-9*whole {
		return whole
	}
	return burn
}
