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

// MaxAge lets calls under ctx share answers: one to the identical question (same upstream, method, path, parameters and
// type), not older than d, will do, and identical questions under way at once are asked once. With d of 0, or without
// MaxAge, every question is asked afresh.
//
// A shared answer is the decoded value itself, in the hands of several callers at once: it must not be changed.
// Errors are never remembered. RPCOnce never shares.
func MaxAge(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, maxAgeKey{}, d)
}

func maxAge(ctx context.Context) time.Duration {
	d, _ := ctx.Value(maxAgeKey{}).(time.Duration)
	return d
}

// Sharing is MaxAge for a whole run of questions. The function tells when the oldest of the answers that the run was
// given was asked for, so that a run need not pass for younger than what it was told; answers that a single question
// was granted under a longer MaxAge of its own do not count, unless by a Sharing within the run. It is zero where
// nothing was shared.
func Sharing(ctx context.Context, d time.Duration) (context.Context, func() time.Time) {
	within, _ := ctx.Value(runKey{}).(*run)
	r := &run{granted: d, within: within}
	return context.WithValue(MaxAge(ctx, d), runKey{}, r), r.oldest
}

type runKey struct{}

// run notes the age of what it is given.
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

// given notes an answer that was asked for at that time, under a MaxAge of d.
func given(ctx context.Context, d time.Duration, asked time.Time) {
	r, _ := ctx.Value(runKey{}).(*run)
	if r == nil || d > r.granted {
		return
	}
	for ; r != nil; r = r.within {
		r.note(asked)
	}
}

// question identifies an answer that can be shared.
type question struct {
	op, path, params string
	as               reflect.Type
}

// shared is an answer, or one on its way.
type shared struct {
	asked   time.Time // its age counts from here, so that it is never younger than it claims
	keep    time.Duration
	waiting int                     // callers that would have it; the last to leave takes the call with it
	leave   context.CancelCauseFunc // with why the last one left; nil once the call has ended

	done  chan struct{} // closed when value and err stand
	value any
	err   error
}

type patienceKey struct{}

// withPatience lets a call that outlives its caller remember the caller's deadline: nothing is repeated beyond it, so
// that the caller is told how the call ended and not that its time is up.
func withPatience(ctx, caller context.Context) context.Context {
	deadline, ok := caller.Deadline()
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, patienceKey{}, deadline)
}

// patience is until when a request may be repeated. ctx has a deadline.
func patience(ctx context.Context) time.Time {
	until, _ := ctx.Deadline()
	if callers, ok := ctx.Value(patienceKey{}).(time.Time); ok && callers.Before(until) {
		until = callers
	}
	return until
}

// answers remembers what callers of one Upstream may share.
type answers struct {
	mu      sync.Mutex
	byKey   map[question]*shared
	sweepAt int // size at which to look for answers nobody may use any more
}

// Bounds of what one upstream's answers may hold.
const (
	firstSweep  = 32
	mostAnswers = 4096 // beyond, identical questions under way are still asked once, but not remembered
)

// get gives an answer to q that is not older than d, asking where there is none. The call to ask outlives a caller
// that gives up as long as another waits.
func (a *answers) get(ctx context.Context, q question, d time.Duration, ask func(context.Context) (any, error)) (any, error) {
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
	case <-s.done: // both at once
		return s.value, s.err
	default:
	}
	if s.waiting--; s.waiting == 0 {
		s.leave(ctx.Err())
		a.forget(q, s)
	}
	return nil, ctx.Err()
}

func (a *answers) join(ctx context.Context, q question, d time.Duration, ask func(context.Context) (any, error)) *shared {
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
	ctx, cancel := context.WithCancelCause(withPatience(context.WithoutCancel(ctx), ctx))
	s := &shared{asked: time.Now(), keep: d, waiting: 1, leave: cancel, done: make(chan struct{})}
	a.remember(q, s)
	go func() {
		defer cancel(nil)
		value, err := guard(ctx, ask)
		a.mu.Lock()
		defer a.mu.Unlock()
		s.value, s.err = value, err
		s.leave = nil // it holds all that the question was asked with
		if err != nil || len(a.byKey) > mostAnswers {
			a.forget(q, s)
		}
		close(s.done)
	}()
	return s
}

func (a *answers) remember(q question, s *shared) {
	if a.byKey == nil {
		a.byKey, a.sweepAt = make(map[question]*shared), firstSweep
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

// ForgetAnswers forgets the answers that callers might share, for an upstream that has stopped: once it is back, they may
// no longer hold. Answers on their way stay.
func (u *Upstream) ForgetAnswers() {
	a := &u.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.byKey, func(_ question, s *shared) bool { return s.leave == nil })
}

func (a *answers) forget(q question, s *shared) {
	if a.byKey[q] == s {
		delete(a.byKey, q)
	}
}

// guard turns a panic into an error: a shared call runs in a goroutine of its own, where a panic would end the process
// and not just the caller's job.
func guard(ctx context.Context, ask func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	return ask(ctx)
}
