package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

type nodeView struct {
	Name, ID, Version string
	Level             level
	Down              bool
	State             cell
	Remarks           []remark
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

// addNodes shows every node that a sample tells of, those that are down first.
func (p *page) addNodes() {
	up := p.by("avax_node_up", "node")
	present := p.by("avax_node_chain_present", "node", "chain")
	bootstrapped := p.by("avax_node_chain_bootstrapped", "node", "chain")
	heights := p.by("avax_chain_height", "node", "chain")
	heads := p.by("avax_chain_head_timestamp_seconds", "node", "chain")
	validating := p.by("avax_node_validating", "node")
	votes := p.by("avax_node_uptime_rewarding_stake_ratio", "node")
	uptimes := p.by("avax_node_uptime_weighted_ratio", "node")
	peers := p.by("avax_node_peers", "node")
	inbound := p.by("avax_node_peers_inbound", "node")
	reached := p.by("avax_node_connected_stake_ratio", "node")
	unknown := p.by("avax_node_unknown_upgrade_timestamp_seconds", "node")
	newer := p.by("avax_node_newer_version_stake_ratio", "node")
	forked := p.by("avax_chain_fork_detected", "node", "chain")
	unhealthy := p.failingChecks()
	narrow := p.narrowL1s()
	stops := p.stops()

	nodes := map[string]*nodeView{}
	node := func(name string) *nodeView {
		if nodes[name] == nil {
			nodes[name] = &nodeView{Name: name}
		}
		return nodes[name]
	}
	chains := map[string][]string{}
	for l := range up {
		node(l[0])
	}
	for _, family := range []values{present, heights, forked} {
		for l := range family {
			node(l[0])
			chains[l[0]] = appendNew(chains[l[0]], l[1])
		}
	}
	p.each("avax_node_info", []string{"node", "version"}, func(l labels, _ float64) { node(l[0]).Version = l[1] })

	var all []*nodeView
	ups, asked := 0, 0
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		n.ID = p.ids[name]
		all = append(all, n)
		anchor := "node-" + name
		wrong := func(alert string, l level, text, at string) {
			if l > well {
				p.problems.add(alert, l, 1, place{Text: at, Anchor: anchor})
				n.Remarks = append(n.Remarks, remark{text, alert, l})
				n.Level = max(n.Level, l)
			}
		}

		switch {
		case up.is(1, name):
			n.State = cell{Text: "up", Title: "it answered its last poll"}
			ups++
			asked++
		case up.is(0, name):
			n.Down, n.State = true, cell{Text: "down", Title: "it did not answer its last poll", Level: bad}
			asked++
			wrong("AvaxNodeDown", bad, "does not answer", name)
			continue // its last values do not pass for the present
		default:
			n.State = absent("whether it is up is not known: the collector up is off, or has not run").as(off)
		}

		slices.SortFunc(chains[name], compareChains)
		for _, chain := range chains[name] {
			c := chainView{Name: chain, State: cell{Title: "whether it is bootstrapped is not known"}}
			switch {
			case bootstrapped.is(1, name, chain):
				c.State = cell{Text: "✓", Title: "bootstrapped"}
			case bootstrapped.is(0, name, chain):
				c.State = cell{Text: "bootstraps", Title: "not bootstrapped", Level: bad}
				wrong("AvaxChainNotBootstrapped", bad, "chain "+chain+" is not bootstrapped", chain+" on "+name)
			case present.is(0, name, chain):
				c.State = cell{Text: "not run", Title: "the node says that there is no such chain: not tracked, not created yet, or its VM did not start", Level: off}
			}
			if height := heights.of(name, chain); height != nil {
				c.Height = cell{Text: count(*height), Title: "height of the newest block"}
			}
			if forked.is(1, name, chain) {
				c.State = cell{Text: "forked", Title: "its block is another than the other nodes' at the same height", Level: bad}
				wrong("AvaxForkDetected", bad, "has another block of chain "+chain+" than the other nodes", name+" on "+chain)
			}
			if made := heads.of(name, chain); made != nil {
				c.Head = moment(p.Now, made, "")
				c.Head.Title = "when the newest block was made: " + c.Head.Title
			}
			n.Chains = append(n.Chains, c)
		}

		reach, vote, risk := reached.of(name), votes.of(name), well
		if validating.is(1, name) {
			risk = rewardRisk(vote, reach)
		}
		wrong("AvaxRewardStakeLow", risk, "its reward is at risk", name)
		wrong("AvaxConnectedStakeLow", under("AvaxConnectedStakeLow", reach), "reaches too little stake", name)
		when := moment(p.Now, unknown.of(name), "").Text
		wrong("AvaxUnknownUpgradeSoon", under("AvaxUnknownUpgradeSoon", p.left(unknown.of(name))),
			"does not know the network's upgrade "+when, name+" "+when)
		if ahead := newer.of(name); ahead != nil {
			wrong("AvaxVersionBehindNetwork", over("AvaxVersionBehindNetwork", ahead), percent(*ahead)+" of stake runs a newer version", name)
		}
		if slices.Contains(unhealthy[name], "diskspace") {
			wrong("AvaxNodeDiskLow", bad, "calls its disk too full", name)
		}
		if checks := unexplained(n, unhealthy[name], narrow); len(checks) > 0 {
			wrong("AvaxHealthCheckFailing", warn, "calls itself unhealthy: "+brief(checks), name+": "+brief(checks))
		}

		slices.SortStableFunc(n.Remarks, func(a, b remark) int { return cmp.Compare(b.Level, a.Level) })

		noVotes := notTold
		switch {
		case validating.is(0, name):
			noVotes = "it is no validator of the primary network"
		case bootstrapped.is(0, name, "P"):
			noVotes = "not told while the P-Chain bootstraps"
		}
		connections := show(peers.of(name), count, notTold)
		if in := inbound.of(name); in != nil {
			connections.Text += ", " + count(*in) + " inbound"
		}
		n.Figures = []figure{
			{"Validating", show(validating.of(name), yesNo, noVotes)},
			{"Votes for reward", show(vote, percent, noVotes).as(risk)},
			{"Weighted uptime", show(uptimes.of(name), percent, noVotes)},
			{"Stake reached", show(reach, percent, notTold).as(under("AvaxConnectedStakeLow", reach))},
			{"Peers", connections},
			{"Safe to stop", stops[name].cell()},
		}
		// What is well is not told.
		if checks := unhealthy[name]; len(checks) > 0 {
			n.Figures = append(n.Figures, figure{"Failing checks", cell{Text: brief(checks), Title: "in the node's own eyes: " + strings.Join(checks, ", ")}})
		}
		if ahead := newer.of(name); ahead != nil && *ahead > 0 {
			n.Figures = append(n.Figures, figure{"Newer version", cell{Text: percent(*ahead), Title: "share of stake that is connected and runs a newer version"}})
		}
	}
	slices.SortStableFunc(all, func(a, b *nodeView) int {
		return cmp.Or(first(a.Down, b.Down), cmp.Compare(b.Level, a.Level))
	})
	p.Nodes = all[:min(len(all), openNodes)]
	p.MoreNodes = all[len(p.Nodes):]
	p.sum(ups, asked, "node", "nodes", "up")
	p.addUpgrades()
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

// rewardRisk follows AvaxRewardStakeLow: where the stake that the node does not
// reach explains the missing votes, AvaxConnectedStakeLow speaks instead.
func rewardRisk(votes, reached *float64) level {
	risk := under("AvaxRewardStakeLow", votes)
	if votes != nil && reached != nil && *reached > 0 {
		ofReached := *votes / *reached
		risk = min(risk, under("AvaxRewardStakeLow", &ofReached))
	}
	return risk
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
