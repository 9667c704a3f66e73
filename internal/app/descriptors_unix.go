//go:build unix

package app

import (
	"math"
	"syscall"
)

// descriptors returns the limit of open files and connections of the process.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return uint64(limit.Cur)
}
