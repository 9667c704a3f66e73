// Package dashboards holds the built-in Grafana dashboards. The command draw generates them: change it, then run make docs.
package dashboards

//go:generate go run ./draw

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Files holds all dashboards. grafana.json, the overview, is for every operator.
//
//go:embed *.json
var Files embed.FS

// omitted has the parts of grafana.json that a profile does not have. A part is named by its first panel: a row, or a line of tiles.
var omitted = map[string][]string{
	"all":       nil,
	"validator": {"Shortest L1 runway", "L1s"},
	"l1":        {"Will I be paid?", "Rewards"},
}

// Profiles returns the profiles that Overview knows.
func Profiles() []string { return []string{"all", "validator", "l1"} }

// Overview returns the start dashboard for this profile: grafana.json without the parts for things that the operator does not have.
// The error lists the known names.
func Overview(profile string) ([]byte, error) {
	omit, known := omitted[profile]
	if !known {
		return nil, fmt.Errorf("unknown profile %q: use one of %s", profile, strings.Join(Profiles(), ", "))
	}
	text, err := Files.ReadFile("grafana.json")
	if err != nil || len(omit) == 0 {
		return text, err
	}
	var board map[string]any
	if err := json.Unmarshal(text, &board); err != nil {
		return nil, fmt.Errorf("grafana.json: %w", err)
	}
	board["panels"] = without(omit, board["panels"].([]any))
	return json.MarshalIndent(board, "", "  ")
}

// without returns the panels that do not belong to the named parts. Parts below move up, and collapsed rows are opened.
func without(omit []string, panels []any) (kept []any) {
	removed, omitting, begin := 0.0, false, 0.0 // lines of the grid
	for _, p := range panels {
		panel := p.(map[string]any)
		at := panel["gridPos"].(map[string]any)
		y := at["y"].(float64)
		if panel["type"] == "row" || panel["type"] == "stat" && at["x"] == 0.0 {
			if omitting {
				removed += y - begin
			}
			omitting, begin = slices.Contains(omit, panel["title"].(string)), y
		}
		if omitting {
			continue
		}
		at["y"] = y - removed
		kept = append(kept, panel)
		if inner, _ := panel["panels"].([]any); len(inner) > 0 {
			panel["collapsed"], panel["panels"] = false, []any{}
			for _, p := range inner {
				at := p.(map[string]any)["gridPos"].(map[string]any)
				at["y"] = at["y"].(float64) - removed
			}
			kept = append(kept, inner...)
		}
	}
	return kept
}
