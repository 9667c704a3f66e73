package metric_test

import (
	"cmp"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

func TestTargetTextAndGroup(t *testing.T) {
	for want, c := range map[string]struct {
		target metric.Target
		group  string
	}{
		"network":  {metric.Target{}, "network"},
		"alpha":    {metric.Target{Node: "alpha"}, "alpha"},
		"alpha/C":  {metric.Target{Node: "alpha", Chain: "C"}, "alpha"},
		"C":        {metric.Target{Chain: "C"}, "C"},
		"0x1f":     {metric.Target{Item: "0x1f"}, "0x1f"},
		"0x1f/7/C": {metric.Target{Item: "0x1f/7", Chain: "C"}, "0x1f/7"},
	} {
		if got := c.target.String(); got != want {
			t.Errorf("%+v reads %q, want %q", c.target, got, want)
		}
		if got := c.target.Group().String(); got != c.group {
			t.Errorf("%s: group %s, want %s", want, got, c.group)
		}
	}
}

// The order of targets determines the order of a family's series on /metrics.
func TestTargetsSortByText(t *testing.T) {
	targets := []metric.Target{
		{}, {Chain: "C"}, {Chain: "network2"}, {Node: "alpha"}, {Node: "alpha", Chain: "C"}, {Node: "alpha", Chain: "X"},
		{Node: "alpha-1"}, {Node: "alpha-1", Chain: "C"}, {Node: "alpha1"}, {Node: "alpha.1", Chain: "C"}, {Item: "alph"}, {Item: "0x1f", Chain: "C"},
	}
	for _, a := range targets {
		for _, b := range targets {
			if got, want := a.Compare(b), cmp.Compare(a.String(), b.String()); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	if node, chain := (metric.Target{Node: "C"}), (metric.Target{Chain: "C"}); node.Compare(chain) == 0 || node.Compare(chain) != -chain.Compare(node) {
		t.Error("a node and a chain with the same name compare as equal")
	}
}
