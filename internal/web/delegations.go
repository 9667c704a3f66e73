package web

import (
	"cmp"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var delegationMeanings = [][2]string{
	{"Uptime", "The validator’s uptime: a delegation is paid only if its validator is."},
	{"Owner", "The address in AVAX_WATCH_DELEGATORS, or its name."},
	{"Ends", "When the stake and the reward are paid. Nothing renews a delegation."},
	{"Expected reward", "After the validator’s fee. “Out of reach”: the validator can no longer meet its uptime requirement."},
}

// delegations shows the delegations of monitored addresses; nil if there are none.
func (v *view) delegations() g.Node {
	all := matching(v, v.Delegations, func(d *status.Delegation) bool { return v.matchesValidator(d.NodeID, "", d.Owner) })
	if len(all) == 0 {
		return none("delegations", "Delegations", len(v.Delegations) == 0, v.NoDelegations())
	}
	about := func(d *status.Delegation) status.Subject { return status.Subject{{"tx_id", d.TxID}} }
	rows := rowsOf(all, func(d *status.Delegation) status.Urgency { return worseOf(v.About(about(d)), v.FactOf(d)) },
		func(a, b *status.Delegation) int {
			return cmp.Or(cmp.Compare(a.End.V, b.End.V), strings.Compare(a.TxID, b.TxID))
		})
	sum := func(n int, of []row[*status.Delegation]) string {
		var stakes, rewards, ends []status.Value
		for _, r := range of {
			stakes, rewards, ends = append(stakes, r.of.Stake), append(rewards, r.of.Reward), append(ends, r.of.End)
		}
		return words.Plural(n, "delegation", "delegations") + v.sumOf("stake", stakes) + v.sumOf("expected reward", rewards) + v.firstOf("first ends", ends)
	}
	return section("delegations", "Delegations", delegationMeanings, dim(strings.TrimSpace(sum(len(rows), rows)+". "+v.Unknown())),
		folded(v, rows, func(n int, well []row[*status.Delegation]) string { return sum(n, well) + ": well" },
			func(rows []row[*status.Delegation]) g.Node { return v.delegationTable(rows, about) }))
}

func (v *view) delegationTable(rows []row[*status.Delegation], about func(*status.Delegation) status.Subject) g.Node {
	return table("", "Delegations, worst first", "Validator", mapped(rows, func(r row[*status.Delegation]) tableRow {
		d := r.of
		uptime, state := "–", ""
		if one := v.ValidatorOf(d.NodeID); one != nil {
			uptime, state = one.Uptime().Text(words.Percent), one.Fact().Text
		}
		if state != "" {
			uptime += ", " + state
		}
		expected := d.Reward.Text(words.AVAX)
		if d.RewardReachable.Is(0) {
			expected += ", out of reach"
		}
		return tableRow{"delegation-" + d.TxID, r.urgency, named(v.NameOf(d.NodeID, ""), d.NodeID), []cell{
			textCell("Owner", d.Owner, status.Urgency{}),
			textCell("Stake", d.Stake.Text(words.AVAX), status.Urgency{}),
			textCell("Uptime", uptime, status.Urgency{Severity: v.FactOf(d).Severity}),
			textCell("Ends", d.End.Moment(v.At), v.AboutValues(about(d), d.End)),
			textCell("Expected reward", expected, v.AboutValues(about(d), d.Reward, d.RewardReachable)),
		}}
	}))
}
