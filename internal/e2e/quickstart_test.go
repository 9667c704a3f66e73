package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// TestQuickStartsWorkAsWritten runs the commands of the quick starts, line by line. It changes only two addresses: that of the node,
// which is simulated, and the port of the exporter.
func TestQuickStartsWorkAsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, heading string }{
		{"README.md", "## Try it"},
		{"docs/start.md", "## Without files"},
		{"docs/operating.md", "## Quick start"},
	} {
		t.Run(strings.Trim(c.page+" "+c.heading, "# "), func(t *testing.T) {
			typed, shown := quickStart(t, c.page, c.heading)
			session := newSession(t)
			for _, line := range typed {
				session.enter(t, line)
			}
			for _, example := range shown {
				session.compare(t, example)
			}
			if !session.served {
				t.Error("no command serves")
			}
		})
	}
}

// The lines from zero to a page, as README.md has them: one shell, in an empty directory. The answers are what a person types.
func TestSixLinesLeadToAPage(t *testing.T) {
	t.Parallel()
	lines, _ := quickStart(t, "README.md", "## From zero to a page on your phone")
	if len(lines) != 6 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	phone := testworld.Webhook(t)
	session := newSession(t)
	session.dir = t.TempDir()
	session.env = append(session.env, "PATH="+filepath.Dir(testworld.ExporterPath(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	session.typed = session.as.Replace("http://127.0.0.1:9650") + "\nmine\nwebhook\n" + phone.URL + "\n\n"
	began := time.Now()
	session.enter(t, "set -e\n"+strings.Join(lines[:5], "\n"))
	if !session.served {
		t.Error("the fifth line does not serve")
	}
	if got := phone.Alerts(); len(got) < 3 || got[0].Labels["alertname"] == "" { // the test of init, and that of notify test with its end
		t.Errorf("the phone got %v", got)
	}
	t.Logf("from the first line to a monitored node: %v", time.Since(began).Round(100*time.Millisecond))
	session.compare(t, example{lines[5], []string{"as mine sees it"}})
}

// example is a command on a page and its shown output.
type example struct {
	command string
	output  []string
}

// quickStart returns the first block of commands under a heading, and the examples that follow directly.
func quickStart(t *testing.T, page, heading string) (typed []string, shown []example) {
	t.Helper()
	text := must.Get(os.ReadFile("../../" + page))(t)
	_, rest, ok := strings.Cut(string(text), "\n"+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(rest, -1)
	if !ok || len(blocks) == 0 || blocks[0][1] != "sh" {
		t.Fatalf("%s: no commands under %q", page, heading)
	}
	typed = strings.Split(strings.TrimSpace(blocks[0][2]), "\n")
	if len(blocks) > 1 && blocks[1][1] == "console" {
		for line := range strings.Lines(blocks[1][2]) {
			line = strings.TrimSpace(line)
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				shown = append(shown, example{command: command})
			} else {
				last := &shown[len(shown)-1]
				last.output = append(last.output, line)
			}
		}
	}
	return typed, shown
}

// TestRollingUpgradeScriptWaitsForYes runs the script of docs/operating.md. It changes only the address and the waiting. A node that does not come back
// ends the script.
func TestRollingUpgradeScriptWaitsForYes(t *testing.T) {
	t.Parallel()
	script, _ := quickStart(t, "docs/operating.md", "### Rolling upgrades of nodes")
	for dead, want := range map[string]string{
		"":      "upgrade alpha\nsleep 15\nsleep 15\nupgrade bravo\nupgrade charlie\n",
		"bravo": "upgrade alpha\nsleep 15\nsleep 15\nupgrade bravo\n",
	} {
		var mu sync.Mutex
		asked := map[string]int{}
		exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			node := r.FormValue("node")
			asked[r.URL.Path+node]++
			answer := http.StatusOK
			switch {
			case r.URL.Path == "/is-back" && (node == dead || r.FormValue("after") == ""):
				answer = http.StatusConflict
			case r.URL.Path != "/safe-to-stop" && r.URL.Path != "/is-back":
				answer = http.StatusNotFound
			case r.URL.Path == "/safe-to-stop" && node == "bravo" && asked[r.URL.Path+node] == 1:
				answer = http.StatusConflict
			case r.URL.Path == "/safe-to-stop" && node == "bravo" && asked[r.URL.Path+node] == 2:
				answer = http.StatusServiceUnavailable
			}
			w.WriteHeader(answer)
			fmt.Fprintln(w, map[bool]string{true: "yes: it is", false: "no: it is not"}[answer == http.StatusOK])
		}))
		text := strings.NewReplacer("http://exporter:9865", exporter.URL, "20m", "1s").Replace(strings.Join(script, "\n"))
		command := exec.CommandContext(t.Context(), "sh", "-ec", "upgrade() { echo upgrade $1; }; sleep() { echo sleep $1; }\n"+text)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(testworld.ExporterPath(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := command.Output()
		exporter.Close()
		steps := regexp.MustCompile("(?m)^yes: .*\n").ReplaceAllString(string(out), "")
		if (err == nil) != (dead == "") || steps != want {
			t.Errorf("dead %q: %v: asked %v, it did\n%s\nwant\n%s", dead, err, asked, out, want)
		}
	}
}

// session is a terminal.
type session struct {
	as     *strings.Replacer
	dir    string // in which commands run; empty: that of the repository
	typed  string // on standard input
	env    []string
	served bool
}

func newSession(t *testing.T) *session {
	t.Helper()
	urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1}))
	address := testworld.Address(t)
	// Without the variables of an outer make.
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "MAKE") || strings.HasPrefix(pair, "MFLAGS=") || strings.HasPrefix(pair, "AVAX_")
	})
	return &session{
		as:  strings.NewReplacer("http://127.0.0.1:9650", urls["alpha"], "localhost:9865", address),
		env: append(env, "AVAX_LISTEN="+address),
	}
}

