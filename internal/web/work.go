package web

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxWaiting is how many requests of a class wait for a slot. Further requests get status 503.
	maxWaiting  = 64
	workWaiting = 10 * time.Second
)

// work limits how many requests of a class are answered at once. The others wait, until their clients leave. The zero value is no limit.
type work struct{ slots, waiting chan struct{} }

func newWork(slots int) work {
	return work{make(chan struct{}, slots), make(chan struct{}, maxWaiting)}
}

// limits are the classes of all work for clients. Each class has slots of its own, so that no class delays another. The metrics and the health
// endpoints have no limit.
type limits struct {
	fixed    work // pages with a fixed address
	named    work // pages of nodes and L1s
	filtered work // pages with a filter
	explain  work
	answers  work // about nodes and L1s, for scripts
	waves    work // searches for groups
	verdicts clients
	queries  work // of clients: the answer of one may take 100 MB while it is written
	changes  work // reloads, silences and Alertmanager's API
}

func newLimits() limits {
	return limits{
		fixed: newWork(4), named: newWork(4), filtered: newWork(1), explain: newWork(1), answers: newWork(4), queries: newWork(1), changes: newWork(4),
		waves: newWork(4), verdicts: clients{16, new(sync.Mutex), map[string]int{}},
	}
}

// begin waits for a slot. It returns false if too many requests wait, if the wait is too long, or if the client leaves. Otherwise the
// caller calls end.
func (w work) begin(ctx context.Context) (end func(), ok bool) {
	if w.slots == nil {
		return func() {}, true
	}
	select {
	case w.slots <- struct{}{}:
		return func() { <-w.slots }, true
	default:
	}
	select {
	case w.waiting <- struct{}{}:
		defer func() { <-w.waiting }()
	default:
		return nil, false
	}
	late := time.NewTimer(workWaiting)
	defer late.Stop()
	select {
	case w.slots <- struct{}{}:
		return func() { <-w.slots }, true
	case <-ctx.Done():
	case <-late.C:
	}
	return nil, false
}

// limit answers a request when there is a slot.
func (w work) limit(h http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		end, ok := w.begin(r.Context())
		if !ok {
			writeBusy(rw, r)
			return
		}
		defer end()
		h(rw, r)
	}
}

// clients limits how many requests of each client are in progress. They wait for calls of nodes, which requests share, so they are cheap.
type clients struct {
	most int

	mu  *sync.Mutex
	now map[string]int // requests in progress, by address
}

// limitEach answers a request unless too many of its client are in progress.
func (c clients) limitEach(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		client, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			client = r.RemoteAddr
		}
		c.mu.Lock()
		many := c.now[client] >= c.most
		if !many {
			c.now[client]++
		}
		c.mu.Unlock()
		if many {
			writeNotKnown(w, r)
			return
		}
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.now[client]--; c.now[client] == 0 {
				delete(c.now, client)
			}
		}()
		h(w, r)
	}
}

// retryAfter is after how many seconds a client may ask again what is not known now.
const retryAfter = "3"

// writeBusy tells a client to retry.
func writeBusy(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/") {
		writeError(w, errBusy)
		return
	}
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, errBusy.Error(), errBusy.status)
}
