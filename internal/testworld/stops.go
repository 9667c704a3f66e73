package testworld

import (
	"math"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// ValidatorSetsOf returns facts by which these shares of chains stay when a node stops, as a node sees it. Node IDs are NodeID- and the name. A share of 0 is
// not known.
func ValidatorSetsOf(by string, shares map[string]map[string]float64) *staking.ValidatorSets {
	facts := &staking.ValidatorSets{Nodes: map[string]string{}}
	sets := map[string]*staking.StopSet{}
	for node, chains := range shares {
		id := "NodeID-" + node
		facts.Nodes[node] = id
		for chain, share := range chains {
			if sets[chain] == nil {
				sets[chain] = &staking.StopSet{Chain: chain, Members: map[string]bool{}, Left: map[string]float64{}}
			}
			set := sets[chain]
			set.Members[id] = true
			if share == 0 {
				continue
			}
			set.Left[id] = share
			if len(set.Views) == 0 {
				set.Views = staking.SetViews{{By: by, Sum: staking.Weights{Up: 10_000, Total: 10_000}, Up: map[string]uint64{}}}
			}
			set.Views[0].Up[id] = 10_000 - uint64(math.Round(10_000*share))
		}
	}
	for _, set := range sets {
		facts.Sets = append(facts.Sets, *set)
	}
	return facts
}
