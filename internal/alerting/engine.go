//go:build !noalerting

package alerting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Built tells that this program can page.
const Built = true

const (
	dropEvery = 10 * time.Minute // what is older than the window
	// drainFor is for how long what waits to be sent is waited for at the end.
	drainFor = 5 * time.Second
	// queueCapacity, queryTimeout and maxSamples are Prometheus' own defaults.
	queueCapacity = 10_000
	queryTimeout  = 2 * time.Minute
	maxSamples    = 50_000_000
)

// Alerting evaluates rules and pages until its context ends.
type Alerting struct {
	o        Options
	log      *slog.Logger
	metrics  *Metrics
	external labels.Labels

	clock    clock
	page     *memory // the listener that /metrics is sampled over
	store    *store
	promQL   *promql.Engine
	scraper  *scrape.Manager
	rules    *rules.Manager
	loader   *given
	notifier *notifier.Manager
	delivery *delivery
	memory   remembered

	mu       sync.Mutex // held by who reads rules anew, or starts them
	set      *ruleSet
	running  bool
	troubles map[string]string // rules that cannot be evaluated, and why

	ready   atomic.Bool   // what was last sampled counts
	sampled chan struct{} // closed by the first sample that counts
	once    sync.Once
	stopped chan struct{}
}

// Start begins to sample, and to evaluate rules once there is a sample that
// counts. It ends in order when ctx ends; Wait waits for that.
func Start(ctx context.Context, o Options) (*Alerting, error) {
	o.ResendDelay = cmp.Or(o.ResendDelay, time.Minute)
	o.ForGracePeriod = cmp.Or(o.ForGracePeriod, time.Minute)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.URL = strings.TrimSuffix(o.URL, "/")
	set, err := readRules(o.Config)
	if err != nil {
		return nil, fmt.Errorf("AVAX_RULES_FILE: %w", err)
	}
	block, err := receivers(o.Config)
	if err != nil {
		return nil, fmt.Errorf("AVAX_ALERTMANAGERS: %w", err)
	}
	link, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	engineMetrics := prometheus.WrapRegistererWithPrefix("avax_exporter_alerting_", o.Registerer)
	log := slog.New(quiet{o.Log.Handler(), slog.LevelError})
	a := &Alerting{
		o: o, log: o.Log, clock: newClock(), metrics: NewMetrics(o.Registerer), external: labels.FromMap(o.ExternalLabels),
		page: newMemory(), loader: &given{set}, set: set, troubles: map[string]string{},
		memory:  remembered{dir: o.State, every: o.Interval},
		sampled: make(chan struct{}), stopped: make(chan struct{}),
	}
	if a.memory.dir == nil {
		a.memory.dir = &state.Dir{} // remembers until the process ends
		// Nobody asked for more: that is no fault to be told of.
		o.Registerer.Unregister(a.metrics.remembered)
	}
	if a.store, err = openStore(log, engineMetrics, a.clock, nil); err != nil {
		return nil, err
	}
	if err := a.memory.recall(a.store, time.Now()); err != nil {
		o.Log.Warn("for how long alerts have been active is not known", "err", err)
	}
	a.metrics.reloaded.Set(1)

	// Stopping is drainFor after ctx: what waits to be sent is sent if that is possible at all.
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.delivery = newDelivery(o, a.metrics, stopping)
	a.notifier = notifier.NewManager(&notifier.Options{
		QueueCapacity: queueCapacity, DrainOnShutdown: true, Registerer: engineMetrics, Do: a.delivery.do,
	}, model.UTF8Validation, slog.New(quiet{o.Log.Handler(), slog.LevelError + 1}))
	a.scraper, err = scrape.NewManager(&scrape.Options{
		DiscoveryReloadOnStartup: true,
		HTTPClientOptions:        []httpconfig.HTTPClientOption{httpconfig.WithDialContextFunc(a.page.dial), httpconfig.WithHTTP2Disabled()},
	}, log, nil, nil, scraped{a.store, a.clock, a.committed}, engineMetrics)
	if err != nil {
		stop()
		return nil, errors.Join(err, a.store.Close())
	}
	a.promQL = promql.NewEngine(promql.EngineOpts{
		Logger: log, Reg: engineMetrics, MaxSamples: maxSamples, Timeout: queryTimeout, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
		NoStepSubqueryIntervalFn: func(int64) int64 { return o.Interval.Milliseconds() },
	})
	a.rules = rules.NewManager(&rules.ManagerOptions{
		Appendable: evaluated{a.store, a.clock}, Queryable: a.store, QueryFunc: a.clock.query(a.promQL, a.store),
		NotifyFunc: rules.SendAlerts(sender{a.notifier, a.clock, o.URL}, o.URL), Context: ctx, ExternalURL: link,
		Registerer: engineMetrics, Logger: log, GroupLoader: a.loader, Parser: promQL,
		OutageTolerance: outage, ForGracePeriod: o.ForGracePeriod, ResendDelay: o.ResendDelay,
	})
	whole, err := a.sampling(set)
	if err != nil {
		stop()
		return nil, errors.Join(err, a.store.Close())
	}
	whole.AlertingConfig = block
	if err := a.notifier.ApplyConfig(whole); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("AVAX_ALERTMANAGER_CONFIG_FILE: %w", err), a.store.Close())
	}
	go a.run(ctx, stop, whole)
	return a, nil
}

