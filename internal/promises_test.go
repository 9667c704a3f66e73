package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Every test that SECURITY.md and docs/reliability.md mention exists.
func TestDocumentsNameExistingTests(t *testing.T) {
	declared := map[string]bool{}
	must.Do(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				declared[f.Name.Name] = true
			}
		}
		return nil
	}))
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for _, page := range []string{"../SECURITY.md", "../docs/reliability.md"} {
		text := must.Get(os.ReadFile(page))(t)
		found := named.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no test", page)
		}
		for _, name := range found {
			if !declared[string(name[1])] {
				t.Errorf("%s: test %s does not exist", page, name[1])
			}
		}
	}
}

// Every file and directory that CONTRIBUTING.md names exists.
func TestContributingNamesExistingFiles(t *testing.T) {
	text := must.Get(os.ReadFile("../CONTRIBUTING.md"))(t)
	found := regexp.MustCompile("`((?:alerts|cmd|collectors|dashboards|deploy|docs|internal|scrape)/[\\w./*-]*)`").FindAllSubmatch(text, -1)
	if len(found) < 20 {
		t.Errorf("names %d files", len(found))
	}
	for _, name := range found {
		if files, err := filepath.Glob(filepath.Join("..", string(name[1]))); err != nil || len(files) == 0 {
			t.Errorf("%s does not exist: %v", name[1], err)
		}
	}
}
