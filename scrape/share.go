package scrape

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

type maxAgeKey struct{}

// MaxAge lets calls with ctx share answers. A call gets the answer of an earlier identical call (same upstream, method, path,
// parameters and type) if that answer is not older than d. Identical concurrent calls are sent once. If d is 0, or without
// MaxAge, every call is sent.
//
// A shared answer is the decoded value itself. Several callers use it at once, so they must not change it. An error is only
// shared by callers that wait for the same call, except that a chain bootstraps, that a path does not exist, or what Method.State says: this is a
// state of the upstream, like an answer, and shared for up to half a minute. A call that changes something never shares.
func MaxAge(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, maxAgeKey{}, d)
}

func maxAge(ctx context.Context) time.Duration {
	d, _ := ctx.Value(maxAgeKey{}).(time.Duration)
	if fresh, _ := ctx.Value(freshKey{}).(bool); fresh {
		d = min(d, time.Millisecond)
	}
	return d
}

type freshKey struct{}

// Fresh lets no call with ctx use an older answer, whatever its MaxAge. The new answers are shared as MaxAge says.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

// Aside is MaxAge for a call whose answer is not in the samples of the run: it does not change their time.
func Aside(ctx context.Context, d time.Duration) context.Context {
	return MaxAge(context.WithValue(ctx, runKey{}, (*run)(nil)), d)
}

// Sharing is MaxAge for all calls of a collector's run. The returned function returns the request time of the run's oldest
// answer, or zero if there is none. The samples of the run must not have a later timestamp. The returned function ignores the
// answer of a call whose MaxAge is longer than d. If Sharing is called twice, the inner d decides. An answer that counts for the
// inner call of Sharing also counts for the outer one.
func Sharing(ctx context.Context, d time.Duration) (context.Context, func() time.Time) {
	within, _ := ctx.Value(runKey{}).(*run)
	r := &run{granted: d, within: within}
	return context.WithValue(MaxAge(ctx, d), runKey{}, r), r.oldest
}

type runKey struct{}

// run stores the request time of the oldest answer of a run.
type run struct {
	granted   time.Duration // the MaxAge of Sharing
	within    *run          // the run of the outer Sharing; nil: none
	mu        sync.Mutex
	requested time.Time
}

func (r *run) oldest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requested
}

func (r *run) note(requested time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requested.IsZero() || requested.Before(r.requested) {
		r.requested = requested
	}
}

// Oldest returns the request time of the oldest answer of the run of ctx so far, or zero if there is none. See Sharing.
func Oldest(ctx context.Context) time.Time {
	if r, _ := ctx.Value(runKey{}).(*run); r != nil {
		return r.oldest()
	}
	return time.Time{}
}

// Reuse reports whether ctx may use an answer that was requested at this time. If so, it counts as one of the run.
func Reuse(ctx context.Context, requested time.Time) bool {
	d := maxAge(ctx)
	if requested.IsZero() || time.Since(requested) > d {
		return false
	}
	noteAnswer(ctx, d, requested)
	return true
}

// noteAnswer stores the request time of an answer in the runs of ctx. d is the MaxAge of the call.
func noteAnswer(ctx context.Context, d time.Duration, requested time.Time) {
	r, _ := ctx.Value(runKey{}).(*run)
	if r == nil || d > r.granted {
		return
	}
	for ; r != nil; r = r.within {
		r.note(requested)
	}
}

// shareKey identifies an answer that can be shared.
type shareKey struct {
	method     *Method // with its type of answer
	path, body string
	urgent     bool // waits among the calls of Urgent
}

