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
	listeners := make(map[*endpoint]net.Listener)
	for _, d := range n.endpoints() {
		l, err := listen(ctx, "127.0.0.1:0")
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, fmt.Errorf("simnet: %s: %w", d.name, err)
		}
		urls[d.name] = "http://" + l.Addr().String()
		listeners[d] = l
	}
	for d, l := range listeners {
		go d.keep(ctx, l)
	}
	return urls, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", addr)
}

// keep serves on a listener while the upstream listens, and reopens its port after a restart.
func (d *endpoint) keep(ctx context.Context, l net.Listener) {
	addr := l.Addr().String()
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