func (s *session) command(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "sh", "-c", s.as.Replace(line))
	command.Dir, command.Env, command.Stdin = cmp.Or(s.dir, "../.."), s.env, strings.NewReader(s.typed)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

// enter runs a line until it exits with 0, or until it serves; then it runs until the test ends.
func (s *session) enter(t *testing.T, line string) {
	t.Helper()
	if strings.HasPrefix(line, "make test") {
		line = "make --dry-run" + strings.TrimPrefix(line, "make") // this test runs within make
	}
	command := s.command(context.Background(), line)
	said := &output{serving: make(chan struct{})}
	command.Stdout, command.Stderr = said, said
	must.Do(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	case <-said.serving:
		s.served = true
		t.Cleanup(func() {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
			t.Logf("%s: %v", line, <-ended) // with the signal, from the shell's view
			if !strings.Contains(said.String(), `"msg":"stopped"`) {
				t.Errorf("%s still running:\n%s", line, said)
			}
		})
	case <-testworld.TimedOut(t):
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		t.Fatalf("%s neither exits nor serves:\n%s", line, said)
	}
}

// value matches the value after a sample's name and labels.
var value = regexp.MustCompile(` [0-9.e+-]+$`)

// compare runs an example until it prints the shown lines, with any values.
func (s *session) compare(t *testing.T, e example) {
	t.Helper()
	testworld.Await(t, e.command, func() error {
		out, err := s.command(t.Context(), e.command).Output()
		missing := slices.DeleteFunc(slices.Clone(e.output), func(line string) bool {
			return bytes.Contains(out, []byte(value.ReplaceAllString(line, "")))
		})
		if len(missing) > 0 {
			return fmt.Errorf("%w: no %q in\n%s", err, missing, out)
		}
		return nil
	})
}

// output reports once when a program starts to serve.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	serving chan struct{}
	closed  bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if !o.closed && bytes.Contains(o.text.Bytes(), []byte(`"msg":"serving"`)) {
		o.closed = true
		close(o.serving)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
