package nodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

//go:generate go test -run TestFactsPageIsCurrent -update .

// What is compared is declared, with the reason why the protocol makes it equal.
func TestFactsPageIsCurrent(t *testing.T) {
	table := "| fact | why it is the same on all nodes |\n|---|---|\n"
	for _, f := range nodes.Facts() {
		table += fmt.Sprintf("| %s | %s |\n", f.Name, f.Why)
		if !strings.HasSuffix(f.Why, ".") {
			t.Errorf("%s: no reason", f.Name)
		}
	}
	const page = "../../docs/decisions/views.md"
	testworld.Golden(t, page, must.Get(section.With(page, "facts", table))(t), "make docs")
}

//go:generate go test -run TestVoicesPageIsCurrent -update .

// How many false voices decide nothing is computed by the functions that decide.
func TestVoicesPageIsCurrent(t *testing.T) {
	const truth = 100
	heights := func(n int) (harmless int) {
		for k := 1; k < n; k++ {
			for _, lie := range []float64{0, 1e6} {
				voices := slices.Repeat([]float64{truth}, n)
				for i := range k {
					voices[i] = lie
				}
				if nodes.Reached(voices) != truth {
					return harmless
				}
			}
			harmless = k
		}
		return harmless
	}
	says := func(harmless int, none string) string {
		if harmless == 0 {
			return none
		}
		return words.Plural(harmless, "false voice decides", "false voices decide") + " nothing"
	}
	none := map[int][2]string{1: {"nothing is compared: the one decides", "the one decides"}, 2: {"both must agree, or the observers decide", "the higher one decides"}}
	table := "| voices | a compared fact | a height or an epoch |\n|---|---|---|\n"
	for n := 1; n <= 7; n++ {
		facts := n - nodes.Most(n)
		if n > 2 && (facts < 1 || heights(n) < 1) {
			t.Errorf("one of %d voices decides", n)
		}
		table += fmt.Sprintf("| %d | %s | %s |\n", n, says(facts, none[n][0]), says(heights(n), none[n][1]))
	}
	const page = "../../docs/decisions/views.md"
	testworld.Golden(t, page, must.Get(section.With(page, "voices", table))(t), "make docs")
}

//go:generate go test -run TestBasesPageIsCurrent -update .

// Whose answer counts about each other fact is declared where nodes are asked.
func TestBasesPageIsCurrent(t *testing.T) {
	table := "| not compared | whose answer counts |\n|---|---|\n"
	for _, b := range nodes.Bases() {
		table += fmt.Sprintf("| %s | %s |\n", b.Fact, b.Whose)
	}
	asked := ""
	for _, pattern := range []string{"*.go", "../collector/*.go", "../ledger/*.go", "../../collectors/*.go", "../../collectors/dataservice/*.go"} {
		for _, file := range must.Get(filepath.Glob(pattern))(t) {
			if file != "facts.go" && !strings.HasSuffix(file, "_test.go") {
				asked += string(must.Get(os.ReadFile(file))(t))
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(Basis\w+) += `).FindAllStringSubmatch(string(must.Get(os.ReadFile("facts.go"))(t)), -1) {
		if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(asked) {
			t.Errorf("nobody asks about %s", m[1])
		}
	}
	const page = "../../docs/decisions/views.md"
	testworld.Golden(t, page, must.Get(section.With(page, "bases", table))(t), "make docs")
}
