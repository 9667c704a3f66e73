package app

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// arriving is a listener with clients of these addresses.
type arriving struct {
	net.Listener
	from chan string
}

type arrived struct {
	net.Conn
	from   string
	closed bool
}

func (l arriving) Accept() (net.Conn, error) {
	if from, ok := <-l.from; ok {
		return &arrived{from: from}, nil
	}
	return nil, net.ErrClosed
}

func (c *arrived) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}
func (c *arrived) Close() error { c.closed = true; return nil }

// However many connections other hosts hold, a quarter of the limit is left to clients on this machine. A closed connection counts once.
func TestConnectionsOfOtherHostsLeaveRoomForThisMachine(t *testing.T) {
	clients := arriving{from: make(chan string, 1000)}
	l := &limitedListener{Listener: clients, max: 8}
	for n := range 500 {
		clients.from <- fmt.Sprintf("192.0.2.1:%d", n+1)
	}
	var open []net.Conn
	accept := func() { open = append(open, must.Get(l.Accept())(t)) }
	for range 6 {
		accept()
	}
	for _, from := range []string{"[::1]:1", "[::ffff:127.0.0.1]:1"} {
		clients.from <- from
	}
	accept()
	accept()
	if got := []string{open[6].RemoteAddr().String(), open[7].RemoteAddr().String()}; !slices.Equal(got, []string{"[::1]:1", "127.0.0.1:1"}) {
		t.Errorf("accepted %q, want the clients on this machine", got)
	}
	for range 2 {
		must.Do(t, open[0].Close())
	}
	clients.from <- "[2001:db8::1]:1"
	close(clients.from)
	if accept(); open[8].RemoteAddr().String() != "[2001:db8::1]:1" {
		t.Errorf("accepted %v in place of a closed connection", open[8].RemoteAddr())
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || l.open != 8 || l.remote != 6 {
		t.Errorf("%v; %d open, %d of other hosts", err, l.open, l.remote)
	}
}

// compared simulates exporter-toolkit: it compares one password at a time, in a tenth of a second.
func compared(password string) http.Handler {
	one := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one <- struct{}{}
		time.Sleep(100 * time.Millisecond)
		<-one
		if _, got, _ := r.BasicAuth(); got != password {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

// While strangers guess passwords, a scraper on this machine waits for a bounded number of them, and afterwards other hosts have access again.
func TestGuessesOfStrangersDoNotStopAScrapeFromThisMachine(t *testing.T) {
	const most = 16 // comparisons, as SECURITY.md says
	synctest.Test(t, func(t *testing.T) {
		h := limitPasswords(compared("right"))
		send := func(from, password string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.RemoteAddr = net.JoinHostPort(from, "1")
			r.SetBasicAuth("me", password)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		var refused atomic.Int64
		for n := range 2000 {
			go func() {
				if send(fmt.Sprintf("2001:db8::%x", n), fmt.Sprint("guess", n)) == http.StatusTooManyRequests {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if status := send("127.0.0.1", "right"); status != http.StatusOK || time.Since(began) > (most+1)*100*time.Millisecond {
			t.Errorf("status %d after %v", status, time.Since(began))
		}
		if n := refused.Load(); n != 2000-most {
			t.Errorf("%d requests rejected, want all but %d", n, most)
		}
		if status := send("192.0.2.1", "right"); status != http.StatusOK {
			t.Errorf("another host afterwards: status %d", status)
		}
	})
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

// one is a listener of one connection.
type one struct{ conns chan net.Conn }

func (l one) Accept() (net.Conn, error) {
	if c, is := <-l.conns; is {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l one) Addr() net.Addr { return &net.TCPAddr{} }
func (l one) Close() error   { return nil }

// A client that does not send its header or its body, or that reads no answer, loses its connection.
func TestSlowClientsLoseTheirConnection(t *testing.T) {
	for request, most := range map[string]time.Duration{
		"GET / HTTP/1.1\r\nHost: x":                               6 * time.Second,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n": 11 * time.Second,
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                       61 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			client, conn := net.Pipe()
			l := one{make(chan net.Conn, 1)}
			l.conns <- conn
			server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(make([]byte, 1<<20))
			}), slog.New(slog.DiscardHandler))
			go func() { _ = server.Serve(l) }()
			must.Get(io.WriteString(client, request))(t)
			time.Sleep(most)
			_ = client.SetReadDeadline(time.Now().Add(time.Second)) // fails after the end
			if n, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%q: still connected after %s: %d bytes, %v", request, most, n, err)
			}
			close(l.conns)
			must.Do(t, server.Close())
		})
	}
}

// stranger is a connection from another host.
type stranger struct{ net.Conn }

func (stranger) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:1"))
}

// The limit is before exporter-toolkit, which compares one password at a time.
func TestRequestsWithAPasswordAreLimitedBeforeItIsCompared(t *testing.T) {
	file := testworld.File(t, "basic_auth_users: {me: $2a$04$v9YrQVLiNX3z7gk0RKSDIeqw4lk8O9yNXLTs2LEanSZk0h0wL2M3a}")
	entered, leave := make(chan struct{}), make(chan struct{})
	var requests atomic.Int64
	log := slog.New(slog.DiscardHandler)
	server := newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) <= maxGuesses {
			entered <- struct{}{}
			<-leave
		}
	}), log)
	l := one{make(chan net.Conn)}
	ended := make(chan error, 1)
	go func() { ended <- serve(l, server, &config.Config{Values: config.Values{WebConfigFile: file}}, log) }()
	send := func() net.Conn {
		client, conn := net.Pipe()
		select {
		case l.conns <- stranger{conn}:
		case err := <-ended:
			t.Fatal(err)
		}
		must.Get(io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic bWU6Y2FuYXJ5LW9uZQ==\r\n\r\n"))(t)
		return client
	}
	for range maxGuesses {
		send()
		<-entered
	}
	answer := must.Get(http.ReadResponse(bufio.NewReader(send()), nil))(t)
	if answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("with %d requests in progress, the next gets %s", maxGuesses, answer.Status)
	}
	close(leave)
	close(l.conns)
	must.Do(t, server.Close())
}
