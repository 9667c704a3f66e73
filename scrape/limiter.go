package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of retries and waits.
const (
	attempts     = 3                      // maximum number of requests of one call
	firstPause   = 200 * time.Millisecond // mean delay before the first retry; the delay before the second retry is three times as long
	defaultPause = 10 * time.Second       // pause after a 429 that does not state its length
)

// limiter limits the concurrency and the rate of requests. It rejects requests during a pause that the upstream requested.
type limiter struct {
	slots   chan struct{}
	bucket  *rate.Limiter
	maxWait time.Duration

	mu    sync.Mutex
	until map[string]time.Time // end of the pause that the upstream requested, by op or allOps
}

// allOps means every op of an upstream.
const allOps = "all"

type aheadKey struct{}

// Ahead exempts calls with ctx from the limits of concurrency and rate, and from pauses that the upstream or a load balancer
// requested. Use it only for the call that checks whether the upstream answers. If this call waited in the queue, its duration
// would depend on other calls. A slow upstream would then look as if it were down.
func Ahead(ctx context.Context) context.Context { return context.WithValue(ctx, aheadKey{}, true) }

// turn waits until a request may be sent. The caller must call done after the request.
func (p *limiter) turn(ctx context.Context, op string) (done func(), err error) {
	if ahead, _ := ctx.Value(aheadKey{}).(bool); ahead {
		p.bucket.Reserve() // so that later calls wait longer
		return func() {}, nil
	}
	if err := p.paused(op); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ended(ctx, fmt.Sprintf("not sent in time: other calls to this upstream were in progress (maximum %d at once)", cap(p.slots)))
		}
	}
	done = func() { <-p.slots }
	err = p.bucket.Wait(ctx)
	if err == nil {
		err = p.paused(op)
	} else if ctx.Err() != nil {
		err = ended(ctx, "not sent in time: too many calls per second to this upstream")
	} else {
		err = &Error{Outcome: Timeout, Err: errors.New("not sent, the wait would exceed the deadline: too many calls per second to this upstream")}
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// ended returns the error of a call whose ctx ended while the call waited in the queue. If the caller cancelled, the error is
// ctx.Err(). Otherwise it is a timeout with this text.
func ended(ctx context.Context, text string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &Error{Outcome: Timeout, Err: &reason{text, ctx.Err()}}
}

// paused returns an error during a pause that the upstream requested, and nil otherwise.
func (p *limiter) paused(op string) error {
	if left := p.wait(op); left > 0 {
		left = max(time.Second, left.Round(time.Second))
		return &Error{Outcome: RateLimited, Err: fmt.Errorf("pause requested by the upstream, %s left", left)}
	}
	return nil
}

// wait returns the remaining pause for this op.
func (p *limiter) wait(op string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.until[op]), time.Until(p.until[allOps]))
}

// obey stores the pause that an answer requests. It returns the paused op, or allOps, and the end of the pause. If the answer
// requests no pause, the end is zero. Status 429 pauses all ops, because it concerns the caller. Status 503 pauses only this
// op, because it concerns the method. After a request that changes something (once), status 429 also pauses only this op,
// because the upstream has a lower limit for such requests.
func (p *limiter) obey(op string, once bool, status int, h http.Header) (paused string, until time.Time) {
	var d time.Duration
	switch requested, ok := p.parseWait(h.Get("Retry-After")); {
	case ok && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
		d = requested
	case status == http.StatusTooManyRequests:
		if d, ok = p.parseWait(h.Get("Ratelimit-Reset")); !ok {
			d = defaultPause
		}
	}
	if d <= 0 {
		return "", time.Time{}
	}
	paused = op
	if status == http.StatusTooManyRequests && !once {
		paused = allOps
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if until = time.Now().Add(d); until.After(p.until[paused]) {
		p.until[paused] = until
	}
	return paused, p.until[paused]
}

// parseWait parses a number of seconds or an HTTP date. It returns at most maxWait.
func (p *limiter) parseWait(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false // as in nearly all answers
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, p.maxWait.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(0, time.Until(at)), p.maxWait), true
	}
	return 0, false
}

// pause returns the delay before the n-th retry. The delay is partly random, so that callers do not all retry at the same
// time. ok is false if a retry after err is useless.
func (p *limiter) pause(op string, n int, err error) (d time.Duration, ok bool) {
	d = firstPause
	for range n - 1 {
		d *= 3
	}
	d = d/2 + rand.N(d) //nolint:gosec // spreads calls, no secret depends on it
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return 0, false
	}
	switch OutcomeOf(err) {
	case Unreachable, Unavailable, RateLimited, LocalLimit:
		return p.wait(op) + d, true
	}
	return 0, false
}
