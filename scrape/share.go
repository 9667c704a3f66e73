package scrape

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"
)

type maxAgeKey struct{}

// MaxAge lets calls with ctx share answers. An answer to an identical call (same upstream, method, path, parameters and
// type) that is not older than d counts, and identical concurrent calls are sent once. With d of 0, or without MaxAge,
// every call is sent.
//
// A shared answer is the decoded value itself, which several callers use at once: callers must not change it. Errors are
// never shared. RPCOnce never shares.
func MaxAge(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, maxAgeKey{}, d)
}

func maxAge(ctx context.Context) time.Duration {
	d, _ := ctx.Value(maxAgeKey{}).(time.Duration)
	return d
}

// Sharing is MaxAge for all calls of a run. The returned function reports the time at which the oldest shared answer of the
// run was requested: samples must not have a later timestamp. It reports zero if no answer was shared. An answer of a
// call with its own MaxAge longer than d does not count. It counts if the call is in an inner Sharing that allows its MaxAge.
func Sharing(ctx context.Context, d time.Duration) (context.Context, func() time.Time) {
	within, _ := ctx.Value(runKey{}).(*run)
	r := &run{granted: d, within: within}
	return context.WithValue(MaxAge(ctx, d), runKey{}, r), r.oldest
}

type runKey struct{}

// run stores the age of the answers of a run.
type run struct {
	granted time.Duration
	within  *run
	mu      sync.Mutex
	asked   time.Time
}

func (r *run) oldest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *run) note(asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.IsZero() || asked.Before(r.asked) {
		r.asked = asked
	}
}

// given notes, for the runs of ctx, when the answer of a call with MaxAge d was requested.
func given(ctx context.Context, d time.Duration, asked time.Time) {
	r, _ := ctx.Value(runKey{}).(*run)
	if r == nil || d > r.granted {
		return
	}
	for ; r != nil; r = r.within {
		r.note(asked)
	}
}

// shareKey identifies an answer that can be shared.
type shareKey struct {
	op, path, params string
	as               reflect.Type
}

// shared is an answer, or one in progress.
type shared struct {
	asked   time.Time // age counts from the request, so that no answer is older than it claims
	keep    time.Duration
	waiting int                     // callers that wait; the last to leave cancels the call
	leave   context.CancelCauseFunc // cancels the call, with a cause; nil once the call has ended

	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

type callerDeadlineKey struct{}

// withCallerDeadline stores the caller's deadline for a shared call, which may outlive that caller. No retry starts after
// this deadline, so the caller gets the outcome of the call instead of its own timeout.
func withCallerDeadline(ctx, caller context.Context) context.Context {
	deadline, ok := caller.Deadline()
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, callerDeadlineKey{}, deadline)
}

// retryDeadline returns until when a request may be retried. ctx has a deadline.
func retryDeadline(ctx context.Context) time.Time {
	until, _ := ctx.Deadline()
	if callers, ok := ctx.Value(callerDeadlineKey{}).(time.Time); ok && callers.Before(until) {
		until = callers
	}
	return until
}

// answers holds the answers that callers of one Upstream may share.
type answers struct {
	mu      sync.Mutex
	byKey   map[shareKey]*shared
	sweepAt int // size at which expired answers are deleted
}

// Limits of the stored answers of one upstream.
const (
	firstSweep  = 32
	mostAnswers = 4096 // above it, concurrent identical calls are still sent once, but not stored
)

// get returns an answer to q that is not older than d, and calls ask if there is none. If one caller gives up while another
// waits, the call continues.
func (a *answers) get(ctx context.Context, q shareKey, d time.Duration, ask func(context.Context) (any, error)) (any, error) {
	s := a.join(ctx, q, d, ask)
	select {
	case <-s.done:
		given(ctx, d, s.asked)
		return s.value, s.err
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-s.done: // the call ended at the same time
		return s.value, s.err
	default:
	}
	if s.waiting--; s.waiting == 0 {
		s.leave(ctx.Err())
		a.forget(q, s)
	}
	return nil, ctx.Err()
}

func (a *answers) join(ctx context.Context, q shareKey, d time.Duration, ask func(context.Context) (any, error)) *shared {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.byKey[q]; s != nil {
		select {
		case <-s.done:
			if time.Since(s.asked) <= d {
				s.keep = max(s.keep, d)
				return s
			}
		default:
			s.keep = max(s.keep, d)
			s.waiting++
			return s
		}
	}
	ctx, cancel := context.WithCancelCause(withCallerDeadline(context.WithoutCancel(ctx), ctx))
	s := &shared{asked: time.Now(), keep: d, waiting: 1, leave: cancel, done: make(chan struct{})}
	a.remember(q, s)
	go func() {
		defer cancel(nil)
		value, err := guard(ctx, ask)
		a.mu.Lock()
		defer a.mu.Unlock()
		s.value, s.err = value, err
		s.leave = nil // it holds the parameters of the call
		if err != nil || len(a.byKey) > mostAnswers {
			a.forget(q, s)
		}
		close(s.done)
	}()
	return s
}

func (a *answers) remember(q shareKey, s *shared) {
	if a.byKey == nil {
		a.byKey, a.sweepAt = make(map[shareKey]*shared), firstSweep
	}
	if len(a.byKey) >= a.sweepAt {
		for key, old := range a.byKey {
			select {
			case <-old.done:
				if time.Since(old.asked) > old.keep {
					delete(a.byKey, key)
				}
			default:
			}
		}
		a.sweepAt = max(firstSweep, 2*len(a.byKey))
	}
	a.byKey[q] = s
}

// ForgetAnswers deletes the shared answers of an upstream that has stopped. They may be wrong when it answers again.
// Calls in progress continue.
func (u *Upstream) ForgetAnswers() {
	a := &u.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.byKey, func(_ shareKey, s *shared) bool { return s.leave == nil })
}

func (a *answers) forget(q shareKey, s *shared) {
	if a.byKey[q] == s {
		delete(a.byKey, q)
	}
}

// guard converts a panic into an error. A shared call runs in a goroutine of its own, where a panic would end the process
// and not just the caller's job.
func guard(ctx context.Context, ask func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	return ask(ctx)
}
