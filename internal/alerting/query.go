package alerting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Query implements Source.
func (a *Alerting) Query(ctx context.Context, expr string, at time.Time) (model.Vector, error) {
	return a.current().query(ctx, expr, at)
}

// QueryRange implements Source.
func (a *Alerting) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	return a.current().queryRange(ctx, expr, start, end, step)
}

func (e *engine) query(ctx context.Context, expr string, at time.Time) (model.Vector, error) {
	query, err := e.queries.NewInstantQuery(ctx, e.store, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, result.Err)
	}
	switch value := result.Value.(type) {
	case promql.Scalar:
		return model.Vector{{Metric: model.Metric{}, Value: model.SampleValue(value.V), Timestamp: model.Time(value.T)}}, nil
	case promql.Vector:
		vector := make(model.Vector, 0, len(value))
		for _, s := range value {
			if s.H == nil { // native histograms are not stored
				vector = append(vector, &model.Sample{Metric: metricOf(s.Metric), Value: model.SampleValue(s.F), Timestamp: model.Time(s.T)})
			}
		}
		return vector, nil
	}
	return nil, fmt.Errorf("query %s: %w", expr, notInstant(result.Value.Type()))
}

func (e *engine) queryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	if step <= 0 || end.Before(start) || end.Sub(start)/step > maxSteps {
		return nil, fmt.Errorf("query %s: invalid range from %s to %s with step %s: start must be before end, and there can be at most %d steps", expr, start, end, step, maxSteps)
	}
	query, err := e.queries.NewRangeQuery(ctx, e.store, nil, expr, start, end, step)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, result.Err)
	}
	return matrixOf(result)
}

// Samples implements Source.
func (a *Alerting) Samples(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	e := a.current()
	query, err := e.queries.NewInstantQuery(ctx, e.store, nil, fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds()), to)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", selector, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("query %s: %w", selector, result.Err)
	}
	return matrixOf(result)
}

// matrixOf returns the result of a query as a matrix. The engine reuses the result when the query is closed.
func matrixOf(result *promql.Result) (model.Matrix, error) {
	value, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	matrix := make(model.Matrix, 0, len(value))
	for _, series := range value {
		stream := &model.SampleStream{Metric: metricOf(series.Metric), Values: make([]model.SamplePair, 0, len(series.Floats))}
		for _, p := range series.Floats {
			stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.Time(p.T), Value: model.SampleValue(p.F)})
		}
		matrix = append(matrix, stream)
	}
	return matrix, nil
}

// maxSteps is the maximum number of steps in a range, as in Prometheus' API.
const maxSteps = 11_000

func notInstant(t parser.ValueType) error {
	return errors.New("the result is a " + parser.DocumentedType(t) + ": write an expression that returns an instant vector or a scalar")
}

func metricOf(l labels.Labels) model.Metric {
	metric := make(model.Metric, l.Len())
	l.Range(func(l labels.Label) { metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	return metric
}
