package staking

import "time"

// Requirement returns the uptime that is required for the reward of a period with this start. It is HeliconRequirement if the
// period starts at or after helicon (info.upgrades, heliconTime), otherwise BaseRequirement. helicon is nil if the upgrade is
// unknown or not scheduled.
func Requirement(start time.Time, helicon *time.Time) float64 {
	if helicon == nil || start.Before(*helicon) {
		return BaseRequirement
	}
	return HeliconRequirement
}

// Period is a validation period. For an auto-renewed validator (ACP-236) it is the current period, because each period has its
// own vote.
type Period struct{ Start, End time.Time }

// DowntimeBudget is the downtime that a validation period allows, and the downtime used.
type DowntimeBudget struct{ Allowed, Used time.Duration }

// NewDowntimeBudget returns the downtime budget at the time now. uptime is the share of the period so far in which the validator
// was up:
//
//	Allowed = (1 - requirement) · (End - Start)
//	Used    = (1 - uptime) · (now - Start)
//
// Both are rounded to the millisecond, so that Used equals Allowed for a validator exactly at its requirement. Before the period
// starts, Used is 0. After the period has ended, Used does not change. If the period ends before it starts, Allowed and Used are
// 0. Uptime and requirement are from 0 to 1.
func NewDowntimeBudget(p Period, now time.Time, uptime, requirement float64) DowntimeBudget {
	length := max(p.End.Sub(p.Start), 0)
	elapsed := min(max(now.Sub(p.Start), 0), length)
	return DowntimeBudget{Allowed: part(1-requirement, length), Used: part(1-uptime, elapsed)}
}

// part returns a share of d, rounded to the millisecond and at most d.
func part(share float64, d time.Duration) time.Duration {
	if share >= 1 { // the conversion to float64 would make the longest Duration 1 ns too long
		return d
	}
	return min(time.Duration(share*float64(d)).Round(time.Millisecond), d)
}

// Reachable reports whether the requirement is met at the end of the period without further downtime.
func (b DowntimeBudget) Reachable() bool { return b.Used <= b.Allowed }
