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
)

// client is a connection that records whether it was closed.
type client struct {
	net.Conn
	closed bool
}

func (c *client) Close() error { c.closed = true; return nil }

// queue is a listener of clients.
type queue struct {
	net.Listener
	next chan net.Conn
}

func (q queue) Accept() (net.Conn, error) {
	c, ok := <-q.next
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// arrive connects clients, one per second.
func arrive(q queue, n int) (clients []*client) {
	for range n {
		time.Sleep(time.Second)
		c := &client{}
		clients = append(clients, c)
		q.next <- c
		synctest.Wait()
	}
	return clients
}

// accepting accepts until the queue ends.
func accepting(l *connections) (accepted *[]*connection) {
	accepted = new([]*connection)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			*accepted = append(*accepted, c.(*connection))
		}
	}()
	return accepted
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
			q := queue{next: make(chan net.Conn)}
			l := newConnections(q, 4)
			accepted := accepting(l)
			all := arrive(q, 4)
			time.Sleep(time.Second)
			for _, i := range c.requests {
				(*accepted)[i].request(1)
				time.Sleep(time.Second)
			}
			for _, i := range c.answered {
				(*accepted)[i].request(1)
				(*accepted)[i].request(-1)
				time.Sleep(time.Second)
			}
			all = append(all, arrive(q, c.come-4)...)
			if got := closed(all); !slices.Equal(got, c.closed) || len(l.open) != 4 {
				t.Errorf("%s: closed %v, want %v; %d open", name, got, c.closed, len(l.open))
			}
			for _, c := range *accepted {
				_ = c.Close()
			}
			if len(l.open) != 0 {
				t.Errorf("%s: %d counted after all closed", name, len(l.open))
			}
			close(q.next)
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
			for c := range l.open {
				n += c.requests
			}
			return n
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before := requests()
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "%d %d", before, requests())
		}))
		l = newConnections(server.Listener, 4)
		server.Listener = l
		l.limit(server.Config)
		start(server)
		defer server.Close()
		for body, want := range map[string]string{"": "1 1", "x": "0 1"} {
			response, err := server.Client().Post(server.URL, "text/plain", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if string(answer) != want {
				t.Errorf("body %q: complete requests %s, want %s", body, answer, want)
			}
		}
	}
}

func TestNodesKeepFileDescriptors(t *testing.T) {
	for _, c := range []struct {
		descriptors uint64
		nodes, want int
		told        bool
	}{
		{1 << 20, 200, 256, false},
		{1024, 10, 256, false},
		{1024, 150, 1024 - 64 - 150*5, true},
		{256, 200, 8, true},
	} {
		var log bytes.Buffer
		got := maxConnections(4, c.nodes, c.descriptors, slog.New(slog.NewTextHandler(&log, nil)))
		if got != c.want || strings.Contains(log.String(), "LimitNOFILE") != c.told {
			t.Errorf("%d descriptors, %d nodes: %d connections, want %d; %s", c.descriptors, c.nodes, got, c.want, &log)
		}
	}
}

func TestNewConnectionHasTimeForItsFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{next: make(chan net.Conn)}
		l := newConnections(q, 1)
		accepting(l)
		first := arrive(q, 1)
		second := &client{}
		q.next <- second
		time.Sleep(firstRequest - time.Millisecond)
		synctest.Wait()
		if first[0].closed {
			t.Error("displaced within the time for its first request")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !first[0].closed || second.closed {
			t.Errorf("first closed: %v, second closed: %v", first[0].closed, second.closed)
		}
		close(q.next)
	})
}
