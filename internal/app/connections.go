package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// keptDescriptors is the number of file descriptors that are reserved for files, Alertmanagers, receivers, services and DNS.
const keptDescriptors = 64

// firstRequest is how long a new connection is protected while it sends its first request. Before that time, no other connection
// may displace it. So a client that opens connections quickly must wait, and cannot displace a scraper.
const firstRequest = 100 * time.Millisecond

// fewestConnections is the minimum number of connections, even if the limit of file descriptors is low.
const fewestConnections = 8

// maxConnections returns the maximum number of client connections. It is the configured number, or less if the process may not
// open enough file descriptors for clients and nodes.
func maxConnections(cfg *config.Config, nodes int, descriptors uint64, log *slog.Logger) int {
	needed := uint64(keptDescriptors + nodes*(cfg.Concurrency+1))
	if descriptors >= needed+uint64(cfg.MaxConnections) {
		return cfg.MaxConnections
	}
	most := fewestConnections
	if descriptors > needed {
		most = max(most, int(descriptors-needed))
	}
	most = min(most, cfg.MaxConnections)
	log.Warn("file descriptor limit low", "remedy", "raise LimitNOFILE", "connections", most, "descriptors", descriptors, "needed_for_nodes", needed)
	return most
}

// connections is a listener with a maximum number of connections. Beyond it, connections closes a connection of the client address
// that has the most: the connection that has been idle longest or, if none is idle, the newest.
type connections struct {
	net.Listener
	max int

	mu   sync.Mutex
	open map[*connection]bool
}

// connection is a client's connection.
type connection struct {
	net.Conn
	all  *connections
	host string
	// answering and idle are guarded by all.mu.
	answering int       // number of requests in progress
	idle      time.Time // end of the last request, or start of the connection
}

func newConnections(l net.Listener, most int) *connections {
	return &connections{Listener: l, max: most, open: map[*connection]bool{}}
}

// Accept returns the next connection that stays within the limit.
func (l *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, all: l, host: hostOf(accepted.RemoteAddr()), idle: time.Now()}
		victim, wait := l.add(c)
		for ; wait > 0; victim, wait = l.add(c) {
			time.Sleep(wait) // further connections wait in the backlog
		}
		if victim != nil {
			_ = victim.Close()
		}
		if victim != c {
			return c, nil
		}
	}
}

// hostOf returns a client's address without the port. For IPv6 it returns the network, because one customer has a whole network.
func hostOf(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.To4() == nil {
		return tcp.IP.Mask(net.CIDRMask(64, 128)).String()
	}
	return tcp.IP.String()
}

// add returns the connection to close, or nil. If wait is not 0, call add again after this time.
func (l *connections) add(c *connection) (victim *connection, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = true
	if len(l.open) <= l.max {
		return nil, 0
	}
	count := map[string]int{}
	greediest := c.host
	for o := range l.open {
		count[o.host]++
	}
	for host, n := range count {
		if n > count[greediest] {
			greediest = host
		}
	}
	for o := range l.open {
		if o != c && o.host == greediest && (victim == nil || o.before(victim)) {
			victim = o
		}
	}
	if victim == nil || victim.answering > 0 && greediest == c.host {
		victim = c
	}
	if victim != c && victim.answering == 0 {
		if wait = time.Until(victim.idle.Add(firstRequest)); wait > 0 {
			return nil, wait
		}
	}
	delete(l.open, victim)
	return victim, 0
}

// before reports whether c must be closed rather than o.
func (c *connection) before(o *connection) bool {
	if (c.answering == 0) != (o.answering == 0) {
		return c.answering == 0
	}
	return c.idle.Before(o.idle)
}

// Close ends the connection.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

type connectionKey struct{}

// limit lets a server report the state of its connections.
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
			c.answer(1)
			defer c.answer(-1)
		}
		inner.ServeHTTP(w, r)
	})
}

func (c *connection) answer(n int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.answering += n
	c.idle = time.Now()
}
