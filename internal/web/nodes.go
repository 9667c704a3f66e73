package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

type nodeView struct {
	subject
	Name, ID, Version string
	Down              bool
	State             cell
	Chains            []chainView
	Figures           []figure
	Failing           []*failure // why it is down
	MoreFailing       int
}

type chainView struct {
	Name   string
	State  cell
	Height cell // empty where it is not known
	Head   cell // when the newest block was made; empty where it is not known
}

// nodeFacts are the samples that the nodes' cards are made of.
type nodeFacts struct {
	up, validating, votes, uptimes, peers, inbound, reached, unknown, newer, duplicate, foreign, changes values // by node
	present, bootstrapped, forked, status, benched                                                       values // by node and chain
	heads                                                                                                map[labels]headView
	versions                                                                                             map[string]string
	unhealthy                                                                                            map[string][]string
	narrow                                                                                               map[labels]bool
	spent                                                                                                values // downtime, by node ID
	stops                                                                                                map[string]*stop
	unreachable                                                                                          int // how many nodes reach too little stake where all do
}

func (p *page) nodeFacts() *nodeFacts {
	f := &nodeFacts{
		up:           p.by("avax_node_up", "node"),
		validating:   p.by("avax_node_validating", "node"),
		votes:        p.by("avax_node_uptime_rewarding_stake_ratio", "node"),
		uptimes:      p.by("avax_node_uptime_weighted_ratio", "node"),
		peers:        p.by("avax_node_peers", "node"),
		inbound:      p.by("avax_node_peers_inbound", "node"),
		reached:      p.by("avax_node_connected_stake_ratio", "node"),
		unknown:      p.by("avax_node_unknown_upgrade_timestamp_seconds", "node"),
		newer:        p.by("avax_node_newer_version_stake_ratio", "node"),
		duplicate:    p.by("avax_node_duplicate", "node"),
		foreign:      p.by("avax_node_network_mismatch", "node"),
		changes:      p.by("avax_node_identity_changes_total", "node"),
		present:      p.by("avax_node_chain_present", "node", "chain"),
		bootstrapped: p.by("avax_node_chain_bootstrapped", "node", "chain"),
		forked:       p.by("avax_chain_fork_detected", "node", "chain"),
		status:       p.by("avax_chain_status", "node", "chain", "status"),
		benched:      p.by("avax_node_peers_benched", "node", "chain"),
		versions:     map[string]string{},
		unhealthy:    p.failingChecks(),
		narrow:       p.narrowL1s(),
		spent:        p.downtimeSpent(),
		stops:        p.stops(),
	}
	p.each("avax_node_info", []string{"node", "version"}, func(l labels, _ float64) { f.versions[l[0]] = l[1] })
	f.heads = p.headViews(f)
	isolated, all := 0, 0 // of a node that is down the past is known
	for l := range f.reached {
		if f.up.is(0, l[0]) {
			continue
		}
		all++
		if f.isolated(l[0]) {
			isolated++
		}
	}
	if isolated == all && all > 1 {
		f.unreachable = all
	}
	return f
}

// isolated tells whether the node reaches too little stake to take part.
func (f *nodeFacts) isolated(node string) bool {
	return under("AvaxConnectedStakeLow", f.reached.of(node)) == bad
}

// chains are those that a sample tells of, by node; a node may have none.
func (f *nodeFacts) chains() map[string][]string {
	chains := map[string][]string{}
	for _, family := range []values{f.up, f.reached, f.foreign, f.duplicate, f.changes} {
		for l := range family {
			chains[l[0]] = nil
		}
	}
	for _, family := range []values{f.present, f.forked, f.status} {
		for l := range family {
			chains[l[0]] = appendNew(chains[l[0]], l[1])
		}
	}
	for l := range f.heads {
		chains[l[0]] = appendNew(chains[l[0]], l[1])
	}
	return chains
}

