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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/words"
)

// A row is a figure of a benchmark. It meets its bar if it is at most max and at least min. A row without either is for information.
type row struct {
	what, bar       string
	benchmark, unit string
	format          string
	max, min        float64
}

var rows = slices.Concat(
	used(1, 2), used(30, 2), used(300, 2),
	[]row{
		{what: "1 node: resident memory", bar: "64 MB", benchmark: "Use", unit: "MB/1", format: "%.0f MB", max: 64},
		{what: "1 node: calls to it in a minute", bar: "20", benchmark: "Use", unit: "calls/min/1", format: "%.0f", max: 20},
		{what: "30 nodes: calls to each in a minute", bar: "20", benchmark: "Use", unit: "calls/min/30", format: "%.0f", max: 20},
	},
	used(1000, 0),
	[]row{
		{what: "the same: CPU", bar: "1.5 cores", benchmark: "Thousand", unit: "cpu-s/min/1000", format: "%.0f s a minute", max: 90},
		{what: "the same: resident memory", bar: "600 MB", benchmark: "Thousand", unit: "MB/1000", format: "%.0f MB", max: 600},
		{what: "the same: runs of collectors that were skipped in a minute, because the machine was too slow", benchmark: "Thousand",
			unit: "skipped/min/1000", format: "%.0f"},
		{what: "the same: series", benchmark: "Thousand", unit: "series/1000", format: "%.0f"},
		{what: "the same: from the start to the first whole page", bar: "10 s", benchmark: "Thousand", unit: "s/complete/1000", format: "%.1f s", max: 10},
		{what: "the same: calls to each node in a minute", bar: "20", benchmark: "Thousand", unit: "calls/min/1000", format: "%.0f", max: 20},
	},
	scraped(1, 0.25), scraped(30, 0.1),
	[]row{
		{what: "from the start of the process to the first whole page of one node: CPU", bar: "0.1 s", benchmark: "Start", unit: "cpu-s/start",
			format: "%.2f s", max: 0.1},
		{what: "the same, compared with the anchor", benchmark: "Start", unit: "times-off", format: "%.1f times"},
		{what: "one node after a simulated day of incidents: resident memory, with the simulated node", bar: "96 MB", benchmark: "Day", unit: "MB",
			format: "%.0f MB", max: 96},
		{what: "the same: CPU", bar: "0.6 s a minute", benchmark: "Day", unit: "cpu-s/min", format: "%.2f s a minute", max: 0.6},
		{what: "the same: notified alerts that fired", benchmark: "Day", unit: "firing", format: "%.0f", min: 1},
		{what: "a status page of 1,000 nodes and 1,000 L1s: CPU", bar: "100 ms", benchmark: "PageOfAThousandNodesAndL1s", unit: "cpu-ms/page",
			format: "%.0f ms", max: 100},
		{what: "rewards, runways, quorums, top-ups and safe stops of 100,000 validators and 1,000 L1s", bar: "200 ms", benchmark: "Network",
			unit: "ms/fastest", format: "%.0f ms", max: 200},
	},
)

// used are the rows about the CPU of an exporter with this number of nodes.
func used(nodes int, most float64) []row {
	benchmark, of := "Use", fmt.Sprintf("/%d", nodes)
	if nodes == 1000 {
		benchmark = "Thousand"
	}
	first := row{what: words.Plural(nodes, "node", "nodes") + ", with rules: CPU compared with the anchor", benchmark: benchmark,
		unit: "times-off" + of, format: "%.1f times", max: most}
	if most > 0 {
		first.bar = fmt.Sprintf("%.0f times", most)
	}
	return []row{
		first,
		{what: "the same, with rules", benchmark: benchmark, unit: "cpu-s/min" + of, format: "%.2f s a minute"},
		{what: "the same, the anchor", benchmark: benchmark, unit: "cpu-s/min-off" + of, format: "%.2f s a minute"},
	}
}

// scraped are the rows about a gzip scrape of this number of nodes.
func scraped(nodes int, most float64) []row {
	of := fmt.Sprintf("/%d", nodes)
	return []row{
		{what: words.Plural(nodes, "node", "nodes") + ", a gzip scrape: CPU compared with client_golang's registry", bar: fmt.Sprintf("%.2f times", most),
			benchmark: "Scrape", unit: "cpu-ratio" + of, format: "%.2f times", max: most},
		{what: "the same: CPU", benchmark: "Scrape", unit: "cpu-ms/scrape" + of, format: "%.1f ms"},
		{what: "the same: bytes, compared with the registry", bar: "1.2 times", benchmark: "Scrape", unit: "bytes-ratio" + of, format: "%.2f times",
			max: 1.2},
		{what: "the same: bytes", benchmark: "Scrape", unit: "KB/scrape" + of, format: "%.0f KB"},
	}
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
A bar is for any machine where it is a ratio to an anchor of the same run. The anchor of an exporter with rules is the same exporter with AVAX_ALERTING=off.
Both run side by side, as processes, and monitor the same simulated nodes in another process. Each node answers after 20 ms. A scrape asks each
exporter every 15 s. The first two minutes do not count, the next four do, so the rules look back on at most six minutes. CPU is what the exporters
themselves export. The exporters of 1, 30 and 300 nodes run at once, those of 1,000 nodes apart.

Between two gzip scrapes, also every 15 s, collectors run, so a part of each page is new. Their work does not count. The registry of client_golang has
the same series as gauges.

The simulated day runs in synthetic time, which stands still while the exporter works. So the work of a day takes a few minutes. It
has all collections, 5,760 scrapes and 288 requests for the status page, and 24 incidents of 20 minutes. The rules look back on as much as they read.
Its CPU and memory include the simulated node, and no sockets.

The output of the benchmarks is in ` + "`bin/bench.txt`" + `. To compare two versions, keep this file of each and use benchstat.
` + "`make bench ONLY=Use`" + ` runs only the benchmarks with this name, and does not write the page.
`)
	return p.Bytes(), failed
}
