package staking

import (
	"math"
	"time"
)

// L1 is the validator set of an L1 on the P-Chain, with burn rates.
type L1 struct {
	// At is the P-Chain's time of the balances (platform.getTimestamp); zero if it is unknown.
	At  time.Time
	Set []Validator
	// Unpriced means that the burn rate is unknown. Then runway and top-ups are unknown too.
	Unpriced bool
}

// Quorums are the shares of an L1's weight below which a function of the L1 fails, highest first.
var Quorums = []struct {
	Share float64
	Label string
}{
	{Quorum, "0.80"}, // its nodes report themselves unhealthy
	{0.75, "0.75"},   // its consensus stops
	{0.67, "0.67"},   // it cannot sign messages to other chains
}

// TopUpDays is the default number of days that a top-up must last.
const TopUpDays = 30

// Left returns how many seconds of a duration are left at the time now, at least 0. The duration starts at At, the time of the
// balances.
func (l *L1) Left(duration time.Duration, now time.Time) float64 {
	if l.At.IsZero() {
		return duration.Seconds()
	}
	return max(0, duration.Seconds()-now.Sub(l.At).Seconds())
}

// TopUps returns the Plan that keeps all validators active for this number of days from now, and its sum in nAVAX.
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
