package staking_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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

func TestPollIgnoresTheOrderOfViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := drawViews(t)
		total := rapid.Uint64Range(0, 1e17).Draw(t, "total")
		a, b := staking.NewPoll(views, total), staking.NewPoll(rapid.Permutation(views).Draw(t, "reordered"), total)
		meanA, knownA := a.Uptime()
		meanB, knownB := b.Uptime()
		if meanA != meanB || knownA != knownB || a.Known() != b.Known() || a.Yes(0.9) != b.Yes(0.9) {
			t.Fatalf("%v %v %v, reordered %v %v %v", meanA, a.Known(), a.Yes(0.9), meanB, b.Known(), b.Yes(0.9))
		}
		if diff := gocmp.Diff(a.Dissenters(0.9, 5), b.Dissenters(0.9, 5)); diff != "" {
			t.Fatal(diff)
		}
	})
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

func TestUptimeAtTheRequirementVotesYes(t *testing.T) {
	for percent := range 101 {
		for _, uptime := range []float64{float64(percent) / 100, float64(percent) * 0.01, 1 - float64(100-percent)*0.01} {
			if staking.NewPoll([]staking.View{{NodeID: "a", Stake: 1, Uptime: uptime}}, 1).Yes(float64(percent)/100) != 1 {
				t.Errorf("%v votes no at %v", uptime, float64(percent)/100)
			}
		}
	}
}

func TestPollCopiesItsViews(t *testing.T) {
	views := []staking.View{{NodeID: "small", Stake: 1, Uptime: 0.1}, {NodeID: "large", Stake: 2, Uptime: 0.1}}
	before := slices.Clone(views)
	poll := staking.NewPoll(views, 3)
	poll.Dissenters(0.9, 2)[0].Uptime = 1
	if diff := gocmp.Diff(before, views); diff != "" {
		t.Error("views of the caller changed:", diff)
	}
	clear(views)
	if yes := poll.Yes(0.1); yes != 1 {
		t.Errorf("yes %v after the caller reused its slice", yes)
	}
	if yes := poll.Yes(0.9); yes != 0 {
		t.Errorf("yes %v after the caller changed a result", yes)
	}
}

func TestPollOfInvalidViews(t *testing.T) {
	empty := staking.NewPoll(nil, 0)
	if mean, known := empty.Uptime(); known || mean != 0 || empty.Known() != 0 || empty.Yes(0) != 0 || len(empty.Dissenters(1, 9)) != 0 {
		t.Error("result of a poll without views")
	}
	odd := staking.NewPoll([]staking.View{
		{NodeID: "not a number", Stake: 9, Uptime: math.NaN()},
		{NodeID: "no stake", Uptime: 0},
		{NodeID: "above all", Stake: 1, Uptime: 7},
		{NodeID: "below nothing", Stake: 1, Uptime: -7},
	}, 1)
	if mean, known := odd.Uptime(); mean != 0.5 || !known {
		t.Errorf("uptime %v %v, want that of the two valid views", mean, known)
	}
	if odd.Known() != 1 {
		t.Errorf("known %v: total must be at least the known stake", odd.Known())
	}
	want := []staking.View{{NodeID: "below nothing", Stake: 1}}
	if diff := gocmp.Diff(want, odd.Dissenters(0.9, 9)); diff != "" {
		t.Error(diff)
	}
}
