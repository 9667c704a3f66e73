// Package staking answers what an operator loses money by: will a validator be
// paid, how long do the balances of an L1 last, may a node be stopped. It is
// arithmetic alone: nothing is asked, and the time is an argument. Each formula,
// its source and worked examples stand in docs/staking.md.
//
// Amounts are in nAVAX. Shares are from 0 to 1, rounded to twelve decimals: what
// is 80 % compares equal to 0.8, however large the weights. Of the weights or
// stakes of one set the sum must fit a uint64; the chain sees to that.
package staking

import "math"

const (
	// BaseRequirement is the uptime needed for the reward of a period that
	// started before Helicon.
	BaseRequirement = 0.8
	// HeliconRequirement is the uptime needed where the period started at or
	// after Helicon (ACP-267).
	HeliconRequirement = 0.9
	// MainnetFloor is what an L1 validator burns at least on the main network
	// and on Fuji, in nAVAX a second (ACP-77).
	MainnetFloor = 512
	// Quorum is the share of a set's weight below which its nodes report
	// unhealthy.
	Quorum = 0.8
)

// share is part of whole, and 0 of nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(part) / float64(whole))
}

// rounded brings a share back to the number that its decimals spell, which sums
// and quotients of floats may miss by a little.
func rounded(x float64) float64 {
	const decimals = 1e12
	return math.Round(x*decimals) / decimals
}

// bounded is x within 0 and 1; NaN is told apart by the caller.
func bounded(x float64) float64 { return min(max(x, 0), 1) }
