package alerting

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"
)

// Limits of the duration of a query, and of its samples in memory (16 bytes each), for rules and for all other queries. A rule that
// exceeds a limit fails. The failure is logged, counted and shown on /alerts.
const (
	ruleTimeout  = 30 * time.Second
	ruleSamples  = 2_000_000
	queryTimeout = 10 * time.Second
	querySamples = 1_000_000
)

// engine combines Prometheus' scraper, head block, PromQL engines and rule manager. Like Prometheus, it uses the wall clock.
// After a step of the wall clock, a new engine replaces the old one.
type engine struct {
	clock    *wallClock
	store    *store
	promQL   *promql.Engine // for rules
	queries  *promql.Engine // for pages and requests
	scraper  *scrape.Manager
	rules    *rules.Manager
	loader   *loader
	listener *listener
	server   *http.Server
	parts    sync.WaitGroup

	evaluating  bool            // whether rules are evaluated; guarded by Alerting.mu
	sampling    bool            // whether the scraper runs
	scrapeBegan func()          // called when a scrape begins
	scraping    <-chan struct{} // closed when the first scrape begins
	scrapeDone  func()          // called when the store holds the samples of a scrape
	sampled     <-chan struct{} // closed when the store holds the samples of the first scrape
}

// maxStart is how long close waits until the first scrape begins.
const maxStart = 10 * time.Second

// once returns a function that closes a channel when it is called for the first time.
func once() (func(), <-chan struct{}) {
	c := make(chan struct{})
	return sync.OnceFunc(func() { close(c) }), c
}

// newEngine returns an engine. Its rules continue the alerts in active.
func (a *Alerting) newEngine(ctx context.Context, set *ruleSet, active []activeAlert) (*engine, error) {
	registry := prometheus.NewRegistry() // not served: it holds the metrics of Prometheus' packages
	// As in Prometheus without tracing. OpenTelemetry's default allocates each span.
	otel.SetTracerProvider(noop.NewTracerProvider())
	log := slog.New(leveled{a.log.Handler(), slog.LevelError})
	e := &engine{clock: newWallClock(a.o.clockStep), listener: newListener(), loader: &loader{set}}
	e.scrapeBegan, e.scraping = once()
	e.scrapeDone, e.sampled = once()
	e.server = &http.Server{Handler: a.o.Metrics, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	var err error
	if e.store, err = openStore(log, registry, nil); err != nil {
		return nil, err
	}
	if err := e.store.restore(active); err != nil {
		a.log.Warn("alert state not restored", "err", err)
	}
	e.scraper, err = scrape.NewManager(&scrape.Options{
		DiscoveryReloadOnStartup: true,
		InitialScrapeOffset:      -a.o.Interval, // scrape at once: with one target there is no load to spread
		HTTPClientOptions:        []httpconfig.HTTPClientOption{httpconfig.WithDialContextFunc(e.listener.dial), httpconfig.WithHTTP2Disabled()},
	}, log, nil, nil, scraped{e.store, e.scrapeBegan, e.scrapeDone}, registry)
	if err != nil {
		return nil, err
	}
	limits := promql.EngineOpts{
		Logger: log, MaxSamples: ruleSamples, Timeout: ruleTimeout, LookbackDelta: Lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
		NoStepSubqueryIntervalFn: func(int64) int64 { return a.o.Interval.Milliseconds() },
	}
	e.promQL = promql.NewEngine(limits)
	limits.MaxSamples, limits.Timeout = querySamples, queryTimeout
	e.queries = promql.NewEngine(limits)
	e.rules = rules.NewManager(&rules.ManagerOptions{
		Appendable: e.store, Queryable: e.store, QueryFunc: rules.EngineQueryFunc(e.promQL, e.store),
		NotifyFunc: a.notify(), Context: ctx, ExternalURL: a.link,
		Registerer: registry, Logger: log, GroupLoader: e.loader, Parser: promQL,
		OutageTolerance: outage, ForGracePeriod: a.o.ForGracePeriod, ResendDelay: a.o.ResendDelay,
	})
	return e, nil
}

// notify returns a function that sends alerts to the configured Alertmanagers and to Options.Notify.
func (a *Alerting) notify() rules.NotifyFunc {
	return rules.SendAlerts(sender{a.notifier, a.o.Notify, a.external, a.o.URL}, a.o.URL)
}

// sample starts the scrapes that c configures.
func (e *engine) sample(c *config.Config) error {
	if err := e.scraper.ApplyConfig(c); err != nil {
		return err
	}
	e.parts.Go(func() { _ = e.server.Serve(e.listener) })
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- scrapeTargets(c)
	e.sampling = true
	e.parts.Go(func() { _ = e.scraper.Run(targets) })
	return nil
}

// evaluate starts the evaluation of set.
func (e *engine) evaluate(a *Alerting, set *ruleSet) error {
	e.loader.set = set
	if err := e.rules.Update(a.o.Interval, []string{set.name}, a.external, a.o.URL, e.iteration); err != nil {
		return err
	}
	if !e.evaluating {
		e.evaluating = true
		e.parts.Go(e.rules.Run)
	}
	return nil
}

// iteration evaluates a group of rules. It does nothing if the wall clock was set. After a step forward, every `for` would end
// too early. After a step back, the recent samples would be in the future and would not count.
func (e *engine) iteration(ctx context.Context, g *rules.Group, at time.Time) {
	if !e.clock.wasSet() {
		rules.DefaultEvalIterationFunc(ctx, g, at)
	}
}

// close stops the scrapes and releases the memory.
func (e *engine) close() error {
	if e.sampling {
		// The manager starts the scrape loop in the background. A loop that starts after Stop would never end.
		select {
		case <-e.scraping:
		case <-time.After(maxStart):
		}
	}
	e.scraper.Stop()
	_ = e.server.Close()
	_ = e.listener.Close()
	e.parts.Wait()
	return e.store.Close()
}

// scraped passes the samples of the scraper to the store. It calls began when a scrape begins, and done when the store holds
// the samples of the scrape.
type scraped struct {
	*store
	began, done func()
}

func (s scraped) AppenderV2(ctx context.Context) storage.AppenderV2 {
	s.began()
	return scrapedAppender{s.store.AppenderV2(ctx), s.done}
}

type scrapedAppender struct {
	storage.AppenderV2
	committed func()
}

func (a scrapedAppender) Commit() error {
	err := a.AppenderV2.Commit()
	if err == nil {
		a.committed()
	}
	return err
}
