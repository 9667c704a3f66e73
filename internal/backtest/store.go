package backtest

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

var discard = slog.New(slog.DiscardHandler)

// openStore opens a store for the samples of the window under evaluation, and the older samples that its rules read. Results are
// appended after all stored samples of a window.
func openStore() (*alerting.Store, error) {
	return alerting.OpenStore(discard, prometheus.NewRegistry(), 2*maxWindow)
}

// loader appends stored samples. Queries do not return staleness markers, so the loader derives them: a scrape of a target adds a
// sample of the series up, and a series of the target without a sample at this time has ended there.
type loader struct {
	alive map[model.Fingerprint]model.Metric // series whose newest sample is not a staleness marker
}

// load appends the samples of a window. It returns their number.
func (l *loader) load(ctx context.Context, s *alerting.Store, samples model.Matrix, scrapes map[scraped][]int64) (n int, err error) {
	app := s.Appender(ctx)
	for _, series := range samples {
		ls, id := alerting.LabelsOf(series.Metric), series.Metric.Fingerprint()
		times := scrapes[scrapedOf(series.Metric)]
		var ref storage.SeriesRef
		_, alive := l.alive[id]
		put := func(t int64, v float64) {
			if err == nil {
				ref, err = app.Append(ref, ls, t, v)
			}
		}
		endAt := func(t int64) {
			if alive {
				put(t, staleMarker)
			}
			alive = false
		}
		for _, sample := range series.Values {
			t := int64(sample.Timestamp)
			for len(times) > 0 && times[0] < t {
				endAt(times[0])
				times = times[1:]
			}
			if len(times) > 0 && times[0] == t {
				times = times[1:]
			}
			put(t, float64(sample.Value))
			alive = true
			n++
		}
		if len(times) > 0 {
			endAt(times[0])
		}
		if alive {
			l.alive[id] = series.Metric
		} else {
			delete(l.alive, id)
		}
	}
	if err != nil {
		return n, errors.Join(err, app.Rollback())
	}
	return n, app.Commit()
}

// end ends the series without a sample in a window whose target was scraped.
func (l *loader) end(ctx context.Context, s *alerting.Store, seen map[model.Fingerprint]bool, scrapes map[scraped][]int64) error {
	app := s.Appender(ctx)
	for id, metric := range l.alive {
		times := scrapes[scrapedOf(metric)]
		if seen[id] || len(times) == 0 {
			continue
		}
		if _, err := app.Append(0, alerting.LabelsOf(metric), times[0], staleMarker); err != nil {
			return errors.Join(err, app.Rollback())
		}
		delete(l.alive, id)
	}
	return app.Commit()
}

var staleMarker = math.Float64frombits(value.StaleNaN)

// scraped identifies what a scrape is of.
type scraped struct{ job, instance model.LabelValue }

func scrapedOf(m model.Metric) scraped { return scraped{m[model.JobLabel], m[model.InstanceLabel]} }

// scrapesOf returns the times of scrapes, from the series up.
func scrapesOf(ups model.Matrix) map[scraped][]int64 {
	times := map[scraped][]int64{}
	for _, series := range ups {
		for _, sample := range series.Values {
			times[scrapedOf(series.Metric)] = append(times[scrapedOf(series.Metric)], int64(sample.Timestamp))
		}
	}
	for t := range times {
		slices.Sort(times[t])
	}
	return times
}

// append stores the results of a rule at one time, and a staleness marker for each series that the rule returned before and no
// longer returns.
func (r *rule) append(app storage.Appender, at time.Time, results promql.Vector) error {
	t := at.UnixMilli()
	now := make(map[uint64]labels.Labels, len(results))
	for _, sample := range results {
		if _, err := app.Append(0, sample.Metric, t, sample.F); err != nil {
			return err
		}
		now[sample.Metric.Hash()] = sample.Metric
	}
	for hash, ls := range r.last {
		if _, there := now[hash]; !there {
			if _, err := app.Append(0, ls, t, staleMarker); err != nil {
				return err
			}
		}
	}
	r.last = now
	return nil
}
