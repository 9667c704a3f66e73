// Package testworld starts what a test of the whole program needs: the exporter, a real Prometheus, Alertmanager and stores, a simulated
// network, and a webhook that records notifications. It also evaluates rules in the process of the test.
//
// Each program is a child process of the test, on its own port of the loopback, with its data in the test's temporary directory, and short
// intervals. Network and webhook are listeners of the test. All end with the test. If the test failed, the logs of the programs are printed.
package testworld

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Binary returns the path of a program that `make tools` has installed in .tools/bin (prometheus, promtool, alertmanager), or
// `make .tools/bin/victoria-metrics`. A missing program fails the test: another version on PATH would be another test. What the directory
// TEST_TOOLS has comes first: `make newest` puts newer versions there.
func Binary(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(filepath.Join(os.Getenv("TEST_TOOLS"), name)); err == nil && filepath.IsAbs(path) {
		return path
	}
	dir := must.Get(os.Getwd())(t)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path, err := exec.LookPath(filepath.Join(dir, ".tools", "bin", name)); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not in .tools/bin: run `make tools`", name)
	return ""
}

// Chromium returns the path of the browser. It skips the test without one, and with -short.
func Chromium(t testing.TB) string {
	t.Helper()
	Full(t)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs chromium")
	return ""
}

// Needs skips the test if one of the programs is not installed. The program "root" means to run as root.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if name == "root" && os.Getuid() != 0 {
			t.Skip("needs root")
		} else if name != "root" && !slices.ContainsFunc([]string{"", "/usr/sbin/", "/sbin/"}, func(dir string) bool {
			_, err := exec.LookPath(dir + name)
			return err == nil
		}) {
			t.Skip("needs " + name)
		}
	}
}

// Program is a process that runs until the test ends. It may be stopped and started again.
type Program struct {
	URL string

	t       testing.TB
	name    string
	args    []string
	dir     string // where it runs; the test's directory if empty
	client  *http.Client
	log     *Log
	command *exec.Cmd
	exited  chan struct{} // closed when the command has exited
}

// start runs the program until the test ends, and returns when it is ready. The port is free when args are computed, but may be in use when
// the program opens it: then another one is tried.
func start(t testing.TB, name string, args func(address string) []string) *Program {
	t.Helper()
	for {
		address := Address(t)
		p := &Program{URL: "http://" + address, t: t, name: name, args: args(address), client: http.DefaultClient, log: new(Log)}
		err := p.run()
		if err == nil {
			p.endWithTest()
			return p
		}
		if !strings.Contains(p.log.String(), "address already in use") {
			t.Fatalf("%s: %v\n%s", name, err, p.log)
		}
	}
}

// Run starts a program of .tools/bin in a directory until the test ends, and returns when the client finds it ready at the URL.
func Run(t testing.TB, client *http.Client, url, dir, name string, args ...string) *Program {
	t.Helper()
	p := &Program{URL: url, t: t, name: name, args: args, dir: dir, client: client, log: new(Log)}
	p.Start()
	p.endWithTest()
	return p
}

// endWithTest waits at the end of the test until the program has exited: the test's context has ended, which kills it.
func (p *Program) endWithTest() {
	p.t.Cleanup(func() {
		<-p.exited
		if p.t.Failed() {
			p.t.Logf("log of %s:\n%s", p.name, p.log)
		}
	})
}

// run starts the program and returns when it is ready. After an error the program has exited.
func (p *Program) run() error {
	p.t.Helper()
	p.command = exec.CommandContext(p.t.Context(), Binary(p.t, p.name), p.args...)
	p.command.Dir, p.command.Stdout, p.command.Stderr = p.dir, p.log, p.log
	if err := p.command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.exited = exited
	go func(command *exec.Cmd) {
		defer close(exited)
		_ = command.Wait() // the reason is in its log
	}(p.command)
	err := p.ready()
	if err != nil {
		_ = p.command.Process.Kill()
		<-exited
	}
	return err
}

// Stop ends the program gracefully.
func (p *Program) Stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	<-p.exited
}

// Kill ends the program at once, like a power failure.
func (p *Program) Kill() {
	p.t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	<-p.exited
}

// Start starts a stopped or killed program, at the same address and with the same data.
func (p *Program) Start() {
	p.t.Helper()
	if err := p.run(); err != nil {
		p.t.Fatalf("%s: %v\n%s", p.name, err, p.log)
	}
}

// Address returns an address that no other program uses during the test.
func Address(t testing.TB) string {
	t.Helper()
	address, release, err := simnet.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}

// ready waits until the program answers 200 at /-/ready, or has exited.
func (p *Program) ready() error {
	timedOut := TimedOut(p.t)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-p.exited:
			return errors.New("ended before it was ready")
		case <-timedOut:
			return errors.New("never ready")
		case <-poll.C:
		}
		if request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL+"/-/ready", nil); err != nil {
			return err
		} else if response, err := p.client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
}

// Log holds the output of a program. It may be read while the program runs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// writeYAML writes a configuration file to a temporary directory of the test, and returns its path.
func writeYAML(t testing.TB, name string, content any) string {
	t.Helper()
	text := must.Get(yaml.Marshal(content))(t)
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path
}
