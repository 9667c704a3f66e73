package staking_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// drawSet draws an L1 whose balances last up to a minute, for a simulation in steps of a second. Burn rates are whole numbers, so the
// simulation is exact.
func drawSet(t *rapid.T, limit int) []staking.Validator {
	set := make([]staking.Validator, rapid.IntRange(0, limit).Draw(t, "validators"))
	for i := range set {
		set[i] = staking.Validator{
			ID:      fmt.Sprintf("v%02d", i),
			Weight:  rapid.Uint64Range(0, 20).Draw(t, "weight"),
			Balance: rapid.Uint64Range(0, 60).Draw(t, "balance"),
			Burn:    float64(rapid.IntRange(0, 7).Draw(t, "burn")),
			Legacy:  rapid.IntRange(0, 4).Draw(t, "legacy if 0") == 0,
		}
	}
	return set
}

// activeAfter burns balances second by second; the first second burns nothing.
func activeAfter(set []staking.Validator, seconds int) (ids []string, active, total uint64) {
	for _, v := range set {
		total += v.Weight
		balance := v.Balance
		for range seconds {
			balance -= min(uint64(v.Burn), balance)
		}
		if v.Legacy || balance > 0 {
			ids = append(ids, v.ID)
			active += v.Weight
		}
	}
	return ids, active, total
}

func TestL1ResultsIgnoreValidatorOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t, 8)
		other := rapid.Permutation(set).Draw(t, "reordered")
		keep := time.Duration(rapid.IntRange(0, 90).Draw(t, "keep")) * time.Second
		if diff := gocmp.Diff(staking.RunOuts(set), staking.RunOuts(other)); diff != "" {
			t.Fatal("run-outs:", diff)
		}
		if diff := gocmp.Diff(staking.Plan(set, keep), staking.Plan(other, keep)); diff != "" {
			t.Fatal("plan:", diff)
		}
		a, lostA := staking.QuorumLoss(set, 0.67)
		b, lostB := staking.QuorumLoss(other, 0.67)
		if a != b || lostA != lostB {
			t.Fatal("quorum:", a, lostA, b, lostB)
		}
	})
}

func TestQuorumLossMatchesASimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t, 8)
		percent := rapid.SampledFrom([]uint64{0, 67, 75, 80, 100}).Draw(t, "quorum")
		below := func(second int) bool {
			_, active, total := activeAfter(set, second)
			return active*100 < percent*total
		}
		second := 0
		for second < 62 && !below(second) {
			second++
		}
		after, lost := staking.QuorumLoss(set, float64(percent)/100)
		if lost != (second < 62) {
			t.Fatalf("lost %v after %v, in the simulation after %d s of 62", lost, after, second)
		}
		if seen := time.Duration(second) * time.Second; lost && (after > seen || after <= seen-time.Second) {
			t.Fatalf("lost after %v, in the simulation between %d and %d s", after, second-1, second)
		}
	})
}

// lasts reports, with integers, whether a balance is above 0 at each time before keep. The burn rate is in halves of a nAVAX
// per second.
func lasts(balance uint64, halves, keep int) bool {
	return balance > 0 && int(balance)*2 >= halves*keep
}

func TestPlanIsTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t, 3)
		halves := make([]int, len(set))
		for i := range set {
			halves[i] = rapid.IntRange(0, 5).Draw(t, "halves burned")
			set[i].Burn = float64(halves[i]) / 2
			set[i].Balance = rapid.Uint64Range(0, 12).Draw(t, "small balance")
		}
		keep := rapid.IntRange(1, 5).Draw(t, "keep")

		// Each parameter has all values up to 13. This is enough for 5 s at 2.5 per second.
		cheapest := math.MaxInt
		ways := 1
		for range set {
			ways *= 14
		}
		for way := range ways {
			cost, kept := 0, true
			for i, v := range set {
				amount := way % 14
				way /= 14
				cost += amount
				kept = kept && (v.Legacy || lasts(v.Balance+uint64(amount), halves[i], keep))
			}
			if kept {
				cheapest = min(cheapest, cost)
			}
		}

		plan := staking.Plan(set, time.Duration(keep)*time.Second)
		cost := 0
		for _, top := range plan {
			i := slices.IndexFunc(set, func(v staking.Validator) bool { return v.ID == top.ID })
			if set[i].Legacy || top.Amount == 0 {
				t.Fatalf("%+v is not needed", top)
			}
			cost += int(top.Amount)
			set[i].Balance += top.Amount
		}
		for i, v := range set {
			if !v.Legacy && !lasts(v.Balance, halves[i], keep) {
				t.Fatalf("%+v does not last %d s after %+v", v, keep, plan)
			}
		}
		if cost != cheapest {
			t.Fatalf("%+v costs %d, the cheapest %d", plan, cost, cheapest)
		}
	})
}

func TestPlanIsSortedByRunOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t, 8)
		keep := time.Duration(rapid.IntRange(1, 90).Draw(t, "keep")) * time.Second
		var want []string // first the inactive ones, then by run-out
		for _, v := range set {
			if !v.Active() {
				want = append(want, v.ID)
			}
		}
		for _, out := range staking.RunOuts(set) {
			if out.After < keep {
				want = append(want, out.ID)
			}
		}
		var got []string
		for _, top := range staking.Plan(set, keep) {
			got = append(got, top.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("plan for %v, want %v", got, want)
		}
	})
}

func TestPlannedSetKeepsItsQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t, 8)
		keep := time.Duration(rapid.IntRange(1, 90).Draw(t, "keep")) * time.Second
		for _, top := range staking.Plan(set, keep) {
			i := slices.IndexFunc(set, func(v staking.Validator) bool { return v.ID == top.ID })
			set[i].Balance += top.Amount
		}
		if after, lost := staking.QuorumLoss(set, 1); lost && after < keep {
			t.Fatalf("quorum lost after %v, planned for %v", after, keep)
		}
		if again := staking.Plan(set, keep); len(again) != 0 {
			t.Fatalf("plan after the top-ups: %+v", again)
		}
	})
}

func TestRunwayOfExtremeInput(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		balance uint64
		burn    float64
		left    time.Duration
		ends    bool
	}{
		{0, 512, 0, true},
		{512, 512, time.Second, true},
		{math.MaxUint64, 1, math.MaxInt64, true},
		{1 << 63, 1e9, math.MaxInt64, true}, // the conversion to float64 would make it 1 ns too long
		{1, 1e-300, math.MaxInt64, true},
		{1, math.SmallestNonzeroFloat64, math.MaxInt64, true},
		{1, inf, 0, true},
		{1, 0, math.MaxInt64, false},
		{0, 0, math.MaxInt64, false},
		{1, -1, math.MaxInt64, false},
		{1, nan, math.MaxInt64, false},
	} {
		if left, ends := staking.Runway(c.balance, c.burn); left != c.left || ends != c.ends {
			t.Errorf("%d at %v: %v %v, want %v %v", c.balance, c.burn, left, ends, c.left, c.ends)
		}
	}
}

func TestL1OfExtremeInput(t *testing.T) {
	if outs := staking.RunOuts(nil); len(outs) != 0 {
		t.Error(outs)
	}
	if plan := staking.Plan(nil, time.Hour); len(plan) != 0 {
		t.Error(plan)
	}
	dry := staking.Validator{ID: "dry", Weight: 1, Burn: 512}
	for name, c := range map[string]struct {
		set    []staking.Validator
		quorum float64
		lost   bool
	}{
		"empty set":      {nil, 0.8, false},
		"no weight":      {[]staking.Validator{{ID: "a"}}, 0.8, false},
		"quorum 0":       {[]staking.Validator{dry}, 0, false},
		"quorum NaN":     {[]staking.Validator{dry}, math.NaN(), false},
		"quorum above 1": {[]staking.Validator{{ID: "a", Weight: 1, Legacy: true}}, 1.1, true},
	} {
		if after, lost := staking.QuorumLoss(c.set, c.quorum); after != 0 || lost != c.lost {
			t.Errorf("%s: %v %v, want lost %v", name, after, lost, c.lost)
		}
	}
	for name, c := range map[string]struct {
		v    staking.Validator
		keep time.Duration
		want []staking.TopUp
	}{
		"keep 0":                      {dry, 0, nil},
		"keep below 0":                {dry, -time.Hour, nil},
		"active again for a moment":   {staking.Validator{ID: "a", Burn: 1e-9}, 1, []staking.TopUp{{ID: "a", Amount: 1}}},
		"inactive and nothing burned": {staking.Validator{ID: "a"}, time.Hour, []staking.TopUp{{ID: "a", Amount: 1}}},
		"inactive and burn NaN":       {staking.Validator{ID: "a", Burn: math.NaN()}, time.Hour, []staking.TopUp{{ID: "a", Amount: 1}}},
		"more than the maximum balance": {staking.Validator{ID: "a", Balance: 5, Burn: 1e12}, math.MaxInt64,
			[]staking.TopUp{{ID: "a", Amount: math.MaxUint64 - 5}}},
		"more than the supply": {staking.Validator{ID: "a", Balance: 5, Burn: 1e19}, time.Second,
			[]staking.TopUp{{ID: "a", Amount: math.MaxUint64 - 5}}},
		"infinite burn":                     {staking.Validator{ID: "a", Balance: 5, Burn: math.Inf(1)}, 1, []staking.TopUp{{ID: "a", Amount: math.MaxUint64 - 5}}},
		"infinite burn and maximum balance": {staking.Validator{ID: "a", Balance: math.MaxUint64, Burn: math.Inf(1)}, 1, nil},
		"legacy with balance 0":             {staking.Validator{ID: "a", Burn: 512, Legacy: true}, time.Hour, nil},
	} {
		got := staking.Plan([]staking.Validator{c.v}, c.keep)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
