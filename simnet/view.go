package simnet

import (
	"slices"
	"time"
)

// view is the truth from the perspective of one node at one time.
type view struct {
	*truth
	net  *Network
	node *Node
	me   *member
	now  time.Time
}

// at returns the view at another time.
func (v *view) at(now time.Time) *view {
	w := *v
	w.now = now
	return &w
}

// age returns the time since the process started.
func (v *view) age() time.Duration {
	if v.node.started.IsZero() {
		return time.Duration(1<<63 - 1)
	}
	return v.now.Sub(v.node.started)
}

// created reports whether the node has started chains other than P.
func (v *view) created() bool { return !v.node.isolated && v.age() >= v.net.opts.Startup.PChain }

// notCreated is the state of a chain that the node runs after the P-Chain is bootstrapped.
const notCreated ChainState = -1

func (v *view) chainState(c *chain) ChainState {
	if c.isL1() && !slices.Contains(v.me.subnets, c.subnet) {
		return Untracked
	}
	if v.node.partial && !c.isL1() && c != v.pChain() {
		return leftOut
	}
	fate := v.node.chains[c]
	if v.now.Before(fate.since) || fate.state == Dead { // only its calls and the health checks show it
		fate.state = Running
	}
	s := v.net.opts.Startup
	ready := s.Chains
	if c.isL1() {
		ready = s.L1s
	}
	switch {
	case fate.state == Failed || fate.state == Untracked:
		return fate.state
	case c == v.pChain() && !v.created():
		return Bootstrapping
	case !v.created():
		return notCreated
	case c != v.pChain() && v.age() < ready:
		return Bootstrapping
	}
	return fate.state
}

// runs reports whether the node knows the chain by its ID: the node runs the chain, or will run it after P is bootstrapped.
func (v *view) runs(c *chain) bool {
	switch v.chainState(c) {
	case Running, Bootstrapping:
		return true
	case notCreated:
		return !c.isL1()
	}
	return false
}

// connected reports whether the node is connected to a member.
func (v *view) connected(m *member) bool {
	if m == v.me || m.away.covers(v.now) || v.me.away.covers(v.now) {
		return false
	}
	s := v.net.opts.Startup
	since := v.age() - s.Listen
	ramp := (s.Peers - s.Listen) * time.Duration(m.number+1) / time.Duration(len(v.members))
	return since >= ramp
}

// peers returns the connected members in random order.
func (v *view) peers() []*member {
	var list []*member
	for _, m := range v.members {
		if v.connected(m) {
			list = append(list, m)
		}
	}
	shuffle(v.net.rng, list)
	return list
}

// toldBy returns the uptime of this node that a peer sends, in whole percent. It is 0 until the peer's first ping after a reconnection,
// and for a node that does not validate the primary network.
func (v *view) toldBy(m *member) int {
	mine := v.primary.staker(v.me)
	if mine == nil {
		return 0
	}
	again := m.away.last(v.now)
	if own := v.me.away.last(v.now); own.After(again) {
		again = own
	}
	s := v.net.opts.Startup
	lag := s.PChain - s.Listen + (s.Uptime-s.PChain)*time.Duration(m.number+1)/time.Duration(len(v.members))
	if !again.IsZero() && v.now.Before(again.Add(lag)) {
		return 0
	}
	return int(100 * v.stakerUptime(mine, m, v.now))
}

// head returns the newest block of a chain that the node has accepted.
func (v *view) head(c *chain) head { return c.heads.at(v.chainTime(c)) }

// chainTime returns the current time, or the time at which the node stopped accepting blocks of the chain.
func (v *view) chainTime(c *chain) time.Time {
	at := v.now
	if since, ok := v.node.stuck[c]; ok && since.Before(at) {
		at = since
	}
	if v.me.away.covers(v.now) {
		if since := v.me.away[len(v.me.away)-1].from; since.Before(at) {
			at = since
		}
	}
	return at
}

// lastRun returns the time of the latest run of a check that has run with this period since the start of the process.
func (v *view) lastRun(every time.Duration) time.Time {
	first := v.origin.Add(-every)
	if !v.node.started.IsZero() {
		first = v.node.started.Add(v.net.opts.Startup.Listen)
	}
	if v.now.Before(first) {
		return time.Time{}
	}
	return first.Add(v.now.Sub(first).Truncate(every))
}
