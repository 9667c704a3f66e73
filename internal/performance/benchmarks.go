package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// arithmetic runs the Go benchmark of package staking.
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
		b.also = append(b.also, fmt.Sprintf("The rules in the process for nodes=%s: %.0f series, a history of %.1f h, %.1f %% of a core "+
			"(%.0f ms every 15 s), %.0f MB of heap.",
			nodes, r["series"], r["history-h"], r["%-of-a-core"], r["cpu-ms/tick"], r["heap-MB"]))
	}
	return nil
}

// calls runs the test that counts the calls to a node.
func (b *bench) calls() error {
	results, err := b.goTest("BenchmarkCalls", "-count=1", "-v", "-run", "^TestCallsPerNodeAreLimited$", "./internal/app")
	if err != nil {
		return err
	}
	healthy, down := results["BenchmarkCalls/healthy"], results["BenchmarkCalls/down"]
	if healthy == nil || down == nil {
		return errors.New("the test that counts calls has printed none")
	}
	b.add(healthy["calls/min"] <= 30 && down["calls/min"] <= 40 && max(healthy["sets/min"], down["sets/min"]) <= 1,
		"calls a minute to a node that tracks an L1, default collectors: while both nodes answer, and while the other is down",
		"30 and 40; whole validator sets once a minute", "%.1f and %.1f; whole sets %.1f and %.1f, of one node",
		healthy["calls/min"], down["calls/min"], healthy["sets/min"], down["sets/min"])
	return nil
}

// statusPage runs the Go benchmark of the page.
func (b *bench) statusPage() error {
	const name = "BenchmarkPageOfAThousandNodesAndL1s"
	results, err := b.goBench("./internal/web", name)
	if err != nil {
		return err
	}
	cpu := results[name]["cpu-ms/page"]
	b.add(cpu > 0 && cpu <= 100, "the status page of 1,000 nodes and 1,000 L1s, made once a second at most", "100 ms of CPU", "%.0f ms", cpu)
	return nil
}

// goBench runs a benchmark once and returns its figures by name and unit.
func (b *bench) goBench(pkg, name string) (map[string]map[string]float64, error) {
	return b.goTest(name, "-run", "^$", "-bench", "^"+name+"$", "-timeout", "20m", pkg)
}

// goTest runs go test and returns the figures of its benchmarks, by name and unit.
func (b *bench) goTest(name string, args ...string) (map[string]map[string]float64, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(b.ctx, "go", append([]string{"test", "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
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
		b.raw.WriteString(line)
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
