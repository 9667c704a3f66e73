package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The result files of a run, relative to the root of the repository.
const (
	pagePath      = "docs/performance.md"
	rawPath       = "bin/bench.txt"                 // for benchstat
	committedPath = "internal/performance/last.txt" // figures of the last run that was written
)

// row is one line of the table.
type row struct {
	what, bar, before, measured string
	on                          string // date
	met                         bool
}

// bench is a run.
type bench struct {
	ctx  context.Context
	dir  string // for temporary files
	raw  bytes.Buffer
	rows []row
	also []string // further figures without a limit
}

func (b *bench) add(met bool, what, bar, measured string, args ...any) {
	r := row{what: what, bar: bar, measured: fmt.Sprintf(measured, args...), on: time.Now().UTC().Format(time.DateOnly), met: met}
	b.rows = append(b.rows, r)
	fmt.Fprintf(os.Stderr, "%-8s %s: %s (%s)\n", verdict(met), what, r.measured, bar)
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT MET"
}

// parts are the measurements, by their names in -only, in page order.
var parts = []struct {
	name    string
	measure func(*bench) error
}{
	{"pages", (*bench).pages},
	{"growth", (*bench).growth},
	{"refreshes", (*bench).refreshes},
	{"arithmetic", (*bench).arithmetic},
	{"alerting", (*bench).alerting},
	{"binaries", (*bench).binaries},
	{"start", (*bench).start},
	{"calls", (*bench).calls},
	{"status-page", (*bench).statusPage},
	{"day", (*bench).day},
	{"fleet", (*bench).fleetOfEight},
	{"fleet-defaults", (*bench).fleetOfDefaults},
	{"fleet-memory", (*bench).fleetInMemory},
	{"fleet-rules", (*bench).fleetWithRules},
	{"shards", (*bench).shards},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// run measures parts, or all without names.
func run(ctx context.Context, only []string) (*bench, error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, errors.New("run this at the root of the repository: make bench")
	}
	for _, name := range only {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("there is no part %q: -only takes %s", name, strings.Join(partNames(), ", "))
		}
	}
	dir, err := os.MkdirTemp("", "performance")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, dir: dir}
	fmt.Fprintf(&b.raw, "goos: %s\ngoarch: %s\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, processor())
	for _, part := range parts {
		if len(only) > 0 && !slices.Contains(only, part.name) {
			continue
		}
		if err := part.measure(b); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return b, nil
}

// some measures the named parts, or all, and prints the results.
func some(ctx context.Context, only []string) (*bench, error) {
	b, err := run(ctx, only)
	if err != nil {
		return nil, err
	}
	for _, line := range b.also {
		fmt.Println(line)
	}
	return b, errors.Join(os.MkdirAll(filepath.Dir(rawPath), 0o755), os.WriteFile(rawPath, b.raw.Bytes(), 0o644), b.print(os.Stdout))
}

// write writes the results to the page and to the committed figures. Parts that were not measured stay unchanged.
func (b *bench) write() error {
	page, err := os.ReadFile(pagePath)
	if err != nil {
		return err
	}
	committed, err := os.ReadFile(committedPath)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	b.merge(readPage(page))
	return errors.Join(os.WriteFile(pagePath, b.page(), 0o644), os.WriteFile(committedPath, merged(committed, b.raw.Bytes()), 0o644))
}

// readPage parses the rows of the page's table, and the lines below it.
func readPage(page []byte) (rows []row, also []string) {
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if text, is := strings.CutPrefix(line, "- "); is {
			also = append(also, text)
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 6 || cells[0] == "what" {
			continue
		}
		rows = append(rows, row{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5] == "met"})
	}
	return rows, also
}

// merge merges the rows of a run into the rows of the page.
func (b *bench) merge(rows []row, also []string) {
	for _, r := range b.rows {
		if i := slices.IndexFunc(rows, func(old row) bool { return old.what == r.what }); i >= 0 {
			r.before = rows[i].measured
			rows[i] = r
		} else {
			rows = append(rows, r)
		}
	}
	for _, line := range b.also {
		about, _, _ := strings.Cut(line, ":")
		if i := slices.IndexFunc(also, func(old string) bool { return strings.HasPrefix(old, about+":") }); i >= 0 {
			also[i] = line
		} else {
			also = append(also, line)
		}
	}
	b.rows, b.also = rows, also
}

func (b *bench) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tbar\tmeasured\t")
	for _, r := range b.rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.bar, r.measured, verdict(r.met))
	}
	return table.Flush()
}

