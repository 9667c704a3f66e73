//go:build !noalerting

package alerting

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// clock is steady: it begins as the wall clock and goes on, whoever sets that one.
// Samples are kept and rules are evaluated by it, since a store takes nothing that
// is older than what it has: once the wall clock was set back an hour, nobody would
// be paged for an hour. An expression sees the wall clock, and samples as old as
// they are (see docs/decisions/alerting.md).
type clock struct {
	begun time.Time
	// ahead is by how much the wall clock is ahead of this one by now.
	ahead func() time.Duration
}

func newClock() clock {
	begun := time.Now()
	return clock{begun, func() time.Duration {
		now := time.Now()
		// What is done in small steps all the time is none.
		return (now.Round(0).Sub(begun.Round(0)) - now.Sub(begun)).Round(100 * time.Millisecond)
	}}
}

func (c clock) now() time.Time               { return c.begun.Round(0).Add(time.Since(c.begun)) }
func (c clock) steady(t time.Time) time.Time { return t.Round(0).Add(-c.ahead()) }

// wall is what the wall clock shows, or would have shown, at a steady time; never stays never.
func (c clock) wall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Round(0).Add(c.ahead())
}

// evaluation evaluates a group whole intervals after its first time.
func (c clock) evaluation() rules.GroupEvalIterationFunc {
	var mu sync.Mutex
	last := map[*rules.Group]time.Time{}
	return func(ctx context.Context, g *rules.Group, slot time.Time) {
		mu.Lock()
		at := c.steady(slot)
		if before, known := last[g]; known {
			// A tick may be a little late, and the next one is not.
			passed := (c.now().Sub(before) + g.Interval()/4).Truncate(g.Interval())
			if at = before.Add(passed); passed <= 0 {
				mu.Unlock()
				return
			}
		}
		last[g] = at
		mu.Unlock()
		rules.DefaultEvalIterationFunc(ctx, g, at)
	}
}

// query asks at a steady time, and the expression sees the wall clock: one and the
// same, whatever happens to it meanwhile.
func (c clock) query(engine promql.QueryEngine, s *store) rules.QueryFunc {
	return func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		ahead := c.ahead()
		found, err := rules.EngineQueryFunc(engine, shown{s, ahead})(ctx, expr, at.Add(ahead))
		for i := range found {
			found[i].T = at.UnixMilli()
		}
		return found, err
	}
}

// past is t, or now if that is yet to come: one sample of the future, and the store
// takes no other until then.
func past(t ms, now time.Time) ms {
	if t > now.Add(time.Second).UnixMilli() {
		return now.UnixMilli()
	}
	return t
}

// evaluated takes what rules make, which is of a steady time; but the end of the
// series of a rule that is gone is told by the wall clock.
type evaluated struct {
	*store
	clock clock
}

func (e evaluated) Appender(ctx context.Context) storage.Appender {
	return evaluatedAppender{e.store.Appender(ctx), e.clock.now()}
}

type evaluatedAppender struct {
	storage.Appender
	now time.Time
}

func (a evaluatedAppender) Append(ref storage.SeriesRef, l labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	return a.Appender.Append(ref, l, past(t, a.now), v)
}

// The scraper would hold on to the time of its ticks that was, once the clock is set
// back, and then refuse it as of the future.
func init() { scrape.AlignScrapeTimestamps = false }

// scraped takes what the scraper found, which is of the wall clock's time, and
// tells of each page that it took.
type scraped struct {
	*store
	clock     clock
	committed func()
}

func (s scraped) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return scrapedAppender{s.store.AppenderV2(ctx), s.clock.now(), s.clock.ahead(), s.committed}
}

type scrapedAppender struct {
	storage.AppenderV2
	now       time.Time
	ahead     time.Duration
	committed func()
}

func (a scrapedAppender) Append(ref storage.SeriesRef, l labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o storage.AppendV2Options) (storage.SeriesRef, error) {
	// What comes at even times takes little room: a tick is late by less.
	const even = 10
	t = past(t-a.ahead.Milliseconds(), a.now)
	return a.AppenderV2.Append(ref, l, 0, t-t%even, v, h, fh, o)
}

func (a scrapedAppender) Commit() error {
	err := a.AppenderV2.Commit()
	if err == nil {
		a.committed()
	}
	return err
}

// ms is a time or a duration in milliseconds, as the store counts.
type ms = int64

// shown is the store as it is seen where the wall clock is that much ahead.
type shown struct {
	*store
	ahead time.Duration
}

// Querier implements storage.Queryable.
func (v shown) Querier(mint, maxt ms) (storage.Querier, error) {
	ahead := v.ahead.Milliseconds()
	q, err := v.steady(mint-ahead, maxt-ahead)
	if err != nil || ahead == 0 {
		return q, err
	}
	return later{q, ahead}, nil
}

// later shows what a querier finds as that much later.
type later struct {
	storage.Querier
	by ms
}

func (q later) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if hints != nil {
		moved := *hints
		moved.Start -= q.by
		moved.End -= q.by
		hints = &moved
	}
	return laterSet{q.Querier.Select(ctx, sorted, hints, matchers...), q.by}
}

type laterSet struct {
	storage.SeriesSet
	by ms
}

func (s laterSet) At() storage.Series { return laterSeries{s.SeriesSet.At(), s.by} }

type laterSeries struct {
	storage.Series
	by ms
}

func (s laterSeries) Iterator(reuse chunkenc.Iterator) chunkenc.Iterator {
	if old, ok := reuse.(*laterIterator); ok {
		reuse = old.Iterator
	}
	return &laterIterator{s.Series.Iterator(reuse), s.by}
}

type laterIterator struct {
	chunkenc.Iterator
	by ms
}

func (i *laterIterator) Seek(t ms) chunkenc.ValueType { return i.Iterator.Seek(t - i.by) }
func (i *laterIterator) AtT() ms                      { return i.Iterator.AtT() + i.by }

func (i *laterIterator) AtST() ms {
	if st := i.Iterator.AtST(); st != 0 {
		return st + i.by
	}
	return 0
}

func (i *laterIterator) At() (ms, float64) {
	t, v := i.Iterator.At()
	return t + i.by, v
}

func (i *laterIterator) AtHistogram(h *histogram.Histogram) (ms, *histogram.Histogram) {
	t, h := i.Iterator.AtHistogram(h)
	return t + i.by, h
}

func (i *laterIterator) AtFloatHistogram(h *histogram.FloatHistogram) (ms, *histogram.FloatHistogram) {
	t, h := i.Iterator.AtFloatHistogram(h)
	return t + i.by, h
}
