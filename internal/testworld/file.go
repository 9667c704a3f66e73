package testworld

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// File writes a text to a new file, and returns its path.
func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Golden compares a text with a file that the command writes. With update it writes the file.
func Golden(t testing.TB, update bool, file, got, command string) {
	t.Helper()
	if update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("golden file: %v: run %s", err, command)
	} else if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got) differs: if got is correct, run %s\n%s", file, command, diff)
	}
}
