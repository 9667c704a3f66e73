// Command openapi imports the published description of a service: the Data service or the Metrics service. The tests of this
// package compare the simulated network with these descriptions.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
)

const usage = "usage: go run . DESCRIPTION TRIMMED\nupdates the paths of TRIMMED, such as testdata/data.json, from DESCRIPTION"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := update(os.Args[1], os.Args[2]); err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}

// description is the part of an OpenAPI document that is kept.
type description struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"info"`
	Paths      map[string]map[string]any `json:"paths"`
	Components struct {
		Schemas         map[string]any `json:"schemas"`
		SecuritySchemes map[string]any `json:"securitySchemes,omitempty"`
	} `json:"components"`
}

func read(file string) (d description, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return d, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

func update(full, trimmed string) error {
	from, err := read(full)
	if err != nil {
		return err
	}
	old, err := read(trimmed)
	if err != nil {
		return err
	}
	to := from
	to.Paths, to.Components.Schemas = make(map[string]map[string]any), make(map[string]any)
	var keep func(value any)
	keep = func(value any) {
		for _, name := range references(value) {
			if _, kept := to.Components.Schemas[name]; !kept {
				to.Components.Schemas[name] = bare(from.Components.Schemas[name], false)
				keep(from.Components.Schemas[name])
			}
		}
	}
	for path := range old.Paths {
		operations, ok := from.Paths[path]
		if !ok {
			return fmt.Errorf("%s no longer has %s", full, path)
		}
		to.Paths[path] = make(map[string]any)
		for verb, operation := range operations {
			to.Paths[path][verb] = bare(operation, false)
			keep(operation)
		}
	}
	return write(trimmed, to)
}

// references returns the schemas that a part of a description refers to.
func references(value any) (names []string) {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			names = append(names, ref[strings.LastIndexByte(ref, '/')+1:])
		}
		for _, part := range v {
			names = append(names, references(part)...)
		}
	case []any:
		for _, part := range v {
			names = append(names, references(part)...)
		}
	}
	return names
}

// bare returns a part of a description without anything that does not describe the form of an answer.
func bare(value any, fields bool) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any)
		for name, part := range v {
			words := slices.Contains([]string{"description", "summary", "example", "examples", "tags", "deprecated"}, name)
			if fields || !words && !strings.HasPrefix(name, "x-speakeasy") {
				kept[name] = bare(part, name == "properties" && !fields)
			}
			if name == "responses" {
				for _, response := range kept[name].(map[string]any) {
					response.(map[string]any)["description"] = "" // the only required text
				}
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, part := range v {
			kept[i] = bare(part, false)
		}
		return kept
	}
	return value
}

// write writes every operation and every schema on a line of its own.
func write(file string, d description) error {
	var b strings.Builder
	line := func(value any) string {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // it was parsed from JSON
		}
		return string(text)
	}
	members := func(m map[string]any) string {
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(m)) {
			lines = append(lines, line(name)+": "+line(m[name]))
		}
		return "{\n" + strings.Join(lines, ",\n") + "\n}"
	}
	paths := make(map[string]any)
	for path, operations := range d.Paths {
		paths[path] = operations
	}
	fmt.Fprintf(&b, "{\n\"openapi\": %s,\n\"info\": %s,\n\"paths\": %s,\n\"components\": {\n\"securitySchemes\": %s,\n\"schemas\": %s\n}\n}\n",
		line(d.OpenAPI), line(d.Info), members(paths), members(d.Components.SecuritySchemes), members(d.Components.Schemas))
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
