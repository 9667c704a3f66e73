package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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

// A guard without a test has no promise.
func TestEachPromiseNamesItsTest(t *testing.T) {
	text := string(must.Get(os.ReadFile("../SECURITY.md"))(t))
	test := regexp.MustCompile("`((?:Test|Fuzz)\\w+|testdata/script/[\\w.]+)`|`Fuzz…`")
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise ") {
			continue
		}
		if rows++; !test.MatchString(line) {
			t.Errorf("no test: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("%d promises", rows)
	}
}

func TestEachDependencyHasAReason(t *testing.T) {
	reasons := string(must.Get(os.ReadFile("../docs/decisions/dependencies.md"))(t))
	direct, _, _ := strings.Cut(string(must.Get(os.ReadFile("../go.mod"))(t)), "// indirect") // the first block has the direct ones
	required := regexp.MustCompile(`(?m)^\t([\w./-]+) v`).FindAllStringSubmatch(direct, -1)
	if len(required) < 20 {
		t.Errorf("%d dependencies", len(required))
	}
	for _, r := range required[:len(required)-1] {
		if !strings.Contains(reasons, r[1]) {
			t.Errorf("%s has no reason", r[1])
		}
	}
}

// A test or a package that it installs cannot change what is signed: the job that builds it starts from the tag, and runs nothing else.
func TestReleaseBuildsApartFromTests(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("../.github/workflows/release.yml"))(t), &workflow))
	var runs []string
	for _, step := range workflow.Jobs["build"].Steps {
		if step.Run != "" {
			runs = append(runs, step.Run)
		}
	}
	if want := []string{"make dist", "internal/tools/release same"}; !slices.Equal(runs, want) {
		t.Errorf("the job that builds runs %q, want %q", runs, want)
	}
	if len(workflow.Jobs["test"].Steps) == 0 {
		t.Error("no job tests")
	}
}
