package packages

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// TestBuildIsReproducible builds twice, from two directories. It also limits the size of the binary.
func TestBuildIsReproducible(t *testing.T) {
	testworld.Full(t)
	elsewhere := filepath.Join(t.TempDir(), "another", "place")
	if err := os.CopyFS(filepath.Join(elsewhere, "cmd"), os.DirFS("../../cmd")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"alerts", "collectors", "dashboards", "deploy/alertmanager", "internal", "scrape"} {
		if err := os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS("../../"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var sums [][]byte
	for _, root := range []string{"../..", elsewhere} {
		out := filepath.Join(t.TempDir(), "avax-exporter")
		build := exec.CommandContext(t.Context(), filepath.Join(root, "internal/tools/build"), out)
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		program, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(program) >= 60e6 {
			t.Errorf("the binary has %d bytes, want less than 60 MB", len(program))
		}
		sum := sha256.Sum256(program)
		sums = append(sums, sum[:])
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("builds of the same source differ: %x and %x", sums[0], sums[1])
	}
}
