package staking

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Reading is a validator's balance at a P-Chain time (platform.getTimestamp), which advances only with blocks.
type Reading struct {
	At      time.Time
	Balance uint64 // nAVAX
}

// Meter measures the burn rate of one validator: the decrease of its balance per second. It stores only the last falls of the
// balance, about 300 bytes. The zero Meter is ready for use. It is not safe for concurrent use.
type Meter struct {
	last  Reading
	falls []fall // oldest first, at most maxFalls
}

const maxFalls = 16

// fall is a decrease of the balance between two readings.
type fall struct {
	rate float64 // nAVAX per second
	took time.Duration
}

// Add adds a reading. It ignores a reading that is not later than the last. It also ignores a reading with an unchanged balance:
// a balance falls with every block, so this balance is older than the time of the reading. In two cases, Add measures no burn
// rate. If the balance rose, there was a top-up, whose amount is not known. If the balance is 0, it may have reached 0 earlier.
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
	if len(m.falls) == maxFalls {
		m.falls = slices.Delete(m.falls, 0, 1)
	}
	m.falls = append(m.falls, fall{float64(m.last.Balance-r.Balance) / took.Seconds(), took})
	m.last = r
}

// Burn returns the median burn rate of the last falls, weighted by their duration. If the median is between two rates, the higher
// rate counts. The rate is known after the first fall. It is above 0. A top-up that is smaller than the burn makes a fall look
// slow. The median is correct as long as such falls take at most half of the time.
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

// Meters measure the burn rates of the validators of one L1, by validation ID.
type Meters map[string]*Meter

// Measure sets the burn rate of each validator of the set to the measured one, which is at least floor, in nAVAX per second. All validators
// pay the same fee, so a validator without a measurement gets the highest rate. If none is known, the set is Unpriced. The balances are not
// measured if it is not certain that they are those of the time At. The meters of validators that have left the set are removed.
func (m Meters) Measure(l *L1, certain bool, floor float64) {
	present, highest := map[string]bool{}, floor
	for i := range l.Set {
		v := &l.Set[i]
		if v.Legacy {
			continue
		}
		present[v.ID] = true
		if m[v.ID] == nil {
			m[v.ID] = &Meter{}
		}
		if certain {
			m[v.ID].Add(Reading{At: l.At, Balance: v.Balance})
		}
		if burn, known := m[v.ID].Burn(); known {
			v.Burn = max(burn, floor)
			highest = max(highest, burn)
		}
	}
	maps.DeleteFunc(m, func(id string, _ *Meter) bool { return !present[id] })
	for i := range l.Set {
		if v := &l.Set[i]; !v.Legacy && v.Burn == 0 {
			v.Burn = highest
		}
	}
	l.Unpriced = highest == 0 && len(present) > 0
}
