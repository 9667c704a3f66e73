package data_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

const (
	rewardsOp = "GET /v1/networks/{network}/rewards"                              // 100 units
	nativeOp  = "GET /v1/chains/{chainId}/addresses/{address}/balances:getNative" // 20
	blockOp   = "GET /v1/chains/{chainId}/blocks/{blockId}"                       // 10
)

func TestMinuteBudgetRejectsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &data.Budget{PerMinute: 120}
		requests := 0
		u, err := scrape.New(scrape.Options{Name: "data", URL: "http://data", Admit: b.Admit, Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			return respond(200, string(fixture(t, "block"))), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		c := data.New(u)
		for range 6 {
			must.Get(c.Block(t.Context(), "1", "1"))(t)
		}
		time.Sleep(20 * time.Second)
		for range 6 {
			must.Get(c.Block(t.Context(), "1", "1"))(t)
		}
		_, err = c.Block(t.Context(), "1", "1")
		if want := blockOp + ": rate_limited: the call costs 10 compute units, but 120 of the budget of 120 per minute are spent: wait 41s"; err == nil ||
			err.Error() != want || scrape.OutcomeOf(err) != scrape.RateLimited {
			t.Errorf("got %v", err)
		}
		if minute, day := b.Spent(); minute != 120 || day != 120 || requests != 12 || !u.Healthy() {
			t.Errorf("spent %d and %d with %d requests", minute, day, requests)
		}
		time.Sleep(41 * time.Second)
		if minute, _ := b.Spent(); minute != 60 {
			t.Errorf("a minute after the first: %d spent", minute)
		}
		if _, err = c.Block(t.Context(), "1", "1"); err != nil {
			t.Error(err)
		}
	})
}

func TestDayBudgetRejectsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &data.Budget{PerMinute: 100, PerDay: 250}
		for range 2 {
			must.Do(t, b.Admit(t.Context(), rewardsOp))
			time.Sleep(time.Hour)
		}
		err := b.Admit(t.Context(), rewardsOp)
		if want := rewardsOp + ": rate_limited: the call costs 100 compute units, but 200 of the budget of 250 per day are spent: wait 22h1m0s"; err == nil ||
			err.Error() != want {
			t.Errorf("got %v", err)
		}
		if err := b.Admit(t.Context(), nativeOp); err != nil {
			t.Errorf("smaller request: %v", err)
		}
		time.Sleep(22*time.Hour + time.Minute)
		if err := b.Admit(t.Context(), rewardsOp); err != nil {
			t.Errorf("a day after the first: %v", err)
		}
		if minute, day := b.Spent(); minute != 100 || day != 220 {
			t.Errorf("spent %d and %d", minute, day)
		}
	})
}

// Restarts do not make spent units available again, neither of the minute nor of the day.
func TestBudgetSurvivesRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saved data.Spendings
		spent := 0
		for range 10 {
			b := &data.Budget{PerMinute: 100, PerDay: 250, Save: func(s data.Spendings) { saved = s }}
			b.Restore(saved)
			for b.Admit(t.Context(), nativeOp) == nil {
				spent += 20
			}
			time.Sleep(10 * time.Second)
		}
		if spent != 200 { // 100 in each of the two minutes
			t.Errorf("%d units in 100 s and 10 restarts, want 200", spent)
		}
		time.Sleep(25 * time.Hour)
		b := &data.Budget{PerMinute: 100, PerDay: 250}
		b.Restore(saved)
		if minute, day := b.Spent(); minute != 0 || day != 0 {
			t.Errorf("a day later: %d and %d spent", minute, day)
		}
	})
}

// A scrape reads what was spent while it is stored: a disk may hang.
func TestSpentUnitsAreReadWhileTheyAreStored(t *testing.T) {
	b, stored := &data.Budget{PerMinute: 100}, false
	b.Save = func(data.Spendings) {
		if minute, _ := b.Spent(); minute != 20 {
			t.Errorf("%d units spent", minute)
		}
		stored = true
	}
	if err := b.Admit(t.Context(), nativeOp); err != nil || !stored {
		t.Errorf("stored: %t, %v", stored, err)
	}
}

