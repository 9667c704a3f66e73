package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// budgetView is how much downtime the period of a watched validator can still
// bear, and who would vote for its reward today.
type budgetView struct {
	ID, Name, Anchor                       string
	Level                                  level
	Reward, Left, Used, Uptime, At80, At90 cell

	left float64 // share of the budget
}

// enoughViews is the share of all stake whose views make a budget known: just
// after a restart few peers have told what they saw.
const enoughViews = 0.5

// addBudgets shows whether the watched validators will be paid: the lost rewards,
// then the smallest budget first.
func (p *page) addBudgets() {
	reachable := p.by("avax_validator_reward_reachable", "node_id")
	needs := p.by("avax_validator_uptime_requirement_ratio", "node_id")
	allowed := p.by("avax_validator_downtime_budget_seconds", "node_id")
	used := p.by("avax_validator_downtime_used_seconds", "node_id")
	uptimes := p.by("avax_validator_weighted_uptime_ratio", "node_id")
	views := p.by("avax_validator_views_stake_ratio", "node_id")
	votes := p.by("avax_validator_votes_yes_ratio", "node_id", "requirement")
	verdicts := p.by("avax_validator_reward_reachable_at", "node_id", "requirement")

	const unseen = "no peer tells what it saw of the validator"
	rows := make([]*budgetView, 0, len(needs))
	for l := range needs {
		id := l[0]
		v := &budgetView{ID: id, Name: p.names[id], Anchor: "budget-" + id, left: math.Inf(1)}
		v.Reward, v.Left, v.Used = absent(unseen), absent(unseen), absent(unseen)
		budget, spent, spentShare := allowed.of(id), used.of(id), 0.0
		switch {
		case budget != nil && spent != nil:
			left := max(0, *budget-*spent)
			v.Left = cell{Text: hours(left), Title: "downtime that the period can still bear"}
			v.Used = cell{Text: hoursUp(*spent), Aside: "of " + hours(*budget), Title: "downtime in this period, and all that it can bear"}
			if *budget > 0 {
				v.left = left / *budget
				spentShare = *spent / *budget
			}
		case budget != nil:
			v.Used = cell{Text: "–", Aside: "of " + hours(*budget), Title: unseen}
		}
		seen := views.of(id)
		most := bad
		if seen != nil && *seen < enoughViews {
			most = well
		}
		switch {
		case reachable.is(0, id):
			v.Reward = cell{Text: "lost", Title: "even with no more downtime the period ends below the requirement", Level: most}
			v.left = -1
		case reachable.is(1, id):
			v.Reward = cell{Text: "reachable", Title: "with no more downtime the requirement is met at the end"}
			v.Left.Level = min(most, over("AvaxDowntimeBudgetLow", &spentShare))
		}
		v.Reward.Aside = "needs " + shortPercent(*needs.of(id))
		v.Level = max(v.Reward.Level, v.Left.Level)
		v.Uptime = show(uptimes.of(id), percent, unseen)
		if seen != nil && v.Uptime.Text != "–" {
			v.Uptime.Aside = "by " + percent(*seen) + " of stake"
			v.Uptime.Title = "what the peers saw, weighted by their stake"
		}
		at := func(requirement string) cell {
			c := show(verdicts.of(id, requirement), func(v float64) string {
				if v == 1 {
					return "reachable"
				}
				return "lost"
			}, unseen)
			if yes := votes.of(id, requirement); yes != nil {
				c.Aside = percent(*yes) + " vote yes"
				c.Title = "the verdict if this uptime were required, and the share of all stake that saw as much"
			}
			return c
		}
		v.At80, v.At90 = at("0.8"), at("0.9")
		rows = append(rows, v)
	}
	slices.SortFunc(rows, func(a, b *budgetView) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, v := range rows {
		name := cmp.Or(v.Name, short(v.ID))
		p.problems.add("AvaxRewardUnreachable", v.Reward.Level, 1, place{Text: name, Anchor: v.Anchor})
		p.problems.add("AvaxDowntimeBudgetLow", v.Left.Level, 1, place{Text: name + ": " + v.Left.Text + " left", Anchor: v.Anchor})
	}
	p.Budgets = rows[:min(len(rows), mostBudgets)]
	p.MoreBudgets = len(rows) - len(p.Budgets)
	paid := 0
	for l := range reachable {
		if reachable.is(1, l[0]) {
			paid++
		}
	}
	p.sum(paid, len(reachable), "reward", "rewards", "reachable")
}

// downtimeSpent is the share of their downtime budgets that validators have
// used, by node ID, where enough views make it known.
func (p *page) downtimeSpent() values {
	allowed := p.by("avax_validator_downtime_budget_seconds", "node_id")
	views := p.by("avax_validator_views_stake_ratio", "node_id")
	spent := values{}
	for l, used := range p.by("avax_validator_downtime_used_seconds", "node_id") {
		budget, seen := allowed.of(l[0]), views.of(l[0])
		if budget != nil && *budget > 0 && seen != nil && *seen >= enoughViews {
			spent[l] = used / *budget
		}
	}
	return spent
}

// hours writes seconds as hours; like all words it cuts.
func hours(seconds float64) string { return tenths(math.Floor(seconds/360+1e-6)) + " h" }

// hoursUp is for what is spent: it never looks like less.
func hoursUp(seconds float64) string { return tenths(max(0, math.Ceil(seconds/360-1e-6))) + " h" }

func tenths(n float64) string {
	return fmt.Sprintf("%s.%d", count(math.Floor(n/10)), int(math.Mod(n, 10)))
}

// shortPercent writes a requirement, which is a whole number of percent.
func shortPercent(ratio float64) string { return fmt.Sprintf("%.4g %%", 100*ratio) }
