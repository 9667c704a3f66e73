package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"avax-exporter": main})
}

// script is the state that all commands of one script use.
type script struct {
	t       testing.TB
	network *simnet.Network
	stopped map[string]bool
}

// TestScripts runs the program as an operator does. Each file in testdata/script is a script: it starts the program
// and its upstreams, and has the expected output.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values["script"] = &script{t: t, stopped: map[string]bool{}}
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise the race detector delays the exit of every process by a second
			for _, name := range []string{"AVAX_LISTEN", "PROFILES"} {
				address, release, err := simnet.Reserve()
				if err != nil {
					return err
				}
				e.Defer(release)
				e.Setenv(name, address)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"network":    startNetwork,
			"fault":      injectFault,
			"recover":    recoverUpstream,
			"goodkey":    goodKey,
			"eventually": eventually,
			"written":    written,
			"get":        get,
			"remember":   remember,
			"exitcode":   exitCode,
			"write":      write,
			"hangup":     hangUp,
			"post":       post,
			"certify":    certify,
			"ask":        ask,
			"activate":   activate,
			"repeater":   startRepeater,
			"everything": getEverything,
			"tool":       callTool,
			"secretless": secretless,
			"receiver":   startReceiver,
		},
	})
}

func of(ts *testscript.TestScript) *script { return ts.Value("script").(*script) }

// startNetwork: network [mainnet] — starts a simulated network, whose nodes may report the ID of Mainnet. It sets a variable for each upstream, such
// as $ALPHA, and for each L1's chain, such as $EXAMPLEL1.
func startNetwork(ts *testscript.TestScript, _ bool, args []string) {
	of(ts).network = simnet.New(simnet.Options{Seed: 1})
	if slices.Contains(args, "mainnet") {
		of(ts).network.SetNetworkID(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	urls, err := of(ts).network.Serve(ctx)
	ts.Check(err)
	for name, url := range urls {
		ts.Setenv(strings.ToUpper(name), url)
	}
	for _, chain := range []string{"examplel1", "examplepoa"} {
		c := of(ts).network.Chain(chain)
		ts.Setenv(strings.ToUpper(chain), c.ID)
		ts.Setenv(strings.ToUpper(chain)+"_SUBNET", c.SubnetID)
		ts.Setenv(strings.ToUpper(chain)+"_VM", c.VMID)
	}
}

// upstream is a node or a service of the simulated network.
type upstream interface {
	Stop()
	Start()
	Inject(f simnet.Fault, calls ...string)
	Recover()
}

func (s *script) upstream(name string) upstream {
	switch name {
	case "data":
		return s.network.DataService()
	case "metrics":
		return s.network.MetricsService()
	}
	return s.network.Node(name)
}

var faults = map[string]func(upstream){
	"stop":        upstream.Stop,
	"hang":        func(u upstream) { u.Inject(simnet.Hung()) },
	"wrong-types": func(u upstream) { u.Inject(simnet.WrongShape()) },
	"rate-limit":  func(u upstream) { u.Inject(simnet.RateLimited(time.Second)) },
	"html":        func(u upstream) { u.Inject(simnet.HTML()) },
	"wrong-host":  func(u upstream) { u.Inject(simnet.WrongHost()) },
}

// injectFault: fault UPSTREAM FAULT.
func injectFault(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 || faults[args[1]] == nil {
		ts.Fatalf("usage: fault UPSTREAM FAULT")
	}
	faults[args[1]](of(ts).upstream(args[0]))
	of(ts).stopped[args[0]] = of(ts).stopped[args[0]] || args[1] == "stop"
}

// recoverUpstream: recover UPSTREAM.
func recoverUpstream(ts *testscript.TestScript, _ bool, args []string) {
	u := of(ts).upstream(args[0])
	u.Recover()
	if of(ts).stopped[args[0]] { // starting a running node would restart it
		u.Start()
		of(ts).stopped[args[0]] = false
	}
}

// goodKey: goodkey KEY STATUS — sets the only valid key of the Data service, and the status of its answers to other
// keys.
func goodKey(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	of(ts).network.DataService().SetKey(args[0], status)
}

// startReceiver: receiver VARIABLE — starts a webhook, and sets the variable to its URL. The file answers has the answers to init.
func startReceiver(ts *testscript.TestScript, _ bool, args []string) {
	phone := testworld.Webhook(of(ts).t)
	ts.Setenv(args[0], phone.URL)
	answers := []string{"http://127.0.0.1:1", "", ts.Getenv("ALPHA"), "validator-1", "webhook", "http://127.0.0.1:1", "webhook", phone.URL,
		"https://avax.example/", ""}
	ts.Check(os.WriteFile(ts.MkAbs("answers"), []byte(strings.Join(answers, "\n")), 0o600))
}

// fetch requests a page of the exporter of the script.
func fetch(ts *testscript.TestScript, path string) (string, error) {
	ctx, cancel := context.WithDeadline(context.Background(), testworld.Deadline(of(ts).t))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ts.Getenv("AVAX_LISTEN")+path, nil)
	if err != nil {
		return "", err
	}
	if password := ts.Getenv("WEB_PASSWORD"); password != "" {
		req.SetBasicAuth("prometheus", password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// eventually: [!] eventually PATTERN [PATH] — waits until a line of the page (default /metrics) matches, or with ! until none matches.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	pattern, path := regexp.MustCompile("(?m)^"+args[0]+"$"), "/metrics"
	if len(args) > 1 {
		path = args[1]
	}
	ts.Check(testworld.Poll(of(ts).t, func() error {
		page, err := fetch(ts, path)
		if err == nil && pattern.MatchString(page) == neg {
			err = fmt.Errorf("%s: matches: %t, in the page:\n%s", args[0], !neg, page)
		}
		return err
	}))
}

// written: written PATTERN — waits until a file with this name exists.
func written(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(testworld.Poll(of(ts).t, func() error {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no file %s", args[0])
		}
		return err
	}))
}

// get: get PATH FILE — stores the answer for a path. Its status must be 200.
func get(ts *testscript.TestScript, _ bool, args []string) {
	page, err := fetch(ts, args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(page), 0o600))
}

// remember: remember VARIABLE PATTERN — sets a variable to the group of the pattern in the last program's output.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%s does not match", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// exitCode: exitcode CODE PROGRAM… — runs a program that must exit with this code. Its error output is in the file stderr.txt.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(ts.ReadFile("stderr")), 0o600))
	if got != want {
		ts.Fatalf("exit code %d, want %d (%v)", got, want, err)
	}
}

