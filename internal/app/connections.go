package app

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// keptDescriptors is the number of file descriptors that are reserved for files, Alertmanagers, receivers, services and DNS.
const keptDescriptors = 64

// clientLimit is the maximum number of client connections.
const clientLimit = 256

// fewestConnections is the minimum number of connections, even if the limit of file descriptors is low.
const fewestConnections = 8

// maxConnections returns the maximum number of client connections. It is clientLimit, or less if the process may not
// open enough file descriptors for clients and nodes.
func maxConnections(concurrency, nodes int, descriptors uint64, log *slog.Logger) int {
	needed := uint64(keptDescriptors + nodes*(concurrency+1))
	if descriptors >= needed+uint64(clientLimit) {
		return clientLimit
	}
	limit := fewestConnections
	if descriptors > needed {
		limit = max(limit, int(descriptors-needed))
	}
	limit = min(limit, clientLimit)
	log.Warn("file descriptor limit low", "remedy", "raise LimitNOFILE", "connections", limit, "descriptors", descriptors, "needed_for_nodes", needed)
	return limit
}

// limitedListener accepts at most max connections at a time, and from other hosts at most three quarters of them, so that these cannot keep a
// client on this machine from the page. It closes a connection beyond a limit at once.
type limitedListener struct {
	net.Listener
	max int

	mu           sync.Mutex
	open, remote int
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := 1
		if onThisMachine(c.RemoteAddr().String()) {
			remote = 0
		}
		if l.add(1, remote) {
			return &countedConn{c, sync.OnceFunc(func() { l.add(-1, -remote) })}, nil
		}
		_ = c.Close()
	}
}

// add adds to the numbers of connections, unless one of them is then too large.
func (l *limitedListener) add(open, remote int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if open > 0 && (l.open+open > l.max || remote > 0 && l.remote+remote > l.max-l.max/4) {
		return false
	}
	l.open += open
	l.remote += remote
	return true
}

// countedConn is a connection that calls closed at its first Close.
type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// onThisMachine reports whether a client's address is a loopback address, or that of a Unix socket.
func onThisMachine(address string) bool {
	client, err := netip.ParseAddrPort(address)
	return err != nil || client.Addr().Unmap().IsLoopback()
}

// maxGuesses is the maximum number of requests with a password from other hosts at a time. exporter-toolkit compares one password at a time,
// which takes some hundredths of a second: so many a client on this machine may have to wait for.
const maxGuesses = 16

// limitPasswords answers 429 to requests of other hosts beyond maxGuesses.
func limitPasswords(h http.Handler) http.Handler {
	slots := make(chan struct{}, maxGuesses)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" || onThisMachine(r.RemoteAddr) {
			h.ServeHTTP(w, r)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests with a password: retry later", http.StatusTooManyRequests)
		}
	})
}
