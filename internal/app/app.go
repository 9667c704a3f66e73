// Package app assembles the exporter: targets and their reload, scheduler, store, alerting, HTTP handlers, listeners and
// shutdown. The commands, tests and benchmarks use it.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	promversion "github.com/prometheus/common/version"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/explain"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// App is a running exporter without its listener.
type App struct {
	cfg       *config.Config
	log       *slog.Logger
	targets   *targets
	store     *metric.Store
	scheduler *schedule.Scheduler
	alerting  *alerting.Alerting // nil if disabled
	notifier  *notify.Notifier   // nil if disabled
	watch     *config.Watch
	handler   http.Handler

	mu        sync.Mutex       // locked during changes of targets and jobs
	upstreams config.Upstreams // as they were last read
}

// Options are the parts that a command connects to an App.
type Options struct {
	Config *config.Config
	Log    *slog.Logger
	// Inbox receives the demo's notifications; nil outside the demo.
	Inbox *web.Inbox
	// Reload triggers a reload with each value. Only Run uses it, and Started.
	Reload <-chan os.Signal
	// Started, if set, is called with the listen address.
	Started func(net.Addr)
	// Yield, if set, replaces runtime.Gosched where the scheduler measures how late this process runs. In synthetic time no goroutine waits for
	// the CPU.
	Yield func()
}

// New starts the collectors, and alerting if it is enabled. They run until ctx ends. Wait waits until they have stopped. An error
// in the configuration is a config.InputError.
func New(ctx context.Context, o Options) (*App, error) {
	cfg, log := o.Config, o.Log
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		promcollectors.NewGoCollector(),
		promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector("avax_exporter"),
	)
	targets, err := newTargets(cfg, openState(cfg, log), scrape.NewMetrics(registry))
	if err != nil {
		return nil, config.InputError{Err: err}
	}
	if targets.state != nil {
		targets.state.Register(registry)
	}
	chains := monitored{pool: targets.ups.Pool}
	if cfg.Chains.Auto {
		chains.from = time.Now().Add(discovering)
	}
	CountTargets(registry, func() int {
		if cfg.OnlyData {
			return 1
		}
		return len(targets.ups.Nodes())
	}, &targets.configured, targets.ups.LeftOut, chains)
	if targets.data != nil {
		budget, err := targets.budget()
		if err := errors.Join(err, budget.exceeded()); err != nil {
			return nil, config.InputError{Err: err}
		}
		registry.MustRegister(targets.data.budget)
	}

	ExportDependants(registry)
	a := &App{cfg: cfg, log: log, targets: targets, store: metric.NewStore(), upstreams: cfg.Upstreams}
	config.ExportLabels(registry, a.labelled)
	registry.MustRegister(a.store)
	a.scheduler = schedule.Start(ctx, a.store, registry, log, o.Yield)
	targets.scheduler = a.scheduler
	a.scheduler.Set(targets.jobs())
	site := &web.Site{
		Pool: status.Pool{
			Progress: a.Progress, Unreachable: targets.unreachable, Answered: targets.answeredAt, Chains: targets.chains,
			Nodes:  func() []string { return nodes.Names(targets.ups.Nodes()) },
			Labels: func() map[string]map[string]string { return a.labelled().Labels() },
		},
		Store: a.store, Registry: registry, DefaultNode: cfg.DefaultNode, Ask: targets.ups.Ask, Asked: a.scheduler.Asked,
		ObserverBudget: int(cfg.ObserverBudget), Inbox: o.Inbox, Version: Version(), Log: log,
		Access: web.Access{TrustLoopback: bool(cfg.TrustLoopback), Token: targets.state.NewToken(),
			Authenticates: func() bool { return config.RequiresPassword(cfg.WebConfigFile) }},
		Reload: a.serveReload, Reloads: a.reloads, Notifier: a.serveNotifier,
	}
	if !cfg.OnlyData {
		site.Empty = targets.ups.IsEmpty
	}
	if cfg.Chains.Auto {
		site.Undiscovered = targets.ups.Undiscovered
	}
	a.handler = site.Handler()
	registry.MustRegister(site.ByScrape())
	go site.FollowRestarts(ctx)
	var own alerting.Notifier
	if cfg.Notify.On() {
		if a.notifier, err = notify.Start(ctx, notify.Options{
			Config: cfg.Notify, State: targets.state, Registerer: registry, Log: log, Held: cfg.Alerting.On,
		}); err != nil {
			return nil, config.InputError{Err: err}
		}
		own, site.Silences, site.Notified = a.notifier, a.notifier, a.notifier.Sent
	}
	alertmanagers, err := targets.requestsTo("alertmanager")
	if err != nil {
		return nil, err
	}
	if site.Inhibition, err = a.inhibition(ctx, alertmanagers); err != nil {
		return nil, err
	}
	if cfg.Alerting.On {
		a.alerting, err = alerting.Start(ctx, alerting.Options{
			Config: cfg.Alerting, Metrics: a.handler, State: targets.state, Registerer: registry, Log: log, Transport: alertmanagers, Notifier: own,
			Ready: a.ready, Explain: explain.Moment,
			Inhibitors: func(alerts []map[string]string) []int {
				rules, _ := site.Inhibition() // the pages show the error
				return rules.Inhibitors(alerts)
			},
		})
		if err != nil {
			return nil, config.InputError{Err: err}
		}
		site.Source, site.Receivers, site.Gap = a.alerting, a.alerting.Receivers, a.alerting.Gap
	} else if cfg.Prometheus.URL != "" {
		transport, err := targets.requestsTo("prometheus")
		if err != nil {
			return nil, err
		}
		source, err := alerting.NewPrometheus(cfg.Prometheus, transport)
		if err != nil {
			return nil, config.InputError{Err: err}
		}
		site.Source = source
	}
	if cfg.HeartbeatURL != "" {
		go a.heartbeat().Run(ctx, registry)
	}
	if cfg.Chains.Auto {
		go a.followChains(ctx)
	}
	a.follow(ctx, registry)
	return a, nil
}

