package web

import (
	"cmp"
	"math"
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
	{"Active below 80 %", "When so many balances have run out, without top-ups. “Runs out” is when a validator becomes inactive."},
	{"Top-up", "Amount that keeps the validator active for 30 days."},
	{"Top-up for 30 days", "Minimum amount that keeps every validator active for 30 days. The plan lists the amount for each validator."},
	{"Safe to stop", "Yes if at least 80 % of the weight stays active and connected without this validator."},
}

// l1s shows each monitored L1 and permissioned subnet, worst first. An L1 without an alert is collapsed.
func (v *view) l1s() g.Node {
	weight := v.by("avax_l1_weight", "chain")
	chains := weight.names()
	if v.filtered() {
		wanted := map[string]bool{}
		for l := range v.by("avax_l1_validator_weight", "chain", "node_id", "validation_id") {
			wanted[l[0]] = wanted[l[0]] || v.wantedValidator(l[1], l[2], l[0])
		}
		chains = slices.DeleteFunc(chains, func(chain string) bool { return !wanted[chain] })
	}
	if len(chains) == 0 {
		return nil
	}
	rows, left := rowsOf(chains, func(chain string) mark { return v.about(subject{{"chain", chain}}) }, maxRows)
	asked := v.ask.Get("l1")
	if i := slices.IndexFunc(rows, func(r row) bool { return r.name == asked }); i >= 0 {
		rows = append([]row{rows[i]}, slices.Delete(slices.Clone(rows), i, i+1)...)
	} else if slices.Contains(chains, asked) {
		rows = append([]row{{asked, mark{}}}, rows...)
	}
	shown := mapped(rows[:min(len(rows), maxL1s)], func(r row) string { return r.name })
	these := v.only(nil, shown)
	return section("l1s", "L1s and permissioned subnets", l1Meanings,
		g.Map(rows, func(r row) g.Node {
			if !slices.Contains(shown, r.name) {
				return v.l1Card(r, nil)
			}
			return v.l1Card(r, these.l1ValidatorTable(r.name))
		}), v.moreRows(left))
}

// l1Card shows one L1, with the table of its validators, or with a link to it.
func (v *view) l1Card(r row, validators g.Node) g.Node {
	chain := r.name
	about := subject{{"chain", chain}}
	in := func(state string) float64 {
		return *cmp.Or(v.value(subject{{"chain", chain}, {"state", state}}, "avax_l1_validators"), new(0.0))
	}
	state := show(v.value(subject{{"chain", chain}, {"state", "active"}}, "avax_l1_validators"), func(n float64) string { return count(n) + " active" })
	if in("inactive") > 0 {
		state += ", " + count(in("inactive")) + " inactive"
	}
	if n := in("legacy"); n > 0 {
		state = plural(int(n), "validator", "validators")
	}
	weight := v.value(about, "avax_l1_weight")
	active := show(ratioOf(v.value(about, "avax_l1_active_weight"), weight), percent)
	cells := []cell{
		textCell("Validators", state, v.color(about, "avax_l1_validators", "avax_l1_validator_active")),
		textCell("Active weight", active, v.color(about, "avax_l1_active_weight")),
		textCell("Connected weight", show(ratioOf(v.connectedWeights().of(chain), weight), percent), v.color(about, "avax_l1_connected_weight")),
	}
	for _, q := range staking.Quorums {
		if on := (subject{{"chain", chain}, {"quorum", q.Label}}); v.value(on, "avax_l1_quorum_loss_seconds") != nil {
			cells = append(cells, v.cell("Active below "+percent(q.Share), on, left, "avax_l1_quorum_loss_seconds"))
		}
	}
	for _, days := range v.lists("chain", "days", anyValue, "avax_l1_top_up_avax")[chain] {
		cells = append(cells, v.cell("Top-up for "+days+" days", subject{{"chain", chain}, {"days", days}}, avax, "avax_l1_top_up_avax"))
	}
	subnet := v.texts("avax_chain_info", "chain", "subnet_id")[chain]
	return h.Details(h.Class("card "+r.mark.class()), h.ID("l1-"+chain), g.If(r.mark.level > well || in("inactive") > 0 || chain == v.ask.Get("l1"), g.Attr("open")),
		h.Summary(h.H3(g.Text(chain)), g.Text(" "), h.Span(h.Class("dim"), g.Text(state+" · active weight "+active))),
		h.P(v.link("l1/"+url.PathEscape(chain), "Page of "+chain)),
		g.If(subnet != "", h.Code(h.Class("id"), g.Text(subnet))),
		figures(cells),
		validators,
		g.If(validators == nil, h.P(link("?l1="+url.QueryEscape(chain)+"#l1-"+chain, "Show its validators"))),
	)
}

