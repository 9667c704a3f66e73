package alerting

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// Query implements Source.
func (a *Alerting) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	return a.current().promQL.Query(ctx, expr, at)
}

// QueryRange implements Source.
func (a *Alerting) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	return a.current().promQL.QueryRange(ctx, expr, start, end, step)
}

// PromQL evaluates expressions over the samples of a store.
type PromQL struct {
	Engine *promql.Engine
	Store  storage.Queryable
}

// Query evaluates an expression at one time.
func (p PromQL) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	query, err := p.Engine.NewInstantQuery(ctx, p.Store, nil, expr, at)
	return valueOf(ctx, expr, query, err)
}

// QueryRange evaluates an expression at start and every step until end.
func (p PromQL) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	query, err := p.Engine.NewRangeQuery(ctx, p.Store, nil, expr, start, end, step)
	value, err := valueOf(ctx, expr, query, err)
	matrix, _ := value.(model.Matrix)
	return matrix, err
}

// valueOf executes a query and copies its result, which the engine reuses later. It omits native histograms: they are not stored.
func valueOf(ctx context.Context, expr string, query promql.Query, err error) (model.Value, error) {
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
		return &model.Scalar{Value: model.SampleValue(value.V), Timestamp: model.Time(value.T)}, nil
	case promql.String:
		return &model.String{Value: value.V, Timestamp: model.Time(value.T)}, nil
	case promql.Vector:
		vector := make(model.Vector, 0, len(value))
		for _, s := range value {
			if s.H == nil {
				vector = append(vector, &model.Sample{Metric: metricOf(s.Metric), Value: model.SampleValue(s.F), Timestamp: model.Time(s.T)})
			}
		}
		return vector, nil
	case promql.Matrix:
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
	return nil, fmt.Errorf("query %s: the result is a %s", expr, result.Value.Type())
}

// Vector returns the result of a query as a vector. A scalar becomes a sample without labels.
func Vector(value model.Value, err error) (model.Vector, error) {
	switch value := value.(type) {
	case nil:
		return nil, err
	case *model.Scalar:
		return model.Vector{{Metric: model.Metric{}, Value: value.Value, Timestamp: value.Timestamp}}, err
	case model.Vector:
		return value, err
	}
	return nil, fmt.Errorf("the result is a %s: write an expression that returns an instant vector or a scalar", value.Type())
}

func metricOf(l labels.Labels) model.Metric {
	metric := make(model.Metric, l.Len())
	l.Range(func(l labels.Label) { metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	return metric
}
