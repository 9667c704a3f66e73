// Package faults_test tests faults with real processes: the exporter, a Prometheus, and a simulated network.
package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := testworld.Main(m)
	if code == 0 && *update {
		if err := writeReport(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// full skips a test that starts processes: make test has a few of those in internal/e2e, make test-full has all.
func full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("only in make test-full")
	}
}

// exporter is a running process.
type exporter struct {
	t      testing.TB
	url    string
	cmd    *exec.Cmd
	log    *lines
	ended  chan struct{} // closed when the process has exited
	client *http.Client
}

// lines is the log of a process so far.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs the exporter until the test ends, and returns when it serves.
func start(t testing.TB, environment ...string) *exporter {
	t.Helper()
	return startUnder(t, nil, environment...)
}

// startUnder runs the exporter from a shell, in which "$0" is the program; nil runs it directly. The shell has its own mount namespace.
func startUnder(t testing.TB, shell []string, environment ...string) *exporter {
	t.Helper()
	cmd := exec.Command(testworld.ExporterPath(t))
	if shell != nil {
		cmd = exec.Command("sh", "-c", strings.Join(shell, " && ")+` && exec "$0"`, testworld.ExporterPath(t))
		cmd.SysProcAttr = namespaces()
	}
	return run(t, cmd, environment...)
}

// run runs the exporter with a command.
func run(t testing.TB, cmd *exec.Cmd, environment ...string) *exporter {
	t.Helper()
	cmd.Env = append(os.Environ(), "AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "GOGC=")
	cmd.Env = append(cmd.Env, environment...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &exporter{t: t, cmd: cmd, log: &lines{}, ended: make(chan struct{}), client: &http.Client{Transport: &http.Transport{}}}
	address := make(chan string, 1)
	go func() {
		defer close(e.ended)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			e.log.add(scanner.Text())
			var line struct{ Metrics string }
			if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Metrics != "" {
				address <- strings.TrimSuffix(line.Metrics, "/metrics")
			}
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		e.client.CloseIdleConnections()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.ended:
		case <-testworld.TimedOut(t):
			t.Error("exporter does not exit")
			_ = cmd.Process.Kill()
			<-e.ended
		}
		if t.Failed() {
			t.Logf("log of the exporter:\n%s", e.log)
		}
	})
	select {
	case e.url = <-address:
	case <-e.ended:
		t.Fatalf("exporter exited before it served:\n%s", e.log)
	case <-testworld.TimedOut(t):
		t.Fatal("exporter does not serve")
	}
	return e
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

// get requests a page.
func (e *exporter) get(path string) (int, string, error) {
	ctx, cancel := context.WithDeadline(context.Background(), testworld.Deadline(e.t))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// page requests /metrics, which must answer.
func (e *exporter) page() (page, error) {
	status, body, err := e.get("/metrics")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d: %s", status, body)
	}
	return parsePage(body)
}

// page holds values by series.
type page map[string]float64

func parsePage(body string) (page, error) {
	p := page{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		series, text, _ := cutLast(line)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, twice := p[series]; twice {
			return nil, fmt.Errorf("%s is there twice", series)
		}
		p[series] = value
	}
	return p, nil
}

func cutLast(line string) (series, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// until requests /metrics until the result is accepted. At the deadline it fails the test with the expectation.
func (e *exporter) until(what string, wanted func(page) error) (p page) {
	e.t.Helper()
	testworld.Await(e.t, what, func() (err error) {
		if p, err = e.page(); err != nil {
			return err
		}
		return wanted(p)
	})
	return p
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
		p, err := e.page()
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

// ready waits for the first run of every collector.
func (e *exporter) ready() {
	e.t.Helper()
	testworld.Await(e.t, "ready", func() error {
		status, body, err := e.get("/-/ready")
		if err == nil && status != http.StatusOK {
			err = errors.New(body)
		}
		return err
	})
}

// kill ends the process at once, as the kernel does when memory is short.
func (e *exporter) kill() {
	_ = e.cmd.Process.Kill()
	<-e.ended
}

// figures are the numbers that a leak changes.
type figures struct {
	Goroutines, Descriptors int
	Heap, Resident          int64 // bytes
}

func (p page) figures() figures {
	return figures{
		Goroutines: int(p["go_goroutines"]), Descriptors: int(p["process_open_fds"]),
		Heap: int64(p["go_memstats_heap_alloc_bytes"]), Resident: int64(p["process_resident_memory_bytes"]),
	}
}

// resident returns the resident memory of the process, from the kernel.
func (e *exporter) resident() int64 {
	e.t.Helper()
	var size, pages int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", e.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
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
	return e.until("goroutines and descriptors come back to "+before.String(), func(p page) error {
		upstreams := map[string]bool{}
		for series := range p {
			if _, labels, ok := strings.Cut(series, `upstream="`); ok {
				name, _, _ := strings.Cut(labels, `"`)
				upstreams[name] = true
			}
		}
		connections := kept * len(upstreams)
		if f := p.figures(); f.Goroutines > before.Goroutines+spare+2*connections || f.Descriptors > before.Descriptors+spare+connections {
			return errors.New(f.String())
		}
		return nil
	}).figures()
}

// holds waits until a Prometheus query has a result, and returns the time.
func holds(t testing.TB, prometheus *testworld.PrometheusServer, expr string) time.Time {
	t.Helper()
	testworld.Await(t, "Prometheus: "+expr, func() error {
		found, err := prometheus.Query(t.Context(), expr)
		if err == nil && len(found) == 0 {
			err = errors.New("no samples")
		}
		return err
	})
	return time.Now()
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

// figure returns a line of the table of attacks, for one without concurrent scrapes.
func figure(attack string, resident int64) string {
	return fmt.Sprintf("| %s | %.0f MB | | | | |", attack, float64(resident)/1e6)
}
