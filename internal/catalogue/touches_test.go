package catalogue_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// source returns the Go code of the module, without tests, tools and simnet, by path.
func source(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{"cmd", "collectors", "scrape", "internal"} {
		err := filepath.WalkDir("../../"+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if entry.IsDir() && slices.Contains([]string{"internal/simnet", "internal/recorded", "internal/demo", "internal/tools", "internal/performance"}, name) {
				return fs.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			files[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 100 {
		t.Fatalf("%d files found", len(files))
	}
	return files
}

// with returns the sorted names of the files that contain a text.
func with(files map[string]string, text string) (names []string) {
	for name, content := range files {
		if strings.Contains(content, text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A collector consists of one file, which has its name, and one line in All. No other code of collectors uses its Spec or declares its
// families.
func TestCollectorIsItsFileAndOneLine(t *testing.T) {
	files := source(t)
	declared := regexp.MustCompile(`(?m)^(?:var )?\s*(\w+) *= &Spec\{\n\s*Name:\s*"([a-z0-9_]+)"`)
	own := map[string]string{} // file by collector
	for _, name := range with(files, "= &Spec{") {
		for _, m := range declared.FindAllStringSubmatch(files[name], -1) {
			own[m[2]] = name
			if users := with(files, "\t"+m[1]+",\n"); !slices.Contains(users, "collectors/collectors.go") {
				t.Errorf("%s is not in All", m[1])
			}
		}
	}
	for _, spec := range collectors.All() {
		want := "collectors/" + strings.ReplaceAll(spec.Name, "_", "") + ".go"
		if own[spec.Name] != want {
			t.Errorf("the collector %s is in %q, want %s", spec.Name, own[spec.Name], want)
		}
		for _, f := range spec.Families {
			for _, name := range with(files, `New("`+f.Name+`"`) {
				if name != want {
					t.Errorf("%s declares %s of the collector %s", name, f.Name, spec.Name)
				}
			}
		}
	}
}

// A method of a node is one row of a table and one typed method in scrape/node. Apart from that, only collectors mention it,
// among their calls.
func TestMethodsAreUsedOnlyByClientAndCollectors(t *testing.T) {
	files := source(t)
	checked := 0
	for _, m := range node.Methods() {
		for _, name := range with(files, `"`+m.Name+`"`) {
			checked++
			if !strings.HasPrefix(name, "scrape/node/") && !strings.HasPrefix(name, "collectors/") {
				t.Errorf("%s mentions the method %s", name, m.Name)
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d uses found", checked)
	}
}
