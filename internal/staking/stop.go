package staking

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Weights are sums over a set: Up is the weight that is active and connected, Total is all weight.
type Weights struct{ Up, Total uint64 }

// IsolatedBy returns the nodes that are connected to less than half of the stake, if more than half of the others are connected to at least
// two thirds: then they have a problem of their own, and what they report about others does not count.
func IsolatedBy[N comparable](connected map[N]float64) map[N]bool {
	alone, well := map[N]bool{}, 0
	for n, share := range connected {
		if share < 0.5 {
			alone[n] = true
		}
		if share >= 2.0/3 {
			well++
		}
	}
	if 2*well <= len(connected)-1 {
		return nil
	}
	return alone
}

// SetView is what one node or observer reports about the members of a validator set: which are connected. A View is about the uptime of one
// validator.
type SetView struct {
	By  string // name of the node or observer
	ID  string // its node ID; empty for an observer
	Sum Weights
	Up  map[string]uint64 // weight of each member by node ID; 0 if the member is inactive or not connected
}

// disconnect counts a member as not connected.
func (v *SetView) disconnect(id string) {
	v.Sum.Up -= v.Up[id]
	delete(v.Up, id)
}

// SetViews are the views of the same validator set.
type SetViews []SetView

// WithoutStopped removes the views of stopped nodes, by name. In the other views it counts these node IDs as not connected.
func (all SetViews) WithoutStopped(names []string, ids map[string]bool) SetViews {
	all = slices.DeleteFunc(all, func(v SetView) bool { return slices.Contains(names, v.By) })
	for i := range all {
		for id := range ids {
			all[i].disconnect(id)
		}
	}
	return all
}

// Isolated returns the nodes whose views do not count, as IsolatedBy says: their node IDs, by name.
func (all SetViews) Isolated() map[string]string {
	connected, ids := map[string]float64{}, map[string]string{}
	for _, v := range all {
		connected[v.By] = Share(v.Sum.Up, v.Sum.Total)
		ids[v.By] = v.ID
	}
	alone := IsolatedBy(connected)
	maps.DeleteFunc(ids, func(name, _ string) bool { return !alone[name] })
	return ids
}

// DisconnectIsolated counts isolated nodes as not connected in the views of the other nodes: they have just started or lost their peers,
// and vote for nothing.
func (all SetViews) DisconnectIsolated(isolated map[string]string) {
	for name, id := range isolated {
		for i := range all {
			if v := &all[i]; id != "" && v.By != name && v.ID != id {
				v.disconnect(id)
			}
		}
	}
}

// Up reports whether a view of another node has the member with this ID as active and connected.
func (all SetViews) Up(id string) bool {
	return slices.ContainsFunc(all, func(v SetView) bool { return v.ID != id && v.Up[id] > 0 })
}

// Only returns the views with the weights of these nodes and validators only; the sums stay.
func (all SetViews) Only(ids map[string]bool, ends []Ending) SetViews {
	few := slices.Clone(all)
	for i := range few {
		up := map[string]uint64{}
		for id := range ids {
			if weight := few[i].Up[id]; weight > 0 {
				up[id] = weight
			}
		}
		for _, e := range ends {
			up[e.NodeID] = few[i].Up[e.NodeID]
		}
		few[i].Up = up
	}
	return few
}

// StopAhead is how far the answer whether a node can stop looks ahead: an L1 validator whose balance ends before that does not count.
const StopAhead = time.Minute

// StopSet is a validator set with what counts for the question whether nodes can stop.
type StopSet struct {
	Chain string
	Views SetViews // weights of own nodes and of validators in Ends only
	// Members are the own nodes whose stop counts, by node ID: they validate the chain and run it. Nil: not known.
	Members map[string]bool
	Ends    []Ending
	// Hung are the own validators whose node answers and whose VM does not, by node ID. Their peers stay connected and wait for them at each poll, so one of
	// them slows the chain more than a node that has stopped.
	Hung map[string]bool
	// Sample are the weights of the heaviest connected validators, by node ID.
	Sample map[string]uint64
	// Left is the share of the weight that is up after one validator stops, by its node ID, for all validators. Balances that end do not count.
	Left map[string]float64
}

// Ending is an L1 validator whose balance ends soon.
type Ending struct {
	NodeID string
	Weight uint64
	At     time.Time
}

