// Package backtest evaluates alert rules over stored samples: which alerts would have fired, when and for how long, and which
// notifications Alertmanager would have sent. Prometheus' own rules and PromQL engine judge, with the interval of production.
package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// Source returns stored samples.
type Source interface {
	// Samples returns the samples of a selector after from, until to.
	Samples(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error)
}

// Options select what is evaluated.
type Options struct {
	Source   Source
	Groups   *Rules
	From, To time.Time
	// Interval is the time between two evaluations.
	Interval time.Duration
	// Matchers are label matchers that each stored series must have, such as job="avax".
	Matchers []string
	// External are the labels of the server that evaluates the rules.
	External labels.Labels
	// Progress, if set, is called after each window of history, with the share of the range that is evaluated.
	Progress func(until time.Time, share float64)
}

// Result is what the rules found.
type Result struct {
	From, To      time.Time
	Incidents     []Incident     // in the order in which they fired
	Pending       map[string]int // by alert: how often it was pending without firing
	Notifications []Notification // see Notify
	Gaps          []Gap          // alerts that could not be judged, or only in part
	Errors        []string       // rules whose evaluation failed, each once
}

// Incident is one alert from the time at which it fired until it was resolved.
type Incident struct {
	Alert   string
	Labels  labels.Labels
	Summary string
	// Active is when the expression first returned the alert. Resolved is zero if the alert still fired at the end.
	Active, Fired, Resolved time.Time
	// Inhibited is how long other alerts inhibited this one. Notify sets it.
	Inhibited time.Duration
}

// Gap tells which stored series an alert needs and did not find.
type Gap struct {
	Alert   string   `json:"alert"`
	Judged  bool     `json:"judged"`            // false: the alert could not be judged at all
	Missing []string `json:"missing,omitempty"` // families without a sample
	// Begin is the time of the oldest sample of the families that the alert needs, if it is after the begin of the range.
	Begin time.Time `json:"judged_from,omitzero"`
}

// Limits of one window of history. A window has at most maxWindowSamples stored samples, so that memory does not depend on the range.
const (
	minWindow        = 5 * time.Minute
	maxWindow        = 2 * time.Hour
	maxWindowSamples = 2_000_000
)

// run is the state of one evaluation of a range.
type run struct {
	o      Options
	plan   *plan
	store  *alerting.Store
	engine *promql.Engine
	loader loader
	before bool                 // whether there are samples before the range
	first  map[string]time.Time // by name: time of the oldest sample
	open   map[string]*Incident // firing alerts, by key

	pending map[string]string // name of the alert, by key
	errs    map[string]bool
	texts   []func()    // expand the summaries of this window; see summary
	ended   []*Incident // incidents of the range
	result  *Result
}

// Run evaluates the rules from Options.From to Options.To. It reads the history before the range that the rules need.
func Run(ctx context.Context, o Options) (*Result, error) {
	p, err := newPlan(o.Groups, o.External)
	if err != nil {
		return nil, err
	}
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	r := newRun(o, p, s)
	return r.result, errors.Join(r.all(ctx), s.Close())
}

func newRun(o Options, p *plan, s *alerting.Store) *run {
	return &run{
		o: o, plan: p, store: s, loader: loader{alive: map[model.Fingerprint]model.Metric{}}, first: map[string]time.Time{},
		open: map[string]*Incident{}, pending: map[string]string{}, errs: map[string]bool{},
		result: &Result{From: o.From, To: o.To, Pending: map[string]int{}, Notifications: []Notification{}, Gaps: []Gap{}},
		engine: promql.NewEngine(promql.EngineOpts{
			Logger: discard, MaxSamples: 100_000_000, Timeout: 10 * time.Minute, LookbackDelta: alerting.Lookback, EnableAtModifier: true,
			EnableNegativeOffset: true, Parser: promQL,
			NoStepSubqueryIntervalFn: func(int64) int64 { return o.Interval.Milliseconds() },
		}),
	}
}

