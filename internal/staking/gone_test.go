package staking_test

import (
	"fmt"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// A validator is gone if no node whose view counts has it as a peer. Nodes without a view, such as those that do not track the chain, say nothing.
func TestGoneIsWhatNoViewHasAsAPeer(t *testing.T) {
	weights := map[string]uint64{"none": 0}
	for i := range 30 {
		weights[fmt.Sprint("v", i)] = uint64(100 + i)
	}
	sample := staking.SampleOf(weights)
	if len(sample) != 20 || sample["v29"] != 129 || sample["v10"] != 110 || sample["v9"] != 0 {
		t.Errorf("sample %v", sample)
	}
	set := staking.StopSet{
		Views:  staking.SetViews{{By: "a"}, {By: "b"}},
		Sample: map[string]uint64{"x": 60, "y": 30, "z": 10},
	}
	for name, test := range map[string]struct {
		peers map[string][]string
		want  float64
	}{
		"all are peers of one of them": {map[string][]string{"a": {"x"}, "b": {"y", "z"}}, 0},
		"one has gone":                 {map[string][]string{"a": {"x", "z"}, "b": {"z"}}, 0.3},
		"nobody was asked":             {nil, 0},
		"without a view":               {map[string][]string{"c": {}}, 0},
		"a lost all, c has no view":    {map[string][]string{"a": {}, "c": {"x", "y", "z"}}, 1},
	} {
		if got := set.Gone(test.peers); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