// labelled returns the nodes of this shard, and the validators that have labels.
func (a *App) labelled() config.Upstreams {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := config.Upstreams{Validators: a.cfg.Upstreams.Validators, Watch: a.targets.ups.Watched()}
	for _, c := range a.targets.conns {
		u.Nodes = append(u.Nodes, c.Node)
	}
	return u
}

// openState opens the state directory. If none is configured, it returns nil, and state is kept in memory.
func openState(cfg *config.Config, log *slog.Logger) *state.Dir {
	if cfg.StateDir == "" {
		return nil
	}
	dir, err := state.Open(string(cfg.StateDir))
	dir.Log = log
	if err != nil {
		log.Warn("state directory unusable", "dir", cfg.StateDir, "err", err, "effect", "a restart loses totals and the state of alerts")
	}
	if dir.WasEmpty() {
		log.Info("state directory empty", "dir", cfg.StateDir, "effect", "histories are read from the beginning")
	}
	return dir
}

// nodes returns the number of nodes and observers of this shard.
func (a *App) nodes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.targets.conns)
}

// Handler serves all pages and endpoints.
func (a *App) Handler() http.Handler { return a.handler }

// Store holds the latest run of every job.
func (a *App) Store() *metric.Store { return a.store }

// Progress returns the number of jobs whose first run has ended, successful or not, and the number of jobs.
func (a *App) Progress() (ran, of int) { return a.scheduler.Progress() }

// ready reports whether every collector has run since a time. After the start, collectors with a long period need not run again: their
// samples are still valid.
func (a *App) ready(since time.Time) bool {
	ran, of := a.Progress()
	for _, j := range a.store.Jobs() {
		if j.Last.At.Before(since) && j.Last.Period <= 2*time.Minute {
			return false
		}
	}
	return ran == of && of > 0
}

// Wait waits until everything that New started has stopped, after its context has ended.
func (a *App) Wait() {
	a.scheduler.Wait()
	if a.alerting != nil {
		a.alerting.Wait()
	}
	if a.notifier != nil {
		a.notifier.Wait()
	}
}

