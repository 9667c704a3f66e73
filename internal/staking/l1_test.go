package staking_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// A top-up also replaces the amount that was burned since the balances were read.
func TestTopUpsLastTheRequestedDaysFromNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Uint64Range(1, 1<<20).Draw(t, "nAVAX a second")
		balance := rapid.Uint64Range(1, 1<<50).Draw(t, "balance in nAVAX")
		days := rapid.IntRange(1, 3650).Draw(t, "days")
		age := rapid.IntRange(-600, 86400).Draw(t, "seconds since the balances were told")
		l1 := staking.L1{At: day0, Set: []staking.Validator{{ID: "a", Balance: balance, Burn: float64(price)}}}
		now := at(age)
		plan, sum := l1.TopUps(days, now)
		if len(plan) > 0 && plan[0].Amount != sum {
			t.Errorf("%v sums up to %d", plan, sum)
		}
		keep := float64(days * 86400)
		lasts := func(balance uint64) float64 {
			left, _ := staking.Runway(balance, float64(price))
			return l1.Left(left, now)
		}
		if left := lasts(balance + sum); left < keep && age >= 0 {
			t.Errorf("balance %d and top-up %d nAVAX last %v s from now, want %v", balance, sum, left, keep)
		}
		if sum > 0 && age >= 0 && lasts(balance+sum-1) >= keep {
			t.Errorf("one nAVAX less than %d is enough", sum)
		}
	})
}

func TestUnknownBalanceTimeCountsAsNow(t *testing.T) {
	l1 := staking.L1{Set: []staking.Validator{{ID: "a", Balance: 1, Burn: 1}, {ID: "old", Legacy: true}}}
	if got := l1.Left(time.Hour, day0); got != 3600 {
		t.Errorf("%v s left of an hour", got)
	}
	if _, sum := l1.TopUps(1, day0); sum != 86400-1 {
		t.Errorf("a day costs %d nAVAX more", sum)
	}
}

func TestTopUpSumSaturates(t *testing.T) {
	dear := staking.Validator{Burn: 1e300}
	if _, sum := (&staking.L1{Set: []staking.Validator{dear, dear}}).TopUps(1, day0); sum != math.MaxUint64 {
		t.Errorf("the sum is %d", sum)
	}
}
