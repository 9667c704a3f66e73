package packages

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestBuildIsReproducible builds twice, from two directories: this one, and a copy of what git would commit. It also limits the size of the binary.
func TestBuildIsReproducible(t *testing.T) {
	testworld.Full(t)
	elsewhere := filepath.Join(t.TempDir(), "another", "place")
	run(t, exec.CommandContext(t.Context(), "git", "-C", root, "checkout-index", "--all", "--prefix="+elsewhere+"/"))
	var sums [][]byte
	for _, from := range []string{root, elsewhere} {
		out := filepath.Join(t.TempDir(), "avax-exporter")
		build := exec.CommandContext(t.Context(), filepath.Join(from, "internal/tools/build"), out)
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		program := must.Get(os.ReadFile(out))(t)
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
