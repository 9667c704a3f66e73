package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// house is everything between the upstreams and the listener.
type house struct {
	ups       *collectors.Upstreams
	scheduler *schedule.Scheduler
	site      *web.Site
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
	ups, err := upstreams(c, scrape.NewMetrics(registry))
	if err != nil {
		return nil, inputError{err}
	}
	registry.MustRegister(ups)

	// Ground: the snapshot that is served.
	store := snapshot.New()
	registry.MustRegister(store)

	// Upstairs: the clock, and what people see.
	scheduler := schedule.Start(ctx, store, log, registry)
	scheduler.Set(jobs(c, ups))
	if c.autoChains {
		go followChains(ctx, c, ups, scheduler, log)
	}
	site := &web.Site{Store: store, Registry: registry, Progress: scheduler.Progress, Version: version(), Log: log}
	return &house{ups, scheduler, site}, nil
}

// run serves the house until ctx ends. serving, if not nil, is told the
// address once it is listened on.
func run(ctx context.Context, c *config, log *slog.Logger, serving func(net.Addr)) error {
	// Listen before anything is announced, so that a taken port is told at once.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("AVAX_LISTEN: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h, err := build(ctx, c, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           h.site.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("serving", "metrics", pageURL(listener.Addr())+"/metrics", "nodes", len(c.nodes), "version", version())
	if serving != nil {
		serving(listener.Addr())
	}

	// Stop in reverse.
	select {
	case err = <-served:
	case <-ctx.Done():
		grace, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		err = server.Shutdown(grace)
	}
	cancel()
	h.scheduler.Wait()
	log.Info("stopped")
	return err
}

// upstreams makes the clients. It asks nothing.
func upstreams(c *config, m *scrape.Metrics) (*collectors.Upstreams, error) {
	ups := &collectors.Upstreams{Watch: c.validators}
	var nodes []*collectors.Node
	var errs []error
	for _, n := range c.nodes {
		up, err := scrape.New(scrape.Options{
			Name: n.name, URL: n.url, Header: c.nodeHeader, Host: c.nodeHost, TLS: c.nodeTLS,
			Timeout: c.timeout, Concurrency: c.concurrency, MaxBody: c.maxBody, Metrics: m, Transport: c.transport,
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		nodes = append(nodes, collectors.NewNode(node.New(up)))
	}
	ups.SetNodes(nodes)
	ups.SetChains(c.chains)
	if c.metricsURL != "" {
		up, err := scrape.New(scrape.Options{
			Name: "metrics", URL: c.metricsURL,
			Timeout: c.timeout, Concurrency: c.concurrency, MaxBody: c.maxBody, Metrics: m, Transport: c.transport,
		})
		if err != nil {
			errs = append(errs, err)
		} else {
			ups.Metrics = metrics.New(up)
		}
	}
	return ups, errors.Join(errs...)
}

// jobs binds the chosen collectors to the upstreams and gives each its schedule.
func jobs(c *config, ups *collectors.Upstreams) []schedule.Job {
	var all []schedule.Job
	for _, spec := range c.specs {
		for _, j := range spec.Bind(ups) {
			when := c.schedules[spec.Name]
			if when == nil {
				when = schedule.Every(spec.Every, j.Target)
			}
			all = append(all, schedule.Job{
				Key:      snapshot.Key{Collector: spec.Name, Target: j.Target},
				Families: spec.Families,
				When:     when,
				Collect:  j.Collect,
			})
		}
	}
	return all
}

// followChains looks for the chains that the nodes track: often until every
// node has told, then now and again.
func followChains(ctx context.Context, c *config, ups *collectors.Upstreams, scheduler *schedule.Scheduler, log *slog.Logger) {
	const soon, later = 15 * time.Second, 5 * time.Minute
	for {
		pass, cancel := context.WithTimeout(ctx, time.Minute)
		chains, err := collectors.Discover(pass, ups, ups.Chains())
		cancel()
		for _, chain := range chains[len(ups.Chains()):] {
			log.Info("found a chain that the nodes track", "chain", chain.Name, "blockchain_id", chain.Ref)
		}
		if len(chains) > len(ups.Chains()) {
			ups.SetChains(chains)
			scheduler.Set(jobs(c, ups))
		}
		wait := later
		if err != nil {
			log.Debug("looking for chains", "err", err)
			wait = soon
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// pageURL makes an address that one can click in a terminal.
func pageURL(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
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

// isTerminal tells a terminal from a file, a pipe and /dev/null's kin.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
