package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
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

// limiter limits the concurrency and the rate of requests, and sends no call that must back off.
type limiter struct {
	slots   chan struct{}
	urgent  chan struct{} // of the calls of Urgent
	bucket  *rate.Limiter
	maxWait time.Duration
	backoffs
}

type unlimitedKey struct{}

// Unlimited exempts calls with ctx from the limits of concurrency and rate, and from pauses that the upstream or a load balancer
// requested. Use it only for the call that checks whether the upstream answers. If this call waited in the queue, its duration
// would depend on other calls. A slow upstream would then look as if it were down.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, true)
}

type urgentKey struct{}

// Urgent is for calls whose caller has little patience. They have a limit of concurrency of their own, as high as that of all others, and share answers
// only among themselves. So neither do they wait for the others, nor do the others wait for them, however often somebody asks.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgentKey{}, true)
}

func isUrgent(ctx context.Context) bool {
	urgent, _ := ctx.Value(urgentKey{}).(bool)
	return urgent
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
	slots := l.slots
	if isUrgent(ctx) {
		slots = l.urgent
	}
	select {
	case slots <- struct{}{}:
	default:
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, notSent(ctx, op, fmt.Sprintf("not sent in time: other calls to this upstream were in progress (maximum %d at once)", cap(slots)))
		}
	}
	release = func() { <-slots }
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

// obey stores the pause that a refusal requests. It returns the paused op, or an empty op for all, and the end of the pause. If
// the answer requests no pause, the end is zero. Too many requests pause all ops, because they concern the caller. Status 503 pauses
// only this op, because it concerns the method. After a request that changes something (once), too many requests also pause only this
// op, because the upstream has a lower limit for such requests.
func (l *limiter) obey(op string, once bool, r *http.Response, err error) (paused string, until time.Time) {
	var d time.Duration
	limited := r.StatusCode == http.StatusTooManyRequests || OutcomeOf(err) == RateLimited
	switch requested, ok := l.parseWait(r.Header.Get("Retry-After")); {
	case ok && (limited || r.StatusCode == http.StatusServiceUnavailable):
		d = requested
	case limited:
		d = l.defaultPause(r, err)
	}
	if d <= 0 {
		return "", time.Time{}
	}
	if !limited || once {
		paused = op
	}
	return paused, l.pause(paused, d)
}

// defaultPause returns the pause after too many requests without Retry-After: as another header or the text of the answer requests it, else
// maxWait if a quota is spent, and defaultPause otherwise.
func (l *limiter) defaultPause(r *http.Response, err error) time.Duration {
	if d, ok := l.parseWait(r.Header.Get("Ratelimit-Reset")); ok {
		return d
	}
	words, code := "", 0
	if refusal, ok := errors.AsType[*RPCError](err); ok {
		words, code = refusal.Message, refusal.Code
	} else if err != nil {
		words = err.Error()
	}
	if found := tryAgain.FindStringSubmatch(words); found != nil {
		if d, err := time.ParseDuration(found[1] + found[2]); err == nil {
			return min(d, l.maxWait)
		}
	}
	if classify(r.StatusCode, code, words).spent {
		return l.maxWait
	}
	return min(defaultPause, l.maxWait)
}

// tryAgain finds the pause in texts such as "retry in 10s" and "try again after 3 seconds".
var tryAgain = regexp.MustCompile(`(?i)(?:retry|try again) (?:in|after) (\d{1,6}(?:\.\d+)?) ?(ms|s|m|h)`)

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
	if _, wrong := errors.AsType[*tls.CertificateVerificationError](err); wrong {
		return 0, false
	}
	switch OutcomeOf(err) {
	case Unreachable, Unavailable, RateLimited, LocalLimit:
		return l.left(op) + d, true
	}
	return 0, false
}
