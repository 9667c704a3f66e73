package metric

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Store holds a Job for every Key. A run replaces the previous run of its job as a whole, so a scrape never mixes two states of
// one job. Only the scheduler writes to it.
type Store struct {
	mu       sync.Mutex
	jobs     map[Key]*Job        // a *Job is never changed, only replaced
	order    []Key               // of the jobs; nil after a job was added or removed
	sections map[string]*section // by the name of the family
	series   int
	whole    int // see wholeUpTo
	own      ownPage
}

// section is the part of a page with one family: the chunks of all jobs with samples of it.
type section struct {
	headers  map[bool]*block // for OpenMetrics and for the text format
	segments []*segment      // ordered by job, none is empty
}

// segment holds consecutive chunks of a section. Each segment is compressed separately, so that a change of one chunk does not
// compress the whole section again.
type segment struct {
	chunks []jobChunk
	block  *block // compressed chunks; nil after a change
}

// maxSegment is the number of series above which a segment of several chunks is split.
const maxSegment = 500

// jobChunk points to data of the job, because a fleet has a hundred thousand of them.
type jobChunk struct {
	job *Key
	*Chunk
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{jobs: map[Key]*Job{}, sections: map[string]*section{}, whole: wholeUpTo}
}

// Put records a run.
func (s *Store) Put(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.jobs[r.Key]
	if old == nil {
		old, s.order = &Job{Good: &Run{}}, nil
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
		s.order = nil
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
		s.replace(&j.Last.Key, old.served, nil) // &k would allocate a key for each job of each page
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
		sec := s.sections[c.Family.Name]
		if sec == nil {
			sec = &section{headers: map[bool]*block{false: {header: c.Family.text}, true: {header: c.Family.openMetrics}}}
			s.sections[c.Family.Name] = sec
		}
		s.series += len(c.Samples) - sec.set(jobChunk{k, c})
	}
	for _, c := range old {
		if slices.ContainsFunc(chunks, func(n Chunk) bool { return n.Family.Name == c.Family.Name }) {
			continue
		}
		sec := s.sections[c.Family.Name]
		s.series -= sec.remove(*k)
		if len(sec.segments) == 0 {
			delete(s.sections, c.Family.Name)
		}
	}
}

// set adds or replaces the chunk of a job. It returns the number of series that it replaced.
func (sec *section) set(c jobChunk) (replaced int) {
	at, i, found := sec.find(*c.job)
	if at == len(sec.segments) {
		sec.segments = append(sec.segments, &segment{})
	}
	seg := sec.segments[at]
	if found {
		old := seg.chunks[i]
		seg.chunks[i] = c
		if slices.EqualFunc(old.Samples, c.Samples, Sample.equal) {
			return len(old.Samples)
		}
		replaced = len(old.Samples)
	} else {
		seg.chunks = slices.Insert(seg.chunks, i, c)
	}
	seg.block = nil
	series := 0
	for _, c := range seg.chunks {
		series += len(c.Samples)
	}
	if half := len(seg.chunks) / 2; series > maxSegment && half > 0 {
		sec.segments = slices.Insert(sec.segments, at+1, &segment{chunks: slices.Clone(seg.chunks[half:])})
		seg.chunks = slices.Clone(seg.chunks[:half])
	}
	return replaced
}

// remove removes the chunk of a job. It returns the number of series that it removed.
func (sec *section) remove(k Key) (removed int) {
	at, i, found := sec.find(k)
	if !found {
		return 0
	}
	seg := sec.segments[at]
	removed = len(seg.chunks[i].Samples)
	if seg.chunks, seg.block = slices.Delete(seg.chunks, i, i+1), nil; len(seg.chunks) == 0 {
		sec.segments = slices.Delete(sec.segments, at, at+1)
	}
	return removed
}

// find returns the segment and the index in it where the chunk of a job is, or belongs.
func (sec *section) find(k Key) (at, i int, found bool) {
	at, found = slices.BinarySearchFunc(sec.segments, k, func(seg *segment, k Key) int { return seg.chunks[0].job.Compare(k) })
	if !found && at > 0 {
		at-- // the segment that begins before it
	}
	if at < len(sec.segments) {
		i, found = slices.BinarySearchFunc(sec.segments[at].chunks, k, func(c jobChunk, k Key) int { return c.job.Compare(k) })
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
	defer s.mu.Unlock()
	if s.order == nil {
		s.order = slices.SortedFunc(maps.Keys(s.jobs), Key.Compare)
	}
	jobs := make([]*Job, len(s.order))
	for i, k := range s.order {
		jobs[i] = s.jobs[k]
	}
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
	failure = New("avax_exporter_collector_failure",
		"1 if the collector's last run for this target failed, with the outcome of the call that failed. Absent if it succeeded.",
		"collector", "target", "outcome")
	lastSuccess = New("avax_exporter_collector_last_success_timestamp_seconds",
		"Start of the collector's last successful run for this target, in Unix seconds, if a later run failed or the samples of this run have expired.",
		"collector", "target")
)

// AboutJobs are the families about jobs. The store serves them like samples, because in a registry the tens of thousands of jobs of
// a fleet would cost each scrape more than everything else. While all jobs succeed, they do not change.
var AboutJobs = []*Family{success, failure, lastSuccess}

func aboutJob(j *Job) []Chunk {
	collector, target := j.Last.Collector, j.Last.Target.String()
	b := NewBatch(AboutJobs)
	b.SetBool(success, j.Last.Err == nil, collector, target)
	if j.Last.Err != nil {
		b.Set(failure, 1, collector, target, string(scrape.OutcomeOf(j.Last.Err)))
	}
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
