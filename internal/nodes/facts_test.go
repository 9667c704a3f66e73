package nodes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
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
