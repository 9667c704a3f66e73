package alerts

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/e2e/stack"
)

func TestPromtoolFindsNoFaultWithTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "companion.yml")
}

// Each alert fires, and keeps quiet, as the files beside the rules tell.
func TestTheRulesDoWhatTheirTestsPromise(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of rules: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, "_test.yml"), func(t *testing.T) {
			t.Parallel()
			promtool(t, "test", "rules", file)
		})
	}
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), stack.Binary(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
