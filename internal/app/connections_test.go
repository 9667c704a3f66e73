package app

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// client is a connection that records whether it was closed.
type client struct {
	net.Conn
	closed bool
}

func (c *client) Close() error { c.closed = true; return nil }

// arrive connects clients, one per second.
func arrive(l *connections, n int) (clients []*client) {
	for range n {
		time.Sleep(time.Second)
		c := &client{}
		clients = append(clients, c)
		l.changed(c, http.StateNew)
	}
	return clients
}

func closed(clients []*client) (indices []int) {
	for i, c := range clients {
		if c.closed {
			indices = append(indices, i)
		}
	}
	return indices
}

func TestNewConnectionDisplacesTheOneThatWaitedLongest(t *testing.T) {
	for name, c := range map[string]struct {
		come     int
		requests []int // of these connections, in this order, a request is in progress
		answered []int // of these connections, a request was answered
		closed   []int
	}{
		"within the limit":      {4, nil, nil, nil},
		"idle":                  {6, nil, nil, []int{0, 1}},
		"request in progress":   {6, []int{0, 2}, nil, []int{1, 3}},
		"request answered":      {6, nil, []int{0, 1}, []int{2, 3}},
		"all have requests":     {5, []int{1, 0, 2, 3}, nil, []int{1}},
		"request, then another": {5, []int{0, 0, 1, 2, 3}, nil, []int{0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limitConnections(&http.Server{}, 4)
			all := arrive(l, 4)
			time.Sleep(time.Second)
			for _, i := range c.requests {
				l.request(all[i], 1)
				time.Sleep(time.Second)
			}
			for _, i := range c.answered {
				l.request(all[i], 1)
				l.request(all[i], -1)
				time.Sleep(time.Second)
			}
			all = append(all, arrive(l, c.come-4)...)
			if got := closed(all); !slices.Equal(got, c.closed) || len(l.open) != 4 {
				t.Errorf("%s: closed %v, want %v; %d open", name, got, c.closed, len(l.open))
			}
			for _, c := range all {
				l.changed(c, http.StateClosed)
				l.request(c, -1)
			}
			if len(l.open) != 0 {
				t.Errorf("%s: %d counted after all closed", name, len(l.open))
			}
		})
	}
}

// A request is complete when its body has arrived, with or without TLS.
func TestRequestWithoutItsBodyIsIncomplete(t *testing.T) {
	for _, start := range []func(*httptest.Server){(*httptest.Server).Start, (*httptest.Server).StartTLS} {
		var l *connections
		requests := func() (n int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, c := range l.open {
				n += c.requests
			}
			return n
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before := requests()
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "%d %d", before, requests())
		}))
		l = limitConnections(server.Config, 4)
		start(server)
		for body, want := range map[string]string{"": "1 1", "x": "0 1"} {
			response := must.Get(server.Client().Post(server.URL, "text/plain", strings.NewReader(body)))(t)
			answer, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if string(answer) != want {
				t.Errorf("body %q: complete requests %s, want %s", body, answer, want)
			}
		}
		server.Close()
		if len(l.open) != 0 {
			t.Errorf("%d connections after the end", len(l.open))
		}
	}
}

func TestNodesKeepFileDescriptors(t *testing.T) {
	for _, c := range []struct {
		descriptors uint64
		nodes, want int
		warns       bool
	}{
		{1 << 20, 200, 256, false},
		{1024, 10, 256, false},
		{1024, 150, 1024 - 64 - 150*5, true},
		{256, 200, 8, true},
	} {
		var log bytes.Buffer
		got := maxConnections(4, c.nodes, c.descriptors, slog.New(slog.NewTextHandler(&log, nil)))
		if got != c.want || strings.Contains(log.String(), "LimitNOFILE") != c.warns {
			t.Errorf("%d descriptors, %d nodes: %d connections, want %d; %s", c.descriptors, c.nodes, got, c.want, &log)
		}
	}
}

func TestNewConnectionHasTimeForItsFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limitConnections(&http.Server{}, 1)
		first, second := arrive(l, 1)[0], &client{}
		began := time.Now()
		l.changed(second, http.StateNew)
		if waited := time.Since(began); waited != firstRequest || !first.closed || second.closed {
			t.Errorf("after %v, first closed: %v, second closed: %v", waited, first.closed, second.closed)
		}
	})
}
