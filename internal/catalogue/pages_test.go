package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

//go:generate go test -run TestMetricsPageIsCurrent -update .

func TestMetricsPageIsCurrent(t *testing.T) {
	testworld.Golden(t, "../../docs/metrics.md", metricsPage(t), "make docs")
}

func metricsPage(t *testing.T) string {
	var p strings.Builder
	p.WriteString(`# Metrics

This page is generated from the code by ` + "`make docs`" + `.

A family without the label ` + "`node`" + ` does not depend on the node that answered. Each collector
runs once per period. A sample that is not updated for three periods disappears: absent is never zero.
`)
	p.WriteString("\n## Collectors\n\nThe column *every* has the default period. An item is an address, asset, contract, NFT,\ntransaction or validator that a " +
		"variable lists, or the Data service itself.\n\n| collector | content | calls | every | for each |\n|---|---|---|---|---|\n")
	for _, s := range collectors.All() {
		fmt.Fprintf(&p, "| [%s](#%s) | %s | `%s` | %s | %s |\n", s.Name, s.Name, s.Help, strings.Join(s.Calls, "`, `"), model.Duration(s.Every), targetsOf(t, s))
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
	for _, r := range own() {
		line(&p, r)
	}
	return p.String()
}

// targetsOf names the kinds of targets that the jobs of a collector have, such as "node, node and chain".
func targetsOf(t *testing.T, s *collector.Spec) string {
	up := must.Get(scrape.New(scrape.Options{Name: "upstream", URL: "http://upstream.sim"}))(t)
	item, ids := collector.Unnamed("item"), []string{"item"}
	found := map[string]bool{}
	for _, validators := range [][]string{nil, ids} {
		ups := &collector.Upstreams{
			Pool: nodes.NewPool([]*nodes.Node{nodes.New(node.New(up)), nodes.NewObserver(node.New(up))},
				[]nodes.Chain{{Name: "C", Ref: "C"}, {Name: "one", Ref: "one"}}),
			Metrics: metrics.New(up),
			Watch: collector.Watchlist{
				Validators: collector.Validators{IDs: validators}, Addresses: item, Delegators: []collector.Item{{Name: "item"}}, Assets: item, EVM: item,
				Contracts: item,
				Tokens:    []collector.Token{{Chain: "one"}}, Signatures: []collector.Item{{Name: "probe"}},
			},
		}
		ups.Data = collector.NewDataService(nil, "", "")
		for _, j := range s.Bind(ups) {
			kind := "network"
			switch of := j.Target; {
			case of.Node != "" && of.Chain != "":
				kind = "node and chain"
			case of.Item != "" && of.Chain != "":
				kind = "item and chain"
			case of.Node != "":
				kind = "node"
			case of.Item != "":
				kind = "item"
			case of.Chain != "":
				kind = "chain"
			}
			found[kind] = true
		}
	}
	kinds := []string{"network", "node", "node and chain", "chain", "item", "item and chain"}
	return strings.Join(slices.DeleteFunc(kinds, func(kind string) bool { return !found[kind] }), ", ")
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
