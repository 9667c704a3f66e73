package alerting

import (
	"context"
	"net"
)

// listener is a net.Listener within the process. Through the listener, the scraper requests /metrics without a port,
// certificate or password.
type listener struct {
	dialed chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newListener() *listener {
	closed, cancel := context.WithCancel(context.Background())
	return &listener{make(chan net.Conn), closed, cancel}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.dialed <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
