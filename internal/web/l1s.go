package web

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

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

	validation    string
	left, balance float64
}

// quorums are the shares of an L1's weight below which it fares worse.
var quorums = []struct {
	share                 float64
	label, percent, means string
}{
	{0.80, "0.80", "80 %", "its nodes call themselves unhealthy"},
	{0.75, "0.75", "75 %", "its consensus stops"},
	{0.67, "0.67", "67 %", "it signs no message to other chains"},
}

// addL1s shows the followed chains' subnets, worst first.
func (p *page) addL1s() {
	weights := p.by("avax_l1_weight", "chain")
	activeWeights := p.by("avax_l1_active_weight", "chain")
	counts := p.by("avax_l1_validators", "chain", "state")
	losses := p.by("avax_l1_quorum_loss_seconds", "chain", "quorum")
	sums := p.by("avax_l1_top_up_avax", "chain", "days")
	reached := map[string][]sight{}
	p.each("avax_l1_connected_weight", []string{"chain", "node"}, func(l labels, weight float64) {
		reached[l[0]] = append(reached[l[0]], sight{weight, l[1]})
	})
	subnets := map[string]string{}
	p.each("avax_chain_info", []string{"chain", "subnet_id"}, func(l labels, _ float64) { subnets[l[0]] = l[1] })
	sets := p.l1Sets(p.jobs, p.Now)
	rows := p.l1Rows(sets)

	active, all := 0.0, 0.0
	for _, l := range slices.SortedFunc(maps.Keys(weights), func(a, b labels) int { return cmp.Compare(a[0], b[0]) }) {
		chain := l[0]
		v := &l1View{subject: subject{Anchor: "l1-" + chain}, Chain: chain, SubnetID: subnets[chain], Rows: rows[chain]}
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
		if sets[chain].pays() {
			v.Pays = true
			clock := p.quorumClock(chain, losses, sums.of(chain, "30") != nil)
			v.Figures = append(v.Figures, clock...)
			if eighty := clock[0]; activeLevel < bad { // else it is lost, as is told
				wrong("AvaxL1QuorumLossForecast", eighty.Level, "its active weight falls under 80 % "+eighty.Text, chain+" "+eighty.Text)
			}
			v.addTopUps(sets[chain], p.Now)
		}
		for _, r := range v.Rows {
			v.Level = max(v.Level, r.State.Level, r.Runway.Level)
			at := place{Text: cmp.Or(r.Name, short(r.ID)) + " of " + chain, Anchor: r.Anchor}
			p.problems.add("AvaxL1ValidatorInactive", r.State.Level, 1, at)
			at.Text += " " + r.Runway.Text
			p.problems.add("AvaxL1RunwayLow", r.Runway.Level, 1, at)
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

// quorumClock tells when run-outs take the active weight of an L1 below what it
// needs, the highest share first; of the highest alone where it is not known.
// Where the run-outs are reckoned and a time is absent, that never happens.
func (p *page) quorumClock(chain string, losses values, reckoned bool) []figure {
	clock := make([]figure, len(quorums))
	for i, q := range quorums {
		c := absent(notTold)
		switch left := losses.of(chain, q.label); {
		case left != nil && *left <= 0:
			c = cell{Text: "now", Title: q.means}
			c.Level = under("AvaxL1QuorumLossForecast", left)
		case left != nil:
			c = p.in(*left).as(under("AvaxL1QuorumLossForecast", left))
			c.Title = "if nobody tops up; below it " + q.means + ": " + c.Title
		case reckoned:
			c = cell{Text: "never", Title: "too little weight hangs on balances that end"}
		}
		clock[i] = figure{"Under " + q.percent + " active", c}
	}
	if clock[0].Text == "–" {
		return clock[:1]
	}
	return clock
}

// addTopUps shows the cheapest top-ups that keep all validators active.
func (v *l1View) addTopUps(set *l1Set, now time.Time) {
	topUp := absent(notTold)
	if set.missing == "" {
		amounts, sum := set.topUps(topUpDays, now)
		for i, r := range v.Rows {
			if amount := amounts[r.validation]; amount > 0 {
				v.Rows[i].TopUp = cell{Text: avaxUp(amount), Title: "keeps it active for 30 days"}
			}
		}
		topUp = cell{Text: "nothing", Title: "every balance lasts that long"}
		if sum > 0 {
			topUp = cell{Text: avaxUp(sum) + " AVAX", Title: "the cheapest sum that keeps all validators active that long"}
		}
		if !set.at.IsZero() {
			v.Plan = "api/v1/l1/" + url.PathEscape(v.Chain) + "/plan"
		}
	}
	v.Figures = append(v.Figures, figure{"Top-up for 30 days", topUp})
}

// l1Rows returns the validators of each chain: those that are inactive, then the
// one that runs dry first.
func (p *page) l1Rows(sets map[string]*l1Set) map[string][]*l1Row {
	runways := p.by("avax_l1_validator_runway_seconds", "chain", "validation_id")
	stops := p.by("avax_l1_safe_to_stop", "chain", "node_id")
	ends := p.by("avax_l1_validator_end_timestamp_seconds", "chain", "validation_id")
	type tally struct{ connected, observers float64 }
	seen := map[labels]tally{}
	p.each("avax_l1_validator_connected", []string{"chain", "validation_id"}, func(l labels, connected float64) {
		t := seen[l]
		seen[l] = tally{t.connected + connected, t.observers + 1}
	})

	row := func(chain string, m l1Member) *l1Row {
		r := &l1Row{
			ID: m.nodeID, Name: p.names[m.nodeID], Anchor: "l1-" + chain + "-" + m.ID, validation: m.ID, left: math.Inf(1), balance: math.Inf(1),
			Weight:    show(m.weight, count, notTold),
			Balance:   show(m.balance, avax, "not told"),
			Burn:      show(m.burn, avax, notTold),
			Runway:    absent(notTold),
			Stop:      show(stops.of(chain, m.nodeID), yesNo, "whether it may be stopped is not known"),
			Connected: absent("none of your other nodes runs the chain"),
		}
		if m.balance != nil {
			r.balance = *m.balance
		}
		if t := seen[labels{chain, m.ID}]; t.observers > 0 {
			r.Connected = cell{Text: count(t.connected) + " of " + count(t.observers), Title: "your nodes that are connected to it"}
			if !m.active {
				r.Connected.Title += "; an inactive validator shows as not connected although it may be up"
			}
		}
		end, left := ends.of(chain, m.ID), runways.of(chain, m.ID)
		switch {
		case !m.active:
			r.State = cell{Text: "inactive", Title: "out of balance, or disabled", Level: bad}
			r.Runway = cell{Text: "is dry"}
		case end != nil:
			r.State = cell{Text: "legacy", Title: "of a permissioned subnet: it pays no fee"}
			r.Balance = moment(p.Now, end, "")
			r.Balance.Text, r.Balance.Title = "ends "+r.Balance.Text, "it has no balance, but an end: "+r.Balance.Title
		default:
			r.State = cell{Text: "active"}
			why := ""
			if left == nil && m.burn == nil && m.balance != nil {
				least := *m.balance / (staking.MainnetFloor / 1e9)
				left, why = &least, "at the lowest fee, as nobody tells what it burns: "
			}
			if left != nil {
				r.left = *left
				r.Runway = p.in(*left).as(under("AvaxL1RunwayLow", left))
				r.Runway.Title = why + r.Runway.Title
			}
		}
		return r
	}
	rows := make(map[string][]*l1Row, len(sets))
	for chain, set := range sets {
		of := make([]*l1Row, 0, len(set.members))
		for _, m := range set.members {
			of = append(of, row(chain, m))
		}
		slices.SortFunc(of, func(a, b *l1Row) int {
			return cmp.Or(cmp.Compare(b.State.Level, a.State.Level), cmp.Compare(a.left, b.left),
				cmp.Compare(a.balance, b.balance), cmp.Compare(a.Anchor, b.Anchor))
		})
		rows[chain] = of
	}
	return rows
}
