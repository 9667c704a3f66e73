package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// Limits of retries and waits.
const (
	attempts     = 3                      // maximum number of requests of one call
	firstPause   = 200 * time.Millisecond // mean delay before the first retry; the delay before the second retry is three times as long
	defaultPause = 10 * time.Second       // pause after a 429 that does not state its length
)

// limiter limits the concurrency and the rate of requests, and does not send calls that are held.
type limiter struct {
	slots   chan struct{}
	bucket  *rate.Limiter
	maxWait time.Duration
	holds
}

type unlimitedKey struct{}

// Unlimited exempts calls with ctx from the limits of concurrency and rate, and from pauses that the upstream or a load balancer
// requested. Use it only for the call that checks whether the upstream answers. If this call waited in the queue, its duration
// would depend on other calls. A slow upstream would then look as if it were down.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, true)
}

// acquire waits until a request may be sent. The caller must call release after the request.
func (l *limiter) acquire(ctx context.Context, op, path string) (release func(), err error) {
	if unlimited, _ := ctx.Value(unlimitedKey{}).(bool); unlimited {
		l.bucket.Reserve() // so that later calls wait longer
		return func() {}, nil
	}
	if err := l.check(op, path); err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
	default:
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, notSent(ctx, op, fmt.Sprintf("not sent in time: other calls to this upstream were in progress (maximum %d at once)", cap(l.slots)))
		}
	}
	release = func() { <-l.slots }
	err = l.bucket.Wait(ctx)
	if err == nil {
		err = l.check(op, path)
	} else if ctx.Err() != nil {
		err = notSent(ctx, op, "not sent in time: too many calls per second to this upstream")
	} else {
		err = &Error{op, Timeout, errors.New("not sent, the wait would exceed the deadline: too many calls per second to this upstream")}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// notSent returns the error of a call whose ctx ended while the call waited in the queue. If the caller cancelled, the error is
// ctx.Err(). Otherwise it is a timeout with this text.
func notSent(ctx context.Context, op, text string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &Error{op, Timeout, &reason{text, ctx.Err()}}
}

// obey stores the pause that an answer requests. It returns the paused op, or an empty op for all, and the end of the pause. If
// the answer requests no pause, the end is zero. Status 429 pauses all ops, because it concerns the caller. Status 503 pauses
// only this op, because it concerns the method. After a request that changes something (once), status 429 also pauses only this
// op, because the upstream has a lower limit for such requests.
func (l *limiter) obey(op string, once bool, status int, h http.Header) (paused string, until time.Time) {
	var d time.Duration
	switch requested, ok := l.parseWait(h.Get("Retry-After")); {
	case ok && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
		d = requested
	case status == http.StatusTooManyRequests:
		if d, ok = l.parseWait(h.Get("Ratelimit-Reset")); !ok {
			d = defaultPause
		}
	}
	if d <= 0 {
		return "", time.Time{}
	}
	if status != http.StatusTooManyRequests || once {
		paused = op
	}
	return paused, l.pause(paused, d)
}

// parseWait parses a number of seconds or an HTTP date. It returns at most maxWait.
func (l *limiter) parseWait(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false // as in nearly all answers
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, l.maxWait.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(0, time.Until(at)), l.maxWait), true
	}
	return 0, false
}

// retryDelay returns the delay before the n-th retry. The delay depends on the clock's nanoseconds, so that callers do not all
// retry at the same time. ok is false if a retry after err is useless.
func (l *limiter) retryDelay(op string, n int, err error) (d time.Duration, ok bool) {
	d = firstPause
	for range n - 1 {
		d *= 3
	}
	d = d/2 + time.Duration(time.Now().UnixNano())%d
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return 0, false
	}
	switch OutcomeOf(err) {
	case Unreachable, Unavailable, RateLimited, LocalLimit:
		return l.left(op) + d, true
	}
	return 0, false
}
