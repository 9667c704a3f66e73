package scrape_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// counting answers each request after d with the number of the request.
func counting(d time.Duration, asked *atomic.Int64) transport {
	return func(r *http.Request) (*http.Response, error) {
		n := asked.Add(1)
		return slow(d, fmt.Sprintf(`{"height":%d,"id":1,"result":{"height":%[1]d}}`, n))(r)
	}
}

func callHeight(ctx context.Context, u *scrape.Upstream, params any) (uint64, error) {
	h, err := rpc[height](ctx, u, "/ext/bc/P", "platform.getHeight", params)
	return uint64(h.Height), err
}

func TestAnswersAreSharedUntilMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		u := open(t, scrape.Options{URL: "http://node", Transport: counting(0, &asked)})
		for _, step := range []struct {
			sleep, maxAge time.Duration
			want          uint64
		}{
			{0, time.Minute, 1},
			{time.Minute, time.Minute, 1},
			{0, 30 * time.Second, 2},
			{time.Second, time.Minute, 2},
			{0, 0, 3},
			{0, time.Minute, 2},
			{time.Minute, time.Minute, 4},
		} {
			time.Sleep(step.sleep)
			if got, err := callHeight(scrape.MaxAge(t.Context(), step.maxAge), u, nil); got != step.want || err != nil {
				t.Errorf("%+v: got answer %d, %v", step, got, err)
			}
		}
		if got, _ := callHeight(t.Context(), u, nil); got != 5 {
			t.Errorf("without MaxAge: got answer %d", got)
		}
	})
}

func TestOnlyIdenticalCallsShareAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		u := open(t, scrape.Options{URL: "http://node", Transport: counting(0, &asked)})
		ctx := scrape.MaxAge(t.Context(), time.Hour)
		type other height
		for range 2 {
			_, _ = callHeight(ctx, u, nil)
			_, _ = callHeight(ctx, u, map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8})
			_, _ = callHeight(ctx, u, map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 9})
			_, _ = rpc[height](ctx, u, "/ext/bc/X", "platform.getHeight", nil)
			_, _ = rpc[height](ctx, u, "/ext/bc/P", "platform.getTimestamp", nil)
			_, _ = rpc[other](ctx, u, "/ext/bc/P", "platform.getHeight", nil)
			_ = callREST(u)
		}
		if asked.Load() != 6+2 {
			t.Errorf("%d requests for six calls sent twice and one call sent twice without sharing", asked.Load())
		}
	})
}

func TestConcurrentIdenticalCallsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		u := open(t, scrape.Options{URL: "http://node", Transport: counting(time.Second, &asked)})
		ctx := scrape.MaxAge(t.Context(), time.Nanosecond)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if got, err := callHeight(ctx, u, nil); got != 1 || err != nil {
					t.Errorf("got answer %d, %v", got, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestCancelledCallerLeavesTheSharedCallRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		u := open(t, scrape.Options{URL: "http://node", Transport: counting(2*time.Second, &asked)})
		impatient, cancel := context.WithCancel(scrape.MaxAge(t.Context(), time.Minute))
		hasty, done := context.WithTimeout(scrape.MaxAge(t.Context(), time.Minute), time.Second)
		defer done()
		time.AfterFunc(time.Second/2, cancel)
		var wg sync.WaitGroup
		for ctx, want := range map[context.Context]string{
			impatient:                               "platform.getHeight: timeout: cancelled by the caller",
			hasty:                                   "platform.getHeight: timeout: no answer before the caller's deadline",
			scrape.MaxAge(t.Context(), time.Minute): "",
		} {
			wg.Go(func() {
				if want != "" {
					if _, err := callHeight(ctx, u, nil); err == nil || err.Error() != want {
						t.Errorf("got %v", err)
					}
					return
				}
				time.Sleep(time.Second / 4) // so that this caller joins the call in progress
				if got, err := callHeight(ctx, u, nil); got != 1 || err != nil {
					t.Errorf("remaining caller: answer %d, %v", got, err)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 1 {
			t.Errorf("%d requests", asked.Load())
		}
	})
}

func TestSharedCallEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		u := open(t, scrape.Options{URL: "http://node", Timeout: time.Hour, Transport: transport(func(r *http.Request) (*http.Response, error) {
			if asked++; asked == 1 {
				<-r.Context().Done()
				if took := time.Since(began); took != time.Second {
					t.Errorf("the request ended after %s", took)
				}
				time.Sleep(time.Second) // time for the request to end
				return nil, r.Context().Err()
			}
			return respond(200, good), nil
		})})
		ctx, cancel := context.WithTimeout(scrape.MaxAge(t.Context(), time.Minute), time.Second)
		defer cancel()
		if _, err := callHeight(ctx, u, nil); err == nil {
			t.Error("answer without a request")
		}
		// The next caller starts a new call.
		if got, err := callHeight(scrape.MaxAge(t.Context(), time.Minute), u, nil); got != 14 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		time.Sleep(2 * time.Second)
		if _, err := callHeight(scrape.MaxAge(t.Context(), time.Minute), u, nil); asked != 2 || err != nil {
			t.Errorf("the cancelled call cancelled the next one: %d requests, %v", asked, err)
		}
	})
}

