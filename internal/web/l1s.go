package web

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

type l1View struct {
	Chain, SubnetID, Anchor string
	Level                   level
	Open                    bool
	Remarks                 []remark
	Figures                 []figure
	Rows                    []l1Row
	More                    int
}

type l1Row struct {
	ID, Name, Anchor                  string
	State, Balance, Weight, Connected cell

	balance float64
}

// addL1s shows the followed chains' subnets, worst first.
func (p *page) addL1s() {
	weights := p.by("avax_l1_weight", "chain")
	activeWeights := p.by("avax_l1_active_weight", "chain")
	counts := p.by("avax_l1_validators", "chain", "state")
	reached := map[string][]sight{}
	p.each("avax_l1_connected_weight", []string{"chain", "node"}, func(l labels, weight float64) {
		reached[l[0]] = append(reached[l[0]], sight{weight, l[1]})
	})
	subnets := map[string]string{}
	p.each("avax_chain_info", []string{"chain", "subnet_id"}, func(l labels, _ float64) { subnets[l[0]] = l[1] })
	rows := p.l1Rows()

	active, all := 0.0, 0.0
	for _, l := range slices.SortedFunc(maps.Keys(weights), func(a, b labels) int { return cmp.Compare(a[0], b[0]) }) {
		chain := l[0]
		v := &l1View{Chain: chain, SubnetID: subnets[chain], Anchor: "l1-" + chain, Rows: rows[chain]}
		p.L1s = append(p.L1s, v)
		wrong := func(alert string, l level, text, at string) {
			if l > well {
				p.problems.add(alert, l, 1, place{Text: at, Anchor: v.Anchor})
				v.Remarks = append(v.Remarks, remark{text, alert, l})
				v.Level = max(v.Level, l)
			}
		}
		share := func(part *float64) *float64 { // inactive validators count in the whole
			if part == nil || weights[l] == 0 {
				return nil
			}
			share := *part / weights[l]
			return &share
		}

		activeShare := share(activeWeights.of(chain))
		activeLevel := under("AvaxL1ActiveWeightLow", activeShare)
		wrong("AvaxL1ActiveWeightLow", activeLevel, "too little of its weight is active", chain)

		connected := absent("none of your nodes runs the chain")
		narrow, narrowest := []string{}, well
		sights := reached[chain]
		slices.SortFunc(sights, func(a, b sight) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.node, b.node)) })
		for i, s := range sights {
			l := under("AvaxL1ConnectedWeightLow", share(&s.value))
			if i == 0 {
				connected = show(share(&s.value), percent, "it has no weight").as(l)
				if s.value < sights[len(sights)-1].value {
					connected.By, connected.Title = s.node, "the lowest in the eyes of your nodes"
				}
			}
			if l > activeLevel { // else inactive validators explain it
				narrow, narrowest = append(narrow, s.node), max(narrowest, l)
			}
		}
		wrong("AvaxL1ConnectedWeightLow", narrowest, "too little of its weight is reached by "+brief(narrow), chain+" by "+brief(narrow))

		for _, r := range v.Rows {
			v.Level = max(v.Level, r.State.Level, r.Balance.Level)
			at := place{Text: cmp.Or(r.Name, short(r.ID)) + " of " + chain, Anchor: r.Anchor}
			p.problems.add("AvaxL1ValidatorInactive", r.State.Level, 1, at)
			at.Text += ": " + r.Balance.Text + " AVAX"
			p.problems.add("AvaxL1BalanceLow", r.Balance.Level, 1, at)
		}

		var states []string
		for _, state := range []string{"active", "inactive", "legacy"} {
			n := counts.of(chain, state)
			if n == nil || *n == 0 {
				continue
			}
			states = append(states, count(*n)+" "+state)
			all += *n
			if state != "inactive" {
				active += *n
			}
		}
		validators := absent(notTold)
		if len(states) > 0 {
			validators = cell{Text: strings.Join(states, ", ")}
		}
		v.Figures = []figure{
			{"Validators", validators},
			{"Weight", show(weights.of(chain), count, notTold)},
			{"Active weight", show(activeShare, percent, notTold).as(activeLevel)},
			{"Connected weight", connected},
		}
	}
	slices.SortStableFunc(p.L1s, func(a, b *l1View) int { return cmp.Compare(b.Level, a.Level) })
	most := min(mostRows, max(5, mostL1Rows/max(1, len(p.L1s))))
	for i, v := range p.L1s {
		v.Open = v.Level > note || i < openL1s
		v.More = max(0, len(v.Rows)-most)
		v.Rows = v.Rows[:len(v.Rows)-v.More]
	}
	p.sum(int(active), int(all), "L1 validator", "L1 validators", "active")
}

// l1Rows returns the validators of each chain: those that are inactive, then the
// lowest balance first.
func (p *page) l1Rows() map[string][]l1Row {
	weights := p.by("avax_l1_validator_weight", "chain", "validation_id")
	balances := p.by("avax_l1_validator_balance_avax", "chain", "validation_id")
	ends := p.by("avax_l1_validator_end_timestamp_seconds", "chain", "validation_id")
	type tally struct{ connected, observers float64 }
	seen := map[labels]tally{}
	p.each("avax_l1_validator_connected", []string{"chain", "validation_id"}, func(l labels, connected float64) {
		t := seen[l]
		seen[l] = tally{t.connected + connected, t.observers + 1}
	})

	rows := map[string][]l1Row{}
	p.each("avax_l1_validator_active", []string{"chain", "validation_id", "node_id"}, func(l labels, active float64) {
		chain, id := l[0], l[1]
		r := l1Row{ID: l[2], Name: p.names[l[2]], Anchor: "l1-" + chain + "-" + id, balance: math.Inf(1)}
		r.Weight = show(weights.of(chain, id), count, notTold)
		balance, end := balances.of(chain, id), ends.of(chain, id)
		if balance != nil {
			r.balance = *balance
		}
		r.Balance = show(balance, avax, "not told")
		r.Connected = absent("none of your other nodes runs the chain")
		if t := seen[labels{chain, id}]; t.observers > 0 {
			r.Connected = cell{Text: count(t.connected) + " of " + count(t.observers), Title: "your nodes that are connected to it"}
			if active == 0 {
				r.Connected.Title += "; an inactive validator shows as not connected although it may be up"
			}
		}
		switch {
		case active == 0:
			r.State = cell{Text: "inactive", Title: "out of balance, or disabled", Level: bad}
		case end != nil:
			r.State = cell{Text: "legacy", Title: "of a permissioned subnet: it pays no fee"}
			r.Balance = moment(p.Now, end, "")
			r.Balance.Text, r.Balance.Title = "ends "+r.Balance.Text, "it has no balance, but an end: "+r.Balance.Title
		default:
			r.State = cell{Text: "active"}
			r.Balance.Level = under("AvaxL1BalanceLow", balance)
		}
		rows[chain] = append(rows[chain], r)
	})
	for _, r := range rows {
		slices.SortFunc(r, func(a, b l1Row) int {
			return cmp.Or(cmp.Compare(b.State.Level, a.State.Level), cmp.Compare(a.balance, b.balance), cmp.Compare(a.Anchor, b.Anchor))
		})
	}
	return rows
}
