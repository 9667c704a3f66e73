package faults_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// gate is a proxy in front of a simulated node. A behavior may change its answers.
type gate struct {
	t       testing.TB
	node    http.Handler
	address string
	behave  atomic.Pointer[behaviour]

	mu     sync.Mutex
	server *http.Server // nil while it is down
}

// behaviour answers a request in place of the node. good returns the node's answer.
type behaviour func(w http.ResponseWriter, r *http.Request, good func() answer)

type answer struct {
	status int
	header http.Header
	body   []byte
}

// newGate starts a gate that passes answers on unchanged.
func newGate(t testing.TB, node http.Handler) *gate {
	g := &gate{t: t, node: node, address: testworld.Address(t)}
	g.open()
	t.Cleanup(g.shut)
	return g
}

// open listens on the previous port.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.server = &http.Server{Handler: g, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func(s *http.Server) { _ = s.Serve(listener) }(g.server)
}

// shut simulates the end of the process: connections are reset, new ones refused.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server != nil {
		_ = g.server.Close()
		g.server = nil
	}
}

func (g *gate) url() string { return "http://" + g.address }

func (g *gate) behaveAs(b behaviour) { g.behave.Store(&b) }
func (g *gate) recover()             { g.behave.Store(nil) }

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // only then the server notices that a client disconnects
	r.Body = io.NopCloser(bytes.NewReader(body))
	good := func() answer {
		plain := r.Clone(r.Context())
		plain.Header.Del("Accept-Encoding")
		recorded := httptest.NewRecorder()
		g.node.ServeHTTP(recorded, plain)
		return answer{recorded.Code, recorded.Header(), recorded.Body.Bytes()}
	}
	if b := g.behave.Load(); b != nil {
		(*b)(w, r, good)
		return
	}
	good().send(w)
}

func (a answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// changing sends the node's answer with another body.
func changing(change func([]byte) []byte) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, good func() answer) {
		a := good()
		a.body = change(a.body)
		a.header.Del("Content-Length")
		a.send(w)
	}
}

// inventing adds new names to each answer.
func inventing() behaviour {
	var answers atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, good func() answer) {
		request, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(request))
		changing(func(body []byte) []byte { return testworld.Invented(request, body, answers.Add(1)) })(w, r, good)
	}
}

func hung(_ http.ResponseWriter, r *http.Request, _ func() answer) { <-r.Context().Done() }

// byByte sends one byte of the answer every 50 ms.
func byByte(w http.ResponseWriter, r *http.Request, good func() answer) {
	a := good()
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	flush := http.NewResponseController(w)
	for _, b := range a.body {
		if _, err := w.Write([]byte{b}); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// breakingOff ends the connection half-way through the answer, with a reset or orderly.
func breakingOff(reset bool) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, good func() answer) {
		a := good()
		connection, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close()
		fmt.Fprintf(buffer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(a.body), a.body[:len(a.body)/2])
		_ = buffer.Flush()
		if tcp, ok := connection.(*net.TCPConn); ok && reset {
			time.Sleep(20 * time.Millisecond) // otherwise the first half would be lost
			_ = tcp.SetLinger(0)
		}
	}
}

// raw sends these bytes and ends the connection; endlessly repeats the last ones until the client disconnects.
func raw(first, endlessly string) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ func() answer) {
		connection, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close()
		_, err = buffer.WriteString(first)
		for repeated := strings.Repeat(endlessly, 1024); endlessly != "" && err == nil; {
			_, err = buffer.WriteString(repeated)
		}
		_ = buffer.Flush()
	}
}

// static gives the same answer to everything.
func static(status int, contentType, body string) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ func() answer) {
		answer{status, http.Header{"Content-Type": {contentType}}, []byte(body)}.send(w)
	}
}

// bomb is a small compressed answer that decompresses to a large one.
func bomb(megabytes int) behaviour {
	return packed(`{"jsonrpc":"2.0","id":1,"result":"`, strings.Repeat("x", 1<<10), ``, megabytes<<20)
}

// packed is an answer in gzip, with enough of middle to have this size after decompression.
func packed(begin, middle, end string, size int) behaviour {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = io.WriteString(z, begin)
	for n := len(begin) + len(end); n+len(middle) <= size; n += len(middle) {
		_, _ = io.WriteString(z, middle)
	}
	_, _ = io.WriteString(z, end)
	_ = z.Close()
	return func(w http.ResponseWriter, _ *http.Request, _ func() answer) {
		answer{200, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, packed.Bytes()}.send(w)
	}
}

// redirecting redirects to another address, or to the same one.
func redirecting(to string) behaviour {
	return func(w http.ResponseWriter, r *http.Request, _ func() answer) {
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// doubling duplicates every object of every list.
func doubling(body []byte) []byte {
	return rewrite(body, func(v any) any {
		if list, ok := v.([]any); ok && len(list) > 0 {
			if _, objects := list[0].(map[string]any); objects {
				return append(list, list...)
			}
		}
		return v
	})
}

// padding makes the body ten times as large, with an unknown field.
func padding(body []byte) []byte {
	start := bytes.IndexByte(body, '{') + 1
	return fmt.Appendf(nil, `%s"padding":%q,%s`, body[:start], strings.Repeat("x", 9*len(body)), body[start:])
}

// mistyping gives one field of the answer another type, a different one each time. It never replaces a list by null, which means an
// empty list.
func mistyping(seed uint64) behaviour {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return changing(func(body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		fields := 0
		rewrite(body, func(v any) any { fields++; return v })
		chosen, other := random.IntN(max(1, fields)), others[random.IntN(len(others))]
		return rewrite(body, func(v any) any {
			if chosen--; chosen == -1 && spoils(nil, v, other) {
				return other
			}
			return v
		})
	})
}