func TestCallAboveTheWholeBudgetNamesTheReason(t *testing.T) {
	err := (&data.Budget{PerMinute: 50}).Admit(t.Context(), rewardsOp)
	if want := rewardsOp + ": rate_limited: the call costs 100 compute units, and the budget is 50 per minute"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := new(data.Budget).Admit(t.Context(), rewardsOp); err != nil {
		t.Errorf("without limits: %v", err)
	}
}

func TestRetriesCostUnitsAndSharedAnswersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, requests := &data.Budget{}, 0
		u, err := scrape.New(scrape.Options{URL: "http://data", Admit: b.Admit, Transport: transport(func(*http.Request) (*http.Response, error) {
			if requests++; requests < 3 {
				return respond(502, ""), nil
			}
			return respond(200, string(fixture(t, "block"))), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			must.Get(data.New(u).Block(scrape.MaxAge(t.Context(), time.Minute), "1", "1"))(t)
		}
		if minute, _ := b.Spent(); minute != 30 || requests != 3 {
			t.Errorf("%d units for %d requests", minute, requests)
		}
	})
}

func TestNoWindowExceedsTheBudget(t *testing.T) {
	type call struct {
		pause time.Duration
		op    string
	}
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(100, 400).Draw(r, "limit")
		b, window, longest := &data.Budget{PerMinute: limit}, time.Minute, 20*time.Second
		if rapid.Bool().Draw(r, "day") {
			b, window, longest = &data.Budget{PerDay: limit}, 24*time.Hour, 8*time.Hour
		}
		calls := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) call {
			return call{time.Duration(rapid.Int64Range(0, int64(longest)).Draw(r, "pause")), rapid.SampledFrom([]string{rewardsOp, nativeOp, blockOp}).Draw(r, "op")}
		}), 1, 60).Draw(r, "calls")

		var problem string
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var at []time.Duration
			var units []int
			for _, c := range calls {
				time.Sleep(c.pause)
				if b.Admit(t.Context(), c.op) == nil {
					at, units = append(at, time.Since(began)), append(units, data.Units(c.op))
				}
			}
			for last := range at {
				sum := 0
				for i := range last + 1 {
					if at[last]-at[i] < window {
						sum += units[i]
					}
				}
				if sum > limit {
					problem = fmt.Sprintf("%d units within %s, %d are allowed: %v at %v", sum, window, limit, units, at)
				}
			}
			if minute, day := b.Spent(); minute > day {
				problem = fmt.Sprintf("%d in a minute, %d in a day", minute, day)
			}
		})
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

func TestPlanAddsUpCalls(t *testing.T) {
	for _, c := range []struct {
		calls    map[string]int
		shortest time.Duration
		inADay   int
		want     data.Need
	}{
		{map[string]int{rewardsOp: 3, nativeOp: 1}, time.Hour, 24, data.Need{PerMinute: 320, PerDay: 25 * 320}},
		{map[string]int{blockOp: 2}, 15 * time.Second, 5760, data.Need{PerMinute: 80 + 20, PerDay: 1440*80 + 20}}, // 20 of a run that started before
		{map[string]int{blockOp: 0}, time.Second, 86400, data.Need{}},
	} {
		if need, err := data.Plan(c.calls, c.shortest, c.inADay); need != c.want || err != nil {
			t.Errorf("%v: got %+v, want %+v, %v", c.calls, need, c.want, err)
		}
	}
	if _, err := data.Plan(map[string]int{"GET /v1/x": 1, blockOp: 1}, time.Hour, 24); err == nil || err.Error() != "GET /v1/x: the data service has no such method" {
		t.Errorf("got %v", err)
	}
}

