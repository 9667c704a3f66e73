package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// backoffs stores which calls are not sent, until when, and why: because the upstream requested a pause, or because it refused the
// same call before (Options.RepeatAfter).
type backoffs struct {
	repeatAfter func(path string, err error, answered bool) time.Duration // nil: refusals are not stored

	mu     sync.Mutex
	known  map[callKey]backoff  // the state of calls, at most maxBackoffs
	pauses map[string]time.Time // ends of the pauses that the upstream requested, by op; of every method if op is empty
	// denied is when a method was denied (HTTP 403 or 404) and had no result since. results is when any method had one: at a path, and at an
	// empty path for all paths. Both are numbers of requests.
	requests int
	denied   map[callKey]int
	results  map[string]int
}

// note stores when a method had a result, or was denied: see onlyThis.
func (b *backoffs) note(r request, outcome Outcome) {
	if b.repeatAfter == nil || r.Verb != "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(r.op, r.path)
	b.requests++
	switch outcome {
	case OK:
		delete(b.denied, key)
		b.results[""] = b.requests
		if _, exists := b.results[r.path]; exists || len(b.results) < maxBackoffs {
			b.results[r.path] = b.requests
		}
	case Forbidden, NotFound, NotOffered:
		if _, exists := b.denied[key]; exists || outcome != NotOffered && len(b.denied) < maxBackoffs {
			b.denied[key] = b.requests
		}
	}
}

// onlyThis reports whether a method was denied before, and another method at the path has had a result since; at any path if it is empty. Then
// a refusal concerns only this method, not the whole upstream.
func (b *backoffs) onlyThis(r request, path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, denied := b.denied[keyOf(r.op, r.path)]
	return r.Verb == "" && denied && b.results[path] > at
}

// callKey is a method at a path.
type callKey struct{ op, path string }

// backoff is the state of a call. Before the time in until, the call is not sent.
type backoff struct {
	until time.Time
	err   error         // the refusal; nil if the upstream answered the call
	wait  time.Duration // from the last refusal to until

	answered bool // the upstream answered the call at least once
}

const (
	// maxRepeat is the maximum time for which a refused call is not sent. ForgetAnswers ends it, as after a new version of the upstream.
	maxRepeat = time.Hour
	// maxRepeatOfLost is the same for a call that the upstream answered before: what took it away may give it back, such as a rule of a proxy.
	maxRepeatOfLost = 10 * time.Minute
	// maxBackoffs is the maximum number of stored calls of an upstream, to limit memory.
	maxBackoffs = 4096
)

// keyOf returns the key of a call. The query of the path does not count.
func keyOf(op, path string) callKey {
	path, _, _ = strings.Cut(path, "?")
	return callKey{op, path}
}

// check returns the error of a call that must not be sent now, and nil otherwise.
func (b *backoffs) check(op, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if refused := b.known[keyOf(op, path)]; refused.err != nil && time.Now().Before(refused.until) {
		return refused.err
	}
	if left := b.pauseLeft(op); left > 0 {
		return &Error{op, RateLimited, fmt.Errorf("pause requested by the upstream, %s left", max(time.Second, left.Round(time.Second)))}
	}
	return nil
}

// pauseLeft returns the rest of the pause that the upstream requested for op. The caller holds b.mu.
func (b *backoffs) pauseLeft(op string) time.Duration {
	return max(0, time.Until(b.pauses[op]), time.Until(b.pauses[""]))
}

// left returns the rest of the pause that the upstream requested for op.
func (b *backoffs) left(op string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pauseLeft(op)
}

// pause stores that the upstream requested a pause for op; an empty op means every method. It returns the end of the pause.
func (b *backoffs) pause(op string, d time.Duration) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	until := time.Now().Add(d)
	if known := b.pauses[op]; known.After(until) {
		return known
	}
	b.pauses[op] = until
	return until
}

// ended stores the result of a call. After the first refusal, the call is not sent for the time that repeatAfter returns. Each further refusal
// in a row doubles this time, up to maxRepeat or maxRepeatOfLost. The error that it returns says whether the call was answered before.
func (b *backoffs) ended(op, path string, err error) error {
	if b.repeatAfter == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(op, path)
	before, exists := b.known[key]
	if err == nil {
		if !exists || before.err != nil {
			b.set(key, backoff{answered: true})
		}
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && slices.Contains([]Outcome{NotOffered, NotFound, Forbidden}, e.Outcome) && before.answered && !IsLost(err) {
		err = &Error{e.Op, e.Outcome, &lost{e.Err}}
	}
	wait := b.repeatAfter(key.path, err, exists && before.err == nil)
	if wait <= 0 || before.err != nil && time.Now().Before(before.until) { // no refusal, or a concurrent call was refused
		return err
	}
	longest := maxRepeat
	if before.answered {
		longest = maxRepeatOfLost
	}
	wait = min(max(wait, 2*before.wait), longest)
	b.set(key, backoff{time.Now().Add(wait), err, wait, before.answered})
	return err
}

// set stores the state of a call. If there are too many, it forgets one that was answered: some paths, such as those of blocks, are called
// once. A refusal is not forgotten before it ends.
func (b *backoffs) set(key callKey, to backoff) {
	if _, exists := b.known[key]; !exists && len(b.known) >= maxBackoffs {
		for old, known := range b.known {
			if known.err == nil || time.Now().After(known.until) {
				delete(b.known, old)
				break
			}
		}
	}
	if _, exists := b.known[key]; exists || len(b.known) < maxBackoffs {
		b.known[key] = to
	}
}

// reset lets refused calls be sent again.
func (b *backoffs) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.known {
		if known.err != nil {
			b.known[key] = backoff{err: known.err, answered: known.answered}
		}
	}
}

// Offer reports whether the upstream offers a method at a path.
type Offer struct {
	Op, Path string
	Err      error // the upstream's refusal; nil if it offers the method
}

// Offers returns the methods that were called, sorted by method and path, and whether the upstream offers them. Without
// Options.RepeatAfter, the result is empty.
func (u *Upstream) Offers() []Offer {
	u.limiter.mu.Lock()
	defer u.limiter.mu.Unlock()
	var all []Offer
	for key, known := range maps.All(u.limiter.known) {
		all = append(all, Offer{key.op, key.path, known.err})
	}
	slices.SortFunc(all, func(a, b Offer) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Path, b.Path)) })
	return all
}
