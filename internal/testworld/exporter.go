package testworld

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// ExporterPath returns the path of the exporter's binary: $TEST_EXPORTER, which `make test` sets. Without the variable, the first call
// builds the binary. A package that calls it needs Main.
func ExporterPath(t testing.TB) string {
	t.Helper()
	return must.Get(built())(t)
}

var (
	built = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("TEST_EXPORTER"); path != "" {
			return path, nil
		}
		var err error
		if temporary, err = os.MkdirTemp("", "avax-exporter-"); err != nil {
			return "", err
		}
		path := filepath.Join(temporary, "avax-exporter")
		const pkg = "github.com/avax-exporter/avax-exporter/cmd/exporter"
		if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, pkg).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
	temporary string // directory of the binary that ExporterPath has built, if any
)

// Main runs the tests of a package and removes the binary that ExporterPath has built.
func Main(m *testing.M) (code int) {
	defer func() { _ = os.RemoveAll(temporary) }()
	return m.Run()
}

// Full skips a long test with -short, as in make test.
func Full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: not with -short")
	}
}

// Exporter is the exporter in a process of its own, which runs until the test ends.
type Exporter struct {
	URL    string
	Client *http.Client
	Ended  <-chan struct{} // closed when the process has exited

	t   testing.TB
	cmd *exec.Cmd
	log *Log
}

// StartExporter starts the exporter with this environment, and returns when it serves.
func StartExporter(t testing.TB, environment ...string) *Exporter {
	t.Helper()
	return RunExporter(t, exec.CommandContext(context.WithoutCancel(t.Context()), ExporterPath(t)), environment...)
}

// RunExporter is StartExporter with a command of its own, such as a shell that replaces itself with the exporter.
func RunExporter(t testing.TB, cmd *exec.Cmd, environment ...string) *Exporter {
	t.Helper()
	cmd.Env = append(append(os.Environ(), "AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "GOGC="), environment...)
	stderr := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	e := &Exporter{t: t, cmd: cmd, log: &Log{}, Ended: ended, Client: &http.Client{Transport: &http.Transport{}}}
	address := make(chan string, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			_, _ = e.log.Write(append(lines.Bytes(), '\n'))
			var line struct{ Metrics string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Metrics != "" {
				address <- strings.TrimSuffix(line.Metrics, "/metrics")
			}
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		e.Client.CloseIdleConnections()
		select {
		case <-ended:
		default:
			if code := e.End(syscall.SIGTERM); code != 0 {
				t.Errorf("exporter: exit code %d", code)
			}
		}
		if t.Failed() {
			t.Logf("log of the exporter:\n%s", e.log)
		}
	})
	select {
	case e.URL = <-address:
	case <-ended:
		t.Fatal("exporter exited before it served")
	case <-TimedOut(t):
		t.Fatal("exporter does not serve")
	}
	return e
}

// PID returns the number of the process.
func (e *Exporter) PID() int { return e.cmd.Process.Pid }

// Log returns what the exporter has logged so far.
func (e *Exporter) Log() string { return e.log.String() }

// Signal sends a signal to the process.
func (e *Exporter) Signal(signal os.Signal) {
	e.t.Helper()
	must.Do(e.t, e.cmd.Process.Signal(signal))
}

// End sends a signal and waits. It returns the exit code, -1 after a signal that the process cannot handle.
func (e *Exporter) End(signal os.Signal) (code int) {
	e.t.Helper()
	_ = e.cmd.Process.Signal(signal) // unless it has just exited
	select {
	case <-e.Ended:
	case <-TimedOut(e.t):
		_ = e.cmd.Process.Kill()
		<-e.Ended
		e.t.Error("exporter does not exit")
	}
	return e.cmd.ProcessState.ExitCode()
}

// CPU returns the CPU time of the process, which has ended.
func (e *Exporter) CPU() time.Duration {
	return e.cmd.ProcessState.UserTime() + e.cmd.ProcessState.SystemTime()
}

// Get requests a page.
func (e *Exporter) Get(path string) (status int, body string, err error) {
	ctx, cancel := context.WithDeadline(context.Background(), Deadline(e.t))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Scrape requests /metrics.
func (e *Exporter) Scrape() (Samples, error) {
	status, body, err := e.Get("/metrics")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d: %s", status, body)
	}
	return ParseSamples(body)
}

// Until scrapes until the samples are accepted.
func (e *Exporter) Until(what string, accepted func(Samples) error) (s Samples) {
	e.t.Helper()
	Await(e.t, what, func() (err error) {
		if s, err = e.Scrape(); err != nil {
			return err
		}
		return accepted(s)
	})
	return s
}

// Ready waits for the first run of every collector.
func (e *Exporter) Ready() {
	e.t.Helper()
	Await(e.t, "ready", func() error {
		status, body, err := e.Get("/-/ready")
		if err == nil && status != http.StatusOK {
			err = errors.New(body)
		}
		return err
	})
}

// Samples are the values of a scrape by series, as /metrics writes them.
type Samples map[string]float64

// ParseSamples parses the text format. A duplicate series is an error.
func ParseSamples(page string) (Samples, error) {
	s := Samples{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := max(strings.LastIndexByte(line, ' '), 0)
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, duplicate := s[line[:i]]; duplicate {
			return nil, fmt.Errorf("duplicate series %s", line[:i])
		}
		s[line[:i]] = value
	}
	return s, nil
}

// Of returns the series of a family whose labels include all of these, such as node="alpha".
func (s Samples) Of(family string, labels ...string) Samples {
	found := Samples{}
	for series, value := range s {
		name, own, _ := strings.Cut(series, "{")
		other := func(label string) bool { return !strings.Contains(","+own, ","+label) }
		if name == family && !slices.ContainsFunc(labels, other) {
			found[series] = value
		}
	}
	return found
}

// Sum returns the sum of these series.
func (s Samples) Sum(family string, labels ...string) (sum float64) {
	for _, value := range s.Of(family, labels...) {
		sum += value
	}
	return sum
}

// Is requires a series to have a value.
func Is(series string, want float64) func(Samples) error {
	return func(s Samples) error {
		if got, found := s[series]; !found || got != want {
			return fmt.Errorf("%s is %v, found %v, want %v", series, got, found, want)
		}
		return nil
	}
}
