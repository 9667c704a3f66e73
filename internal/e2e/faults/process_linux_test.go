// Package faults_test tests faults with real processes: the exporter, a Prometheus, and a simulated network.
package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := testworld.Main(m)
	if code == 0 && testworld.Update() {
		if err := writeReport(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// exporter is a running process.
type exporter struct {
	*testworld.Exporter
	t testing.TB
}

// page holds values by series.
type page = testworld.Samples

// start runs the exporter until the test ends, and returns when it serves.
func start(t testing.TB, environment ...string) *exporter {
	t.Helper()
	return &exporter{testworld.StartExporter(t, environment...), t}
}

// run runs the exporter by a command.
func run(t testing.TB, cmd *exec.Cmd, environment ...string) *exporter {
	t.Helper()
	return &exporter{testworld.RunExporter(t, cmd, environment...), t}
}

// confined returns a command that runs the exporter from a shell, with the chart's memory limit: the kernel kills the exporter above it.
func confined(t testing.TB, shell ...string) *exec.Cmd {
	t.Helper()
	const limit = 256 << 20
	name := fmt.Sprintf("avax-exporter-%d-%d", os.Getpid(), time.Now().UnixNano())
	for root, file := range map[string]string{"/sys/fs/cgroup": "memory.max", "/sys/fs/cgroup/memory": "memory.limit_in_bytes"} { // versions 2 and 1
		group := filepath.Join(root, name)
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil || os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		if f, err := os.OpenFile(filepath.Join(group, file), os.O_WRONLY, 0); err == nil {
			_, err = fmt.Fprint(f, limit)
			must.Do(t, err, f.Close())
			shell = append(shell, "echo $$ >"+group+"/cgroup.procs")
			return exec.Command("sh", "-c", strings.Join(shell, " && ")+` && exec "$0"`, testworld.ExporterPath(t))
		}
	}
	t.Log("without a memory limit: this needs the right to create cgroups")
	return exec.Command("sh", "-c", strings.Join(append(shell, `exec "$0"`), " && "), testworld.ExporterPath(t))
}

// Whatever runs the exporter, its garbage collector knows the memory limit.
func TestProcessKnowsItsMemoryLimit(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	cmd := confined(t)
	if !strings.Contains(strings.Join(cmd.Args, " "), "cgroup.procs") {
		t.Skip("needs the right to create cgroups")
	}
	e := run(t, cmd, "AVAX_NODES=alpha=http://127.0.0.1:1")
	const limit = 256 << 20
	e.Until("nine tenths of the limit", func(p page) error {
		if got := p["go_gc_gomemlimit_bytes"]; got < limit*0.89 || got > limit*0.91 {
			return fmt.Errorf("%.0f", got)
		}
		return nil
	})
}

// startUnder runs the exporter from a shell with its own mount namespace, in which "$0" is the program.
func startUnder(t testing.TB, shell []string, environment ...string) *exporter {
	t.Helper()
	cmd := exec.Command("sh", "-c", strings.Join(shell, " && ")+` && exec "$0"`, testworld.ExporterPath(t))
	cmd.SysProcAttr = namespaces()
	return run(t, cmd, environment...)
}

// unprivileged returns a command that runs the exporter as an ordinary user, and a directory that this user can read.
func unprivileged(t testing.TB) (cmd *exec.Cmd, dir string) {
	t.Helper()
	// The directories of the test and of the binary may be closed to other users.
	dir, err := os.MkdirTemp("", "unprivileged") //nolint:usetesting
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd = exec.Command(filepath.Join(dir, "avax-exporter"))
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		try := exec.Command("true")
		try.SysProcAttr = cmd.SysProcAttr
		if err := try.Run(); err != nil {
			t.Skipf("needs root with the right to change the user: %v", err)
		}
	}
	binary, err := os.ReadFile(testworld.ExporterPath(t))
	must.Do(t, err, os.Chmod(dir, 0o755), os.WriteFile(cmd.Path, binary, 0o755))
	return cmd, dir
}

// namespaces gives a process its own mounts.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// scrapes are the results of a scraper.
type scrapes struct {
	pages   int
	longest time.Duration
	err     error
}

// scrape scrapes until it is stopped. Every page must have the earlier series of alpha.
func (e *exporter) scrape(truth page, stop <-chan struct{}) (seen scrapes) {
	for {
		began := time.Now()
		p, err := e.Scrape()
		if err != nil {
			seen.err = err
			return seen
		}
		seen.pages, seen.longest = seen.pages+1, max(seen.longest, time.Since(began))
		for series := range truth {
			if _, there := p[series]; !there && strings.Contains(series, `node="alpha"`) {
				seen.err = fmt.Errorf("%s is lost", series)
				return seen
			}
		}
		select {
		case <-stop:
			return seen
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// figures are the numbers that a leak changes.
type figures struct {
	Goroutines, Descriptors int
	Heap, Resident          int64 // bytes
	Series                  int   // in the history
}

func figuresOf(p page) figures {
	return figures{
		Goroutines: int(p["go_goroutines"]), Descriptors: int(p["process_open_fds"]),
		Heap: int64(p["go_memstats_heap_alloc_bytes"]), Resident: int64(p["process_resident_memory_bytes"]),
		Series: int(p["avax_exporter_history_series"]),
	}
}

// resident returns the resident memory of the process, from the kernel.
func (e *exporter) resident() int64 {
	e.t.Helper()
	var size, pages int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", e.PID()))
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// report adds a line to a table of figures.
func (f figures) report(table, when string) {
	report(table, fmt.Sprintf("| %s | %d | %d | %.0f MB | %.0f MB |", when, f.Goroutines, f.Descriptors, float64(f.Heap)/1e6, float64(f.Resident)/1e6))
}

func (f figures) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, heap %.1f MB, resident %.1f MB",
		f.Goroutines, f.Descriptors, float64(f.Heap)/1e6, float64(f.Resident)/1e6)
}

// settled waits until there are no more goroutines and descriptors than before. It allows some more for the connections of
// the test, for calls in progress, and for idle connections: up to one for each concurrent call of an upstream.
func (e *exporter) settled(before figures) figures {
	e.t.Helper()
	const spare, kept = 8, 5 // AVAX_CONCURRENCY, and the up probe
	return figuresOf(e.Until("goroutines and descriptors come back to "+before.String(), func(p page) error {
		upstreams := map[string]bool{}
		for series := range p {
			if _, labels, ok := strings.Cut(series, `upstream="`); ok {
				name, _, _ := strings.Cut(labels, `"`)
				upstreams[name] = true
			}
		}
		connections := kept * len(upstreams)
		if f := figuresOf(p); f.Goroutines > before.Goroutines+spare+2*connections || f.Descriptors > before.Descriptors+spare+connections {
			return errors.New(f.String())
		}
		return nil
	}))
}

// atLeast requires a series to have at least a value.
func atLeast(series string, least float64) func(page) error {
	return func(p page) error {
		if got, found := p[series]; !found || got < least {
			return fmt.Errorf("%s is %v, found %v, want at least %v", series, got, found, least)
		}
		return nil
	}
}

// wants requires a text to contain others.
func wants(text string, err error, parts ...string) error {
	for _, part := range parts {
		if err == nil && !strings.Contains(text, part) {
			err = fmt.Errorf("no %q in %.2000s", part, text)
		}
	}
	return err
}
