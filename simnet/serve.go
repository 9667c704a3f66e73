package simnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve opens a listener on a free port of 127.0.0.1 for every node, and for "metrics", "data" and "observer". It returns their URLs by
// name. The port of a stopped upstream refuses connections. After a start the upstream has the same port again. All listeners
// are closed when ctx ends.
func (n *Network) Serve(ctx context.Context) (map[string]string, error) {
	urls := make(map[string]string)
	ports := make(map[*endpoint]port)
	for _, d := range n.endpoints() {
		p, err := openPort(ctx)
		if err != nil {
			for _, p := range ports {
				_ = p.listener.Close()
				p.release()
			}
			return nil, fmt.Errorf("simnet: %s: %w", d.name, err)
		}
		urls[d.name] = "http://" + p.listener.Addr().String()
		ports[d] = p
	}
	for d, p := range ports {
		go d.keep(ctx, p)
	}
	return urls, nil
}

// port is a reserved port and its first listener.
type port struct {
	listener net.Listener
	release  func()
}

func openPort(ctx context.Context) (p port, err error) {
	address, release, err := Reserve()
	if err != nil {
		return p, err
	}
	l, err := listen(ctx, address)
	if err != nil {
		release()
		return p, err
	}
	return port{l, release}, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", addr)
}

// keep serves on a port while the upstream listens, and listens again after a restart.
func (d *endpoint) keep(ctx context.Context, p port) {
	defer p.release()
	l, addr := p.listener, p.listener.Addr().String()
	var server *http.Server
	down := func() {
		if server != nil {
			_ = server.Close() // resets calls in progress, as the end of a process does
			server = nil
		}
		if l != nil {
			_ = l.Close()
			l = nil
		}
	}
	defer down()
	for {
		open, wake, changed := d.watch()
		switch {
		case !open:
			down()
		case server == nil:
			if l == nil {
				var err error
				if l, err = listen(ctx, addr); err != nil {
					wake = 50 * time.Millisecond // try again: another process uses the port temporarily
					break
				}
			}
			server = &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
			go serve(server, l)
		}
		var timer <-chan time.Time
		if wake > 0 {
			timer = time.After(wake)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer:
		}
	}
}

// serve returns once the server or its listener is closed.
func serve(s *http.Server, l net.Listener) {
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		panic(fmt.Sprintf("simnet: %v", err))
	}
}

// watch returns whether the upstream listens, the time until the clock may change this (0: never), and a channel that is closed after
// another change.
func (d *endpoint) watch() (open bool, wake time.Duration, changed <-chan struct{}) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	now := d.net.clock()
	if at := d.wakes(now); !at.IsZero() {
		wake = max(at.Sub(now), time.Millisecond)
	}
	return d.listens(now), wake, d.net.changed
}
