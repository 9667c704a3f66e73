package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The parser of docker compose accepts the file: for the simulated network, and for an own node with .env.example unchanged.
func TestComposeFileIsValid(t *testing.T) {
	testworld.Full(t)
	text := must.Get(os.ReadFile("compose.yml"))(t)
	example := must.Get(os.ReadFile(".env.example"))(t)
	file := filepath.Join(t.TempDir(), "compose.yml")
	must.Do(t, os.WriteFile(file, text, 0o600))
	const command, nodes = "command:\n      - demo\n", "AVAX_NODES: mine=http://host.docker.internal:9650\n"
	if out := read(t, file); !strings.Contains(out, command) || strings.Contains(out, nodes) {
		t.Errorf("demo missing:\n%s", out)
	}
	must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(file), ".env"), example, 0o600))
	if out := read(t, file); strings.Contains(out, command) || !strings.Contains(out, nodes) {
		t.Errorf("own node missing:\n%s", out)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "compose"), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
