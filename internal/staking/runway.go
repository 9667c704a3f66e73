package staking

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// Validator is one of an L1 (platform.getCurrentValidators, platform.getL1Validator).
type Validator struct {
	ID      string // validation ID; of a legacy one the transaction that added it
	NodeID  string
	Weight  uint64    // counts in the set whether active or not
	Balance uint64    // nAVAX; of no meaning for a legacy one
	Burn    float64   // nAVAX a second, the same for as long as the balance lasts
	Legacy  bool      // added before the subnet became an L1: pays no fee, always active
	End     time.Time // of a legacy one's period; zero where there is none
}

// Active reports whether the validator takes part: it has a balance or needs none.
func (v Validator) Active() bool { return v.Legacy || v.Balance > 0 }

// Runway is how long a balance lasts, counted from the P-Chain's own time and
// rounded down to the nanosecond. What lasts longer than the longest Duration,
// 292 years, counts as that. Where nothing is burned, or burn is NaN, it never
// ends.
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

// runway is how long the validator stays active; an inactive one has ended.
func (v Validator) runway() (left time.Duration, ends bool) {
	switch {
	case v.Legacy:
		return math.MaxInt64, false
	case v.Balance == 0:
		return 0, true
	}
	return Runway(v.Balance, v.Burn)
}

// inOrder compares by time, and for the same time by ID.
func inOrder(a, b time.Duration, idA, idB string) int {
	if a != b {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(idA, idB)
}

// runOut is the end of a validator's balance, if nobody tops it up.
type runOut struct {
	ID           string
	After        time.Duration // from the P-Chain's own time
	ActiveWeight uint64        // what is left of the set after it
}

// runOuts replays how the balances end, in order of time and for the same time
// by ID. Those that are inactive already, and those that never end, are not in
// it.
func runOuts(set []Validator) []runOut {
	var active uint64
	outs := make([]runOut, 0, len(set))
	for _, v := range set {
		if !v.Active() {
			continue
		}
		active += v.Weight
		if left, ends := v.runway(); ends {
			outs = append(outs, runOut{v.ID, left, v.Weight}) // its own weight, until they stand in order
		}
	}
	slices.SortFunc(outs, func(a, b runOut) int { return inOrder(a.After, b.After, a.ID, b.ID) })
	for i := range outs {
		active -= outs[i].ActiveWeight
		outs[i].ActiveWeight = active
	}
	return outs
}

// QuorumLoss is when the run-outs take the active weight below the share of all
// weight, in which the inactive stays: 0 if it is below already. It is not lost
// where that never happens, nor where the set has no weight.
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
	if share(active, total) < quorum {
		return 0, true
	}
	for _, out := range runOuts(set) {
		if share(out.ActiveWeight, total) < quorum {
			return out.After, true
		}
	}
	return 0, false
}

// TopUp is what to add to a validator's balance, in nAVAX.
type TopUp struct {
	ID     string
	Amount uint64
}

// Plan is the cheapest set of top-ups after which every validator stays active
// for as long as keep; those that are inactive are revived by it. It stands in
// the order in which the balances end, for the same time by ID. A legacy
// validator needs none. For a keep of 0 or less there is nothing to do. A need
// beyond all AVAX that can ever be fills the balance to the last nAVAX.
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
	slices.SortFunc(gaps, func(a, b gap) int { return inOrder(a.left, b.left, a.ID, b.ID) })
	plan := make([]TopUp, len(gaps))
	for i, g := range gaps {
		plan[i] = g.TopUp
	}
	return plan
}

// enough is the smallest balance whose Runway is at least keep, which is above
// 0; the balance is so too, or it would not be active.
func enough(burn float64, keep time.Duration) uint64 {
	if !(burn > 0) {
		return 1
	}
	about := math.Ceil(burn * keep.Seconds())
	if about > math.MaxInt64 { // ten times the AVAX that can ever be
		return math.MaxUint64
	}
	// The product is rounded, so the answer is looked for around it.
	slack := uint64(about)>>48 + 2
	low := max(uint64(about), slack) - slack
	found := sort.Search(int(2*slack), func(i int) bool {
		left, _ := Runway(low+uint64(i), burn)
		return left >= keep
	})
	return low + uint64(found)
}
