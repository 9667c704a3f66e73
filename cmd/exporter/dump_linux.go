package main

import "golang.org/x/sys/unix"

// disableCoreDumps prevents core files of this process, which contain its secrets, and prevents other processes of its user from
// reading its memory and environment. Root can still do so.
func disableCoreDumps() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
