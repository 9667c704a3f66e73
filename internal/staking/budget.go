package staking

import (
	"math"
	"time"
)

// Requirement returns the uptime that a period with this start needs for its reward: HeliconRequirement at or after
// helicon (info.upgrades, heliconTime), else BaseRequirement. helicon is nil if the upgrade is not scheduled or unknown.
func Requirement(start time.Time, helicon *time.Time) float64 {
	if helicon == nil || start.Before(*helicon) {
		return BaseRequirement
	}
	return HeliconRequirement
}

// Period is a validation period. For an auto-renewed validator it is the current one (ACP-236): each period has its own
// vote.
type Period struct{ Start, End time.Time }

// DowntimeBudget is the downtime that a validation period allows, and the downtime used.
type DowntimeBudget struct {
	Requirement   float64
	Allowed, Used time.Duration
}

// NewDowntimeBudget returns the downtime budget at the time now, for a validator with this uptime ratio of its period so far:
//
//	Allowed = (1 - requirement) · (End - Start)
//	Used    = (1 - uptime) · (now - Start)
//
// Both are rounded to the millisecond, so that a validator exactly at its requirement has used exactly what is allowed.
// Before its start a period has used nothing; after its end it does not change. A period that ends before it starts has no
// length: nothing is allowed and nothing used. An uptime or requirement outside 0 to 1 is clamped. NaN counts as the worse
// value: an uptime of 0, a requirement of 1.
func NewDowntimeBudget(p Period, now time.Time, uptime, requirement float64) DowntimeBudget {
	if math.IsNaN(uptime) {
		uptime = 0
	}
	if math.IsNaN(requirement) {
		requirement = 1
	}
	uptime, requirement = bounded(uptime), bounded(requirement)
	length := max(p.End.Sub(p.Start), 0)
	elapsed := min(max(now.Sub(p.Start), 0), length)
	return DowntimeBudget{
		Requirement: requirement,
		Allowed:     part(1-requirement, length),
		Used:        part(1-uptime, elapsed),
	}
}

// part returns a share of d, to the millisecond and never more than d.
func part(share float64, d time.Duration) time.Duration {
	if share >= 1 { // as a float64 the longest Duration is 1 ns too long
		return d
	}
	return min(time.Duration(share*float64(d)).Round(time.Millisecond), d)
}

// Reachable reports whether the requirement is met at the end of the period without further downtime.
func (b DowntimeBudget) Reachable() bool { return b.Used <= b.Allowed }
