package scrape

import (
	"cmp"
	"crypto/x509"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Metrics counts and measures the requests of every Upstream that has it. A nil Metrics does nothing. It serves its families
// itself: a fleet has tens of thousands of series here, and in a registry they would take half of the memory and CPU of the
// whole program.
type Metrics struct {
	mu        sync.Mutex
	upstreams map[string]*measure
}

// NewMetrics returns metrics without series.
func NewMetrics() *Metrics { return &Metrics{upstreams: map[string]*measure{}} }

// all returns the upstreams in the order of their names.
func (m *Metrics) all() []*measure {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*measure, 0, len(m.upstreams))
	for _, name := range slices.Sorted(maps.Keys(m.upstreams)) {
		all = append(all, m.upstreams[name])
	}
	return all
}

// measure counts and measures the requests of one upstream until forget. A nil measure does nothing.
type measure struct {
	of       *Metrics
	upstream string

	mu     sync.Mutex
	ops    []*opCounts // ordered by op
	until  []wait      // ordered by op
	expiry float64     // 0: no certificate was seen
}

// wait is the end of a wait for one op or all, in Unix seconds.
type wait struct {
	op string
	at float64
}

// opCounts are the counts of one op.
type opCounts struct {
	op               string
	requests, unsent []tally // ordered by outcome
	duration         durations
}

// tally counts an outcome.
type tally struct {
	outcome Outcome
	since   time.Time
	n       uint64
}

// durations is a histogram with the classic buckets of bounds and the native buckets of a resolution.
type durations struct {
	since   time.Time // zero: no duration was observed
	sum     float64
	classic [len(bounds) + 1]uint64 // the last bucket has no bound
	native  []nativeBucket          // ordered by index
}

type nativeBucket struct {
	index int
	n     uint64
}

// bounds are the classic buckets. They are few: each is a series per upstream and method, together nearly half of all series
// of a fleet.
var bounds = [...]float64{0.01, 0.1, 0.5, 2.5, 10}

// resolution is the schema of the native histogram: a bucket is wider than the one before by a factor of 2^(1/8), about 9 %.
const resolution = 3

// shortest is the smallest duration that native buckets tell apart. It limits their number to about 300.
const shortest = time.Microsecond

func (h *durations) observe(d time.Duration, now time.Time) {
	if h.since.IsZero() {
		h.since = now
	}
	seconds := d.Seconds()
	h.sum += seconds
	i, _ := slices.BinarySearch(bounds[:], seconds)
	h.classic[i]++
	index := int(math.Ceil(math.Log2(max(d, shortest).Seconds()) * (1 << resolution)))
	at, found := slices.BinarySearchFunc(h.native, index, func(b nativeBucket, index int) int { return b.index - index })
	if !found {
		h.native = slices.Insert(h.native, at, nativeBucket{index: index})
	}
	h.native[at].n++
}

func (h *durations) count() (n uint64) {
	for _, bucket := range h.classic {
		n += bucket
	}
	return n
}

// of returns the measure of an upstream. It replaces an earlier one of the same name.
func (m *Metrics) of(upstream string) *measure {
	if m == nil {
		return nil
	}
	of := &measure{of: m, upstream: upstream}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.upstreams[upstream] = of
	return of
}

// count counts a request.
func (m *measure) count(op string, outcome Outcome) {
	m.change(func() { add(&m.at(op).requests, outcome) })
}

// unsent counts a call that ended before it became a request.
func (m *measure) unsent(op string, outcome Outcome) {
	m.change(func() { add(&m.at(op).unsent, outcome) })
}

// took measures a request.
func (m *measure) took(op string, d time.Duration) {
	m.change(func() { m.at(op).duration.observe(d, time.Now()) })
}

// waits stores the end of the wait that the upstream asked for.
func (m *measure) waits(op string, until time.Time) {
	m.change(func() {
		i, found := slices.BinarySearchFunc(m.until, op, func(w wait, op string) int { return cmp.Compare(w.op, op) })
		if !found {
			m.until = slices.Insert(m.until, i, wait{op: op})
		}
		m.until[i].at = float64(until.Unix())
	})
}

// presented notes the certificate of the upstream on the connection of a call.
func (m *measure) presented(chain []*x509.Certificate) {
	if len(chain) > 0 {
		m.change(func() { m.expiry = float64(chain[0].NotAfter.Unix()) })
	}
}

func (m *measure) change(f func()) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// at returns the counts of an op. The caller holds m.mu.
func (m *measure) at(op string) *opCounts {
	i, found := slices.BinarySearchFunc(m.ops, op, func(c *opCounts, op string) int { return cmp.Compare(c.op, op) })
	if !found {
		m.ops = slices.Insert(m.ops, i, &opCounts{op: op})
	}
	return m.ops[i]
}

func add(to *[]tally, outcome Outcome) {
	i, found := slices.BinarySearchFunc(*to, outcome, func(t tally, o Outcome) int { return cmp.Compare(t.outcome, o) })
	if !found {
		*to = slices.Insert(*to, i, tally{outcome: outcome, since: time.Now()})
	}
	(*to)[i].n++
}

// forget deletes the upstream's series. A call in progress does not restore them.
func (m *measure) forget() {
	if m == nil {
		return
	}
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.of.upstreams[m.upstream] == m {
		delete(m.of.upstreams, m.upstream)
	}
}
