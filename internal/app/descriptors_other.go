//go:build !unix

package app

import "math"

// descriptors returns the limit of open files and connections of the process: none.
func descriptors() uint64 { return math.MaxInt32 }
