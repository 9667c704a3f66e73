package web

import (
	"slices"

	g "maragu.dev/gomponents"
)

var delegationMeanings = [][2]string{
	{"Owner", "The address in AVAX_WATCH_DELEGATORS, or its name."},
	{"Ends", "When the stake and the reward are paid. Nothing renews a delegation."},
	{"Expected reward", "After the validator’s fee. “Out of reach”: the validator can no longer meet its uptime requirement."},
}

// delegations shows the delegations of monitored addresses; nil if there are none.
func (v *view) delegations() g.Node {
	const end, stake, reward, reachable = "avax_delegation_end_timestamp_seconds", "avax_delegation_stake_avax",
		"avax_delegation_expected_reward_avax", "avax_delegation_reward_reachable"
	validators, owners := v.texts(end, "tx_id", "node_id"), v.texts(end, "tx_id", "name")
	delegations := v.by(end, "tx_id").names()
	if v.filtered() {
		delegations = slices.DeleteFunc(delegations, func(id string) bool { return !v.wantedValidator(validators[id], "", owners[id]) })
	}
	if len(delegations) == 0 {
		return nil
	}
	rows, left := rowsOf(delegations, func(id string) mark { return v.about(subject{{"tx_id", id}}) }, maxRows)
	return section("delegations", "Delegations", delegationMeanings,
		table("", "Delegations, worst first", "Validator", mapped(rows, func(r row) tableRow {
			about := subject{{"tx_id", r.name}}
			expected := show(v.value(about, reward), avax)
			if v.is(0, about, reachable) {
				expected += ", out of reach"
			}
			id := validators[r.name]
			return tableRow{"delegation-" + r.name, r.mark, named(v.nameOf(id, ""), id), []cell{
				textCell("Owner", owners[r.name], mark{}),
				textCell("Stake", show(v.value(about, stake), avax), mark{}),
				textCell("Ends", moment(v.now, v.value(about, end)), v.color(about, end)),
				textCell("Expected reward", expected, v.color(about, reward, reachable)),
			}}
		})), v.moreRows(left))
}
