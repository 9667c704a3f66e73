// Package internal_test checks the layers of the module.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const module = "github.com/avax-exporter/avax-exporter/"

// layers are the packages from the bottom up; the longest prefix counts. A package may import only packages of lower
// layers. Packages of the lowest layer may also import each other.
var layers = [][]string{
	{
		"alerts", "dashboards", "deploy/alertmanager", "docs", "internal/evaluation", "internal/files", "internal/logs", "internal/metric", "internal/secret",
		"simnet", "internal/spelling", "internal/staking", "internal/state", "internal/words", "scrape",
		"internal/section", "internal/testworld/recorded", "internal/testworld/must", "internal/testworld/wiretest", // for tests only
	},
	{"internal/nodes"},
	{"internal/collector", "internal/remedy"},
	{"collectors/dataservice", "internal/schedule"},
	{"collectors"},
	{"internal/alerting", "internal/notify"},
	{"internal/backtest", "internal/explain", "internal/status"},
	{"internal/config", "internal/web"},
	{"internal/ledger"},
	{"internal/app", "internal/demo", "internal/testworld"},
	{"cmd/exporter"},
	{"internal/catalogue", "internal/e2e", "internal/tools/performance", "internal/testworld/apptest"}, // check, run and measure the others
	{"alerts/generate"}, // compares the rules with the catalogue
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
			case pkg == "simnet":
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
		if n := slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, p) }); n >= 0 {
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
	must.Do(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
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
	}))
	return imports
}

// Package status reads the families, and panics at the start if one does not exist. A page that named one by a text would show a dash.
func TestPagesNameNoFamily(t *testing.T) {
	files, err := filepath.Glob("web/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source := must.Get(os.ReadFile(file))(t)
		if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(source), `"avax_`) {
			t.Errorf("%s names a family: read it in package status", file)
		}
	}
}

// beside are packages of commands beside the daemon, as promtool is beside Prometheus.
var beside = []string{"internal/backtest", "internal/ledger"}

// No package that the daemon needs imports those of other commands, so that these could become a second binary.
func TestDaemonNeedsNoPackageOfOtherCommands(t *testing.T) {
	imports := sources(t)
	needed := map[string]bool{}
	for next := []string{"internal/app"}; len(next) > 0; {
		pkg := next[0]
		if next = next[1:]; needed[pkg] {
			continue
		}
		needed[pkg] = true
		next = append(next, imports[pkg]...)
		if slices.Contains(beside, pkg) {
			t.Errorf("the daemon needs %s", pkg)
		}
	}
	for _, pkg := range beside {
		if len(imports[pkg]) == 0 {
			t.Errorf("no package %s", pkg)
		}
	}
	if len(needed) < 10 {
		t.Errorf("the daemon needs only %d packages", len(needed))
	}
}
