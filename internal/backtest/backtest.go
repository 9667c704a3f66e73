// Package backtest evaluates alert rules over stored samples: which alerts would have fired, when and for how long, and which
// notifications Alertmanager would have sent. Package evaluation judges, with the interval of production.
package backtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/evaluation"
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
	Errors        []string       // of rules that failed, each once; a rule is left out at the times at which it fails
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
	o         Options
	plan      *plan
	evaluator *evaluation.Evaluator
	loader    loader
	before    bool                 // whether there are samples before the range
	first     map[string]time.Time // by name: time of the oldest sample
	alerts    []*alert
	errs      map[string]bool
	ended     []*Incident // incidents of the range
	result    *Result
}

// alert is a rule of an alert.
type alert struct {
	*evaluation.Rule
	open    map[string]*Incident // firing, by labels
	pending map[string]bool      // by labels
}

// Run evaluates the rules from Options.From to Options.To. It reads the history before the range that the rules need.
func Run(ctx context.Context, o Options) (*Result, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	return r.result, r.all(ctx)
}

func newRun(o Options) (*run, error) {
	r := &run{
		o: o, loader: loader{alive: map[model.Fingerprint]model.Metric{}}, first: map[string]time.Time{}, errs: map[string]bool{},
		result: &Result{From: o.From, To: o.To, Pending: map[string]int{}, Notifications: []Notification{}, Gaps: []Gap{}},
	}
	var given []rulefmt.Rule
	for _, g := range o.Groups.Groups {
		given = append(given, g.Rules...)
	}
	var err error
	r.evaluator, err = evaluation.New(given, evaluation.Options{Interval: o.Interval, Lookback: alerting.Lookback, External: o.External, Failed: r.failed})
	if err != nil {
		return nil, err
	}
	for _, rule := range r.evaluator.Rules {
		if rule.Alert != "" {
			r.alerts = append(r.alerts, &alert{rule, map[string]*Incident{}, map[string]bool{}})
		}
	}
	r.plan = newPlan(r.evaluator.Rules)
	return r, nil
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
	err = r.evaluate(ctx, from, to)
	r.evaluator.Forget(to)
	return samples, err
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
		all += r.loader.load(r.evaluator, samples, scrapes)
	}
	r.loader.end(r.evaluator, seen, scrapes)
	return all, nil
}

// evaluate evaluates all rules at each step of a window.
func (r *run) evaluate(ctx context.Context, from, to time.Time) error {
	from = from.Add(r.o.Interval)
	if err := r.evaluator.Run(ctx, from, to); err != nil {
		return err
	}
	for _, a := range r.alerts {
		for at := from; !at.After(to); at = at.Add(r.o.Interval) {
			r.note(ctx, a, at)
		}
	}
	return ctx.Err() // an interrupted text is empty
}

// note records the alerts of a rule that began to fire, and those that ended.
func (r *run) note(ctx context.Context, a *alert, at time.Time) {
	// An alert of the time before the range counts only if that time has samples: without samples, absent() is true.
	counts := func(fired time.Time) bool { return !at.Before(r.o.From) && (r.before || !fired.Before(r.o.From)) }
	firing, pending := map[string]bool{}, map[string]bool{}
	for _, active := range a.Active(at) {
		key := active.Labels.String()
		if active.State == rules.StatePending {
			pending[key], a.pending[key] = true, true
			continue
		}
		firing[key] = true
		delete(a.pending, key)
		if a.open[key] == nil {
			text, err := r.evaluator.Annotation(ctx, a.Rule, active, "summary")
			if err != nil {
				r.failed(a.Rule, err)
			}
			a.open[key] = &Incident{Alert: a.Name, Labels: active.Labels, Active: active.ActiveAt, Fired: at, Summary: strings.TrimSpace(text)}
		}
	}
	for key, incident := range a.open {
		if !firing[key] {
			incident.Resolved = at
			delete(a.open, key)
			if counts(incident.Fired) {
				r.ended = append(r.ended, incident)
			}
		}
	}
	for key := range a.pending {
		if !pending[key] {
			delete(a.pending, key)
			if counts(at) {
				r.result.Pending[a.Name]++
			}
		}
	}
}

// failed records the error of a rule, once.
func (r *run) failed(rule *evaluation.Rule, err error) {
	if text := rule.Name + ": " + err.Error(); !r.errs[text] {
		r.errs[text] = true
		r.result.Errors = append(r.result.Errors, text)
	}
}

// finish adds the alerts that still fire, sorts, and finds what could not be judged.
func (r *run) finish() {
	for _, a := range r.alerts {
		for _, incident := range a.open {
			if r.before || !incident.Fired.Before(r.o.From) {
				r.ended = append(r.ended, incident)
			}
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
