package node

import (
	"fmt"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// distinct refuses an answer with a list that names a thing twice: whatever is counted or added up of it would be wrong.
// No node answers so; a proxy that joins answers may.
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
