//go:build !linux

package main

// disableCoreDumps does nothing on this operating system: see SECURITY.md.
func disableCoreDumps() error { return nil }