// page returns the table as documentation.
func (b *bench) page() []byte {
	var p bytes.Buffer
	fmt.Fprintf(&p, `# Performance

`+"`make bench`"+` (`+"`internal/performance`"+`) measures these figures and writes this page. Each measured program
is its own process. The figures are the CPU time and the resident memory of that process.

A bar that compares two programs is a ratio of two figures of the same run. Each figure is the lowest of five
rounds. Only ratios are valid on other machines. The programs to compare with are:

- the registry: the registry of client_golang behind promhttp, with the same series;
- the file: the same compressed page, served by `+"`http.ServeFile`"+`;
- json_exporter: a program that does the same work as the source of json_exporter.

`+"`make bench ONLY=part`"+` measures one part and replaces its rows. So each row has its date, and the result of the
measurement before. Rows with different dates may come from different machines. `+"`make bench-compare`"+` compares a new run
with the committed figures.

The last run was on %s, %d cores, %s/%s, %s.

| what | bar | before | measured | on | |
|---|---|---|---|---|---|
`, processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, r := range b.rows {
		met := "met"
		if !r.met {
			met = "**not met**"
		}
		fmt.Fprintf(&p, "| %s | %s | %s | %s | %s | %s |\n", r.what, r.bar, cmp.Or(r.before, "–"), r.measured, r.on, met)
	}
	p.WriteString("\nOther figures:\n\n")
	for _, line := range b.also {
		fmt.Fprintf(&p, "- %s\n", line)
	}
	p.WriteString(`
For the simulated day (` + "`make bench ONLY=day`" + `), the exporter runs in its own process. It has the default
configuration with one node, a state directory, and notifications to a webhook. The simulated network is in another process.
Both processes use the same synthetic clock. The clock stands still while the exporter works, and then jumps to the next event. So the
work of a day takes three minutes: all collections, 5,760 evaluations of the rules, 5,760 scrapes, 288 requests for the status page, and
24 incidents of 20 minutes. The node is stopped, hangs, answers 503 or HTML, has an old C-Chain block, or bootstraps the C-Chain.
The CPU time of the process, divided by 86,400 s, is the share of a core. Resident is VmRSS at the end, the peak is VmHWM.
Requests to the exporter do not use its listener. Go returns unused memory to the system in the background, in real time. Here it
has three minutes to do so instead of a day.

Each scrape comes more than a second after the scrape before, so it collects the exporter's own metrics again. A scrape
within the same second costs less. ` + "`internal/performance/last.txt`" + ` has the figures of each round in the format of
benchstat. [A decision](decisions/page.md) explains how /metrics is served.
`)
	return p.Bytes()
}

// processor returns the name of the machine's CPU.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}

// rounds is the number of measurements of a figure. The lowest counts, because other processes can only add to it.
const rounds = 5

// least measures the cost of one call of do, in rounds of n calls. It returns the lowest result.
func (b *bench) least(name string, s *subject, n int, do func() error) (usage, error) {
	var all []usage
	for range rounds {
		u, err := s.measure(n, do)
		if err != nil {
			return u, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b.raw, "Benchmark%s %d %d cpu-ns/op %d B/op %d allocs/op\n", name, n, u.CPU.Nanoseconds(), u.Allocated, u.Objects)
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b usage) int { return int(a.CPU - b.CPU) })
	return all[0], nil
}

// apart waits until the exporter collects its own metrics again.
func apart(do func() error) func() error {
	return func() error {
		time.Sleep(1050 * time.Millisecond)
		return do()
	}
}

func ratio[T time.Duration | int64 | uint64](a, b T) float64 { return float64(a) / float64(b) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// pages compares scrapes of 60,000 series.
func (b *bench) pages() error {
	const series = 60_000
	ours, err := start(b.ctx, "page", series)
	if err != nil {
		return err
	}
	defer ours.stop()
	registry, err := start(b.ctx, "registry", series)
	if err != nil {
		return err
	}
	defer registry.stop()
	packed, err := ours.get("/metrics")
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "page.gz")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		return err
	}
	file, err := start(b.ctx, "file", path)
	if err != nil {
		return err
	}
	defer file.stop()

	var found [5]usage
	for i, m := range []struct {
		name string
		s    *subject
		n    int
		do   func() error
	}{
		{"ScrapePage", ours, 4, apart(ours.ask("/metrics"))},
		{"ScrapeRegistry", registry, 4, apart(registry.ask("/metrics"))},
		{"ScrapeFile", file, 4, apart(file.ask("/metrics"))},
		{"ChangePage", ours, 4, apart(ours.ask("/change", "/metrics"))},
		{"ChangeRegistry", registry, 4, apart(registry.ask("/change", "/metrics"))},
	} {
		if found[i], err = b.least(m.name, m.s, m.n, m.do); err != nil {
			return err
		}
	}
	page, reg, static, changed, regChanged := found[0], found[1], found[2], found[3], found[4]
	b.add(ratio(page.CPU, reg.CPU) <= 1./100 && ratio(page.CPU, static.CPU) <= 3,
		"CPU of a gzip scrape as Prometheus 3 asks, 60,000 series, nothing changed", "1/100 of the registry's, within 3x of a static file",
		"1/%.0f (%s to %s), %.1fx the file's %s", 1/ratio(page.CPU, reg.CPU), ms(page.CPU), ms(reg.CPU), ratio(page.CPU, static.CPU), ms(static.CPU))
	b.add(ratio(changed.CPU, regChanged.CPU) <= 1./20,
		"the same while a job with 5,000 series changes, its run counted in", "1/20",
		"1/%.0f (%s to %s)", 1/ratio(changed.CPU, regChanged.CPU), ms(changed.CPU), ms(regChanged.CPU))
	b.also = append(b.also, fmt.Sprintf("Allocated by a scrape of 60,000 series of which nothing changed: %.2f MB in %d objects, by the registry %.1f MB in %d.",
		float64(page.Allocated)/1e6, page.Objects, float64(reg.Allocated)/1e6, reg.Objects))
	return nil
}

