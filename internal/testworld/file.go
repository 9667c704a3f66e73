package testworld

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// File writes a text to a new file, and returns its path.
func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

var update = flag.Bool("update", false, "write the generated files and sections; read the difference before you commit it")

// Update reports whether a test writes what it otherwise compares.
func Update() bool { return *update }

// Measured logs figures, and with -update writes them as the section of a document.
func Measured(t testing.TB, file, name, figures string) {
	t.Helper()
	t.Log("\n" + figures)
	if *update {
		must.Do(t, section.Write(file, name, figures))
	}
}

// Golden compares a text with a file that the command writes. With -update it writes the file.
func Golden(t testing.TB, file, got, command string) {
	t.Helper()
	if *update {
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
