package web

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var l1Meanings = [][2]string{
	{"Active weight", "Share of the total weight whose validators have a balance to pay their fee. Inactive validators count in the total."},
	{"Connected weight", "Share of the total weight that is connected, according to your node with the lowest share. Nodes that are connected to less than " +
		"half of the stake do not count if another one is well connected."},
	{"80 %, 75 %, 67 %", "Limits of the protocol: below 80 % the nodes report themselves as unhealthy, below 75 % consensus stops, below 67 % the L1 cannot " +
		"sign messages to other chains."},
	{"Active below 80 %", "When so many balances have run out, without top-ups. “Runs out” is when a validator becomes inactive."},
	{"Can build a block", "Number of validators that can build the next block. At 0 the L1 has stopped."},
	{"Top-up", "Amount that keeps the validator active for 30 days."},
	{"Top-up for 30 days", "Minimum amount that keeps every validator active for 30 days. The plan lists the amount for each validator."},
	{"Safe to stop", "Yes if at least 80 % of the weight stays active and connected without this validator."},
}

// l1s shows each monitored L1 and permissioned subnet, worst first. An L1 without an alert is collapsed.
func (v *view) l1s() g.Node {
	all := matching(v, v.L1s, func(l *status.L1) bool { return slices.ContainsFunc(l.Validators, v.matchesL1Validator) })
	if len(all) == 0 {
		return nil
	}
	rows := rowsOf(all, v.aboutL1, func(a, b *status.L1) int { return status.CompareChains(a.Chain, b.Chain) })
	shown := 0
	cards := func(rows []row[*status.L1]) g.Node {
		return g.Group(mapped(rows, func(r row[*status.L1]) g.Node {
			var validators g.Node
			if shown++; shown <= maxL1s {
				validators = v.l1ValidatorTable(r.of)
			}
			return v.l1Card(r, validators)
		}))
	}
	var selected g.Node
	if i := slices.IndexFunc(rows, func(r row[*status.L1]) bool { return r.of.Chain == v.query.Get("l1") }); i >= 0 {
		selected = cards(rows[i : i+1])
		rows = slices.Delete(rows, i, i+1)
	}
	return section("l1s", "L1s and permissioned subnets", l1Meanings, selected, folded(v, rows, v.l1Sum, cards))
}

// l1Sum sums up L1s that are well.
func (v *view) l1Sum(n int, well []row[*status.L1]) string {
	validators := 0
	for _, r := range well {
		validators += len(r.of.Validators)
	}
	text := words.Plural(n, "L1", "L1s") + " well, " + words.Plural(validators, "validator", "validators")
	if connected := lowestOf(well, func(r row[*status.L1]) status.Value { return r.of.ConnectedWeight.Of(r.of.Weight) }); connected.Known {
		text += ", lowest connected weight " + words.Percent(connected.V)
	}
	if runway := lowestOf(well, func(r row[*status.L1]) status.Value { return r.of.Runway() }); runway.Known {
		text += ", first balance runs out " + left(runway.V)
	}
	return text
}

// aboutL1 returns the worst of the alerts about an L1 and its validators, and of what its newest samples say.
func (v *view) aboutL1(l *status.L1) status.Urgency {
	return worseOf(v.About(status.Subject{{"chain", l.Chain}}), l.State)
}

// worstOfL1 returns the worst alert about an L1 that shows a problem; nil if there is none.
func (v *view) worstOfL1(chain string) *status.Active {
	for _, a := range v.All { // worst first
		if (a.Labels["chain"] == chain || a.StandsFor(chain)) && !a.Ends() && a.Urgency().Severity > status.Well {
			return a.Whole()
		}
	}
	return nil
}

// l1Card shows one L1, with the table of its validators, or with a link to it.
func (v *view) l1Card(r row[*status.L1], validators g.Node) g.Node {
	l, about := r.of, status.Subject{{"chain", r.of.Chain}}
	state := l.Active.Text(func(n float64) string { return words.Count(n) + " active" })
	if l.Inactive.Known && l.Inactive.V > 0 {
		state += ", " + words.Count(l.Inactive.V) + " inactive"
	}
	if l.Legacy.Known && l.Legacy.V > 0 {
		state = words.Plural(int(l.Legacy.V), "validator", "validators")
	}
	active, connected := l.ActiveWeight.Of(l.Weight).Text(words.Percent), l.ConnectedWeight.Of(l.Weight).Text(words.Percent)
	summary := state + " · active weight " + active + " · connected weight " + connected
	if runway := l.Runway(); runway.Known {
		summary += " · first balance runs out " + left(runway.V)
	}
	if !l.Weight.Known {
		summary = ""
	}
	cells := []cell{
		textCell("Validators", state, v.AboutValues(about, l.Active, status.L1ValidatorActive)),
		textCell("Active weight", active, v.AboutValues(about, l.ActiveWeight)),
		textCell("Connected weight", connected, v.AboutValues(about, l.ConnectedWeight)),
	}
	if l.ProposersLeft.Known {
		cells = append(cells, v.cell("Can build a block", about, words.Count, l.ProposersLeft))
	}
	for _, loss := range l.QuorumLoss {
		cells = append(cells, v.cell("Active below "+words.Percent(loss.Share), append(about, [2]string{"quorum", loss.Label}), left, loss.Value))
	}
	for _, topUp := range l.TopUps {
		cells = append(cells, v.cell("Top-up for "+topUp.Label+" days", append(about, [2]string{"days", topUp.Label}), words.AVAX, topUp.Value))
	}
	text, color, of := l.State.Text, l.State.Severity, v.worstOfL1(l.Chain)
	if text == "" && of != nil {
		text, color = strings.TrimPrefix(v.titleOf(of), l.Chain+": "), of.Urgency().Severity
	}
	larger := of != nil && of.Labels["chain"] != l.Chain && l.State.Text == "" // then nothing in the card explains it
	return h.Details(h.Class("card "+r.urgency.Class()), h.ID("l1-"+l.Chain),
		g.If(r.urgency.Severity > status.Well && !larger || l.Chain == v.query.Get("l1"), g.Attr("open")),
		h.Summary(h.H3(g.Text(l.Chain)), g.Text(" "), h.Span(h.Class("dim"), g.Text(summary)),
			g.If(text != "", h.Strong(h.Class(color.String()), g.Text(" "), titled(text)))),
		g.Iff(l.State.Err != nil, func() g.Node { return failureText(status.FailureOf(l.State.Err)) }),
		h.P(v.link("l1/"+url.PathEscape(l.Chain), "Page of "+l.Chain)),
		g.If(l.SubnetID != "", h.Code(h.Class("id"), shortID(l.SubnetID))),
		figures(cells),
		validators,
		g.If(validators == nil, h.P(link("?l1="+url.QueryEscape(l.Chain)+"#l1-"+l.Chain, "Show its validators"))),
	)
}

