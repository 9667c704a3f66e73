package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestMain(m *testing.M) { os.Exit(testworld.Main(m)) }

// full skips a test that only make test-full runs.
func full(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("only in make test-full")
	}
}

// process is a running exporter.
type process struct {
	url string
	cmd *exec.Cmd

	t     *testing.T
	ended chan struct{} // closed when the process has exited
	mu    sync.Mutex
	log   strings.Builder
}

// start runs the program with the environment until the test ends.
func start(t *testing.T, environment ...string) *process {
	t.Helper()
	return startAs(t, nil, environment...)
}

// startAs starts it with another program, whose last argument is ours.
func startAs(t *testing.T, by []string, environment ...string) *process {
	t.Helper()
	command := append(by, testworld.ExporterPath(t))
	p := &process{t: t, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "GOGC="), environment...)
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			t.Log(lines.Text())
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			var line struct{ Metrics string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Metrics != "" {
				address <- strings.TrimSuffix(line.Metrics, "/metrics")
			}
		}
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.end(os.Interrupt)
		}
	})
	select {
	case p.url = <-address:
	case <-p.ended:
		t.Fatal("exporter exited before it served")
	case <-testworld.TimedOut(t):
		t.Fatal("exporter does not serve")
	}
	return p
}

// end sends the signal and waits; after an interrupt the exit code must be 0.
func (p *process) end(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Error(err)
	}
	<-p.ended
	if err := p.cmd.Wait(); err != nil && signal != syscall.SIGKILL {
		p.t.Errorf("exporter exited: %v", err)
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// getJSON requests a page of JSON.
func getJSON(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// eventually waits until condition returns an empty text.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	testworld.Await(t, "eventually", func() error {
		if missing := condition(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
