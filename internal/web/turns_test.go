package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stuck is a scraper that reads nothing until it is cut off.
type stuck struct {
	*httptest.ResponseRecorder
	cut chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	<-s.cut
	return 0, os.ErrDeadlineExceeded
}

// cuttable is a stuck scraper whose connection has deadlines.
type cuttable struct {
	*stuck
	once *sync.Once
}

func (s cuttable) SetWriteDeadline(time.Time) error {
	s.once.Do(func() { close(s.cut) })
	return nil
}

// from returns a scrape over a connection of its own.
func from(ctx context.Context, n int) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	r.ProtoMajor = 2
	r.RemoteAddr = fmt.Sprintf("192.0.2.1:%d", n)
	return r
}

// serveTo answers a scrape whose reader disconnects.
func serveTo(h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() { _ = recover() }() // http.ErrAbortHandler
	h.ServeHTTP(w, r)
}

func TestReadingScraperIsServedAmongStalledOnes(t *testing.T) {
	for _, accept := range []string{"*/*", scrapers["protobuf as it is"].accept} {
		synctest.Test(t, func(t *testing.T) {
			h := siteOf(storeOf(1), prometheus.NewRegistry()).Handler()
			const crowd = 256
			var all []cuttable
			for n := range crowd {
				w := cuttable{&stuck{httptest.NewRecorder(), make(chan struct{})}, new(sync.Once)}
				all = append(all, w)
				r := from(t.Context(), n)
				r.Header.Set("Accept", accept)
				go serveTo(h, w, r)
			}
			synctest.Wait()
			began, w := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(w, from(t.Context(), crowd))
			if took := time.Since(began); w.Code != http.StatusOK || took > longestWait {
				t.Errorf("status %d after %v", w.Code, took)
			}
			time.Sleep(time.Minute) // then the server cuts off the others
			for _, w := range all {
				_ = w.SetWriteDeadline(time.Now())
			}
		})
	}
}

func TestConcurrentScrapesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := siteOf(storeOf(1), prometheus.NewRegistry()).Handler()
		enough := make(chan struct{})
		for n := range maxScrapes {
			go serveTo(h, &stuck{httptest.NewRecorder(), enough}, from(t.Context(), n))
		}
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		began, w := time.Now(), httptest.NewRecorder()
		h.ServeHTTP(w, from(gone, 998))
		if time.Since(began) != 0 {
			t.Errorf("disconnected scraper waits for %v", time.Since(began))
		}
		w = httptest.NewRecorder()
		h.ServeHTTP(w, from(t.Context(), 999))
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || took != longestWait {
			t.Errorf("scrape above the limit: status %d after %v, Retry-After %q", w.Code, took, w.Header().Get("Retry-After"))
		}
		w = httptest.NewRecorder()
		h.ServeHTTP(w, from(t.Context(), 0)) // like another stream of HTTP/2
		if w.Code != http.StatusServiceUnavailable || time.Since(began) != longestWait {
			t.Errorf("second scrape over one connection: status %d", w.Code)
		}
		own := from(context.WithValue(t.Context(), http.LocalAddrContextKey, &net.UnixAddr{Net: "pipe"}), 0)
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, own); w.Code != http.StatusOK {
			t.Errorf("scrape of the process' own rules: status %d", w.Code)
		}
		close(enough)
		synctest.Wait()
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, from(t.Context(), 1000)); w.Code != http.StatusOK {
			t.Errorf("after all ended: status %d", w.Code)
		}
	})
}
