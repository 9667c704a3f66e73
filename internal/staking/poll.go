package staking

import (
	"cmp"
	"math"
	"slices"
)

// View is what one peer says of a validator (info.peers, observedUptime).
type View struct {
	NodeID string
	Stake  uint64  // the peer's own, in nAVAX
	Uptime float64 // share of the period that the peer saw the validator up
}

// Poll is the vote on a validator's reward, were it held now. When a period
// ends, each validator votes yes or no by what it saw itself, and the votes
// weigh as much as its stake.
type Poll struct {
	views        []View
	known, total uint64 // stake
}

// NewPoll takes what the peers say of one validator. total is all stake of the
// network; it counts as no less than the stake of the views. A view without
// stake has no vote, and one whose uptime is NaN is no view; an uptime outside
// of 0 to 1 counts as the nearer of both. The views are copied.
func NewPoll(views []View, total uint64) Poll {
	p := Poll{views: make([]View, 0, len(views))}
	for _, v := range views {
		if v.Stake == 0 || math.IsNaN(v.Uptime) {
			continue
		}
		v.Uptime = rounded(bounded(v.Uptime))
		p.views = append(p.views, v)
		p.known += v.Stake
	}
	p.total = max(total, p.known)
	return p
}

// Uptime is the mean of what the peers saw, weighted by their stake. It is not
// known where there is no view.
func (p Poll) Uptime() (ratio float64, known bool) {
	if p.known == 0 {
		return 0, false
	}
	var sum float64
	for _, v := range p.views {
		sum += v.Uptime * float64(v.Stake)
	}
	return rounded(bounded(sum / float64(p.known))), true
}

// Known is the share of all stake whose view is known; of no stake it is 0.
func (p Poll) Known() float64 { return share(p.known, p.total) }

// Yes is the share of all stake that would vote yes, which is that of the views
// at or above the requirement. Stake whose view is not known votes neither way.
func (p Poll) Yes(requirement float64) float64 {
	var yes uint64
	for _, v := range p.views {
		if v.Uptime >= requirement {
			yes += v.Stake
		}
	}
	return share(yes, p.total)
}

// Dissenters are the at most n views below the requirement that weigh most:
// largest stake first, of equal stake by node ID.
func (p Poll) Dissenters(requirement float64, n int) []View {
	if n <= 0 {
		return nil
	}
	var no []View // never more than n and one: the views of a large network need not all be sorted
	for _, v := range p.views {
		if v.Uptime >= requirement || len(no) == n && heavier(no[n-1], v) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(no, v, heavier)
		no = slices.Insert(no, at, v)
		no = no[:min(len(no), n)]
	}
	return no
}

// heavier compares by stake, the largest first, and for the same stake by ID.
func heavier(a, b View) int {
	if a.Stake != b.Stake {
		return cmp.Compare(b.Stake, a.Stake)
	}
	return cmp.Compare(a.NodeID, b.NodeID)
}
