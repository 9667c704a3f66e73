package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// plan is what the chosen collectors will spend at the Data service.
type plan struct {
	budget *data.Budget
	costs  []cost // the dearest in a day first
	data.Need
}

// cost is what one collector spends.
type cost struct {
	collector string
	every     time.Duration // the shortest time between two of its ticks
	data.Need
}

// plan adds up what this process' jobs cost with the chains and nodes that are
// known now. It is empty where the Data service is not asked.
func (r *roster) plan() (plan, error) {
	if r.data == nil {
		return plan{}, nil
	}
	p := plan{budget: r.data.budget}
	var errs []error
	for _, spec := range r.c.specs {
		if spec.Cost == nil {
			continue
		}
		calls := spec.Cost(r.own.Watch, len(spec.Jobs(r.own, r.whole)))
		c, err := costOf(spec.Name, calls, r.c.when(spec, metric.Target{}))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", spec.Name, err))
		}
		if c.PerDay == 0 {
			continue
		}
		p.costs = append(p.costs, c)
		p.PerMinute += c.PerMinute
		p.PerDay += c.PerDay
	}
	slices.SortStableFunc(p.costs, func(a, b cost) int { return cmp.Compare(b.PerDay, a.PerDay) })
	return p, errors.Join(errs...)
}

// when is the schedule of a collector's job for a target.
func (c *config) when(spec *collectors.Spec, target metric.Target) cron.Schedule {
	if pace := c.schedules[spec.Name]; pace != nil {
		return pace(target)
	}
	return schedule.Every(spec.Period(c.validators), target)
}

// costOf is what so many calls at each tick cost.
func costOf(collector string, calls map[string]int, when cron.Schedule) (cost, error) {
	shortest, inADay := pace(when, time.Now())
	// The worst minute goes by the shortest time between two ticks, the day by their number.
	var hasty, even []data.Load
	for op, n := range calls {
		hasty = append(hasty, data.Load{Op: op, Calls: n, Every: shortest})
		even = append(even, data.Load{Op: op, Calls: n, Every: (day + time.Duration(inADay) - 1) / time.Duration(inADay)})
	}
	minute, err := data.Plan(hasty...)
	daily, _ := data.Plan(even...) // wrong as the other is
	return cost{collector, shortest, data.Need{PerMinute: minute.PerMinute, PerDay: daily.PerDay}}, err
}

const day = 24 * time.Hour

// pace is the shortest time between two ticks of the coming week, and the most
// ticks that fall into a day of it. A cron expression ticks once a minute at
// most; what ticks more often does so evenly.
func pace(when cron.Schedule, from time.Time) (shortest time.Duration, inADay int) {
	const most = 2 * 24 * 60
	ticks := []time.Time{when.Next(from)}
	shortest, inADay = day, 1
	for first := 0; len(ticks) < most; {
		last := ticks[len(ticks)-1]
		next := when.Next(last)
		if next.IsZero() || next.Sub(from) > 8*day {
			break
		}
		shortest = min(shortest, next.Sub(last))
		ticks = append(ticks, next)
		for next.Sub(ticks[first]) >= day {
			first++
		}
		inADay = max(inADay, len(ticks)-first)
	}
	if span := ticks[len(ticks)-1].Sub(ticks[0]); span < day && len(ticks) == most {
		inADay = int((day + shortest - 1) / shortest)
	}
	return shortest, inADay
}

// check is the refusal of a plan that does not fit its budget: the numbers, the
// dearest collectors, and what to change.
func (p plan) check() error {
	if p.budget == nil {
		return nil
	}
	var over []string
	for _, w := range []struct {
		name         string
		need, budget int
	}{{"minute", p.PerMinute, p.budget.PerMinute}, {"day", p.PerDay, p.budget.PerDay}} {
		if w.budget > 0 && w.need > w.budget {
			over = append(over, fmt.Sprintf("%d compute units a %s, of which the budget has %d", w.need, w.name, w.budget))
		}
	}
	if over == nil {
		return nil
	}
	var dearest []string
	for _, c := range p.costs[:min(3, len(p.costs))] {
		dearest = append(dearest, fmt.Sprintf("%s (%d a minute, %d a day)", c.collector, c.PerMinute, c.PerDay))
	}
	return fmt.Errorf("AVAX_DATA_BUDGET: what is to be asked of the Data service costs up to %s. The dearest collectors are %s: "+
		"watch less, ask them less often (AVAX_SCHEDULES) or not at all (AVAX_COLLECTORS), or raise the budget to what your key is granted; avax-exporter check shows the plan",
		strings.Join(over, ", and "), strings.Join(dearest, ", "))
}

// reckon tells where what is asked by now is more than the budget has room for:
// an exporter that runs goes on, and leaves calls out.
func (h *house) reckon() {
	p, err := h.roster.plan()
	if err := errors.Join(err, p.check()); err != nil {
		h.log.Warn("not all of the Data service can be asked", "err", err)
	}
}

// print writes the plan as a table.
func (p plan) print(out io.Writer) error {
	if len(p.costs) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\ncompute units at the Data service, at most:")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, every string, perMinute, perDay any) {
		fmt.Fprintf(table, "%v\t%v\t%v a minute\t%v a day\t\n", name, every, perMinute, perDay)
	}
	for _, c := range p.costs {
		line(c.collector, "every "+model.Duration(c.every).String(), c.PerMinute, c.PerDay)
	}
	line("together", "", p.PerMinute, p.PerDay)
	granted := func(n int) any {
		if n == 0 {
			return "any number"
		}
		return n
	}
	line("budget", "", granted(p.budget.PerMinute), granted(p.budget.PerDay))
	return table.Flush()
}
