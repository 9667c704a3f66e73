package scrape_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// good is an answer to both RPC and Get.
const good = `{"height":"14","jsonrpc":"2.0","result":{"height":"14"},"id":1}`

// hung returns only when the request's context ends, as net/http does for a hung upstream.
func hung(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// slow answers after d.
func slow(d time.Duration, body string) transport {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return respond(http.StatusOK, body), nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

func TestCallEndsAtTheEarlierDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(hung)})
		began := time.Now()
		err := callRPC(u)
		if want := "platform.getHeight: timeout: no answer within 10s"; err == nil || err.Error() != want || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err = rpc[height](ctx, u, "/ext/bc/P", "platform.getHeight", nil)
		if want := "platform.getHeight: timeout: no answer within 1.5s"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancelledCallLeavesHealthUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(hung)})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := rpc[height](ctx, u, "/", "op", nil)
		if want := "op: timeout: cancelled by the caller"; err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if !u.Healthy() {
			t.Error("the upstream is unhealthy after a cancelled call")
		}
	})
}

func TestTransientFailuresAreRetriedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []time.Duration
		began := time.Now()
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(r *http.Request) (*http.Response, error) {
			requests = append(requests, time.Since(began))
			switch len(requests) {
			case 1:
				return nil, errors.New("connection refused")
			case 2:
				return respond(502, ""), nil
			}
			return respond(200, good), nil
		})})
		must.Do(t, callRPC(u))
		if len(requests) != 3 {
			t.Fatalf("%d requests", len(requests))
		}
		first, second := requests[1]-requests[0], requests[2]-requests[1]
		if first < 100*time.Millisecond || first > 300*time.Millisecond || second < 300*time.Millisecond || second > 900*time.Millisecond {
			t.Errorf("pauses of %s and %s", first, second)
		}
	})
}

func TestCallFailsAfterThreeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			return nil, errors.New("connection refused")
		})})
		if err := callRPC(u); err == nil || err.Error() != "platform.getHeight: unreachable: connection refused" || requests != 3 {
			t.Errorf("%d requests: %v", requests, err)
		}
	})
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	for name, answer := range map[string]transport{
		"rejected":  answering(`{"error":{"code":-32000,"message":"no"}}`),
		"malformed": answering(`nonsense`),
		"timeout":   hung,
		"not_found": func(*http.Request) (*http.Response, error) { return respond(404, ""), nil },
		"forbidden": func(*http.Request) (*http.Response, error) { return respond(401, ""), nil },
		"unreachable": func(*http.Request) (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("signed by nobody")}
		},
		"bootstrapping": func(*http.Request) (*http.Response, error) { return respond(503, "not done bootstrapping"), nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(r *http.Request) (*http.Response, error) {
				requests++
				return answer(r)
			})})
			if err := callRPC(u); string(scrape.OutcomeOf(err)) != name || requests != 1 {
				t.Errorf("%s: %d requests: %v", name, requests, err)
			}
		})
	}
}

func TestNoRetryAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://node", Timeout: 90 * time.Millisecond, Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			return nil, errors.New("connection refused")
		})})
		began := time.Now()
		if err := callRPC(u); requests != 1 || time.Since(began) != 0 {
			t.Errorf("%d requests in %s: %v", requests, time.Since(began), err)
		}
	})
}

func TestCallThatChangesSomethingIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			return nil, errors.New("connection reset")
		})})
		ctx := scrape.MaxAge(t.Context(), time.Hour)
		for range 2 {
			if _, err := rpcOnce[struct{}](ctx, u, "/ext/admin", "admin.alias", nil); scrape.OutcomeOf(err) != scrape.Unreachable {
				t.Errorf("got %v", err)
			}
		}
		if requests != 2 {
			t.Errorf("two calls became %d requests", requests)
		}
		var sent atomic.Int64
		u = open(t, scrape.Options{URL: "http://node", Transport: counting(time.Second, &sent)})
		for range 2 {
			go func() { _, _ = rpcOnce[height](ctx, u, "/ext/admin", "admin.alias", nil) }()
		}
		time.Sleep(2 * time.Second)
		if sent.Load() != 2 {
			t.Errorf("two identical calls at once became %d requests", sent.Load())
		}
	})
}

// limited rejects the first request with this status and header. It answers all further requests.
func limited(status int, name, value string, requests *int) transport {
	return func(*http.Request) (*http.Response, error) {
		if *requests++; *requests > 1 {
			return respond(200, good), nil
		}
		r := respond(status, "")
		r.Header.Set(name, value)
		return r, nil
	}
}

