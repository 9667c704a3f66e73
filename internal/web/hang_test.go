package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// hanging is a Prometheus that does not answer the paths that contain a text. It answers others without a result.
type hanging struct {
	path  string
	asked atomic.Int64 // requests without an answer
	now   atomic.Int64 // requests in progress
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, h.path) {
		h.asked.Add(1)
		h.now.Add(1)
		defer h.now.Add(-1)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body := `{"status":"success","data":{"groups":[],"resultType":"vector","result":[]}}`
	if strings.Contains(r.URL.Path, "range") {
		body = strings.Replace(body, "vector", "matrix", 1)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// hangingSite is a site with 50 nodes whose Prometheus does not answer the paths that contain a text.
func hangingSite(t *testing.T, path string) (*Site, *hanging) {
	t.Helper()
	s, h := newSite(), &hanging{path: path}
	var lines strings.Builder
	for i := range 50 {
		fmt.Fprintf(&lines, "avax_node_up{node=\"n%d\"} 1\navax_l1_weight{chain=\"one%d\"} 100\n", i, i)
	}
	put(t, s, metric.Key{Collector: "test", Target: metric.Target{}}, lines.String())
	s.Inbox = &Inbox{}
	source := must.Get(alerting.NewPrometheus(alerting.PrometheusConfig{URL: "http://prometheus:9090", Timeout: 10 * time.Second}, h))(t)
	s.Source = source
	return s, h
}

// addresses returns an address of every endpoint for GET, with this number in names.
func (s *Site) addresses(i int) (all []string) {
	name := strings.NewReplacer("{$}", "", "{name}", fmt.Sprintf("n%d", i), "{chain}", fmt.Sprintf("one%d", i), "NODE", fmt.Sprintf("n%d", i),
		"NAME", fmt.Sprintf("n%d", i), "CHAIN", fmt.Sprintf("one%d", i))
	for _, e := range s.endpoints() {
		if e.method == http.MethodGet && e.path != "/api/v2/" && e.path != "/-/reload" {
			all = append(all, name.Replace(e.path))
			if strings.Contains(e.example, "?") {
				all = append(all, name.Replace(e.example))
			}
		}
	}
	return append(all, fmt.Sprintf("/?filter=n%d", i), fmt.Sprintf("/alerts?silence=n%d", i), fmt.Sprintf("/explain?name=avax_node_up&target=n%d", i))
}

// A page shows what needs no Prometheus when it is needed most.
func TestHangingPrometheusDelaysNoPage(t *testing.T) {
	for _, path := range []string{"rules", "query"} {
		t.Run(path, func(t *testing.T) {
			other, _ := hangingSite(t, path) // listing the addresses of a site begins its calls again
			var addresses [][]string
			for i := range 50 {
				addresses = append(addresses, other.addresses(i))
			}
			for at, address := range addresses[0] {
				synctest.Test(t, func(t *testing.T) {
					s, _ := hangingSite(t, path)
					handler, began := s.Handler(), time.Now()
					var all sync.WaitGroup
					for i := range 50 {
						all.Go(func() {
							address := addresses[i][at]
							answer := answerOf(t, handler, address)
							if took := time.Since(began); took > 3*time.Second || answer.Code == http.StatusInternalServerError {
								t.Errorf("%s: status %d after %s", address, answer.Code, took)
							}
							if !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") || strings.Contains(address, "runbook") || strings.Contains(address, "inbox") {
								return
							}
							want := []string{"alerts are unknown: Prometheus has not answered for 2 s", "!No alert is active", "!no active alerts", "!No alert fired"}
							if path == "query" {
								want = []string{"The history cannot be read", "Prometheus has not answered for 2 s", "!No alert fired"}
							}
							demand(t, answer.Body.String(), want...)
						})
					}
					all.Wait()
					if t.Failed() {
						t.Fatalf("one of 50 requests like %s at once failed", address)
					}
				})
			}
		})
	}
}

// A browser that reloads leaves requests behind.
func TestCancelledRequestsHoldNoPlace(t *testing.T) {
	for _, path := range []string{"/", "/alerts", "/node/n%d", "/?filter=n%d", "/explain?name=avax_node_up&target=n%d", "/api/v1/rules"} {
		synctest.Test(t, func(t *testing.T) {
			s, prometheus := hangingSite(t, "/")
			handler := s.Handler()
			ctx, cancel := context.WithCancel(t.Context())
			for i := range maxWaiting {
				address := path
				if strings.Contains(path, "%d") {
					address = fmt.Sprintf(path, i)
				}
				go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
			}
			synctest.Wait()
			if prometheus.now.Load() == 0 {
				t.Fatalf("%s: nothing was asked", path)
			}
			cancel()
			synctest.Wait()
			if n := prometheus.now.Load(); n != 0 {
				t.Errorf("%s: %d requests to Prometheus go on after every client has left", path, n)
			}
			began := time.Now()
			if answer := answerOf(t, handler, strings.Replace(path, "%d", "1", 1)); time.Since(began) > 3*time.Second || answer.Body.Len() == 0 {
				t.Errorf("%s: status %d after %s", path, answer.Code, time.Since(began))
			}
		})
	}
}

func TestRequestsForOnePageShareItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, prometheus := hangingSite(t, "rules")
		handler := s.Handler()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { answerOf(t, handler, "/alerts") })
			all.Go(func() { answerOf(t, handler, "/api/v1/alerts") })
		}
		all.Wait()
		if n := prometheus.asked.Load(); n != 1 {
			t.Errorf("%d requests to Prometheus for 100 requests of a page and an answer, want 1", n)
		}
	})
}

