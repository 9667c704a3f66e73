package main

import "golang.org/x/sys/unix"

// disableCoreDumps keeps the kernel from writing this process's memory, which
// holds secrets, into a core, and other processes of its user from reading it,
// its environment included. Root may do so still.
func disableCoreDumps() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
