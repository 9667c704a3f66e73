// Package internal_test checks the layers of the module.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/avax-exporter/avax-exporter/"

// layers are the packages from the bottom up; the longest prefix counts. A package may import only lower layers, or its own
// layer if that is the lowest.
var layers = map[string]int{
	"alerts":               0,
	"dashboards":           0,
	"deploy/alertmanager":  0,
	"internal/pack":        0,
	"internal/passage":     0, // for tests only
	"internal/hostile":     0, // for tests only
	"internal/metric":      0,
	"internal/recorded":    0, // for tests only
	"internal/regular":     0,
	"internal/simnet":      0,
	"internal/spelling":    0,
	"internal/staking":     0,
	"internal/state":       0,
	"scrape":               0,
	"collectors":           1,
	"internal/fleet":       1,
	"internal/snapshot":    1,
	"internal/schedule":    3,
	"internal/alerting":    3,
	"internal/notify":      3,
	"internal/remedy":      2,
	"internal/explain":     4,
	"internal/web":         5,
	"internal/config":      6,
	"internal/app":         7,
	"internal/demo":        7,
	"cmd/exporter":         8,
	"internal/catalogue":   9, // checks declarations of the others
	"internal/e2e":         9, // runs the whole program
	"internal/performance": 9, // measures the whole program
	"internal/testworld":   9, // for tests of the whole program
}

// TestImportsFollowTheLayers parses the sources, because go test may cache the output of the go command.
func TestImportsFollowTheLayers(t *testing.T) {
	packages := 0
	for pkg, imports := range sources(t) {
		packages++
		from, known := layer(pkg)
		if !known {
			t.Errorf("%s has no layer: add it to layers", pkg)
			continue
		}
		for _, imported := range imports {
			to, known := layer(imported)
			switch {
			case !known:
				t.Errorf("%s imports %s, which has no layer", pkg, imported)
			case pkg == "internal/simnet":
				t.Errorf("%s imports %s: client and simulated server must not share types", pkg, imported)
			case to > from || to == from && from > 0:
				t.Errorf("%s (layer %d) imports %s (layer %d)", pkg, from, imported, to)
			}
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages found", packages)
	}
}

func layer(pkg string) (n int, known bool) {
	for p := pkg; p != "." && p != "/"; p = path.Dir(p) {
		if n, known = layers[p]; known {
			return n, true
		}
	}
	return 0, false
}

// sources returns, for each package of the module, its imports of the module, without tests.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	const root = ".."
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || name == "tools" || file != root && strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(dir)
		imports[pkg] = append(imports[pkg], nil...)
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if inside, ok := strings.CutPrefix(imported, module); ok {
				imports[pkg] = append(imports[pkg], inside)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
