package testworld

import (
	"os"
	"path/filepath"
	"testing"
)

// File writes a text to a new file, and returns its path.
func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
