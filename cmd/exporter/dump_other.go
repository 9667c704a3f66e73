//go:build !linux

package main

// disableCoreDumps does nothing: see SECURITY.md.
func disableCoreDumps() error { return nil }