// addNodes shows every node that a sample tells of, those that are down first.
func (p *page) addNodes() {
	f := p.nodeFacts()
	chains := f.chains()
	var all []*nodeView
	ups, asked := 0, 0
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		n := &nodeView{subject: subject{Anchor: "node-" + name}, Name: name, ID: p.ids[name], Version: f.versions[name]}
		all = append(all, n)
		switch {
		case f.up.is(1, name):
			n.State = cell{Text: "up", Title: "it answered its last poll"}
			ups++
			asked++
		case f.up.is(0, name):
			n.Down, n.State = true, cell{Text: "down", Title: "it did not answer its last poll", Level: bad}
			asked++
			n.wrong(p.problems, "AvaxNodeDown", bad, "does not answer", name)
			continue // its last values do not pass for the present
		default:
			n.State = absent("whether it is up is not known: the collector up is off, or has not run").as(off)
		}
		slices.SortFunc(chains[name], compareChains)
		for _, chain := range chains[name] {
			n.Chains = append(n.Chains, p.chainOf(f, n, chain))
		}
		p.judgeNode(f, n)
		slices.SortStableFunc(n.Remarks, func(a, b remark) int { return cmp.Compare(b.Level, a.Level) })
		n.Figures = f.figures(n)
	}
	slices.SortStableFunc(all, func(a, b *nodeView) int {
		return cmp.Or(first(a.Down, b.Down), cmp.Compare(b.Level, a.Level))
	})
	p.Nodes = all[:min(len(all), openNodes)]
	p.MoreNodes = all[len(p.Nodes):]
	p.sum(ups, asked, "node", "nodes", "up")
	p.addCommon(f)
	p.addUpgrades()
}

// chainOf shows how a node is on a chain, and tells what is wrong about it once.
func (p *page) chainOf(f *nodeFacts, n *nodeView, chain string) chainView {
	head := f.heads[labels{n.Name, chain}]
	c := chainView{Name: chain, State: cell{Title: "whether it is bootstrapped is not known"}, Height: head.height, Head: head.made}
	at := chain + " on " + n.Name
	wrong := func(alert string, l level, state, title, text, at string) {
		c.State = cell{Text: state, Title: title, Level: l}
		n.wrong(p.problems, alert, l, text, at)
	}
	switch {
	case f.forked.is(1, n.Name, chain):
		wrong("AvaxForkDetected", bad, "forked", "its block is another than the other nodes' at the same height",
			"has another block of chain "+chain+" than the other nodes", n.Name+" on "+chain)
	case f.bootstrapped.is(0, n.Name, chain):
		wrong("AvaxChainNotBootstrapped", bad, "bootstraps", "not bootstrapped", "chain "+chain+" is not bootstrapped", at)
	case f.status.is(1, n.Name, chain, "Created") && p.own[labels{chain, n.ID}]:
		wrong("AvaxChainNotValidating", bad, "not run", "it is an active validator of the chain and does not run it: not tracked, or its VM did not start",
			"validates "+chain+" and does not run it", at)
	case head.halted: // all nodes stand still, which is told once
		c.State = cell{Text: "stuck", Title: "no node has a new block", Level: bad}
		n.remark("AvaxChainHalted", bad, "has no new block of "+chain+", like all nodes")
	case head.stale:
		wrong("AvaxHeadStale", bad, "stuck", "it has no new block", "is stuck on "+chain, at)
	case head.lag > well:
		behind := count(head.behind) + " blocks behind"
		wrong("AvaxHeadLag", head.lag, "behind", behind, "is "+behind+" on "+chain, at+": "+count(head.behind)+" blocks")
	case f.bootstrapped.is(1, n.Name, chain):
		c.State = cell{Text: "✓", Title: "bootstrapped"}
	case f.present.is(0, n.Name, chain):
		c.State = cell{Text: "not run", Title: "the node says that there is no such chain: not tracked, not created yet, or its VM did not start", Level: off}
	}
	return c
}

