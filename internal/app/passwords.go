package app

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of requests with an unverified password. They are needed because exporter-toolkit compares one password at a time, which
// intentionally takes some hundredths of a second. It has no limit for waiting requests, and even disconnected clients wait.
const (
	maxGuessing  = 4               // maximum number of waiting requests of one client address
	maxWaiting   = 64              // maximum number of waiting requests
	longestGuess = 5 * time.Second // maximum time that a request waits
	maxPasswords = 1000            // maximum number of stored valid passwords
)

// passwords limits the requests that wait for the comparison of their password. A request with a password that was valid before
// does not wait.
type passwords struct {
	compare http.Handler // exporter-toolkit's
	turn    chan struct{}

	mu       sync.Mutex
	right    map[[sha256.Size]byte]bool
	guessing map[string]int // number of waiting requests by client address
	waiting  int
}

func newPasswords() *passwords {
	return &passwords{turn: make(chan struct{}, 1), right: map[[sha256.Size]byte]bool{}, guessing: map[string]int{}}
}

// guess is a request whose password is being compared.
type guess struct{ passed func() }

type guessKey struct{}

// inside wraps h, the handler that exporter-toolkit calls for a valid password.
func (p *passwords) inside(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(guessKey{}).(*guess); ok {
			g.passed()
		}
		h.ServeHTTP(w, r)
	})
}

func (p *passwords) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if given == "" {
		p.compare.ServeHTTP(w, r)
		return
	}
	sum := sha256.Sum256([]byte(given))
	known := p.known(sum)
	leave := func() {}
	if !known {
		entered, ok := p.enter(r)
		if !ok {
			if r.Context().Err() == nil {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests with unverified passwords: retry later", http.StatusTooManyRequests)
			}
			return
		}
		leave = sync.OnceFunc(entered)
		defer leave()
	}
	passed := false
	g := &guess{passed: func() {
		passed = true
		leave() // free the slot now, because the answer may take long
	}}
	p.compare.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), guessKey{}, g)))
	if passed != known {
		p.remember(sum, passed)
	}
}

func (p *passwords) known(sum [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.right[sum]
}

func (p *passwords) remember(sum [sha256.Size]byte, right bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !right:
		delete(p.right, sum)
	case len(p.right) < maxPasswords:
		p.right[sum] = true
	}
}

// enter waits for a slot. ok is false if the wait is too long, too many requests wait, or the client disconnected.
func (p *passwords) enter(r *http.Request) (leave func(), ok bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if ip := net.ParseIP(host); ip != nil {
		host = hostOf(&net.TCPAddr{IP: ip})
	}
	p.mu.Lock()
	full := p.guessing[host] >= maxGuessing || p.waiting >= maxWaiting
	if !full {
		p.guessing[host]++
		p.waiting++
	}
	p.mu.Unlock()
	if full {
		return nil, false
	}
	done := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting--
		if p.guessing[host]--; p.guessing[host] == 0 {
			delete(p.guessing, host)
		}
	}
	select {
	case p.turn <- struct{}{}:
	case <-r.Context().Done():
		done()
		return nil, false
	case <-time.After(longestGuess):
		done()
		return nil, false
	}
	if r.Context().Err() != nil { // the client disconnected at the same time
		<-p.turn
		done()
		return nil, false
	}
	return func() { <-p.turn; done() }, true
}
