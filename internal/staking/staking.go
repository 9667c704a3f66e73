// Package staking computes what an operator can lose money by: rewards, the runway of an L1's balances, and whether a node may
// be stopped. It is arithmetic only: it makes no calls, and the time is an argument. docs/staking.md has each formula, its
// source and worked examples.
//
// Amounts are in nAVAX. Shares are from 0 to 1, rounded to twelve decimals: 80 % compares equal to 0.8 for any weights. The
// sum of the weights or stakes of one set must fit a uint64; the chain guarantees that.
package staking

import "math"

const (
	// BaseRequirement is the uptime required for the reward of a period that started before Helicon.
	BaseRequirement = 0.8
	// HeliconRequirement is the uptime required for a period that started at or after Helicon (ACP-267).
	HeliconRequirement = 0.9
	// MainnetFloor is the minimum burn rate of an L1 validator on Mainnet and Fuji, in nAVAX per second (ACP-77).
	MainnetFloor = 512
	// Quorum is the share of a set's weight below which its nodes report unhealthy.
	Quorum = 0.8
)

// share returns part/whole, and 0 if whole is 0.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(part) / float64(whole))
}

// rounded rounds a share to twelve decimals, which removes the errors of float sums and quotients.
func rounded(x float64) float64 {
	const decimals = 1e12
	return math.Round(x*decimals) / decimals
}

// bounded clamps x to 0 to 1; the caller handles NaN.
func bounded(x float64) float64 { return min(max(x, 0), 1) }
