package staking_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

var day0 = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return day0.Add(time.Duration(seconds) * time.Second) }

func TestRequirementFollowsThePeriodStart(t *testing.T) {
	helicon := day0
	for _, c := range []struct {
		start   time.Time
		helicon *time.Time
		want    float64
	}{
		{helicon.Add(-time.Nanosecond), &helicon, 0.8},
		{helicon, &helicon, 0.9},
		{helicon.In(time.FixedZone("", 3600)), &helicon, 0.9},
		{helicon.AddDate(1, 0, 0), &helicon, 0.9},
		{helicon, nil, 0.8},
	} {
		if got := staking.Requirement(c.start, c.helicon); got != c.want {
			t.Errorf("period from %v, Helicon at %v: %v, want %v", c.start, c.helicon, got, c.want)
		}
	}
}

func TestRequirementExactlyMetIsReachable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := 10 * rapid.IntRange(1, 366*24*360).Draw(t, "tenths of the length")
		elapsed := rapid.IntRange(length/5, length).Draw(t, "elapsed")
		c := rapid.SampledFrom([]struct {
			requirement float64
			tenths      int
		}{{0.9, 1}, {0.8, 2}}).Draw(t, "requirement")
		budget := func(down int) staking.DowntimeBudget {
			p := staking.Period{Start: at(0), End: at(length)}
			return staking.NewDowntimeBudget(p, at(elapsed), float64(elapsed-down)/float64(elapsed), c.requirement)
		}

		if b := budget(length / 10 * c.tenths); !b.Reachable() || left(b) != 0 || b.Used != b.Allowed {
			t.Fatalf("with exactly the allowed downtime: %+v", b)
		}
		if elapsed > length/10*c.tenths {
			if b := budget(length/10*c.tenths + 1); b.Reachable() || left(b) != 0 {
				t.Fatalf("one second more: %+v", b)
			}
		}
		if b := budget(length/10*c.tenths - 1); !b.Reachable() || left(b) != time.Second {
			t.Fatalf("one second less: %+v", b)
		}
	})
}

func TestBudgetOutsideThePeriod(t *testing.T) {
	ten := staking.Period{Start: at(0), End: at(10)}
	type b = staking.DowntimeBudget
	for name, c := range map[string]struct {
		period staking.Period
		now    time.Time
		want   staking.DowntimeBudget
	}{
		"before the start": {ten, at(-5), b{time.Second, 0}},
		"after the end":    {ten, at(1000), b{time.Second, 5 * time.Second}},
		"reversed":         {staking.Period{Start: at(10), End: at(0)}, at(5), b{}},
		"no length":        {staking.Period{Start: at(10), End: at(10)}, at(10), b{}},
	} {
		if got := staking.NewDowntimeBudget(c.period, c.now, 0.5, 0.9); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// left returns the downtime that the period still allows.
func left(b staking.DowntimeBudget) time.Duration { return max(b.Allowed-b.Used, 0) }
