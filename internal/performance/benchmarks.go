package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// arithmetic runs the Go benchmark of what is reckoned of validators and L1s.
func (b *bench) arithmetic() error {
	results, err := b.goBench("./internal/staking", "BenchmarkNetwork")
	if err != nil {
		return err
	}
	fastest := results["BenchmarkNetwork"]["ms/fastest"]
	b.add(fastest > 0 && fastest < 200, "rewards, runways, quorums, top-ups and safe stops of 100,000 validators and 1,000 L1s", "under 200 ms on one core",
		"%.0f ms", fastest)
	return nil
}

// alerting runs the Go benchmark of the built-in rules.
func (b *bench) alerting() error {
	results, err := b.goBench("./internal/alerting", "BenchmarkAlerting")
	if err != nil {
		return err
	}
	for _, nodes := range []string{"1", "10", "100", "1000"} {
		r := results["BenchmarkAlerting/nodes="+nodes]
		if r == nil {
			return fmt.Errorf("BenchmarkAlerting has no result for %s nodes", nodes)
		}
		b.also = append(b.also, fmt.Sprintf("In-process alerting for nodes: %s (%.0f series), all built-in rules every 15 s, a history of %.1f h, "+
			"active alerts %.0f: %.1f %% of a core (%.0f ms a tick), %.0f MB of heap, %.0f bytes on disk.",
			nodes, r["series"], r["history-h"], r["alerts"], r["%-of-a-core"], r["cpu-ms/tick"], r["heap-MB"], r["disk-B"]))
	}
	return nil
}

// goBench runs a benchmark once and returns its figures by name and unit.
func (b *bench) goBench(pkg, name string) (map[string]map[string]float64, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^"+name+"$", "-timeout", "20m", pkg)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &b.raw), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, out.Bytes())
	}
	results := map[string]map[string]float64{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], name) {
			continue
		}
		at := fields[0]
		if i := strings.LastIndexByte(at, '-'); i > 0 { // the number of cores
			at = at[:i]
		}
		results[at] = map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
			}
			results[at][fields[i+1]] = value
		}
	}
	return results, nil
}
