// Package snapshot stores the latest run of every job and serves its samples. A run replaces the previous run as a whole, so
// a page never mixes two states of one job. Samples expire after three periods.
package snapshot

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// Key identifies a job: collector and target.
type Key struct {
	Collector string
	Target    metric.Target
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Collector, o.Collector), k.Target.Compare(o.Target))
}

// Run is the result of one run of a job.
type Run struct {
	Key
	At   time.Time     // start
	Took time.Duration // duration
	// Until is when these samples expire, unless a later run replaces them before.
	Until  time.Time
	Period time.Duration // of the job's schedule
	Chunks []metric.Chunk
	Tables []metric.Table
	Facts  metric.Facts
	// Skipped is the number of skipped ticks of the job since the exporter started. Panics is the number of runs of the job
	// that ended in a panic since then.
	Skipped, Panics uint64
	// Err is the error of a failed run. If a failed run has no samples, the samples of the last good run stay until they
	// expire. A run with more series than its limit fails too, but it has the samples within the limit.
	Err error
}

// Job is the state of one job in the store.
type Job struct {
	Last Run // latest run, failed or not
	// Good is the latest good run, usually Last itself. Its Key is empty if there was no good run. After a run with more series
	// than its limit, Good has the samples of that run.
	Good *Run

	served []metric.Chunk // samples that Page contains
}

// Fresh returns the samples that may be served at t.
func (j Job) Fresh(t time.Time) []metric.Chunk {
	if t.Before(j.Good.Until) {
		return j.Good.Chunks
	}
	return nil
}

// Store holds a Job for every Key. Only the scheduler writes to it.
type Store struct {
	mu      sync.RWMutex
	jobs    map[Key]*Job // a *Job is never changed, only replaced
	samples familyIndex
	changes int            // number of changes of jobs
	series  map[string]int // samples by collector
	until   time.Time      // before this time no sample expires

	packing sync.Mutex // locked by the scrape that compresses pages
	health  struct {   // samples of Health after this number of changes; guarded by packing
		changes int
		parts   []*part
	}
}

// New returns an empty store.
func New() *Store {
	return &Store{jobs: map[Key]*Job{}, series: map[string]int{}, samples: newFamilyIndex()}
}

// Put records a run.
func (s *Store) Put(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.jobs[r.Key]
	if old == nil {
		old = &Job{Good: &Run{}}
	}
	next := &Job{Last: r, served: r.Chunks}
	next.Good = &next.Last
	if r.Err != nil {
		good := *old.Good
		good.Chunks, good.Tables, good.Facts, good.Until = r.Chunks, r.Tables, r.Facts, r.Until
		next.Good = &good
	}
	if r.Err != nil && r.Chunks == nil {
		next.Good, next.served = old.Good, old.served
	}
	s.jobs[r.Key] = next
	s.changes++
	s.serve(&next.Last.Key, old.served, next.served)
	if next.served != nil && next.Good.Until.Before(s.until) {
		s.until = next.Good.Until
	}
}

// Skipped stores how many ticks of a job were skipped. A job whose first run has not ended has no series yet.
func (s *Store) Skipped(k Key, ticks uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.jobs[k]
	if old == nil {
		return
	}
	next := *old
	next.Last.Skipped = ticks
	if old.Good == &old.Last {
		next.Good = &next.Last
	}
	s.jobs[k] = &next
	s.changes++
}

// serve replaces the served samples of a job. The caller holds s.mu.
func (s *Store) serve(k *Key, old, chunks []metric.Chunk) {
	if len(old) == len(chunks) && (len(old) == 0 || &old[0] == &chunks[0]) {
		return
	}
	for _, c := range chunks {
		s.series[k.Collector] += c.Series
	}
	for _, c := range old {
		s.series[k.Collector] -= c.Series
	}
	s.samples.replace(k, old, chunks)
}

// SeriesBeside returns the number of series that the collector of k serves for targets other than k.Target.
func (s *Store) SeriesBeside(k Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	n := s.series[k.Collector]
	if j := s.jobs[k]; j != nil {
		for _, c := range j.served {
			n -= c.Series
		}
	}
	return n
}

// Delete removes a job and its samples.
func (s *Store) Delete(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[k]; j != nil {
		delete(s.jobs, k)
		s.changes++
		s.serve(&k, j.served, nil)
	}
}

// expire deletes expired samples. The caller holds s.mu.
func (s *Store) expire(t time.Time) {
	if t.Before(s.until) {
		return
	}
	s.until = t.Add(24 * time.Hour)
	for k, j := range s.jobs {
		switch {
		case j.served == nil:
		case t.Before(j.Good.Until):
			if j.Good.Until.Before(s.until) {
				s.until = j.Good.Until
			}
		default:
			gone := *j
			gone.served = nil
			s.jobs[k] = &gone
			s.serve(&k, j.served, nil)
		}
	}
}

// Len returns the number of jobs that have run.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.jobs)
}

// Jobs returns every job that has run, ordered by collector and target.
func (s *Store) Jobs() []*Job {
	s.mu.RLock()
	jobs := make([]*Job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, j)
	}
	s.mu.RUnlock()
	slices.SortFunc(jobs, func(a, b *Job) int { return a.Last.compare(b.Last.Key) })
	return jobs
}

// Last returns the job's latest run, or a zero Run.
func (s *Store) Last(k Key) Run {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if j := s.jobs[k]; j != nil {
		return j.Last
	}
	return Run{}
}

// Table is a table and the job that added it.
type Table struct {
	Key
	metric.Table
}

// Tables returns the tables of these jobs that are valid at t. Tables of one run stay in the order in which the run added them.
func Tables(jobs []*Job, t time.Time) []Table {
	var tables []Table
	for _, j := range jobs {
		if !t.Before(j.Good.Until) {
			continue
		}
		for _, found := range j.Good.Tables {
			tables = append(tables, Table{j.Last.Key, found})
		}
	}
	return tables
}

// Page returns the samples that are valid at t and the state of jobs. In OpenMetrics, the closing line is missing. Any other
// format means the text format. Only families that changed since the last call are compressed again.
func (s *Store) Page(t time.Time, format expfmt.FormatType) pack.Blocks {
	return s.page(t, format, true)
}

// Write writes the samples that are valid at t in the text format, without the state of jobs.
func (s *Store) Write(w io.Writer, t time.Time) error {
	_, err := s.page(t, expfmt.TypeTextPlain, false).WriteTo(w)
	return err
}

func (s *Store) page(t time.Time, format expfmt.FormatType, health bool) pack.Blocks {
	s.packing.Lock()
	defer s.packing.Unlock()
	// Read samples and jobs under one lock: a page never mixes two states of one job.
	var jobs []*Job
	s.mu.Lock()
	s.expire(t)
	parts := s.samples.parts()
	if health && s.health.changes != s.changes {
		s.health.changes, jobs = s.changes, slices.Collect(maps.Values(s.jobs))
	}
	s.mu.Unlock()
	if jobs != nil {
		s.health.parts = healthParts(jobs)
	}
	if health {
		parts = append(parts, s.health.parts...)
	}

	var page pack.Blocks
	var packed []*part
	for _, p := range parts {
		if p.pages.text == nil {
			p.pack()
			packed = append(packed, p)
		}
		page = append(page, p.pages.in(format)...)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range packed {
		if p.of != nil && p.of.changes == p.changes {
			p.of.pages = p.pages
		}
	}
	return page
}
