package metric

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Store holds a Job for every Key. A run replaces the previous run of its job as a whole, so a scrape never mixes two states of
// one job. Only the scheduler writes to it.
type Store struct {
	mu       sync.Mutex
	jobs     map[Key]*Job // a *Job is never changed, only replaced
	families map[string]*family
	series   int
	own      ownPage
}

// family holds the chunks of all jobs with samples of one family.
type family struct {
	headers map[bool]*block // for OpenMetrics and for the text format
	groups  []*group        // ordered by job, none is empty
}

// group holds consecutive parts of a family. Each group is compressed separately, so that a change of one part does not compress
// the whole family again.
type group struct {
	parts []part
	block *block // compressed parts; nil after a change
}

// maxGroup is the number of series above which a group of several parts is split.
const maxGroup = 500

// part points to data of the job, because a fleet has a hundred thousand parts.
type part struct {
	job *Key
	*Chunk
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{jobs: map[Key]*Job{}, families: map[string]*family{}} }

// Put records a run.
func (s *Store) Put(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.jobs[r.Key]
	if old == nil {
		old = &Job{Good: &Run{}}
	}
	next := &Job{Last: r, served: r.Chunks}
	switch {
	case r.Err == nil:
		next.Good = &next.Last
	case r.Chunks == nil:
		next.Good, next.served = old.Good, old.served
	default:
		good := *old.Good
		good.Chunks, good.Tables, good.Facts, good.Until = r.Chunks, r.Tables, r.Facts, r.Until
		next.Good = &good
	}
	next.about = aboutJob(next)
	s.jobs[r.Key] = next
	s.replace(&next.Last.Key, old.served, next.served)
	s.replace(&next.Last.Key, old.about, next.about)
}

// Delete removes a job and its samples.
func (s *Store) Delete(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[k]; j != nil {
		delete(s.jobs, k)
		s.replace(&k, j.served, nil)
		s.replace(&k, j.about, nil)
	}
}

// expire removes expired samples. The caller holds s.mu.
func (s *Store) expire(t time.Time) {
	for k, old := range s.jobs {
		if old.expired || t.Before(old.Good.Until) {
			continue
		}
		j := *old
		j.expired, j.served = true, nil
		j.about = aboutJob(&j)
		s.jobs[k] = &j
		s.replace(&k, old.served, nil)
		s.replace(&j.Last.Key, old.about, j.about)
	}
}

// replace replaces the old chunks of a job with new ones. The caller holds s.mu.
func (s *Store) replace(k *Key, old, chunks []Chunk) {
	if len(old) == len(chunks) && (len(old) == 0 || &old[0] == &chunks[0]) {
		return
	}
	for i := range chunks {
		c := &chunks[i]
		f := s.families[c.Family.Name]
		if f == nil {
			f = &family{headers: map[bool]*block{false: {header: c.Family.text}, true: {header: c.Family.openMetrics}}}
			s.families[c.Family.Name] = f
		}
		s.series += len(c.Samples) - f.set(part{k, c})
	}
	for _, c := range old {
		if slices.ContainsFunc(chunks, func(n Chunk) bool { return n.Family.Name == c.Family.Name }) {
			continue
		}
		f := s.families[c.Family.Name]
		s.series -= f.remove(*k)
		if len(f.groups) == 0 {
			delete(s.families, c.Family.Name)
		}
	}
}

// set adds or replaces the part of a job. It returns the number of series that it replaced.
func (f *family) set(p part) (replaced int) {
	at, i, found := f.find(*p.job)
	if at == len(f.groups) {
		f.groups = append(f.groups, &group{})
	}
	g := f.groups[at]
	if found {
		old := g.parts[i]
		g.parts[i] = p
		if slices.EqualFunc(old.Samples, p.Samples, Sample.equal) {
			return len(old.Samples)
		}
		replaced = len(old.Samples)
	} else {
		g.parts = slices.Insert(g.parts, i, p)
	}
	g.block = nil
	series := 0
	for _, p := range g.parts {
		series += len(p.Samples)
	}
	if half := len(g.parts) / 2; series > maxGroup && half > 0 {
		f.groups = slices.Insert(f.groups, at+1, &group{parts: slices.Clone(g.parts[half:])})
		g.parts = slices.Clone(g.parts[:half])
	}
	return replaced
}

// remove removes the part of a job. It returns the number of series that it removed.
func (f *family) remove(k Key) (removed int) {
	at, i, found := f.find(k)
	if !found {
		return 0
	}
	g := f.groups[at]
	removed = len(g.parts[i].Samples)
	if g.parts, g.block = slices.Delete(g.parts, i, i+1), nil; len(g.parts) == 0 {
		f.groups = slices.Delete(f.groups, at, at+1)
	}
	return removed
}

// find returns the group and the index in this group where the part of a job is, or belongs.
func (f *family) find(k Key) (at, i int, found bool) {
	at, found = slices.BinarySearchFunc(f.groups, k, func(g *group, k Key) int { return g.parts[0].job.compare(k) })
	if !found && at > 0 {
		at-- // the group that begins before it
	}
	if at < len(f.groups) {
		i, found = slices.BinarySearchFunc(f.groups[at].parts, k, func(p part, k Key) int { return p.job.compare(k) })
	}
	return at, i, found
}

// Len returns the number of jobs that have run.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

// Jobs returns every job that has run, ordered by collector and target.
func (s *Store) Jobs() []*Job {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	slices.SortFunc(jobs, func(a, b *Job) int { return a.Last.compare(b.Last.Key) })
	return jobs
}

// Last returns the job's latest run, or a zero Run.
func (s *Store) Last(k Key) Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[k]; j != nil {
		return j.Last
	}
	return Run{}
}

var (
	success = New("avax_exporter_collector_success",
		"1 if the collector's last run for this target succeeded, 0 if it failed. Absent until the first run has ended.",
		"collector", "target")
	lastSuccess = New("avax_exporter_collector_last_success_timestamp_seconds",
		"Start of the collector's last successful run for this target, in Unix seconds, if a later run failed or the samples of this run have expired.",
		"collector", "target")
)

// AboutJobs are the families about jobs. The store serves them like samples, because in a registry the tens of thousands of jobs of
// a fleet would cost each scrape more than everything else. While all jobs succeed, they do not change.
var AboutJobs = []*Family{success, lastSuccess}

func aboutJob(j *Job) []Chunk {
	collector, target := j.Last.Collector, j.Last.Target.String()
	b := NewBatch(AboutJobs)
	b.SetBool(success, j.Last.Err == nil, collector, target)
	if !j.Good.At.IsZero() && (j.expired || j.Last.Err != nil) {
		b.SetTime(lastSuccess, j.Good.At, collector, target)
	}
	return b.Chunks()
}

var series = prometheus.NewDesc("avax_exporter_series",
	"Number of series that the exporter serves now, without those of its own registry.", nil, nil)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) { ch <- series }

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	ch <- prometheus.MustNewConstMetric(series, prometheus.GaugeValue, float64(s.series))
}