// shared is an answer, or a call in progress.
type shared struct {
	requested time.Time               // when the request was sent; the age of an answer counts from here
	keep      time.Duration           // longest MaxAge of its callers
	waiting   int                     // number of waiting callers; when the last one stops waiting, the call is cancelled
	cancel    context.CancelCauseFunc // cancels the call; nil after the call has ended

	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

type callerDeadlineKey struct{}

// withCallerDeadline stores the caller's deadline in the context of a shared call, which may continue after the caller has
// stopped waiting. No retry starts after this deadline, so the caller gets the outcome of the call instead of a timeout.
func withCallerDeadline(ctx, caller context.Context) context.Context {
	deadline, ok := caller.Deadline()
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, callerDeadlineKey{}, deadline)
}

// retryDeadline returns the time after which no retry starts. ctx must have a deadline.
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
	pruneAt int // size at which expired answers are deleted
}

func newAnswers() answers { return answers{byKey: map[shareKey]*shared{}, pruneAt: firstPrune} }

// isState reports whether an error is a state of the upstream that several calls in a row find: a node does not run a chain, or bootstraps it.
func (m *Method) isState(err error) bool {
	switch OutcomeOf(err) {
	case Bootstrapping, NotFound:
		return true
	}
	refusal, is := errors.AsType[*RPCError](err)
	return is && m.State != "" && strings.Contains(refusal.Message, m.State)
}

// stateFor is how long such an error is shared: a dozen jobs ask a node about each chain, also about one that it does not run.
const stateFor = 30 * time.Second

// Limits of the stored answers of one upstream.
const (
	firstPrune = 32
	maxAnswers = 4096 // above it, no answer is stored; concurrent identical calls are still sent once
)

// get returns an answer to q: a stored answer that is not older than d, the answer of a call in progress, or the answer of a
// new call of send. If a caller cancels and another caller still waits, the call continues.
func (a *answers) get(ctx context.Context, q shareKey, d time.Duration, send func(context.Context) (any, error)) (any, error) {
	s := a.join(ctx, q, d, send)
	select {
	case <-s.done:
		noteAnswer(ctx, d, s.requested)
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
		s.cancel(ctx.Err())
		a.forget(q, s)
	}
	return nil, ctx.Err()
}

// join returns a stored answer to q that is not older than d, or the call in progress. If there is neither, it starts a call of
// send.
func (a *answers) join(ctx context.Context, q shareKey, d time.Duration, send func(context.Context) (any, error)) *shared {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.byKey[q]; s != nil {
		select {
		case <-s.done:
			if age := time.Since(s.requested); age <= d && (s.err == nil || age <= stateFor) {
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
	s := &shared{requested: time.Now(), keep: d, waiting: 1, cancel: cancel, done: make(chan struct{})}
	a.store(q, s)
	go func() {
		defer cancel(nil)
		value, err := guard(ctx, send)
		a.mu.Lock()
		defer a.mu.Unlock()
		s.value, s.err = value, err
		s.cancel = nil // cancel refers to the caller's context: release it
		if err != nil && !q.method.isState(err) || len(a.byKey) > maxAnswers {
			a.forget(q, s)
		}
		close(s.done)
	}()
	return s
}

// store stores s, and deletes expired answers if there are many.
func (a *answers) store(q shareKey, s *shared) {
	if len(a.byKey) >= a.pruneAt {
		for key, old := range a.byKey {
			select {
			case <-old.done:
				if time.Since(old.requested) > old.keep {
					delete(a.byKey, key)
				}
			default:
			}
		}
		a.pruneAt = max(firstPrune, 2*len(a.byKey))
	}
	a.byKey[q] = s
}

// ForgetAnswers deletes the shared answers, and lets refused calls be sent again. Call it when the upstream has stopped, because
// after a restart its answers may differ. Calls in progress continue for their callers, but no later caller shares them.
func (u *Upstream) ForgetAnswers() {
	u.limiter.reset()
	a := &u.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.byKey)
}

func (a *answers) forget(q shareKey, s *shared) {
	if a.byKey[q] == s {
		delete(a.byKey, q)
	}
}

// guard calls send and converts a panic into an error. A shared call runs in its own goroutine. A panic there would end the
// process, not only the caller's job.
func guard(ctx context.Context, send func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	return send(ctx)
}
