package data

import (
	"cmp"
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
	// Save, if set, is called with what was spent before each request. Restore reads it after a restart.
	Save func(Spendings)
	// Others, if set, returns what other processes of this machine have spent and still counts. It is called before each request.
	Others func() Spendings

	admitting sync.Mutex // locked by Admit, also while it waits for Others and Save

	mu          sync.Mutex
	began       time.Time
	minute, day window
}

// windows returns both windows and the time since the first use. The first call creates the windows.
func (b *Budget) windows() (now time.Duration, all []*window) {
	if b.began.IsZero() {
		b.began = time.Now()
		b.minute = window{name: "minute", length: time.Minute, step: 10 * time.Millisecond}
		b.day = window{name: "day", length: 24 * time.Hour, step: time.Minute}
	}
	b.minute.limit, b.day.limit = b.PerMinute, b.PerDay
	now = time.Since(b.began)
	b.minute.forget(now)
	b.day.forget(now)
	return now, []*window{&b.minute, &b.day}
}

// Admit spends the cost of a request. If the cost exceeds the rest of the budget, Admit spends nothing and returns a
// *scrape.Error with the outcome rate_limited.
func (b *Budget) Admit(_ context.Context, op string) error {
	b.admitting.Lock()
	defer b.admitting.Unlock()
	var others Spendings
	if b.Others != nil {
		others = b.Others()
	}
	spent, err := b.spend(Units(op), others)
	if err != nil {
		return &scrape.Error{Op: op, Outcome: scrape.RateLimited, Err: err}
	}
	if b.Save != nil {
		b.Save(spent)
	}
	return nil
}

// spend spends units, if the budget allows it, and returns what counts then.
func (b *Budget) spend(units int, others Spendings) (Spendings, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, windows := b.windows()
	for i, w := range windows {
		if err := w.with(b.began, [][]Spending{others.Minute, others.Day}[i]).check(now, units); err != nil {
			return Spendings{}, err
		}
	}
	for _, w := range windows {
		w.spend(now, units)
	}
	return Spendings{b.minute.saved(b.began), b.day.saved(b.began)}, nil
}

// Spendings are the units that were spent, by the time at which they no longer count.
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
	b.windows()
	b.minute.restore(b.began, s.Minute)
	b.day.restore(b.began, s.Day)
}

func (w *window) saved(began time.Time) (all []Spending) {
	for _, s := range w.spendings {
		all = append(all, Spending{began.Add(s.leaves).Round(0), s.units})
	}
	return all
}

func (w *window) restore(began time.Time, all []Spending) {
	now := time.Since(began)
	for _, s := range all {
		// A clock that was wrong must not block the budget for longer than the window.
		if leaves := s.Until.Sub(began); leaves > now && leaves-now <= w.length+w.step && s.Units > 0 {
			w.spent += s.Units
			w.spendings = append(w.spendings, spending{leaves, s.Units})
		}
	}
}

// with returns the window with what others spent.
func (w *window) with(began time.Time, others []Spending) *window {
	if len(others) == 0 {
		return w
	}
	all := *w
	all.spendings = slices.Clone(w.spendings)
	all.restore(began, others)
	slices.SortStableFunc(all.spendings, func(a, b spending) int { return cmp.Compare(a.leaves, b.leaves) })
	return &all
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
	b.windows()
	return b.minute.spent, b.day.spent
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

// window sums the units spent in the past minute or day. All units spent within one step expire together. Their age counts from
// the end of the step, so the sum is never too small.
type window struct {
	name         string
	length, step time.Duration
	limit        int
	spent        int
	spendings    []spending // oldest first
}

type spending struct {
	leaves time.Duration
	units  int
}

func (w *window) forget(now time.Duration) {
	for len(w.spendings) > 0 && w.spendings[0].leaves <= now {
		w.spent -= w.spendings[0].units
		w.spendings = w.spendings[1:]
	}
}

func (w *window) spend(now time.Duration, units int) {
	w.spent += units
	leaves := now.Truncate(w.step) + w.step + w.length
	if n := len(w.spendings); n > 0 && w.spendings[n-1].leaves == leaves {
		w.spendings[n-1].units += units
		return
	}
	w.spendings = append(w.spendings, spending{leaves, units})
}

// check returns an error if the spent units and this many more exceed the limit of the window.
func (w *window) check(now time.Duration, units int) error {
	if w.limit <= 0 || w.spent+units <= w.limit {
		return nil
	}
	if units > w.limit {
		return overBudgetError{scrape.Advise(fmt.Errorf("the call costs %d compute units, and the budget is %d per %s", units, w.limit, w.name), raiseBudget), 0}
	}
	left := w.spent
	var wait time.Duration
	for _, s := range w.spendings {
		if left+units <= w.limit {
			break
		}
		left -= s.units
		wait = s.leaves - now
	}
	wait = max(time.Second, time.Duration(math.Ceil(wait.Seconds()))*time.Second)
	return overBudgetError{scrape.Advise(fmt.Errorf("the call costs %d compute units, but %d of the budget of %d per %s are spent: wait %s", units, w.spent,
		w.limit, w.name, wait), raiseBudget), wait}
}

const raiseBudget = "The exporter continues when the budget allows it. If it persists, monitor less, use longer periods (AVAX_SCHEDULES), or raise " +
	"AVAX_DATA_BUDGET to the limit of your key."

// Load is a group of requests that repeats.
type Load struct {
	Op    string        // as scrape.Method.Op; each page of a list is one request
	Calls int           // number of requests each time
	Every time.Duration // time between two groups; at least one second
}

// Need is the compute units that loads need.
type Need struct {
	PerMinute int // in the worst minute
	PerDay    int // per day
}

// Estimate sums the maximum cost of loads, without retries and shared answers. The requests of one group may take up to half of
// Load.Every, so requests of two groups can fall into one minute. The error names every invalid load.
func Estimate(loads ...Load) (Need, error) {
	var need Need
	var errs []error
	for _, l := range loads {
		m := methodOf(l.Op)
		switch {
		case m == nil:
			errs = append(errs, fmt.Errorf("%s: the data service has no such method", l.Op))
		case l.Every < time.Second:
			errs = append(errs, fmt.Errorf("%s: period %s is too short: write a second or more", l.Op, l.Every))
		case l.Calls < 0:
			errs = append(errs, fmt.Errorf("%s: %d calls: write 0 or more", l.Op, l.Calls))
		default:
			need.PerMinute += ticks(time.Minute+l.Every/2, l.Every) * l.Calls * m.Units
			need.PerDay += ticks(24*time.Hour+l.Every/2, l.Every) * l.Calls * m.Units
		}
	}
	return need, errors.Join(errs...)
}

// ticks returns the maximum number of events with this period within a span.
func ticks(span, period time.Duration) int { return int((span-1)/period) + 1 }

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
