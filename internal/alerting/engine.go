package alerting

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/logs"
)

// Limits of the duration of a query, and of its samples in memory (16 bytes each). A rule that exceeds a limit fails. The failure is
// logged, counted and shown on /alerts.
const (
	queryTimeout = 30 * time.Second
	querySamples = 2_000_000
)

// engine combines Prometheus' scraper, head block, PromQL engine and rule manager. Like Prometheus, it uses the wall clock.
// After an interruption, a new engine replaces the old one.
type engine struct {
	clock    *wallClock
	store    *Store
	promQL   PromQL
	scraper  *scrape.Manager
	rules    *rules.Manager
	loader   *loader
	listener *bufconn.Listener // within this process: without a port, certificate or password
	server   *http.Server
	parts    sync.WaitGroup

	evaluating bool        // whether rules are evaluated; guarded by Alerting.mu
	sampling   time.Time   // start of the scraper; zero before
	began      atomic.Bool // whether the first scrape has ended
	stored     atomic.Bool // whether the samples of a scrape are in the store

	query     rules.QueryFunc // evaluates an expression
	queryRule rules.QueryFunc // evaluates the expression of a rule, and keeps it for the next time
	leftovers *leftovers      // set before the first evaluation
	texts     texts
	holding   sync.Map // by keyOf: alerts that continue although the expression of their rule does not return them
	evaluated map[ruleAt]map[uint64]promql.Sample
}

// maxStart is how long close waits for the first scrape.
const maxStart = 10 * time.Second

// newEngine returns an engine for a store. Its rules continue the alerts that were active at the last evaluation in the store.
func (a *Alerting) newEngine(ctx context.Context, set *ruleSet, store *Store) (*engine, error) {
	registry := prometheus.NewRegistry() // not served: it holds the metrics of Prometheus' packages
	metrics := rules.NewGroupMetrics(registry)
	metrics.EvalDuration = prometheus.NewSummary(prometheus.SummaryOpts{Name: "rule_evaluation_duration_seconds", Help: "Without quantiles, which cost CPU."})
	// As in Prometheus without tracing. OpenTelemetry's default allocates each span, and this one each that has no parent.
	otel.SetTracerProvider(noop.NewTracerProvider())
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{SpanID: trace.SpanID{1}}))
	log := logs.AtLeast(slog.LevelError, a.log)
	e := &engine{
		clock: newWallClock(a.o.clockStep, pauseTolerance(a.o.Interval)), store: store, listener: bufconn.Listen(64 << 10), loader: &loader{set},
		texts: texts{last: map[ruleKey]*returned{}},
	}
	e.server = &http.Server{Handler: a.o.Metrics, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return e.listener.DialContext(ctx) }
	var err error
	e.scraper, err = scrape.NewManager(&scrape.Options{
		DiscoveryReloadOnStartup: true,
		InitialScrapeOffset:      -a.o.Interval, // scrape at once: with one target there is no load to spread
		HTTPClientOptions:        []httpconfig.HTTPClientOption{httpconfig.WithDialContextFunc(dial), httpconfig.WithHTTP2Disabled()},
	}, log, nil, nil, scraped{e}, registry)
	if err != nil {
		return nil, err
	}
	e.promQL = PromQL{promql.NewEngine(promql.EngineOpts{
		Logger: log, MaxSamples: querySamples, Timeout: queryTimeout, LookbackDelta: Lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: Parser,
		NoStepSubqueryIntervalFn: func(int64) int64 { return a.o.Interval.Milliseconds() },
	}), e.store}
	e.query = rules.EngineQueryFunc(e.promQL.Engine, e.store)
	e.queryRule = rules.EngineQueryFunc(newPrepared(e.promQL.Engine), e.store)
	e.rules = rules.NewManager(&rules.ManagerOptions{
		Appendable: e.store, Queryable: e.store, QueryFunc: e.ruleQuery(a),
		NotifyFunc: e.notify(a), Context: ctx, ExternalURL: a.link,
		Registerer: registry, Logger: log, GroupLoader: e.loader, Parser: Parser, RuleDependencyController: independent{},
		ResendDelay: a.o.ResendDelay, RuleConcurrencyController: idle{e.store.inputs}, Metrics: metrics,
	})
	return e, nil
}

// scraped appends the samples of the scraper, but not after an interruption. Then a scrape finds old samples, or none, and would mark series as
// stale that are there again when the collectors have run.
type scraped struct{ *engine }

// AppenderV2 implements storage.AppendableV2.
func (s scraped) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return scrapedAppender{s.store.AppenderV2(ctx), s.engine}
}

type scrapedAppender struct {
	storage.AppenderV2
	engine *engine
}

// Commit implements storage.AppenderV2.
func (a scrapedAppender) Commit() error {
	defer a.engine.began.Store(true)
	if a.engine.clock.interrupted() {
		return a.Rollback()
	}
	err := a.AppenderV2.Commit()
	if err == nil {
		a.engine.stored.Store(true)
	}
	return err
}

