package web

import (
	"cmp"
	"math"
	"slices"
)

type validatorView struct {
	ID, Name, Anchor                              string
	Level                                         level
	State, Ends, Stake, Delegated, Uptime, Reward cell

	missing level
	end     float64 // Unix seconds
}

// addValidators shows the watched validators of the primary network: those that
// are missing, then those whose stake ends first.
func (p *page) addValidators() {
	present := p.by("avax_validator_present", "node_id")
	ends := p.by("avax_validator_end_timestamp_seconds", "node_id")
	stakes := p.by("avax_validator_stake_avax", "node_id")
	delegated := p.by("avax_validator_delegated_stake_avax", "node_id")
	rewards := p.by("avax_validator_potential_reward_avax", "node_id")
	uptimes := p.lowest("avax_validator_uptime_ratio", "node_id")

	rows := make([]*validatorView, 0, len(present))
	inSet := 0
	sightings := p.sightings("avax_validator_connected", "node_id")
	for l := range present {
		id := l[0]
		v := &validatorView{ID: id, Name: p.names[id], Anchor: "validator-" + id, end: math.Inf(1)}
		if present.is(0, id) {
			gone := absent("it is not in the set")
			v.missing, v.State = bad, cell{Text: "not in the set", Title: "its period ended, or it was never added", Level: bad}
			v.Level = bad
			v.Ends, v.Stake, v.Delegated, v.Uptime, v.Reward = gone, gone, gone, gone, gone
			rows = append(rows, v)
			continue
		}
		inSet++
		v.State = cell{Text: "in the set"}
		if seen := sightings[labels{id}]; p.disconnected(seen, id) > well {
			v.State = cell{Text: "disconnected", Title: seen.String(), Level: p.disconnected(seen, id)}
		}
		v.Stake = show(stakes.of(id), avax, notTold)
		v.Delegated = show(delegated.of(id), avax, "the P-Chain does not tell")
		v.Reward = show(rewards.of(id), avax, "the P-Chain does not tell")
		v.Uptime = absent("none of your other nodes tells")
		if low, seen := uptimes[id]; seen {
			v.Uptime = cell{Text: percent(low.value), Title: "the lowest in the eyes of your nodes", By: low.node}
		}
		end := ends.of(id)
		if end != nil {
			v.end = *end
		}
		v.Ends = moment(p.Now, end, "it has no end: it renews itself").as(under("AvaxStakeEndsSoon", p.left(end)))
		v.Level = max(v.State.Level, v.Ends.Level)
		rows = append(rows, v)
	}
	slices.SortFunc(rows, func(a, b *validatorView) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, v := range rows {
		name := cmp.Or(v.Name, short(v.ID))
		at := place{Text: name, Anchor: v.Anchor}
		p.problems.add("AvaxValidatorMissing", v.missing, 1, at)
		if v.missing == well {
			p.problems.add("AvaxValidatorDisconnected", v.State.Level, 1, at)
		}
		p.problems.add("AvaxStakeEndsSoon", v.Ends.Level, 1, place{Text: name + " " + v.Ends.Text, Anchor: v.Anchor})
	}
	p.Validators = rows[:min(len(rows), mostRows)]
	p.MoreValidators = len(rows) - len(p.Validators)
	p.sum(inSet, len(rows), "validator", "validators", "in the set")
}

// sight is what a node sees.
type sight struct {
	value float64
	node  string
}

// lowest returns the lowest value of each subject in the eyes of the nodes.
func (p *page) lowest(family, subject string) map[string]sight {
	low := map[string]sight{}
	p.each(family, []string{subject, "node"}, func(l labels, value float64) {
		if s, seen := low[l[0]]; !seen || value < s.value || value == s.value && l[1] < s.node {
			low[l[0]] = sight{value, l[1]}
		}
	})
	return low
}