// all evaluates the range in windows.
func (r *run) all(ctx context.Context) error {
	// Rules read stored samples, and results of others that read stored samples: begin twice as early.
	begin := r.o.From.Add(-2 * r.plan.reach).Truncate(r.o.Interval)
	length := r.wholeIntervals(minWindow)
	for from := begin; from.Before(r.o.To); {
		to := r.windowEnd(from, length)
		samples, err := r.window(ctx, from, to)
		if err != nil {
			return err
		}
		if r.o.Progress != nil {
			r.o.Progress(to, max(0, float64(to.Sub(r.o.From))/float64(r.o.To.Sub(r.o.From))))
		}
		length = 2 * length
		if samples > 0 {
			length = time.Duration(float64(to.Sub(from)) * maxWindowSamples / float64(samples))
		}
		length = r.wholeIntervals(min(max(length, minWindow), maxWindow))
		from = to
	}
	r.finish()
	return nil
}

// windowEnd returns the end of a window, which the beginning and the end of the range divide.
func (r *run) windowEnd(from time.Time, length time.Duration) time.Time {
	to := from.Add(length)
	if from.Before(r.o.From) && to.After(r.o.From) {
		if to = r.o.From.Truncate(r.o.Interval); !to.After(from) {
			to = to.Add(r.o.Interval)
		}
	}
	return earlier(to, r.o.To)
}

// window reads and evaluates a window, and forgets what no later window needs. It returns the number of samples.
func (r *run) window(ctx context.Context, from, to time.Time) (samples int, err error) {
	if samples, err = r.load(ctx, from, to); err != nil {
		return samples, err
	}
	if err = r.evaluate(ctx, from, to); err != nil {
		return samples, err
	}
	return samples, r.store.Truncate(to.Add(-r.plan.reach - alerting.Lookback).UnixMilli())
}

// wholeIntervals returns the length of a window with whole intervals, at least one. Otherwise a long interval would make an empty window.
func (r *run) wholeIntervals(length time.Duration) time.Duration {
	return max(length.Truncate(r.o.Interval), r.o.Interval)
}

// namesPerQuery is the number of families that one query reads.
const namesPerQuery = 20

// load reads the samples of a window. It returns their number.
func (r *run) load(ctx context.Context, from, to time.Time) (int, error) {
	ups, err := r.o.Source.Samples(ctx, selector("up", r.o.Matchers), from, to)
	if err != nil {
		return 0, err
	}
	scrapes := scrapesOf(ups)
	seen := map[model.Fingerprint]bool{}
	all := 0
	for _, query := range r.plan.queries(r.o.Matchers) {
		samples, err := r.o.Source.Samples(ctx, query, from, to)
		if err != nil {
			return all, err
		}
		for _, series := range samples {
			seen[series.Metric.Fingerprint()] = true
			name := string(series.Metric[model.MetricNameLabel])
			if _, known := r.first[name]; !known && len(series.Values) > 0 {
				r.first[name] = series.Values[0].Timestamp.Time()
				r.before = r.before || r.first[name].Before(r.o.From)
			}
		}
		n, err := r.loader.load(ctx, r.store, samples, scrapes)
		if err != nil {
			return all, err
		}
		all += n
	}
	return all, r.loader.end(ctx, r.store, seen, scrapes)
}

// evaluate evaluates all rules at each step of a window. A rule that reads its own results is queried again after each new result.
func (r *run) evaluate(ctx context.Context, from, to time.Time) error {
	for _, u := range r.plan.sets {
		window := to.Sub(from)
		for begin := from; !begin.Add(r.o.Interval).After(to); {
			end := earlier(begin.Add(window), to)
			ended, changed, err := r.evaluateSet(ctx, u, begin, end)
			if err != nil {
				return err
			}
			if begin, window = ended, 2*window; changed {
				window = r.o.Interval
			}
		}
	}
	for _, expand := range r.texts {
		expand()
	}
	r.texts = nil
	return ctx.Err() // an interrupted text is empty
}

