package simnet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Transport connects to the network in memory. It uses no sockets and goroutines, so it also works with a synthetic clock. The host
// of a node is its name with ".sim". The other hosts are "metrics.sim", "data.sim" and "observer.sim". Failures are as with TCP: a
// stopped upstream refuses the connection, and a request to a hung upstream waits until its context ends.
func (n *Network) Transport() http.RoundTripper { return transport{n} }

type transport struct{ net *Network }

// RoundTrip answers a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	d := t.net.endpointOf(r.URL.Hostname())
	if d == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
	}
	if !d.open() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	in := r.Clone(r.Context())
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	rep, fault := d.answer(in)
	switch fault {
	case hung:
		return nil, context.Cause(r.Context())
	case reset:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	length := int64(len(rep.body))
	var body io.Reader
	switch {
	case r.Method == http.MethodHead:
		body = http.NoBody
	case rep.cut:
		body = io.MultiReader(bytes.NewReader(rep.body[:length/2]), failingReader{io.ErrUnexpectedEOF})
	default:
		rep = rep.compressed(r)
		length, body = int64(len(rep.body)), bytes.NewReader(rep.body)
	}
	rep.header.Set("Date", t.net.opts.Now().UTC().Format(http.TimeFormat))
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", rep.status, http.StatusText(rep.status)),
		StatusCode:    rep.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        rep.header,
		Body:          io.NopCloser(body),
		ContentLength: length,
		Request:       r,
	}, nil
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// endpointOf returns the upstream of a host name of Transport, or nil.
func (n *Network) endpointOf(host string) *endpoint {
	name, ok := strings.CutSuffix(host, ".sim")
	if !ok {
		return nil
	}
	for _, d := range n.endpoints() {
		if d.name == name {
			return d
		}
	}
	return nil
}

// endpoints returns all upstreams.
func (n *Network) endpoints() []*endpoint {
	endpoints := []*endpoint{&n.metrics.endpoint, &n.data.endpoint, &n.observer.endpoint}
	for _, node := range n.nodes {
		endpoints = append(endpoints, &node.endpoint)
	}
	return endpoints
}
