package web

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

const (
	// prometheusPatience is how long a page waits for a Prometheus, in all.
	prometheusPatience = 2 * time.Second
	// ownPatience is how long a page may query the samples in this process, in all.
	ownPatience = 10 * time.Second
)

// errUnanswered is the error of a source that does not answer in time.
var errUnanswered = &apiError{http.StatusServiceUnavailable, "timeout", errors.New("Prometheus has not answered for 2 s")} //nolint:staticcheck // a name

// errSlow is the error of queries in this process that take too long.
var errSlow = &apiError{http.StatusServiceUnavailable, "timeout", errors.New("the queries took more than 10 s")}

// patience is how long a page waits for the source, in all.
func (s *Site) patience() time.Duration {
	if s.remote() {
		return prometheusPatience
	}
	return ownPatience
}

// remote reports whether the source is a Prometheus.
func (s *Site) remote() bool {
	_, is := s.Source.(*alerting.Prometheus)
	return is
}

// bounded is the source as pages ask it. No call lasts longer than the patience, and one call of Groups serves all requests. After a call that lasted
// too long, calls of the same kind fail at once for a second: requests that wait for each other would wait for the sum.
type bounded struct {
	alerting.Source
	*answers
	patience time.Duration
	late     error // if a call lasts too long
}

// answers is what requests know from calls of others.
type answers struct {
	groups                           *shared[[]alerting.Group]
	lateGroups, lateQuery, lateRange atomic.Int64 // when a call lasted too long, in Unix nanoseconds
}

// source returns the source as pages ask it; nil if there is none.
func (s *Site) source() *bounded {
	switch {
	case s.Source == nil:
		return nil
	case s.remote():
		return &bounded{s.Source, s.answers, prometheusPatience, errUnanswered}
	}
	return &bounded{s.Source, s.answers, ownPatience, errSlow}
}

// moments returns when alerts fired and ended, if the exporter evaluates the rules.
func (b bounded) moments() []alerting.Moment {
	if own, is := b.Source.(*alerting.Alerting); is {
		return own.Moments()
	}
	return nil
}

// History returns how long the source keeps samples.
func (b bounded) History() time.Duration {
	if s, ok := b.Source.(interface{ History() time.Duration }); ok {
		return s.History()
	}
	return 24 * time.Hour // a Prometheus is asked for a day
}

// longSource is a source that keeps a few series for a long time. A Prometheus keeps all of them, and is asked itself.
type longSource interface {
	Week() alerting.Source
	Quarter() alerting.Source
}

// week returns the source of the last week, and whether its samples are at the multiples of WeekStep.
func (b bounded) week() (alerting.Source, bool) { return b.long(longSource.Week) }

// quarter returns the source of the alerts of the last 90 days, and whether its samples are at the multiples of WeekStep.
func (b bounded) quarter() (alerting.Source, bool) { return b.long(longSource.Quarter) }

func (b bounded) long(of func(longSource) alerting.Source) (alerting.Source, bool) {
	s, own := b.Source.(longSource)
	if own {
		b.Source = of(s)
	}
	return b, own
}

// within makes a call, and limits its time.
func within[T any](ctx context.Context, b bounded, late *atomic.Int64, call func(context.Context) (T, error)) (value T, err error) {
	began := time.Now()
	if began.Sub(time.Unix(0, late.Load())) < time.Second || ctx.Err() != nil {
		return value, b.late
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	value, err = call(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = b.late
		if now := time.Now(); now.Sub(began) >= b.patience {
			late.Store(now.UnixNano())
		}
	}
	return value, err
}

// Groups implements alerting.Source.
func (b bounded) Groups(ctx context.Context) ([]alerting.Group, error) {
	return within(ctx, b, &b.lateGroups, func(ctx context.Context) ([]alerting.Group, error) {
		return b.groups.get(ctx, "", b.patience, func(ctx context.Context) ([]alerting.Group, error) {
			return within(ctx, b, &b.lateGroups, b.Source.Groups)
		})
	})
}

// Query implements alerting.Source.
func (b bounded) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	return within(ctx, b, &b.lateQuery, func(ctx context.Context) (model.Value, error) { return b.Source.Query(ctx, expr, at) })
}

// QueryRange implements alerting.Source.
func (b bounded) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	return within(ctx, b, &b.lateRange, func(ctx context.Context) (model.Matrix, error) {
		return b.Source.QueryRange(ctx, expr, start, end, step)
	})
}

// groups returns the rules with their alerts.
func (s *Site) groups(ctx context.Context) ([]alerting.Group, error) {
	source := s.source()
	if source == nil {
		return nil, errNoSource
	}
	return source.Groups(ctx)
}