// GCPercent is how much the heap may grow between two garbage collections. For one node, 60 instead of 40 takes 2 MB and saves an eighth of the CPU (0.123
// instead of 0.140 s a minute), and 100 takes 4 MB more and saves another 0.01 s. A large heap takes long to collect.
const GCPercent = 60

// GCPercentOfManyNodes is the same for a fleet, whose memory is scarcer than its CPU: with 1,000 nodes, 20 instead of 60 saves 0.2 GB of 1 GB, and costs
// about 0.2 of a core.
const GCPercentOfManyNodes = 20

// Run serves the exporter until ctx ends.
func Run(ctx context.Context, o Options) error {
	cfg, log := o.Config, o.Log
	// Listen first, so that a port that is already in use is reported at once.
	listener, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := serveProfiles(ctx, cfg, log); err != nil {
		return errors.Join(err, listener.Close())
	}
	a, err := New(ctx, o)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	go func() {
		for {
			select {
			case <-o.Reload:
				_ = a.Reload() // Reload logs its errors
			case <-ctx.Done():
				return
			}
		}
	}()
	server := newServer(a.handler, log)
	limited := &limitedListener{Listener: listener, max: maxConnections(int(cfg.Concurrency), a.nodes(), descriptors(), log)}
	served := make(chan error, 1)
	go func() { served <- serve(limited, server, cfg, log) }()
	log.Info("serving", "metrics", OwnURL(listener.Addr().String(), cfg.TLS)+"/metrics", "nodes", len(a.targets.ups.Nodes()), "version", Version())
	if o.Started != nil {
		o.Started(listener.Addr())
	}
	go a.warn(ctx)

	select {
	case err = <-served:
	case <-ctx.Done():
		grace, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		err = server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // do not wait for clients that do not read or send
		}
	}
	cancel()
	a.Wait()
	log.Info("stopped")
	return err
}

// followChains discovers the chains that nodes track, periodically and when a node answers again. If a node has not answered, it
// tries again soon, with backoff.
func (a *App) followChains(ctx context.Context) {
	const first, soon, later = 2 * time.Second, 15 * time.Second, 5 * time.Minute
	ups := a.targets.ups
	wait, tooMany := first, false
	for {
		pass, cancel := context.WithTimeout(ctx, time.Minute)
		chains, err := ups.Discover(pass, ups.Chains())
		cancel()
		before := ups.Chains()
		added, gone := lacking(chains, before), lacking(before, chains)
		for _, chain := range added {
			a.log.Info("chain found", "chain", chain.Name, "blockchain_id", chain.Ref)
		}
		for _, chain := range gone {
			a.log.Info("chain forgotten", "chain", chain.Name, "blockchain_id", chain.Ref)
		}
		if len(added)+len(gone) > 0 {
			a.mu.Lock()
			ups.SetChains(chains)
			a.scheduler.Set(a.targets.jobs())
			a.scheduler.ChainsChanged()
			a.warnIfOverBudget()
			a.mu.Unlock()
		}
		if errors.Is(err, nodes.ErrTooManyChains) && !tooMany {
			a.log.Warn("too many chains tracked", "chains", len(chains), "err", err, "remedy", "list the chains to monitor in AVAX_CHAINS")
		}
		tooMany = errors.Is(err, nodes.ErrTooManyChains)
		next := later
		if err != nil {
			a.log.Debug("chain discovery failed", "err", err)
			next, wait = wait, min(2*wait, later)
		} else {
			wait = first
		}
		select {
		case <-time.After(next):
		case <-a.targets.answered:
			select { // wait: a node that has just started creates its chains later
			case <-time.After(soon):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// lacking returns the chains that others lack.
func lacking(chains, others []nodes.Chain) []nodes.Chain {
	return slices.DeleteFunc(slices.Clone(chains), func(c nodes.Chain) bool { return slices.Contains(others, c) })
}

// init sets the version in the family build_info to the module's version.
func init() { promversion.Version = Version() }

// Version returns the module's version that the go command recorded. A build from a work tree without a version has its revision, if it is known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return "unknown"
	case info.Main.Version != "(devel)" && info.Main.Version != "":
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "development build " + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "development build"
}
