package config_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// inventory is an HTTP server whose answer can change.
type inventory struct {
	mu     sync.Mutex
	answer func(*http.Request) (*http.Response, error)
	asked  int
}

func (i *inventory) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked++
	answer := i.answer
	i.mu.Unlock()
	return answer(r)
}

func (i *inventory) set(answer func(*http.Request) (*http.Response, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func answering(status int, kind, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{
			Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status, Request: r,
			Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)),
		}
		for i := 0; i < len(headers); i += 2 {
			resp.Header.Set(headers[i], headers[i+1])
		}
		return resp, nil
	}
}

const listed = `[{"targets": ["10.0.0.1:9650"], "labels": {"node": "alpha", "__meta_datacenter": "eu"}}]`

// Whatever the server answers, the previous nodes stay, the reason is told once and without the secret in the URL, and a good list ends it.
func TestListOfNodesAtAURLIsFollowed(t *testing.T) {
	const kind = "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		says   string
	}{
		"404":       {answering(404, "text/plain", "no"), "status 404 Not Found: correct the URL"},
		"401":       {answering(401, "text/plain", "no"), "add credentials for the upstream discovery"},
		"500":       {answering(500, kind, listed), "status 500"},
		"204":       {answering(204, kind, ""), "status 204"},
		"HTML":      {answering(200, "text/html", "<html>Log in</html>"), "not application/json"},
		"no JSON":   {answering(200, kind, "<html>Log in</html>"), "line 1"},
		"truncated": {answering(200, kind, listed[:40]), "line 1"},
		"empty":     {answering(200, kind, ""), "the file is empty: write []"},
		"null":      {answering(200, kind, "null"), "null"},
		"object":    {answering(200, kind, `{"targets": []}`), "write a list of groups"},
		"bad node":  {answering(200, kind, `[{"targets": ["a b:9650"]}]`), "line 1"},
		"redirect":  {answering(302, kind, "", "Location", "https://elsewhere.example/"), "status 302"},
		"huge":      {answering(200, kind, strings.Repeat(" ", 5<<20)+listed), "larger than 4 MiB"},
		"timeout": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, "deadline exceeded"},
		"refused": {func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, "unexpected EOF: correct the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &inventory{answer: answering(200, kind, listed)}
				source := &config.Config{Values: config.Values{NodesFile: "https://inventory.example/nodes?token=c4n4ry"}, Transport: server}
				read := must.Get(source.ReadUpstreams())(t)
				w := &watched{registry: prometheus.NewPedanticRegistry(), taken: read.Nodes}
				w.Watch = config.NewWatch(source, func(u config.Upstreams) error {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.taken, w.times = u.Nodes, w.times+1
					return nil
				}, slog.New(slog.NewTextHandler(&w.log, nil)), w.registry)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go w.Run(ctx)
				expect := func(when, names string, good float64) {
					t.Helper()
					time.Sleep(time.Minute)
					synctest.Wait()
					if got := w.names(); got != names {
						t.Errorf("%s: nodes %q, want %q", when, got, names)
					}
					if got := w.gauge(t, "avax_exporter_config_last_reload_successful"); got != good {
						t.Errorf("%s: successful %v", when, got)
					}
				}
				expect("unchanged", "alpha", 1)
				if w.times != 0 {
					t.Errorf("%d reloads of an unchanged list", w.times)
				}
				server.set(c.answer)
				expect("bad", "alpha", 0)
				expect("still bad", "alpha", 0)
				if log := w.log.String(); strings.Count(log, "reload failed") != 1 || !strings.Contains(log, c.says) || strings.Contains(log, "c4n4ry") {
					t.Errorf("log: %s", log)
				}
				server.set(answering(200, kind, listed))
				expect("as before", "alpha", 1)
				server.set(answering(200, kind, "[]"))
				expect("no nodes", "", 1)
				server.set(answering(200, kind, listed[:len(listed)-1]+`, {"targets": ["10.0.0.2:9650"], "labels": {"node": "bravo"}}]`))
				expect("two nodes", "alpha bravo", 1)
				server.mu.Lock()
				defer server.mu.Unlock()
				if server.asked > 15 {
					t.Errorf("%d requests in six minutes", server.asked)
				}
			})
		})
	}
}

// The credentials are those of the upstream discovery, and none are in the URL.
func TestListOfNodesGetsItsCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer c4n4ry" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, listed)
	}))
	t.Cleanup(server.Close)
	file := func(upstream string) string {
		return testworld.File(t, "- upstreams: ["+upstream+"]\n  http_config: {authorization: {credentials: c4n4ry}}\n")
	}
	for name, c := range map[string]struct{ address, credentials, want string }{
		"credentials":      {server.URL, file("discovery"), "<nil>"},
		"of others":        {server.URL, file("'*'"), "status 401 Unauthorized: add credentials for the upstream discovery"},
		"none":             {server.URL, "", "status 401 Unauthorized"},
		"user in the URL":  {"https://u:c4n4ry@inventory.example/", "", "the URL contains a user or password: use basic_auth"},
		"no host":          {"https://", "", "https://inventory.example/nodes"},
		"nothing listens":  {"http://127.0.0.1:1/c4n4ry?token=c4n4ry", "", "connection refused: correct the URL, or start the server"},
		"no such protocol": {"ftp://inventory.example/nodes.json", "", "no such file"},
	} {
		_, err := (&config.Config{Values: config.Values{NodesFile: c.address, HTTPConfigFile: c.credentials}}).ReadUpstreams()
		if told := fmt.Sprint(err); !strings.Contains(told, c.want) || strings.Contains(told, "c4n4ry") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
