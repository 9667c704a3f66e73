package catalogue

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

//go:generate go test -run TestMetricsPageIsCurrent -update .

var update = flag.Bool("update", false, "write docs/metrics.md")

func TestMetricsPageIsCurrent(t *testing.T) {
	testworld.Golden(t, *update, "../../docs/metrics.md", metricsPage(t), "make docs")
}

func metricsPage(t *testing.T) string {
	var p strings.Builder
	p.WriteString(`# Metrics

This page is generated from the code by ` + "`make docs`" + `.

A family without the label ` + "`node`" + ` does not depend on the node that answered. Each collector
runs once per period. A sample that is not updated for three periods disappears: absent is never zero.
`)
	p.WriteString("\n## Collectors\n\nThe column *every* has the default period. An item is an address, asset, contract, NFT,\ntransaction or validator that a variable lists, or the Data service itself.\n\n| collector | content | calls | every | for each |\n|---|---|---|---|---|\n")
	for _, s := range collectors.All() {
		fmt.Fprintf(&p, "| [%s](#%s) | %s | `%s` | %s | %s |\n", s.Name, s.Name, s.Help, strings.Join(s.Calls, "`, `"), model.Duration(s.Every), s.Scope)
	}
	for _, s := range collectors.All() {
		fmt.Fprintf(&p, "\n## %s\n\n", s.Name)
		table(&p)
		for _, f := range s.Families {
			line(&p, rowOf(f))
		}
	}
	p.WriteString("\n## The exporter itself\n\nIn addition to `go_*`, `process_*` and `avax_exporter_build_info`:\n\n")
	table(&p)
	for _, r := range own(t) {
		line(&p, r)
	}
	return p.String()
}

func table(p *strings.Builder) {
	p.WriteString("| family | type | labels | meaning |\n|---|---|---|---|\n")
}

func line(p *strings.Builder, r row) {
	labels := "–"
	if len(r.Labels) > 0 {
		labels = strings.Join(r.Labels, ", ")
	}
	fmt.Fprintf(p, "| `%s` | %s | %s | %s |\n", r.Name, r.Type, labels, strings.ReplaceAll(r.Help, "|", `\|`))
}
