package web

import (
	"cmp"
	"fmt"
	"slices"
)

// sightings tell how many of the own nodes are connected to a validator.
type sightings struct {
	connected, sound float64 // of those that reach enough stake to tell
	all              int
}

func (s sightings) String() string {
	return fmt.Sprintf("%s of %s of your nodes that can tell are connected to it", count(s.connected), count(s.sound))
}

// sightings are those of a family, by some of its labels.
func (p *page) sightings(family string, names ...string) map[labels]sightings {
	reached := p.by("avax_node_connected_stake_ratio", "node")
	all := map[labels]sightings{}
	p.each(family, append(names, "node"), func(l labels, connected float64) {
		node := l[len(names)]
		l[len(names)] = ""
		s := all[l]
		s.all++
		if reach := reached.of(node); reach != nil && under("AvaxConnectedStakeLow", reach) < bad {
			s.connected, s.sound = s.connected+connected, s.sound+1
		}
		all[l] = s
	})
	return all
}

// disconnected tells whether too few nodes are connected to a validator, as
// AvaxValidatorDisconnected does: one witness may be wrong. An own node that is
// down, or reaches too little stake, explains it.
func (p *page) disconnected(s sightings, id string) level {
	if s.sound == 0 || p.cut[id] {
		return well
	}
	share := s.connected / s.sound
	if s.all == 1 {
		return min(warn, under("AvaxValidatorDisconnected", &share))
	}
	return under("AvaxValidatorDisconnected", &share)
}

// cutOff are the IDs of own nodes that are known to be down, or to reach too
// little stake.
func (p *page) cutOff() map[string]bool {
	up := p.by("avax_node_up", "node")
	reached := p.by("avax_node_connected_stake_ratio", "node")
	cut := map[string]bool{}
	for name, id := range p.ids {
		if up.is(0, name) || under("AvaxConnectedStakeLow", reached.of(name)) == bad {
			cut[id] = true
		}
	}
	return cut
}

// youngL1Validator is the age under which every minute of an L1 validator is a
// large share of its uptime, in seconds.
const youngL1Validator = 3 * day

// addL1Sightings tells which validators of the followed L1s the own nodes do not
// see, or saw too little. Those of other people can wait.
func (p *page) addL1Sightings() {
	started := p.by("avax_l1_validator_start_timestamp_seconds", "chain", "validation_id")
	uptimes := values{} // the best in the eyes of the nodes
	p.each("avax_l1_validator_uptime_ratio", []string{"chain", "validation_id"}, func(l labels, uptime float64) {
		uptimes[l] = max(uptimes[l], uptime)
	})
	sights := p.sightings("avax_l1_validator_connected", "chain", "validation_id")
	for _, v := range p.L1s {
		shown := map[string]*l1Row{}
		for _, r := range v.Rows {
			shown[r.validation] = r
		}
		for _, m := range p.active[v.Chain] {
			most := bad
			if len(p.called[m.nodeID]) == 0 {
				most = warn
			}
			lost := min(most, p.disconnected(sights[labels{v.Chain, m.validation}], m.nodeID))
			at := place{Text: cmp.Or(p.names[m.nodeID], short(m.nodeID)) + " of " + v.Chain, Anchor: v.Anchor}
			if r := shown[m.validation]; r != nil {
				at.Anchor, r.Connected.Level = r.Anchor, lost
			}
			p.problems.add("AvaxL1ValidatorDisconnected", lost, 1, at)
			uptime, left := uptimes.of(v.Chain, m.validation), p.left(started.of(v.Chain, m.validation))
			low := well
			if uptime != nil && left != nil && -*left >= youngL1Validator {
				low = min(most, under("AvaxL1UptimeLow", uptime))
				at.Text += ": " + percent(*uptime)
				p.problems.add("AvaxL1UptimeLow", low, 1, at)
			}
			v.Level = max(v.Level, lost, low)
		}
		v.Open = v.Open || v.Level > note
	}
	slices.SortStableFunc(p.L1s, func(a, b *l1View) int { return cmp.Compare(b.Level, a.Level) })
}

// activeValidator is one of an L1's.
type activeValidator struct{ nodeID, validation string }

// activeValidators are those of each chain, and the own among them by chain and
// node ID.
func (p *page) activeValidators() (all map[string][]activeValidator, own map[labels]bool) {
	all, own = map[string][]activeValidator{}, map[labels]bool{}
	p.each("avax_l1_validator_active", []string{"chain", "validation_id", "node_id"}, func(l labels, active float64) {
		if active != 1 {
			return
		}
		all[l[0]] = append(all[l[0]], activeValidator{l[2], l[1]})
		if len(p.called[l[2]]) > 0 {
			own[labels{l[0], l[2]}] = true
		}
	})
	return all, own
}
