// Package schedule runs the collectors' jobs at their scheduled times. A run may take at most half of the job's period. A job
// never runs twice at once. The package is the only writer of the store.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Job is a collector that runs repeatedly for one target.
type Job struct {
	metric.Key
	Families []*metric.Family
	// When is the schedule. Jobs with equal schedules run at the same time, so the value must be comparable.
	When cron.Schedule
	// ReusesAnswers lets a run use answers up to nine tenths of a period old, instead of half a period: not those of its own last run.
	ReusesAnswers bool
	// With Probe, CallsChanged runs the job, and the job runs before all others. With OnChange, NodeChanged runs the job.
	Probe, OnChange bool
	// With Critical, alerts of severity page need the samples. If the exporter is too slow, the job runs longer than others.
	Critical bool
	// With Retry, the job runs again soon after a failure.
	Retry bool
	// Collect calls upstreams and fills the batch. It must return when its context ends.
	Collect func(context.Context, *metric.Batch) error
}

// Scheduler runs jobs until its context ends.
type Scheduler struct {
	ctx   context.Context
	store *metric.Store
	log   *slog.Logger

	mu     sync.Mutex
	jobs   map[metric.Key]*job
	byNode map[string]map[*job]bool // jobs by node; jobs without a node have the key ""
	// failing counts the failing jobs by cause, so that a node that is down is logged once and not once for each of its
	// collectors.
	failing map[cause]*failing
	tickers map[cron.Schedule]*ticker
	runs    sync.WaitGroup
	counts  counts
	load    load
	yield   func()
	churn   metric.Churn
}

// ticker holds the jobs of one schedule. One timer for all of them saves resources, because a fleet has tens of thousands of
// jobs. The timer uses the monotonic clock. With the wall clock, which cron uses, there would be no tick for an hour after the
// clock was set back an hour.
type ticker struct {
	when  cron.Schedule
	next  time.Time // next tick, with a monotonic reading; zero: no further tick
	timer *time.Timer
	jobs  []*job // probes first
}

// cause is the reason why jobs fail: the group of their targets, and the outcome.
type cause struct {
	group   metric.Target
	outcome scrape.Outcome
}

// causeOf returns the cause of a failed run. If a job may call several nodes, the cause is the node whose call failed. All outcomes without an
// answer are one cause, because a node that stops first refuses connections, then drops them, and answers as unavailable behind a proxy.
func causeOf(r metric.Run) cause {
	c := cause{r.Target.Group(), scrape.OutcomeOf(r.Err)}
	if call, ok := errors.AsType[*nodes.CallError](r.Err); ok {
		c.group = metric.Target{Node: call.Node.Name()}
	}
	switch c.outcome {
	case scrape.Timeout, scrape.Unavailable:
		c.outcome = scrape.Unreachable
	}
	return c
}

// failing are the failing jobs of a cause.
type failing struct {
	jobs    int
	outcome scrape.Outcome // of the first
}

// job is a Job that is part of the current set.
type job struct {
	Job
	// notes are the times at which notes were seen last, by kind and by text without durations. Only the current run accesses them.
	notes map[string]map[string]time.Time
	// shown are the chunks that the job exported last, see metric.Churn. The mutex of the Scheduler guards them.
	shown []metric.Chunk
	fresh bool // the current run is for a client that asks

	// The following fields are guarded by Scheduler.mu.

	// Ticks before the time in from are ignored, because the first run may be in progress. from is zero until the first run
	// starts.
	from     time.Time
	running  bool               // a run is in progress
	extra    bool               // the last run was a woken run
	asked    bool               // the next run is for a client that asks: no earlier answer counts
	cancel   context.CancelFunc // ends the run in progress
	again    bool               // another run must follow
	began    time.Time          // start of the last run
	took     time.Duration      // of the last run that has ended
	failures int                // number of consecutive runs without an answer
	worked   bool               // a run has succeeded
	woken    *time.Timer
	wakeAt   time.Time
}

// counts are the families of the scheduler.
type counts struct {
	skipped, panics prometheus.Counter
	delay, level    prometheus.Gauge
}

