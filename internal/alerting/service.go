package alerting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/logs"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

const (
	dropEvery = 10 * time.Minute // time between two deletions of samples older than the history
	// drainFor is how long a shutdown waits until queued notifications are sent.
	drainFor = 5 * time.Second
	// queueCapacity is the maximum number of queued alerts: Prometheus' default. One request may have all of them.
	queueCapacity = 10_000
	poll          = 100 * time.Millisecond // time between two looks whether a start may go on
)

// Alerting evaluates rules and notifies Alertmanagers until the context of Start ends.
type Alerting struct {
	o        Options
	log      *slog.Logger
	metrics  *Metrics
	external labels.Labels
	link     *url.URL

	notifier *notifier.Manager // nil: no Alertmanager
	delivery *delivery
	saver    *saver
	gap      atomic.Pointer[gap] // the last interruption
	paused   atomic.Bool         // whether this process was interrupted

	mu      sync.Mutex // locked during a reload or a restart of the engine
	set     *ruleSet
	loaded  time.Time // when the rules were last given to an engine, or an engine without rules was begun; zero before the first rules
	engine  *engine
	failing map[string]string // errors of the rules whose last evaluation failed
	stopped chan struct{}
}

// Start starts the scrapes. After the first complete scrape, the evaluation of rules starts. Both stop when ctx ends. Wait
// returns when both have stopped.
func Start(ctx context.Context, o Options) (*Alerting, error) {
	o.ResendDelay = cmp.Or(o.ResendDelay, time.Minute)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.URL = strings.TrimSuffix(o.URL, "/")
	if o.clockStep == nil {
		o.clockStep = clockStep
	}
	set, err := readRules(o.Config)
	if err != nil {
		return nil, fmt.Errorf("alert rules: %w", err)
	}
	link, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	a := &Alerting{
		o: o, log: o.Log, metrics: NewMetrics(o.Registerer), external: labels.FromMap(o.ExternalLabels), link: link,
		set: set, failing: map[string]string{}, stopped: make(chan struct{}),
	}
	if a.o.State == nil {
		a.o.State = &state.Dir{} // in memory only: a restart loses it
		o.Registerer.Unregister(a.metrics.saved)
	}
	if a.o.State.Path() == "" {
		o.Registerer.Unregister(a.metrics.availability) // a restart would lose it
	}
	week, err := newWeek(a.o.State, a.log)
	if err != nil {
		return nil, err
	}
	quarter, err := newQuarter(a.o.State, a.log)
	if err != nil {
		return nil, err
	}
	stored := newHistory(a.o.State, a.log, "history", partEvery)
	stored.instance = o.Instance
	a.saver = newSaver(stored, week, quarter, newMoments(a.o), a.metrics)

	var block config.AlertingConfig
	if o.Notifies() {
		if block, err = receivers(o.Config); err != nil {
			return nil, fmt.Errorf("list of Alertmanagers: %w", err)
		}
	}
	// The context stopping outlives ctx, so that queued notifications can still be sent (see drainFor).
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.delivery = newDelivery(o, a.metrics, stopping)
	if o.Notifies() {
		if a.notifier, err = a.newNotifier(block); err != nil {
			stop()
			return nil, fmt.Errorf("list of Alertmanagers: %w", err)
		}
	}
	store, err := OpenStore(logs.AtLeast(slog.LevelError, a.log), prometheus.NewRegistry(), 0)
	if err == nil {
		a.saver.load(store)
		if from := time.UnixMilli(store.MaxTime()); store.NumSeries() > 0 && time.Since(from) > pauseTolerance(o.Interval) {
			a.gap.Store(&gap{from, time.Now(), "the exporter did not run"})
		}
		a.engine, err = a.newEngine(ctx, set, store)
	}
	if err != nil {
		stop()
		return nil, err
	}
	go a.run(ctx, stop, block)
	return a, nil
}

// newNotifier returns Prometheus' notifier.
func (a *Alerting) newNotifier(block config.AlertingConfig) (*notifier.Manager, error) {
	n := notifier.NewManager(&notifier.Options{
		QueueCapacity: queueCapacity, MaxBatchSize: queueCapacity, DrainOnShutdown: true, Registerer: prometheus.NewRegistry(), Do: a.delivery.do,
	}, model.UTF8Validation, logs.AtLeast(slog.LevelError+1, a.log))
	cfg, err := a.scrapeConfig()
	if err != nil {
		return nil, err
	}
	cfg.AlertingConfig, a.delivery.outbox.manager = block, n
	return n, n.ApplyConfig(cfg)
}

