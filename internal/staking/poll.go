package staking

import (
	"cmp"
	"slices"
)

// View is the uptime of one validator that one peer observed (info.peers, observedUptime): a voter's view. A SetView is about a whole set.
type View struct {
	NodeID string
	Stake  uint64  // stake of the peer in nAVAX
	Uptime float64 // share of the period in which the peer observed the validator as up, from 0 to 1
}

// Poll is the result of the vote on a validator's reward, as if the vote took place now. At the end of a period, each validator
// votes yes or no, depending on the uptime that it observed. Votes are weighted by stake.
type Poll struct {
	views        []View
	known, total uint64 // stake
}

// NewPoll returns the poll on one validator. total is the whole stake of the network, or the stake of the views if that is more. A
// view without stake has no vote.
func NewPoll(views []View, total uint64) Poll {
	p := Poll{views: make([]View, 0, len(views))}
	for _, v := range views {
		if v.Stake > 0 {
			p.views = append(p.views, v)
			p.known += v.Stake
		}
	}
	p.total = max(total, p.known)
	return p
}

// Uptime returns the mean of the observed uptimes, weighted by stake. It is unknown without views.
func (p Poll) Uptime() (ratio float64, known bool) {
	if p.known == 0 {
		return 0, false
	}
	var sum float64
	for _, v := range p.views {
		sum += v.Uptime * float64(v.Stake)
	}
	return rounded(sum / float64(p.known)), true
}

// Known returns the share of all stake with a known view; 0 without stake.
func (p Poll) Known() float64 { return Share(p.known, p.total) }

// Yes returns the share of all stake that would vote yes: the stake of the views at or above the requirement. Stake without a view
// counts neither as yes nor as no.
func (p Poll) Yes(requirement float64) float64 {
	var yes uint64
	for _, v := range p.views {
		if v.Uptime >= requirement {
			yes += v.Stake
		}
	}
	return Share(yes, p.total)
}

// Dissenters returns the views whose uptime is below the requirement. It returns at most the n views with the most stake, sorted by
// stake and then by node ID.
func (p Poll) Dissenters(requirement float64, n int) []View {
	if n <= 0 {
		return nil
	}
	var no []View // at most n+1 views, to avoid sorting all views of a large network
	for _, v := range p.views {
		if v.Uptime >= requirement || len(no) == n && byStake(no[n-1], v) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(no, v, byStake)
		no = slices.Insert(no, at, v)
		no = no[:min(len(no), n)]
	}
	return no
}

// byStake compares by stake, largest first, and then by ID.
func byStake(a, b View) int {
	return cmp.Or(cmp.Compare(b.Stake, a.Stake), cmp.Compare(a.NodeID, b.NodeID))
}
