package staking

import (
	"math"
	"time"
)

// L1 is the validators of an L1 as the P-Chain told of them, with what they burn.
type L1 struct {
	// At is the P-Chain's own time of the balances (platform.getTimestamp); zero
	// where it was not asked.
	At  time.Time
	Set []Validator
	// Unpriced says that nobody tells what the validators burn, so neither how long
	// their balances last nor what to add to them is known.
	Unpriced bool
}

// Quorums are the shares of an L1's weight below which it fares worse, the
// highest first.
var Quorums = []struct {
	Share        float64
	Label, Means string
}{
	{Quorum, "0.80", "its nodes call themselves unhealthy"},
	{0.75, "0.75", "its consensus stops"},
	{0.67, "0.67", "it signs no message to other chains"},
}

// TopUpDays is how long a top-up should last unless somebody asks otherwise.
const TopUpDays = 30

// Pays reports whether any of the validators has a balance to pay a fee from.
func (l *L1) Pays() bool {
	for _, v := range l.Set {
		if !v.Legacy {
			return true
		}
	}
	return false
}

// Left is how many seconds of a time that counts from At are left, never below 0.
// Balances are spent by the second: what has burned since is not off them yet.
func (l *L1) Left(after time.Duration, now time.Time) float64 {
	if l.At.IsZero() {
		return after.Seconds()
	}
	return max(0, after.Seconds()-now.Sub(l.At).Seconds())
}

// TopUps is the Plan that keeps all validators active for so many days from now,
// and its sum in nAVAX.
func (l *L1) TopUps(days int, now time.Time) (plan []TopUp, sum uint64) {
	keep := time.Duration(days) * 24 * time.Hour
	if !l.At.IsZero() {
		keep += max(0, now.Sub(l.At))
	}
	plan = Plan(l.Set, keep)
	for _, t := range plan {
		if sum += t.Amount; sum < t.Amount {
			return plan, math.MaxUint64
		}
	}
	return plan, sum
}
