package web

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/internal/metric"
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
	return s
}

func TestSafeToRemoveAnswersYesNoOrUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := removing(t)
		for _, test := range []struct {
			query  string
			status int
			want   string
		}{
			{"?validation=a", 409, "no: one: 58.82 % of the remaining weight would be connected, 80 % is needed"},
			{"?validation=b", 200, "yes: without it 81.25 % of the remaining weight of one is connected, 80 % is needed; if its balance runs out instead, 65 %; " +
				"validators that can build the next block without it: 1"},
			{"?validation=c", 409, "no: one: 76.47 % of the remaining weight would be connected, 80 % is needed"},
			{"?validation=d", 409, "no: one: 30 % of the remaining weight would be connected, 80 % is needed; no other validator of one can build the next block: " +
				"before its node stops, send a transaction that is accepted after the change"},
			{"?validation=e", 503, "not known: how much weight is connected: "},
			{"?validation=none", 404, "unknown validation: "},
			{"", 400, "no validation: "},
		} {
			status, body := get(t, s, "/safe-to-remove"+test.query)
			if status != test.status || !strings.HasPrefix(body, test.want) {
				t.Errorf("%s: %d %s, want %d %s", test.query, status, body, test.status, test.want)
			}
		}
	})
}
