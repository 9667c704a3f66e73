package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// foreign returns families of other programs, by name, with their labels.
func foreign(t *testing.T) map[string][]string {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/foreign.txt"))(t)
	families := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, labels, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "#" {
			continue
		}
		families[name] = []string{}
		if labels != "" {
			families[name] = strings.Split(labels, ",")
		}
	}
	return families
}

func TestCompanionRulesUseFamiliesOfOtherPrograms(t *testing.T) {
	n, companion := spoken(t, foreign(t))
	if err := companion.CheckNames(n); err != nil {
		t.Error(err)
	}
}

// The diagnosis of a runbook begins with what is particular about its alert, not with lines that others begin with too.
func TestDiagnosesBeginWithTheirPoint(t *testing.T) {
	pages := must.Get(filepath.Glob("../../docs/runbooks/*.md"))(t)
	begins := map[string][]string{}
	for _, page := range pages {
		text := must.Get(os.ReadFile(page))(t)
		_, diagnosis, _ := strings.Cut(string(text), "## Diagnosis\n")
		first := strings.Join(strings.SplitN(strings.TrimSpace(diagnosis), "\n", 6)[:5], "\n")
		begins[first] = append(begins[first], filepath.Base(page))
		if same := begins[first]; len(same) > 2 { // two alerts may be about the same fault, as a node and a rule of its own see it
			t.Errorf("%q begin their diagnosis with the same lines", same)
		}
	}
}