// judgeNode tells what is wrong about a node as a whole.
func (p *page) judgeNode(f *nodeFacts, n *nodeView) {
	name := n.Name
	wrong := func(alert string, l level, text, at string) { n.wrong(p.problems, alert, l, text, at) }
	if f.foreign.is(1, name) {
		wrong("AvaxWrongNetwork", bad, "belongs to another network", name)
	}
	if f.duplicate.is(1, name) {
		n.remark("AvaxDuplicateNodeID", bad, "has the same node ID as another of your nodes")
	} else if changes := f.changes.of(name); changes != nil && *changes > 0 {
		wrong("AvaxNodeIdentityChanged", warn, "has changed its node ID or BLS key since the exporter's start", name)
	}
	p.judgeReward(f, n)
	stake := under("AvaxConnectedStakeLow", f.reached.of(name))
	if f.unreachable > 0 {
		n.remark("AvaxStakeUnreachable", stake, "reaches too little stake, like all nodes")
	} else {
		wrong("AvaxConnectedStakeLow", stake, "reaches too little stake", name)
	}
	when := moment(p.Now, f.unknown.of(name), "").Text
	wrong("AvaxUnknownUpgradeSoon", under("AvaxUnknownUpgradeSoon", p.left(f.unknown.of(name))),
		"does not know the network's upgrade "+when, name+" "+when)
	if ahead := f.newer.of(name); ahead != nil {
		wrong("AvaxVersionBehindNetwork", over("AvaxVersionBehindNetwork", ahead), percent(*ahead)+" of stake runs a newer version", name)
	}
	if chain, share := f.mostBenched(n); share != nil && !f.isolated(name) { // else that is why
		wrong("AvaxBenchedPeersHigh", over("AvaxBenchedPeersHigh", share), "benches "+percent(*share)+" of its peers on "+chain, name+" on "+chain)
	}
	if slices.Contains(f.unhealthy[name], "diskspace") {
		wrong("AvaxNodeDiskLow", bad, "calls its disk too full", name)
	}
	checks := unexplained(n, f.unhealthy[name], f.narrow)
	if len(checks) > 0 {
		wrong("AvaxHealthCheckFailing", warn, "calls itself unhealthy: "+brief(checks), name+": "+brief(checks))
	}
	p.explained["AvaxHealthCheckFailing"] = p.explained["AvaxHealthCheckFailing"] || len(checks) < len(f.unhealthy[name])
}

// judgeReward tells whether the peers would vote for the node's reward today. A
// downtime budget that is gone tells that better.
func (p *page) judgeReward(f *nodeFacts, n *nodeView) {
	risk := f.rewardRisk(n.Name)
	alert, text := "AvaxRewardStakeLow", "its reward is at risk"
	if under("AvaxRewardLost", ofReached(f.votes.of(n.Name), f.reached.of(n.Name))) == bad {
		alert, text = "AvaxRewardLost", "its reward would not be paid today"
	}
	n.remark(alert, risk, text)
	if over("AvaxDowntimeBudgetLow", f.spent.of(n.ID)) < bad {
		p.problems.add(alert, risk, 1, place{Text: n.Name, Anchor: n.Anchor})
	}
}

// rewardRisk is how urgent the votes are that a validator's reward lacks.
func (f *nodeFacts) rewardRisk(node string) level {
	if !f.validating.is(1, node) {
		return well
	}
	return under("AvaxRewardStakeLow", ofReached(f.votes.of(node), f.reached.of(node)))
}

// mostBenched is the largest share of its peers that the node has benched, and
// on which chain; nil where that is not known.
func (f *nodeFacts) mostBenched(n *nodeView) (chain string, share *float64) {
	peers := f.peers.of(n.Name)
	if peers == nil || *peers == 0 {
		return "", nil
	}
	for _, c := range n.Chains {
		if benched := f.benched.of(n.Name, c.Name); benched != nil && (share == nil || *benched / *peers > *share) {
			of := *benched / *peers
			chain, share = c.Name, &of
		}
	}
	return chain, share
}

// figures are a node's values.
func (f *nodeFacts) figures(n *nodeView) []figure {
	name := n.Name
	noVotes, noReach := notTold, notTold
	switch {
	case f.validating.is(0, name):
		noVotes = "it is no validator of the primary network"
	case f.bootstrapped.is(0, name, "P"):
		noVotes = "not told while the P-Chain bootstraps"
	}
	if f.foreign.is(1, name) {
		noReach = "it belongs to another network"
	}
	connections := show(f.peers.of(name), count, notTold)
	if in := f.inbound.of(name); in != nil {
		connections.Text += ", " + count(*in) + " inbound"
	}
	figures := []figure{
		{"Validating", show(f.validating.of(name), yesNo, noVotes)},
		{"Votes for reward", show(f.votes.of(name), percent, noVotes).as(f.rewardRisk(name))},
		{"Weighted uptime", show(f.uptimes.of(name), percent, noVotes)},
		{"Stake reached", show(f.reached.of(name), percent, noReach).as(under("AvaxConnectedStakeLow", f.reached.of(name)))},
		{"Peers", connections},
		{"Safe to stop", f.stops[name].cell()},
	}
	// What is well is not told.
	if checks := f.unhealthy[name]; len(checks) > 0 {
		figures = append(figures, figure{"Failing checks", cell{Text: brief(checks), Title: "in the node's own eyes: " + strings.Join(checks, ", ")}})
	}
	if ahead := f.newer.of(name); ahead != nil && *ahead > 0 {
		figures = append(figures, figure{"Newer version", cell{Text: percent(*ahead), Title: "share of stake that is connected and runs a newer version"}})
	}
	return figures
}

