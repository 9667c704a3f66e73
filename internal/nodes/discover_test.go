package nodes

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// The P-Chain accepts letters, digits and spaces in the name of a chain, from anybody.
func TestNamesOfDiscoveredChainsAreTheirOwn(t *testing.T) {
	taken := []Chain{{Name: "dexalot", Ref: "another"}}
	for name, want := range map[string]string{
		"beam": "beam", "Game World 2": "Game-World-2", " edge": "id", "": "id", "dexalot": "id", "network": "id", "C": "id",
	} {
		if got := nameFor(node.Blockchain{ID: "id", Name: name}, taken, nil); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}