// evaluateSet evaluates a set until to, or until the first results of a cyclic set. It returns the time of the last step, and
// whether there were such results.
func (r *run) evaluateSet(ctx context.Context, u ruleSet, from, to time.Time) (at time.Time, changed bool, err error) {
	results := make([]steps, len(u.rules))
	for i, rule := range u.rules {
		if results[i], err = r.queryRange(ctx, rule, from, to); err != nil {
			return from, false, err
		}
	}
	app := r.store.Appender(ctx)
	for at = from; !changed && !at.Add(r.o.Interval).After(to); {
		at = at.Add(r.o.Interval)
		for i, rule := range u.rules {
			stored, err := r.step(ctx, app, rule, at, results[i].at(at))
			if err != nil {
				return at, false, errors.Join(err, app.Rollback())
			}
			changed = changed || stored && u.cyclic
		}
	}
	return at, changed, app.Commit()
}

// step gives a rule the result of its expression, and stores what the rule returns. It reports whether it stored samples.
func (r *run) step(ctx context.Context, app storage.Appender, rule *rule, at time.Time, vector promql.Vector) (bool, error) {
	if len(vector) == 0 && len(rule.last) == 0 && (rule.alert == nil || rule.alert.ActiveAlertsCount() == 0) {
		return false, nil
	}
	result := func(context.Context, string, time.Time) (promql.Vector, error) { return vector, nil }
	var stored promql.Vector
	var err error
	if rule.alert != nil {
		stored, err = rule.alert.Eval(ctx, 0, at, result, nil, 0)
	} else {
		stored, err = rule.record.Eval(ctx, 0, at, result, nil, 0)
	}
	if err != nil {
		r.failed(rule, err)
	}
	changed := len(stored) > 0 || len(rule.last) > 0
	if err := rule.append(app, at, stored); err != nil {
		return changed, fmt.Errorf("rule %s: %w", rule.name, err)
	}
	if rule.alert != nil {
		r.note(ctx, rule, at)
	}
	return changed, nil
}

// note records the alerts that began to fire, and those that ended.
func (r *run) note(ctx context.Context, rule *rule, at time.Time) {
	// An alert of the time before the range counts only if that time has samples: without samples, absent() is true.
	counts := func(fired time.Time) bool { return !at.Before(r.o.From) && (r.before || !fired.Before(r.o.From)) }
	rule.alert.ForEachActiveAlert(func(a *rules.Alert) {
		key := a.Labels.String()
		incident, firing := r.open[key]
		switch {
		case a.State == rules.StatePending:
			r.pending[key] = rule.name
		case a.State == rules.StateFiring && !firing:
			delete(r.pending, key)
			r.open[key] = &Incident{Alert: rule.name, Labels: a.Labels, Active: a.ActiveAt, Fired: at}
			r.texts = append(r.texts, r.summary(ctx, rule, r.open[key], a.Value))
		case a.State == rules.StateInactive && firing:
			incident.Resolved = at
			delete(r.open, key)
			if counts(incident.Fired) {
				r.ended = append(r.ended, incident)
			}
		}
	})
	for key, name := range r.pending {
		if name == rule.name && !active(rule, key) {
			delete(r.pending, key)
			if counts(at) {
				r.result.Pending[name]++
			}
		}
	}
}

func active(rule *rule, key string) (found bool) {
	rule.alert.ForEachActiveAlert(func(a *rules.Alert) {
		found = found || a.State != rules.StateInactive && a.Labels.String() == key
	})
	return found
}

