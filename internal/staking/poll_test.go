package staking_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// drawViews draws views, in whole percents as peers send them.
func drawViews(t *rapid.T) []staking.View {
	n := rapid.IntRange(0, 12).Draw(t, "views")
	views := make([]staking.View, n)
	for i := range views {
		views[i] = staking.View{
			NodeID: fmt.Sprintf("NodeID-%02d", i),
			Stake:  rapid.Uint64Range(0, 5).Draw(t, "stake") * 1e15,
			Uptime: float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100,
		}
	}
	return views
}

// The count uses integers: percents, and stake in units.
func TestPollMatchesAnExactCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := drawViews(t)
		percent := rapid.IntRange(0, 101).Draw(t, "requirement")
		requirement := float64(percent) / 100
		silent := rapid.Uint64Range(0, 40).Draw(t, "stake of which no view is known") * 1e15

		var known, yes, weighted uint64
		var no []staking.View
		for _, v := range views {
			seen := int(math.Round(v.Uptime * 100))
			known += v.Stake / 1e15
			weighted += v.Stake / 1e15 * uint64(seen)
			if seen >= percent {
				yes += v.Stake / 1e15
			} else if v.Stake > 0 {
				no = append(no, v)
			}
		}
		total := known + silent/1e15
		poll := staking.NewPoll(views, known*1e15+silent)

		if mean, ok := poll.Uptime(); ok != (known > 0) || ok && math.Abs(mean-float64(weighted)/float64(known)/100) > 1e-12 {
			t.Fatalf("uptime %v %v, counted %d percents of %d", mean, ok, weighted, known)
		}
		of := func(part uint64) float64 {
			if total == 0 {
				return 0
			}
			return float64(part) / float64(total)
		}
		if got := poll.Yes(requirement); math.Abs(got-of(yes)) > 1e-12 {
			t.Fatalf("yes %v, counted %d of %d", got, yes, total)
		}
		if got := poll.Known(); math.Abs(got-of(known)) > 1e-12 {
			t.Fatalf("known %v, counted %d of %d", got, known, total)
		}
		slices.SortFunc(no, func(a, b staking.View) int {
			return cmp.Or(cmp.Compare(b.Stake, a.Stake), cmp.Compare(a.NodeID, b.NodeID))
		})
		n := rapid.IntRange(-1, 14).Draw(t, "dissenters")
		want := no[:min(max(n, 0), len(no))]
		if got := poll.Dissenters(requirement, n); !slices.Equal(got, want) {
			t.Fatalf("dissenters %v, counted %v", got, want)
		}
	})
}

// As floats, 1 - 0.1 - 0.1 and the quotient of large stakes may differ from 0.8.
func TestFourFifthsOfAnyStakeEqual80Percent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fifth := rapid.Uint64Range(1, math.MaxUint64/5).Draw(t, "a fifth")
		poll := staking.NewPoll([]staking.View{{NodeID: "a", Stake: 4 * fifth, Uptime: 1}, {NodeID: "b", Stake: fifth}}, 5*fifth)
		if mean, _ := poll.Uptime(); mean != 0.8 || poll.Yes(0.9) != 0.8 {
			t.Fatalf("uptime %v, yes %v", mean, poll.Yes(0.9))
		}
	})
}

func TestPollWithoutStake(t *testing.T) {
	for name, views := range map[string][]staking.View{"no views": nil, "no stake": {{NodeID: "a", Uptime: 1}}} {
		p := staking.NewPoll(views, 0)
		if mean, known := p.Uptime(); known || mean != 0 || p.Known() != 0 || p.Yes(0) != 0 || len(p.Dissenters(1, 9)) != 0 {
			t.Errorf("%s: %v %v", name, mean, known)
		}
	}
	if known := staking.NewPoll([]staking.View{{NodeID: "a", Stake: 2}}, 1).Known(); known != 1 {
		t.Errorf("known %v: the total is at least the known stake", known)
	}
}