// run is the life of alerting.
func (a *Alerting) run(ctx context.Context, stop context.CancelFunc, whole *config.Config) {
	defer close(a.stopped)
	defer stop()
	var parts sync.WaitGroup
	receivers := make(chan map[string][]*targetgroup.Group, 1)
	receivers <- targets(whole.AlertingConfig)
	parts.Go(func() { a.notifier.Run(receivers) })

	server := &http.Server{Handler: a.watched(a.o.Metrics), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	parts.Go(func() { _ = server.Serve(a.page) })
	sampled := make(chan map[string][]*targetgroup.Group, 1)
	sampled <- a.target(whole)
	if err := a.scraper.ApplyConfig(whole); err != nil {
		a.log.Error("alerting does not work", "err", err)
	}
	parts.Go(func() { _ = a.scraper.Run(sampled) })

	begun := time.NewTimer(2 * a.o.Patience)
	select {
	case <-a.sampled:
		a.evaluate()
		parts.Go(a.rules.Run)
		a.watch(ctx)
		// Stop in reverse.
		a.rules.Stop()
		a.remember(true)
	case <-begun.C:
		a.log.Error("alert rules do not run: the exporter's own metrics could not be sampled")
		<-ctx.Done()
	case <-ctx.Done():
	}
	begun.Stop()
	a.scraper.Stop()
	drained := time.AfterFunc(drainFor, stop)
	a.notifier.Stop()
	_ = server.Close()
	_ = a.page.Close()
	parts.Wait()
	drained.Stop()
	if err := a.store.Close(); err != nil {
		a.log.Error("alerting ends", "err", err)
	}
}

// Wait returns when all has stopped, after the context of Start has ended.
func (a *Alerting) Wait() { <-a.stopped }

// watched notes whether the page that is being sampled is one that counts.
func (a *Alerting) watched(page http.Handler) http.Handler {
	begun := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ready := a.o.Ready == nil || a.o.Ready() || time.Since(begun) >= a.o.Patience
		page.ServeHTTP(w, r)
		if ready {
			a.ready.Store(true)
		}
	})
}

// committed is called when samples of a page are in the store.
func (a *Alerting) committed() {
	if a.ready.Load() {
		a.once.Do(func() { close(a.sampled) })
	}
}

// sampling is the configuration of a Prometheus that samples what these rules
// ask for, and nothing else.
func (a *Alerting) sampling(set *ruleSet) (*config.Config, error) {
	interval := model.Duration(a.o.Interval).String()
	text, err := yaml.Marshal(map[string]any{
		"global": map[string]any{
			"scrape_interval": interval, "scrape_timeout": model.Duration(min(a.o.Interval, 10*time.Second)).String(),
			"evaluation_interval": interval,
		},
		"scrape_configs": []any{map[string]any{
			"job_name":               a.o.Job,
			"static_configs":         []any{map[string]any{"targets": []string{"exporter"}, "labels": map[string]string{"instance": a.o.Instance}}},
			"metric_relabel_configs": kept(set.families),
		}},
	})
	if err != nil {
		return nil, err
	}
	whole, err := config.Load(string(text), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	whole.GlobalConfig.ExternalLabels = a.external // as they are: Load would put variables of the environment in
	return whole, nil
}

// kept is what is kept of a page: what rules name, and what the pages show, which
// is everything about the network and the state of the collectors. The exporter's
// own histograms, of which every upstream has some, only where a rule names them.
func kept(named string) []map[string]any {
	const bulk = "__tmp_bulk"
	of := func(label, regex string, rest map[string]any) map[string]any {
		rest["source_labels"], rest["regex"] = []string{label}, regex
		return rest
	}
	return []map[string]any{
		of(model.MetricNameLabel, "avax_.*|"+named, map[string]any{"action": "keep"}),
		of(model.MetricNameLabel, "avax_exporter_(?:alerting_.*|.*_(?:bucket|sum|count))", map[string]any{"target_label": bulk, "replacement": "1"}),
		of(model.MetricNameLabel, named, map[string]any{"target_label": bulk, "replacement": ""}),
		of(bulk, "1", map[string]any{"action": "drop"}),
	}
}

// target is the exporter itself, as the scraper wants it.
func (a *Alerting) target(c *config.Config) map[string][]*targetgroup.Group {
	groups := map[string][]*targetgroup.Group{}
	for _, s := range c.ScrapeConfigs {
		for _, d := range s.ServiceDiscoveryConfigs {
			if fixed, ok := d.(discovery.StaticConfig); ok {
				groups[s.JobName] = append(groups[s.JobName], fixed...)
			}
		}
	}
	return groups
}

// evaluate makes the set that was read last the one that is evaluated.
func (a *Alerting) evaluate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = true
	a.update()
	a.log.Info("alert rules run", "rules", a.set.name, "alerts", a.set.alerts)
}

