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
	withholds func(error) bool // nil: nothing is remembered
	mu        sync.Mutex
	known     map[[2]string]offer
}

// offer is a known answer: the error of a withheld method, and how long it counts.
type offer struct {
	err   error
	until time.Time
}

// withholdingHolds is the time before a withheld call is sent again. What an endpoint offers seldom changes.
const withholdingHolds = time.Hour

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

// note stores whether the result of a call shows that its method is offered.
func (o *offers) note(c call, err error) {
	if o.withholds == nil {
		return
	}
	known := offer{}
	switch {
	case err == nil:
	case o.withholds(err):
		known = offer{err, time.Now().Add(withholdingHolds)}
	default:
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[[2]string]offer{}
	}
	if len(o.known) < mostOffers {
		o.known[[2]string{c.op, c.path}] = known
	}
}

// Offers returns what is known about the methods that the upstream offers, by method and path. It is empty without Options.Withholds.
func (u *Upstream) Offers() []Offer {
	u.offers.mu.Lock()
	defer u.offers.mu.Unlock()
	all := make([]Offer, 0, len(u.offers.known))
	for question, known := range u.offers.known {
		all = append(all, Offer{question[0], question[1], known.err})
	}
	slices.SortFunc(all, func(a, b Offer) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Path, b.Path)) })
	return all
}
