// Command performance writes docs/performance.md. It reads the output of `make bench` from standard input: the results of Go
// benchmarks, some of which are in this directory. It fails if a bar is not met.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A row is a figure of a benchmark. It meets its bar if it is at most max and at least min. A row without either is for information.
type row struct {
	what, bar       string
	benchmark, unit string
	format          string
	max, min        float64
}

var rows = []row{
	{what: "CPU of a gzip scrape of 60,000 series, by the registry of client_golang and by the exporter", bar: "40 times", benchmark: "Scrape",
		unit: "registry/exporter", format: "%.0f times", min: 40},
	{what: "1,000 nodes, default collectors, a scrape every 15 s: CPU", bar: "0.2 cores", benchmark: "Nodes", unit: "cores", format: "%.2f cores", max: 0.2},
	{what: "the same: resident memory", bar: "300 MB", benchmark: "Nodes", unit: "MB", format: "%.0f MB", max: 300},
	{what: "the same: from the start to the first complete page", bar: "5 s", benchmark: "Nodes", unit: "s/complete", format: "%.1f s", max: 5},
	{what: "the same: calls to a node in a minute", bar: "30", benchmark: "Nodes", unit: "calls/min", format: "%.1f", max: 30},
	{what: "the same: series", benchmark: "Nodes", unit: "series", format: "%.0f"},
	{what: "10,000 nodes over ten shards: CPU compared with ten times 1,000 nodes", bar: "1.1 times", benchmark: "Shards", unit: "cores/linear",
		format: "%.2f times", max: 1.1},
	{what: "the same: resident memory of all shards", benchmark: "Shards", unit: "MB", format: "%.0f MB"},
	{what: "one node with rules, notifications, the status page and a scrape every 15 s, after a simulated day of incidents: resident memory", bar: "64 MB",
		benchmark: "Day", unit: "MB", format: "%.1f MB", max: 64},
	{what: "the same: share of a core", bar: "1 %", benchmark: "Day", unit: "%core", format: "%.2f %%", max: 1},
	{what: "the same: notified alerts that fired", benchmark: "Day", unit: "firing", format: "%.0f", min: 1},
	{what: "a status page of 1,000 nodes and 1,000 L1s: CPU", bar: "100 ms", benchmark: "PageOfAThousandNodesAndL1s", unit: "cpu-ms/page", format: "%.0f ms",
		max: 100},
	{what: "rewards, runways, quorums, top-ups and safe stops of 100,000 validators and 1,000 L1s", bar: "200 ms", benchmark: "Network", unit: "ms/fastest",
		format: "%.0f ms", max: 200},
	{what: "alert rules for 1 node, evaluated every 15 s: share of a core", benchmark: "Alerting/nodes=1", unit: "%-of-a-core", format: "%.1f %%"},
	{what: "the same for 100 nodes", benchmark: "Alerting/nodes=100", unit: "%-of-a-core", format: "%.1f %%"},
	{what: "the same: heap of the rule engine", benchmark: "Alerting/nodes=100", unit: "heap-MB", format: "%.0f MB"},
	{what: "alert rules for 1,000 nodes: share of a core", benchmark: "Alerting/nodes=1000", unit: "%-of-a-core", format: "%.1f %%"},
	{what: "the same: heap of the rule engine", benchmark: "Alerting/nodes=1000", unit: "heap-MB", format: "%.0f MB"},
	{what: "`backtest` of a year of ten nodes with a sample and an evaluation every 5 minutes: CPU", benchmark: "Backtest/days=365", unit: "CPU-s",
		format: "%.0f s"},
	{what: "the same: peak memory", benchmark: "Backtest/days=365", unit: "MB/peak", format: "%.0f MB"},
	{what: "the same of a day, every 15 s: CPU", benchmark: "Backtest/days=1", unit: "CPU-s", format: "%.0f s"},
	{what: "the same: peak memory of both", benchmark: "Backtest/days=1", unit: "MB/peak", format: "%.0f MB"},
}

func main() {
	figures, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
	text, failed := page(figures)
	_, _ = os.Stdout.Write(text)
	for _, f := range failed {
		fmt.Fprintln(os.Stderr, "performance:", f)
	}
	if len(failed) > 0 {
		os.Exit(1)
	}
}

// read returns the figures in the output of Go benchmarks, by benchmark and unit.
func read(from io.Reader) (map[string]map[string]float64, error) {
	figures := map[string]map[string]float64{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(runtime.GOMAXPROCS(0)))
		figures[name] = map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", lines.Text(), err)
			}
			figures[name][fields[i+1]] = value
		}
	}
	return figures, lines.Err()
}

// page returns the text of docs/performance.md, and the bars that are not met or not measured.
func page(figures map[string]map[string]float64) (text []byte, failed []string) {
	var p bytes.Buffer
	fmt.Fprintf(&p, `# Performance

`+"`make bench`"+` measures these figures with Go benchmarks, and writes this page. The last run was on %s, on %d cores, %s/%s, %s.

| what | bar | measured | |
|---|---|---|---|
`, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, r := range rows {
		value, measured := figures[r.benchmark][r.unit]
		shown, verdict := "–", ""
		if measured {
			shown = fmt.Sprintf(r.format, value)
		}
		if r.max > 0 || r.min > 0 {
			if verdict = "met"; !measured {
				verdict = "not measured"
				failed = append(failed, fmt.Sprintf("%s: not measured, the bar is %s", r.what, r.bar))
			} else if r.max > 0 && value > r.max || value < r.min {
				verdict = "**not met**"
				failed = append(failed, fmt.Sprintf("%s: %s, the bar is %s", r.what, shown, r.bar))
			}
		}
		fmt.Fprintf(&p, "| %s | %s | %s | %s |\n", r.what, r.bar, shown, verdict)
	}
	p.WriteString(`
The 1,000 nodes are simulated in another process. Each answers after 20 ms. The exporter evaluates no rules. The figures of CPU and
memory are those on its own /metrics.

The simulated day runs in synthetic time, which stands still while the exporter works. So the work of a day takes a few minutes. It
has all collections, 5,760 evaluations of the rules and 5,760 scrapes. It has 288 requests for the status page, and 24 incidents of 20 minutes. The
memory includes the simulated node.

The output of the benchmarks is in ` + "`bin/bench.txt`" + `. To compare two versions, keep this file of each and use benchstat.
` + "`make bench ONLY=Nodes`" + ` runs only the benchmarks with this name, and does not write the page.
`)
	return p.Bytes(), failed
}
