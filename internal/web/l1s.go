package web

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

type l1View struct {
	subject
	Chain, SubnetID string
	Open            bool
	Figures         []figure
	Rows            []*l1Row
	More            int
	Pays            bool   // its validators pay a fee
	Plan            string // where all of its plan is; empty where it is not known
}

type l1Row struct {
	ID, Name, Anchor                            string
	State, Runway, Balance, Burn, TopUp, Weight cell
	Connected, Stop                             cell

	validation           string
	connected, observers int // own nodes
}

// l1sOf are the validators of the followed L1s, by chain: as l1_runway has them,
// and where it is silent as l1 has them, which does not know what they burn.
func l1sOf(jobs []snapshot.Job, now time.Time) map[string]*staking.L1 {
	l1s := map[string]*staking.L1{}
	for _, j := range jobs { // l1 comes first
		if l1 := j.Good.Facts.L1; l1 != nil && now.Before(j.Good.Until) {
			l1s[j.Last.Target.Chain] = l1
		}
	}
	return l1s
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
	l1s := l1sOf(p.jobs, p.Now)
	most := min(mostRows, max(5, mostL1Rows/max(1, len(weights))))

	active, all := 0.0, 0.0
	for _, l := range slices.SortedFunc(maps.Keys(weights), func(a, b labels) int { return cmp.Compare(a[0], b[0]) }) {
		chain := l[0]
		v := &l1View{subject: subject{Anchor: "l1-" + chain}, Chain: chain, SubnetID: subnets[chain]}
		p.L1s = append(p.L1s, v)
		wrong := func(alert string, l level, text, at string) { v.wrong(p.problems, alert, l, text, at) }
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
		l1 := l1s[chain]
		if l1 == nil {
			continue
		}
		p.addL1Rows(v, l1, most)
		if v.Pays = l1.Pays(); v.Pays {
			clock := p.quorumClock(l1)
			v.Figures = append(v.Figures, clock...)
			if eighty := clock[0]; activeLevel < bad { // else it is lost, as is told
				wrong("AvaxL1QuorumLossForecast", eighty.Level, "its active weight falls under 80 % "+eighty.Text, chain+" "+eighty.Text)
			}
			v.addTopUps(l1, p.Now)
		}
	}
	p.addViews()
	slices.SortStableFunc(p.L1s, func(a, b *l1View) int { return cmp.Compare(b.Level, a.Level) })
	for i, v := range p.L1s {
		v.Open = v.Level > note || i < openL1s
	}
	p.sum(int(active), int(all), "L1 validator", "L1 validators", "active")
}

// quorumClock tells when run-outs take the active weight of an L1 below what it
// needs, the highest share first; of the highest alone where it is not known.
func (p *page) quorumClock(l1 *staking.L1) []figure {
	clock := make([]figure, len(staking.Quorums))
	for i, q := range staking.Quorums {
		after, lost := staking.QuorumLoss(l1.Set, q.Share)
		left := l1.Left(after, p.Now)
		c := cell{Text: "never", Title: "too little weight hangs on balances that end"}
		switch {
		case lost && left == 0:
			c = cell{Text: "now", Title: q.Means}
		case lost:
			c = p.in(left)
			c.Title = "if nobody tops up; below it " + q.Means + ": " + c.Title
		case l1.Unpriced:
			c = absent(notTold)
		}
		if lost {
			c.Level = under("AvaxL1QuorumLossForecast", &left)
		}
		clock[i] = figure{"Under " + shortPercent(q.Share) + " active", c}
	}
	if clock[0].Text == "–" {
		return clock[:1]
	}
	return clock
}

// addTopUps shows the cheapest top-ups that keep all validators active.
func (v *l1View) addTopUps(l1 *staking.L1, now time.Time) {
	topUp := absent(notTold)
	if !l1.Unpriced {
		v.Plan = "api/v1/l1/" + url.PathEscape(v.Chain) + "/plan"
		plan, sum := l1.TopUps(staking.TopUpDays, now)
		amounts := make(map[string]uint64, len(plan))
		for _, t := range plan {
			amounts[t.ID] = t.Amount
		}
		for _, r := range v.Rows {
			if amount := amounts[r.validation]; amount > 0 {
				r.TopUp = cell{Text: avaxUp(amount), Title: "keeps it active for 30 days"}
			}
		}
		topUp = cell{Text: "nothing", Title: "every balance lasts that long"}
		if sum > 0 {
			topUp = cell{Text: avaxUp(sum) + " AVAX", Title: "the cheapest sum that keeps all validators active that long"}
		}
	}
	v.Figures = append(v.Figures, figure{"Top-up for 30 days", topUp})
}

// l1Member is a validator of an L1 in numbers.
type l1Member struct {
	*staking.Validator
	left    float64 // seconds that its balance lasts; infinite where it does not end
	balance float64 // AVAX; infinite where it needs none
}

