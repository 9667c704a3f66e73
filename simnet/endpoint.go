package simnet

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endpoint receives the requests to one upstream. It records the requests, applies faults, and passes the requests to the upstream.
type endpoint struct {
	net    *Network
	name   string
	faults []affliction

	// These functions are called with the lock held.
	listens func(now time.Time) bool
	wakes   func(now time.Time) time.Time // time at which the result of listens changes by itself; zero: never
	respond func(now time.Time, q *query) reply
	pattern func(path string) string // returns the documented pattern of a REST path
	refuse  func(status int, text string) reply
}

type affliction struct {
	fault Fault
	calls []string // affected calls; empty: all
}

// query is a request with its body.
type query struct {
	*http.Request
	body []byte
	rpc  []rpcRequest // JSON-RPC calls in the body, as far as they parse
}

// reply is an answer without faults.
type reply struct {
	status int
	header http.Header
	body   []byte
	cut    bool // whether the body ends after half of it
	hangs  bool // whether there is no answer
}

func newReply(status int, contentType string, body []byte) reply {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return reply{status: status, header: h, body: body}
}

// textReply returns the answer of net/http's Error.
func textReply(status int, text string) reply {
	r := newReply(status, "text/plain; charset=utf-8", []byte(text+"\n"))
	r.header.Set("X-Content-Type-Options", "nosniff")
	return r
}

// encode renders a body as the upstreams do, with a newline at the end.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(fmt.Sprintf("simnet: an answer does not encode: %v", err))
	}
	return b.Bytes()
}

// inject adds a fault. The caller holds the lock.
func (d *endpoint) inject(f Fault, calls []string) {
	d.faults = append(d.faults, affliction{f, slices.Clone(calls)})
}

// answer processes a request. The returned kind is hung, reset or zero; there is only a reply if it is zero. For a hung request,
// answer returns when the request's context ends.
func (d *endpoint) answer(r *http.Request) (reply, faultKind) {
	q := &query{Request: r}
	if r.Body != nil {
		q.body, _ = io.ReadAll(r.Body)
	}
	q.rpc = parseRequests(q.body)

	wait, fault := d.receive(q)
	if !sleep(r.Context(), wait) {
		return reply{}, hung
	}
	switch fault.kind {
	case hung:
		<-r.Context().Done()
		return reply{}, hung
	case reset:
		return reply{}, reset
	case rateLimited:
		rep := d.refuse(http.StatusTooManyRequests, "Too Many Requests")
		rep.header.Set("Retry-After", strconv.Itoa(int(fault.after.Seconds())))
		return rep, 0
	case unavailable:
		return newReply(http.StatusServiceUnavailable, "text/html", []byte("<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n"+
			"<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n</body>\r\n</html>\r\n")), 0
	case html:
		return newReply(http.StatusOK, "text/html; charset=utf-8", []byte("<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>\n")), 0
	}

	rep, listens := d.undisturbed(q)
	switch {
	case !listens: // the upstream was stopped in the meantime
		return reply{}, reset
	case rep.hangs:
		<-r.Context().Done()
		return reply{}, hung
	}
	switch fault.kind {
	case wrongHost:
		rep = replaceBody(rep, textReply(http.StatusForbidden, "invalid host specified"))
	case wrongShape:
		rep = replaceBody(rep, newReply(http.StatusOK, "application/json", distort(q)))
	case refused:
		switch {
		case len(q.rpc) == 0:
			rep = d.refuse(fault.code, fault.text)
		case strings.HasSuffix(q.URL.Path, "/rpc"):
			rep = replaceBody(rep, newReply(http.StatusOK, "application/json",
				encode(evmFail(q.rpc[0].ID, evmError{fault.code, fault.text}))))
		default:
			rep = replaceBody(rep, newReply(http.StatusOK, "application/json; charset=utf-8",
				encode(rpcFailure(q.rpc[0].ID, fault.code, fault.text, nil))))
		}
	case cutOff:
		rep.cut = true
	}
	return rep, 0
}

// undisturbed returns the answer without faults, if the upstream listens.
func (d *endpoint) undisturbed(q *query) (rep reply, listens bool) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	now := d.net.clock()
	if !d.listens(now) {
		return reply{}, false
	}
	d.net.advance(now)
	return d.respond(now, q), true
}

