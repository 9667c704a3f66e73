// Package stack starts a real Prometheus and a real Alertmanager beside a test, and a webhook that records what they page.
//
// Each runs as a child process of the test, on a port of its own on the loopback, with its data in the test's temporary directory, and
// is tuned to answer in seconds. It ends with the test; where the test failed, its log is printed.
package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// startTimeout bounds the start of one program: under a second on an idle machine, many on a busy one.
const startTimeout = time.Minute

// Binary returns the path of the program called name (prometheus, promtool, alertmanager, amtool): the one that `make tools` put into
// the module's .tools/bin, else the one on PATH. It fails the test if there is neither.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func find(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path, err := exec.LookPath(filepath.Join(dir, ".tools", "bin", name)); err == nil {
			return path, nil
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither in .tools/bin nor on PATH: run `make tools`", name)
	}
	return path, nil
}

// Program is one that runs until the test ends, and may be stopped and started again before.
type Program struct {
	URL string

	t       testing.TB
	name    string
	args    []string
	log     *log
	command *exec.Cmd
	exited  chan struct{} // closed when the command has
}

// start runs the program until the test ends, and returns once it says that it is ready. The port is free when args are made and may be
// taken when the program asks for it: then another one is tried.
func start(t testing.TB, name string, args func(address string) []string) *Program {
	t.Helper()
	for {
		address := freeAddress(t)
		p := &Program{URL: "http://" + address, t: t, name: name, args: args(address), log: new(log)}
		err := p.run()
		if err == nil {
			t.Cleanup(func() { // The test's context is done by now, so the program is being killed.
				<-p.exited
				if t.Failed() {
					t.Logf("log of %s:\n%s", name, p.log)
				}
			})
			return p
		}
		if !strings.Contains(p.log.String(), "address already in use") {
			t.Fatalf("%s: %v\n%s", name, err, p.log)
		}
	}
}

// run starts the program and returns when it is ready; where it does not become so, it has ended.
func (p *Program) run() error {
	p.t.Helper()
	p.command = exec.CommandContext(p.t.Context(), Binary(p.t, p.name), p.args...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	if err := p.command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.exited = exited
	go func(command *exec.Cmd) {
		defer close(exited)
		_ = command.Wait() // Why it ended is told by its log.
	}(p.command)
	err := ready(p.t.Context(), p.URL+"/-/ready", exited)
	if err != nil {
		_ = p.command.Process.Kill()
		<-exited
	}
	return err
}

// Stop ends the program in good order.
func (p *Program) Stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	<-p.exited
}

// Start runs a program that was stopped, at the same address and with the same data.
func (p *Program) Start() {
	p.t.Helper()
	if err := p.run(); err != nil {
		p.t.Fatalf("%s: %v\n%s", p.name, err, p.log)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// ready waits until url answers 200, but no longer than startTimeout nor than the program lives.
func ready(ctx context.Context, url string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-exited:
			return errors.New("ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s", startTimeout)
		case <-poll.C:
		}
		if request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err != nil {
			return err
		} else if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
}

// log holds what a program printed; it may be read while the program runs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// writeYAML writes a configuration file into a temporary directory of the test, and returns its path.
func writeYAML(t testing.TB, name string, content any) string {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
