package web

import (
	"slices"

	g "maragu.dev/gomponents"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var delegationMeanings = [][2]string{
	{"Owner", "The address in AVAX_WATCH_DELEGATORS, or its name."},
	{"Ends", "When the stake and the reward are paid. Nothing renews a delegation."},
	{"Expected reward", "After the validator’s fee. “Out of reach”: the validator can no longer meet its uptime requirement."},
}

// delegations shows the delegations of monitored addresses; nil if there are none.
func (v *view) delegations() g.Node {
	all := slices.Clone(v.Delegations)
	if v.filtered() {
		all = slices.DeleteFunc(all, func(d *status.Delegation) bool { return !v.matchesValidator(d.NodeID, "", d.Owner) })
	}
	if len(all) == 0 {
		return nil
	}
	about := func(d *status.Delegation) status.Subject { return status.Subject{{"tx_id", d.TxID}} }
	rows, left := rowsOf(all, func(d *status.Delegation) string { return d.TxID },
		func(d *status.Delegation) status.Urgency { return v.About(about(d)) }, maxRows)
	return section("delegations", "Delegations", delegationMeanings,
		table("", "Delegations, worst first", "Validator", mapped(rows, func(r row[*status.Delegation]) tableRow {
			d := r.of
			expected := d.Reward.Text(words.AVAX)
			if d.RewardReachable.Is(0) {
				expected += ", out of reach"
			}
			return tableRow{"delegation-" + d.TxID, r.urgency, named(v.NameOf(d.NodeID, ""), d.NodeID), []cell{
				textCell("Owner", d.Owner, status.Urgency{}),
				textCell("Stake", d.Stake.Text(words.AVAX), status.Urgency{}),
				textCell("Ends", d.End.Moment(v.At), v.AboutValues(about(d), d.End)),
				textCell("Expected reward", expected, v.AboutValues(about(d), d.Reward, d.RewardReachable)),
			}}
		})), v.moreRows(left))
}
