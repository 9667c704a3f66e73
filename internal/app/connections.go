package app

import (
	"context"
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

// connections is a listener with a maximum number of connections. A new connection beyond the maximum displaces the connection that
// has waited longest without a complete request, or, if all have one, the connection whose request has lasted longest.
type connections struct {
	net.Listener
	max int

	mu   sync.Mutex
	open map[*connection]bool
}

// connection is a client's connection.
type connection struct {
	net.Conn
	all *connections
	// requests and since are guarded by all.mu.
	requests int       // complete requests in progress
	since    time.Time // last change from or to no complete request
}

func newConnections(l net.Listener, limit int) *connections {
	return &connections{Listener: l, max: limit, open: map[*connection]bool{}}
}

// Accept returns the next connection. At the maximum it first closes another one.
func (l *connections) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, all: l, since: time.Now()}
	for {
		displaced, wait := l.add(c)
		if wait > 0 {
			time.Sleep(wait)
			continue
		}
		if displaced != nil {
			_ = displaced.Close()
		}
		return c, nil
	}
}

// add adds a connection, and returns the connection to close, or nil. If wait is not 0, it added nothing: call add again after this
// time.
func (l *connections) add(c *connection) (displaced *connection, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		for o := range l.open {
			if displaced == nil || o.before(displaced) {
				displaced = o
			}
		}
		if wait = time.Until(displaced.since.Add(firstRequest)); wait > 0 {
			return nil, wait
		}
		delete(l.open, displaced)
	}
	c.since = time.Now()
	l.open[c] = true
	return displaced, 0
}

// before reports whether c must be closed rather than o.
func (c *connection) before(o *connection) bool {
	if (c.requests == 0) != (o.requests == 0) {
		return c.requests == 0
	}
	return c.since.Before(o.since)
}

// Close ends the connection.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

type connectionKey struct{}

// limit lets a server report the complete requests of its connections.
func (l *connections) limit(server *http.Server) {
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = secure.NetConn()
		}
		return context.WithValue(ctx, connectionKey{}, c)
	}
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			complete := sync.OnceFunc(func() { c.request(1) })
			if r.ContentLength == 0 {
				complete()
			} else {
				r.Body = &body{r.Body, complete}
			}
			defer func() {
				complete()
				c.request(-1)
			}()
		}
		inner.ServeHTTP(w, r)
	})
}

// request counts a request that is complete (1), or that has been answered (-1).
func (c *connection) request(n int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	before := c.requests
	c.requests += n
	if before == 0 || c.requests == 0 {
		c.since = time.Now()
	}
}

// body is the body of a request. It calls complete at its end.
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
