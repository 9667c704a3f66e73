package node

import (
	"fmt"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// distinct returns an error for a list with duplicates, because counts and sums of the list would be wrong. Nodes send no such
// lists, but a proxy that merges answers may.
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
