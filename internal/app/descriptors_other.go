//go:build !unix

package app

import "math"

// descriptors returns how many files and connections the process may have open: there is no limit.
func descriptors() uint64 { return math.MaxInt32 }