func TestForgetAnswersDeletesSharedAnswers(t *testing.T) {
	asked := 0
	u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
		asked++
		return respond(200, good), nil
	})})
	for i, want := range []int{1, 1, 2} {
		if i == 2 {
			u.ForgetAnswers()
		}
		if _, err := callHeight(scrape.MaxAge(t.Context(), time.Minute), u, nil); asked != want || err != nil {
			t.Errorf("call %d: %d requests, want %d: %v", i, asked, want, err)
		}
	}
}

func TestSharedCallIsNotRetriedAfterCallersDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, errors.New("connection refused")
		})})
		ctx, cancel := context.WithTimeout(scrape.MaxAge(t.Context(), time.Minute), 90*time.Millisecond)
		defer cancel()
		if _, err := callHeight(ctx, u, nil); err == nil || err.Error() != "platform.getHeight: unreachable: connection refused" || asked != 1 {
			t.Errorf("%d requests: %v", asked, err)
		}
	})
}

func TestErrorsAreNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			if asked++; asked == 1 {
				return respond(200, `{"error":{"code":-32000,"message":"not yet"}}`), nil
			}
			return respond(200, good), nil
		})})
		ctx := scrape.MaxAge(t.Context(), time.Hour)
		if _, err := callHeight(ctx, u, nil); scrape.OutcomeOf(err) != scrape.Rejected {
			t.Errorf("got %v", err)
		}
		if got, err := callHeight(ctx, u, nil); got != 14 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// It is a state of the node, and each collector of the chain asks. ForgetAnswers ends it, as when the node says that it has bootstrapped the chain.
func TestThatANodeDoesNotRunAChainIsSharedForHalfAMinute(t *testing.T) {
	for text, refusal := range map[string]struct {
		status  int
		outcome scrape.Outcome
	}{
		"API call rejected because chain is not done bootstrapping": {503, scrape.Bootstrapping},
		"404 page not found": {404, scrape.NotFound},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
				asked++
				return respond(refusal.status, text), nil
			})})
			for _, step := range []struct {
				sleep, maxAge time.Duration
				forget        bool
				want          int
			}{
				{maxAge: time.Hour, want: 1},
				{sleep: 10 * time.Second, maxAge: 15 * time.Second, want: 1},
				{sleep: 10 * time.Second, maxAge: 15 * time.Second, want: 2},
				{sleep: 30 * time.Second, maxAge: time.Hour, want: 2},
				{sleep: time.Second, maxAge: time.Hour, want: 3},
				{maxAge: 0, want: 4},
				{forget: true, maxAge: time.Hour, want: 5},
			} {
				time.Sleep(step.sleep)
				if step.forget {
					u.ForgetAnswers()
				}
				_, err := callHeight(scrape.MaxAge(t.Context(), step.maxAge), u, nil)
				if scrape.OutcomeOf(err) != refusal.outcome || asked != step.want {
					t.Errorf("%s: %+v: %d requests, %v", text, step, asked, err)
				}
			}
		})
	}
}

func TestSharedErrorReachesEveryWaitingCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return nil, io.ErrUnexpectedEOF
		})})
		ctx := scrape.MaxAge(t.Context(), time.Hour)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := callHeight(ctx, u, nil); !errors.Is(err, io.ErrUnexpectedEOF) || scrape.OutcomeOf(err) != scrape.Unreachable {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// A hung upstream counts as a timeout even if every caller's deadline comes before the call's own.
func TestSharedCallWithExpiredCallersIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		u, err := scrape.New(scrape.Options{
			Name: "alpha", URL: "http://alpha.test", Timeout: time.Minute, Metrics: scrape.NewMetrics(registry),
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = callHeight(scrape.MaxAge(ctx, time.Second), u, nil); scrape.OutcomeOf(err) != scrape.Timeout {
			t.Errorf("error for the caller: %v", err)
		}
		synctest.Wait()
		if u.Healthy() {
			t.Error("upstream is healthy")
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP avax_exporter_upstream_requests_total Requests to an upstream (a node or service) by outcome. Each retry counts. An answer that several collectors use counts once. The label op, the method, is empty for the outcome ok.
# TYPE avax_exporter_upstream_requests_total counter
avax_exporter_upstream_requests_total{op="platform.getHeight",outcome="timeout",upstream="alpha"} 1
`), "avax_exporter_upstream_requests_total"); err != nil {
			t.Error(err)
		}
	})
}
