package staking_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// fewest tries all groupings.
func fewest(sizes [][]uint64, room []uint64) int {
	best, at := len(sizes), make([]int, len(sizes)) // group of each item
	var try func(item, groups int)
	try = func(item, groups int) {
		if item == len(sizes) {
			for g := range groups {
				for d, free := range room {
					sum := uint64(0)
					for i, size := range sizes {
						if at[i] == g {
							sum += size[d]
						}
					}
					if sum > free {
						return
					}
				}
			}
			best = min(best, groups)
			return
		}
		for g := range groups + 1 {
			at[item] = g
			try(item+1, max(groups, g+1))
		}
	}
	try(0, 0)
	return best
}

func TestWavesAreAsFewAsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 4).Draw(t, "dimensions")
		room := rapid.SliceOfN(rapid.Uint64Range(0, 30), dims, dims).Draw(t, "room")
		var sizes [][]uint64
		for range rapid.IntRange(1, 8).Draw(t, "items") {
			size := make([]uint64, dims)
			for d := range size {
				if room[d] > 0 && rapid.Bool().Draw(t, "member") {
					size[d] = rapid.Uint64Range(0, room[d]).Draw(t, "size")
				}
			}
			sizes = append(sizes, size)
		}
		groups := staking.Waves(sizes, room)
		seen := map[int]bool{}
		for _, g := range groups {
			for d, free := range room {
				sum := uint64(0)
				for _, item := range g {
					sum += sizes[item][d]
				}
				if sum > free {
					t.Fatalf("%v has %d of %d", g, sum, free)
				}
			}
			for _, item := range g {
				if seen[item] {
					t.Fatalf("%d twice in %v", item, groups)
				}
				seen[item] = true
			}
		}
		if len(seen) != len(sizes) {
			t.Fatalf("%v of %d items", groups, len(sizes))
		}
		if want := fewest(sizes, room); len(groups) != want {
			t.Fatalf("%v, want %d groups", groups, want)
		}
	})
}

// 200 validators of the primary network and three L1s, of which each node has a view.
func TestWavesOf200ValidatorsTakeLessThanTwoSeconds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	facts := &staking.ValidatorSets{}
	var ids []string
	for i := range 200 {
		ids = append(ids, string(rune('A'+i%26))+string(rune('0'+i/26)))
	}
	for _, chain := range []string{"P", "one", "two", "three"} {
		set := staking.StopSet{Chain: chain, Members: map[string]bool{}}
		up, total := map[string]uint64{}, uint64(0)
		for _, id := range ids {
			if chain == "P" || random.IntN(3) > 0 {
				set.Members[id] = true
				up[id] = 1000 + random.Uint64N(9000)
				total += up[id]
			}
		}
		for _, id := range ids {
			set.Views = append(set.Views, staking.SetView{By: id, ID: id, Sum: staking.Weights{Up: total, Total: total}, Up: up})
		}
		facts.Sets = append(facts.Sets, set)
	}
	began := time.Now()
	sizes, room := facts.Rooms(ids, began)
	groups := staking.Waves(sizes, room)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%v", took)
	}
	if len(groups) < 5 || len(groups) > 6 { // a fifth of the weight may stop
		t.Errorf("%d groups", len(groups))
	}
	for _, g := range groups {
		var stopped []string
		for _, item := range g {
			stopped = append(stopped, ids[item])
		}
		for _, set := range facts.Sets {
			if share, _ := set.After(stopped, nil, began); share < staking.Quorum {
				t.Errorf("%v leaves %v of %s", stopped, share, set.Chain)
			}
		}
	}
}
