package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that SECURITY.md and docs/reliability.md mention exists.
func TestDocumentsNameExistingTests(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, f := range function.FindAllSubmatch(text, -1) {
			declared[string(f[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for _, page := range []string{"../SECURITY.md", "../docs/reliability.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
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