// addCommon tells once what befalls several nodes.
func (p *page) addCommon(f *nodeFacts) {
	if f.unreachable > 0 {
		p.problems.add("AvaxStakeUnreachable", bad, 1, place{Text: "all " + number(f.unreachable) + " nodes", Anchor: "nodes"})
	}
	var halted []string
	for l, h := range f.heads {
		if h.halted {
			halted = appendNew(halted, l[1])
		}
	}
	slices.SortFunc(halted, compareChains)
	for _, chain := range halted {
		p.problems.add("AvaxChainHalted", bad, 1, place{Text: chain, Anchor: "nodes"})
	}
	twice := map[string]bool{}
	for l, yes := range f.duplicate {
		if yes == 1 {
			twice[p.ids[l[0]]] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(twice)) {
		names := p.called[id]
		at := place{Text: cmp.Or(p.names[id], "two nodes"), Anchor: "nodes"}
		if len(names) > 0 {
			at.Anchor = "node-" + names[0]
		}
		p.problems.add("AvaxDuplicateNodeID", bad, 1, at)
	}
}

// failingChecks are the health checks that fail, by node.
func (p *page) failingChecks() map[string][]string {
	failing := map[string][]string{}
	for l, failed := range p.by("avax_node_health_check_failing", "node", "check") {
		if failed == 1 {
			failing[l[0]] = append(failing[l[0]], l[1])
		}
	}
	for _, checks := range failing {
		slices.SortFunc(checks, compareChains)
	}
	return failing
}

// narrowL1s are the L1s of which a node reaches too little weight, by chain and node.
func (p *page) narrowL1s() map[labels]bool {
	weights := p.by("avax_l1_weight", "chain")
	narrow := map[labels]bool{}
	for l, weight := range p.by("avax_l1_connected_weight", "chain", "node") {
		if whole := weights.of(l[0]); whole != nil {
			share := weight / *whole
			narrow[l] = under("AvaxL1ConnectedWeightLow", &share) == bad
		}
	}
	return narrow
}

// unexplained are those of the failing checks of a node that do not follow from
// what its remarks and its L1s say: one cause is told once.
func unexplained(n *nodeView, checks []string, narrow map[labels]bool) []string {
	said := func(alert string) bool {
		return slices.ContainsFunc(n.Remarks, func(r remark) bool { return r.Alert == alert })
	}
	return slices.DeleteFunc(slices.Clone(checks), func(check string) bool {
		switch check {
		case "diskspace":
			return said("AvaxNodeDiskLow")
		case "bootstrapped":
			return said("AvaxChainNotBootstrapped")
		case "futureupgrade":
			return said("AvaxUnknownUpgradeSoon")
		case "P", "X", "C":
			if said("AvaxConnectedStakeLow") {
				return true
			}
		}
		return narrow[labels{check, n.Name}] ||
			slices.ContainsFunc(n.Chains, func(c chainView) bool { return c.Name == check && c.State.Level == bad })
	})
}

// ofReached is the share of the votes, as AvaxRewardStakeLow reckons: where the
// stake that the node does not reach explains the missing votes,
// AvaxConnectedStakeLow speaks instead.
func ofReached(votes, reached *float64) *float64 {
	if votes == nil || reached == nil || *reached <= 0 {
		return votes
	}
	share := max(*votes, *votes / *reached)
	return &share
}

// addUpgrades finds what is about to activate, in any node's eyes.
func (p *page) addUpgrades() {
	next := map[string]float64{}
	for l, at := range p.by("avax_upgrade_timestamp_seconds", "upgrade", "node") {
		if soonest, has := next[l[0]]; *p.left(&at) > 0 && (!has || at < soonest) {
			next[l[0]] = at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		at := next[name]
		p.problems.add("AvaxUpgradeImminent", under("AvaxUpgradeImminent", p.left(&at)), 1,
			place{Text: name + " " + moment(p.Now, &at, "").Text, Anchor: "nodes"})
	}
}

// compareChains puts P, X and C first.
func compareChains(a, b string) int {
	const primary = "PXC"
	ofPrimary := func(chain string) bool { return len(chain) == 1 && strings.Contains(primary, chain) }
	if ofPrimary(a) && ofPrimary(b) {
		return cmp.Compare(strings.Index(primary, a), strings.Index(primary, b))
	}
	return cmp.Or(first(ofPrimary(a), ofPrimary(b)), cmp.Compare(a, b))
}

// first puts those first of which something is so.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
