package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Budget limits the compute units spent within any minute and within any day. Use Budget.Admit as scrape.Options.Admit of
// every Upstream that shares the budget. A Budget is safe for concurrent use. Do not copy it, and do not change its fields
// after the first use.
type Budget struct {
	PerMinute, PerDay int // 0: no limit
	// Save, if set, is called with what was spent before each request, and again if the request is not sent after all. Restore reads it after a restart.
	Save func(Spendings)
	// Others, if set, returns what other processes of this machine have spent and still counts. It is called after Save.
	Others func() Spendings

	admitting sync.Mutex // locked by Admit, also while it waits for Others and Save

	mu    sync.Mutex
	spent Spendings
}

// windows returns the windows of the minute and of the day.
func (b *Budget) windows() [2]window {
	return [2]window{
		{"minute", time.Minute, 10 * time.Millisecond, b.PerMinute, &b.spent.Minute},
		{"day", 24 * time.Hour, time.Minute, b.PerDay, &b.spent.Day},
	}
}

// Admit spends the cost of a request. If the cost exceeds the rest of the budget, Admit spends nothing and returns a
// *scrape.Error with the outcome rate_limited. It saves what it spends before it asks what others spend: of two processes that do so at the same
// moment, none overlooks the other, and perhaps both wait.
func (b *Budget) Admit(_ context.Context, op string) error {
	b.admitting.Lock()
	defer b.admitting.Unlock()
	before := b.counts()
	err := b.spend(Units(op), Spendings{})
	if err == nil && b.Save != nil {
		b.Save(b.counts())
	}
	if err == nil && b.Others != nil {
		b.set(before)
		if err = b.spend(Units(op), b.Others()); err != nil && b.Save != nil {
			b.Save(before)
		}
	}
	if err != nil {
		return &scrape.Error{Op: op, Outcome: scrape.RateLimited, Err: err}
	}
	return nil
}

// spend spends units, if the budget allows it beside what others have spent.
func (b *Budget) spend(units int, others Spendings) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, windows := time.Now(), b.windows()
	for i, w := range windows {
		if err := w.check(now, units, [2][]Spending{others.Minute, others.Day}[i]); err != nil {
			return err
		}
	}
	for _, w := range windows {
		w.add(now, units)
	}
	return nil
}

func (b *Budget) counts() Spendings {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Spendings{slices.Clone(b.spent.Minute), slices.Clone(b.spent.Day)}
}

func (b *Budget) set(s Spendings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = s
}

// Spendings are the units that were spent.
type Spendings struct{ Minute, Day []Spending }

// Spending is a number of units that count until a time.
type Spending struct {
	Until time.Time
	Units int
}

// Restore adds the units that an earlier process spent. Call it before the first request.
func (b *Budget) Restore(s Spendings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range b.windows() {
		*w.spent = w.counted(time.Now(), [2][]Spending{s.Minute, s.Day}[i])
	}
}

// overBudgetError means that the budget rejected a request.
type overBudgetError struct {
	error
	wait time.Duration // until the budget allows it; 0: never
}

func (e overBudgetError) Unwrap() error { return e.error }

// IsOverBudget reports whether a request was not sent because it exceeded the budget.
func IsOverBudget(err error) bool { return errors.As(err, new(overBudgetError)) }

// BudgetWait returns the time after which the budget allows a request that it rejected. It is 0 if that is never, or if err is another error.
func BudgetWait(err error) time.Duration {
	e, _ := errors.AsType[overBudgetError](err)
	return e.wait
}

// Spent returns the compute units spent in the last minute and in the last day. The day is precise to the minute.
func (b *Budget) Spent() (inMinute, inDay int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, windows := time.Now(), b.windows()
	return sum(windows[0].counted(now, b.spent.Minute)), sum(windows[1].counted(now, b.spent.Day))
}

// Units returns the cost of a request in compute units, by its op. An unknown op costs as much as the most expensive method.
func Units(op string) int {
	if m := methodOf(op); m != nil {
		return m.Units
	}
	return xl
}

func methodOf(op string) *scrape.Method {
	for _, m := range methods {
		if m.Op() == op {
			return m
		}
	}
	return nil
}

// window is the past minute or day. All units spent within one step expire together. Their age counts from the end of the step, so their sum
// is never too small.
type window struct {
	name         string
	length, step time.Duration
	limit        int
	spent        *[]Spending
}

