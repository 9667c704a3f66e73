package spelling_test

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

func TestNearReturnsOnlySimilarNames(t *testing.T) {
	known := []string{"up", "peers", "health", "heads", "l1", "l1_views", "l1_runway", "validators", "validator_views"}
	for name, want := range map[string]string{
		"peer":      "peers",
		"heath":     "health",
		"haeds":     "heads",
		"L1views":   "l1_views",
		"validator": "validators validator_views",
		"runway":    "l1_runway",
		"nope":      "",
		"u":         "up",
		"zebra":     "",
	} {
		if got := strings.Join(spelling.Near(name, known), " "); got != want {
			t.Errorf("near %s: %q, want %q", name, got, want)
		}
	}
}
