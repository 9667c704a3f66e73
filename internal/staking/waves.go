package staking

import (
	"cmp"
	"slices"
	"time"
)

// wavesEffort limits the search for fewer groups: comparisons of sizes. It takes about a tenth of a second.
const wavesEffort = 40_000_000

// Waves splits items into as few groups as possible. An item has a size in each dimension, and the sizes of a group must not exceed the room. Each
// item must fit alone. For many items, the number of groups may be above the minimum: the search for fewer ends after a fixed effort.
func Waves(sizes [][]uint64, room []uint64) (groups [][]int) {
	s := waves{left: wavesEffort}
	var binding []int // dimensions in which not all items fit together
	for d, free := range room {
		sum := uint64(0)
		for _, size := range sizes {
			if sum += size[d]; sum > free {
				binding = append(binding, d)
				break
			}
		}
	}
	for _, d := range binding {
		s.room = append(s.room, room[d])
	}
	order := make([]int, len(sizes))
	largest := make([]float64, len(sizes))
	for i, size := range sizes {
		order[i] = i
		few := make([]uint64, len(binding))
		for k, d := range binding {
			few[k] = size[d]
			if room[d] > 0 {
				largest[i] = max(largest[i], float64(size[d])/float64(room[d]))
			}
		}
		s.sizes = append(s.sizes, few)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(largest[b], largest[a]) })
	s.order = order
	for k := range binding { // no fewer groups than the sum needs
		sum := 0.0
		for _, size := range s.sizes {
			sum += float64(size[k])
		}
		if s.room[k] > 0 {
			full := sum / float64(s.room[k])
			least := int(full)
			if full-float64(least) > 1e-9 {
				least++
			}
			s.least = max(s.least, least)
		}
	}
	s.place(0)
	return s.best
}

// waves is a search for groups.
type waves struct {
	sizes  [][]uint64
	room   []uint64
	order  []int
	least  int
	left   int // effort
	groups []wave
	best   [][]int
}

type wave struct {
	items []int
	used  []uint64
}

// place adds the items from the at-th on to groups, and keeps the result if it has the fewest groups so far.
func (s *waves) place(at int) {
	if at == len(s.order) {
		s.best = nil
		for _, g := range s.groups {
			s.best = append(s.best, slices.Clone(g.items))
		}
		return
	}
	item := s.order[at]
	for i := range s.groups {
		if !s.fits(s.groups[i], item) {
			continue
		}
		s.add(i, item)
		s.place(at + 1)
		s.remove(i, item)
		if s.done() {
			return
		}
	}
	if s.best != nil && len(s.groups)+1 >= len(s.best) {
		return
	}
	s.groups = append(s.groups, wave{used: make([]uint64, len(s.room))})
	s.add(len(s.groups)-1, item)
	s.place(at + 1)
	s.groups = s.groups[:len(s.groups)-1]
}

func (s *waves) done() bool { return s.best != nil && (s.left <= 0 || len(s.best) <= max(s.least, 1)) }

func (s *waves) fits(g wave, item int) bool {
	for k, size := range s.sizes[item] {
		s.left--
		if size > s.room[k]-g.used[k] {
			return false
		}
	}
	return true
}

func (s *waves) add(i, item int) {
	g := &s.groups[i]
	g.items = append(g.items, item)
	for k, size := range s.sizes[item] {
		g.used[k] += size
	}
}

func (s *waves) remove(i, item int) {
	g := &s.groups[i]
	g.items = g.items[:len(g.items)-1]
	for k, size := range s.sizes[item] {
		g.used[k] -= size
	}
}

// Rooms returns how much of each set may stop as each view sees it, and how much of it each node is: the sizes and the room of Waves. Views of isolated
// nodes do not count. A validator whose balance ends before the time at does not count.
func (s *ValidatorSets) Rooms(ids []string, at time.Time) (sizes [][]uint64, room []uint64) {
	sizes = make([][]uint64, len(ids))
	for _, set := range s.Sets {
		for _, v := range set.Views {
			if _, ignored := s.Isolated[v.By]; ignored || v.Sum.Total == 0 {
				continue
			}
			needed := v.Sum.Total - v.Sum.Total/5 // 80 %, rounded up
			up := v.Sum.Up - v.lost(nil, set.Ends, at)
			room = append(room, up-min(up, needed))
			for i, id := range ids {
				size := uint64(0)
				if set.Members[id] {
					size = v.Up[id]
				}
				sizes[i] = append(sizes[i], size)
			}
		}
	}
	return sizes, room
}
