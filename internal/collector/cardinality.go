package collector

import (
	"cmp"
	"maps"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Limits on the number of series, for label values that peers, services and senders of messages choose.
const (
	// Other is the label value of the series for all names beyond a limit.
	Other = "other"
	// MaxNamed is the maximum number of series of a family in one run, if an upstream chooses the family's label
	// values, such as names of checks, virtual machines and upgrades.
	MaxNamed = 2000
	// maxCommon is the maximum number of series of a family whose label values peers choose. The series with the label
	// value other is not counted.
	maxCommon = 20
	// maxKinds is the maximum number of kinds with a series of their own. A service chooses the names of kinds, such as
	// transaction types.
	maxKinds = 20
)

// TopCounts returns the maxCommon largest counts, by name. The sum of the rest has the name other. Equal counts are
// sorted by name, so that each run returns the same names. A name that is too long for a label value is part of the
// rest.
func TopCounts[N cmp.Ordered](counts map[string]N) map[string]N {
	fit := slices.DeleteFunc(slices.Collect(maps.Keys(counts)), func(name string) bool { return len(name) > metric.MaxValue })
	slices.SortFunc(fit, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	fit = fit[:min(len(fit), maxCommon)]
	common := make(map[string]N, len(fit)+1)
	for name, n := range counts {
		if !slices.Contains(fit, name) {
			name = Other
		}
		common[name] += n
	}
	return common
}

// KnownOrOther returns the key of sums for an item of this kind: the kind itself if sums has it, or other. A counter uses it, because
// increase() misses the first event of a series that is born with it.
func KnownOrOther[S any](sums map[string]S, kind string) string {
	if _, known := sums[kind]; known {
		return kind
	}
	return Other
}

// KindOrOther returns the key of sums for an item of this kind. That is the kind itself, or other if sums has
// maxKinds keys or the kind is too long for a label value.
func KindOrOther[S any](sums map[string]S, kind string) string {
	if _, known := sums[kind]; known || len(sums) < maxKinds && len(kind) <= metric.MaxValue {
		return kind
	}
	return Other
}
