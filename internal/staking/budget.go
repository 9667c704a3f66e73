package staking

import (
	"math"
	"time"
)

// Requirement is the uptime that a period with this start needs for its reward:
// HeliconRequirement at or after helicon (info.upgrades, heliconTime), else
// BaseRequirement. helicon is nil while the upgrade is not scheduled or not
// known.
func Requirement(start time.Time, helicon *time.Time) float64 {
	if helicon == nil || start.Before(*helicon) {
		return BaseRequirement
	}
	return HeliconRequirement
}

// Period is a validation period. That of an auto-renewed validator is its
// current one (ACP-236): each is judged by itself.
type Period struct{ Start, End time.Time }

// Budget is the downtime that a validation period can bear, and what is spent
// of it.
type Budget struct {
	Requirement   float64
	Allowed, Used time.Duration
}

// NewBudget returns the budget at the time now of a validator that was up for
// the share uptime of its period so far:
//
//	Allowed = (1 - requirement) · (End - Start)
//	Used    = (1 - uptime) · (now - Start)
//
// Both are rounded to the millisecond, so that a validator that is just at its
// requirement has used just what is allowed. Before its start a period has used
// nothing; after its end it stays as it ended. One that ends before it starts
// has no length: nothing is allowed and nothing used. An uptime or requirement
// outside of 0 to 1 counts as the nearer of both. NaN counts as what pays least:
// an uptime of 0, a requirement of 1.
func NewBudget(p Period, now time.Time, uptime, requirement float64) Budget {
	if math.IsNaN(uptime) {
		uptime = 0
	}
	if math.IsNaN(requirement) {
		requirement = 1
	}
	uptime, requirement = bounded(uptime), bounded(requirement)
	length := max(p.End.Sub(p.Start), 0)
	elapsed := min(max(now.Sub(p.Start), 0), length)
	return Budget{
		Requirement: requirement,
		Allowed:     part(1-requirement, length),
		Used:        part(1-uptime, elapsed),
	}
}

// part is a share of d, to the millisecond and never more than d.
func part(share float64, d time.Duration) time.Duration {
	if share >= 1 { // as a float the longest Duration is one too long
		return d
	}
	return min(time.Duration(share*float64(d)).Round(time.Millisecond), d)
}

// Reachable reports whether the requirement is met at the period's end if there is
// no more downtime.
func (b Budget) Reachable() bool { return b.Used <= b.Allowed }
