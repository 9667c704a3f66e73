package status

import (
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/words"
)

// A chain is quiet while its newest block has an age between these. Afterwards the alert rules have seen enough to tell whether the chain was busy.
const (
	quietAfter = 5 * time.Minute
	quietUntil = 2 * time.Hour
)

// Quiet returns those of some chains without a new block for some minutes on all nodes and observers, and how long at least. Whether such a chain
// is idle or has halted cannot be told. The X-Chain is left out: it has blocks only for transactions, which are rare.
func (st *Status) Quiet(of func(chain string) bool) (chains []string, least time.Duration) {
	newest := map[string]time.Time{}
	for _, n := range st.nodeByName {
		for _, c := range n.chains {
			if at := words.UnixTime(c.Head.V); c.Head.Known && c.Name != "X" && of(c.Name) && at.After(newest[c.Name]) {
				newest[c.Name] = at
			}
		}
	}
	for _, chain := range slices.SortedFunc(maps.Keys(newest), CompareChains) {
		if age := st.At.Sub(newest[chain]); age >= quietAfter && age < quietUntil {
			if chains = append(chains, chain); least == 0 || age < least {
				least = age
			}
		}
	}
	return chains, least
}
