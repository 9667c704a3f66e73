package staking

import (
	"cmp"
	"slices"
	"time"
)

// Reading is a validator's balance as of the P-Chain's own time
// (platform.getTimestamp), which moves with its blocks alone.
type Reading struct {
	At      time.Time
	Balance uint64 // nAVAX
}

// Meter measures what one validator burns by the slope of its balance. It
// remembers the last falls only, about 300 bytes. The zero Meter is ready for
// use; it is not safe for concurrent use.
type Meter struct {
	last  Reading
	falls []fall // oldest first, at most mostFalls
}

const mostFalls = 16

type fall struct {
	rate float64 // nAVAX a second
	took time.Duration
}

// Add takes a reading. One that is not later than the last changes nothing, nor
// does one with the same balance: a balance falls with every block, so it was
// read before the time was. A rise is a top-up, and what burned meanwhile is not
// known, so nothing is measured by it. The same goes for a balance that has
// reached 0, since it may have done so at any time in between.
func (m *Meter) Add(r Reading) {
	switch {
	case m.last.At.IsZero() || r.Balance == 0 || r.Balance > m.last.Balance:
		if r.At.After(m.last.At) {
			m.last = r
		}
		return
	case !r.At.After(m.last.At) || r.Balance == m.last.Balance:
		return
	}
	took := r.At.Sub(m.last.At)
	if len(m.falls) == mostFalls {
		m.falls = slices.Delete(m.falls, 0, 1)
	}
	m.falls = append(m.falls, fall{float64(m.last.Balance-r.Balance) / took.Seconds(), took})
	m.last = r
}

// Burn is the median of the last falls, weighted by the time that they took; of
// two it is the higher. It is above 0 where it is known, which is from the
// first fall on. A top-up so small that the balance fell nevertheless makes a
// fall look slow; it is outvoted as long as such falls took no more than half of
// the time.
func (m *Meter) Burn() (nAVAXPerSecond float64, known bool) {
	if len(m.falls) == 0 {
		return 0, false
	}
	falls := slices.SortedFunc(slices.Values(m.falls), func(a, b fall) int { return cmp.Compare(b.rate, a.rate) })
	var all time.Duration
	for _, f := range falls {
		all += f.took
	}
	i := 0
	for faster := falls[0].took; faster < all-faster; faster += falls[i].took {
		i++
	}
	return falls[i].rate, true
}
