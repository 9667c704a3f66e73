//go:build !noalerting

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
)

// Limits of one query: its duration, and the samples that it holds in memory, of 16 bytes each. A rule that exceeds them
// fails. The failure is logged, counted and shown on /alerts. A request (/api/v1/query) has the lowest limits, because any
// client may send it.
const (
	ruleTimeout    = 30 * time.Second
	ruleSamples    = 2_000_000
	pageTimeout    = 10 * time.Second
	pageSamples    = 1_000_000
	requestTimeout = 5 * time.Second
	requestSamples = 250_000
)

// engine is Prometheus' scraper, head block, PromQL and rule manager. It runs on the wall clock as Prometheus
// does. After a step of the clock another engine replaces it.
type engine struct {
	clock    *wallClock
	store    *store
	promQL   *promql.Engine // for rules
	pages    *promql.Engine
	requests *promql.Engine
	scraper  *scrape.Manager
	rules    *rules.Manager
	loader   *loader
	page     *listener
	server   *http.Server
	parts    sync.WaitGroup

	evaluating  bool            // the rules run; guarded by Alerting.mu
	sampling    bool            // the scraper runs
	scrapeBegan func()          // called at each scrape
	scraping    <-chan struct{} // closed at the first scrape
	scrapeDone  func()          // called when the samples of a scrape are in the store
	sampled     <-chan struct{} // closed when those of the first scrape are in the store
}

// maxStart is the maximum time that close waits for the first scrape.
const maxStart = 10 * time.Second

// once returns a function that closes a channel when it is called for the first time.
func once() (func(), <-chan struct{}) {
	c := make(chan struct{})
	return sync.OnceFunc(func() { close(c) }), c
}

// newEngine returns an engine with the alerts that were active before.
func (a *Alerting) newEngine(ctx context.Context, set *ruleSet, active []activeAlert) (*engine, error) {
	registry := prometheus.NewRegistry() // for the metrics of Prometheus' packages, which are not served
	log := slog.New(leveled{a.log.Handler(), slog.LevelError})
	e := &engine{clock: newWallClock(a.o.clockStep), page: newListener(), loader: &loader{set}}
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
		InitialScrapeOffset:      -a.o.Interval, // at once: there is one target, and no load to spread
		HTTPClientOptions:        []httpconfig.HTTPClientOption{httpconfig.WithDialContextFunc(e.page.dial), httpconfig.WithHTTP2Disabled()},
	}, log, nil, nil, scraped{e.store, e.scrapeBegan, e.scrapeDone}, registry)
	if err != nil {
		return nil, err
	}
	limits := promql.EngineOpts{
		Logger: log, MaxSamples: ruleSamples, Timeout: ruleTimeout, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
		NoStepSubqueryIntervalFn: func(int64) int64 { return a.o.Interval.Milliseconds() },
	}
	e.promQL = promql.NewEngine(limits)
	limits.MaxSamples, limits.Timeout = pageSamples, pageTimeout
	e.pages = promql.NewEngine(limits)
	limits.MaxSamples, limits.Timeout = requestSamples, requestTimeout
	e.requests = promql.NewEngine(limits)
	e.rules = rules.NewManager(&rules.ManagerOptions{
		Appendable: e.store, Queryable: e.store, QueryFunc: rules.EngineQueryFunc(e.promQL, e.store),
		NotifyFunc: a.notify(), Context: ctx, ExternalURL: a.link,
		Registerer: registry, Logger: log, GroupLoader: e.loader, Parser: promQL,
		OutageTolerance: outage, ForGracePeriod: a.o.ForGracePeriod, ResendDelay: a.o.ResendDelay,
	})
	return e, nil
}

// notify sends alerts to the Alertmanagers, and to the notifier of this process, if configured.
func (a *Alerting) notify() rules.NotifyFunc {
	return rules.SendAlerts(sender{a.notifier, a.o.Notify, a.external, a.o.URL}, a.o.URL)
}

// sample starts sampling as configured in c.
func (e *engine) sample(c *config.Config) error {
	if err := e.scraper.ApplyConfig(c); err != nil {
		return err
	}
	e.parts.Go(func() { _ = e.server.Serve(e.page) })
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

// iteration evaluates a group. It does nothing after the clock was set: forward, every `for` would have elapsed; back, recent
// samples would not count.
func (e *engine) iteration(ctx context.Context, g *rules.Group, at time.Time) {
	if !e.clock.wasSet() {
		rules.DefaultEvalIterationFunc(ctx, g, at)
	}
}

// close stops sampling and releases the memory.
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
	_ = e.page.Close()
	e.parts.Wait()
	return e.store.Close()
}

// scraped is the store with hooks for the scraper.
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
