package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// removing is a site with four validators, of which b is inactive and c is not connected. The node z is isolated: its view does not count.
func removing(t *testing.T) *Site {
	s := siteWith(t, `
		avax_l1_weight{chain="one"} 100
		avax_l1_connected_weight{chain="one",node="x"} 65
		avax_l1_connected_weight{chain="one",node="z"} 5
		avax_node_connected_stake_ratio{node="x"} 0.8
		avax_node_connected_stake_ratio{node="z"} 0.49
		avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="a"} 15
		avax_l1_validator_weight{chain="one",node_id="NodeID-b",validation_id="b"} 20
		avax_l1_validator_weight{chain="one",node_id="NodeID-c",validation_id="c"} 15
		avax_l1_validator_weight{chain="one",node_id="NodeID-d",validation_id="d"} 50
		avax_l1_validator_active{chain="one",node_id="NodeID-a",validation_id="a"} 1
		avax_l1_validator_active{chain="one",node_id="NodeID-b",validation_id="b"} 0
		avax_l1_validator_active{chain="one",node_id="NodeID-c",validation_id="c"} 1
		avax_l1_validator_active{chain="one",node_id="NodeID-d",validation_id="d"} 1
		avax_l1_validator_connected{chain="one",node="x",node_id="NodeID-b",validation_id="b"} 1
		avax_l1_validator_connected{chain="one",node="x",node_id="NodeID-c",validation_id="c"} 0
		avax_l1_validator_connected{chain="one",node="x",node_id="NodeID-d",validation_id="d"} 1
		avax_l1_proposers_left{chain="one"} 1
		avax_l1_proposer_can_build{chain="one",node_id="NodeID-d"} 1
		avax_l1_proposer_can_build{chain="one",node_id="NodeID-b"} 0
		avax_l1_validator_weight{chain="two",node_id="NodeID-e",validation_id="e"} 1`)
	put(t, s, metric.Key{Collector: "safe_to_stop", Target: metric.Target{}}, `
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-a"} 0
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-b"} 0
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-c"} 0
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-d"} 0`)
	counts(s, metric.Facts{ValidatorSets: testworld.ValidatorSetsOf("x", map[string]map[string]float64{
		"a": {"one": 0.5}, "b": {"one": 0.65}, "c": {"one": 0.65}, "d": {"one": 0.15},
	})})
	return s
}

// After a yes, an operator stops the node, as after /safe-to-stop: both call the nodes first.
func TestSafeToRemoveIsUnknownWhileANodeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := removing(t)
		s.Ask = func(context.Context, []string) []nodes.Presence { return areSilent("x") }
		code, body := get(t, s, "/safe-to-remove?validation=b")
		const want = "not known: x did not answer within 2 s and counts as connected"
		if code != http.StatusServiceUnavailable || !strings.HasPrefix(body, want) {
			t.Errorf("%d %s, want 503 %s", code, body, want)
		}
	})
}
