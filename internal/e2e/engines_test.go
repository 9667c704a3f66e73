package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/e2e/stack"
)

// withoutKeepFiringFor returns the rules without a field that this version of vmalert does not know.
func withoutKeepFiringFor(t *testing.T, rules []byte) []byte {
	t.Helper()
	var file map[string]any
	if err := yaml.Unmarshal(rules, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			delete(rule.(map[string]any), "keep_firing_for")
		}
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What docs/alerting.md says about vmalert: it loads both files once keep_firing_for is removed.
func TestVmalertLoadsTheRules(t *testing.T) {
	full(t)
	t.Parallel()
	load := func(rules []byte) (string, error) {
		path := filepath.Join(t.TempDir(), "rules.yml")
		if err := os.WriteFile(path, rules, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), stack.Binary(t, "vmalert"), "-dryRun", "-rule="+path).CombinedOutput()
		return string(out), err
	}
	if out, err := load(alerts.Rules); err == nil || !strings.Contains(out, "unknown fields in rule: keep_firing_for") {
		t.Errorf("the rules as they are: %v\n%s", err, out)
	}
	for name, rules := range map[string][]byte{"rules.yml": withoutKeepFiringFor(t, alerts.Rules), "companion.yml": alerts.Companion} {
		if out, err := load(rules); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
