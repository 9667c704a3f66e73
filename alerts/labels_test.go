package alerts

import (
	"os"
	"path/filepath"
	"testing"
)

// Labels of nodes and validators reach the alerts. A missing, doubled or removed label breaks no alert. Two replicas (job a), and two
// networks with a node of the same name (jobs a and b), double no alert and miss none.
func TestAlertsHaveTheLabelsOfTheirNodeOrValidator(t *testing.T) {
	t.Parallel()
	rules, err := WithLabels(Rules, []string{"owner", "region"})
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/labels_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": rules, "labels_test.yml": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, "test", "rules", filepath.Join(dir, "labels_test.yml"))
}
