package notify

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

// examples holds the receivers, and routes what precedes them: the routes, with KIND in place of the kind.
var (
	//go:embed examples/*.yml
	examples embed.FS
	//go:embed route.yml
	routes string
)

// Kinds returns the kinds of receivers that have an example.
func Kinds() []string {
	entries, err := examples.ReadDir("examples")
	if err != nil {
		panic(err) // impossible: reading embedded files never fails
	}
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, strings.TrimSuffix(e.Name(), ".yml"))
	}
	return kinds
}

// Example returns a complete configuration for a kind of receiver, with comments.
func Example(kind string) ([]byte, error) {
	text, err := examples.ReadFile(path.Join("examples", kind+".yml"))
	if err != nil {
		return nil, fmt.Errorf("no example for %q: choose one of %s", kind, strings.Join(Kinds(), ", "))
	}
	return append([]byte(strings.ReplaceAll(routes, "KIND", kind)), text...), nil
}
