// Command draw writes the dashboards, one file each: `go generate` runs it. It defines shared parts (variables, links, the
// grid, colors) once, and takes the thresholds from the alert rules. `draw DIR` writes them into this directory in the form for Grafana.com.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The first one is the start dashboard.
var boards = []board{
	overview, validators, delegator, l1s, chains, network, inside, byLabel, exporter,
}

func main() {
	for _, b := range boards {
		drawn, file := b.json(), b.file
		if len(os.Args) > 1 {
			drawn, file = shared(drawn), filepath.Join(os.Args[1], b.uid+".json")
		}
		text, err := json.MarshalIndent(drawn, "", "  ")
		if err != nil {
			fatal("%s: %v", b.file, err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			fatal("%v", err)
		}
	}
}

// shared returns the dashboard as Grafana exports it for other instances: its import asks for the data source.
func shared(b object) object {
	const input = "DS_PROMETHEUS"
	b["__inputs"] = []object{{
		"name": input, "label": "Prometheus", "description": "The Prometheus that scrapes avax-exporter",
		"type": "datasource", "pluginId": "prometheus", "pluginName": "Prometheus",
	}}
	b["templating"].(object)["list"].([]object)[0]["current"] = object{"text": "${" + input + "}", "value": "${" + input + "}"}
	kinds := map[string]bool{}
	for _, p := range b["panels"].([]object) {
		kinds[p["type"].(string)] = true
		within, _ := p["panels"].([]object)
		for _, p := range within {
			kinds[p["type"].(string)] = true
		}
	}
	delete(kinds, "row") // not a plugin
	required := []object{
		{"type": "grafana", "id": "grafana", "name": "Grafana", "version": grafana},
		{"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
	}
	if kinds["logs"] {
		required = append(required, object{"type": "datasource", "id": "loki", "name": "Loki", "version": "1.0.0"})
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		required = append(required, object{"type": "panel", "id": kind, "name": kind, "version": ""})
	}
	b["__requires"] = required
	return b
}

// fatal ends the command with an error.
func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "draw: "+format+"\n", args...)
	os.Exit(1)
}
