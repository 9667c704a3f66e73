package app

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// client is a connection with an address that records whether it was closed.
type client struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *client) RemoteAddr() net.Addr { return c.from }
func (c *client) Close() error         { c.closed = true; return nil }

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

// arrive connects clients from these addresses, one per second, and returns them and the accepted connections.
func arrive(l *connections, q queue, hosts ...string) (clients []*client) {
	for i, host := range hosts {
		time.Sleep(time.Second)
		c := &client{from: &net.TCPAddr{IP: net.ParseIP(host), Port: 1000 + i}}
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

func TestConnectionLimitClosesTheOldestIdleConnection(t *testing.T) {
	const a, b = "192.0.2.1", "192.0.2.2"
	for name, c := range map[string]struct {
		come      []string
		answering []int
		closed    []int
	}{
		"within the limit":                  {[]string{a, a, b, a}, nil, nil},
		"one address":                       {[]string{a, a, a, a, a, a}, nil, []int{0, 1}},
		"other address is unaffected":       {[]string{b, a, a, a, a}, nil, []int{1}},
		"new address":                       {[]string{a, a, a, a, b}, nil, []int{0}},
		"busy connections stay":             {[]string{a, a, a, a, a}, []int{0, 2}, []int{1}},
		"all of one address are busy":       {[]string{a, a, a, a, a}, []int{0, 1, 2, 3}, []int{4}},
		"all are busy, new address":         {[]string{a, a, a, a, b}, []int{0, 1, 2, 3}, []int{0}},
		"IPv6 network counts as an address": {[]string{"2001:db8::1", b, "2001:db8::2", "2001:db8::3", b}, nil, []int{0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := queue{next: make(chan net.Conn)}
			l := newConnections(q, 4)
			accepted := accepting(l)
			first := arrive(l, q, c.come[:4]...)
			for _, i := range c.answering {
				(*accepted)[i].answer(1)
				time.Sleep(time.Second)
			}
			all := append(first, arrive(l, q, c.come[4:]...)...)
			if got := closed(all); !slices.Equal(got, c.closed) || len(l.open) > 4 {
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

// The connection of a request counts as busy, with or without TLS.
func TestConnectionIsBusyDuringItsRequest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newConnections(listener, 4)
	busy := -1
	server := newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		busy = 0
		for c := range l.open {
			busy += c.answering
		}
	}), slog.New(slog.DiscardHandler))
	l.limit(server)
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if busy != 1 {
		t.Errorf("%d busy", busy)
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
		got := maxConnections(&config.Config{MaxConnections: 256, Concurrency: 4}, c.nodes, c.descriptors, slog.New(slog.NewTextHandler(&log, nil)))
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
		first := arrive(l, q, "192.0.2.1")
		second := &client{from: first[0].from}
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
