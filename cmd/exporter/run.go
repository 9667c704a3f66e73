package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// house is everything between the upstreams and the listener.
type house struct {
	roster    *roster
	scheduler *schedule.Scheduler
	site      *web.Site
	watch     *fleet.Watch
	alerting  *alerting.Alerting // nil where it is off
	log       *slog.Logger

	mu sync.Mutex // held by who changes the roster and its jobs
}

// build wires the house from the cellar to the roof. It runs until ctx ends.
func build(ctx context.Context, c *config, log *slog.Logger) (*house, error) {
	// Cellar: the exporter's own metrics, and whom it may ask.
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		promcollectors.NewGoCollector(),
		promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector("avax_exporter"),
	)
	if c.stateDir != "" {
		var err error
		if c.state, err = state.Open(c.stateDir); err != nil {
			log.Warn("AVAX_STATE_DIR cannot be used, what is added up is remembered in memory alone", "err", err)
		}
		if c.state.WasEmpty() {
			log.Info("nothing is remembered yet: what is added up over time is read from its beginning", "dir", c.stateDir)
		}
	}
	roster, err := newRoster(c, scrape.NewMetrics(registry))
	if err != nil {
		return nil, inputError{err}
	}
	fleet.CountTargets(registry, func() int { return len(roster.own.Nodes()) })
	if roster.data != nil {
		spent, err := roster.plan()
		if err := errors.Join(err, spent.check()); err != nil {
			return nil, inputError{err}
		}
		registry.MustRegister(roster.data.budget)
		go roster.data.follow(ctx, log)
	}

	// Ground: the snapshot that is served.
	store := snapshot.New()
	registry.MustRegister(store)

	// Upstairs: the clock, and what people see.
	scheduler := schedule.Start(ctx, store, log, registry)
	scheduler.Set(roster.jobs())
	site := &web.Site{Store: store, Registry: registry, Progress: scheduler.Progress, Version: version(), Log: log}
	if site.Alerting, err = startAlerting(ctx, c, site.Handler(), scheduler.Progress, registry, log); err != nil {
		return nil, err
	}
	h := &house{roster: roster, scheduler: scheduler, site: site, alerting: site.Alerting, log: log}
	if c.autoChains {
		go h.followChains(ctx)
	}
	h.watch = fleet.NewWatch(c.fleet, h.take, log, registry)
	go h.watch.Run(ctx)
	return h, nil
}

// run serves the house until ctx ends. serving, if not nil, is told the
// address once it is listened on.
func run(ctx context.Context, c *config, log *slog.Logger, serving func(net.Addr)) error {
	// Listen before anything is announced, so that a taken port is told at once.
	listener, err := listen(ctx, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := serveProfiles(ctx, c, log); err != nil {
		return errors.Join(err, listener.Close())
	}
	h, err := build(ctx, c, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for {
			select {
			case <-hup:
				_ = h.reload() // has told
			case <-ctx.Done():
				return
			}
		}
	}()
	mux := http.NewServeMux()
	mux.Handle("/", h.site.Handler())
	mux.Handle("/-/reload", reload(c, h.reload))
	server := newServer(mux, log)
	served := make(chan error, 1)
	go func() { served <- serve(listener, server, c, log) }()
	log.Info("serving", "metrics", ownURL(listener.Addr().String(), c.tls)+"/metrics", "nodes", len(h.roster.own.Nodes()), "version", version())
	if serving != nil {
		serving(listener.Addr())
	}

	// Stop in reverse.
	select {
	case err = <-served:
	case <-ctx.Done():
		grace, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		err = server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // a client that does not read, or never asked, is not waited for
		}
	}
	cancel()
	h.scheduler.Wait()
	if h.alerting != nil {
		h.alerting.Wait()
	}
	log.Info("stopped")
	return err
}

// services makes the clients of all that is no node; the Data service is nil
// where it is not asked. It asks nothing.
func services(c *config, m *scrape.Metrics) (*collectors.Upstreams, *dataService, error) {
	ups := &collectors.Upstreams{Targets: collectors.NewTargets(nil, c.chains), Watch: c.watchlist()}
	ups.NetworkID = c.networkID
	if c.metricsURL != "" {
		up, err := scrape.New(scrape.Options{
			Name: "metrics", URL: c.metricsURL,
			Timeout: c.timeout, Concurrency: c.concurrency, MaxBody: c.maxBody, Metrics: m, Transport: c.transport,
		})
		if err != nil {
			return nil, nil, err
		}
		ups.Metrics = metrics.New(up)
	}
	if c.dataURL == "" {
		return ups, nil, nil
	}
	service, err := newDataService(c, m)
	if err != nil {
		return nil, nil, err
	}
	ups.Data = &collectors.DataService{
		Client: service.Client, Network: c.network, Currency: c.currency, Ledger: collectors.Ledger{State: c.state},
	}
	return ups, service, nil
}

// followChains looks for the chains that the nodes track: often until every
// node has told, then now and again.
func (h *house) followChains(ctx context.Context) {
	const soon, later = 15 * time.Second, 5 * time.Minute
	ups := h.roster.own
	for {
		pass, cancel := context.WithTimeout(ctx, time.Minute)
		chains, err := collectors.Discover(pass, ups.Targets, ups.Chains())
		cancel()
		for _, chain := range chains[len(ups.Chains()):] {
			h.log.Info("found a chain that the nodes track", "chain", chain.Name, "blockchain_id", chain.Ref)
		}
		if len(chains) > len(ups.Chains()) {
			h.mu.Lock()
			ups.SetChains(chains)
			if len(chains) == collectors.MostChains {
				h.log.Warn("so many chains are tracked that no more are looked for: write those to follow into AVAX_CHAINS", "chains", len(chains))
			}
			h.scheduler.Set(h.roster.jobs())
			h.reckon()
			h.mu.Unlock()
		}
		wait := later
		if err != nil {
			h.log.Debug("looking for chains", "err", err)
			wait = soon
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// newLogger writes for people on a terminal, and JSON otherwise.
func newLogger(c *config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if c.logFormat == "json" || c.logFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.logLevel}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: c.logLevel, TimeFormat: time.TimeOnly, NoColor: !terminal}))
}

// isTerminal tells a terminal from a file and a pipe.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
