package main

import "golang.org/x/sys/unix"

// disableCoreDumps prevents core files of this process, because they contain its secrets. It also prevents other
// processes of the same user from reading the memory and environment of this process. Root can still read them.
func disableCoreDumps() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