// counted returns the spendings that count now. A clock that was wrong must not block the budget for longer than the window.
func (w window) counted(now time.Time, all []Spending) (counted []Spending) {
	for _, s := range all {
		if left := s.Until.Sub(now); left > 0 && left <= w.length+w.step && s.Units > 0 {
			counted = append(counted, Spending{now.Add(left), s.Units}) // now has a monotonic reading, a stored time has none
		}
	}
	return counted
}

func sum(all []Spending) (units int) {
	for _, s := range all {
		units += s.Units
	}
	return units
}

// add counts units that are spent now.
func (w window) add(now time.Time, units int) {
	all := w.counted(now, *w.spent)
	if last := len(all) - 1; last >= 0 && !all[last].Until.Before(now.Add(w.length)) {
		all[last].Units += units
	} else {
		all = append(all, Spending{now.Add(w.length + w.step), units})
	}
	*w.spent = all
}

// check returns an error if the spent units, those of others and this many more exceed the limit of the window.
func (w window) check(now time.Time, units int, others []Spending) error {
	all := slices.Concat(w.counted(now, *w.spent), w.counted(now, others))
	spent := sum(all)
	if w.limit <= 0 || spent+units <= w.limit {
		return nil
	}
	if units > w.limit {
		return overBudgetError{scrape.Advise(fmt.Errorf("the call costs %d compute units, and the budget is %d per %s", units, w.limit, w.name), raiseBudget), 0}
	}
	slices.SortFunc(all, func(a, b Spending) int { return a.Until.Compare(b.Until) })
	left := spent
	var wait time.Duration
	for _, s := range all {
		if left+units <= w.limit {
			break
		}
		left -= s.Units
		wait = s.Until.Sub(now)
	}
	wait = max(time.Second, time.Duration(math.Ceil(wait.Seconds()))*time.Second)
	return overBudgetError{scrape.Advise(fmt.Errorf("the call costs %d compute units, but %d of the budget of %d per %s are spent: wait %s", units, spent,
		w.limit, w.name, wait), raiseBudget), wait}
}

const raiseBudget = "The exporter continues when the budget allows it. If it persists, monitor less, use longer periods (AVAX_SCHEDULES), or raise " +
	"AVAX_DATA_BUDGET to the limit of your key."

// Need is the compute units that a schedule needs.
type Need struct {
	PerMinute int // in the worst minute
	PerDay    int // in the worst day
}

// Plan returns the maximum cost of a schedule, without retries and shared answers. At each of its ticks, it makes these numbers of calls, by
// scrape.Method.Op; each page of a list is one call. Shortest is the shortest time between two ticks. The calls of one tick may take up to half
// of it, so a minute or a day can have those of one more tick. The error names every unknown method.
func Plan(calls map[string]int, shortest time.Duration, inADay int) (Need, error) {
	var need Need
	var errs []error
	inAMinute := int((time.Minute+shortest/2-1)/shortest) + 1
	for op, n := range calls {
		m := methodOf(op)
		if m == nil {
			errs = append(errs, fmt.Errorf("%s: the data service has no such method", op))
			continue
		}
		need.PerMinute += inAMinute * n * m.Units
		need.PerDay += (inADay + 1) * n * m.Units
	}
	return need, errors.Join(errs...)
}

var (
	budgetUnits = prometheus.NewDesc("avax_exporter_data_budget_units",
		"Maximum number of compute units that the exporter spends at the Data service within any minute and within any day.", []string{"window"}, nil)
	spentUnits = prometheus.NewDesc("avax_exporter_data_spent_units",
		"Compute units spent at the Data service in the last minute and in the last day.", []string{"window"}, nil)
)

// Describe implements prometheus.Collector.
func (b *Budget) Describe(ch chan<- *prometheus.Desc) {
	ch <- budgetUnits
	ch <- spentUnits
}

// Collect implements prometheus.Collector.
func (b *Budget) Collect(ch chan<- prometheus.Metric) {
	inMinute, inDay := b.Spent()
	for _, w := range []struct {
		name         string
		limit, spent int
	}{{"minute", b.PerMinute, inMinute}, {"day", b.PerDay, inDay}} {
		if w.limit > 0 {
			ch <- prometheus.MustNewConstMetric(budgetUnits, prometheus.GaugeValue, float64(w.limit), w.name)
		}
		ch <- prometheus.MustNewConstMetric(spentUnits, prometheus.GaugeValue, float64(w.spent), w.name)
	}
}
