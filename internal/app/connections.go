package app

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// keptDescriptors is the number of file descriptors that are reserved for files, Alertmanagers, receivers, services and DNS.
const keptDescriptors = 64

// firstRequest is how long a new connection is protected while it sends its first request. A client that opens connections faster
// waits in the backlog of the system, and cannot displace a scraper that has just connected.
const firstRequest = 100 * time.Millisecond

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

// connections limits the number of connections of a server. A new connection beyond the maximum displaces the connection that has
// waited longest without a complete request, or, if all have one, the connection whose request has lasted longest.
type connections struct {
	max int

	mu   sync.Mutex
	open map[net.Conn]*connection
}

// connection is a client's connection. Its fields are guarded by connections.mu.
type connection struct {
	requests int       // complete requests in progress
	since    time.Time // last change from or to no complete request
}

// limitConnections sets the maximum number of connections of a server.
func limitConnections(server *http.Server, limit int) *connections {
	l := &connections{max: limit, open: map[net.Conn]*connection{}}
	server.ConnState = l.changed
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connectionKey{}).(net.Conn)
		complete := sync.OnceFunc(func() { l.request(c, 1) })
		if r.ContentLength == 0 {
			complete()
		} else {
			r.Body = &body{r.Body, complete}
		}
		defer func() {
			complete()
			l.request(c, -1)
		}()
		inner.ServeHTTP(w, r)
	})
	return l
}

type connectionKey struct{}

// changed is called for a connection that the server accepted or closed. At the maximum, a new connection first waits until another
// one may be closed. Meanwhile the server accepts none.
func (l *connections) changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		for wait := l.add(c); wait > 0; wait = l.add(c) {
			time.Sleep(wait)
		}
	case http.StateClosed, http.StateHijacked:
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
}

// add adds a connection, and closes another one at the maximum. If wait is not 0, it added nothing: call add again after this time.
func (l *connections) add(c net.Conn) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		var displaced net.Conn
		for o := range l.open {
			if displaced == nil || l.open[o].before(l.open[displaced]) {
				displaced = o
			}
		}
		if wait = time.Until(l.open[displaced].since.Add(firstRequest)); wait > 0 {
			return wait
		}
		delete(l.open, displaced)
		if secure, ok := displaced.(*tls.Conn); ok {
			displaced = secure.NetConn() // without the last message of TLS, for which a slow client would let the server wait
		}
		_ = displaced.Close()
	}
	l.open[c] = &connection{since: time.Now()}
	return 0
}

// before reports whether c must be closed rather than o.
func (c *connection) before(o *connection) bool {
	if (c.requests == 0) != (o.requests == 0) {
		return c.requests == 0
	}
	return c.since.Before(o.since)
}

// request counts a request that is complete (1), or that has been answered (-1).
func (l *connections) request(of net.Conn, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[of]
	if c == nil {
		return // displaced
	}
	before := c.requests
	c.requests += n
	if before == 0 || c.requests == 0 {
		c.since = time.Now()
	}
}

// body is the body of a request. It calls complete at its end. The server itself waits for a body that the handler does not read.
type body struct {
	io.ReadCloser
	complete func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.complete()
	}
	return n, err
}