// TestNoScheduleExceedsItsPlan simulates every tick of some days, with any start and duration of the runs.
func TestNoScheduleExceedsItsPlan(t *testing.T) {
	const day = 24 * time.Hour
	rapid.Check(t, func(r *rapid.T) {
		units := 0 // per tick
		calls := map[string]int{}
		for _, op := range []string{rewardsOp, nativeOp, blockOp} {
			calls[op] = rapid.IntRange(0, 5).Draw(r, "calls")
			units += calls[op] * data.Units(op)
		}
		every := time.Duration(rapid.IntRange(20, 3*86400).Draw(r, "every")) * time.Second
		begin := time.Duration(rapid.Int64Range(0, int64(every)-1).Draw(r, "begin"))
		need, err := data.Plan(calls, every, int((day+every-1)/every))
		if err != nil {
			r.Fatal(err)
		}
		within := func(from, span time.Duration) (sum int) { // for the ticks that can send requests in it
			first := begin
			if since := from - every/2; since > first {
				first += (since - first + every - 1) / every * every
			}
			for at := first; at < from+span; at += every {
				sum += units
			}
			return sum
		}
		// The worst case begins half a period after a tick. The plan for a day may have one more tick.
		if worst := begin + every/2; within(worst, time.Minute) != need.PerMinute || need.PerDay-within(worst, day) > units {
			r.Fatalf("the worst case is %d a minute and %d a day, the plan says %+v", within(worst, time.Minute), within(worst, day), need)
		}
		for range 5 {
			from := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(r, "from"))
			if minute, day := within(from, time.Minute), within(from, day); minute > need.PerMinute || day > need.PerDay {
				r.Fatalf("%d within a minute and %d within a day, the plan says %+v", minute, day, need)
			}
		}
	})
}

// Two processes that count what the other one spent stay within one budget together, and each learns how long to wait.
func TestTwoProcessesShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored := map[string]data.Spendings{}
		budgetOf := func(own, other string) *data.Budget {
			return &data.Budget{
				PerMinute: 1000,
				PerDay:    100_000,
				Save:      func(s data.Spendings) { stored[own] = s },
				Others:    func() data.Spendings { return stored[other] },
			}
		}
		exporter, command := budgetOf("exporter", "command"), budgetOf("command", "exporter")
		op := data.ListRewards.Op()
		spent, waited := map[int64]int{}, time.Duration(0)
		for range 400 {
			for _, b := range []*data.Budget{exporter, command} {
				err := b.Admit(t.Context(), op)
				for err != nil {
					wait := data.BudgetWait(err)
					if wait <= 0 || wait > time.Minute+time.Second {
						t.Fatalf("wait %v: %v", wait, err)
					}
					waited += wait
					time.Sleep(wait)
					err = b.Admit(t.Context(), op)
				}
				spent[time.Now().Unix()/60] += data.Units(op)
			}
		}
		for minute, units := range spent {
			if units > 2*1000 {
				t.Errorf("minute %d: %d units", minute, units)
			}
		}
		if average := 80_000 / time.Duration(waited.Minutes()+1); average > 1100 || waited < 60*time.Minute {
			t.Errorf("waited %v: %v", waited, spent)
		}
		if data.BudgetWait((&data.Budget{PerMinute: 10}).Admit(t.Context(), op)) != 0 {
			t.Error("a call above the whole budget never fits")
		}
	})
}

// Both have read what the other one had spent before either of them spends.
func TestTwoProcessesAtTheSameMomentStayWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		stored := map[string]data.Spendings{}
		op := data.ListRewards.Op()
		admitted := 0
		var all sync.WaitGroup
		for own, other := range map[string]string{"exporter": "command", "command": "exporter"} {
			b := &data.Budget{
				PerMinute: 100 * data.Units(op),
				Save: func(s data.Spendings) {
					mu.Lock()
					defer mu.Unlock()
					stored[own] = s
				},
				Others: func() data.Spendings {
					mu.Lock()
					s := stored[other]
					mu.Unlock()
					time.Sleep(time.Millisecond)
					return s
				},
			}
			all.Go(func() {
				for range 200 {
					if b.Admit(t.Context(), op) == nil {
						mu.Lock()
						admitted++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		if admitted > 100 || admitted < 90 {
			t.Errorf("%d requests admitted in a minute, the budget has 100", admitted)
		}
	})
}
