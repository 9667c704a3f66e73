package backtest

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/evaluation"
)

// loader appends stored samples. Queries do not return staleness markers, so the loader derives them: a scrape of a target adds a
// sample of the series up, and a series of the target without a sample at this time has ended there.
type loader struct {
	alive map[model.Fingerprint]model.Metric // series whose newest sample is not a staleness marker
}

// load appends the samples of a window. It returns their number.
func (l *loader) load(e *evaluation.Evaluator, samples model.Matrix, scrapes map[scraped][]int64) (n int) {
	for _, series := range samples {
		id, times := series.Metric.Fingerprint(), scrapes[scrapedOf(series.Metric)]
		var points []promql.FPoint
		_, alive := l.alive[id]
		endAt := func(t int64) {
			if alive {
				points = append(points, promql.FPoint{T: t, F: evaluation.StaleMarker})
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
			points = append(points, promql.FPoint{T: t, F: float64(sample.Value)})
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
		e.Append(alerting.LabelsOf(series.Metric), points...)
	}
	return n
}

// end ends the series without a sample in a window whose target was scraped.
func (l *loader) end(e *evaluation.Evaluator, seen map[model.Fingerprint]bool, scrapes map[scraped][]int64) {
	for id, metric := range l.alive {
		if times := scrapes[scrapedOf(metric)]; !seen[id] && len(times) > 0 {
			e.Append(alerting.LabelsOf(metric), promql.FPoint{T: times[0], F: evaluation.StaleMarker})
			delete(l.alive, id)
		}
	}
}

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