// summary returns a function that expands the annotation summary of an alert. It is called when all rules of the window have been
// evaluated, because the text may query the results of any rule.
func (r *run) summary(ctx context.Context, rule *rule, incident *Incident, v float64) func() {
	return func() {
		const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
		data := template.AlertTemplateData(incident.Labels.Map(), r.o.External.Map(), "", promql.Sample{F: v})
		query := template.QueryFunc(rules.EngineQueryFunc(r.engine, r.store))
		at := model.TimeFromUnixNano(incident.Fired.UnixNano())
		text, err := template.NewTemplateExpander(ctx, variables+rule.summary, rule.name, data, at, query, &url.URL{}, nil).Expand()
		if err != nil {
			r.failed(rule, err)
		}
		incident.Summary = strings.TrimSpace(text)
	}
}

// failed records the error of a rule, once.
func (r *run) failed(rule *rule, err error) {
	if text := rule.name + ": " + err.Error(); !r.errs[text] {
		r.errs[text] = true
		r.result.Errors = append(r.result.Errors, text)
	}
}

// finish adds the alerts that still fire, sorts, and finds what could not be judged.
func (r *run) finish() {
	for _, incident := range r.open {
		if r.before || !incident.Fired.Before(r.o.From) {
			r.ended = append(r.ended, incident)
		}
	}
	for _, incident := range r.ended {
		r.result.Incidents = append(r.result.Incidents, *incident)
	}
	slices.SortFunc(r.result.Incidents, func(a, b Incident) int {
		return cmp.Or(a.Fired.Compare(b.Fired), strings.Compare(a.Labels.String(), b.Labels.String()))
	})
	inputs, judged := r.plan.inputsOf(), r.plan.judged(r.first)
	for _, alert := range slices.Sorted(maps.Keys(inputs)) {
		gap := Gap{Alert: alert, Judged: judged[alert]}
		begin := r.o.From.Add(maxScrapeInterval)
		for _, name := range inputs[alert] {
			first, found := r.first[name]
			if !found {
				gap.Missing = append(gap.Missing, name)
			} else if first.After(begin) && first.After(gap.Begin) {
				gap.Begin = first
			}
		}
		if !gap.Judged || len(gap.Missing) > 0 || !gap.Begin.IsZero() {
			r.result.Gaps = append(r.result.Gaps, gap)
		}
	}
}

// maxScrapeInterval is the longest usual time between two samples: within this time of the begin, a family was there from the
// begin.
const maxScrapeInterval = 5 * time.Minute

// steps is the result of a rule at each step of a window.
type steps struct {
	series promql.Matrix
	next   []int // position of the next point, by series
}

// queryRange evaluates the expression of a rule at every step of a window.
func (r *run) queryRange(ctx context.Context, rule *rule, from, to time.Time) (steps, error) {
	expr := rule.expr
	query, err := r.engine.NewRangeQuery(ctx, r.store, nil, expr.String(), from.Add(r.o.Interval), to, r.o.Interval)
	if err != nil {
		return steps{}, fmt.Errorf("rule %s: %w", rule.name, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		if ctx.Err() != nil {
			return steps{}, ctx.Err()
		}
		r.failed(rule, result.Err)
		return steps{}, nil
	}
	matrix, err := result.Matrix()
	if err != nil {
		return steps{}, fmt.Errorf("rule %s: %w", rule.name, err)
	}
	own := make(promql.Matrix, len(matrix)) // the engine reuses the points after Close
	for i, series := range matrix {
		own[i] = promql.Series{Metric: series.Metric, Floats: slices.Clone(series.Floats)}
	}
	return steps{own, make([]int, len(own))}, nil
}

// at returns the results at a step. Call it with increasing times.
func (s steps) at(at time.Time) (vector promql.Vector) {
	t := at.UnixMilli()
	for i, series := range s.series {
		if n := s.next[i]; n < len(series.Floats) && series.Floats[n].T == t {
			vector = append(vector, promql.Sample{Metric: series.Metric, T: t, F: series.Floats[n].F})
			s.next[i]++
		}
	}
	return vector
}
