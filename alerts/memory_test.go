//go:build mutation

package alerts

import (
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory stores the samples of one case. Prometheus' own stores are not used, because opening one takes longer than evaluating a
// case.
type memory struct {
	byName   map[string][]*stored // by metric name
	byLabels map[string]*stored
}

type stored struct {
	labels  labels.Labels
	samples []chunks.Sample // by time
}

// sample is a float at a time in milliseconds.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func newMemory() *memory {
	return &memory{byName: map[string][]*stored{}, byLabels: map[string]*stored{}}
}

// clone returns a store with the same samples. Samples that are appended to the clone are not in the original.
func (m *memory) clone() *memory {
	c := &memory{byName: make(map[string][]*stored, len(m.byName)), byLabels: make(map[string]*stored, len(m.byLabels))}
	for key, s := range m.byLabels {
		one := &stored{s.labels, slices.Clip(s.samples)}
		c.byLabels[key] = one
		name := s.labels.Get(model.MetricNameLabel)
		c.byName[name] = append(c.byName[name], one)
	}
	return c
}

// append adds a sample. As in Prometheus, a sample that is not newer than the newest sample of its series is dropped.
func (m *memory) append(of labels.Labels, s sample) {
	key := of.String()
	series := m.byLabels[key]
	if series == nil {
		series = &stored{labels: of}
		m.byLabels[key] = series
		name := of.Get(model.MetricNameLabel)
		m.byName[name] = append(m.byName[name], series)
	}
	if n := len(series.samples); n == 0 || series.samples[n-1].T() < s.t {
		series.samples = append(series.samples, s)
	}
}

// Querier implements storage.Queryable.
func (m *memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{m, mint, maxt}, nil
}

type querier struct {
	*memory
	mint, maxt int64
}

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	from, to := q.mint, q.maxt
	if hints != nil {
		from, to = hints.Start, hints.End
	}
	candidates := []*stored(nil)
	named := slices.IndexFunc(matchers, func(m *labels.Matcher) bool {
		return m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual
	})
	if named >= 0 {
		candidates = q.byName[matchers[named].Value]
	} else {
		candidates = slices.Collect(maps.Values(q.byLabels))
	}
	set := &seriesSet{at: -1}
	for _, s := range candidates {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			continue
		}
		first := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() >= from })
		end := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() > to })
		if first < end {
			set.series = append(set.series, storage.NewListSeries(s.labels, s.samples[first:end]))
		}
	}
	slices.SortFunc(set.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

// LabelValues implements storage.Querier. No query needs it.
func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier. No query needs it.
func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (*querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }
