// Package staking computes rewards, how long the balances of an L1 last, and whether a node may be stopped. It only computes: it
// makes no calls, and the time is an argument. docs/staking.md has each formula, its source and worked examples.
//
// Amounts are in nAVAX. Shares are from 0 to 1 and rounded to twelve decimals, so that a share of 80 % is exactly 0.8.
// The sum of the weights or stakes of one set must fit a uint64; the protocol guarantees this.
package staking

import (
	"math"
	"math/bits"
	"time"
)

const (
	// BaseRequirement is the uptime required for the reward of a period that started before Helicon.
	BaseRequirement = 0.8
	// HeliconRequirement is the uptime required for a period that started at or after Helicon (ACP-267).
	HeliconRequirement = 0.9
	// MainnetFloor is the minimum burn rate of an L1 validator on Mainnet and Fuji, in nAVAX per second (ACP-77).
	MainnetFloor = 512
	// Quorum is the share of a set's weight below which its nodes report themselves unhealthy.
	Quorum = 0.8
)

// HeliconTimes are the activation times of Helicon, by network ID (AvalancheGo 1.15.0).
var HeliconTimes = map[uint64]time.Time{
	1: time.Date(2026, time.September, 22, 15, 0, 0, 0, time.UTC),
	5: time.Date(2026, time.July, 28, 15, 0, 0, 0, time.UTC),
}

// share returns part/whole, and 0 if whole is 0.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(part) / float64(whole))
}

// rounded rounds a share to twelve decimals. This removes the errors of sums and quotients of floats.
func rounded(x float64) float64 {
	const decimals = 1e12
	return math.Round(x*decimals) / decimals
}

// bounded clamps x to the range from 0 to 1. The caller handles NaN.
func bounded(x float64) float64 { return min(max(x, 0), 1) }

// DelegatorReward returns the part of a delegation's potential reward that the delegator gets, for a fee from 0 to 1:
//
//	⌊reward · (1,000,000 - fee in millionths) / 1,000,000⌋
//
// Source: avalanchego, vms/platformvm/reward/calculator.go, Split.
func DelegatorReward(reward uint64, fee float64) uint64 {
	const millionths = 1_000_000
	high, low := bits.Mul64(reward, millionths-uint64(math.Round(bounded(fee)*millionths)))
	share, _ := bits.Div64(high, low, millionths)
	return share
}