// After returns the share of the weight that is active and connected at a time, after the nodes with these IDs stopped. A validator whose balance has
// ended then does not count. The share is the minimum over the views of all other nodes that are not isolated. If there is no other view, the
// views of the stopped nodes count. It also returns the name of the node whose view counts; empty if there is none.
func (s StopSet) After(ids []string, isolated map[string]string, at time.Time) (share float64, by string) {
	var alone float64
	var itself string
	for _, v := range s.Views {
		if v.Sum.Total == 0 {
			continue
		}
		left := Share(v.Sum.Up-v.lost(ids, s.Ends, at), v.Sum.Total)
		_, ignored := isolated[v.By]
		switch {
		case v.ID != "" && slices.Contains(ids, v.ID):
			if itself == "" || left < alone || left == alone && v.By < itself {
				alone, itself = left, v.By
			}
		case ignored:
		case by == "" || left < share || left == share && v.By < by:
			share, by = left, v.By
		}
	}
	if by == "" {
		return alone, itself
	}
	return share, by
}

// sampleOf is how many validators of a set are in its sample.
const sampleOf = 20

// SampleOf returns the heaviest validators of those whose weights by node ID are given.
func SampleOf(weights map[string]uint64) map[string]uint64 {
	ids := slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	sample := map[string]uint64{}
	for _, id := range ids[:min(len(ids), sampleOf)] {
		if weights[id] > 0 {
			sample[id] = weights[id]
		}
	}
	return sample
}

// Gone estimates the share of the connected weight that has disconnected since: that of the sample to which no node is connected whose view counts. peers are
// those of each node, and itself, by its name. It is 0 if none of the nodes has a view.
func (s StopSet) Gone(peers map[string][]string) float64 {
	seen, asked := map[string]bool{}, false
	for _, v := range s.Views {
		if its, known := peers[v.By]; known {
			asked = true
			for _, id := range its {
				seen[id] = true
			}
		}
	}
	var gone, all uint64
	for id, weight := range s.Sample {
		if all += weight; !seen[id] {
			gone += weight
		}
	}
	if !asked {
		return 0
	}
	return Share(gone, all)
}

// Ending returns the connected weight of validators except one whose balance has ended at a time, at most over the views.
func (s StopSet) Ending(except string, at time.Time) (weight uint64) {
	for _, v := range s.Views {
		weight = max(weight, v.lost([]string{except}, s.Ends, at)-v.Up[except])
	}
	return weight
}

// lost returns the weight that is up in the view, and is not after these nodes stopped and these balances ended.
func (v SetView) lost(ids []string, ends []Ending, at time.Time) (weight uint64) {
	for _, id := range ids {
		weight += v.Up[id]
	}
	for _, e := range ends {
		if !e.At.After(at) && !slices.Contains(ids, e.NodeID) {
			weight += min(e.Weight, v.Up[e.NodeID])
		}
	}
	return min(weight, v.Sum.Up)
}

// ValidatorSets is what one run knows about the question whether nodes can stop.
type ValidatorSets struct {
	Nodes    map[string]string // node IDs of the nodes that it is about, by name
	Sets     []StopSet
	Isolated map[string]string // node IDs of the nodes whose views do not count, by name
	// Uncounted is why a node may validate further sets or be another one, by its name.
	Uncounted map[string]string
}

// Alone returns the nodes that have lost the peers with most of the primary network's stake since, and do not count as isolated yet. peers are those of each
// node, and itself, by its name.
func (s *ValidatorSets) Alone(peers map[string][]string) (names []string) {
	for _, set := range s.Sets {
		for _, name := range slices.Sorted(maps.Keys(peers)) {
			if set.Chain == "P" && s.Isolated[name] == "" && set.Gone(map[string][]string{name: peers[name]}) > 0.5 {
				names = append(names, name)
			}
		}
	}
	return names
}

// Of returns the sets that a node validates, and the chains of which this is not known.
func (s *ValidatorSets) Of(id string) (sets []StopSet, unknown []string) {
	for _, set := range s.Sets {
		switch {
		case set.Members == nil:
			unknown = append(unknown, set.Chain)
		case set.Members[id]:
			sets = append(sets, set)
		}
	}
	return sets, unknown
}
