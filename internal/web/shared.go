package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// kept is how long a result serves further requests.
const kept = time.Second

// errBusy is the error for a request that would have to wait too long.
var errBusy = &apiError{http.StatusServiceUnavailable, "unavailable", errors.New("too many requests of this kind: retry in a few seconds")}

// shared makes one call for all requests with the same key. A call ends when every request that waits for it has left: singleflight.Group
// of golang.org/x/sync would continue it. Each call has a slot of its class of work. No lock is held during a call.
type shared[T any] struct {
	work work
	keep time.Duration
	// every, if set, is the shortest time between the starts of two calls, which work makes one at a time. Then a request gets no call that has begun before.
	every time.Duration

	mu    sync.Mutex
	calls map[string]*call[T] // in progress
	last  *call[T]            // ended; may be nil
}

func newShared[T any](limit work, keep time.Duration) *shared[T] {
	return &shared[T]{work: limit, keep: keep, calls: map[string]*call[T]{}}
}

// call is one call for several requests.
type call[T any] struct {
	key      string
	requests int           // that wait for it
	cancel   func()        // ends the call
	done     chan struct{} // closed at the end of the call, after which the fields below are set
	at       time.Time
	value    T
	err      error
	panicked string
}

// get returns the result of do. patience limits the time that do may wait for others, such as a Prometheus: its context ends then, but it may still
// return a result. If ctx ends, get returns at once.
func (s *shared[T]) get(ctx context.Context, key string, patience time.Duration, do func(context.Context) (T, error)) (T, error) {
	var none T
	c := s.join(key, patience, do)
	select {
	case <-c.done:
	case <-ctx.Done():
		s.leave(c)
		return none, ctx.Err()
	}
	if c.panicked != "" {
		panic(c.panicked) // in the request, where net/http recovers
	}
	return c.value, c.err
}

// join returns the call for a key. It begins one if there is none.
func (s *shared[T]) join(key string, patience time.Duration, do func(context.Context) (T, error)) *call[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last.key == key && time.Since(s.last.at) < s.keep {
		return s.last
	}
	c := s.calls[key]
	if c == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		abandoned, abandon := context.WithCancel(context.Background())
		c = &call[T]{key: key, done: make(chan struct{}), cancel: func() { cancel(); abandon() }}
		s.calls[key] = c
		go s.run(ctx, abandoned, patience+time.Second, c, do)
	}
	c.requests++
	return c
}

// leave ends the call if no other request waits for it.
func (s *shared[T]) leave(c *call[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.requests--; c.requests == 0 {
		c.cancel()
		s.forget(c)
	}
}

// forget removes the call from those in progress. A later one may have the same key.
func (s *shared[T]) forget(c *call[T]) {
	if s.calls[c.key] == c {
		delete(s.calls, c.key)
	}
}

// run waits for a slot, but no longer than wait, and makes the call. The time of ctx is that of the wait and the call together. The call is also
// made when this time is over, because it may have a part of the result. Once all requests have left, abandoned ends.
func (s *shared[T]) run(ctx, abandoned context.Context, wait time.Duration, c *call[T], do func(context.Context) (T, error)) {
	defer c.cancel()
	defer func() {
		if p := recover(); p != nil {
			c.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(c)
		c.at = time.Now()
		if c.err == nil && c.panicked == "" {
			s.last = c
		}
		close(c.done)
	}()
	waiting, stop := context.WithTimeout(abandoned, wait)
	end, ok := s.work.begin(waiting)
	stop()
	began := time.Now()
	switch {
	case !ok:
	case s.every == 0:
		defer end()
	default:
		defer func() { time.AfterFunc(s.every-time.Since(began), end) }()
		s.mu.Lock()
		s.forget(c)
		s.mu.Unlock()
	}
	switch {
	case abandoned.Err() != nil:
		c.err = abandoned.Err()
	case !ok:
		c.err = errBusy
	default:
		c.value, c.err = do(ctx)
	}
}

// writePage writes a page, with gzip if the client accepts it.
func writePage(w http.ResponseWriter, r *http.Request, page []byte) error {
	w.Header().Add("Vary", "Accept-Encoding")
	if !metric.AcceptsGzip(r) {
		_, err := w.Write(page) //nolint:gosec // gomponents and the JSON encoder escape what clients write
		return err
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	_, err := zip.Write(page)
	return errors.Join(err, zip.Close())
}
