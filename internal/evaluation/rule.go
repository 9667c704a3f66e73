package evaluation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/template"
)

// The series of alerts, as Prometheus names them.
const (
	alertSeries    = "ALERTS"
	forStateSeries = "ALERTS_FOR_STATE"
	alertState     = "alertstate"
)

// resolvedFor is how long Prometheus remembers an alert that is over.
const resolvedFor = 15 * time.Minute

// Rule is a rule and its results.
type Rule struct {
	rulefmt.Rule
	Name string      // of the alert, or of the recorded series
	Expr parser.Expr // as it is written

	number  int
	query   string        // the expression that is evaluated; see lagging
	names   []string      // of its series
	fixed   labels.Labels // labels that its series have, as far as the rule sets them
	reads   []*Rule
	selects []*parser.VectorSelector
	shows   []string // names of series in its texts
	results seriesSet
	history []Moment
	state   state

	answer promql.Matrix  // of the last query
	failed map[int64]bool // times at which the query failed
	fresh  bool           // whether no rule that it reads has changed since
}

// Moment is an evaluation after which an alert of a rule was active.
type Moment struct {
	At     time.Time
	Alerts []Alert
}

// Alert is an active alert. Its annotations are not expanded; see Evaluator.Annotations.
type Alert struct {
	rules.Alert
	// Seen is the time of the last evaluation whose result had the alert. Its annotations are of this time.
	Seen   time.Time
	metric labels.Labels // the result
}

// state is what a rule remembers after an evaluation.
type state struct {
	alerts  map[uint64]Alert         // by hash of the labels
	last    map[uint64]labels.Labels // series that the evaluation returned, by hash
	restore bool                     // no series until Restore
}

func (s state) clone() state {
	return state{maps.Clone(s.alerts), maps.Clone(s.last), s.restore}
}

func (r *Rule) prepare() {
	r.results, r.names, r.fixed = seriesSet{}, []string{r.Record}, labels.FromMap(r.Labels)
	if r.Alert != "" {
		r.names = []string{alertSeries, forStateSeries}
		r.fixed = labels.NewBuilder(r.fixed).Set(labels.AlertName, r.Alert).Labels()
	}
	r.state = state{alerts: map[uint64]Alert{}, last: map[uint64]labels.Labels{}}
	r.failed = map[int64]bool{}
}

// Active returns the alerts that are active after an evaluation, ordered by their labels.
func (r *Rule) Active(at time.Time) []Alert {
	i, found := slices.BinarySearchFunc(r.history, at, func(m Moment, at time.Time) int { return m.At.Compare(at) })
	if !found {
		return nil
	}
	return r.history[i].Alerts
}

// History returns the evaluations after which an alert was active.
func (r *Rule) History() []Moment { return r.history }

// outcome is what a rule returns for a span of evaluations.
type outcome struct {
	results seriesSet
	history []Moment
	state   state
}

// apply gives the rule the results of its expression at each time from from to to. It changes nothing.
func (e *Evaluator) apply(ctx context.Context, r *Rule, from, to time.Time) (outcome, error) {
	o := outcome{results: seriesSet{}, state: r.state.clone()}
	next := make([]int, len(r.answer))
	for i, s := range r.answer {
		next[i], _ = slices.BinarySearchFunc(s.Floats, from.UnixMilli(), func(p promql.FPoint, t int64) int { return int(p.T - t) })
	}
	for at := from; !at.After(to); at = at.Add(e.o.Interval) {
		t := at.UnixMilli()
		returned := map[uint64]labels.Labels{}
		put := func(ls labels.Labels, v float64) error {
			hash := ls.Hash()
			if returned[hash].Len() > 0 {
				return rules.ErrDuplicateRecordingLabelSet
			}
			returned[hash] = ls
			s := o.results.of(ls)
			s.samples = append(s.samples, sample{t, v})
			return nil
		}
		vector := samplesAt(r.answer, next, t)
		if len(vector) == 0 && len(o.state.alerts) == 0 && len(o.state.last) == 0 {
			continue
		}
		failed := r.failed[t]
		if !failed {
			var err error
			if r.Alert == "" {
				err = r.record(vector, put)
			} else {
				err = e.judge(ctx, r, &o.state, vector, at, put)
			}
			if failed = err != nil; failed {
				if e.o.Failed == nil || ctx.Err() != nil {
					return o, fmt.Errorf("rule %s: %w", r.Name, err)
				}
				e.o.Failed(r, err)
				o.results.withdraw(returned)
			}
		}
		if active := o.state.active(); len(active) > 0 {
			o.history = append(o.history, Moment{at, active})
		}
		if failed { // the rule keeps its alerts, and writes nothing
			continue
		}
		for hash, ls := range o.state.last {
			if _, there := returned[hash]; !there {
				s := o.results.of(ls)
				s.samples = append(s.samples, sample{t, StaleMarker})
			}
		}
		o.state.last = returned
	}
	return o, nil
}