// left formats the time after which something ends.
func left(after float64) string {
	if after <= 0 {
		return "now"
	}
	return "in " + words.Seconds(after)
}

// l1ValidatorTable shows the validators of one L1; nil if they are not known.
func (v *view) l1ValidatorTable(l *status.L1) g.Node {
	if len(l.Validators) == 0 {
		return nil
	}
	topUps := v.topUps(l)
	pays := slices.ContainsFunc(l.Validators, func(one *status.L1Validator) bool { return one.Runway.Known })
	all := matching(v, l.Validators, v.matchesL1Validator)
	ends := func(one *status.L1Validator) float64 {
		if end := one.Ends(); end.Known {
			return end.V
		}
		return math.Inf(1)
	}
	members := rowsOf(all, func(one *status.L1Validator) status.Urgency {
		return worseOf(v.About(aboutL1Validator(one)), one.Fact())
	},
		func(a, b *status.L1Validator) int {
			return cmp.Or(cmp.Compare(ends(a), ends(b)), cmp.Compare(a.ValidationID, b.ValidationID))
		})
	shown := members[:min(len(members), maxRows)]
	var runways map[string]*weekChart
	if pays && v.base != "" { // on the page of the L1
		runways = v.past.charts(fmt.Sprintf("min by (validation_id) (%s{%s})", status.RunwayFamily, among("chain", []string{l.Chain})), "validation_id")
	}
	return g.Group{
		table("l1", "Validators of "+l.Chain+", worst first", "Validator", mapped(shown, func(r row[*status.L1Validator]) tableRow {
			return v.l1ValidatorRow(l, r, pays, topUps[r.of.ValidationID], runways[r.of.ValidationID])
		})),
		more(len(members)-len(shown), " more: see ", v.link("metrics", "the metrics")),
		g.If(pays, h.P(v.link("api/v1/l1/"+url.PathEscape(l.Chain)+"/plan", "The top-up plan as JSON"))),
	}
}

// topUps returns the amounts in nAVAX that keep the validators of an L1 active for staking.TopUpDays, by validation ID.
func (v *view) topUps(l *status.L1) map[string]uint64 {
	amounts := map[string]uint64{}
	if l.Priced() {
		plan, _ := l.Set.TopUps(staking.TopUpDays, v.At)
		for _, t := range plan {
			amounts[t.ID] = t.Amount
		}
	}
	return amounts
}

func (v *view) matchesL1Validator(one *status.L1Validator) bool {
	return v.matchesValidator(one.NodeID, one.ValidationID, one.Chain)
}

func aboutL1Validator(one *status.L1Validator) status.Subject {
	return status.Subject{{"validation_id", one.ValidationID}, {"chain", one.Chain}}
}

// l1ValidatorRow is the row of a validator. pays reports whether validators of the L1 pay for their time, and topUp is in nAVAX. runway may be nil.
func (v *view) l1ValidatorRow(l *status.L1, r row[*status.L1Validator], pays bool, topUp uint64, runway *weekChart) tableRow {
	one := r.of
	color := func(values ...status.Value) status.Urgency { return v.AboutValues(aboutL1Validator(one), values...) }
	cells := []cell{textCell("State", one.Active.Text(func(active float64) string {
		if active == 1 {
			return "active"
		}
		return "inactive"
	}), color(one.Active))}
	if pays {
		amount := "–"
		if topUp > 0 {
			amount = words.AVAX(float64(topUp) / 1e9)
		}
		cells = append(cells,
			cell{"Runs out", color(one.Balance), g.Group{g.Text(one.Runway.Text(left)), runway.svg("Time until the balance runs out", 0, words.Seconds)}},
			textCell("Top-up", amount, status.Urgency{}), textCell("Balance", one.Balance.Text(words.AVAX), status.Urgency{}),
			textCell("Burn per day", one.Burn.Text(words.AVAX), status.Urgency{}))
	} else {
		cells = append(cells, textCell("Ends", one.End.Moment(v.At), color(one.End, status.ValidatorEnd)))
	}
	seen := "–"
	if one.Viewers > 0 {
		seen = words.Number(one.Connected) + " of " + words.Number(one.Viewers)
	}
	return tableRow{"", r.urgency, named(v.NameOf(one.NodeID, one.ValidationID), one.NodeID), append(cells,
		textCell("Weight", one.Weight.Of(l.Weight).Text(words.Percent), status.Urgency{}),
		textCell("Connected", seen, color(status.L1ValidatorConnected)),
		textCell("Safe to stop", one.SafeToStop.Text(words.YesNo), status.Urgency{}))}
}