// write: write FILE LINE… — replaces a file atomically.
func write(ts *testscript.TestScript, _ bool, args []string) {
	temporary := ts.MkAbs(args[0] + ".new")
	ts.Check(os.WriteFile(temporary, []byte(strings.Join(args[1:], "\n")), 0o600))
	ts.Check(os.Rename(temporary, ts.MkAbs(args[0])))
}

// hangUp: hangup — sends SIGHUP to the programs of the script.
func hangUp(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGHUP))
	}
}

// callTool: tool NAME [ARGUMENT=VALUE]... — starts `avax-exporter mcp` as an MCP client does, and writes the answer of one of its tools to
// tool.txt. With !, the answer is an error. NAME list writes the tools.
func callTool(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithDeadline(context.Background(), testworld.Deadline(of(ts).t))
	defer cancel()
	program, _, _ := strings.Cut(ts.Getenv("PATH"), string(os.PathListSeparator)) // where testscript links it
	command := exec.CommandContext(ctx, filepath.Join(program, "avax-exporter"), "mcp")
	command.Env = []string{"AVAX_LISTEN=" + ts.Getenv("AVAX_LISTEN")}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	ts.Check(err)
	defer session.Close()
	var text strings.Builder
	if args[0] == "list" {
		listed, err := session.ListTools(ctx, nil)
		ts.Check(err)
		for _, t := range listed.Tools {
			fmt.Fprintf(&text, "%s read-only=%v %s\n", t.Name, t.Annotations.ReadOnlyHint, t.Description)
		}
	} else {
		arguments := map[string]any{}
		for _, a := range args[1:] {
			name, value, _ := strings.Cut(a, "=")
			arguments[name] = value
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: args[0], Arguments: arguments})
		ts.Check(err)
		for _, c := range result.Content {
			fmt.Fprintln(&text, c.(*mcp.TextContent).Text)
		}
		if result.IsError != neg {
			ts.Fatalf("error %v, want %v:\n%s", result.IsError, neg, &text)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("tool.txt"), []byte(text.String()), 0o600))
}

// post: post PATH STATUS FILE — sends a POST request and stores the answer. The answer must have that status.
func post(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithDeadline(context.Background(), testworld.Deadline(of(ts).t))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ts.Getenv("AVAX_LISTEN")+args[0], nil)
	ts.Check(err)
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o600))
	if got := strconv.Itoa(resp.StatusCode); got != args[1] {
		ts.Fatalf("status %s, want %s:\n%s", got, args[1], body)
	}
}
