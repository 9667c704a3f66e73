package collectors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Limits on label values that peers, services and senders of messages choose. They
// bound the number of series.
const (
	// other is the value of a label for all that have no series of their own.
	other = "other"
	// mostNamed is how many series a run may set of a family in which an upstream
	// chooses the names: of its checks, virtual machines, upgrades.
	mostNamed = 2000
	// mostCommon is how many values have a series of their own where peers choose them.
	mostCommon = 20
	// mostKinds is how many kinds have a sum of their own where a service chooses them.
	mostKinds = 20
)

// commonest returns the largest counts, under the names that they have, and the
// sum of the others. Of equal ones the first by name are taken, so that the same
// names stay; one that is too long for a label is none of them.
func commonest[N cmp.Ordered](counts map[string]N) map[string]N {
	fit := slices.DeleteFunc(slices.Collect(maps.Keys(counts)), func(name string) bool { return len(name) > metric.MostValue })
	slices.SortFunc(fit, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	fit = fit[:min(len(fit), mostCommon)]
	common := make(map[string]N, len(fit)+1)
	for name, n := range counts {
		if !slices.Contains(fit, name) {
			name = other
		}
		common[name] += n
	}
	return common
}

// kindOrOther is what something is summed up under: its own kind, or other where there
// are many already, or it is too long for a label.
func kindOrOther[S any](sums map[string]S, kind string) string {
	if _, known := sums[kind]; known || len(sums) < mostKinds && len(kind) <= metric.MostValue {
		return kind
	}
	return other
}
