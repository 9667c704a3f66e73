package web

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// manyL1s is a site over so many L1s with so many validators each, all of whose
// collectors have run.
func manyL1s(t testing.TB, l1s, validators int) *Site {
	s := newSite()
	var stops []sample
	for i := range l1s {
		chain := fmt.Sprintf("chain%04d", i)
		var p, seen []sample
		l1 := &staking.L1{At: time.Now()}
		for j := range validators {
			node, validation := fmt.Sprintf("NodeID-%033d", i*validators+j), fmt.Sprintf("%050d", i*validators+j)
			labels := []string{"chain", chain, "node_id", node, "validation_id", validation}
			balance := float64((i+7*j)%97) / 4
			l1.Set = append(l1.Set, staking.Validator{ID: validation, NodeID: node, Weight: 100, Balance: uint64(balance * 1e9), Burn: floor})
			p = append(p,
				sample{"avax_l1_validator_info", labels, 1},
				sample{"avax_l1_validator_weight", labels, 100},
				sample{"avax_l1_validator_active", labels, min(1, balance)},
				sample{"avax_l1_validator_balance_avax", labels, balance})
			seen = append(seen, sample{"avax_l1_validator_connected", append([]string{"node", "alpha"}, labels...), 1})
			stops = append(stops, sample{"avax_l1_safe_to_stop", labels[:4], 1})
		}
		p = append(p, sample{"avax_l1_weight", []string{"chain", chain}, 100 * float64(validators)},
			sample{"avax_l1_active_weight", []string{"chain", chain}, 99 * float64(validators)})
		putSamples(t, s, snapshot.Key{Collector: "l1", Target: metric.Target{Chain: chain}}, p...)
		keepL1(s, chain, l1)
		putSamples(t, s, snapshot.Key{Collector: "l1_views", Target: metric.Target{Node: "alpha", Chain: chain}}, seen...)
	}
	putSamples(t, s, snapshot.Key{Collector: "safe_to_stop", Target: metric.Target{}}, stops...)
	return s
}

func BenchmarkStatusOfAThousandL1s(b *testing.B) {
	s := manyL1s(b, 1000, 100)
	b.ReportAllocs()
	for b.Loop() {
		if err := statusPage(s.view(time.Now())).Render(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
