package testworld

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// ExporterPath returns the path of the exporter's binary: $TEST_EXPORTER, which `make test` sets. Without the variable, the first call
// builds the binary. A package that calls it needs Main.
func ExporterPath(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	built = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("TEST_EXPORTER"); path != "" {
			return path, nil
		}
		var err error
		if temporary, err = os.MkdirTemp("", "avax-exporter-"); err != nil {
			return "", err
		}
		path := filepath.Join(temporary, "avax-exporter")
		const pkg = "github.com/avax-exporter/avax-exporter/cmd/exporter"
		if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, pkg).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
	temporary string // directory of the binary that ExporterPath has built, if any
)

// Main runs the tests of a package and removes the binary that ExporterPath has built.
func Main(m *testing.M) (code int) {
	defer func() { _ = os.RemoveAll(temporary) }()
	return m.Run()
}
