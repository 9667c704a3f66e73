//go:build !linux

package main

// withholdMemory does nothing: see SECURITY.md.
func withholdMemory() error { return nil }
