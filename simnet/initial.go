package simnet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	avax = 1_000_000_000 // nAVAX
	day  = 24 * time.Hour

	platformVM  = "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT"
	assetVM     = "jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq"
	cChainVM    = "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"
	subnetEVM   = "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"
	nodeVersion = "1.15.0"
	theManager  = "0x0Feedc0de0000000000000000000000000000000"
)

// build creates the initial network. Its times are relative to now, so that it works with a synthetic clock in any year.
func (n *Network) build(now time.Time) {
	t := &n.truth
	t.seed = n.opts.Seed
	t.origin = now.Truncate(time.Second)
	t.genesis = time.Date(2020, 12, 5, 5, 0, 0, 0, time.UTC)
	if latest := t.origin.Add(-400 * day); t.genesis.After(latest) {
		t.genesis = latest
	}
	t.helicon = t.origin.Add(-60 * day)
	t.feePrice = 512
	t.avaxUTXOs = 3
	t.buildUpgrades()
	t.buildMembers(n.opts.Validators, n.opts.Others, n.opts.Nodes)
	t.buildChains()
	t.buildStakers()
	t.tps.build(t)
	t.buildLedger()
	t.recordSets(t.origin)
	for _, m := range append(slices.Clone(t.members[:6]), t.members[len(t.members)-len(n.opts.Nodes):]...) {
		n.nodes = append(n.nodes, newNode(n, m))
	}
	n.metrics, n.data, n.observer = newMetrics(n), newData(n), newObserver(n)
}

func (t *truth) buildUpgrades() {
	for _, name := range []string{
		"apricotPhase1", "apricotPhase2", "apricotPhase3", "apricotPhase4", "apricotPhase5", "apricotPhasePre6",
		"apricotPhase6", "apricotPhasePost6", "banff", "cortina", "durango", "etna", "fortuna", "granite",
	} {
		t.upgrades = append(t.upgrades, upgrade{name, t.genesis})
	}
	t.upgrades = append(t.upgrades, upgrade{"helicon", t.helicon})
}

func (t *truth) buildMembers(more, others int, further []string) {
	losses := map[string]float64{"alpha": 0.002, "bravo": 0.004, "charlie": 0.03, "echo": 0.008, "hotel": 0.05}
	names := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"}
	for i := range more {
		names = append(names, fmt.Sprintf("peer%04d", i+1))
	}
	for i := range others {
		names = append(names, fmt.Sprintf("other%02d", i+1))
	}
	for _, name := range append(names, further...) {
		m := t.join(name)
		m.inbound = m.number%3 == 1
		m.supports = []uint32{194, 236, 267, 273, 283, 285}
		m.lossBefore = losses[name]
		if m.number >= 8 {
			m.lossBefore = 0.05 * t.chance("loss", name)
		}
	}
}

// join creates a participant.
func (t *truth) join(name string) *member {
	i := len(t.members)
	m := &member{
		name:        name,
		number:      i,
		id:          t.newNodeID("node", name),
		ip:          fmt.Sprintf("198.18.%d.%d:9651", i/250, i%250+1),
		publicKey:   t.hex(48, "public key", name),
		possession:  t.hex(96, "possession", name),
		version:     nodeVersion,
		upgradeTime: t.genesis,
		told:        make(map[*member]float64),
	}
	t.members = append(t.members, m)
	return m
}

func (t *truth) buildChains() {
	t.primary = &subnet{id: primaryNetworkID, created: t.genesis}
	owner := subnetOwner{[]string{Owner}, 1}
	l1 := &subnet{
		id:         t.newID("subnet", "examplel1"),
		created:    t.origin.Add(-41 * day),
		owner:      owner,
		born:       owner,
		conversion: t.newID("conversion", "examplel1"),
		manager:    theManager,
	}
	poa := &subnet{id: t.newID("subnet", "examplepoa"), created: t.origin.Add(-121 * day), owner: owner, born: owner}
	t.subnets = []*subnet{t.primary, l1, poa}

	// pace is the time between blocks, height the newest block at the origin.
	add := func(c *chain, height uint64, pace time.Duration) {
		if c.id == "" {
			c.id = t.newID("chain", c.name)
		}
		start := t.origin
		if height == 0 {
			start = t.genesis
		}
		c.heads = heads{{height, start, pace}}
		if c.isL1() {
			c.fees = []feeChange{{config: FeeConfig{
				GasLimit: 20_000_000, TargetBlockRate: 2, MinBaseFee: 1_000_000_000, TargetGas: 100_000_000,
				BaseFeeChangeDenominator: 48, MinBlockGasCost: 0, MaxBlockGasCost: 10_000_000, BlockGasCostStep: 500_000,
			}}}
		}
		c.subnet.chains = append(c.subnet.chains, c)
		t.chains = append(t.chains, c)
	}
	add(&chain{name: "P", aliases: []string{"P", "platform"}, id: primaryNetworkID, vm: platformVM, subnet: t.primary},
		21_000, 4*time.Second)
	add(&chain{name: "X-Chain", aliases: []string{"X", "avm"}, vm: assetVM, subnet: t.primary}, 0, 0)
	add(&chain{name: "C-Chain", aliases: []string{"C", "evm"}, vm: cChainVM, evmID: 43112, subnet: t.primary},
		1_250_000, 2*time.Second)
	add(&chain{name: "examplel1", vm: subnetEVM, evmID: 99999, subnet: l1, precompiles: []string{
		"contractDeployerAllowListConfig", "contractNativeMinterConfig", "feeManagerConfig", "rewardManagerConfig", "warpConfig",
	}}, 73_000, 2*time.Second)
	l1.managerChain = l1.chains[0]
	add(&chain{name: "examplepoa", vm: subnetEVM, evmID: 99998, subnet: poa, precompiles: []string{
		"contractNativeMinterConfig", "feeManagerConfig", "txAllowListConfig", "warpConfig",
	}}, 9_000, 10*time.Second)
}

