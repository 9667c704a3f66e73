package alerting

import (
	"context"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/internal/evaluation"
)

// newestQuerier answers selectors that need the newest sample of each series from the inputs of rules. For this sample, the store would decode a chunk
// of up to two hours from its begin.
type newestQuerier struct {
	storage.Querier
	inputs *inputs
}

// Select implements storage.Querier.
func (q newestQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if hints != nil && !sorted {
		if set, ok := q.inputs.newest(hints, matchers); ok {
			return set
		}
	}
	return q.Querier.Select(ctx, sorted, hints, matchers...)
}

// newest returns the newest sample of each series that the matchers select. ok reports whether the hints ask for nothing else.
func (in *inputs) newest(hints *storage.SelectHints, matchers []*labels.Matcher) (set *evaluation.Selection, ok bool) {
	instant := hints.Range == 0 && hints.End-hints.Start < Lookback.Milliseconds()
	lasts := hints.Func == "last_over_time" && hints.Range > 0 && hints.End-hints.Start <= hints.Range
	if !instant && !lasts {
		return nil, false
	}
	selector := parser.VectorSelector{LabelMatchers: matchers}
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			selector.Name = m.Value
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.families[familyOf(&selector)]
	if selector.Name == "" || f == nil || f.last > hints.End {
		return nil, false
	}
	set = &evaluation.Selection{}
	for _, s := range f.series {
		if s.at < hints.Start || !labels.Selector(matchers).Matches(s.labels) {
			continue
		}
		if stale := value.IsStaleNaN(s.value); stale && lasts {
			return nil, false // it reads the value before the marker
		} else if !stale {
			set.Add(s.labels, s.at, s.value)
		}
	}
	return set, true
}
