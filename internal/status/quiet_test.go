package status

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A chain that has just stopped may be idle or halted. A chain with a newer block on another node has not stopped.
func TestQuietChainsHaveNoNewBlockOnAnyNode(t *testing.T) {
	for _, c := range []struct {
		chain  string
		a, b   time.Duration // ages of the newest block on two nodes
		quiet  bool
		longer time.Duration
	}{
		{"C", time.Minute, time.Hour, false, 0},
		{"C", 18 * time.Minute, 19 * time.Minute, true, 18 * time.Minute},
		{"one", 110 * time.Minute, 110 * time.Minute, true, 110 * time.Minute},
		{"one", 3 * time.Hour, 3 * time.Hour, false, 0}, // idle for long: the rules know
		{"X", 18 * time.Minute, 18 * time.Minute, false, 0},
	} {
		head := func(age time.Duration) int64 { return now.Add(-age).Unix() }
		st := at(now, nil, run(t, "heads", fmt.Sprintf(`
			avax_chain_head_timestamp_seconds{node="a",chain=%q} %d
			avax_chain_head_timestamp_seconds{node="b",chain=%[1]q} %d`, c.chain, head(c.a), head(c.b))))
		chains, least := st.Quiet(func(string) bool { return true })
		if slices.Contains(chains, c.chain) != c.quiet || least.Round(time.Second) != c.longer {
			t.Errorf("%+v: %v for %v", c, chains, least)
		}
	}
}
