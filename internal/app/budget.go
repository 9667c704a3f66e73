package app

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

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// dataBudget is the planned cost of the enabled collectors at the Data service, and the budget.
type dataBudget struct {
	limit *data.Budget // nil without the Data service
	costs []cost       // highest cost per day first
	data.Need
}

// cost is the planned cost of one collector.
type cost struct {
	collector string
	every     time.Duration // shortest time between two ticks
	data.Need
}

// budget plans the cost of this process' jobs with the currently known chains and nodes. The result is empty if no Data service
// is configured.
func (t *targets) budget() (dataBudget, error) {
	if t.data == nil {
		return dataBudget{}, nil
	}
	p := dataBudget{limit: t.data.budget}
	var errs []error
	for _, spec := range t.cfg.Collectors {
		if spec.Cost == nil {
			continue
		}
		calls := spec.Cost(t.ups.Watched(), len(spec.Bind(t.ups)))
		c, err := costOf(spec.Name, calls, t.cfg.Schedule(spec, metric.Target{}, false))
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

// costOf returns the cost of these calls at each tick.
func costOf(collector string, calls map[string]int, when cron.Schedule) (cost, error) {
	shortest, inADay := busiest(when, time.Now())
	need, err := data.Plan(calls, shortest, inADay)
	return cost{collector, shortest, need}, err
}

const day = 24 * time.Hour

// busiest returns the shortest time between two ticks of the coming week, and the maximum number of ticks per day. A schedule
// that ticks more than once a minute is not a cron expression, so its ticks are regular.
func busiest(when cron.Schedule, from time.Time) (shortest time.Duration, inADay int) {
	const maxTicks = 2 * 24 * 60
	ticks := []time.Time{when.Next(from)}
	shortest, inADay = day, 1
	for first := 0; len(ticks) < maxTicks; {
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
	if span := ticks[len(ticks)-1].Sub(ticks[0]); span < day && len(ticks) == maxTicks {
		inADay = int((day + shortest - 1) / shortest)
	}
	return shortest, inADay
}

// exceeded returns an error if the cost exceeds the budget, with the numbers, the most expensive collectors, and a remedy.
func (p dataBudget) exceeded() error {
	if p.limit == nil {
		return nil
	}
	var over []string
	for _, w := range []struct {
		name         string
		need, budget int
	}{{"minute", p.PerMinute, p.limit.PerMinute}, {"day", p.PerDay, p.limit.PerDay}} {
		if w.budget > 0 && w.need > w.budget {
			over = append(over, fmt.Sprintf("%d compute units per %s, the budget is %d", w.need, w.name, w.budget))
		}
	}
	if over == nil {
		return nil
	}
	var expensive []string
	for _, c := range p.costs[:min(3, len(p.costs))] {
		expensive = append(expensive, fmt.Sprintf("%s (%d per minute, %d per day)", c.collector, c.PerMinute, c.PerDay))
	}
	return fmt.Errorf("AVAX_DATA_BUDGET: the collectors need up to %s. The most expensive collectors are %s: "+
		"monitor fewer items, use longer periods (AVAX_SCHEDULES), disable collectors (AVAX_COLLECTORS), or raise the budget to the limit of your key; "+
		"avax-exporter check shows the plan",
		strings.Join(over, ", and "), strings.Join(expensive, ", "))
}

// warnIfOverBudget logs a warning if the planned cost exceeds the budget. The exporter continues, and skips calls.
func (a *App) warnIfOverBudget() {
	p, err := a.targets.budget()
	if err := errors.Join(err, p.exceeded()); err != nil {
		a.log.Warn("Data service budget too small", "err", err)
	}
}

// print writes the costs as a table.
func (p dataBudget) print(out io.Writer) error {
	if len(p.costs) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nmaximum compute units at the Data service:")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, every string, perMinute, perDay any) {
		fmt.Fprintf(table, "%v\t%v\t%v per minute\t%v per day\t\n", name, every, perMinute, perDay)
	}
	for _, c := range p.costs {
		line(c.collector, "every "+model.Duration(c.every).String(), c.PerMinute, c.PerDay)
	}
	line("total", "", p.PerMinute, p.PerDay)
	granted := func(n int) any {
		if n == 0 {
			return "unlimited"
		}
		return n
	}
	line("budget", "", granted(p.limit.PerMinute), granted(p.limit.PerDay))
	return table.Flush()
}