// What strangers write selects no page of its own, is read by one call at a time, and delays no page without it.
func TestRandomFiltersDelayNoOtherPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, prometheus := hangingSite(t, "query")
		handler := s.Handler()
		var busy atomic.Int64
		var all sync.WaitGroup
		for i := range 2000 {
			all.Go(func() {
				answer := answerOf(t, handler, fmt.Sprintf("/?filter=random%d", i))
				if answer.Code == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") != "" {
					busy.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := prometheus.now.Load(); n != 1 {
			t.Errorf("%d pages with a filter query at once, want 1", n)
		}
		if n := busy.Load(); n != 2000-maxWaiting-1 {
			t.Errorf("%d of 2000 requests got status 503, want all but %d", n, maxWaiting+1)
		}
		for _, address := range []string{"/", "/alerts", "/node/n1", "/l1/one1"} {
			if answer := answerOf(t, handler, address); answer.Code != http.StatusOK {
				t.Errorf("%s: %d", address, answer.Code)
			}
		}
		all.Wait()
		if got, want := s.known(url.Values{"filter": {"a"}, "utm": {"b"}}).Encode(), "filter=a"; got != want {
			t.Errorf("parameters that select a page: %s, want %s", got, want)
		}
	})
}

// Names in an address are a stranger's text.
func TestLongAddressesAreRejected(t *testing.T) {
	s, _ := hangingSite(t, "rules")
	long := strings.Repeat("x", 60_000)
	for _, address := range s.addresses(0) {
		path, _, _ := strings.Cut(address, "?")
		if path == "/metrics" || strings.HasPrefix(path, "/api/v1/query") { // reads no parameter; has its own limit
			continue
		}
		for _, parameter := range []string{"name", "target", "node", "validation", "filter", "type", "days", "silence"} {
			if answer := ask(t, s, http.MethodGet, path+"?"+parameter+"="+long); answer.StatusCode != http.StatusRequestURITooLong {
				t.Errorf("%s with a parameter %s of %d letters: %s", path, parameter, len(long), answer.Status)
			}
		}
	}
}

// A panic in a page ends only its requests, as net/http does for a handler.
func TestPanicReachesTheRequestsOfItsPage(t *testing.T) {
	among := newShared[int](work{}, kept)
	for range 2 {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "no such row") {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = among.get(t.Context(), "", time.Second, func(context.Context) (int, error) { panic("no such row") })
		}()
	}
	if got, err := among.get(t.Context(), "", time.Second, func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("after a panic: %d, %v", got, err)
	}
}

// Results serve further requests for a second, errors do not.
func TestResultsAreSharedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		among, calls := newShared[int](work{}, kept), 0
		var fails error
		get := func() int {
			got, _ := among.get(t.Context(), "", time.Second, func(context.Context) (int, error) { calls++; return calls, fails })
			return got
		}
		got := []int{get(), get()}
		time.Sleep(kept)
		fails = errBusy
		got = append(got, get(), get())
		if want := []int{1, 1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("results %v, want %v", got, want)
		}
	})
}