// left formats the time after which something ends.
func left(after float64) string {
	if after <= 0 {
		return "now"
	}
	return "in " + seconds(after)
}

// l1ValidatorTable shows the validators of one L1; nil if they are not known.
func (v *view) l1ValidatorTable(chain string) g.Node {
	about := func(id string) subject { return subject{{"validation_id", id}, {"chain", chain}} }
	of := func(id, what string) *float64 { return v.value(about(id), "avax_l1_validator_"+what) }
	marks, pays := map[string]mark{}, false
	members := slices.Clone(v.lists("chain", "validation_id", anyValue, "avax_l1_validator_weight")[chain])
	if members == nil {
		return nil
	}
	nodeIDs := v.texts("avax_l1_validator_weight", "validation_id", "node_id")
	connected := v.lists("validation_id", "node", isOne, "avax_l1_validator_connected")
	observers := v.lists("validation_id", "node", anyValue, "avax_l1_validator_connected")
	topUps := map[string]uint64{} // nAVAX
	if l1 := l1sOf(v.jobs, v.now)[chain]; l1 != nil && !l1.At.IsZero() && !l1.Unpriced {
		plan, _ := l1.TopUps(staking.TopUpDays, v.now)
		for _, t := range plan {
			topUps[t.ID] = t.Amount
		}
	}
	for _, id := range members {
		pays = pays || of(id, "runway_seconds") != nil
		marks[id] = v.about(about(id))
	}
	end := func(id string) float64 {
		return *cmp.Or(of(id, "runway_seconds"), of(id, "end_timestamp_seconds"), new(math.Inf(1)))
	}
	slices.SortFunc(members, func(a, b string) int {
		return cmp.Or(cmp.Compare(marks[b].level, marks[a].level), cmp.Compare(end(a), end(b)), cmp.Compare(a, b))
	})
	if v.filtered() {
		members = slices.DeleteFunc(members, func(id string) bool { return !v.wantedValidator(nodeIDs[id], id, chain) })
	}
	shown := members[:min(len(members), maxRows)]
	whole := v.value(subject{{"chain", chain}}, "avax_l1_weight")
	return g.Group{
		table("l1", "Validators of "+chain+", worst first", "Validator", mapped(shown, func(id string) tableRow {
			cells := []cell{textCell("State", show(of(id, "active"), func(active float64) string {
				if active == 1 {
					return "active"
				}
				return "inactive"
			}), v.color(about(id), "avax_l1_validator_active"))}
			if pays {
				topUp := "–"
				if amount := topUps[id]; amount > 0 {
					topUp = avax(float64(amount) / 1e9)
				}
				cells = append(cells,
					textCell("Runs out", show(of(id, "runway_seconds"), left), v.color(about(id), "avax_l1_validator_balance_avax")),
					textCell("Top-up", topUp, mark{}), textCell("Balance", show(of(id, "balance_avax"), avax), mark{}), textCell("Burn per day", show(of(id, "burn_avax_per_day"), avax), mark{}))
			} else {
				cells = append(cells, textCell("Ends", moment(v.now, of(id, "end_timestamp_seconds")), v.color(about(id), "avax_l1_validator_end_timestamp_seconds", "avax_validator_end_timestamp_seconds")))
			}
			seen := "–"
			if n := len(observers[id]); n > 0 {
				seen = number(len(connected[id])) + " of " + number(n)
			}
			node := nodeIDs[id]
			return tableRow{"", marks[id], named(v.nameOf(node, id), node), append(cells,
				textCell("Weight", show(ratioOf(of(id, "weight"), whole), percent), mark{}),
				textCell("Connected", seen, v.color(about(id), "avax_l1_validator_connected")),
				textCell("Safe to stop", show(v.value(subject{{"chain", chain}, {"node_id", node}}, "avax_l1_safe_to_stop"), yesNo), mark{}))}
		})),
		more(len(members)-len(shown), " more: see ", v.link("metrics", "the metrics")),
		g.If(pays, h.P(v.link("api/v1/l1/"+url.PathEscape(chain)+"/plan", "The top-up plan as JSON"))),
	}
}
