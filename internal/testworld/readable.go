package testworld

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Readable returns the content of every file of the repository that people read or that names families: documents, rules, dashboards, manifests,
// and the code without its tests. The keys are paths below the root.
func Readable(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && slices.Contains([]string{".git", ".tools", "bin", "dist", "node_modules", "testdata", "recorded"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_test.yml") ||
			slices.Contains([]string{"go.sum", "package-lock.json"}, name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(text), "\x00") {
			rel, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(rel)] = string(text)
		}
		return err
	}))
	return files
}
