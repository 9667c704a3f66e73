package alerting

import (
	"context"
	"log/slog"
	"net"
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
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/internal/logs"
)

// Limits of the duration of a query, and of its samples in memory (16 bytes each). A rule that exceeds a limit fails. The failure is
// logged, counted and shown on /alerts.
const (
	queryTimeout = 30 * time.Second
	querySamples = 2_000_000
)

// engine combines Prometheus' scraper, head block, PromQL engine and rule manager. Like Prometheus, it uses the wall clock.
// After a step of the wall clock, a new engine replaces the old one.
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

	evaluating bool      // whether rules are evaluated; guarded by Alerting.mu
	sampling   time.Time // start of the scraper; zero before
}

// maxStart is how long close waits for the first scrape.
const maxStart = 10 * time.Second

// newEngine returns an engine. Its rules continue the alerts in active.
func (a *Alerting) newEngine(ctx context.Context, set *ruleSet, active []activeAlert) (*engine, error) {
	registry := prometheus.NewRegistry() // not served: it holds the metrics of Prometheus' packages
	// As in Prometheus without tracing. OpenTelemetry's default allocates each span.
	otel.SetTracerProvider(noop.NewTracerProvider())
	log := logs.AtLeast(slog.LevelError, a.log)
	e := &engine{clock: newWallClock(a.o.clockStep), listener: bufconn.Listen(64 << 10), loader: &loader{set}}
	e.server = &http.Server{Handler: a.o.Metrics, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	var err error
	if e.store, err = OpenStore(log, registry, 0); err != nil {
		return nil, err
	}
	if err := e.store.restore(active); err != nil {
		a.log.Warn("alert state not restored", "err", err)
	}
	e.scraper, err = scrape.NewManager(&scrape.Options{
		DiscoveryReloadOnStartup: true,
		InitialScrapeOffset:      -a.o.Interval, // scrape at once: with one target there is no load to spread
		HTTPClientOptions:        []httpconfig.HTTPClientOption{httpconfig.WithDialContextFunc(e.dial), httpconfig.WithHTTP2Disabled()},
	}, log, nil, nil, e.store, registry)
	if err != nil {
		return nil, err
	}
	e.promQL = PromQL{promql.NewEngine(promql.EngineOpts{
		Logger: log, MaxSamples: querySamples, Timeout: queryTimeout, LookbackDelta: Lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: Parser,
		NoStepSubqueryIntervalFn: func(int64) int64 { return a.o.Interval.Milliseconds() },
	}), e.store}
	e.rules = rules.NewManager(&rules.ManagerOptions{
		Appendable: e.store, Queryable: e.store, QueryFunc: rules.EngineQueryFunc(e.promQL.Engine, e.store),
		NotifyFunc: a.notify(), Context: ctx, ExternalURL: a.link,
		Registerer: registry, Logger: log, GroupLoader: e.loader, Parser: Parser,
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
	for _, s := range c.ScrapeConfigs {
		targets <- map[string][]*targetgroup.Group{s.JobName: groupsOf(s.ServiceDiscoveryConfigs)}
	}
	e.sampling = time.Now()
	e.parts.Go(func() { _ = e.scraper.Run(targets) })
	return nil
}

// dial connects the scraper to the server of /metrics.
func (e *engine) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return e.listener.DialContext(ctx)
}

// sampled reports whether the store holds the samples of the first scrape.
func (e *engine) sampled() bool {
	return !e.sampling.IsZero() && e.store.MaxTime() >= e.sampling.UnixMilli()
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
	// The manager starts the scrape loop in the background. A loop that starts after Stop would never end.
	for !e.sampling.IsZero() && !e.sampled() && time.Since(e.sampling) < maxStart {
		time.Sleep(10 * time.Millisecond)
	}
	e.scraper.Stop()
	_ = e.server.Close()
	_ = e.listener.Close()
	e.parts.Wait()
	return e.store.Close()
}
