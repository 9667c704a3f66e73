// Command draw writes the dashboards, one file each: `go generate` runs it. It defines shared parts (variables, links, the
// grid, colors) once, and takes the thresholds from the alert rules.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// The first one is the start dashboard.
var boards = []board{
	overview, validators, l1s, chains, network, inside, exporter,
}

func main() {
	for _, b := range boards {
		text, err := json.MarshalIndent(b.json(), "", "  ")
		if err != nil {
			fatal("%s: %v", b.file, err)
		}
		if err := os.WriteFile(b.file, append(text, '\n'), 0o644); err != nil {
			fatal("%v", err)
		}
	}
}

// fatal ends the command with an error.
func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "draw: "+format+"\n", args...)
	os.Exit(1)
}
