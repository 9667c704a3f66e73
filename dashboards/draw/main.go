// Command draw writes the dashboards, one file each: `go generate` runs it. What
// they share (variables, links, the grid, colours) is said here once, and the
// thresholds are those of the alert rules.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
)

// The first is the one that an operator opens first.
var boards = []board{overview, validators, l1s, chains, network, exporter}

func main() {
	log.SetFlags(0)
	for _, b := range boards {
		text, err := json.MarshalIndent(b.json(), "", "  ")
		if err != nil {
			log.Fatalf("%s: %v", b.file, err)
		}
		if err := os.WriteFile(filepath.Join(".", b.file), append(text, '\n'), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
