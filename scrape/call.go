package scrape

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/http"
	"syscall"
	"time"
)

// call sends a request and retries it after an error. The maximum number of requests is attempts. call stops earlier if a retry
// is useless or if no time is left for a retry.
func (u *Upstream) call(ctx context.Context, r request) (any, error) {
	var cancel context.CancelFunc
	for n := 1; ; n++ {
		release, err := u.acquire(ctx, r)
		if err != nil {
			return nil, err
		}
		if n == 1 {
			ctx, cancel = context.WithTimeout(ctx, u.options.Timeout)
			defer cancel()
		}
		value, err := u.send(ctx, r, release)
		if err == nil || r.once() || n == attempts {
			return value, err
		}
		delay, ok := u.limiter.retryDelay(r.op, n, err)
		if !ok || time.Until(retryDeadline(ctx)) <= delay {
			return nil, err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// acquire waits until a request may be sent, and then checks the budget. It counts a request that is not sent because of a
// limit. The caller must call release after the request.
func (u *Upstream) acquire(ctx context.Context, r request) (release func(), err error) {
	release, err = u.limiter.acquire(ctx, r.op, r.path)
	if err == nil && u.options.Admit != nil {
		if err = u.options.Admit(ctx, r.op); err != nil {
			release()
			if e, ok := errors.AsType[*Error](err); ok {
				e.Op = r.op
			}
		}
	}
	if e, ok := errors.AsType[*Error](err); ok && (e.Outcome == RateLimited || e.Outcome == Timeout) {
		u.metrics.notSent(r.op, e.Outcome)
	}
	return release, err
}

// send sends one request and reads its answer. It measures the time from the start of the request to the end of the answer. It
// calls release at the end.
func (u *Upstream) send(ctx context.Context, r request, release func()) (any, error) {
	defer release()
	began, blame := time.Now(), u.watch(ctx, r.op)
	value, err := u.exchange(ctx, r)
	took := time.Since(began)
	outcome := OutcomeOf(err)
	if outcome == Unreachable && ctx.Err() != nil && (errors.Is(context.Cause(ctx), context.Canceled) || isUrgent(ctx)) {
		return nil, ctx.Err() // the caller cancelled, or has no more patience: this says nothing about the upstream
	}
	if outcome == Unreachable && ctx.Err() != nil {
		err = &Error{r.op, Timeout, &reason{"no answer within " + brief(took), ctx.Err()}}
	}
	err = u.viaProxy(blame(err))
	outcome = OutcomeOf(err)
	u.metrics.ended(r.op, outcome, took)
	if errors.Is(err, syscall.ECONNREFUSED) {
		u.refused.set(time.Now())
	}
	if outcome != LocalLimit {
		u.ended(outcome)
	}
	u.limiter.note(r, outcome)
	return value, err
}

// Answered reports whether an error is the upstream's own answer.
func Answered(err error) bool { return answered(OutcomeOf(err)) }

// answered reports whether the upstream itself answered.
func answered(o Outcome) bool {
	switch o {
	case OK, Rejected, NotOffered, NotFound, Bootstrapping, TooLarge:
		return true
	}
	return false
}

// brief rounds d to milliseconds below a second, and to tenths of a second above.
func brief(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func (u *Upstream) exchange(ctx context.Context, r request) (any, error) {
	verb, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		verb, body = http.MethodPost, bytes.NewReader(r.body)
	}
	sent, err := http.NewRequestWithContext(ctx, verb, u.base.String()+r.path, body)
	if err != nil {
		return nil, &Error{r.op, Malformed, errors.New("invalid request: check the identifiers in it")}
	}
	sent.Header.Set("User-Agent", "avax-exporter")
	sent.Header.Set("Accept", "application/json")
	if len(r.body) > 0 {
		sent.Header.Set("Content-Type", "application/json")
	}
	access := u.access.Load()
	maps.Copy(sent.Header, access.header)
	sent.Host = access.host

	// Use RoundTrip, because an http.Client would follow redirects, keep cookies and write the URL into errors.
	response, err := access.transport.RoundTrip(sent)
	if err != nil {
		if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok { // such as an expired certificate
			u.metrics.presented(refused.UnverifiedCertificates)
		}
		return nil, u.broken(r.op, err)
	}
	if response.TLS != nil && u.base.Scheme == "https" { // for an http upstream, response.TLS describes the connection to a proxy
		u.metrics.presented(response.TLS.PeerCertificates)
	}
	defer drain(response.Body)
	value, err := u.answer(r, response)
	if paused, until := u.limiter.obey(r.op, r.once(), response, err); !until.IsZero() {
		u.metrics.waits(cmp.Or(paused, "all"), until)
	}
	return value, err
}

// answer returns the answer in a response, or the error for a refusal.
func (u *Upstream) answer(r request, response *http.Response) (any, error) {
	if response.StatusCode == r.AnswerStatus {
		var read bytes.Buffer // kept for the error message, if the body is not an answer
		value, err := u.decode(r, io.TeeReader(response.Body, &read))
		if OutcomeOf(err) != Malformed {
			return value, err
		}
		response.Body = io.NopCloser(&read)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, u.refusal(r, response)
	}
	return u.decode(r, response.Body)
}

// maxDrained is the maximum number of bytes that drain reads. A connection can only be reused after its answer was read
// to the end.
const maxDrained = 256 << 10

func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	_ = body.Close()
}