// samplesAt returns the samples of a time, and counts them in next, which is the position of the next sample of each series.
func samplesAt(of promql.Matrix, next []int, t int64) (vector promql.Vector) {
	for i, s := range of {
		if n := next[i]; n < len(s.Floats) && s.Floats[n].T == t {
			vector = append(vector, promql.Sample{Metric: s.Metric, T: t, F: s.Floats[n].F})
			next[i]++
		}
	}
	return vector
}

// withdraw removes the newest sample of series.
func (set seriesSet) withdraw(of map[uint64]labels.Labels) {
	for hash := range of {
		s := set[hash]
		s.samples = s.samples[:len(s.samples)-1]
	}
}

// record returns the series of a recording rule.
func (r *Rule) record(vector promql.Vector, put func(labels.Labels, float64) error) error {
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, s := range vector {
		b.Reset(s.Metric)
		r.fixed.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
		if err := put(b.Set(model.MetricNameLabel, r.Record).Labels(), s.F); err != nil {
			return err
		}
	}
	return nil
}

// judge changes the states of the alerts of a rule as rules.AlertingRule.Eval does, and returns their series.
func (e *Evaluator) judge(ctx context.Context, r *Rule, s *state, vector promql.Vector, at time.Time, put func(labels.Labels, float64) error) error {
	found := make(map[uint64]Alert, len(vector))
	for _, one := range vector {
		ls, err := e.labelsOf(ctx, r, one, at)
		if err != nil {
			return err
		}
		hash := ls.Hash()
		if _, twice := found[hash]; twice {
			return rules.ErrDuplicateAlertLabelSet
		}
		a, known := s.alerts[hash]
		if !known || a.State == rules.StateInactive {
			a = Alert{Alert: rules.Alert{Labels: ls, ActiveAt: at, State: rules.StatePending}}
		}
		a.Value, a.Seen, a.metric = one.F, at, one.Metric
		found[hash] = a
	}
	maps.Copy(s.alerts, found)
	for hash, a := range s.alerts {
		_, there := found[hash]
		if !a.next(there, at, time.Duration(r.For), time.Duration(r.KeepFiringFor)) {
			delete(s.alerts, hash)
			continue
		}
		s.alerts[hash] = a
		if s.restore || a.State == rules.StateInactive {
			continue
		}
		with := labels.NewBuilder(a.Labels)
		err := errors.Join(
			put(with.Set(model.MetricNameLabel, forStateSeries).Labels(), float64(a.ActiveAt.Unix())),
			put(with.Set(model.MetricNameLabel, alertSeries).Set(alertState, a.State.String()).Labels(), 1),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// labelsOf returns the labels of the alert of a result.
func (e *Evaluator) labelsOf(ctx context.Context, r *Rule, result promql.Sample, at time.Time) (labels.Labels, error) {
	b := labels.NewBuilder(result.Metric)
	b.Del(model.MetricNameLabel)
	var err error
	r.fixed.Range(func(l labels.Label) {
		if strings.Contains(l.Value, "{{") {
			var failed error
			l.Value, failed = e.expand(ctx, r, l.Value, result.Metric, result.F, at)
			err = errors.Join(err, failed)
		}
		b.Set(l.Name, l.Value)
	})
	return b.Labels(), err
}

// next changes the state of an alert after an evaluation, whose result has the alert or not. It reports whether Prometheus remembers it.
func (a *Alert) next(found bool, at time.Time, hold, keep time.Duration) bool {
	if found {
		a.KeepFiringSince = time.Time{}
	} else {
		if a.State == rules.StatePending || !a.ResolvedAt.IsZero() && at.Sub(a.ResolvedAt) > resolvedFor {
			return false
		}
		if a.State == rules.StateFiring && keep > 0 && a.KeepFiringSince.IsZero() {
			a.KeepFiringSince = at
		}
		if a.State == rules.StateFiring && (keep == 0 || at.Sub(a.KeepFiringSince) >= keep) {
			a.State, a.ResolvedAt = rules.StateInactive, at
		}
	}
	switch held := at.Sub(a.ActiveAt) >= hold; {
	case a.State == rules.StatePending && held:
		a.State, a.FiredAt = rules.StateFiring, at
	case a.State == rules.StateFiring && !held: // restored
		a.State, a.FiredAt, a.KeepFiringSince = rules.StatePending, time.Time{}, time.Time{}
	}
	return true
}

// active returns the active alerts, ordered by their labels.
func (s state) active() (all []Alert) {
	for _, a := range s.alerts {
		if a.State != rules.StateInactive {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b Alert) int { return labels.Compare(a.Labels, b.Labels) })
	return all
}

// restored sets since when alerts are active, from the series before a restart, as rules.Group.RestoreForState does.
func (e *Evaluator) restored(r *Rule, at time.Time) {
	r.state.restore = false
	hold := time.Duration(r.For)
	if r.Alert == "" || hold < e.o.ForGracePeriod {
		return
	}
	for hash, a := range r.state.alerts {
		saved := r.results[labels.NewBuilder(a.Labels).Set(model.MetricNameLabel, forStateSeries).Labels().Hash()]
		if saved == nil || len(saved.samples) == 0 {
			continue
		}
		last := saved.samples[len(saved.samples)-1]
		down := time.UnixMilli(last.at)
		if math.IsNaN(last.value) || at.Sub(down) > outageTolerance { // the alert was over, or it is too long ago
			continue
		}
		a.ActiveAt = time.Unix(int64(last.value), 0).UTC()
		switch remaining := hold - down.Sub(a.ActiveAt); {
		case remaining <= 0:
		case remaining < e.o.ForGracePeriod:
			a.ActiveAt = at.Add(e.o.ForGracePeriod - hold)
		default:
			a.ActiveAt = a.ActiveAt.Add(at.Sub(down))
		}
		r.state.alerts[hash] = a
	}
}

// outageTolerance is Prometheus' default of --rules.alert.for-outage-tolerance.
const outageTolerance = time.Hour

// Annotations returns the expanded annotations of an alert.
func (e *Evaluator) Annotations(ctx context.Context, r *Rule, a Alert) (map[string]string, error) {
	texts := map[string]string{}
	for name := range r.Rule.Annotations {
		text, err := e.Annotation(ctx, r, a, name)
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}

// Annotation returns one expanded annotation of an alert.
func (e *Evaluator) Annotation(ctx context.Context, r *Rule, a Alert, name string) (string, error) {
	text, err := e.expand(ctx, r, r.Rule.Annotations[name], a.metric, a.Value, a.Seen)
	if err != nil {
		return "", fmt.Errorf("alert %s: annotation %s: %w", r.Name, name, err)
	}
	return text, nil
}

// expand expands a template of a rule, whose queries read what the rule can read at a time.
func (e *Evaluator) expand(ctx context.Context, r *Rule, text string, metric labels.Labels, v float64, at time.Time) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	data := template.AlertTemplateData(metric.Map(), e.o.External.Map(), "", promql.Sample{F: v})
	query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		lagging, err := r.lagging(expr, e.Rules)
		if err != nil {
			return nil, err
		}
		return e.Query(ctx, lagging, at)
	}
	return template.NewTemplateExpander(ctx, variables+text, "__alert_"+r.Name, data, model.TimeFromUnixNano(at.UnixNano()), query,
		&url.URL{}, nil).Expand()
}
