package staking

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Validator is a validator of an L1, with what its runway depends on (platform.getCurrentValidators, platform.getL1Validator).
type Validator struct {
	ID      string // validation ID; for a legacy validator, ID of the transaction that added it
	NodeID  string
	Weight  uint64    // counts in the set even if the validator is inactive
	Balance uint64    // nAVAX; no meaning for a legacy validator
	Burn    float64   // burn rate in nAVAX per second, assumed to be constant
	Legacy  bool      // added before the conversion to an L1: pays no fee and is always active
	End     time.Time // end of a legacy validator's period; zero for other validators
}

// Active reports whether the validator is active: it has a balance or needs none.
func (v Validator) Active() bool { return v.Legacy || v.Balance > 0 }

// Runway returns how long a balance lasts, counted from the P-Chain's time and rounded down to the nanosecond. The maximum is the
// longest Duration, 292 years. ends is false if the burn rate is 0, negative or NaN.
func Runway(balance uint64, burn float64) (left time.Duration, ends bool) {
	if !(burn > 0) {
		return math.MaxInt64, false
	}
	left = math.MaxInt64
	if ns := float64(balance) / burn * float64(time.Second); ns < math.MaxInt64 {
		left = time.Duration(ns)
	}
	return left, true
}

// runway returns how long the validator stays active; 0 if it is inactive.
func (v Validator) runway() (left time.Duration, ends bool) {
	switch {
	case v.Legacy:
		return math.MaxInt64, false
	case v.Balance == 0:
		return 0, true
	}
	return Runway(v.Balance, v.Burn)
}

// runOut is the end of a validator's balance without a top-up.
type runOut struct {
	ID           string
	After        time.Duration // time until the balance ends, counted from the P-Chain's time
	ActiveWeight uint64        // active weight of the set after the balance has ended
}

// runOuts returns the times at which balances end, sorted by time, then by ID. It omits validators that are already inactive
// or never run out.
func runOuts(set []Validator) []runOut {
	var active uint64
	outs := make([]runOut, 0, len(set))
	for _, v := range set {
		if !v.Active() {
			continue
		}
		active += v.Weight
		if left, ends := v.runway(); ends {
			outs = append(outs, runOut{v.ID, left, v.Weight}) // ActiveWeight is the validator's own weight until outs is sorted
		}
	}
	slices.SortFunc(outs, func(a, b runOut) int { return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(a.ID, b.ID)) })
	for i := range outs {
		active -= outs[i].ActiveWeight
		outs[i].ActiveWeight = active
	}
	return outs
}

// QuorumLoss returns the time until the active weight falls below this share of all weight, because balances end. All weight
// includes inactive weight. The time is 0 if the active weight is already below this share. lost is false if this never happens, or
// if the set has no weight.
func QuorumLoss(set []Validator, quorum float64) (after time.Duration, lost bool) {
	var active, total uint64
	for _, v := range set {
		total += v.Weight
		if v.Active() {
			active += v.Weight
		}
	}
	if total == 0 {
		return 0, false
	}
	if Share(active, total) < quorum {
		return 0, true
	}
	for _, out := range runOuts(set) {
		if Share(out.ActiveWeight, total) < quorum {
			return out.After, true
		}
	}
	return 0, false
}

// TopUp is an amount to add to a validator's balance, in nAVAX.
type TopUp struct {
	ID     string
	Amount uint64
}

// Plan returns the smallest top-ups that keep every validator active for the duration keep, including validators that are inactive
// now. They are sorted by the end of the balances, and then by ID. A legacy validator needs no top-up. If keep is 0 or less, the
// plan is empty. If a validator needs more AVAX than can ever exist, its top-up fills the balance to the maximum.
func Plan(set []Validator, keep time.Duration) []TopUp {
	type gap struct {
		TopUp
		left time.Duration
	}
	var gaps []gap
	for _, v := range set {
		left, ends := v.runway()
		if !ends || left >= keep {
			continue
		}
		if need := enough(v.Burn, keep); need > v.Balance {
			gaps = append(gaps, gap{TopUp{v.ID, need - v.Balance}, left})
		}
	}
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.ID, b.ID)) })
	plan := make([]TopUp, len(gaps))
	for i, g := range gaps {
		plan[i] = g.TopUp
	}
	return plan
}

// enough returns the smallest balance above 0 that lasts for keep, to the precision of a float. keep must be above 0.
func enough(burn float64, keep time.Duration) uint64 {
	if !(burn > 0) {
		return 1
	}
	need := math.Ceil(burn * keep.Seconds())
	if need > math.MaxInt64 { // ten times the maximum supply of AVAX
		return math.MaxUint64
	}
	return uint64(need)
}