// growth compares pages of 12,000 and of 1,200,000 series.
func (b *bench) growth() error {
	const small, large = 12_000, 1_200_000
	var each [2]time.Duration // CPU of one scrape per series, in 1/1000 ns
	var resident [2]int64
	for i, series := range []int{small, large} {
		s, err := start(b.ctx, "page", series)
		if err != nil {
			return err
		}
		u, err := b.least(fmt.Sprintf("ScrapePage/series=%d", series), s, 3, apart(s.ask("/metrics")))
		s.stop()
		if err != nil {
			return err
		}
		each[i], resident[0] = u.CPU*1000/time.Duration(series), u.Resident
	}
	s, err := start(b.ctx, "registry", large)
	if err != nil {
		return err
	}
	defer s.stop()
	u, err := s.measure(2, s.ask("/metrics"))
	if err != nil {
		return err
	}
	resident[1] = u.Resident
	b.add(ratio(each[1], each[0]) <= 1.5, "growth from 12,000 to 1,200,000 series: CPU for a series and scrape", "within 1.5x",
		"%.2fx (%.0f ns to %.0f ns)", ratio(each[1], each[0]), float64(each[0])/1e3, float64(each[1])/1e3)
	b.add(ratio(resident[0], resident[1]) <= 1./8, "resident memory at 1,200,000 series, after scrapes", "1/8 of the registry's",
		"1/%.0f (%s to %s)", 1/ratio(resident[0], resident[1]), mb(resident[0]), mb(resident[1]))
	return nil
}

// refreshes measures runs of the collector validators with all validators monitored.
func (b *bench) refreshes() error {
	node := httptest.NewServer(http.HandlerFunc(serveSet))
	defer node.Close()
	const usual, many = 1_500, 100_000
	ours, err := start(b.ctx, "refresh", fmt.Sprintf("%s/%d", node.URL, usual))
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := start(b.ctx, "json_exporter", fmt.Sprintf("%s/%d", node.URL, usual))
	if err != nil {
		return err
	}
	defer theirs.stop()
	our, err := b.least("Refresh/validators=1500", ours, 20, ours.ask("/"))
	if err != nil {
		return err
	}
	their, err := b.least("JSONExporter/validators=1500", theirs, 1, theirs.ask("/"))
	if err != nil {
		return err
	}
	peak, _, err := peakOf(ours)
	if err != nil {
		return err
	}
	var answer counter
	if err := writeSet(&answer, usual); err != nil {
		return err
	}
	b.add(ratio(our.CPU, their.CPU) <= 1./40 && ratio(peak, int64(answer)) < 3,
		"one refresh of 1,500 validators: request, decode, batch, render", "1/40 of json_exporter's CPU; peak extra memory under 3x the answer",
		"1/%.0f (%s to %s); %.1fx (%s)", 1/ratio(our.CPU, their.CPU), ms(our.CPU), ms(their.CPU), ratio(peak, int64(answer)), mb(peak))

	large, err := start(b.ctx, "refresh", fmt.Sprintf("%s/%d", node.URL, many))
	if err != nil {
		return err
	}
	defer large.stop()
	u, err := large.measure(1, large.ask("/"))
	if err != nil {
		return err
	}
	peak, kept, err := peakOf(large)
	if err != nil {
		return err
	}
	answer = 0
	if err := writeSet(&answer, many); err != nil {
		return err
	}
	b.add(peak < 64e6, fmt.Sprintf("one refresh of 100,000 validators, %s answer, while the last one is served", mb(int64(answer))), "peak extra memory under 64 MB",
		"%s beyond the %s that are kept", mb(peak), mb(kept))
	b.also = append(b.also, fmt.Sprintf("CPU of the refresh of 100,000 validators: %.2f s.", u.CPU.Seconds()))
	return nil
}

// peakOf refreshes once more and returns the peak of memory above the kept memory.
func peakOf(s *subject) (extra, kept int64, err error) {
	if err := s.ask("/settle")(); err != nil {
		return 0, 0, err
	}
	before, err := s.usage()
	if err != nil {
		return 0, 0, err
	}
	after, err := s.measure(1, s.ask("/"))
	return after.Peak - before.Resident, before.Resident, err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
