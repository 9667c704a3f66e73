package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

var validatorMeanings = [][2]string{
	{"State", "Whether the validator is in the primary network’s set, and how many of your nodes and observers are connected to it."},
	{"Uptime", "If known, the uptime that peers observed, weighted by stake. Otherwise the lowest uptime that one of your nodes or observers observed. The second number is the required uptime."},
	{"Downtime budget", "The whole bar is the downtime that the period allows. The filled part is used."},
	{"Votes", "Share of all stake that would vote for the validator’s reward today."},
	{"Reward", "Reward at the end of the period, without the delegators’ part."},
}

// validators shows the monitored validators of the primary network in one table.
func (v *view) validators() g.Node {
	present := v.by("avax_validator_present", "node_id")
	ids := present.names()
	if v.filtered() {
		ids = slices.DeleteFunc(ids, func(id string) bool { return !v.wantedValidator(id, "", "") })
	}
	if len(ids) == 0 {
		return nil
	}
	rows, left := rowsOf(ids, v.aboutValidator, maxRows)
	seers := v.lists("node_id", "node", anyValue, "avax_validator_connected")
	connected := v.lists("node_id", "node", isOne, "avax_validator_connected")
	leastUptime := v.by("avax_validator_uptime_ratio", "node_id", "node").least(nil)
	return section("validators", "Validators of the primary network", validatorMeanings,
		table("", "Monitored validators, worst first", "Validator", mapped(rows, func(r row) tableRow {
			id := r.name
			of := func(family string) *float64 { return v.value(subject{{"node_id", id}}, "avax_validator_"+family) }
			text := func(name, text string, families []string) cell {
				return textCell(name, text, v.ofValidator(id, families))
			}
			state := show(of("present"), func(present float64) string {
				if present == 1 {
					return "validating"
				}
				return "not in the set"
			})
			if nodes := len(seers[id]); nodes > 0 {
				state += fmt.Sprintf(", %s of %s %s connected", number(len(connected[id])), number(nodes), v.viewers())
			}
			need := of("uptime_requirement_ratio")
			uptime := show(cmp.Or(of("weighted_uptime_ratio"), leastUptime.of(id)), percent)
			if need != nil {
				uptime += ", required " + percent(*need)
			}
			reward := show(of("potential_reward_avax"), avax)
			if v.is(0, subject{{"node_id", id}}, "avax_validator_reward_reachable") {
				reward += ", out of reach"
			}
			votes := cmp.Or(v.value(subject{{"node", v.nodeOf(id)}}, "avax_node_uptime_rewarding_stake_ratio"), v.votesOf(id, need))
			return tableRow{"validator-" + id, r.mark, named(v.nameOf(id, ""), id), []cell{
				text("State", state, stateFamilies),
				text("Ends", moment(v.now, of("end_timestamp_seconds")), endFamilies),
				text("Uptime", uptime, uptimeFamilies),
				{"Downtime budget", v.ofValidator(id, budgetFamilies), v.budget(of("downtime_used_seconds"), of("downtime_budget_seconds"), of("start_timestamp_seconds"), of("end_timestamp_seconds"))},
				text("Votes", show(votes, percent), votesFamilies),
				text("Reward", reward, rewardFamilies),
			}}
		})), v.moreRows(left))
}

// budget shows the used and the allowed downtime of a staking period.
func (v *view) budget(used, allowed, start, end *float64) g.Node {
	switch {
	case used == nil || allowed == nil:
		return g.Text("–")
	case start == nil || end == nil || *end <= *start:
		return g.Text(seconds(*used) + " of " + seconds(*allowed))
	}
	passed := (float64(v.now.Unix()) - *start) / (*end - *start)
	text := seconds(*used) + " of " + seconds(*allowed) + " used, " + percent(max(0, min(1, passed))) + " of the period is over"
	return g.Group{
		g.El("progress", h.Max(strconv.FormatFloat(*allowed, 'f', -1, 64)), h.Value(strconv.FormatFloat(*used, 'f', -1, 64)), h.Aria("label", "Used downtime")),
		h.Br(), g.Text(text),
	}
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
	m := v.color(subject{{"node_id", id}, {"chain", ""}}, families...)
	if node := v.nodeOf(id); node != "" {
		m = m.worse(v.color(subject{{"node", node}}, families...))
	}
	return m
}

// votesOf returns the share of stake that would vote yes under the current requirement. For your own validator it is the value
// of its node, so that this table, the table of nodes and the alerts show the same value.
func (v *view) votesOf(id string, required *float64) *float64 {
	if required == nil {
		return nil
	}
	for l, yes := range v.by("avax_validator_votes_yes_ratio", "node_id", "requirement") {
		if of, err := strconv.ParseFloat(l[1], 64); err == nil && l[0] == id && of == *required {
			return &yes
		}
	}
	return nil
}