func (t *truth) buildStakers() {
	stake := func(name string, weight uint64, fee float64, since, until time.Duration, delegated ...uint64) *staker {
		v := &staker{
			member: t.mustMember(name),
			txID:   t.newID("stake", name),
			start:  t.origin.Add(-since),
			end:    t.origin.Add(until),
			weight: weight * avax,
			fee:    fee,
		}
		v.reward = rewardFor(v.weight, since+until)
		for i, w := range delegated {
			d := delegator{
				txID:   t.newID("delegation", name, i),
				start:  v.start.Add(since / 2),
				end:    v.end.Add(-until / time.Duration(i+3)),
				weight: w * avax,
				owner:  Owner,
			}
			if i == 1 || name == "hotel" {
				d.owner = Delegator
			}
			d.reward = rewardFor(d.weight, d.end.Sub(d.start))
			v.delegators = append(v.delegators, d)
		}
		t.primary.stakers = append(t.primary.stakers, v)
		return v
	}
	stake("alpha", 2_000_000, 2, 200*day, 165*day, 25_000, 10_000).accrued = 3 * avax / 2
	stake("bravo", 2_050_000, 5, 30*day, 60*day)
	stake("charlie", 1_950_000, 10, 300*day, 20*day, 500)
	stake("delta", 2_000_000, 20, 100*day, 100*day)
	stake("echo", 2_000_000, 2.5, 45*day, 45*day)
	stake("golf", 2_000, 10, 5*day, 9*day).renewal = &renewal{period: 14 * day, shares: 300_000}
	stake("hotel", 3_000, 10, 10*day, 30*day, 100)
	var others []*member
	for _, m := range t.members[8:] {
		if strings.HasPrefix(m.name, "other") {
			others = append(others, m)
			number := time.Duration(len(others))
			stake(m.name, 1_500_000+20_000*uint64(number), 2, (20+number)*day, (200+2*number)*day)
			continue
		}
		since := time.Duration(10+300*t.chance("since", m.name)) * day
		until := time.Duration(2+300*t.chance("until", m.name)) * day
		var delegated []uint64
		for i := range int(5 * t.chance("delegators", m.name)) {
			delegated = append(delegated, uint64(25+5_000*t.chance("delegated", m.name, i)))
		}
		stake(m.name, uint64(2_000+50_000*t.chance("stake", m.name)), 2+float64(int(10*t.chance("fee", m.name))), since, until, delegated...)
	}

	l1, poa := t.subnets[1], t.subnets[2]
	for _, v := range []struct {
		name    string
		weight  uint64
		balance float64 // AVAX; at 512 nAVAX per second one AVAX lasts 22.6 days
	}{{"alpha", 100, 10}, {"bravo", 100, 5}, {"foxtrot", 100, 2}, {"charlie", 50, 1}, {"echo", 20, 0.5}} {
		added := &l1Validator{
			member:       t.mustMember(v.name),
			validationID: t.newID("validation", v.name),
			weight:       v.weight,
			start:        t.origin.Add(-40 * day),
			balance:      uint64(v.balance * avax),
			paidAt:       t.origin,
		}
		l1.l1 = append(l1.l1, added)
		spent := 40 * uint64(day/time.Second) * t.feePrice
		added.changes = []balanceChange{{added.start, "ConvertSubnetToL1Tx", int64(added.balance + spent), added.balance + spent, v.weight}}
		m := t.mustMember(v.name)
		m.subnets = append(m.subnets, l1, poa)
	}
	of := []string{"alpha", "bravo", "charlie"}
	for _, m := range others[:min(len(others), OthersOfL1s)] {
		of = append(of, m.name)
		m.subnets = append(m.subnets, l1, poa)
		l1.l1 = append(l1.l1, &l1Validator{member: m, validationID: t.newID("validation", m.name), weight: 100,
			start: t.origin.Add(-40 * day), balance: 10 * avax, paidAt: t.origin})
	}
	for i, name := range of {
		poa.stakers = append(poa.stakers, &staker{
			member: t.mustMember(name),
			txID:   t.newID("permission", name),
			start:  t.origin.Add(-120*day + time.Duration(i)*time.Second),
			end:    t.origin.Add(245 * day),
			weight: 20,
		})
	}
}
