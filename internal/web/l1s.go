package web

import (
	"cmp"
	"net/url"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

var l1Meanings = [][2]string{
	{"Active weight", "Share of the total weight whose validators have a balance to pay their fee. Inactive validators count in the total."},
	{"Connected weight", "Share of the total weight that is connected, according to your node with the lowest share. Nodes that are connected to less than half of the stake do not count if another one is well connected."},
	{"80 %, 75 %, 67 %", "Limits of the protocol: below 80 % the nodes report themselves as unhealthy, below 75 % consensus stops, below 67 % the L1 cannot sign messages to other chains."},
	{"Forecast", "The active weight without top-ups. Each step is a validator whose balance runs out."},
	{"Top-up", "Amount that keeps the validator active for 30 days."},
	{"Top-up for 30 days", "Minimum amount that keeps every validator active for 30 days. The plan lists the amount for each validator."},
	{"Safe to stop", "Yes if at least 80 % of the weight stays active and connected without this validator."},
}

// l1s shows each monitored L1 and permissioned subnet, worst first. An L1 without an alert is collapsed.
func (v *view) l1s() g.Node {
	weight := v.by("avax_l1_weight", "chain")
	chains := weight.names()
	if len(chains) == 0 {
		return nil
	}
	rows, left := rowsOf(chains, func(chain string) mark { return v.about(subject{{"chain", chain}}) }, maxRows)
	if i := slices.IndexFunc(rows, func(r row) bool { return r.name == v.ask.l1 }); i >= 0 {
		rows = append([]row{rows[i]}, slices.Delete(slices.Clone(rows), i, i+1)...)
	} else if slices.Contains(chains, v.ask.l1) {
		rows = append([]row{{v.ask.l1, mark{}}}, rows...)
	}
	f := v.l1Facts(namesOf(rows[:min(len(rows), maxL1s)]))
	return section("l1s", "L1s and permissioned subnets", l1Meanings,
		g.Map(rows, func(r row) g.Node { return v.l1Card(f, r, f.members[r.name] != nil) }),
		more(left, " more, with no worse alert: see ", v.link("metrics", "the metrics")),
	)
}

// l1Facts are the samples of the L1 section. It holds samples of validators only for L1s whose validators are shown.
type l1Facts struct {
	weight, active, connected, validators, loss, topUp values
	subnets                                            map[string]string
	members                                            map[string][]string // validation IDs by chain
	nodeIDs                                            map[string]string   // by validation ID
	topUps                                             map[string]uint64   // nAVAX that keep a validator active for staking.TopUpDays, by validation ID

	ofOne, isActive, balance, left, burn, ends, safe, seen, seers values
}

// l1Facts reads the samples of the L1 section, and of the validators of these L1s.
func (v *view) l1Facts(chains []string) *l1Facts {
	these := v.from(nil, chains)
	of := func(family string) values { return these.by("avax_l1_validator_"+family, "chain", "validation_id") }
	f := &l1Facts{
		weight: v.by("avax_l1_weight", "chain"), active: v.by("avax_l1_active_weight", "chain"), validators: v.by("avax_l1_validators", "chain", "state"),
		loss: v.by("avax_l1_quorum_loss_seconds", "chain", "quorum"), topUp: v.by("avax_l1_top_up_avax", "chain", "days"), subnets: map[string]string{},
		connected: v.connectedWeights(), members: map[string][]string{}, nodeIDs: map[string]string{}, topUps: map[string]uint64{},
		ofOne: of("weight"), isActive: of("active"), balance: of("balance_avax"), left: of("runway_seconds"), burn: of("burn_avax_per_day"),
		ends: of("end_timestamp_seconds"), safe: these.by("avax_l1_safe_to_stop", "chain", "node_id"),
	}
	f.seen, f.seers = these.share("avax_l1_validator_connected", "chain", "validation_id")
	for l := range v.by("avax_chain_info", "chain", "subnet_id") {
		f.subnets[l[0]] = l[1]
	}
	for l := range these.by("avax_l1_validator_weight", "chain", "validation_id", "node_id") {
		if slices.Contains(chains, l[0]) {
			f.members[l[0]] = append(f.members[l[0]], l[1])
			f.nodeIDs[l[1]] = l[2]
		}
	}
	for chain, l1 := range l1sOf(these.jobs, v.now) {
		if slices.Contains(chains, chain) && !l1.At.IsZero() && !l1.Unpriced {
			plan, _ := l1.TopUps(staking.TopUpDays, v.now)
			for _, t := range plan {
				f.topUps[t.ID] = t.Amount
			}
		}
	}
	return f
}

func (v *view) l1Card(f *l1Facts, r row, shown bool) g.Node {
	chain := r.name
	about := subject{{"chain", chain}}
	state, wrong := "–", false
	if n := f.validators.of(chain, "active"); n != nil {
		state = count(*n) + " active"
		if off := f.validators.of(chain, "inactive"); off != nil && *off > 0 {
			wrong = true
			state += ", " + count(*off) + " inactive"
		}
	}
	if n := f.validators.of(chain, "legacy"); n != nil && *n > 0 {
		state = plural(int(*n), "validator", "validators")
	}
	facts := []cell{
		textCell("Validators", state, v.value(about, "avax_l1_validators", "avax_l1_validator_active")),
		textCell("Active weight", show(ratioOf(f.active.of(chain), f.weight.of(chain)), percent), v.value(about, "avax_l1_active_weight")),
		textCell("Connected weight", show(ratioOf(f.connected.of(chain), f.weight.of(chain)), percent), v.value(about, "avax_l1_connected_weight")),
	}
	var soonest *float64
	for l, after := range f.loss {
		if l[0] == chain && (soonest == nil || after < *soonest) {
			soonest = &after
		}
	}
	if soonest != nil {
		text := "now"
		if *soonest > 0 {
			text = "in " + seconds(*soonest)
		}
		facts = append(facts, textCell("Active below 80 %", text, v.value(about, "avax_l1_quorum_loss_seconds")))
	}
	for l, amount := range f.topUp {
		if l[0] == chain {
			facts = append(facts, textCell("Top-up for "+l[1]+" days", avax(amount), mark{}))
		}
	}
	slices.SortStableFunc(facts[min(len(facts), 4):], func(a, b cell) int { return cmp.Compare(a.name, b.name) })
	return h.Details(h.Class("card "+r.mark.class()), h.ID("l1-"+chain), g.If(r.mark.level > well || wrong || chain == v.ask.l1, g.Attr("open")),
		h.Summary(h.H3(g.Text(chain)), g.Text(" "), h.Span(h.Class("dim"), g.Text(state+" · active weight "+show(ratioOf(f.active.of(chain), f.weight.of(chain)), percent)))),
		h.P(v.link("l1/"+url.PathEscape(chain), "Page of "+chain)),
		g.If(f.subnets[chain] != "", h.Code(h.Class("id"), g.Text(f.subnets[chain]))),
		figures(facts),
		g.Iff(shown, func() g.Node { return v.l1Validators(f, chain) }),
		g.If(!shown, h.P(link("?l1="+url.QueryEscape(chain)+"#l1-"+chain, "Show its validators"))),
	)
}

// l1Validators shows the validators of one L1 and the forecast of its weight.
func (v *view) l1Validators(f *l1Facts, chain string) g.Node {
	left, weights := map[string]float64{}, map[string]float64{}
	pays := false
	for _, id := range f.members[chain] {
		if after := f.left.of(chain, id); after != nil {
			left[id], pays = *after, true
		}
		if weight := f.ofOne.of(chain, id); weight != nil {
			weights[id] = *weight
		}
	}
	key := func(id string) float64 { // earliest end first
		switch after, end := f.left.of(chain, id), f.ends.of(chain, id); {
		case after != nil:
			return *after
		case end != nil:
			return *end
		}
		return 1e18
	}
	members := slices.Clone(f.members[chain])
	marks := map[string]mark{}
	for _, id := range members {
		marks[id] = v.about(subject{{"validation_id", id}, {"chain", chain}})
	}
	slices.SortFunc(members, func(a, b string) int {
		return cmp.Or(cmp.Compare(marks[b].level, marks[a].level), cmp.Compare(key(a), key(b)), cmp.Compare(a, b))
	})
	shown := members[:min(len(members), maxRows)]
	columns := []string{"Validator", "State", "Ends", "Weight", "Connected", "Safe to stop"}
	if pays {
		columns = []string{"Validator", "State", "Runs out", "Top-up", "Balance", "Burn per day", "Weight", "Connected", "Safe to stop"}
	}
	plan := v.link("api/v1/l1/"+url.PathEscape(chain)+"/plan", "The top-up plan as JSON")
	return g.Group{
		g.Iff(pays, func() g.Node {
			active, whole := f.active.of(chain), f.weight.of(chain)
			if ratioOf(active, whole) == nil {
				return nil
			}
			return h.Figure(h.FigCaption(g.Text("Forecast of the active weight without top-ups")), forecastDrawing(chain, v.now, forecast(left, weights, *active, *whole)))
		}),
		table("l1", "Validators of "+chain+", worst first", columns, g.Map(shown, func(id string) g.Node {
			about := subject{{"validation_id", id}, {"chain", chain}}
			one := func(name string, value *float64, format func(float64) string, families ...string) cell {
				return textCell(name, show(value, format), v.value(about, families...))
			}
			state := one("State", f.isActive.of(chain, id), func(active float64) string {
				if active == 1 {
					return "active"
				}
				return "inactive"
			}, "avax_l1_validator_active")
			topUp := "–"
			if amount := f.topUps[id]; amount > 0 {
				topUp = avax(float64(amount) / 1e9)
			}
			cells := []cell{state}
			if pays {
				cells = append(cells,
					one("Runs out", f.left.of(chain, id), func(after float64) string {
						if after <= 0 {
							return "now"
						}
						return "in " + seconds(after)
					}, "avax_l1_validator_balance_avax"),
					textCell("Top-up", topUp, mark{}), one("Balance", f.balance.of(chain, id), avax), one("Burn per day", f.burn.of(chain, id), avax))
			} else {
				cells = append(cells, textCell("Ends", moment(v.now, f.ends.of(chain, id)), v.value(about, "avax_l1_validator_end_timestamp_seconds", "avax_validator_end_timestamp_seconds")))
			}
			connected := "–"
			if n := f.seers.of(chain, id); n != nil {
				connected = show(f.seen.of(chain, id), count) + " of " + count(*n)
			}
			cells = append(cells,
				one("Weight", ratioOf(f.ofOne.of(chain, id), f.weight.of(chain)), percent),
				textCell("Connected", connected, v.value(about, "avax_l1_validator_connected")),
				one("Safe to stop", f.safe.of(chain, f.nodeIDs[id]), yesNo))
			return tableRow("", marks[id], named(v.nameOf(f.nodeIDs[id]), f.nodeIDs[id]), cells...)
		})),
		more(len(members)-len(shown), " more: see ", v.link("metrics", "the metrics")),
		g.If(pays, h.P(plan)),
	}
}