// run scrapes, evaluates and notifies until ctx ends.
func (a *Alerting) run(ctx context.Context, stop context.CancelFunc, block config.AlertingConfig) {
	defer close(a.stopped)
	defer stop()
	var notifying, sending sync.WaitGroup
	if a.notifier != nil {
		receivers := make(chan map[string][]*targetgroup.Group, 1)
		receivers <- targets(block)
		notifying.Go(func() { a.notifier.Run(receivers) })
		sending.Go(a.delivery.outbox.run)
	}

	e := a.engine
	for a.evaluate(ctx, e) {
		next := a.restart(ctx, e)
		if next == nil {
			break
		}
		e = next
	}
	// Stop the rules first, so that they queue no more notifications. The notifier then sends the queued notifications.
	a.stopRules(e)
	if a.notifier != nil {
		drained := time.AfterFunc(drainFor, stop)
		close(a.delivery.outbox.stop)
		sending.Wait()
		a.notifier.Stop()
		notifying.Wait()
		drained.Stop()
	}
	e.close()
	if !a.saver.last(e.store, a.keep(e.store)) {
		return // the disk hangs, and the store is in use
	}
	if err := errors.Join(e.store.Close(), a.saver.week.store.Close(), a.saver.quarter.store.Close()); err != nil {
		a.log.Error("samples not released", "err", err)
	}
}

// evaluate runs an engine until ctx ends or it is interrupted. It reports whether it was interrupted.
func (a *Alerting) evaluate(ctx context.Context, e *engine) (interrupted bool) {
	if !a.waitUntilReady(ctx) {
		return false
	}
	a.mu.Lock()
	cfg, err := a.scrapeConfig()
	if err == nil {
		err = e.sample(cfg)
	}
	a.mu.Unlock()
	if err != nil {
		a.log.Error("alert rules not started", "err", err) // not expected: the configuration was validated before
		<-ctx.Done()
		return false
	}
	late := time.NewTimer(2 * a.o.Patience)
	defer late.Stop()
	look := time.NewTicker(poll)
	defer look.Stop()
	for !e.stored.Load() {
		select {
		case <-look.C:
		case <-late.C:
			a.log.Error("alert rules waiting for metrics")
		case <-e.clock.set:
			return true
		case <-ctx.Done():
			return false
		}
	}
	a.mu.Lock()
	if err := e.evaluate(ctx, a, a.set); err != nil {
		a.log.Error("alert rules invalid", "err", err) // not expected: the set was validated before
	}
	a.log.Info("alert rules started", "rules", a.set.name, "alerts", a.set.alerts)
	a.mu.Unlock()
	return a.watch(ctx, e)
}

