package app

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of requests with an unverified password. exporter-toolkit compares one password at a time, which takes some hundredths of a
// second. It remembers results, but wrong passwords displace right ones, and it has no limit for waiting requests: without these
// limits, a scraper would wait behind thousands of guesses.
const (
	maxGuesses  = 4               // waiting requests of one client network
	longestWait = 5 * time.Second // for the comparison
	maxRight    = 1000            // remembered passwords: without basic_auth_users, every password is right
)

// passwords lets one request with an unverified password at a time through to exporter-toolkit. A request with a password that was
// right before does not wait.
type passwords struct {
	compare   http.Handler // exporter-toolkit's
	comparing chan struct{}

	mu      sync.Mutex
	right   map[[sha256.Size]byte]bool
	guesses map[netip.Prefix]int // waiting requests by client network
}

func newPasswords() *passwords {
	return &passwords{comparing: make(chan struct{}, 1), right: map[[sha256.Size]byte]bool{}, guesses: map[netip.Prefix]int{}}
}

type passedKey struct{}

// inside wraps h, the handler that exporter-toolkit calls for a right password.
func (p *passwords) inside(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if passed, ok := r.Context().Value(passedKey{}).(func()); ok {
			passed()
		}
		h.ServeHTTP(w, r)
	})
}

func (p *passwords) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Authorization")
	if header == "" {
		p.compare.ServeHTTP(w, r)
		return
	}
	sum := sha256.Sum256([]byte(header))
	done := func() {}
	if !p.isRight(sum) {
		var ok bool
		if done, ok = p.wait(r); !ok {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests with unverified passwords: retry later", http.StatusTooManyRequests)
			return
		}
	}
	defer done()
	right := false
	passed := func() {
		right = true
		p.remember(sum, true)
		done() // the answer may take long
	}
	p.compare.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passedKey{}, passed)))
	if !right {
		p.remember(sum, false)
	}
}

func (p *passwords) isRight(sum [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.right[sum]
}

func (p *passwords) remember(sum [sha256.Size]byte, right bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if right {
		if len(p.right) >= maxRight {
			clear(p.right)
		}
		p.right[sum] = true
	} else {
		delete(p.right, sum)
	}
}

// network returns the network of a client: its IPv4 address, or the first 48 bits of its IPv6 address. One customer of a provider may
// have a /56 or a /48.
func network(address string) netip.Prefix {
	client, _ := netip.ParseAddrPort(address)
	ip := client.Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 48
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}

// wait waits until no other unverified password is compared. ok is false if too many requests of this client wait, if the wait is too
// long, or if the client has disconnected. Call done after the comparison; further calls do nothing.
func (p *passwords) wait(r *http.Request) (done func(), ok bool) {
	from := network(r.RemoteAddr)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guesses[from] >= maxGuesses {
		return nil, false
	}
	p.guesses[from]++
	p.mu.Unlock()
	timeout := time.NewTimer(longestWait)
	defer timeout.Stop()
	select {
	case p.comparing <- struct{}{}:
		ok = r.Context().Err() == nil // the client may have disconnected at the same time
		done = sync.OnceFunc(func() { <-p.comparing })
	case <-r.Context().Done():
	case <-timeout.C:
	}
	p.mu.Lock()
	if p.guesses[from]--; p.guesses[from] == 0 {
		delete(p.guesses, from)
	}
	if !ok && done != nil {
		done()
	}
	return done, ok
}