// notify returns a function that sends the alerts of a rule that has just been evaluated.
func (e *engine) notify(a *Alerting) rules.NotifyFunc {
	send := a.notify()
	return func(ctx context.Context, expr string, all ...*rules.Alert) {
		rule := ctx.Value(evaluatingKey{}).(*evaluating).rule
		e.expand(a, rule, all)
		held := e.held(rule)
		for _, alert := range all {
			if over := held.absentSince(alert.Labels); !over.IsZero() && !alert.ResolvedAt.IsZero() {
				alert.ResolvedAt, alert.KeepFiringSince = over, time.Time{} // it was held since then
			}
		}
		send(ctx, expr, all...)
	}
}

// notify returns a function that sends alerts to the configured Alertmanagers and to Options.Notifier.
func (a *Alerting) notify() rules.NotifyFunc {
	send := rules.SendAlerts(a.sender(), a.o.URL)
	return func(ctx context.Context, expr string, all ...*rules.Alert) {
		for _, alert := range all {
			switch {
			case alert.ResolvedAt.IsZero():
				alert.ValidUntil = time.Now().Add(reach)
			case !alert.KeepFiringSince.IsZero():
				alert.ResolvedAt = alert.KeepFiringSince // the fault was over then
			}
			if alert.Annotations.Get(alerts.Since) == "" && !alert.ActiveAt.IsZero() { // StartsAt is when it fired
				annotations := labels.NewBuilder(alert.Annotations)
				annotations.Set(alerts.Since, alerts.SinceText(alert.ActiveAt))
				alert.Annotations = annotations.Labels()
			}
		}
		a.saver.moments.note(all)
		send(ctx, expr, all...)
	}
}

func (a *Alerting) sender() sender {
	s := sender{own: a.o.Notifier, external: a.external, url: a.o.URL}
	if a.notifier != nil {
		s.alertmanagers = a.delivery.outbox
	}
	return s
}

// sample starts the scrapes that c configures.
func (e *engine) sample(c *config.Config) error {
	if err := e.scraper.ApplyConfig(c); err != nil {
		return err
	}
	e.parts.Go(func() { _ = e.server.Serve(e.listener) })
	targets := make(chan map[string][]*targetgroup.Group, 1)
	for _, s := range c.ScrapeConfigs {
		targets <- map[string][]*targetgroup.Group{s.JobName: groupsOf(s.ServiceDiscoveryConfigs)}
	}
	e.sampling = time.Now()
	e.parts.Go(func() { _ = e.scraper.Run(targets) })
	return nil
}

// evaluate starts the evaluation of set.
func (e *engine) evaluate(ctx context.Context, a *Alerting, set *ruleSet) error {
	if !e.evaluating { // the manager restores alerts of its first rules itself, but not all of them: resume does
		e.loader.set = &ruleSet{groups: &rulefmt.RuleGroups{}}
		if err := e.update(a, set.name); err != nil {
			return err
		}
	}
	e.loader.set = set
	e.texts.use(set.annotations)
	e.store.inputs.watch(set.byText)
	if err := e.update(a, set.name); err != nil {
		return err
	}
	a.loaded = time.Now()
	if !e.evaluating {
		e.leftovers = newLeftovers(e.sampling, e.rules.RuleGroups())
		e.scrapedBefore(ctx, a)
		e.renewMemories(ctx, a)
		if !e.resume(ctx, a, time.Now()) { // otherwise, the alerts that continue must all be known first
			a.begin()
		}
		e.clock.evaluated()
		e.evaluating = true
		e.parts.Go(e.rules.Run)
	}
	return nil
}

func (e *engine) update(a *Alerting, name string) error {
	return e.rules.Update(a.o.Interval, []string{name}, a.external, a.o.URL, e.iteration(a))
}

// iteration returns a function that evaluates a group of rules. It does nothing after an interruption: the samples are old then, and the time of
// the interruption would count for each `for`. A new engine continues.
func (e *engine) iteration(a *Alerting) rules.GroupEvalIterationFunc {
	return func(ctx context.Context, g *rules.Group, at time.Time) {
		if !e.clock.interrupted() {
			rules.DefaultEvalIterationFunc(context.WithValue(ctx, evaluatingKey{}, &evaluating{group: g}), g, at)
			e.alerted(ctx, a, g, at)
		}
	}
}

// evaluatedAll reports whether every group of rules was evaluated, except those with a longer interval.
func (e *engine) evaluatedAll(interval time.Duration) bool {
	return !slices.ContainsFunc(e.rules.RuleGroups(), func(g *rules.Group) bool { return g.Interval() <= interval && g.GetLastEvaluation().IsZero() })
}

// close stops the scrapes. It does not close the store.
func (e *engine) close() {
	// The manager starts the scrape loop in the background. A loop that starts after Stop would never end.
	for !e.sampling.IsZero() && !e.began.Load() && time.Since(e.sampling) < maxStart {
		time.Sleep(10 * time.Millisecond)
	}
	e.scraper.Stop()
	_ = e.server.Close()
	_ = e.listener.Close()
	e.parts.Wait()
}
