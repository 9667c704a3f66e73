package metric_test

import (
	"cmp"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

func TestTargetTextAndScope(t *testing.T) {
	for want, c := range map[string]struct {
		target metric.Target
		scope  metric.Scope
		group  string
	}{
		"network":  {metric.Target{}, metric.ScopeNetwork, "network"},
		"alpha":    {metric.Target{Node: "alpha"}, metric.ScopeNode, "alpha"},
		"alpha/C":  {metric.Target{Node: "alpha", Chain: "C"}, metric.ScopeNodeChain, "alpha"},
		"C":        {metric.Target{Chain: "C"}, metric.ScopeChain, "C"},
		"0x1f":     {metric.Target{Item: "0x1f"}, metric.ScopeItem, "0x1f"},
		"0x1f/7/C": {metric.Target{Item: "0x1f/7", Chain: "C"}, metric.ScopeItemChain, "0x1f/7"},
	} {
		if got := c.target.String(); got != want {
			t.Errorf("%+v reads %q, want %q", c.target, got, want)
		}
		if got := c.target.Scope(); got != c.scope {
			t.Errorf("%s: scope %s, want %s", want, got, c.scope)
		}
		if got := c.target.Group().String(); got != c.group {
			t.Errorf("%s: group %s, want %s", want, got, c.group)
		}
	}
	if got := (metric.ScopeNode | metric.ScopeNodeChain).String(); got != "node, node and chain" {
		t.Errorf("two scopes: %q", got)
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