func newCounts(r prometheus.Registerer) counts {
	counter := func(name, help string) prometheus.Counter {
		return promauto.With(r).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(r).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return counts{
		counter("avax_exporter_collector_skipped_total", "Runs of collectors that were skipped because the previous run for the same target had not ended, or "+
			"because the exporter is too slow."),
		counter("avax_exporter_collector_panics_total", "Runs of collectors that ended in a panic, which is a bug: please report it. The log names the collector."),
		gauge("avax_exporter_delay_seconds", "Delay with which this process runs what is due, in seconds. With enough CPU it is a few milliseconds."),
		gauge("avax_exporter_overload", "0 if all collectors run. 1 if only those run that alerts of severity page need, because the exporter is too slow. 2 if "+
			"only the up probes run."),
	}
}

// Declare registers the families of the scheduler.
func Declare(r prometheus.Registerer) { newCounts(r) }

// Start returns a scheduler without jobs. It runs until ctx ends. yield lets other goroutines run; nil is runtime.Gosched.
func Start(ctx context.Context, store *metric.Store, r prometheus.Registerer, log *slog.Logger, yield func()) *Scheduler {
	if yield == nil {
		yield = runtime.Gosched
	}
	s := &Scheduler{
		ctx:     ctx,
		store:   store,
		log:     log,
		jobs:    map[metric.Key]*job{},
		byNode:  map[string]map[*job]bool{},
		failing: map[cause]*failing{},
		tickers: map[cron.Schedule]*ticker{},
		counts:  newCounts(r),
		yield:   yield,
	}
	s.load.due = time.Now().Add(measureEvery)
	s.runs.Go(s.measure)
	return s
}

// Set replaces the set of jobs. New jobs start at once. The samples of removed jobs are deleted. A job whose Key already exists
// continues unchanged: the fields of the new Job, including Collect, are ignored. To replace such a job, call Set without
// the job and then with the new job.
func (s *Scheduler) Set(jobs []Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := make(map[metric.Key]bool, len(jobs))
	var added []*job
	for _, j := range jobs {
		wanted[j.Key] = true
		if s.jobs[j.Key] == nil {
			added = append(added, s.add(j))
		}
	}
	for k, j := range s.jobs {
		if !wanted[k] {
			s.remove(j)
		}
	}
	s.start(added)
}

// add adds a job to the ticker of its schedule. The caller holds s.mu.
func (s *Scheduler) add(j Job) *job {
	added := &job{Job: j}
	s.jobs[j.Key] = added
	if s.byNode[j.Target.Node] == nil {
		s.byNode[j.Target.Node] = map[*job]bool{}
	}
	s.byNode[j.Target.Node][added] = true
	t := s.tickers[j.When]
	if t == nil {
		t = &ticker{when: j.When}
		s.tickers[j.When] = t
		s.arm(t, time.Now())
	}
	if j.Probe {
		t.jobs = slices.Insert(t.jobs, 0, added)
	} else {
		t.jobs = append(t.jobs, added)
	}
	return added
}

// arm sets the timer of a ticker to its next tick after now. The caller holds s.mu.
func (s *Scheduler) arm(t *ticker, now time.Time) {
	// The wall clock may be slightly behind the timer. Without this correction, a tick could run twice.
	if early := t.next.Round(0).Sub(now.Round(0)); early > 0 && early < time.Second {
		now = t.next
	}
	if t.next = t.when.Next(now); !t.next.IsZero() {
		t.timer = time.AfterFunc(time.Until(t.next), func() { s.tick(t) })
	}
}

// tick runs the jobs of one ticker.
func (s *Scheduler) tick(t *ticker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.tickers[t.when] != t {
		return
	}
	now := time.Now()
	s.arm(t, now)
	for _, j := range t.jobs {
		if !j.from.IsZero() && !now.Before(j.from) {
			s.runs.Go(func() { s.run(j, false) })
		}
	}
}

// Limits of the first runs. Jobs of one target group start together, so that they share answers. The number of groups that
// start at once is firstAtOnce. Each further group starts when another group has ended, or after firstGap. If all groups
// started at once, tens of thousands of calls would need too much memory and time out.
const (
	firstAtOnce = 64
	firstGap    = 20 * time.Millisecond
)

// longestFirst is how long a first run may suppress ticks. Without this limit, a job with an hourly schedule could miss its
// next tick.
const longestFirst = time.Minute

// start starts the first run of each job, probes first. The caller holds s.mu.
func (s *Scheduler) start(jobs []*job) {
	type key struct {
		other bool // not a probe
		group metric.Target
	}
	indexes := map[key]int{}
	var groups [][]*job
	for _, other := range []bool{false, true} {
		for _, j := range jobs {
			if j.Probe == other {
				continue
			}
			n, seen := indexes[key{other, j.Target.Group()}]
			if !seen {
				n = len(groups)
				indexes[key{other, j.Target.Group()}] = n
				groups = append(groups, nil)
			}
			groups[n] = append(groups[n], j)
		}
	}
	s.runs.Go(func() {
		ended := make(chan struct{}, len(groups))
		for n, group := range groups {
			if n >= firstAtOnce {
				select {
				case <-ended:
				case <-time.After(firstGap):
				case <-s.ctx.Done():
					return
				}
			}
			s.first(group, ended)
		}
	})
}

// first starts the first runs of these jobs together. It sends to the channel ended when all these runs have ended.
func (s *Scheduler) first(jobs []*job, ended chan<- struct{}) {
	s.mu.Lock()
	now := time.Now()
	for _, j := range jobs {
		j.from = now.Add(min(period(j.When, now)/2, longestFirst))
	}
	s.mu.Unlock()
	s.runs.Go(func() {
		var all sync.WaitGroup
		for _, j := range jobs {
			all.Go(func() { s.run(j, false) })
		}
		all.Wait()
		ended <- struct{}{}
	})
}

// remove ends a job and deletes it. The caller holds s.mu.
func (s *Scheduler) remove(j *job) {
	t := s.tickers[j.When]
	if t.jobs = slices.DeleteFunc(t.jobs, func(o *job) bool { return o == j }); len(t.jobs) == 0 {
		delete(s.tickers, j.When)
		if t.timer != nil {
			t.timer.Stop()
		}
	}
	if j.woken != nil {
		j.woken.Stop()
	}
	if j.running {
		j.cancel()
	}
	delete(s.jobs, j.Key)
	if delete(s.byNode[j.Target.Node], j); len(s.byNode[j.Target.Node]) == 0 {
		delete(s.byNode, j.Target.Node)
		s.churn.Forget(metric.Target{Node: j.Target.Node})
	}
	if last := s.store.Last(j.Key); last.Err != nil {
		s.ended(causeOf(last))
	}
	s.store.Delete(j.Key)
}

// Wait returns when the context and every run have ended.
func (s *Scheduler) Wait() {
	<-s.ctx.Done()
	s.mu.Lock() // from now on, no ticker starts a run
	for _, t := range s.tickers {
		if t.timer != nil {
			t.timer.Stop()
		}
	}
	for _, j := range s.jobs {
		if j.woken != nil {
			j.woken.Stop()
		}
	}
	s.mu.Unlock()
	s.runs.Wait()
}

// Progress returns the number of jobs whose first run has ended, successful or not, and the number of jobs. While the exporter is
// too slow, jobs that do not run do not count, so that alerts are evaluated.
func (s *Scheduler) Progress() (ran, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of = len(s.jobs)
	if s.load.level > 0 {
		for _, j := range s.jobs {
			if s.sheds(j) && s.store.Last(j.Key).At.IsZero() {
				of--
			}
		}
	}
	return min(s.store.Len(), of), of
}

// run runs the job once, unless its last run is still in progress. woken means that the run is outside the schedule.
func (s *Scheduler) run(j *job, woken bool) {
	start := time.Now()
	deadline := Deadline(j.When, start)
	ctx := s.begin(j, deadline, woken)
	if ctx == nil {
		return
	}
	defer s.end(j)

	// The jobs of one target tick together and share answers that are up to half a period old. A woken run may use answers up
	// to a whole period old. In a large fleet something changes all the time, and each change wakes many jobs.
	granted := deadline
	again := s.store.Last(j.Key).Facts.Again
	switch {
	case j.fresh:
		granted = askedGap / 2
	case again > 0: // what is missing may be there since the last answer
		granted = min(deadline, again/2)
	case woken:
		granted = 2 * deadline
	case j.ReusesAnswers:
		granted = 2 * deadline * 9 / 10
	}
	ctx, oldest := scrape.Sharing(ctx, granted)

	batch := metric.NewBatch(j.Families)
	err := s.collect(ctx, j, batch)
	// While a node starts, a chain that is not found may appear soon.
	missing := scrape.OutcomeOf(err) == scrape.NotFound
	if errors.Is(err, metric.ErrNotOffered) {
		err = nil
	}
	// Samples are as old as the oldest answer from which they were computed.
	answered := start
	if shared := oldest(); !shared.IsZero() && shared.Before(start) {
		answered = shared
	}
	r := metric.Run{Key: j.Key, At: start, Took: time.Since(start), Until: until(j.When, answered), Period: 2 * deadline, Err: err}
	if err == nil {
		r.Chunks, r.Tables, r.Facts = batch.Chunks(), batch.Tables(), batch.Facts
		kept := batch.Err()
		if errors.Is(kept, metric.ErrTooMany) {
			r.Err = kept // the run failed, but it has the samples of other families
		} else if kept != nil {
			batch.Note("samples left out: %v", kept)
		}
		s.logNotes(j, batch)
	}
	if metric.HasSamples(err) {
		r.Chunks, r.Tables, r.Facts = batch.Chunks(), batch.Tables(), batch.Facts
	}
	if metric.EndsSamples(err) {
		r.Chunks = []metric.Chunk{}
	}
	s.put(j, r, missing)
}

// What an upstream chooses, such as the names of health checks, may differ in each run. So few notes of one kind are logged for a job in an hour,
// or in two periods if those are longer.
const (
	maxNotes   = 30
	noteWindow = time.Hour
)

// logNotes logs the notes that no run of the last hour, and not the last run, had.
func (s *Scheduler) logNotes(j *job, batch *metric.Batch) {
	now := time.Now()
	window := max(noteWindow, 2*period(j.When, now))
	if j.notes == nil {
		j.notes = map[string]map[string]time.Time{}
	}
	for i, note := range batch.Notes() {
		kind := batch.KindOf(i)
		if j.notes[kind] == nil {
			j.notes[kind] = map[string]time.Time{}
		}
		seen := j.notes[kind]
		maps.DeleteFunc(seen, func(_ string, at time.Time) bool { return now.Sub(at) >= window })
		text := durations.ReplaceAllString(note, "?")
		_, known := seen[text]
		full := len(seen) >= maxNotes
		if known || !full {
			seen[text] = now
		}
		level, of := slog.LevelWarn, []any{"collector", j.Collector, "target", j.Target.String(), "warning", note}
		switch {
		case known:
			continue
		case full:
			level = slog.LevelDebug
		case len(seen) == maxNotes:
			of = append(of, "more", "further warnings like it are at level DEBUG while these last")
		}
		s.log.Log(s.ctx, level, "collector warning", of...)
	}
}

// durations grow while a note persists.
var durations = regexp.MustCompile(`\b([0-9]+(\.[0-9]+)?(ns|µs|ms|s|m|h|d))+\b`)

// collect converts a panic into an error of the job.
func (s *Scheduler) collect(ctx context.Context, j *job, batch *metric.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.counts.panics.Inc()
			s.log.Error("collector panicked", "collector", j.Collector, "target", j.Target.String(),
				"panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.Collect(ctx, batch)
}

// put stores a run, unless the job was removed. It logs when the first job fails for a cause, and when the last job recovers.
func (s *Scheduler) put(j *job, r metric.Run, missing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[j.Key] != j || s.ctx.Err() != nil {
		return
	}
	was := s.store.Last(j.Key)
	if scrape.IsStarved(r.Err) {
		s.load.starved = true
		if !was.At.IsZero() { // the run says nothing about its target: it counts as skipped
			s.counts.skipped.Inc()
			s.log.Debug("run starved", "target", j.Target.String(), "collector", j.Collector, "err", r.Err)
			return
		}
	}
	if len(r.Chunks) > 0 {
		var excess error
		if r.Chunks, j.shown, excess = s.churn.Limit(j.Target, len(s.byNode), j.shown, r.Chunks, r.At); excess != nil {
			r.Err = errors.Join(r.Err, excess)
			if r.Chunks == nil {
				r.Chunks = []metric.Chunk{}
			}
		}
	}
	s.store.Put(r)
	s.retry(j, r, missing)
	if again := r.Facts.Again; again > 0 && again < period(j.When, r.At) {
		s.wake(j, r.At.Add(again))
	}
	if (was.Err != nil || was.Facts.Again > 0 && r.Facts.Again == 0) && r.Err == nil && j.Target.Node != "" {
		s.wakeFailing(j.Target.Node, r.At)
	}
	if was.Err != nil && r.Err != nil && causeOf(was) == causeOf(r) {
		return
	}
	if r.Err != nil {
		c := causeOf(r)
		level := slog.LevelDebug
		if s.failing[c] == nil {
			level, s.failing[c] = slog.LevelWarn, &failing{outcome: scrape.OutcomeOf(r.Err)}
		}
		s.failing[c].jobs++
		s.log.Log(s.ctx, level, "collector failed", "target", c.group.String(), "collector", r.Collector, "err", r.Err, "remedy", remedy.Of(r.Err).Do)
	}
	if was.Err != nil {
		s.ended(causeOf(was))
	}
}

// ended decrements the number of failing jobs of a cause. It logs when no failing job is left. The caller holds s.mu.
func (s *Scheduler) ended(c cause) {
	f := s.failing[c]
	if f.jobs--; f.jobs == 0 {
		delete(s.failing, c)
		s.log.Info("collectors recovered", "target", c.group.String(), "outcome", string(f.outcome))
	}
}
