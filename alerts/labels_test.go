package alerts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Labels of nodes and validators reach the alerts. A missing, doubled or removed label breaks no alert. Two replicas (job a), and two
// networks with a node of the same name (jobs a and b), double no alert and miss none.
func TestAlertsHaveTheLabelsOfTheirNodeOrValidator(t *testing.T) {
	testworld.Story(t)
	rules := must.Get(With(Options{Labels: []string{"owner", "region"}}))(t)
	cases := must.Get(os.ReadFile("testdata/labels_test.yml"))(t)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": rules, "labels_test.yml": cases} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	promtool(t, "test", "rules", filepath.Join(dir, "labels_test.yml"))
}
