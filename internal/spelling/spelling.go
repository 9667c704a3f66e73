// Package spelling finds what somebody meant who misspelt a name.
package spelling

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// most is how many names are told at most.
const most = 3

// Near returns the known names that are close to a name, the closest first: those
// in which up to a third of its letters are others, missing or too many, and those
// that hold it or that it holds. It returns none rather than one that nobody meant.
func Near(name string, known []string) []string {
	name = strings.ToLower(name)
	far := func(k string) int { return levenshtein.ComputeDistance(name, strings.ToLower(k)) }
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		k = strings.ToLower(k)
		held := len(name) > most && len(k) > most && (strings.Contains(k, name) || strings.Contains(name, k))
		return !held && levenshtein.ComputeDistance(name, k) > max(1, len(name)/3)
	})
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(far(a), far(b)) })
	return near[:min(len(near), most)]
}
