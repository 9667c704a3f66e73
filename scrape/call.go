package scrape

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"
)

// call sends a request and retries it after an error. The maximum number of requests is attempts. call stops earlier if a retry
// is useless or if no time is left for a retry.
func (u *Upstream) call(ctx context.Context, c call) (any, error) {
	var cancel context.CancelFunc
	for n := 1; ; n++ {
		done, err := u.turn(ctx, c.op)
		if err != nil {
			return nil, u.refused(c.op, err)
		}
		if n == 1 {
			ctx, cancel = context.WithTimeout(ctx, u.timeout)
			defer cancel()
		}
		value, err := u.request(ctx, c, done)
		if err == nil || c.once || n == attempts {
			return value, err
		}
		pause, ok := u.limiter.pause(c.op, n, err)
		if !ok || time.Until(retryDeadline(ctx)) <= pause {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// turn waits until a request may be sent, and then checks the budget. The caller must call done after the request.
func (u *Upstream) turn(ctx context.Context, op string) (done func(), err error) {
	done, err = u.limiter.turn(ctx, op)
	if err != nil || u.admit == nil {
		return done, err
	}
	if err := u.admit(ctx, op); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// refused adds op to the error of a call or a retry that was not sent, and counts the error.
func (u *Upstream) refused(op string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Op = op
		u.metrics.unsent(op, e.Outcome)
	}
	return err
}

// request sends one request and reads its answer. It measures the time from the start of the request to the end of the answer.
// The parameter done comes from turn; request calls it at the end.
func (u *Upstream) request(ctx context.Context, c call, done func()) (any, error) {
	defer done()
	began := time.Now()
	value, err := u.exchange(ctx, c)
	took := time.Since(began)
	outcome := OutcomeOf(err)
	if outcome == Unreachable && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil, ctx.Err() // the caller cancelled: this says nothing about the upstream
	}
	if outcome == Unreachable && ctx.Err() != nil {
		outcome = Timeout
		err = &Error{c.op, Timeout, &reason{"no answer within " + brief(took), ctx.Err()}}
	}
	u.metrics.count(c.op, outcome)
	u.metrics.took(c.op, took)
	if outcome != LocalLimit {
		u.ended(outcome)
	}
	return value, err
}

// answered reports whether the upstream itself answered.
func answered(o Outcome) bool {
	switch o {
	case OK, Rejected, NotFound, Bootstrapping, TooLarge:
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

func (u *Upstream) exchange(ctx context.Context, c call) (any, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if c.body != nil {
		method, body = http.MethodPost, bytes.NewReader(c.body)
	}
	request, err := http.NewRequestWithContext(ctx, method, u.base.String()+c.path, body)
	if err != nil {
		return nil, &Error{c.op, Malformed, errors.New("invalid request: check the identifiers in it")}
	}
	request.Header.Set("User-Agent", "avax-exporter")
	request.Header.Set("Accept", "application/json")
	if len(c.body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	access := u.access.Load()
	maps.Copy(request.Header, access.header)
	request.Host = access.host

	// Use RoundTrip, because an http.Client would follow redirects, keep cookies and write the URL into errors.
	response, err := access.transport.RoundTrip(request)
	if err != nil {
		var refused *tls.CertificateVerificationError
		if errors.As(err, &refused) { // such as an expired certificate
			u.metrics.presented(refused.UnverifiedCertificates)
		}
		return nil, u.broken(c.op, err)
	}
	if response.TLS != nil && u.base.Scheme == "https" { // for an http upstream, response.TLS describes the connection to a proxy
		u.metrics.presented(response.TLS.PeerCertificates)
	}
	defer release(response.Body)
	if paused, until := u.limiter.obey(c.op, c.once, response.StatusCode, response.Header); !until.IsZero() {
		u.metrics.waits(paused, until)
	}
	if response.StatusCode == c.evenAt {
		var read bytes.Buffer // kept for the error message, if the body is not an answer
		value, err := u.decode(c, io.TeeReader(response.Body, &read))
		if OutcomeOf(err) != Malformed {
			return value, err
		}
		response.Body = io.NopCloser(&read)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, u.refusal(c, response)
	}
	return u.decode(c, response.Body)
}

// maxDrained is the maximum number of bytes that release reads. A connection can only be reused after its answer was read
// to the end.
const maxDrained = 256 << 10

func release(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	_ = body.Close()
}