// receive records a request. It returns the delay and the fault that apply to it.
func (d *endpoint) receive(q *query) (wait time.Duration, fault Fault) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	now := d.net.clock()
	var methods []string
	for _, c := range q.rpc {
		methods = append(methods, c.Method)
		d.net.record(Call{At: now, Upstream: d.name, Path: q.URL.Path, Method: c.Method, Params: c.Params})
	}
	if len(q.rpc) == 0 {
		method := q.Method + " " + d.pattern(q.URL.Path)
		methods = append(methods, method)
		d.net.record(Call{
			At: now, Upstream: d.name, Path: q.URL.Path, Method: method,
			Params: json.RawMessage(strconv.Quote(q.URL.RawQuery)),
		})
	}
	for _, a := range d.faults {
		hit := len(a.calls) == 0 || slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(a.calls, m) })
		switch {
		case !hit:
		case a.fault.kind == slow:
			wait += a.fault.after
		case fault.kind == 0:
			fault = a.fault
		}
	}
	return wait, fault
}

// replaceBody keeps the headers that identify the upstream and takes the rest from another reply.
func replaceBody(old, with reply) reply {
	if id := old.header.Get("Node-Id"); id != "" {
		with.header["Node-Id"] = []string{id}
	}
	return with
}

// distort returns an answer of the wrong shape: a list, which no method returns.
func distort(q *query) []byte {
	odd := json.RawMessage(`["unexpected"]`)
	if len(q.rpc) == 0 {
		return append(odd, '\n')
	}
	return encode(struct {
		Version string          `json:"jsonrpc"`
		Result  json.RawMessage `json:"result"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", odd, q.rpc[0].ID})
}

// sleep waits and reports whether the context is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ServeHTTP answers as the upstream. For a connection fault it ends the connection. For a stopped upstream it ends the connection too,
// because a handler cannot refuse connections (Serve can).
func (d *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.open() {
		hangUp(w, nil)
		return
	}
	rep, fault := d.answer(r)
	switch {
	case fault == reset:
		hangUp(w, nil)
	case fault == hung:
		panic(http.ErrAbortHandler)
	case rep.cut:
		hangUp(w, &rep)
	default:
		rep = rep.compressed(r)
		for name, values := range rep.header {
			w.Header()[name] = values
		}
		w.WriteHeader(rep.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(rep.body) // an error means that the client is gone
		}
	}
}

// open reports whether the upstream accepts connections now.
func (d *endpoint) open() bool {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	return d.listens(d.net.clock())
}

// hangUp ends a connection, after half of a reply if there is one.
func hangUp(w http.ResponseWriter, rep *reply) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	if rep == nil {
		if c, ok := conn.(interface{ SetLinger(int) error }); ok {
			_ = c.SetLinger(0) // sends a reset
		}
		return
	}
	rep.header.Set("Content-Length", strconv.Itoa(len(rep.body)))
	fmt.Fprintf(buf, "HTTP/1.1 %d %s\r\n", rep.status, http.StatusText(rep.status))
	_ = rep.header.Write(buf)
	_, _ = buf.WriteString("\r\n")
	_, _ = buf.Write(rep.body[:len(rep.body)/2])
	_ = buf.Flush()
}

// mediaType returns the content type without parameters.
func mediaType(r *http.Request) string {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(t)
}

// worthCompressing is the minimum size of answers that a node compresses.
const worthCompressing = 1400

// compressed returns the reply for a client that accepts gzip.
func (r reply) compressed(q *http.Request) reply {
	if len(r.body) < worthCompressing || !strings.Contains(q.Header.Get("Accept-Encoding"), "gzip") {
		return r
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(r.body); err != nil {
		panic(fmt.Sprintf("simnet: %v", err)) // a buffer never fails
	}
	if err := z.Close(); err != nil {
		panic(fmt.Sprintf("simnet: %v", err))
	}
	r.header.Set("Content-Encoding", "gzip")
	r.header.Set("Vary", "Accept-Encoding")
	r.body = b.Bytes()
	return r
}
