package node

import (
	"fmt"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// distinct rejects a list with duplicates, since counts and sums of it would be wrong. Nodes do not send such lists; a
// proxy that merges answers may.
func distinct[T any](op string, list iter.Seq[T], id func(T) string) error {
	seen := map[string]struct{}{}
	for item := range list {
		key := id(item)
		if _, twice := seen[key]; twice {
			return &scrape.Error{Op: op, Outcome: scrape.Malformed, Err: fmt.Errorf("duplicate %s", key)}
		}
		seen[key] = struct{}{}
	}
	return nil
}
