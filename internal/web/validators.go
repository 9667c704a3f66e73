package web

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

var validatorMeanings = [][2]string{
	{"State", "Whether the validator is in the primary network’s set, and how many of your nodes and observers are connected to it."},
	{"Uptime", "If known, the uptime that peers observed, weighted by stake. Otherwise the lowest uptime that one of your nodes or observers observed. The " +
		"second number is the required uptime."},
	{"Downtime budget", "The whole bar is the downtime that the period allows. The filled part is used."},
	{"Votes", "Share of all stake that would vote for the validator’s reward today."},
	{"Reward", "Reward at the end of the period, without the delegators’ part."},
}

// validators shows the monitored validators of the primary network in one table.
func (v *view) validators() g.Node {
	const title = "Validators of the primary network"
	all := matching(v, v.Validators, func(one *status.Validator) bool { return v.matchesValidator(one.NodeID, "", "") })
	if len(all) == 0 {
		return none("validators", title, len(v.Validators) == 0, v.NoValidators())
	}
	rows := rowsOf(all, v.aboutValidator, v.compareValidators)
	return section("validators", title, validatorMeanings, folded(v, rows, v.validatorSum, func(rows []row[*status.Validator]) g.Node {
		return table("", "Monitored validators, worst first", "Validator", mapped(rows, func(r row[*status.Validator]) tableRow {
			return tableRow{"validator-" + r.of.NodeID, r.urgency, named(v.NameOf(r.of.NodeID, ""), r.of.NodeID), mapped(v.validatorCells(r.of), func(c valueCell) cell {
				return cell{c.name, v.ofValidator(r.of.NodeID, c.values), c.content}
			})}
		}))
	}))
}

// compareValidators sorts validators of the same urgency: first those whose newest samples are worse, then by name.
func (v *view) compareValidators(a, b *status.Validator) int {
	return cmp.Or(cmp.Compare(b.Fact().Severity, a.Fact().Severity),
		strings.Compare(cmp.Or(v.NameOf(a.NodeID, ""), a.NodeID), cmp.Or(v.NameOf(b.NodeID, ""), b.NodeID)))
}

// validatorSum sums up validators that are well.
func (v *view) validatorSum(n int, well []row[*status.Validator]) string {
	text := words.Plural(n, "validator", "validators") + " well"
	var ends, rewards []status.Value
	for _, r := range well {
		ends, rewards = append(ends, r.of.End), append(rewards, r.of.PotentialReward)
	}
	if lowest := lowestOf(well, func(r row[*status.Validator]) status.Value { return r.of.Uptime() }); lowest.Known {
		text += ", lowest uptime " + words.Percent(lowest.V)
	}
	return text + v.sumOf("rewards", rewards) + v.firstOf("first period ends", ends)
}

// sumOf returns the sum of amounts in AVAX as a part of a sum; empty if none is known.
func (v *view) sumOf(what string, values []status.Value) string {
	sum, known := 0.0, false
	for _, value := range values {
		if value.Known {
			sum, known = sum+value.V, true
		}
	}
	if !known {
		return ""
	}
	return ", " + what + " " + words.AVAX(sum)
}

// firstOf returns the earliest of times as a part of a sum; empty if none is known.
func (v *view) firstOf(what string, times []status.Value) string {
	first := lowestOf(times, func(t status.Value) status.Value { return t })
	if !first.Known {
		return ""
	}
	return ", " + what + " " + first.Moment(v.At)
}

// valueCell is a cell with the values that it shows.
type valueCell struct {
	name    string
	content g.Node
	values  []status.Value
}

func (v *view) validatorCells(one *status.Validator) []valueCell {
	text := func(name, text string, values ...status.Value) valueCell {
		return valueCell{name, g.Text(text), values}
	}
	state := one.Present.Text(func(present float64) string {
		if present == 1 {
			return "validating"
		}
		return "not in the set"
	})
	if one.Viewers > 0 {
		state += fmt.Sprintf(", %s of %s %s connected", words.Number(one.Connected), words.Number(one.Viewers), v.viewers())
	}
	uptime := one.Uptime().Text(words.Percent)
	if one.Requirement.Known {
		uptime += ", required " + words.Percent(one.Requirement.V)
	}
	reward := one.PotentialReward.Text(words.AVAX)
	if one.RewardReachable.Is(0) {
		reward += ", out of reach"
	}
	return []valueCell{
		text("State", state, one.Present, status.ValidatorConnected),
		text("Ends", one.End.Moment(v.At), one.End),
		text("Uptime", uptime, one.WeightedUptime, one.LowestUptime),
		{"Downtime budget", v.budget(one), []status.Value{one.DowntimeUsed, one.DowntimeBudget}},
		text("Votes", v.VotesOf(one).Text(words.Percent), status.ValidatorVotes, status.NodeVotes),
		text("Reward", reward, one.RewardReachable, one.PotentialReward),
	}
}

// budget shows the used and the allowed downtime of a staking period.
func (v *view) budget(one *status.Validator) g.Node {
	used, allowed := one.DowntimeUsed, one.DowntimeBudget
	switch {
	case !used.Known || !allowed.Known:
		return g.Text("–")
	case !one.Start.Known || !one.End.Known || one.End.V <= one.Start.V:
		return g.Text(words.Seconds(used.V) + " of " + words.Seconds(allowed.V))
	}
	passed := (float64(v.At.Unix()) - one.Start.V) / (one.End.V - one.Start.V)
	text := words.Seconds(used.V) + " of " + words.Seconds(allowed.V) + " used, " + words.Percent(max(0, min(1, passed))) + " of the period is over"
	return g.Group{
		g.El("progress", h.Max(strconv.FormatFloat(allowed.V, 'f', -1, 64)), h.Value(strconv.FormatFloat(used.V, 'f', -1, 64)), h.Aria("label", "Used downtime")),
		h.Br(), g.Text(text),
	}
}

// aboutValidator returns the urgency of a validator's row. It combines the alerts about the validator and those alerts about its
// node that color a cell of the row.
func (v *view) aboutValidator(one *status.Validator) status.Urgency {
	var values []status.Value
	for _, c := range v.validatorCells(one) {
		values = append(values, c.values...)
	}
	return worseOf(v.About(status.Subject{{"node_id", one.NodeID}, {"chain", ""}}).Worse(v.ofValidator(one.NodeID, values)), one.Fact())
}

// ofValidator returns the urgency of a cell with these values.
func (v *view) ofValidator(id string, values []status.Value) status.Urgency {
	urgency := v.AboutValues(status.Subject{{"node_id", id}, {"chain", ""}}, values...)
	if node := v.NodeOf(id); node != "" {
		urgency = urgency.Worse(v.AboutValues(status.Subject{{"node", node}}, values...))
	}
	return urgency
}
