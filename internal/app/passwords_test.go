package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// compared simulates exporter-toolkit: a comparison takes a tenth of a second, one at a time.
type compared struct {
	inside   http.Handler
	password string
	times    atomic.Int64
}

func (c *compared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.times.Add(1)
	time.Sleep(100 * time.Millisecond)
	if _, password, _ := r.BasicAuth(); password != c.password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c.inside.ServeHTTP(w, r)
}

// guarded is a page behind a password.
func guarded(page http.Handler) (*passwords, *compared) {
	p := newPasswords()
	c := &compared{inside: p.inside(page), password: "right"}
	p.compare = c
	return p, c
}

func send(ctx context.Context, h http.Handler, from, password string) (status int) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	r.RemoteAddr = net.JoinHostPort(from, "1")
	if password != "" {
		r.SetBasicAuth("me", password)
	}
	w := httptest.NewRecorder()
	w.Code = 0
	h.ServeHTTP(w, r)
	return w.Code
}

var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

func TestScraperPassesDuringAPasswordAttack(t *testing.T) {
	for name, attacker := range map[string]func(n int) string{
		"one address":            func(int) string { return "192.0.2.66" },
		"256 networks of a /56":  func(n int) string { return fmt.Sprintf("2001:db8:0:ff%02x::%x", n%256, n) },
		"IPv4 addresses in IPv6": func(int) string { return "::ffff:192.0.2.66" },
	} {
		t.Run(name, func(t *testing.T) { guessing(t, attacker) })
	}
}

// guessing sends 2,000 wrong passwords from the addresses of an attacker.
func guessing(t *testing.T, attacker func(n int) string) {
	synctest.Test(t, func(t *testing.T) {
		h, compared := guarded(page)
		if status := send(t.Context(), h, "192.0.2.1", "right"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		gone, leave := context.WithCancel(t.Context())
		var refused atomic.Int64
		for n := range 2000 {
			ctx := t.Context()
			if n%2 == 0 {
				ctx = gone
			}
			go func() {
				if send(ctx, h, attacker(n), fmt.Sprint("guess", n)) == http.StatusTooManyRequests {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if status := send(t.Context(), h, "192.0.2.1", "right"); status != http.StatusOK || time.Since(began) > 200*time.Millisecond {
			t.Errorf("known password: status %d after %v", status, time.Since(began))
		}
		if status := send(t.Context(), h, "192.0.2.2", "right"); status != http.StatusOK || time.Since(began) > time.Second {
			t.Errorf("first valid request of another address: status %d after %v", status, time.Since(began))
		}
		leave()
		time.Sleep(time.Minute)
		if n := compared.times.Load(); n > 2+maxGuesses+2 || refused.Load() < 1900 {
			t.Errorf("%d comparisons, %d rejected", n, refused.Load())
		}
		if status := send(t.Context(), h, attacker(0), "right"); status != http.StatusOK {
			t.Errorf("attacking address afterwards: status %d", status)
		}
	})
}

// Without basic_auth_users, exporter-toolkit lets each request pass.
func TestRememberedPasswordsAreBounded(t *testing.T) {
	p := newPasswords()
	p.compare = p.inside(page)
	for n := range 3 * maxRight {
		if status := send(t.Context(), p, "192.0.2.1", fmt.Sprint("any", n)); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if len(p.right) > maxRight {
		t.Errorf("%d passwords are remembered, want at most %d", len(p.right), maxRight)
	}
}

func TestDisconnectedRequestIsNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, compared := guarded(page)
		go send(t.Context(), h, "192.0.2.1", "first")
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		ended := make(chan time.Time)
		go func() {
			send(gone, h, "192.0.2.2", "second")
			ended <- time.Now()
		}()
		synctest.Wait()
		began := time.Now()
		leave()
		if left := <-ended; left.After(began) {
			t.Errorf("waited for %v", left.Sub(began))
		}
		time.Sleep(time.Minute)
		if n := compared.times.Load(); n != 1 {
			t.Errorf("%d comparisons", n)
		}
	})
}

// A client that reads a page slowly does not delay the comparison of other passwords. A stored password is deleted when it is no longer
// valid.
func TestSlotEndsWithTheComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		h, compared := guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-read }))
		go send(t.Context(), h, "192.0.2.1", "right")
		time.Sleep(time.Second)
		if status := send(t.Context(), h, "192.0.2.2", "wrong"); status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
		close(read)
		synctest.Wait()
		compared.password = "another"
		if status := send(t.Context(), h, "192.0.2.1", "right"); status != http.StatusUnauthorized || len(h.right) != 0 {
			t.Errorf("password that is no longer valid: status %d, %d remembered", status, len(h.right))
		}
		if status := send(t.Context(), h, "192.0.2.1", ""); status != http.StatusUnauthorized {
			t.Errorf("without a password: status %d", status)
		}
	})
}
