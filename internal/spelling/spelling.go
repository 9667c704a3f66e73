// Package spelling suggests known names for a misspelled one.
package spelling

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	maxNear = 3   // maximum number of suggestions
	maxName = 200 // maximum length of a name with suggestions: the time to compare names grows with the square of their length
)

// Near returns the known names that are similar to a name, the most similar first. A name is similar if at most a third of the
// letters differ, are missing or are extra, or if one name contains the other. If no name is similar, or the name is very long, it returns nil.
func Near(name string, known []string) []string {
	if len(name) > maxName {
		return nil
	}
	name = strings.ToLower(name)
	far := func(k string) int { return distance(name, strings.ToLower(k)) }
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		k = strings.ToLower(k)
		held := len(name) > maxNear && len(k) > maxNear && (strings.Contains(k, name) || strings.Contains(name, k))
		return !held && distance(name, k) > max(1, len(name)/3)
	})
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(far(a), far(b)) })
	return near[:min(len(near), maxNear)]
}

// distance returns the Levenshtein distance, but two swapped letters next to each other count as one mistake.
func distance(a, b string) int {
	for i := 1; i < len(a); i++ {
		if a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return min(1, levenshtein.ComputeDistance(a, b))
		}
	}
	return levenshtein.ComputeDistance(a, b)
}
