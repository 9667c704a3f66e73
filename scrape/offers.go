package scrape

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Offer is a method at a path, and whether the upstream offers it.
type Offer struct {
	Op, Path string
	Err      error // why it does not; nil where it does
}

// offers stores which methods an upstream offers.
type offers struct {
	withholds func(error) bool // nil: nothing is stored
	mu        sync.Mutex
	known     map[[2]string]offer
}

// offer is a known answer: the error of a withheld method, how long it counts, and until when.
type offer struct {
	err   error
	holds time.Duration
	until time.Time
}

// The time before a withheld call is sent again: after the first refusal, and the maximum. Each further refusal in a row
// doubles it, so a single wrong refusal withholds a method for only a minute.
const (
	firstWithheld = time.Minute
	mostWithheld  = time.Hour
)

// mostOffers limits the memory. The methods of a node, on the monitored chains, are far fewer.
const mostOffers = 4096

// withheld returns the error of a call that must not be sent again yet.
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

// note stores whether the result of a request shows that its method is offered.
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
	q := [2]string{c.op, c.path}
	before, is := o.known[q]
	switch {
	case !is && len(o.known) >= mostOffers:
	case err == nil:
		o.known[q] = offer{}
	case time.Now().Before(before.until): // sent before the first refusal came
	default:
		holds := min(max(firstWithheld, 2*before.holds), mostWithheld)
		o.known[q] = offer{err, holds, time.Now().Add(holds)}
	}
}

// Offers returns what is known about the methods that the upstream offers, by method and path. It is empty without Options.Withholds.
func (u *Upstream) Offers() []Offer {
	u.offers.mu.Lock()
	defer u.offers.mu.Unlock()
	all := make([]Offer, 0, len(u.offers.known))
	for shareKey, known := range u.offers.known {
		all = append(all, Offer{shareKey[0], shareKey[1], known.err})
	}
	slices.SortFunc(all, func(a, b Offer) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Path, b.Path)) })
	return all
}
