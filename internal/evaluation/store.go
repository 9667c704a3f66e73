package evaluation

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// StaleMarker is the value of the sample that ends a series.
var StaleMarker = math.Float64frombits(value.StaleNaN)

// series is a series with its samples, which are in the order of time.
type series struct {
	labels  labels.Labels
	samples samples
}

// from returns the position of the first sample at or after t.
func (s *series) from(t int64) int {
	return sort.Search(len(s.samples), func(i int) bool { return s.samples[i].at >= t })
}

// seriesSet are series by the hash of their labels.
type seriesSet map[uint64]*series

func (set seriesSet) of(ls labels.Labels) *series {
	hash := ls.Hash()
	if set[hash] == nil {
		set[hash] = &series{labels: ls}
	}
	return set[hash]
}

// Querier implements storage.Queryable: queries read the stored samples and the results of the rules.
func (e *Evaluator) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{e, mint, maxt}, nil
}

type querier struct {
	*Evaluator
	mint, maxt int64
}

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, sorted bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &Selection{}
	position := map[uint64]int{}
	add := func(set seriesSet) {
		for hash, s := range set {
			if !labels.Selector(matchers).Matches(s.labels) {
				continue
			}
			from, to := s.from(q.mint), s.from(q.maxt+1)
			if from == to {
				continue
			}
			within := s.samples[from:to]
			if i, there := position[hash]; there {
				found.all[i].samples = merged(found.all[i].samples, within)
				continue
			}
			position[hash] = len(found.all)
			found.all = append(found.all, series{s.labels, within})
		}
	}
	name := func(name string) bool {
		return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel && !m.Matches(name) })
	}
	for of, set := range q.stored {
		if name(of) {
			add(set)
		}
	}
	for _, r := range q.Rules {
		if slices.ContainsFunc(r.names, name) {
			add(r.results)
		}
	}
	if sorted {
		slices.SortFunc(found.all, func(a, b series) int { return labels.Compare(a.labels, b.labels) })
	}
	return found
}

// merged returns the samples of a series that two sources have. At the same time, that of the first counts, as in Prometheus.
func merged(first, second samples) samples {
	all := slices.Concat(first, second)
	slices.SortStableFunc(all, func(a, b sample) int { return int(a.at - b.at) })
	return slices.CompactFunc(all, func(a, b sample) bool { return a.at == b.at })
}

var errLabels = errors.New("evaluation: queries of labels are not supported")

func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errLabels
}

func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errLabels
}

func (*querier) Close() error { return nil }

// Selection are series that a query reads. It implements storage.SeriesSet.
type Selection struct {
	all  []series
	next int
}

// Add adds a series with one sample, at a time in milliseconds.
func (s *Selection) Add(l labels.Labels, at int64, value float64) {
	s.all = append(s.all, series{l, samples{{at, value}}})
}

// Next implements storage.SeriesSet.
func (s *Selection) Next() bool { s.next++; return s.next <= len(s.all) }

// At implements storage.SeriesSet.
func (s *Selection) At() storage.Series { return &s.all[s.next-1] }

// Err implements storage.SeriesSet.
func (*Selection) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*Selection) Warnings() annotations.Annotations { return nil }

func (s *series) Labels() labels.Labels { return s.labels }
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIterator(s.samples)
}

// sample implements chunks.Sample. It is no histogram.
type sample struct {
	at    int64 // in milliseconds
	value float64
}

func (s *sample) T() int64                    { return s.at }
func (s *sample) F() float64                  { return s.value }
func (*sample) ST() int64                     { return 0 }
func (*sample) H() *histogram.Histogram       { return nil }
func (*sample) FH() *histogram.FloatHistogram { return nil }
func (*sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s *sample) Copy() chunks.Sample         { c := *s; return &c }

// samples implements storage.Samples.
type samples []sample

func (s samples) Get(i int) chunks.Sample { return &s[i] }
func (s samples) Len() int                { return len(s) }