// waitUntilReady waits until Options.Ready returns true, at most for Options.Patience. It returns false if ctx ends first.
func (a *Alerting) waitUntilReady(ctx context.Context) bool {
	began, since := time.Now(), a.since()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for a.o.Ready != nil && !a.o.Ready(since) && time.Since(began) < a.o.Patience {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// since returns the end of the last interruption, or zero.
func (a *Alerting) since() time.Time {
	_, to, _ := a.Gap()
	return to
}

// restart replaces the engine after an interruption. Alerts keep their state: no alert is resolved, and each `for` continues. restart
// returns nil if ctx ends first.
func (a *Alerting) restart(ctx context.Context, old *engine) *engine {
	gap := old.clock.gap
	a.gap.Store(&gap)
	a.paused.Store(true)
	a.log.Warn("rule evaluation interrupted", "from", gap.from, "to", gap.to, "cause", gap.cause, "effect", "alerts keep their state")
	a.stopRules(old)
	old.close()
	store := old.store
	for {
		var next *engine
		var err error
		if old.clock.back && store == old.store {
			store, err = old.store.moved(logs.AtLeast(slog.LevelError, a.log), gap.from, clockStep(gap.from))
		}
		if err == nil {
			a.mu.Lock()
			if next, err = a.newEngine(ctx, a.set, store); err == nil {
				a.engine, a.loaded = next, time.Now()
			}
			a.mu.Unlock()
		} else {
			store = old.store
		}
		if err == nil {
			if store != old.store {
				a.saver.restart()
				if err := old.store.Close(); err != nil {
					a.log.Error("old samples not released", "err", err)
				}
			}
			return next
		}
		a.log.Error("alert rules not started", "err", err)
		select {
		case <-time.After(a.o.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// Gap returns the last time in which the rules were not evaluated, and why. The cause is empty if there was none.
func (a *Alerting) Gap() (from, to time.Time, cause string) {
	if g := a.gap.Load(); g != nil {
		return g.from, g.to, g.cause
	}
	return from, to, ""
}

// stopRules stops the evaluation.
func (a *Alerting) stopRules(e *engine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.evaluating {
		e.evaluating = false
		e.rules.Stop()
	}
}

// current returns the running engine.
func (a *Alerting) current() *engine {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.engine
}

// Wait waits until alerting has stopped. Alerting stops after the context of Start has ended.
func (a *Alerting) Wait() { <-a.stopped }

// scrapeConfig returns the configuration of a Prometheus that scrapes only this exporter.
func (a *Alerting) scrapeConfig() (*config.Config, error) {
	interval := model.Duration(a.o.Interval).String()
	text, err := yaml.Marshal(map[string]any{
		"global": map[string]any{
			"scrape_interval": interval, "scrape_timeout": model.Duration(min(a.o.Interval, 10*time.Second)).String(),
			"evaluation_interval": interval,
		},
		"scrape_configs": []any{map[string]any{
			"job_name":               a.o.Job,
			"enable_compression":     false, // within the process
			"static_configs":         []any{map[string]any{"targets": []string{"exporter"}, "labels": map[string]string{"instance": a.o.Instance}}},
			"metric_relabel_configs": []any{map[string]any{"source_labels": []string{model.MetricNameLabel}, "regex": "go_.*", "action": "drop"}},
		}},
	})
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(string(text), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	cfg.GlobalConfig.ExternalLabels = a.external // set directly, because Load would expand environment variables
	return cfg, nil
}

// Reload reloads the rules. If the new rules are invalid, it keeps the previous rules.
func (a *Alerting) Reload() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	set, err := a.reload()
	if err != nil {
		a.log.Error("reload failed, keeping the previous configuration", "config", "alert rules", "err", err)
		return err
	}
	a.log.Info("configuration reloaded", "config", "alert rules", "rules", set.name, "alerts", set.alerts)
	return nil
}

func (a *Alerting) reload() (*ruleSet, error) {
	set, err := readRules(a.o.Config)
	if err != nil {
		return nil, err
	}
	a.set = set
	if !a.engine.evaluating {
		return set, nil
	}
	before := a.engine.rules.RuleGroups()
	if err := a.engine.evaluate(context.Background(), a, set); err != nil {
		return nil, err
	}
	a.resolveLost(before)
	return set, nil
}

// resolveLost resolves the alerts that fire in none of the new rules: a rule that was removed, or is in another group now, ends none itself.
func (a *Alerting) resolveLost(before []*rules.Group) {
	lost := a.firing(before)
	for labels := range a.firing(a.engine.rules.RuleGroups()) {
		delete(lost, labels)
	}
	if len(lost) == 0 {
		return
	}
	now := time.Now()
	for _, alert := range lost {
		alert.ResolvedAt, alert.ValidUntil = now, now
	}
	a.resolve(slices.Collect(maps.Values(lost))...)
}

// firing returns the firing alerts of groups, by their labels.
func (a *Alerting) firing(groups []*rules.Group) map[string]*rules.Alert {
	all := map[string]*rules.Alert{}
	for _, g := range groups {
		for _, rule := range g.AlertingRules() {
			for _, alert := range a.engine.active(a, rule) {
				if alert.State == rules.StateFiring {
					all[alert.Labels.String()] = alert
				}
			}
		}
	}
	return all
}

// keep returns how long samples are kept.
func (a *Alerting) keep(s *Store) time.Duration { return a.o.history(s.NumSeries()) }

// watch updates metrics, saves and drops samples until ctx ends or the evaluation is interrupted. It reports whether it was interrupted.
func (a *Alerting) watch(ctx context.Context, e *engine) (interrupted bool) {
	tick := time.NewTicker(a.o.Interval)
	defer tick.Stop()
	dropped := time.Now()
	first := time.NewTicker(poll) // until the first evaluations have ended
	defer first.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-e.clock.set:
			return true
		case <-first.C:
			if e.evaluatedAll(a.o.Patience) || time.Since(a.Loaded()) >= a.o.Patience {
				a.begin()
				first.Stop()
			}
		case <-tick.C:
			if e.clock.interrupted() {
				return true
			}
			e.scrapedBefore(ctx, a)
			a.updateMetrics()
			a.metrics.series.Set(float64(e.store.NumSeries()))
			a.metrics.history.Set(e.store.age().Seconds())
			if err := a.sampleLong(ctx, e, time.Now()); err != nil && ctx.Err() == nil {
				a.log.Error("long history not added", "err", err)
			}
			if err := a.saver.moments.keep(ctx, a, time.Now()); err != nil && ctx.Err() == nil {
				a.log.Error("alerts not explained", "err", err)
			}
			a.saver.save(e.store, a.keep(e.store))
			if time.Since(dropped) >= dropEvery {
				dropped = time.Now()
				if err := e.store.drop(dropped, a.keep(e.store)); err != nil {
					a.log.Error("old samples not dropped", "err", err)
				}
			}
		}
	}
}

// begin starts the notifications of this process.
func (a *Alerting) begin() {
	if a.o.Notifier != nil {
		a.o.Notifier.Begin()
	}
}

// updateMetrics counts the active alerts and the failing rules. It logs when a rule starts to fail, fails with another error,
// or recovers.
func (a *Alerting) updateMetrics() {
	counts := map[string]int{}
	failing := map[string]string{}
	for _, g := range a.current().rules.RuleGroups() {
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil {
				failing[g.Name()+": "+r.Name()] = err.Error()
			}
			if alerting, ok := r.(*rules.AlertingRule); ok && alerting.ActiveAlertsCount() > 0 {
				for _, alert := range alerting.ActiveAlerts() {
					counts[alert.State.String()]++
				}
			}
		}
	}
	for _, s := range []string{Pending, Firing} {
		a.metrics.alerts.WithLabelValues(s).Set(float64(counts[s]))
	}
	for rule, err := range failing {
		if a.failing[rule] != err {
			a.log.Error("rule evaluation failed", "rule", rule, "err", err)
		}
	}
	for rule := range a.failing {
		if failing[rule] == "" {
			a.log.Info("rule evaluation recovered", "rule", rule)
		}
	}
	a.failing = failing
	a.metrics.failing.Set(float64(len(failing)))
}

// Loaded returns when the current rules were loaded, or when an interruption ended after which they are not loaded yet. It is zero until the
// evaluation begins. A group is evaluated for the first time up to its interval later.
func (a *Alerting) Loaded() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.loaded
}

// Groups implements Source.
func (a *Alerting) Groups(context.Context) ([]Group, error) { return a.groups(), nil }

func (a *Alerting) groups() []Group {
	a.mu.Lock()
	order := map[string]int{}
	for i, g := range a.set.groups.Groups {
		order[g.Name] = i
	}
	e := a.engine
	a.mu.Unlock()
	groups := make([]Group, 0, len(order))
	for _, g := range e.rules.RuleGroups() {
		out := Group{Name: g.Name(), File: g.File(), Interval: Seconds(g.Interval().Seconds()), Limit: g.Limit(),
			Took: Seconds(g.GetEvaluationTime().Seconds()), Evaluated: g.GetLastEvaluation()}
		all := g.Rules()
		out.Rules = make([]Rule, 0, len(all))
		for _, r := range all {
			out.Rules = append(out.Rules, e.convert(a, r))
		}
		groups = append(groups, out)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	return groups
}

// convert returns a rule of the rule manager as a Rule.
func (e *engine) convert(a *Alerting, r rules.Rule) Rule {
	out := Rule{
		Name: r.Name(), Query: r.Query().String(), Type: RecordingRule, Labels: r.Labels().Map(), Health: string(r.Health()),
		Took: Seconds(r.GetEvaluationDuration().Seconds()), Evaluated: r.GetEvaluationTimestamp(),
	}
	if err := r.LastError(); err != nil {
		out.LastError = err.Error()
	}
	rule, ok := r.(*rules.AlertingRule)
	if !ok {
		return out
	}
	out.Type, out.State = AlertingRule, rule.State().String()
	out.For, out.KeepFiringFor = Seconds(rule.HoldDuration().Seconds()), Seconds(rule.KeepFiringFor().Seconds())
	detail := rules.NewRuleDetail(r)
	out.Annotations, _ = e.texts.of(keyOf(detail))
	active := e.active(a, rule)
	if len(active) == 0 {
		return out
	}
	held := e.held(detail)
	for _, alert := range active {
		out.Alerts = append(out.Alerts, Alert{
			Labels: alert.Labels.Map(), Annotations: alert.Annotations.Map(), State: alert.State.String(),
			ActiveAt: alert.ActiveAt, KeepFiringSince: alert.KeepFiringSince, Value: model.SampleValue(alert.Value),
			HeldSince: held.absentSince(alert.Labels),
		})
	}
	return out
}

// Receivers returns the Alertmanagers to which notifications were sent.
func (a *Alerting) Receivers() []Receiver { return a.delivery.all() }
