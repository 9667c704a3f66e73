package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

//go:generate go test -run TestSizingTableMatchesTheSeries -update .

// TestSizingTableMatchesTheSeries counts the series of small fleets of validators, and compares the table of docs/operating.md.
func TestSizingTableMatchesTheSeries(t *testing.T) {
	// Views between validators grow with the square of their number: n nodes have once + n*node + n*(n-1)*pair series.
	var views [4]int
	for n := 1; n < len(views); n++ {
		views[n] = countSeries(t, n, false, "") - countSeries(t, n, false, "-validator_views")
	}
	pair := (views[3] - 2*views[2] + views[1]) / 2
	viewsOfNode := views[2] - views[1] - 2*pair

	one, two := countSeries(t, 1, false, "-validator_views"), countSeries(t, 2, false, "-validator_views")
	node := two - one
	oneL1, twoL1 := countSeries(t, 1, true, "-validator_views"), countSeries(t, 2, true, "-validator_views")
	nodeL1 := twoL1 - oneL1 - node

	// Every validator of an L1 has its own series.
	validators, ofValidators := map[string]bool{}, 0
	for _, line := range seriesOf(t, 1, true, "") {
		if _, id, ok := strings.Cut(line, `validation_id="`); ok && strings.Contains(line, `chain="examplel1"`) {
			id, _, _ = strings.Cut(id, `"`)
			validators[id] = true
			ofValidators++
		}
	}

	var table strings.Builder
	table.WriteString("| what | series |\n|---|---|\n")
	for _, row := range []struct {
		what   string
		series int
	}{
		{"the exporter itself and the network, once", one - node},
		{"each node that validates the primary network, with the C-Chain", node + viewsOfNode},
		{"each pair of such nodes, because they report about each other", 2 * pair},
		{fmt.Sprintf("each L1, once, with %d validators", len(validators)), oneL1 - one - nodeL1},
		{"of these, for each of its validators", ofValidators / len(validators)},
		{"each L1 on each node", nodeL1},
	} {
		fmt.Fprintf(&table, "| %s | %d |\n", row.what, row.series)
	}

	const file = "../../docs/operating.md"
	whole := must.Get(section.With(file, "series", table.String()))(t)
	testworld.Golden(t, file, whole, "make docs")
}

func countSeries(t *testing.T, nodes int, l1 bool, collectors string) int {
	return len(seriesOf(t, nodes, l1, collectors))
}

// seriesOf returns the samples of an exporter after the first run of all collectors.
func seriesOf(t *testing.T, nodes int, l1 bool, collectors string) (series []string) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		delete(w.Env, "METRICS_URL")
		w.Env["COLLECTORS"] = collectors
		w.Env["NODES"] = apptest.URLs([]string{"alpha", "bravo", "charlie"}[:nodes]...)
		if !l1 {
			w.Env["CHAINS"] = "C"
		}
		w.Start(t)
		time.Sleep(30 * time.Second)
		for s := range w.Samples(t) {
			if !strings.Contains(s, `{op="info.isBootstrapped"}`) { // called only if its run comes before that of the heads
				series = append(series, s)
			}
		}
	})
	return series
}
