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
	var names []string
	for l := range v.families("", "avax_validator_present").by("avax_validator_present", "node_id") {
		names = append(names, l[0])
	}
	if len(names) == 0 {
		return nil
	}
	rows, left := rowsOf(names, v.aboutValidator, maxRows)
	matchers := ""
	if left > 0 {
		matchers = among("node_id", namesOf(rows))
	}
	s := v.families(matchers, "avax_validator_present", "avax_validator_start_timestamp_seconds", "avax_validator_end_timestamp_seconds",
		"avax_validator_uptime_requirement_ratio", "avax_validator_downtime_budget_seconds", "avax_validator_downtime_used_seconds",
		"avax_validator_weighted_uptime_ratio", "avax_validator_votes_yes_ratio", "avax_validator_potential_reward_avax",
		"avax_validator_reward_reachable")
	views := v.query(`label_replace(min by (node_id) (avax_validator_uptime_ratio{`+matchers+`}), "is", "uptime", "", "") or `+
		`label_replace(sum by (node_id) (avax_validator_connected{`+matchers+`}), "is", "connected", "", "") or `+
		`label_replace(count by (node_id) (avax_validator_connected{`+matchers+`}), "is", "nodes", "", "")`).by("", "node_id", "is")
	of := func(family string) values { return s.by("avax_validator_"+family, "node_id") }
	present, start, end, required := of("present"), of("start_timestamp_seconds"), of("end_timestamp_seconds"), of("uptime_requirement_ratio")
	budget, used, uptime := of("downtime_budget_seconds"), of("downtime_used_seconds"), of("weighted_uptime_ratio")
	reward, reachable := of("potential_reward_avax"), of("reward_reachable")
	votes := s.by("avax_validator_votes_yes_ratio", "node_id", "requirement")
	var own []string // nodes of the rows
	for _, r := range rows {
		if name := v.own[r.name]; name != "" {
			own = append(own, name)
		}
	}
	ownVotes := v.query(`max by (node) (avax_node_uptime_rewarding_stake_ratio{`+among("node", own)+`})`).by("", "node")

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
				if nodes := views.of(id, "nodes"); nodes != nil {
					state += fmt.Sprintf(", %s of %s %s connected", show(views.of(id, "connected"), count), count(*nodes), v.viewers())
				}
				seen := uptime.of(id)
				if seen == nil {
					seen = views.of(id, "uptime")
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
				return tableRow("validator-"+id, r.mark, named(v.own[id], id),
					textCell("State", state, v.ofValidator(id, stateFamilies)),
					textCell("Ends", moment(v.now, end.of(id)), v.ofValidator(id, endFamilies)),
					textCell("Uptime", uptimeText, v.ofValidator(id, uptimeFamilies)),
					cell{"Downtime budget", v.ofValidator(id, budgetFamilies), bar},
					textCell("Votes", show(cmp.Or(ownVotes.of(v.own[id]), votesOf(votes, id, need)), percent), v.ofValidator(id, votesFamilies)),
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
	return v.about(subject{{"node_id", id}}).worse(v.ofValidator(id, slices.Concat(stateFamilies, endFamilies, uptimeFamilies, budgetFamilies, votesFamilies, rewardFamilies)))
}

// ofValidator returns the mark of a cell with values of these families.
func (v *view) ofValidator(id string, families []string) mark {
	m := v.value(subject{{"node_id", id}}, families...)
	if node := v.own[id]; node != "" {
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
