// Package staking computes rewards, how long the balances of an L1 last, and whether a node may be stopped. It only computes: it
// makes no calls, and the time is an argument. docs/staking.md has each formula, its source and worked examples.
//
// Amounts are in nAVAX. Shares are from 0 to 1 and rounded to twelve decimals, so that a share of 80 % is exactly 0.8.
// The sum of the weights or stakes of one set must fit a uint64; the protocol guarantees this.
package staking

import (
	"math"
	"math/big"
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

// Share returns part/whole, and 0 if whole is 0.
func Share(part, whole uint64) float64 {
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

// DelegatorReward returns the part of a delegation's potential reward that the delegator gets, for a fee from 0 to 1:
//
//	⌊reward · (1,000,000 - fee in millionths) / 1,000,000⌋
//
// Source: avalanchego, vms/platformvm/reward/calculator.go, Split.
func DelegatorReward(reward uint64, fee float64) uint64 {
	const millionths = 1_000_000
	high, low := bits.Mul64(reward, millionths-uint64(math.Round(fee*millionths)))
	share, _ := bits.Div64(high, low, millionths)
	return share
}

// The reward parameters of Mainnet and Fuji, which the local network has too. Amounts are in nAVAX, rates in millionths a year.
// Source: avalanchego, genesis/genesis_mainnet.go; vms/platformvm/reward/calculator.go (ACP-285);
// vms/platformvm/txs/executor/staker_tx_verification.go, MaxValidatorWeightFactor.
const (
	maxStake       = 3_000_000_000_000_000
	maxStakeFactor = 5
	supplyCap      = 720_000_000_000_000_000
	mintingPeriod  = 365 * 24 * time.Hour
	maxRate        = 120_000
	minRate        = 100_000 // before Helicon
	minRateAfter   = 75_000  // 90 days after Helicon; it falls linearly until then
	rateFalls      = 90 * 24 * time.Hour
)

// DelegationRoom returns how much can still be delegated to a validator, in nAVAX: min(3,000,000 AVAX, 5 · stake) - stake - delegated.
func DelegationRoom(stake, delegated uint64) uint64 {
	limit := uint64(maxStake)
	if stake < maxStake/maxStakeFactor {
		limit = stake * maxStakeFactor
	}
	return limit - min(limit, stake+delegated)
}

// Reward returns the reward in nAVAX of a stake on the primary network for a period with this start and length, at this supply
// (platform.getCurrentSupply):
//
//	(cap - supply) · stake / supply · length / year · (low + (high - low) · length / year)
//
// The lower rate depends on the start (ACP-285): 10 % before Helicon, then falling to 7.5 % within 90 days. helicon is nil if the upgrade
// is unknown or not scheduled. Source: avalanchego, vms/platformvm/reward/calculator.go.
func Reward(stake, supply uint64, length time.Duration, start time.Time, helicon *time.Time) uint64 {
	if supply == 0 || supply >= supplyCap || length <= 0 {
		return 0
	}
	low := int64(minRate)
	if helicon != nil && !start.Before(*helicon) {
		low -= (minRate - minRateAfter) * min(start.Sub(*helicon), rateFalls).Microseconds() / rateFalls.Microseconds()
	}
	n := func(x int64) *big.Int { return big.NewInt(x) }
	rate := n(maxRate - low)
	rate.Mul(rate, n(int64(length))).Add(rate, n(0).Mul(n(low), n(int64(mintingPeriod))))
	reward := n(0).SetUint64(supplyCap - supply)
	reward.Mul(reward, rate).Mul(reward, n(0).SetUint64(stake)).Mul(reward, n(int64(length)))
	reward.Div(reward, n(0).Mul(n(int64(mintingPeriod)), n(1_000_000)))
	reward.Div(reward, n(0).SetUint64(supply)).Div(reward, n(int64(mintingPeriod)))
	if !reward.IsUint64() {
		return supplyCap - supply
	}
	return min(supplyCap-supply, reward.Uint64())
}
