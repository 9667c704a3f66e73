// Package internal_test holds what is true of the house as a whole.
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

// floors says on which floor a package lives; the longest prefix counts.
// Imports go down, or stay within the cellar.
var floors = map[string]int{
	"alerts":               0,
	"dashboards":           0,
	"internal/pack":        0,
	"internal/passage":     0, // serves tests alone
	"internal/metric":      0,
	"internal/recorded":    0, // serves tests alone
	"internal/simnet":      0,
	"internal/spelling":    0,
	"internal/staking":     0,
	"internal/state":       0,
	"scrape":               0,
	"collectors":           1,
	"internal/alerting":    1,
	"internal/fleet":       1,
	"internal/snapshot":    1,
	"internal/explain":     2,
	"internal/schedule":    2,
	"internal/web":         2,
	"cmd/exporter":         3,
	"internal/catalogue":   4, // checks what the others declare
	"internal/e2e":         4, // runs the whole
	"internal/performance": 4, // measures the whole
}

// TestImportsGoDown reads the sources themselves: the go command's own answer
// would come from the test cache.
func TestImportsGoDown(t *testing.T) {
	packages := 0
	for pkg, imports := range sources(t) {
		packages++
		from, known := floor(pkg)
		if !known {
			t.Errorf("%s has no floor: give it a line in floors", pkg)
			continue
		}
		for _, imported := range imports {
			to, known := floor(imported)
			switch {
			case !known:
				t.Errorf("%s imports %s, which has no floor", pkg, imported)
			case pkg == "internal/simnet":
				t.Errorf("%s imports %s: a client and a server that share types share mistakes", pkg, imported)
			case to > from || to == from && from > 0:
				t.Errorf("%s (floor %d) imports %s (floor %d)", pkg, from, imported, to)
			}
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages found", packages)
	}
}

func floor(pkg string) (n int, known bool) {
	for p := pkg; p != "." && p != "/"; p = path.Dir(p) {
		if n, known = floors[p]; known {
			return n, true
		}
	}
	return 0, false
}

// sources returns, for each package of the module, the packages of the module
// that it imports, leaving out tests.
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
