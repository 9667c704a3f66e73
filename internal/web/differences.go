package web

import (
	"cmp"
	"maps"
	"slices"
)

// difference is a fact that may differ between nodes.
type difference struct{ fact, alert, what string }

// differences are those that are known, in the order in which they are told.
var differences = []difference{
	{"chain_config", "AvaxChainConfigDrift", "configuration"},
	{"precompiles", "AvaxChainConfigDrift", "precompiles"},
	{"upgrades", "AvaxUpgradeScheduleMismatch", "known upgrades"},
	{"version", "AvaxVersionSkew", "version"},
	{"rpc_protocol", "AvaxVersionSkew", "RPC protocol"},
	{"vm_version", "AvaxVersionSkew", "VM version"},
}

// addDifferences tells what should be the same on all nodes and is not. It can
// wait, unless an upgrade is near at which the nodes part.
func (p *page) addDifferences() {
	next := map[labels]float64{} // seconds until an upgrade of the network, or of a chain
	soonest := func(l labels, at float64) {
		if left := *p.left(&at); left > 0 && (next[l] == 0 || left < next[l]) {
			next[l] = left
		}
	}
	p.each("avax_upgrade_timestamp_seconds", nil, func(_ labels, at float64) { soonest(labels{"upgrades", network}, at) })
	p.each("avax_chain_upgrade_timestamp_seconds", []string{"chain"}, func(l labels, at float64) { soonest(labels{"precompiles", l[0]}, at) })

	variants := p.by("avax_fleet_variants", "fact", "subject")
	subjects := slices.SortedFunc(maps.Keys(variants), func(a, b labels) int { return cmp.Compare(a[1], b[1]) })
	for _, d := range differences {
		var whats []string
		worst := well
		for _, l := range subjects {
			if l[0] != d.fact || variants[l] <= 1 || follows(l, variants) {
				continue
			}
			what, urgent := d.what, warn
			if l[1] != network {
				what += " of " + l[1]
			}
			if left, near := next[l]; near {
				urgent = max(urgent, under(d.alert, &left))
			}
			p.problems.add(d.alert, urgent, 1, place{Text: what, Anchor: "differences"})
			whats, worst = append(whats, what), max(worst, urgent)
		}
		if len(whats) == 0 {
			continue
		}
		if last := len(p.Differences) - 1; last >= 0 && p.Differences[last].Alert == d.alert {
			p.Differences[last].Text += ", " + brief(whats)
			p.Differences[last].Level = max(p.Differences[last].Level, worst)
		} else {
			p.Differences = append(p.Differences, remark{"different " + brief(whats), d.alert, worst})
		}
	}
	slices.SortStableFunc(p.Differences, func(a, b remark) int { return cmp.Compare(b.Level, a.Level) })
}

// follows tells whether a difference comes with another: a node brings its own VMs.
func follows(l labels, variants values) bool {
	ofNode := l[1] == "avm" || l[1] == "evm" || l[1] == "platform"
	return l[0] == "vm_version" && ofNode && variants[labels{"version", network}] > 1
}
