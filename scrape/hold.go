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

// holds stores which calls are not sent, until when, and why: because the upstream requested a pause, or because it refused the
// same call before (Options.RepeatAfter).
type holds struct {
	repeatAfter func(path string, err error, answered bool) time.Duration // nil: refusals are not stored

	mu    sync.Mutex
	known map[heldCall]hold
	// denied is when a method was denied (HTTP 403 or 404) and had no result since. results is when any method had one: at a path, and at an
	// empty path for all paths. Both are numbers of requests.
	requests int
	denied   map[heldCall]int
	results  map[string]int
}

// saw stores when a method had a result, or was denied: see onlyThis.
func (h *holds) saw(r request, outcome Outcome) {
	if h.repeatAfter == nil || r.Verb != "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.denied == nil {
		h.denied, h.results = map[heldCall]int{}, map[string]int{}
	}
	key := heldAt(r.op, r.path)
	h.requests++
	switch outcome {
	case OK:
		delete(h.denied, key)
		h.results[""] = h.requests
		if _, exists := h.results[r.path]; exists || len(h.results) < maxHolds {
			h.results[r.path] = h.requests
		}
	case Forbidden, NotFound, NotOffered:
		if _, exists := h.denied[key]; exists || outcome != NotOffered && len(h.denied) < maxHolds {
			h.denied[key] = h.requests
		}
	}
}

// onlyThis reports whether a method was denied before, and another method at the path has had a result since; at any path if it is empty. Then
// a refusal concerns only this method, not the whole upstream.
func (h *holds) onlyThis(r request, path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, denied := h.denied[heldAt(r.op, r.path)]
	return r.Verb == "" && denied && h.results[path] > at
}

// heldCall is a method at a path. An empty path means every path. An empty op means every method.
type heldCall struct{ op, path string }

// hold is the state of a call. Before the time in until, the call is not sent.
type hold struct {
	until time.Time
	err   error         // the refusal; nil if the upstream answered the call, or requested a pause
	wait  time.Duration // from the last refusal to until

	answered bool // the upstream answered the call at least once
}

const (
	// maxRepeat is the maximum time for which a refused call is not sent. ForgetAnswers ends it, as after a new version of the upstream.
	maxRepeat = time.Hour
	// maxHolds is the maximum number of stored calls of an upstream, to limit memory.
	maxHolds = 4096
)

// heldAt returns the key of a call. The query of the path does not count.
func heldAt(op, path string) heldCall {
	path, _, _ = strings.Cut(path, "?")
	return heldCall{op, path}
}

// check returns the error of a call that must not be sent now, and nil otherwise.
func (h *holds) check(op, path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if refused := h.known[heldAt(op, path)]; refused.err != nil && time.Now().Before(refused.until) {
		return refused.err
	}
	if left := h.pauseLeft(op); left > 0 {
		return &Error{op, RateLimited, fmt.Errorf("pause requested by the upstream, %s left", max(time.Second, left.Round(time.Second)))}
	}
	return nil
}

// pauseLeft returns the rest of the pause that the upstream requested for op. The caller holds h.mu.
func (h *holds) pauseLeft(op string) time.Duration {
	return max(0, time.Until(h.known[heldCall{op: op}].until), time.Until(h.known[heldCall{}].until))
}

// left returns the rest of the pause that the upstream requested for op.
func (h *holds) left(op string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pauseLeft(op)
}

// pause stores that the upstream requested a pause for op; an empty op means every method. It returns the end of the pause.
func (h *holds) pause(op string, d time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := heldCall{op: op}
	until := time.Now().Add(d)
	if known := h.known[key].until; known.After(until) {
		return known
	}
	h.set(key, hold{until: until})
	return until
}

// ended stores the result of a call. The first refusal holds the call for the time that repeatAfter returns. Each further refusal
// in a row doubles this time, up to maxRepeat. The error that it returns says whether the call was answered before.
func (h *holds) ended(op, path string, err error) error {
	if h.repeatAfter == nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := heldAt(op, path)
	before, exists := h.known[key]
	if err == nil {
		if !exists || before.err != nil {
			h.set(key, hold{answered: true})
		}
		return nil
	}
	var e *Error
	if errors.As(err, &e) && slices.Contains([]Outcome{NotOffered, NotFound, Forbidden}, e.Outcome) && before.answered && !IsLost(err) {
		err = &Error{e.Op, e.Outcome, &lost{e.Err}}
	}
	wait := h.repeatAfter(key.path, err, exists && before.err == nil)
	if wait <= 0 || before.err != nil && time.Now().Before(before.until) { // no refusal, or a concurrent call was refused
		return err
	}
	wait = min(max(wait, 2*before.wait), maxRepeat)
	h.set(key, hold{time.Now().Add(wait), err, wait, before.answered})
	return err
}

func (h *holds) set(key heldCall, to hold) {
	if h.known == nil {
		h.known = map[heldCall]hold{}
	}
	if _, exists := h.known[key]; exists || len(h.known) < maxHolds {
		h.known[key] = to
	}
}

// release lets refused calls be sent again.
func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, known := range h.known {
		if known.err != nil {
			h.known[key] = hold{err: known.err, answered: known.answered}
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
		if key.path != "" {
			all = append(all, Offer{key.op, key.path, known.err})
		}
	}
	slices.SortFunc(all, func(a, b Offer) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Path, b.Path)) })
	return all
}
