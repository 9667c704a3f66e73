package scrape

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Offer reports whether the upstream offers a method at a path.
type Offer struct {
	Op, Path string
	Err      error // the upstream's refusal; nil if it offers the method
}

// offers stores which methods an upstream offers.
type offers struct {
	withholds func(error) bool // nil: nothing is stored
	mu        sync.Mutex
	known     map[[2]string]offer
}

// offer is the zero value if the upstream offers the method.
type offer struct {
	err   error         // the upstream's refusal
	pause time.Duration // calls of the method are not sent during the pause
	until time.Time     // end of the pause
}

// The first and the longest pause after a refusal. Each further refusal in a row doubles the pause. The first pause is short,
// because a single refusal may be wrong.
const (
	firstPauseAfterRefusal = time.Minute
	maxPauseAfterRefusal   = time.Hour
)

// maxOffers is the maximum number of stored methods of an upstream, to limit memory. A node with the monitored chains has
// far fewer.
const maxOffers = 4096

// withheld returns the error of the last refusal if the pause after this refusal has not ended, and nil otherwise.
func (o *offers) withheld(c call) error {
	if o.withholds == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.known[[2]string{c.op, c.path}]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// note stores whether the upstream offers the method of a call. err is the result of the call.
func (o *offers) note(c call, err error) {
	if o.withholds == nil {
		return
	}
	if err != nil && !o.withholds(err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[[2]string]offer{}
	}
	key := [2]string{c.op, c.path}
	before, exists := o.known[key]
	switch {
	case !exists && len(o.known) >= maxOffers:
	case err == nil:
		o.known[key] = offer{}
	case time.Now().Before(before.until): // a concurrent call was already refused
	default:
		pause := min(max(firstPauseAfterRefusal, 2*before.pause), maxPauseAfterRefusal)
		o.known[key] = offer{err, pause, time.Now().Add(pause)}
	}
}

// Offers returns the methods that were called, sorted by method and path, and whether the upstream offers them. Without
// Options.Withholds, the result is empty.
func (u *Upstream) Offers() []Offer {
	u.offers.mu.Lock()
	defer u.offers.mu.Unlock()
	all := make([]Offer, 0, len(u.offers.known))
	for key, known := range u.offers.known {
		all = append(all, Offer{key[0], key[1], known.err})
	}
	slices.SortFunc(all, func(a, b Offer) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Path, b.Path)) })
	return all
}
