package catalogue

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// foreign returns families of other programs, by name, with their labels.
func foreign(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/foreign.txt")
	if err != nil {
		t.Fatal(err)
	}
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
	n := spoken(t)
	for name, labels := range foreign(t) {
		n.labelsOf[name] = labels
		for _, l := range labels {
			n.labels[l] = true
		}
	}
	for _, r := range testworld.Rules(t, alerts.Companion) {
		n.check(t, r.Alert+r.Record, r.Expr)
	}
}

// family finds a name with the alternatives of a regular expression in it: avax_node_(up|peers)\{.
var family = regexp.MustCompile(`(\b|\^)(avax|avalanche|app|node_timex|node_memory)_[a-z0-9_A-Z]*(\([a-zA-Z0-9_|()]*\))?[a-zA-Z0-9_]*`)

func TestRunbooksUseExistingFamilies(t *testing.T) {
	known := foreign(t)
	for name, r := range declared(t) {
		known[name] = r.Labels
	}
	known["avax_exporter_build_info"] = nil
	names := slices.Sorted(maps.Keys(known))
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range family.FindAllStringIndex(string(text), -1) {
			after := string(text[at[1]:])
			for _, name := range testworld.Alternatives(strings.TrimPrefix(string(text[at[0]:at[1]]), "^")) {
				checked++
				_, whole := known[name]
				begins := slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) })
				// A pattern for grep may be the beginning of names, unless the labels follow.
				if !whole && (!begins || strings.HasPrefix(after, "{") || strings.HasPrefix(after, `\{`) || strings.HasPrefix(after, "`")) {
					t.Errorf("%s: undeclared family %s", filepath.Base(page), name)
				}
			}
		}
	}
	if checked < 70 {
		t.Errorf("%d names found", checked)
	}
}

// The diagnosis of a runbook begins with what is particular about its alert, not with lines that others begin with too.
func TestDiagnosesBeginWithTheirPoint(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	begins := map[string][]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, diagnosis, _ := strings.Cut(string(text), "## Diagnosis\n")
		first := strings.Join(strings.SplitN(strings.TrimSpace(diagnosis), "\n", 6)[:5], "\n")
		begins[first] = append(begins[first], filepath.Base(page))
		if same := begins[first]; len(same) > 2 { // two alerts may be about the same fault, as a node and a rule of its own see it
			t.Errorf("%q begin their diagnosis with the same lines", same)
		}
	}
}