func TestRetryAfterPausesCalls(t *testing.T) {
	for _, c := range []struct {
		status      int
		name, value string
		wait        time.Duration
	}{
		{429, "Retry-After", "30", 30 * time.Second},
		{429, "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT", time.Minute}, // the synthetic clock starts in 2000
		{503, "Retry-After", "30", 30 * time.Second},
		{429, "ratelimit-reset", "45", 45 * time.Second},
		{429, "X-Nothing", "said", 10 * time.Second},
		{429, "Retry-After", "soon", 10 * time.Second},
		{429, "Retry-After", "3600", time.Minute},
		{503, "Retry-After", "1e300", time.Minute},
		{429, "Retry-After", "Sat, 01 Jan 2005 00:00:00 GMT", time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			u := open(t, scrape.Options{URL: "http://data", Transport: limited(c.status, c.name, c.value, &requests)})
			_ = callREST(u)
			time.Sleep(c.wait - 10*time.Second + time.Nanosecond)
			began := time.Now()
			err := callREST(u)
			if want := "GET /v1/height/{chain}: rate_limited: pause requested by the upstream, 10s left"; err == nil || err.Error() != want {
				t.Errorf("%s %s: got %v", c.name, c.value, err)
			}
			if requests != 1 || time.Since(began) != 0 {
				t.Errorf("%s %s: %d requests during the pause", c.name, c.value, requests)
			}
			time.Sleep(10 * time.Second)
			if err := callREST(u); err != nil {
				t.Errorf("%s %s: after the pause: %v", c.name, c.value, err)
			}
		})
	}
}

// A 503 pauses only its op, and so does a 429 for a request that changes something. Any other 429 pauses all ops.
func TestPauseAppliesToTheOpOrToAllOps(t *testing.T) {
	for name, c := range map[string]struct {
		status    int
		once, all bool
	}{
		"429":                     {429, false, true},
		"503":                     {503, false, false},
		"429 to what is a change": {429, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := map[string]int{}
			u := open(t, scrape.Options{URL: "http://data", Transport: transport(func(r *http.Request) (*http.Response, error) {
				requests[r.URL.Path]++
				if r.URL.Path == "/a" {
					refusal := respond(c.status, "")
					refusal.Header.Set("Retry-After", "30")
					return refusal, nil
				}
				return respond(200, `{}`), nil
			})})
			for range 2 {
				if c.once {
					_, _ = post[*struct{}](t.Context(), u, "POST /a", "/a", nil)
				} else {
					_, _ = get[*struct{}](t.Context(), u, "GET /a", "/a", nil)
				}
				_, _ = get[*struct{}](t.Context(), u, "GET /b", "/b", nil)
			}
			if want := map[bool]int{true: 0, false: 2}[c.all]; requests["/a"] != 1 || requests["/b"] != want {
				t.Errorf("%s: requests %v, want %d of /b", name, requests, want)
			}
		})
	}
}

func TestQueuedCallsEndWhenThePauseBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://data", Concurrency: 1, Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			time.Sleep(time.Second)
			r := respond(429, "")
			r.Header.Set("Retry-After", "30")
			return r, nil
		})})
		for range 3 {
			go func() { _ = callREST(u) }()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if requests != 1 {
			t.Errorf("%d requests", requests)
		}
	})
}

func TestLongestPauseApplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://data", Transport: transport(func(r *http.Request) (*http.Response, error) {
			late := r.Header.Get("Content-Type") != "" // JSON-RPC
			refusal := respond(429, "")
			refusal.Header.Set("Retry-After", "30")
			if late {
				time.Sleep(time.Second)
				refusal.Header.Set("Retry-After", "15")
			}
			return refusal, nil
		})})
		go func() { _ = callOnce(u) }()
		synctest.Wait()
		_ = callREST(u)
		time.Sleep(2 * time.Second)
		if err := callREST(u); err == nil || !strings.Contains(err.Error(), "pause requested by the upstream, 28s left") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRetryAfterOfASuccessIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://data", Transport: transport(func(*http.Request) (*http.Response, error) {
			r := respond(200, good)
			r.Header.Set("Retry-After", "30")
			r.Header.Set("Ratelimit-Reset", "30")
			return r, nil
		})})
		if err := errors.Join(callREST(u), callREST(u)); err != nil {
			t.Error(err)
		}
	})
}

func TestCallWaitsForAShortPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://data", Transport: limited(429, "Retry-After", "2", &requests)})
		began := time.Now()
		if err := callREST(u); err != nil || requests != 2 {
			t.Errorf("%d requests: %v", requests, err)
		}
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("waited %s", took)
		}
	})
}

func TestConcurrentCallsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, peak := 0, 0
		u := open(t, scrape.Options{URL: "http://node", Concurrency: 3, Transport: transport(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			now++
			peak = max(peak, now)
			mu.Unlock()
			defer func() {
				mu.Lock()
				now--
				mu.Unlock()
			}()
			return slow(time.Second, good)(r)
		})})
		began := time.Now()
		var wg sync.WaitGroup
		for range 9 {
			wg.Go(func() {
				if err := callRPC(u); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if peak != 3 || time.Since(began) != 3*time.Second {
			t.Errorf("%d concurrent calls, %s for nine calls of one second", peak, time.Since(began))
		}
	})
}

func TestQueuedCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Concurrency: 1, Transport: slow(5*time.Second, good)})
		go func() { _ = callRPC(u) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := rpc[height](ctx, u, "/", "op", nil)
		if want := "op: timeout: not sent in time: other calls to this upstream were in progress (maximum 1 at once)"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := rpc[height](ctx, u, "/", "op", nil); err == nil || err.Error() != "op: timeout: cancelled by the caller" {
			t.Errorf("got %v", err)
		}
		if err := callRPC(u); err != nil {
			t.Errorf("slot not released: %v", err)
		}
	})
}

func TestRateLimitRespectsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Concurrency: 1, Rate: 2, Burst: 4, Transport: answering(good)})
		began := time.Now()
		for range 10 {
			must.Do(t, callRPC(u))
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("ten calls took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := rpc[height](ctx, u, "/", "op", nil)
		if want := "op: timeout: not sent, the wait would exceed the deadline: too many calls per second to this upstream"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := rpc[height](ctx, u, "/", "op", nil); err == nil || err.Error() != "op: timeout: cancelled by the caller" {
			t.Errorf("got %v", err)
		}
		if err := callRPC(u); err != nil {
			t.Errorf("slot not released: %v", err)
		}
	})
}

func TestPanicWhileDecodingReleasesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Concurrency: 1, Transport: answering(`{"id":1,"result":"x"}`)})
		for range 2 {
			func() {
				defer func() {
					if r := recover(); r != "boom" {
						t.Errorf("recovered %v", r)
					}
				}()
				_, _ = rpc[exploding](t.Context(), u, "/", "op", nil)
			}()
		}
		_, err := rpc[exploding](scrape.MaxAge(t.Context(), time.Second), u, "/", "op", nil)
		if want := "op: malformed: panic: boom"; err == nil || err.Error() != want {
			t.Errorf("shared: got %v", err)
		}
	})
}

type exploding struct{}

func (*exploding) UnmarshalText([]byte) error { panic("boom") }

func TestRefusedOperationNamesAreOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("dial tcp:\n\tno\x00 such host \u202egnirts")
		})})
		if err := callOnce(u); err == nil || strings.ContainsAny(err.Error(), "\n\t\x00\u202e") {
			t.Errorf("got %q", err)
		}
	})
}

// In the queue, the duration of the call would depend on other calls, and a slow node would look as if it were down.
func TestUnlimitedCallBypassesTheConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Concurrency: 1, Rate: 1, Burst: 1, Transport: slow(3*time.Second, good)})
		for range 5 {
			go func() { _ = callRPC(u) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := rpc[height](scrape.Unlimited(t.Context()), u, "/", "op", nil); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		time.Sleep(time.Minute)
		if err := callRPC(u); err != nil {
			t.Errorf("slot not released: %v", err)
		}
	})
}

// However often somebody asks, the calls of the collectors do not wait for the questions, nor the questions for them; and a question without an answer in its
// short time says nothing about the node.
func TestUrgentCallsDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := 0
		u := open(t, scrape.Options{
			URL: "http://node", Concurrency: 2, Transport: slow(3*time.Second, good), Changed: func() { changed++ },
		})
		shared := scrape.MaxAge(t.Context(), time.Millisecond)
		ask := func(path string, within time.Duration) error {
			ctx, stop := context.WithTimeout(scrape.Urgent(shared), within)
			defer stop()
			_, err := rpc[height](ctx, u, path, "asked", nil)
			return err
		}
		for i := range 20 {
			go func() { _ = ask(fmt.Sprint("/", i), 2*time.Second) }()
			synctest.Wait() // the first two are sent, the others wait
		}
		began := time.Now()
		var calls sync.WaitGroup
		for _, path := range []string{"/other", "/19"} { // the second is the call of a question that waits
			calls.Go(func() {
				if _, err := rpc[height](shared, u, path, "asked", nil); err != nil || time.Since(began) != 3*time.Second {
					t.Errorf("with questions, the call of %s ended after %s: %v", path, time.Since(began), err)
				}
			})
		}
		calls.Wait()
		if changed != 0 || !u.Healthy() {
			t.Error("a question that had no time for its answer counts as a failure of the node")
		}
		for range 20 {
			go func() { _ = callRPC(u) }()
		}
		synctest.Wait()
		if began = time.Now(); ask("/", time.Minute) != nil || time.Since(began) != 3*time.Second {
			t.Errorf("with other calls, a question ended after %s", time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}

func TestUnlimitedCallBypassesAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		u := open(t, scrape.Options{URL: "http://node", Transport: limited(503, "Retry-After", "3600", &requests)})
		if err := callRPC(u); err == nil {
			t.Fatal("call sent during the pause")
		}
		if _, err := rpc[height](scrape.Unlimited(t.Context()), u, "/", "op", nil); err != nil || requests != 2 {
			t.Errorf("%d requests: %v", requests, err)
		}
	})
}
