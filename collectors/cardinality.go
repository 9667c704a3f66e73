package collectors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Limits on label values that peers, services and senders of messages choose. They limit the number of
// series.
const (
	// other is the label value for everything without series of its own.
	other = "other"
	// mostNamed is the maximum number of series per run of a family in which an upstream chooses the names,
	// such as checks, virtual machines and upgrades.
	mostNamed = 2000
	// mostCommon is the maximum number of values that peers choose and that have series of their own.
	mostCommon = 20
	// mostKinds is the maximum number of kinds that a service chooses and that have sums of their own.
	mostKinds = 20
)

// commonest returns the largest counts by name, and the sum of the others. Of equal counts the first by
// name are returned, so that the names do not change between runs. A name that is too long for a label
// counts among the others.
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

// kindOrOther returns the kind under which something is counted: its own kind, or other if there are too
// many kinds or the name is too long for a label.
func kindOrOther[S any](sums map[string]S, kind string) string {
	if _, known := sums[kind]; known || len(sums) < mostKinds && len(kind) <= metric.MostValue {
		return kind
	}
	return other
}
