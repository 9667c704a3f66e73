package web

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// chromium is a headless Chromium with one tab, controlled over the pipe of its DevTools protocol: JSON messages that end with a
// zero byte. It belongs to one goroutine.
type chromium struct {
	t       testing.TB
	to      *os.File
	from    *bufio.Reader
	session string
	calls   int
	// complaints are the errors in the page's log.
	complaints []string
	loaded     int
}

// patience limits the time of the browser in one test.
const patience = 5 * time.Minute

// openChromium starts a Chromium that ends with the test.
func openChromium(t testing.TB) *chromium {
	t.Helper()
	binary := testworld.Chromium(t)
	home, err := os.MkdirTemp("", "chromium") //nolint:usetesting // it creates sockets in here, and socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	read, theirWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	theirRead, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	command := exec.CommandContext(t.Context(), binary,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{theirRead, theirWrite} // file descriptors 3 and 4 of the process
	command.Stderr = &log
	command.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	command.WaitDelay = time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Killing only the main process would leave its children.
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	must.Do(t, command.Start())
	_, _ = theirRead.Close(), theirWrite.Close()
	tooLong := time.AfterFunc(patience, func() { _ = command.Cancel() })
	t.Cleanup(func() { // the test's context has ended, which kills Chromium
		tooLong.Stop()
		_ = command.Wait()
		_, _, _ = read.Close(), write.Close(), os.RemoveAll(home)
		if t.Failed() {
			t.Logf("chromium:\n%s", &log)
		}
	})

	c := &chromium{t: t, to: write, from: bufio.NewReader(read)}
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.call(domain+".enable", nil, nil)
	}
	return c
}

// call calls the browser and decodes its answer.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	c.calls++
	message := map[string]any{"id": c.calls, "method": method}
	if params != nil {
		message["params"] = params
	}
	if c.session != "" {
		message["sessionId"] = c.session
	}
	text := must.Get(json.Marshal(message))(c.t)
	if _, err := c.to.Write(append(text, 0)); err != nil {
		c.t.Fatalf("%s: chromium has ended: %v", method, err)
	}
	for {
		answer := c.next(method)
		if answer.ID != c.calls {
			continue
		}
		if answer.Error != nil {
			c.t.Fatalf("%s: %s", method, answer.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				c.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

type message struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  *struct{ Message string }
	Params json.RawMessage
}

// next reads one message and records errors of the page.
func (c *chromium) next(doing string) message {
	c.t.Helper()
	text, err := c.from.ReadBytes(0)
	if err != nil {
		c.t.Fatalf("%s: chromium exited, or took more than %s: %v", doing, patience, err)
	}
	var m message
	must.Do(c.t, json.Unmarshal(text[:len(text)-1], &m))
	switch m.Method {
	case "Page.loadEventFired":
		c.loaded++
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Network.loadingFailed", "Page.javascriptDialogOpening":
		c.complaints = append(c.complaints, fmt.Sprintf("%s: %s", m.Method, m.Params))
	}
	return m
}

// window is the size and color scheme of the page.
type window struct {
	width, height int
	scheme        string // light or dark
}

// visit loads the page in the window.
func (c *chromium) visit(url string, w window) {
	c.t.Helper()
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": w.width, "height": w.height, "deviceScaleFactor": 1, "mobile": w.width < 600,
	}, nil)
	c.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": w.scheme}},
	}, nil)
	before := c.loaded
	c.call("Page.navigate", map[string]any{"url": url}, nil)
	for c.loaded == before {
		c.next("loading " + url)
	}
}

// eval evaluates a JavaScript expression outside the page, which itself may not run scripts.
func eval[T any](c *chromium, expression string) T {
	c.t.Helper()
	var answer struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		c.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return answer.Result.Value
}

// screenshot writes a PNG of the whole page.
func (c *chromium) screenshot(file string) {
	c.t.Helper()
	var answer struct{ Data string }
	c.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true}, &answer)
	picture := must.Get(base64.StdEncoding.DecodeString(answer.Data))(c.t)
	must.Do(c.t, os.WriteFile(file, picture, 0o600))
}
