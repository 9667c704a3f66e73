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

// Metrics counts and measures requests. Set it as Options.Metrics of each Upstream. A nil Metrics does nothing. Metrics serves
// its families without a registry, because a fleet has tens of thousands of these series. In a registry, these series would
// take half of the memory and CPU of the whole program.
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

// measure counts and measures the requests of one upstream. A nil measure does nothing.
type measure struct {
	metrics  *Metrics
	upstream string

	mu     sync.Mutex
	ops    []*opCounts // ordered by op
	until  []wait      // ordered by op
	expiry float64     // expiry of the upstream's certificate in Unix seconds; 0: no certificate received
}

// wait is the end of a requested pause of op, or of allOps, in Unix seconds.
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

// tally is the count of an outcome since a time.
type tally struct {
	outcome Outcome
	since   time.Time
	n       uint64
}

// durations is a histogram of seconds, with classic buckets (bounds) and native buckets (resolution).
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

// bounds are the upper bounds of the classic buckets, in seconds. There are few, because each bucket is a series per upstream
// and method. In a fleet, these series are nearly half of all series.
var bounds = [...]float64{0.01, 0.1, 0.5, 2.5, 10}

// resolution is the schema of the native histogram: each upper bound is 2^(1/8) times the previous one, about 9 % more.
const resolution = 3

// shortest limits the number of native buckets: a shorter duration counts in the bucket of shortest. From shortest to a
// minute, there are about 200 buckets.
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

// newMeasure returns a new measure for an upstream. It replaces an earlier measure of the same name.
func (m *Metrics) newMeasure(upstream string) *measure {
	if m == nil {
		return nil
	}
	created := &measure{metrics: m, upstream: upstream}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.upstreams[upstream] = created
	return created
}

// count counts a request.
func (m *measure) count(op string, outcome Outcome) {
	m.change(func() { add(&m.at(op).requests, outcome) })
}

// unsent counts a call or a retry that was not sent.
func (m *measure) unsent(op string, outcome Outcome) {
	m.change(func() { add(&m.at(op).unsent, outcome) })
}

// took stores the duration of a request.
func (m *measure) took(op string, d time.Duration) {
	m.change(func() { m.at(op).duration.observe(d, time.Now()) })
}

// waits stores the end of the pause that the upstream requested.
func (m *measure) waits(op string, until time.Time) {
	m.change(func() {
		i, found := slices.BinarySearchFunc(m.until, op, func(w wait, op string) int { return cmp.Compare(w.op, op) })
		if !found {
			m.until = slices.Insert(m.until, i, wait{op: op})
		}
		m.until[i].at = float64(until.Unix())
	})
}

// presented stores the expiry of the certificate that the upstream presented.
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

// forget deletes the upstream's series. A call that is still in progress does not create them again.
func (m *measure) forget() {
	if m == nil {
		return
	}
	m.metrics.mu.Lock()
	defer m.metrics.mu.Unlock()
	if m.metrics.upstreams[m.upstream] == m {
		delete(m.metrics.upstreams, m.upstream)
	}
}
