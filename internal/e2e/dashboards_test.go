package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/dashboards"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// drawn is the part of a panel that the tests read.
type drawn struct {
	Type, Title string
	Targets     []struct{ Expr string }
}

// panels returns the panels of every built-in dashboard that query Prometheus.
func panels(t *testing.T) map[string][]drawn {
	t.Helper()
	files, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string][]drawn{}
	for _, file := range files {
		text := must.Get(fs.ReadFile(dashboards.Files, file))(t)
		var board struct {
			Panels []struct {
				drawn
				Panels []drawn // of a collapsed row
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, row := range board.Panels {
			for _, p := range append([]drawn{row.drawn}, row.Panels...) {
				if len(p.Targets) > 0 && p.Type != "logs" {
					all[file] = append(all[file], p)
				}
			}
		}
	}
	return all
}

var variable = regexp.MustCompile(`\$\{?[a-z][a-z0-9_]*\}?`)

// chosen replaces the variables by their defaults.
func chosen(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "9s", "$__range", "1h", `job!~"$job"`, `job="another"`).Replace(expr)
	return variable.ReplaceAllString(expr, ".*")
}

func TestDemo(t *testing.T) {
	t.Parallel()
	exporter := testworld.RunExporter(t, exec.Command("sh", "-c", `exec "$0" demo`, testworld.ExporterPath(t)))
	rules := []string{testworld.File(t, string(alerts.Rules)), testworld.File(t, string(alerts.Companion))}
	prometheus := testworld.Prometheus(
		t,
		testworld.PrometheusConfig{Targets: []string{exporter.URL}, RuleFiles: rules, ScrapeInterval: 2 * time.Second, EvaluationInterval: 5 * time.Second},
	)
	awaitSample(t, prometheus, `ALERTS{alertname="AvaxWatchdog"}`)
	testworld.Await(t, "all rules are evaluated", func() error { return healthy(t, prometheus.URL) })
	t.Run("FillsEveryPanel", func(t *testing.T) { fillsEveryPanel(t, prometheus) })
	t.Run("IsServedAsTheFormulasSay", func(t *testing.T) { isServedAsTheFormulasSay(t, prometheus) })
}

// fillsEveryPanel waits for each panel: on a slow machine collectors run late and scrapes fail.
func fillsEveryPanel(t *testing.T, prometheus *testworld.PrometheusServer) {
	for file, all := range panels(t) {
		for _, p := range all {
			testworld.Await(t, file+": "+p.Title, func() error {
				series := 0
				for _, q := range p.Targets {
					found, err := prometheus.Query(t.Context(), chosen(q.Expr))
					if err != nil {
						return err
					}
					series += len(found)
				}
				// The demo has no metrics of the node itself, and no labels, and no staking period ends in it.
				if series == 0 && file != "node.json" && file != "labels.json" && p.Title != "Periods that ended" {
					return errors.New("empty")
				}
				return nil
			})
		}
	}
}

// maxSeries is the maximum number of distinguishable lines in one panel.
const maxSeries = 20

func TestPanelsAreReadableForAFleet(t *testing.T) {
	testworld.Full(t)
	const fleet = 200
	network := simnet.New(simnet.Options{Seed: 1, Validators: 30})
	for i := range 30 {
		network.AddL1Validator("examplel1", fmt.Sprintf("extra%02d", i), 10, 1e9+uint64(i)*1e7)
	}
	urls := testworld.Serve(t, network)
	var nodes []string
	for i := range fleet {
		name := []string{"alpha", "bravo", "charlie", "foxtrot"}[i%4]
		nodes = append(nodes, fmt.Sprintf("n%03d=%s", i, urls[name]))
	}
	exporter := testworld.StartExporter(t,
		"AVAX_NODES="+strings.Join(nodes, ","),
		"AVAX_VALIDATORS=all",
		"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID+",examplepoa="+network.Chain("examplepoa").ID,
		"AVAX_METRICS_URL="+urls["metrics"],
	)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{exporter.URL}, ScrapeInterval: 2 * time.Second})
	awaitSample(t, prometheus, fmt.Sprintf(`count(avax_node_peers) == %d`, fleet))
	awaitSample(t, prometheus, `count(avax_validator_uptime_ratio) > 500`) // the views of 25 nodes
	awaitSample(t, prometheus, fmt.Sprintf(`count(avax_l1_validator_connected) > %d`, 25*fleet))
	for file, all := range panels(t) {
		for _, p := range all {
			if p.Type == "table" {
				continue // it has a page per hundred rows
			}
			for _, q := range p.Targets {
				found, err := prometheus.Query(t.Context(), chosen(q.Expr))
				if err != nil {
					t.Errorf("%s: %s: %v", file, p.Title, err)
				}
				if len(found) > maxSeries {
					t.Errorf("%s: %s: %d series, want at most %d: %s", filepath.Base(file), p.Title, len(found), maxSeries, q.Expr)
				}
			}
		}
	}
}

// The formula in explain equals the exported value.
func isServedAsTheFormulasSay(t *testing.T, prometheus *testworld.PrometheusServer) {
	checked := 0
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			if f.Formula == "" {
				continue
			}
			checked++
			// Both sides change with time, and were not exported at the same moment.
			difference := fmt.Sprintf("abs((%s) - %s)", f.Formula, f.Name)
			awaitSample(t, prometheus, fmt.Sprintf("count(%s <= 60) unless count(%s > 60)", difference, difference))
		}
	}
	if checked == 0 {
		t.Error("no family with a formula")
	}
}
