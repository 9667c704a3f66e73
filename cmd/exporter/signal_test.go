package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// endless are arguments with which each command waits for something that never answers: URL is such an upstream, and DIR an empty directory. Commands
// without arguments here need nobody.
var endless = map[string][]string{
	"run":            {},
	"demo":           {},
	"init":           {"--yes", "--node", "URL", "--dir", "DIR"},
	"check":          {},
	"explain":        {"--from", "URL", "AvaxNodeDown"},
	"notify":         {"test"},
	"safe-to-stop":   {"--from", "URL", "alpha"},
	"call":           {"info.getNodeID"},
	"safe-to-remove": {"--from", "URL", "alpha"},
	"is-back":        {"--wait", "1h", "--from", "URL", "alpha"},
	"waves":          {"--from", "URL"},
	"silence":        {"--from", "URL", "alpha", "30m"},
	"mcp":            {"--from", "URL"},
	"healthcheck":    {},
	"rules":          nil,
	"dashboards":     nil,
	"backtest":       {"--prometheus", "URL"},
	"rewards":        {},
	"completion":     nil,
	"version":        nil,
	"help":           nil,
}

// A signal ends each command while an upstream does not answer, or begins an answer and never ends it, without the delay after which the process ends itself.
func TestSignalsEndEachCommand(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		args, listed := endless[c.name]
		if !listed {
			t.Errorf("%s: write with which arguments it waits for an upstream", c.name)
		}
		if args == nil {
			continue
		}
		for signal, begin := range map[os.Signal]string{
			syscall.SIGINT:  "",
			syscall.SIGTERM: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		} {
			t.Run(fmt.Sprint(c.name, " ", signal), func(t *testing.T) {
				t.Parallel()
				endAt(t, signal, begin, c.name, args)
			})
		}
	}
}

// endAt starts a command, and sends it a signal when it waits for the end of an answer.
func endAt(t *testing.T, signal os.Signal, begin, name string, args []string) {
	t.Helper()
	address, asked := silent(t, begin)
	url, dir := "http://"+address, t.TempDir()
	routes := filepath.Join(dir, "notify.yml")
	must.Do(t, os.WriteFile(routes, fmt.Appendf(nil, "route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url: %q}]}]\n", url), 0o600))
	args = append([]string{name}, args...)
	for i, arg := range args {
		args[i] = strings.NewReplacer("URL", url, "DIR", dir).Replace(arg)
	}
	cmd := exec.CommandContext(t.Context(), "avax-exporter", args...)
	cmd.Env = append(os.Environ(), "AVAX_NODES=alpha="+url, "AVAX_METRICS_URL=", "AVAX_DATA_URL="+url, "AVAX_LISTEN=127.0.0.1:0", "GORACE=atexit_sleep_ms=0")
	switch name {
	case "healthcheck":
		cmd.Env = append(cmd.Env, "AVAX_LISTEN="+address)
	case "notify":
		cmd.Env = append(cmd.Env, "AVAX_NOTIFY_FILE="+routes)
	}
	stdin := must.Get(cmd.StdinPipe())(t)
	log := &testworld.Log{}
	cmd.Stderr, cmd.Stdout = log, log
	must.Do(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if name == "mcp" {
		must.Get(io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"alerts","arguments":{}}}
`))(t)
	}
	if name == "demo" { // it brings its own upstreams
		testworld.Await(t, "it serves", func() error {
			if text := log.String(); !strings.Contains(text, "/metrics") {
				return fmt.Errorf("%s", text)
			}
			return nil
		})
	} else {
		select {
		case <-asked:
		case err := <-ended:
			t.Fatalf("ended: %v\n%s", err, log)
		case <-testworld.TimedOut(t):
			t.Fatalf("asked nobody\n%s", log)
		}
	}
	must.Do(t, cmd.Process.Signal(signal))
	select {
	case err := <-ended:
		if daemon := slices.Contains([]string{"run", "demo"}, name); daemon && err != nil || strings.Contains(log.String(), endedBySignal) {
			t.Errorf("%v\n%s", err, log)
		}
	case <-testworld.TimedOut(t):
		t.Errorf("does not end\n%s", log)
	}
}

// silent reads requests, begins each answer with this text, and never ends it. The channel receives a value at the first request.
func silent(t *testing.T, begin string) (address string, asked <-chan struct{}) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	first := make(chan struct{}, 1)
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer c.Close()
				if _, err := c.Read(make([]byte, 1)); err != nil {
					return
				}
				_, _ = io.WriteString(c, begin)
				select {
				case first <- struct{}{}:
				default:
				}
				_, _ = io.Copy(io.Discard, c) // until the client ends
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		clients.Wait()
	})
	return listener.Addr().String(), first
}