// update hands the set to the rule manager. The caller holds a.mu.
func (a *Alerting) update() {
	a.loader.set = a.set
	if err := a.rules.Update(a.o.Interval, []string{a.set.name}, a.external, a.o.URL, a.clock.evaluation()); err != nil {
		a.log.Error("alert rules", "err", err) // the set was found good before
	}
}

// Reload reads the rules anew. If they have a mistake, the old ones stay.
func (a *Alerting) Reload() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	set, err := readRules(a.o.Config)
	if err != nil {
		a.metrics.reloaded.Set(0)
		a.log.Error("the old alert rules stay", "err", err)
		return err
	}
	whole, err := a.sampling(set)
	if err != nil {
		a.metrics.reloaded.Set(0)
		return err
	}
	if set.families != a.set.families {
		if err := a.scraper.ApplyConfig(whole); err != nil {
			a.metrics.reloaded.Set(0)
			return err
		}
	}
	a.set = set
	if a.running {
		a.update()
	}
	a.metrics.reloaded.Set(1)
	a.log.Info("alert rules read anew", "rules", set.name, "alerts", set.alerts)
	return nil
}

// watch looks after what runs until ctx ends.
func (a *Alerting) watch(ctx context.Context) {
	tick := time.NewTicker(a.o.Interval)
	defer tick.Stop()
	dropped := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.look()
			a.remember(false)
			if time.Since(dropped) >= dropEvery {
				dropped = time.Now()
				if err := a.store.drop(a.clock.now()); err != nil {
					a.log.Error("old samples are not dropped", "err", err)
				}
			}
		}
	}
}

// look counts the alerts, and tells once of a rule that cannot be evaluated.
func (a *Alerting) look() {
	counts := map[string]int{}
	troubles := map[string]string{}
	for _, g := range a.groups() {
		for _, r := range g.Rules {
			for _, alert := range r.Alerts {
				counts[alert.State]++
			}
			if r.LastError != "" {
				troubles[g.Name+": "+r.Name] = r.LastError
			}
		}
	}
	for _, s := range []string{Pending, Firing} {
		a.metrics.alerts.WithLabelValues(s).Set(float64(counts[s]))
	}
	for rule, err := range troubles {
		if a.troubles[rule] != err {
			a.log.Error("a rule cannot be evaluated", "rule", rule, "err", err)
		}
	}
	for rule := range a.troubles {
		if troubles[rule] == "" {
			a.log.Info("a rule can be evaluated again", "rule", rule)
		}
	}
	a.troubles = troubles
}

// remember writes down for how long alerts have been active.
func (a *Alerting) remember(last bool) {
	wrote, err := a.memory.note(a.rules.RuleGroups(), a.clock, last)
	if !wrote {
		return
	}
	saved, text := 1.0, ""
	if err != nil {
		saved, text = 0, err.Error()
	}
	a.metrics.remembered.Set(saved)
	if text != a.memory.err && text != "" {
		a.log.Warn("a restart would forget for how long alerts have been active", "err", err)
	}
	a.memory.err = text
}

// Groups implements Source.
func (a *Alerting) Groups(context.Context) ([]Group, error) { return a.groups(), nil }

func (a *Alerting) groups() []Group {
	a.mu.Lock()
	order := map[string]int{}
	for i, g := range a.set.groups.Groups {
		order[g.Name] = i
	}
	a.mu.Unlock()
	groups := make([]Group, 0, len(order))
	for _, g := range a.rules.RuleGroups() {
		out := Group{Name: g.Name(), File: g.File(), Interval: g.Interval(), Limit: g.Limit(), Took: g.GetEvaluationTime(), Evaluated: g.GetLastEvaluation()}
		for _, r := range g.Rules() {
			out.Rules = append(out.Rules, view(r, a.clock))
		}
		groups = append(groups, out)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	return groups
}

func view(r rules.Rule, c clock) Rule {
	out := Rule{
		Name: r.Name(), Query: r.Query().String(), Labels: r.Labels().Map(), Health: string(r.Health()),
		Took: r.GetEvaluationDuration(), Evaluated: r.GetEvaluationTimestamp(),
	}
	if err := r.LastError(); err != nil {
		out.LastError = err.Error()
	}
	rule, ok := r.(*rules.AlertingRule)
	if !ok {
		return out
	}
	out.Alerting, out.State = true, rule.State().String()
	out.For, out.KeepFiringFor = rule.HoldDuration(), rule.KeepFiringFor()
	out.Annotations = rule.Annotations().Map()
	for _, alert := range rule.ActiveAlerts() {
		out.Alerts = append(out.Alerts, Alert{
			Labels: alert.Labels.Map(), Annotations: alert.Annotations.Map(), State: alert.State.String(),
			ActiveAt: c.wall(alert.ActiveAt), KeepFiringSince: c.wall(alert.KeepFiringSince), Value: alert.Value,
		})
	}
	return out
}

// Receivers returns the Alertmanagers that were sent something.
func (a *Alerting) Receivers() []Receiver { return a.delivery.all() }
