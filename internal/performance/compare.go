package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// figures are the lowest figures of each benchmark, by name and unit.
type figures map[string]float64

// figuresOf parses the output of Go benchmarks.
func figuresOf(text []byte) figures {
	found := figures{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			name := fields[0] + " " + fields[i+1]
			value, err := strconv.ParseFloat(fields[i], 64)
			if was, has := found[name]; err == nil && (!has || value < was) {
				found[name] = value
			}
		}
	}
	return found
}

// worse is the factor above which a figure counts as worse.
const worse = 1.1

// compare prints the differences between the last run and the committed figures. It fails if a figure is worse.
func compare(to io.Writer) error {
	committed, err := exec.CommandContext(context.Background(), "git", "show", "HEAD:"+committedPath).Output()
	if err != nil {
		return fmt.Errorf("git show HEAD:%s: %w", committedPath, err)
	}
	run, err := os.ReadFile(rawPath)
	if err != nil {
		return err
	}
	return differences(to, figuresOf(committed), figuresOf(run))
}

func differences(to io.Writer, before, after figures) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "benchmark and unit\tcommitted\tthis run\t")
	var grown []string
	for _, name := range slices.SortedFunc(maps.Keys(after), cmp.Compare[string]) {
		was, known := before[name]
		if !known || was == 0 {
			continue
		}
		note := ""
		if after[name] > worse*was {
			note = "WORSE"
			grown = append(grown, name)
		}
		fmt.Fprintf(table, "%s\t%g\t%g\t%+.0f %%\t%s\n", name, was, after[name], 100*(after[name]/was-1), note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(grown) > 0 {
		return fmt.Errorf("more than a tenth above the committed figures: %s", strings.Join(grown, ", "))
	}
	return nil
}

// merged returns a raw file in which the benchmarks of a run replace those with the same names.
func merged(committed, run []byte) []byte {
	names := map[string]bool{}
	for line := range bytes.Lines(run) {
		name, _, _ := strings.Cut(string(line), " ")
		names[name] = strings.HasPrefix(name, "Benchmark")
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(committed) {
		if name, _, _ := strings.Cut(string(line), " "); strings.HasPrefix(name, "Benchmark") && !names[name] {
			kept.Write(line)
		}
	}
	return append(run, kept.Bytes()...)
}
