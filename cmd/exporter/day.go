//go:build day

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// init runs a day in place of the program if NETWORK is set. make bench ONLY=day builds the program with the tag day, so that the
// measured process contains what the program contains. Only testing can start synthetic time.
func init() {
	if address := os.Getenv("NETWORK"); address != "" {
		testing.Main(func(string, string) (bool, error) { return true, nil },
			[]testing.InternalTest{{Name: "OneNodeForADay", F: func(t *testing.T) { oneNodeForADay(t, address) }}}, nil, nil)
	}
}

// oneNodeForADay monitors one node and its validator for a day in synthetic time, with rules, notifications, a scrape every 15 s and
// a request for the status page every five minutes. The simulated network is in another process, at address: internal/performance
// plays the incidents, and measures this process at the end.
func oneNodeForADay(t *testing.T, address string) {
	runtime.MemProfileRate = 0 // as main
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no names are looked up in synthetic time")
	}}
	dir := t.TempDir()
	upstreams := dialUpstreams(address)
	synctest.Test(t, func(t *testing.T) {
		inbox := &inbox{Listener: bufconn.Listen(1 << 16)}
		server := &http.Server{Handler: inbox}
		go func() { _ = server.Serve(inbox) }()
		defer server.Close()
		c := configuredForADay(t, dir)
		setGCPercent(len(c.Nodes))
		c.Transport = upstreams
		c.Notify.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return inbox.DialContext(ctx) }
		ctx, cancel := context.WithCancel(t.Context())
		a, err := app.New(ctx, c, slog.New(slog.DiscardHandler))
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		defer time.Sleep(time.Minute)
		defer a.Wait()
		defer cancel()
		get := func(path, accept string) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			r.Header.Set("Accept", accept)
			r.Header.Set("Accept-Encoding", "gzip")
			if a.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		for range 24 * 12 {
			for range 20 {
				time.Sleep(15 * time.Second)
				get("/metrics", "application/openmetrics-text;version=1.0.0")
			}
			get("/", "text/html")
		}
		if inbox.firing == 0 || inbox.resolved == 0 {
			t.Errorf("notified: %d firing and %d resolved alerts", inbox.firing, inbox.resolved)
		}
		summary, err := json.Marshal(map[string]int{"Firing": inbox.firing, "Resolved": inbox.resolved})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://measure/", bytes.NewReader(summary))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := upstreams.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	})
}

// configuredForADay returns the default configuration for one node, with the example of notifications to a webhook.
func configuredForADay(t *testing.T, dir string) *config.Config {
	t.Helper()
	example, err := notify.Example("webhook")
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "webhook.url")
	file := filepath.Join(dir, "notify.yml")
	text := strings.ReplaceAll(string(example), "/etc/avax-exporter/webhook.url", secret)
	if err := errors.Join(os.WriteFile(secret, []byte("http://inbox.sim/"), 0o600), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := config.Defaults()
	env.Nodes, env.NotifyFile, env.StateDir, env.AlertingInstance = "alpha=http://alpha.sim", file, dir, "exporter:9865"
	c, err := env.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// upstreams sends requests to the process of the simulated network. Its connections are outside of the bubble, so synthetic time
// stands still until the answer is complete.
type upstreams chan *connection

// connection does one request at a time. Its channels are from outside of the bubble too.
type connection struct {
	client    *http.Client
	requests  chan *http.Request
	responses chan *http.Response
	err       error
}

func dialUpstreams(address string) upstreams {
	const concurrent = 16
	free := make(upstreams, concurrent)
	for range concurrent {
		c := &connection{
			client: &http.Client{Transport: &http.Transport{
				DisableCompression: true,
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, "tcp", address)
				},
			}},
			requests: make(chan *http.Request), responses: make(chan *http.Response),
		}
		go c.run()
		free <- c
	}
	return free
}

func (c *connection) run() {
	for r := range c.requests {
		var resp *http.Response
		if resp, c.err = c.client.Do(r); c.err == nil {
			var body []byte
			body, c.err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			resp.Body = io.NopCloser(bytes.NewReader(body))
		}
		c.responses <- resp
	}
}

// RoundTrip implements http.RoundTripper. The simulated network names the failure of a connection in a header.
func (u upstreams) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	outside, err := http.NewRequestWithContext(context.Background(), r.Method, r.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	outside.Header = r.Header.Clone()
	outside.Header.Set("Synthetic-Time", time.Now().Format(time.RFC3339Nano))
	c := <-u
	c.requests <- outside
	resp, err := <-c.responses, c.err
	u <- c
	if err != nil {
		return nil, err
	}
	resp.Request = r
	switch resp.Header.Get("Synthetic-Fault") {
	case "refused":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "hung":
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	return resp, nil
}

// inbox is the server of the webhook, in memory. It counts the notified alerts.
type inbox struct {
	*bufconn.Listener
	firing, resolved int
}

func (i *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var n struct{ Alerts []struct{ Status string } }
	_ = json.NewDecoder(r.Body).Decode(&n)
	for _, a := range n.Alerts {
		if a.Status == "firing" {
			i.firing++
		} else {
			i.resolved++
		}
	}
}