// members are the validators of an L1, the one that runs dry first before the
// others, and before it those that are inactive: nothing is left to them.
func (p *page) members(l1 *staking.L1) []l1Member {
	members := make([]l1Member, len(l1.Set))
	for i := range l1.Set {
		m := l1Member{&l1.Set[i], math.Inf(1), math.Inf(1)}
		if !m.Legacy {
			m.balance = float64(m.Balance) / 1e9
			burn := m.Burn
			if l1.Unpriced {
				burn = staking.MainnetFloor
			}
			if lasts, ends := staking.Runway(m.Balance, burn); ends {
				m.left = l1.Left(lasts, p.Now)
			}
		}
		members[i] = m
	}
	slices.SortFunc(members, func(a, b l1Member) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.balance, b.balance), cmp.Compare(a.ID, b.ID))
	})
	return members
}

// addL1Rows judges the validators of an L1, and shows so many of them.
func (p *page) addL1Rows(v *l1View, l1 *staking.L1, most int) {
	members := p.members(l1)
	v.More = max(0, len(members)-most)
	v.Rows = make([]*l1Row, 0, len(members)-v.More)
	for i, m := range members {
		inactive, dry := well, well
		switch {
		case !m.Active():
			inactive = bad
		case !m.Legacy:
			dry = under("AvaxL1RunwayLow", &m.left)
		}
		shown := i < most
		if !shown && inactive == well && dry == well {
			continue
		}
		r := p.l1Row(v.Chain, l1, m, inactive, dry)
		if shown {
			v.Rows = append(v.Rows, r)
		}
		v.Level = max(v.Level, inactive, dry)
		at := place{Text: cmp.Or(r.Name, short(r.ID)) + " of " + v.Chain, Anchor: r.Anchor}
		p.problems.add("AvaxL1ValidatorInactive", inactive, 1, at)
		at.Text += " " + r.Runway.Text
		p.problems.add("AvaxL1RunwayLow", dry, 1, at)
	}
}

// l1Row shows a validator of an L1, which is inactive or runs dry as urgently as
// this.
func (p *page) l1Row(chain string, l1 *staking.L1, m l1Member, inactive, dry level) *l1Row {
	r := &l1Row{
		ID: m.NodeID, Name: p.names[m.NodeID], Anchor: "l1-" + chain + "-" + m.ID, validation: m.ID,
		Weight:    cell{Text: count(float64(m.Weight))},
		Stop:      absent("whether it may be stopped is not known"),
		Connected: absent("none of your other nodes runs the chain"),
	}
	if m.Legacy {
		const free = "it has no balance and pays no fee"
		r.State = cell{Text: "legacy", Title: "of a permissioned subnet: it pays no fee"}
		r.Runway, r.Burn, r.Balance = absent(free), absent(free), absent(free)
		if !m.End.IsZero() {
			end := float64(m.End.Unix())
			r.Balance = moment(p.Now, &end, "")
			r.Balance.Text, r.Balance.Title = "ends "+r.Balance.Text, "it has no balance, but an end: "+r.Balance.Title
		}
		return r
	}
	r.Balance, r.Burn = cell{Text: avax(m.balance)}, absent(notTold)
	if !l1.Unpriced {
		r.Burn = cell{Text: avax(m.Burn * day / 1e9)}
	}
	r.State = cell{Text: "active"}
	switch {
	case !m.Active():
		r.State = cell{Text: "inactive", Title: "out of balance, or disabled", Level: inactive}
		r.Runway = cell{Text: "is dry"}
	case math.IsInf(m.left, 1):
		r.Runway = absent("it burns nothing")
	case m.left == 0:
		r.Runway = cell{Text: "now", Title: "by the clock its balance is used up: the P-Chain says so with its next block"}
	default:
		r.Runway = p.in(m.left)
		if l1.Unpriced {
			r.Runway.Title = "at the lowest fee, as nobody tells what it burns: " + r.Runway.Title
		}
	}
	r.Runway.Level = dry
	return r
}

// addViews shows of the rows which of the own nodes are connected to them, and
// whether they may be stopped.
func (p *page) addViews() {
	byValidation, byNode := map[labels]*l1Row{}, map[labels]*l1Row{}
	for _, v := range p.L1s {
		for _, r := range v.Rows {
			byValidation[labels{v.Chain, r.validation}], byNode[labels{v.Chain, r.ID}] = r, r
		}
	}
	p.each("avax_l1_validator_connected", []string{"chain", "validation_id"}, func(l labels, connected float64) {
		if r := byValidation[l]; r != nil {
			r.connected += int(connected)
			r.observers++
		}
	})
	for _, r := range byValidation {
		if r.observers == 0 {
			continue
		}
		r.Connected = cell{Text: number(r.connected) + " of " + number(r.observers), Title: "your nodes that are connected to it"}
		if r.State.Level == bad {
			r.Connected.Title += "; an inactive validator shows as not connected although it may be up"
		}
	}
	p.each("avax_l1_safe_to_stop", []string{"chain", "node_id"}, func(l labels, safe float64) {
		if r := byNode[l]; r != nil {
			r.Stop = cell{Text: yesNo(safe)}
		}
	})
}
