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

// Limits of repeating and waiting.
const (
	attempts    = 3                      // requests of one call at most
	firstPause  = 200 * time.Millisecond // before the second request; three times that before the third
	waitUnasked = 10 * time.Second       // after a 429 that does not say how long
)

// pace holds back requests: so many at once, so many a second, none before the moment the upstream asked for.
type pace struct {
	slots   chan struct{}
	bucket  *rate.Limiter
	maxWait time.Duration

	mu    sync.Mutex
	until map[string]time.Time // when an op may be asked again, as the upstream asked; by op, allOps for every one
}

// allOps stands for every op of an upstream.
const allOps = "all"

type aheadKey struct{}

// Ahead lets calls under ctx go out at once, beside those that the upstream may be asked at once and a second: for the one
// question whether it answers at all. Behind others its answer would tell how long they take, and a slow upstream would
// pass for a dead one. It goes out even while the upstream, or a load balancer before it, asks to be left alone.
func Ahead(ctx context.Context) context.Context { return context.WithValue(ctx, aheadKey{}, true) }

// turn waits until a request may go out. Every turn taken ends with a call of done.
func (p *pace) turn(ctx context.Context, op string) (done func(), err error) {
	if ahead, _ := ctx.Value(aheadKey{}).(bool); ahead {
		p.bucket.Reserve() // those that follow make up for it
		return func() {}, nil
	}
	if err := p.asked(op); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ended(ctx, fmt.Sprintf("no turn in time: other calls to this upstream were under way, and %d at once are allowed", cap(p.slots)))
		}
	}
	done = func() { <-p.slots }
	err = p.bucket.Wait(ctx)
	if err == nil {
		err = p.asked(op)
	} else if ctx.Err() != nil {
		err = ended(ctx, "no turn in time: too many calls a second to this upstream")
	} else {
		err = &Error{Outcome: Timeout, Err: errors.New("no turn before the deadline: too many calls a second to this upstream")}
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// ended says why a wait was in vain: the caller left, or its time was up.
func ended(ctx context.Context, text string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &Error{Outcome: Timeout, Err: &reason{text, ctx.Err()}}
}

// asked is the refusal while the upstream wants to be left alone.
func (p *pace) asked(op string) error {
	if left := p.wait(op); left > 0 {
		left = max(time.Second, left.Round(time.Second))
		return &Error{Outcome: RateLimited, Err: fmt.Errorf("asked to wait %s more", left)}
	}
	return nil
}

// wait is how long the upstream still wants not to be asked this.
func (p *pace) wait(op string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.until[op]), time.Until(p.until[allOps]))
}

// obey notes what an answer says about the next request, and returns until when what is not to be asked: all after 429, which
// is about the caller, and the op after 503, which is about what was asked, and after 429 to a request that changes something,
// which is allowed less often than others. Until is zero where nothing is to wait.
func (p *pace) obey(op string, once bool, status int, h http.Header) (what string, until time.Time) {
	var d time.Duration
	switch said, ok := p.parseWait(h.Get("Retry-After")); {
	case ok && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
		d = said
	case status == http.StatusTooManyRequests:
		if d, ok = p.parseWait(h.Get("Ratelimit-Reset")); !ok {
			d = waitUnasked
		}
	}
	if d <= 0 {
		return "", time.Time{}
	}
	what = op
	if status == http.StatusTooManyRequests && !once {
		what = allOps
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if until = time.Now().Add(d); until.After(p.until[what]) {
		p.until[what] = until
	}
	return what, p.until[what]
}

// parseWait reads seconds or an HTTP date, maxWait at most.
func (p *pace) parseWait(s string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, p.maxWait.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(0, time.Until(at)), p.maxWait), true
	}
	return 0, false
}

// pause is how long to wait before repeating the n-th request, much of it at random so that callers do not come back all
// at once. It is not ok where err leaves no hope.
func (p *pace) pause(op string, n int, err error) (d time.Duration, ok bool) {
	d = firstPause
	for range n - 1 {
		d *= 3
	}
	d = d/2 + rand.N(d) //nolint:gosec // spreads calls, guards nothing
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
