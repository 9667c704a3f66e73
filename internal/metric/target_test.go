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
func TestTargetsHaveAnOrder(t *testing.T) {
	ordered := []metric.Target{
		{}, {Chain: "C"}, {Chain: "network2"}, {Item: "0x1f", Chain: "C"}, {Item: "alph"},
		{Node: "C"}, {Node: "alpha"}, {Node: "alpha", Chain: "C"}, {Node: "alpha", Chain: "X"}, {Node: "alpha-1"}, {Node: "alpha-1", Chain: "C"},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Compare(b), cmp.Compare(i, j); got != want {
				t.Errorf("%+v and %+v: %d, want %d", a, b, got, want)
			}
		}
	}
}
