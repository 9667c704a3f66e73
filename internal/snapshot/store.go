// Package snapshot keeps the latest run of every job and serves its samples.
// A run is replaced whole, never edited, so a page never mixes two states of
// one job; a sample that has outlived its run by three periods is not served.
package snapshot

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Key names a job: which collector, asked of whom.
type Key struct{ Collector, Target string }

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Collector, o.Collector), cmp.Compare(k.Target, o.Target))
}

// Run is how one run of a job went.
type Run struct {
	Key
	At   time.Time     // when it began
	Took time.Duration // until it ended
	// Until is when these samples have to be gone from /metrics, if no later
	// run replaces them.
	Until  time.Time
	Chunks []metric.Chunk
	Tables []metric.Table
	// Err is why the run failed. A failed run carries neither samples nor tables:
	// it changes the verdict, and those of the last good run stay for their time.
	Err error
}

// Job is what the store knows of one job.
type Job struct {
	Last Run // the latest run, good or bad
	Good Run // the latest good run; its Key is empty if there was none
}

// Fresh returns the samples that may be served at t.
func (j Job) Fresh(t time.Time) []metric.Chunk {
	if t.Before(j.Good.Until) {
		return j.Good.Chunks
	}
	return nil
}

// Store keeps a Job for every Key. The scheduler is its only writer.
type Store struct {
	mu   sync.RWMutex
	jobs map[Key]*Job // a *Job is replaced, never changed
}

// New returns an empty store.
func New() *Store { return &Store{jobs: map[Key]*Job{}} }

// Put records a run.
func (s *Store) Put(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Job{Last: r, Good: r}
	if r.Err != nil {
		next.Good = Run{}
		if old := s.jobs[r.Key]; old != nil {
			next.Good = old.Good
		}
	}
	s.jobs[r.Key] = next
}

// Delete forgets a job that is no longer wanted, with its samples.
func (s *Store) Delete(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, k)
}

// Jobs returns every job that has run, ordered by collector and target.
func (s *Store) Jobs() []Job {
	s.mu.RLock()
	jobs := make([]Job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, *j)
	}
	s.mu.RUnlock()
	slices.SortFunc(jobs, func(a, b Job) int { return a.Last.compare(b.Last.Key) })
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

// family is one family with the chunks of all jobs that feed it.
type family struct {
	*metric.Family
	chunks []metric.Chunk
}

// families returns what may be served at t, ordered by name.
func (s *Store) families(t time.Time) []family {
	byName := map[string]*family{}
	for _, j := range s.Jobs() {
		for _, c := range j.Fresh(t) {
			f := byName[c.Family.Name]
			if f == nil {
				f = &family{Family: c.Family}
				byName[c.Family.Name] = f
			}
			f.chunks = append(f.chunks, c)
		}
	}
	all := make([]family, 0, len(byName))
	for _, f := range byName {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b family) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Value is a sample with its labels by name.
type Value struct {
	Labels map[string]string
	Value  float64
}

// Values returns the samples of one family that may be served at t.
func (s *Store) Values(name string, t time.Time) []Value {
	var values []Value
	for _, j := range s.Jobs() {
		for _, c := range j.Fresh(t) {
			if c.Family.Name != name {
				continue
			}
			for _, sample := range c.Samples() {
				v := Value{Labels: make(map[string]string, len(sample.Labels)), Value: sample.Value}
				for i, label := range sample.Labels {
					v.Labels[c.Family.Labels[i]] = label
				}
				values = append(values, v)
			}
		}
	}
	return values
}

// Table is a table with the job that it comes from.
type Table struct {
	Key
	metric.Table
}

// Tables returns the tables that may be shown at t, ordered by collector and
// target, those of one run in its own order.
func (s *Store) Tables(t time.Time) []Table {
	var tables []Table
	for _, j := range s.Jobs() {
		if !t.Before(j.Good.Until) {
			continue
		}
		for _, found := range j.Good.Tables {
			tables = append(tables, Table{j.Good.Key, found})
		}
	}
	return tables
}

// Write writes what may be served at t: lines that are both the text format
// and OpenMetrics, without OpenMetrics' closing line.
func (s *Store) Write(w io.Writer, t time.Time) error {
	for _, f := range s.families(t) {
		if _, err := w.Write(f.Header()); err != nil {
			return err
		}
		for _, c := range f.chunks {
			if _, err := w.Write(c.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
