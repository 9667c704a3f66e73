package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
)

var validatorMeanings = [][2]string{
	{"State", "Whether the validator is in the primary network’s set, and how many of your nodes and observers are connected to it."},
	{"Uptime", "If known, the uptime that peers observed, weighted by stake. Otherwise the lowest uptime that one of your nodes or observers observed. The second number is the required uptime."},
	{"Downtime budget", "The whole bar is the downtime that the period allows. The filled part is used. The vertical line shows which part of the period has passed."},
	{"Votes", "Share of all stake that would vote for the validator’s reward today."},
	{"Reward", "Reward at the end of the period, without the delegators’ part."},
}

// validators shows the monitored validators of the primary network in one table.
func (v *view) validators() g.Node {
	of := func(family string) values { return v.by("avax_validator_"+family, "node_id") }
	present, start, end, required := of("present"), of("start_timestamp_seconds"), of("end_timestamp_seconds"), of("uptime_requirement_ratio")
	budget, used, uptime := of("downtime_budget_seconds"), of("downtime_used_seconds"), of("weighted_uptime_ratio")
	reward, reachable := of("potential_reward_avax"), of("reward_reachable")
	leastUptime := v.by("avax_validator_uptime_ratio", "node_id", "node").least(nil)
	connected, seers := v.share("avax_validator_connected", "node_id")
	votes := v.by("avax_validator_votes_yes_ratio", "node_id", "requirement")
	ownVotes := v.by("avax_node_uptime_rewarding_stake_ratio", "node")
	if len(present) == 0 {
		return nil
	}
	rows, left := rowsOf(present.names(), v.aboutValidator, maxRows)

	return section("validators", "Validators of the primary network", validatorMeanings,
		table("", "Monitored validators, worst first", []string{"Validator", "State", "Ends", "Uptime", "Downtime budget", "Votes", "Reward"},
			g.Map(rows, func(r row) g.Node {
				id := r.name
				state := "not known"
				switch {
				case present.is(1, id):
					state = "validating"
				case present.is(0, id):
					state = "not in the set"
				}
				if nodes := seers.of(id); nodes != nil {
					state += fmt.Sprintf(", %s of %s %s connected", show(connected.of(id), count), count(*nodes), v.viewers())
				}
				seen := uptime.of(id)
				if seen == nil {
					seen = leastUptime.of(id)
				}
				need := required.of(id)
				uptimeText := show(seen, percent)
				if need != nil {
					uptimeText += ", required " + percent(*need)
				}
				bar := []g.Node{g.Text("–")}
				if a, u, from, to := budget.of(id), used.of(id), start.of(id), end.of(id); a != nil && u != nil && from != nil && to != nil && *to > *from {
					passed := (float64(v.now.Unix()) - *from) / (*to - *from)
					bar = []g.Node{budgetBar(*u, *a, passed, date(unixTime(*to)))}
				} else if a != nil && u != nil {
					bar = []g.Node{g.Text(seconds(*u) + " of " + seconds(*a))}
				}
				rewardText := show(reward.of(id), avax)
				if reachable.is(0, id) {
					rewardText += ", out of reach"
				}
				return tableRow("validator-"+id, r.mark, named(v.nameOf(id), id),
					textCell("State", state, v.ofValidator(id, stateFamilies)),
					textCell("Ends", moment(v.now, end.of(id)), v.ofValidator(id, endFamilies)),
					textCell("Uptime", uptimeText, v.ofValidator(id, uptimeFamilies)),
					cell{"Downtime budget", v.ofValidator(id, budgetFamilies), bar},
					textCell("Votes", show(cmp.Or(ownVotes.of(v.nameOf(id)), votesOf(votes, id, need)), percent), v.ofValidator(id, votesFamilies)),
					textCell("Reward", rewardText, v.ofValidator(id, rewardFamilies)),
				)
			})),
		more(left, " more, with no worse alert: see ", link("metrics", "the metrics")),
	)
}

// The families of a validator's cells.
var (
	stateFamilies  = []string{"avax_validator_present", "avax_validator_connected"}
	endFamilies    = []string{"avax_validator_end_timestamp_seconds"}
	uptimeFamilies = []string{"avax_validator_weighted_uptime_ratio", "avax_validator_uptime_ratio"}
	budgetFamilies = []string{"avax_validator_downtime_used_seconds", "avax_validator_downtime_budget_seconds"}
	votesFamilies  = []string{"avax_validator_votes_yes_ratio", "avax_node_uptime_rewarding_stake_ratio"}
	rewardFamilies = []string{"avax_validator_reward_reachable", "avax_validator_potential_reward_avax"}
)

// aboutValidator returns the mark of a validator's row. It combines the alerts about the validator and those alerts about its
// node that color a cell of the row.
func (v *view) aboutValidator(id string) mark {
	return v.about(subject{{"node_id", id}, {"chain", ""}}).worse(v.ofValidator(id, slices.Concat(stateFamilies, endFamilies, uptimeFamilies, budgetFamilies, votesFamilies, rewardFamilies)))
}

// ofValidator returns the mark of a cell with values of these families.
func (v *view) ofValidator(id string, families []string) mark {
	m := v.value(subject{{"node_id", id}, {"chain", ""}}, families...)
	if node := v.nameOf(id); node != "" {
		m = m.worse(v.value(subject{{"node", node}}, families...))
	}
	return m
}

// votesOf returns the share of stake that would vote yes under the current requirement. For your own validator it is the value
// of its node, so that this table, the table of nodes and the alerts show the same value.
func votesOf(votes values, id string, required *float64) *float64 {
	if required == nil {
		return nil
	}
	for l, yes := range votes {
		if of, err := strconv.ParseFloat(l[1], 64); err == nil && l[0] == id && of == *required {
			return &yes
		}
	}
	return nil
}
