// Package evaluation evaluates rules over a span of time at once. Each rule is one range query, and rules that read each other are queried
// until nothing changes. The results are those of Prometheus, which evaluates all rules of a file in order, time after time.
package evaluation

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// Options select how rules are evaluated.
type Options struct {
	Interval       time.Duration // between two evaluations
	Lookback       time.Duration // how old the sample of a selector without a range may be
	ForGracePeriod time.Duration // Prometheus' --rules.alert.for-grace-period
	External       labels.Labels // of the server
	// Failed, if set, is called when a rule fails at an evaluation, which Prometheus then leaves out. Without it, Run returns the error.
	Failed func(r *Rule, err error)
}

// Evaluator evaluates rules over the samples that it stores.
type Evaluator struct {
	Rules []*Rule // in the order of the file

	o      Options
	sets   []ruleSet
	stored map[string]seriesSet // by name
	engine *promql.Engine
}

// New returns an evaluator without samples. It returns an error if an expression is invalid.
func New(given []rulefmt.Rule, o Options) (*Evaluator, error) {
	all, sets, err := newRules(given)
	if err != nil {
		return nil, err
	}
	return &Evaluator{
		Rules: all, o: o, sets: sets, stored: map[string]seriesSet{},
		engine: promql.NewEngine(promql.EngineOpts{
			Logger: slog.New(slog.DiscardHandler), MaxSamples: 100_000_000, Timeout: 10 * time.Minute, LookbackDelta: o.Lookback, EnableAtModifier: true,
			EnableNegativeOffset: true, Parser: PromQL,
			NoStepSubqueryIntervalFn: func(int64) int64 { return o.Interval.Milliseconds() },
		}),
	}, nil
}

// Append stores samples of a series, which are later than those that are there.
func (e *Evaluator) Append(ls labels.Labels, points ...promql.FPoint) {
	name := ls.Get("__name__")
	if e.stored[name] == nil {
		e.stored[name] = seriesSet{}
	}
	s := e.stored[name].of(ls)
	s.samples = slices.Grow(s.samples, len(points))
	for _, p := range points {
		s.samples = append(s.samples, sample{p.T, p.F})
	}
}

// Run evaluates all rules at from, and at each interval after it until to.
func (e *Evaluator) Run(ctx context.Context, from, to time.Time) error {
	for _, set := range e.sets {
		if err := e.run(ctx, set, from, to); err != nil {
			return err
		}
	}
	return nil
}

// run evaluates a set until nothing changes. Each pass is right at least up to the first time at which it found other results than the pass
// before it, because a rule reads no later result than its own. The next pass begins after this time.
func (e *Evaluator) run(ctx context.Context, set ruleSet, from, to time.Time) error {
	for width := to.Sub(from); !from.After(to); {
		end := from.Add(width.Truncate(e.o.Interval))
		if end.After(to) {
			end = to
		}
		for _, r := range set.rules {
			r.fresh = false
		}
		for begin := from; !from.After(end); {
			until, err := e.pass(ctx, set, from, end)
			if err != nil {
				return err
			}
			from = until.Add(e.o.Interval)
			if settled := !until.Before(end); settled {
				width = max(2*width, e.o.Interval)
			} else if until.Sub(begin) < width/4 { // results follow from each other: look less far ahead
				width /= 2
				break
			}
			begin = from
		}
	}
	return nil
}

// pass evaluates the rules of a set once, and returns until when their results are settled.
func (e *Evaluator) pass(ctx context.Context, set ruleSet, from, to time.Time) (until time.Time, err error) {
	until = to
	outcomes := make([]outcome, len(set.rules))
	for i, r := range set.rules {
		if !r.fresh {
			clear(r.failed)
			if r.answer, err = e.queryRange(ctx, r, from, to); err != nil {
				return until, err
			}
			r.fresh = true
		}
		if outcomes[i], err = e.apply(ctx, r, from, to); err != nil {
			return until, err
		}
		if !set.cyclic {
			r.results.replace(outcomes[i].results, from)
			continue
		}
		if changed, differs := r.results.differs(outcomes[i].results, from, to); differs {
			r.results.replace(outcomes[i].results, from)
			if changed.Before(until) {
				until = changed
			}
			for _, reader := range set.rules {
				if slices.Contains(reader.reads, r) {
					reader.fresh = false
				}
			}
		}
	}
	for i, r := range set.rules {
		if until.Before(to) { // what is later may change
			if outcomes[i], err = e.apply(ctx, r, from, until); err != nil {
				return until, err
			}
		}
		r.state = outcomes[i].state
		r.history = append(r.history, outcomes[i].history...)
		if !until.Before(to) {
			r.answer = nil
		}
	}
	return until, nil
}

// differs returns the first time from from on at which samples until to are not those of other.
func (set seriesSet) differs(other seriesSet, from, to time.Time) (first time.Time, differs bool) {
	t, end := int64(math.MaxInt64), to.UnixMilli()
	compare := func(a, b *series) {
		var left, right samples
		if a != nil {
			left = a.samples[a.from(from.UnixMilli()):a.from(end+1)]
		}
		if b != nil {
			right = b.samples
		}
		for i := range max(len(left), len(right)) {
			switch {
			case i >= len(left):
				t = min(t, right[i].at)
			case i >= len(right):
				t = min(t, left[i].at)
			case left[i].at != right[i].at || math.Float64bits(left[i].value) != math.Float64bits(right[i].value):
				t = min(t, left[i].at, right[i].at)
			default:
				continue
			}
			return
		}
	}
	for hash, s := range set {
		compare(s, other[hash])
	}
	for hash, s := range other {
		if set[hash] == nil {
			compare(nil, s)
		}
	}
	return time.UnixMilli(t), t != math.MaxInt64
}

