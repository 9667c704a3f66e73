package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// No answer that is shared makes a dead node's samples live longer: whatever is
// watched, after three periods of the slowest collector none is left.
func TestNothingOfADeadNodeOutlivesThreePeriods(t *testing.T) {
	t.Parallel()
	for _, watch := range []string{"own", "all"} {
		for _, chains := range []string{"C", "C,examplel1=ID"} {
			t.Run(watch+" "+chains, func(t *testing.T) {
				inBubbleAs(t, func(s *scenery) {
					s.env.Validators = watch
					s.env.Chains = strings.ReplaceAll(chains, "ID", s.network.Chain("examplel1").ID)
				}, func(t *testing.T, b bubble) {
					time.Sleep(13 * time.Minute) // the collectors have settled
					b.network.Node("bravo").Stop()
					time.Sleep(3 * 5 * time.Minute)
					if left := about(b.page(t), "bravo"); len(left) > 0 {
						t.Errorf("still told of bravo: %v", left)
					}
				})
			})
		}
	}
}

// What changes upstream is told at the next tick, by an answer that is at most
// half a period old.
func TestAChangeIsToldWithinAPeriodAndAHalf(t *testing.T) {
	inBubbleAs(t, func(s *scenery) { s.env.Validators = "all" }, func(t *testing.T, b bubble) {
		const size = `avax_network_validators{subnet_id="11111111111111111111111111111111LpoYY"}`
		before := b.page(t)[size]
		b.network.RemoveValidator("P", "hotel")
		time.Sleep(5*time.Minute*3/2 + 10*time.Second)
		if got := b.page(t)[size]; got != before-1 {
			t.Errorf("%s is %v, want %v", size, got, before-1)
		}
		gone := `avax_validator_stake_avax{node_id="` + b.network.NodeID("hotel") + `"}`
		if _, there := b.page(t)[gone]; there {
			t.Errorf("%s is still told", gone)
		}
	})
}

// A chain that is not found costs only itself.
func TestAWrongChainDoesNotTakeThePrimaryNetworksFiguresWithIt(t *testing.T) {
	inBubbleAs(t, func(s *scenery) { s.env.Chains = "C,wrong" }, func(t *testing.T, b bubble) {
		page := b.page(t)
		for _, series := range []string{
			`avax_network_validators{subnet_id="11111111111111111111111111111111LpoYY"}`,
			`avax_network_connected_stake_ratio{node="bravo",subnet_id="11111111111111111111111111111111LpoYY"}`,
		} {
			if _, there := page[series]; !there {
				t.Errorf("%s is absent", series)
			}
		}
		if page[`avax_exporter_collector_success{collector="network",target="wrong"}`] != 0 {
			t.Error("nothing tells that the chain is wrong")
		}
	})
}

// Two chains of one subnet tell its facts once.
func TestTwoChainsOfOneSubnetTellItsFactsOnce(t *testing.T) {
	inBubbleAs(t, func(s *scenery) {
		id := s.network.Chain("examplel1").ID
		s.env.Chains = "one=" + id
		s.adjust = func(c *config.Config) { c.Chains = append(c.Chains, collectors.Chain{Name: "two", Ref: id}) }
	}, func(t *testing.T, b bubble) {
		b.fetch(t, acceptProtobuf, "identity") // client_golang's way of finding a series twice
		subnet := b.network.Chain("examplel1").SubnetID
		if got := b.page(t)[`avax_network_validators{subnet_id="`+subnet+`"}`]; got != 5 {
			t.Errorf("%v validators, want 5", got)
		}
	})
}
