package staking_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

func TestWithoutIsExactAtTheQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fifth := rapid.Uint64Range(1, math.MaxUint64/5).Draw(t, "a fifth")
		set := []member{{"a", 4 * fifth, true}, {"b", fifth, true}}
		if got := without(set, "b"); got != staking.Quorum {
			t.Fatalf("%v left", got)
		}
	})
}

// member is a validator of a set.
type member struct {
	id     string
	weight uint64
	up     bool
}

// seen is a set as an observer sees it.
func seen(set []member) staking.StopSet {
	v := staking.SetView{By: "observer", Up: map[string]uint64{}}
	for _, m := range set {
		if v.Sum.Total += m.weight; m.up {
			v.Sum.Up += m.weight
			v.Up[m.id] = m.weight
		}
	}
	return staking.StopSet{Views: staking.SetViews{v}}
}

// without returns the share that stays up after the member with this ID stops.
func without(set []member, id string) (share float64) {
	share, _ = seen(set).After([]string{id}, nil, time.Time{})
	return share
}

func TestIsolatedNodesSeeLessThanHalfWhileMostOthersSeeTwoThirds(t *testing.T) {
	for _, c := range []struct{ connected, isolated map[string]float64 }{
		{map[string]float64{"a": 0.8, "b": 0.5, "c": 0.49, "d": 0.8}, map[string]float64{"c": 1}},
		{map[string]float64{"a": 0.8, "b": 0}, map[string]float64{"b": 1}},
		{map[string]float64{"a": 0.79, "b": 0.1, "c": 0.78}, map[string]float64{"b": 1}}, // the others are just below a quorum
		{map[string]float64{"a": 0.8, "b": 0.5, "c": 0.49, "d": 0}, nil},                 // one of three others is well connected
		{map[string]float64{"liar": 1, "b": 0.45, "c": 0.45}, nil},                       // one node may be wrong
		{map[string]float64{"a": 1, "b": 1, "c": 0, "d": 0, "e": 0.45}, nil},             // and two of five
		{map[string]float64{"a": 0.66, "b": 0.1}, nil},                                   // nobody is well connected: the network may have split
		{map[string]float64{"a": 0.1}, nil},
		{nil, nil},
	} {
		got := map[string]float64{}
		for n := range staking.IsolatedBy(c.connected) {
			got[n] = 1
		}
		if !maps.Equal(got, c.isolated) {
			t.Errorf("%v: %v are isolated, want %v", c.connected, got, c.isolated)
		}
	}
}

// A node that stopped during a run has no view, and the others count it as not connected.
func TestStoppedNodeHasNoView(t *testing.T) {
	view := func(by string, up map[string]uint64) staking.SetView {
		v := staking.SetView{By: by, ID: by, Up: up, Sum: staking.Weights{Total: 100}}
		for _, w := range up {
			v.Sum.Up += w
		}
		return v
	}
	views := staking.SetViews{view("a", map[string]uint64{"a": 40, "b": 40, "c": 20}), view("b", map[string]uint64{"b": 40})}
	set := staking.StopSet{Views: views.WithoutStopped([]string{"b"}, map[string]bool{"b": true})}
	if share, by := set.After([]string{"c"}, nil, time.Time{}); share != 0.4 || by != "a" {
		t.Errorf("%v stays up, as %q reports", share, by)
	}
}