// replace replaces the samples from a time on.
func (set seriesSet) replace(other seriesSet, from time.Time) {
	for hash, s := range set {
		if s.samples = s.samples[:s.from(from.UnixMilli())]; len(s.samples) == 0 && other[hash] == nil {
			delete(set, hash)
		}
	}
	for hash, s := range other {
		if set[hash] == nil {
			set[hash] = s
			continue
		}
		set[hash].samples = append(set[hash].samples, s.samples...)
	}
}

// queryRange evaluates the expression of a rule at each time of a span. With Options.Failed, it leaves out the times at which the rule fails.
func (e *Evaluator) queryRange(ctx context.Context, r *Rule, from, to time.Time) (promql.Matrix, error) {
	all, err := e.matrix(ctx, r, from, to)
	switch {
	case err == nil:
		return all, nil
	case e.o.Failed == nil || ctx.Err() != nil:
		return nil, fmt.Errorf("rule %s: %w", r.Name, err)
	case from.Equal(to):
		r.failed[from.UnixMilli()] = true
		e.o.Failed(r, err)
		return nil, nil
	}
	middle := from.Add((to.Sub(from) / 2).Truncate(e.o.Interval))
	first, err := e.queryRange(ctx, r, from, middle)
	if err != nil {
		return nil, err
	}
	second, err := e.queryRange(ctx, r, middle.Add(e.o.Interval), to)
	return append(first, second...), err
}

// matrix evaluates the expression of a rule at each time of a span, or returns its error at the first time at which it fails.
func (e *Evaluator) matrix(ctx context.Context, r *Rule, from, to time.Time) (promql.Matrix, error) {
	query, err := e.engine.NewRangeQuery(ctx, e, nil, r.query, from, to, e.o.Interval)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	own := make(promql.Matrix, len(matrix)) // the engine uses the samples again after Close
	for i, s := range matrix {
		own[i] = promql.Series{Metric: s.Metric, Floats: slices.Clone(s.Floats)}
	}
	return own, nil
}

// Query evaluates an expression at a time that is not after the last evaluation.
func (e *Evaluator) Query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	return rules.EngineQueryFunc(e.engine, e)(ctx, expr, at)
}

// Forget deletes the samples that no evaluation after a time reads, and the history until then. A text may look back as far as any rule.
func (e *Evaluator) Forget(after time.Time) {
	reads := map[*Rule]int64{} // the oldest sample that a rule reads
	oldest := after.UnixMilli()
	for _, r := range e.Rules {
		stmt := &parser.EvalStmt{Expr: r.Expr, Start: after, End: after, LookbackDelta: e.o.Lookback}
		if from, to := promql.FindMinMaxTime(stmt); to != 0 {
			reads[r], oldest = from, min(oldest, from)
		}
	}
	forget := func(set seriesSet, names ...string) {
		before := after.UnixMilli()
		for _, r := range e.Rules {
			for _, name := range names {
				switch {
				case slices.Contains(r.shows, name):
					before = oldest
				case slices.ContainsFunc(r.selects, func(v *parser.VectorSelector) bool { return named(v, name) }):
					before = min(before, reads[r])
				}
			}
		}
		set.forget(before)
	}
	for name, set := range e.stored {
		if forget(set, name); len(set) == 0 {
			delete(e.stored, name)
		}
	}
	for _, r := range e.Rules {
		forget(r.results, r.names...)
		i, _ := slices.BinarySearchFunc(r.history, after, func(m Moment, at time.Time) int { return m.At.Compare(at) })
		r.history = slices.Clone(r.history[i:])
	}
}

// named reports whether a selector may select series of a name.
func named(v *parser.VectorSelector, name string) bool {
	return !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel && !m.Matches(name) })
}

func (set seriesSet) forget(before int64) {
	for hash, s := range set {
		if i := s.from(before); i == len(s.samples) {
			delete(set, hash)
		} else if i > 0 {
			s.samples = slices.Clone(s.samples[i:])
		}
	}
}

// Restart forgets what the rules remember, as a restart of Prometheus does. Until Restore, alerts have no series.
func (e *Evaluator) Restart() {
	for _, r := range e.Rules {
		r.state = state{alerts: map[uint64]Alert{}, last: map[uint64]labels.Labels{}, restore: true}
	}
}

// Restore sets since when alerts are active, from the series before the restart. Prometheus does so after the second evaluation.
func (e *Evaluator) Restore(at time.Time) {
	for _, r := range e.Rules {
		e.restored(r, at)
	}
}

// With returns an evaluator after the same span, in which one rule is another. It evaluates only the rule and those that read it, directly or
// through others. The evaluators share samples: none may run afterwards.
func (e *Evaluator) With(ctx context.Context, number int, other rulefmt.Rule, from, to time.Time) (*Evaluator, error) {
	given := make([]rulefmt.Rule, len(e.Rules))
	for i, r := range e.Rules {
		given[i] = r.Rule
	}
	given[number] = other
	changed, err := New(given, e.o)
	if err != nil {
		return nil, err
	}
	changed.stored = e.stored
	again := map[int]bool{number: true}
	for grown := true; grown; {
		grown = false
		for _, all := range [][]*Rule{e.Rules, changed.Rules} {
			for _, r := range all {
				if !again[r.number] && slices.ContainsFunc(r.reads, func(read *Rule) bool { return again[read.number] }) {
					again[r.number], grown = true, true
				}
			}
		}
	}
	for i, r := range changed.Rules {
		if !again[i] {
			r.results, r.history, r.state = e.Rules[i].results, e.Rules[i].history, e.Rules[i].state
		}
	}
	for _, set := range changed.sets {
		if again[set.rules[0].number] {
			if err := changed.run(ctx, set, from, to); err != nil {
				return nil, err
			}
		}
	}
	return changed, nil
}
