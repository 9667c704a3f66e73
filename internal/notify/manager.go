package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"
	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/api"
	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/featurecontrol"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/marker"
	"github.com/prometheus/alertmanager/nflog"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/provider/mem"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/route"
	"gopkg.in/telebot.v3"

	"github.com/avax-exporter/avax-exporter/internal/logs"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Notifier routes alerts to receivers until its context ends.
type Notifier struct {
	o       Options
	log     *slog.Logger
	metrics *Metrics

	// Created once:
	alerts     *mem.Alerts
	silences   *silence.Silences
	silencer   *silence.Silencer
	sent       *nflog.Log
	groups     marker.GroupMarker
	internals  *prometheus.Registry // Alertmanager's own families; not served
	pipelines  *notify.PipelineBuilder
	dispatched *dispatch.DispatcherMetrics
	started    time.Time

	mu           sync.Mutex // locked during a reload, a stop, Begin, or the creation of the API
	begun        bool       // whether alerts are dispatched, or were until the stop
	conf         *amconfig.Config
	api          *api.API     // nil until the first request: its description takes 2 MB
	handler      http.Handler // of api
	receivers    int          // number of integrations in use
	routes       *dispatch.Route
	integrations map[string][]notify.Integration // by receiver
	turns        map[string]*turns               // by receiver and integration
	ended        map[model.Fingerprint]time.Time // when alerts ended, for an hour
	inhibitor    atomic.Pointer[inhibit.Inhibitor]
	dispatcher   atomic.Pointer[dispatch.Dispatcher]

	unreadable error // why state files were not read and are not replaced
	unsaved    bool  // whether the last write of the state files failed; only Start and run use it
	notified   sentLog
	changed    chan struct{} // signals that silences or the notification log differ from the files
	flush      chan chan error
	stopped    chan struct{}
}

// recorder discards events.
var recorder eventrecorder.Recorder

// Start loads the configuration and the state, and then sends notifications until ctx ends, if Options.Held is true only after Begin. Wait waits
// until it has stopped.
func Start(ctx context.Context, o Options) (*Notifier, error) {
	conf, err := load(o.Config)
	if err != nil {
		return nil, err
	}
	if err := Exposed(o.Config); err != nil {
		o.Log.Warn("notification secrets exposed", "err", err)
	}
	internals := prometheus.NewRegistry()
	n := &Notifier{
		o: o, log: o.Log, metrics: newMetrics(o.Registerer), groups: marker.NewGroupMarker(), started: time.Now(), internals: internals, begun: !o.Held,
		turns: map[string]*turns{}, ended: map[model.Fingerprint]time.Time{},
		pipelines:  notify.NewPipelineBuilder(internals, featurecontrol.NoopFlags{}, recorder),
		dispatched: dispatch.NewDispatcherMetrics(false, internals, featurecontrol.NoopFlags{}),
		changed:    make(chan struct{}, 1), flush: make(chan chan error), stopped: make(chan struct{}),
	}
	if o.StateDir != "" {
		o.Registerer.MustRegister(n.metrics.stored)
		n.metrics.stored.Set(1)
		if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
			n.report(err) // the next write tries again
		}
	} else {
		o.Log.Info("no state directory", "effect", "a restart loses silences and repeats notifications")
	}
	if err := n.open(); err != nil {
		return nil, err
	}
	if err := n.apply(conf); err != nil {
		n.alerts.Close()
		return nil, err
	}
	go n.run(ctx)
	return n, nil
}

// open creates the parts that a reload does not replace.
func (n *Notifier) open() error {
	log, internals := logs.AtLeast(slog.LevelWarn, n.log), n.internals
	openLog := func(snapshot io.Reader, metrics prometheus.Registerer) (err error) {
		n.sent, err = nflog.New(nflog.Options{SnapshotReader: snapshot, Retention: retention, Logger: log, Metrics: metrics})
		return err
	}
	openSilences := func(snapshot io.Reader, metrics prometheus.Registerer) (err error) {
		n.silences, err = silence.New(silence.Options{SnapshotReader: snapshot, Retention: silenceRetention, Limits: limits, Logger: log, Metrics: metrics})
		return err
	}
	openSent := func(snapshot io.Reader, _ prometheus.Registerer) error { return n.notified.read(snapshot) }
	if err := errors.Join(openLog(n.snapshot("nflog", openLog), internals), openSilences(n.snapshot("silences", openSilences), internals),
		openSent(n.snapshot("notified", openSent), nil)); err != nil {
		return err
	}
	changed := func([]byte) {
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
	n.sent.SetBroadcast(changed)
	n.silences.SetBroadcast(changed)
	n.silencer = silence.NewSilencer(n.silences, log, recorder)
	var err error
	n.alerts, err = mem.NewAlerts(context.Background(), gcInterval, 0, n.silencer, log, recorder, internals, featurecontrol.NoopFlags{})
	return err
}

// snapshot returns the content of a state file, or nil if there is none that open accepts. A file that cannot be read is not replaced.
func (n *Notifier) snapshot(name string, open func(io.Reader, prometheus.Registerer) error) io.Reader {
	if n.o.StateDir == "" {
		return nil
	}
	content, err := n.o.State.ReadFile(n.file(name), func(content []byte) error { return open(bytes.NewReader(content), prometheus.NewRegistry()) })
	if err != nil {
		n.unreadable = errors.Join(n.unreadable, err)
	}
	if content == nil {
		return nil
	}
	return bytes.NewReader(content)
}

// file returns the path of a state file.
func (n *Notifier) file(name string) string { return filepath.Join(n.o.StateDir, name) }

// apply activates a configuration. After an error the previous configuration stays active. The caller holds n.mu, or is Start.
func (n *Notifier) apply(conf *amconfig.Config) error {
	log := logs.AtLeast(slog.LevelWarn, n.log)
	b, err := n.o.build(conf, log)
	if err != nil {
		return err
	}
	receivers := map[string][]notify.Integration{}
	used := map[string]time.Duration{}
	for _, r := range b.receivers {
		if r.err != nil {
			return fmt.Errorf("receiver %s: %w", r.Name, r.err)
		}
		var needs dependencies
		if needs.of(reflect.ValueOf(r.Receiver)); needs.err != nil {
			n.log.Warn("receiver unusable", "receiver", r.Name, "err", needs.err, "effect", "its notifications fail until the file can be used")
		}
		for i := range r.integrations {
			used[r.Name+"/"+r.integrations[i].String()] = 2*b.intervals[r.Name] + time.Minute // an attempt each interval may take as long
			r.integrations[i] = n.observed(r.Receiver, r.integrations[i])
		}
		receivers[r.Name] = r.integrations
	}
	intervals := map[string][]timeinterval.TimeInterval{}
	for _, i := range conf.MuteTimeIntervals {
		intervals[i.Name] = i.TimeIntervals
	}
	for _, i := range conf.TimeIntervals {
		intervals[i.Name] = i.TimeIntervals
	}

	n.halt()
	n.receivers = len(used)
	n.metrics.keep(used)
	inhibitor := inhibit.NewInhibitor(n.alerts, conf.InhibitRules, log, recorder)
	atOnce := func() time.Duration { return 0 }                   // there are no replicas to wait for
	nothing := inhibit.NewInhibitor(n.alerts, nil, log, recorder) // the stage before it inhibits
	pipeline := notify.MultiStage{
		inhibited{inhibitor, n, receivers},
		n.pipelines.New(receivers, atOnce, nothing, n.silencer, timeinterval.NewIntervener(intervals), n.groups, n.sent, nil),
	}
	n.conf = conf
	n.updateAPI()
	timeout := func(d time.Duration) time.Duration { return max(d, notify.MinTimeout) }
	n.routes, n.integrations = b.routes, receivers
	n.inhibitor.Store(inhibitor)
	n.dispatcher.Store(dispatch.NewDispatcher(n.alerts, b.routes, pipeline, n.groups, timeout, gcInterval, nil, log, recorder, n.dispatched, b.templates))
	if n.begun {
		n.dispatch()
	}
	return nil
}

// dispatch starts the parts of the active configuration. The inhibitor must know the active alerts before the dispatcher sends notifications.
func (n *Notifier) dispatch() {
	inhibitor, dispatcher := n.inhibitor.Load(), n.dispatcher.Load()
	go inhibitor.Run()
	inhibitor.WaitForLoading()
	go dispatcher.Run(n.started)
	dispatcher.WaitForLoading()
}

// Begin starts to send notifications about the alerts that Put has accepted. After a restart, Put must have accepted all alerts that continue:
// an alert that arrives before its cause would be sent, although its cause suppresses it. Further calls do nothing.
func (n *Notifier) Begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		n.begun = true
		n.dispatch()
	}
}

// halt stops the parts of the active configuration.
func (n *Notifier) halt() {
	if i := n.inhibitor.Load(); i != nil {
		i.Stop()
	}
	if d := n.dispatcher.Load(); d != nil {
		d.Stop()
	}
}

// observed returns an integration that counts the outcomes of its notifications.
func (n *Notifier) observed(r amconfig.Receiver, i notify.Integration) notify.Integration {
	key := r.Name + "/" + i.String()
	if n.turns[key] == nil {
		n.turns[key] = newTurns(i.Name())
	}
	return notify.NewIntegration(&observer{n, r, i, n.turns[key]}, &i, i.Name(), i.Index(), r.Name)
}

// observer is an integration that counts the outcomes of its notifications.
type observer struct {
	n        *Notifier
	receiver amconfig.Receiver
	notify.Integration
	turns *turns
}

// Notify implements notify.Notifier.
func (o *observer) Notify(ctx context.Context, alerts ...*alert.Alert) (retry bool, err error) {
	done := o.turns.wait(ctx, slices.ContainsFunc(alerts, func(a *alert.Alert) bool { return a.Labels["severity"] == "page" && !a.Resolved() }))
	if done == nil {
		return true, fmt.Errorf("not sent yet: %d messages a minute are accepted: %w", o.turns.limit, context.Cause(ctx))
	}
	retry, err = guarded(ctx, o.Integration, alerts...)
	done(err)
	if !errors.Is(ctx.Err(), context.Canceled) { // a cancellation by a reload or a stop says nothing about the receiver
		o.n.metrics.observe(o.receiver.Name, o.Integration.String(), err)
	}
	if err == nil {
		o.n.notified.add(o.receiver.Name, alerts)
	}
	// Alertmanager's code for Discord, Slack, Teams, webhooks and others does not retry after 429: the page would wait for the next interval of its group.
	return retry || tooMany(err), hide(err, o.receiver)
}

// guarded sends a notification. It returns when ctx ends, even if the integration does not return. If it waited for the integration, the
// alert group would never be notified again.
//
// A panic of the integration, for example because of an unexpected answer, is an error. There is no retry before the next interval: the
// service may have accepted the notification.
func guarded(ctx context.Context, i notify.Integration, alerts ...*alert.Alert) (retry bool, err error) {
	type outcome struct {
		retry bool
		err   error
	}
	outcomes := make(chan outcome, 1)
	ctx, answered := withAnswer(ctx)
	go func() {
		var o outcome
		defer func() {
			if cause := recover(); cause != nil {
				o = outcome{false, fmt.Errorf("the code for %s failed, maybe because of the answer of the server: %v", i.Name(), cause)}
			}
			outcomes <- o
		}()
		if o.retry, o.err = i.Notify(ctx, alerts...); o.err == nil {
			o.err = answered.refusal // without a retry before the next interval: the service may have delivered it
		}
	}()
	select {
	case o := <-outcomes:
		if group, moved := errors.AsType[telebot.GroupError](o.err); moved {
			o.err = fmt.Errorf("the service answers %w", migrated(group.MigratedTo))
		}
		return o.retry, o.err
	case <-ctx.Done():
		return true, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// Reload reloads the configuration. If it is invalid, the previous configuration stays active.
func (n *Notifier) Reload() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	conf, err := load(n.o.Config)
	if err == nil {
		err = n.apply(conf)
	}
	if err != nil {
		n.log.Error("reload failed, keeping the previous configuration", "config", "notifications", "err", err)
		return err
	}
	n.log.Info("configuration reloaded", "config", "notifications", "receivers", n.receivers)
	return nil
}

// Files returns the configuration file and the files of templates. Receivers read files of secrets again for each notification.
func (n *Notifier) Files() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var files []string
	if n.o.File != "" {
		files = append(files, n.o.File)
	}
	for _, pattern := range n.conf.Templates {
		matches, _ := filepath.Glob(pattern)
		files = append(files, matches...)
	}
	return files
}

// Put accepts active and resolved alerts. It sends an alert for a dead man's switch only by a route of its own. It logs the error that it returns.
func (n *Notifier) Put(ctx context.Context, alerts ...model.Alert) error {
	now := time.Now()
	taken := make([]*alert.Alert, 0, len(alerts))
	n.mu.Lock()
	routing := Routing{root: n.routes}
	maps.DeleteFunc(n.ended, func(_ model.Fingerprint, at time.Time) bool { return now.Sub(at) > time.Hour })
	for _, a := range alerts {
		// The rules repeat for a while that an alert has ended. Its group would say so again with the next end of another alert.
		at, known := n.ended[a.Fingerprint()]
		delete(n.ended, a.Fingerprint())
		if a.ResolvedAt(now) {
			n.ended[a.Fingerprint()] = a.EndsAt
		}
		if again := known && at.Equal(a.EndsAt); !again && !routing.unintended(a.Labels) {
			taken = append(taken, &alert.Alert{Alert: a, UpdatedAt: now})
		}
	}
	n.mu.Unlock()
	err := n.alerts.Put(ctx, taken...)
	if err != nil {
		n.log.Error("alerts not accepted", "err", err)
	}
	return err
}

// Failing returns the integrations whose last notification failed, and is tried again.
func (n *Notifier) Failing() []string { return n.metrics.rejecting() }

// Limits of requests to the API that Handler serves.
const (
	apiTimeout  = 10 * time.Second
	apiRequests = 4       // concurrent
	maxQuery    = 4 << 10 // bytes of a URL's query: a matcher such as a=~".{1000}" takes memory for each repetition
	maxBody     = 1 << 20 // bytes of a request
)

// limits are those of silences: the file of all silences is smaller than state.MaxBytes.
var limits = silence.Limits{MaxSilences: func() int { return 2000 }, MaxSilenceSizeBytes: func() int { return 16 << 10 }}

// Handler serves Alertmanager's API under /api/v2, for example for amtool.
func (n *Notifier) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > maxQuery {
			http.Error(w, fmt.Sprintf("the query has %d bytes, the maximum is %d: use shorter matchers", len(r.URL.RawQuery), maxQuery), http.StatusRequestURITooLong)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		handler, err := n.openAPI()
		if err != nil {
			http.Error(w, "the API cannot be started: "+err.Error(), http.StatusInternalServerError)
			return
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			handler.ServeHTTP(w, r)
			return
		}
		// A change is acknowledged when it is on disk.
		held := &heldAnswer{header: w.Header(), status: http.StatusOK}
		handler.ServeHTTP(held, r)
		if held.status < http.StatusBadRequest {
			if err := n.saved(r.Context()); err != nil {
				w.Header().Del("Content-Length")
				http.Error(w, err.Error(), http.StatusInsufficientStorage)
				return
			}
		}
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body.Bytes()) //nolint:gosec // Alertmanager's API answers JSON
	})
}

// heldAnswer holds an answer until it may be sent.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heldAnswer) Header() http.Header            { return h.header }
func (h *heldAnswer) WriteHeader(status int)         { h.status = status }
func (h *heldAnswer) Write(text []byte) (int, error) { return h.body.Write(text) }

// openAPI returns the handler of the API, which it creates for the first request.
func (n *Notifier) openAPI() (http.Handler, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.handler != nil {
		return n.handler, nil
	}
	opened, err := api.New(api.Options{
		Timeout: apiTimeout, Concurrency: apiRequests,
		Alerts: n.alerts, Silences: n.silences, GroupMutedFunc: n.groups.Muted, Logger: logs.AtLeast(slog.LevelWarn, n.log), Registry: n.internals,
		RequestDuration: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "request_duration_seconds", Help: "Not served."}, []string{"handler", "method", "code"}),
		GroupFunc: func(ctx context.Context, routes func(*dispatch.Route) bool, alerts func(*alert.Alert, time.Time) bool) (
			dispatch.AlertGroups, map[model.Fingerprint][]string, error,
		) {
			return n.dispatcher.Load().Groups(ctx, routes, alerts)
		},
	})
	if err != nil {
		return nil, err
	}
	n.api, n.handler = opened, opened.Register(route.New(), "/")
	n.updateAPI()
	return n.handler, nil
}

// updateAPI gives the active configuration to the API. The caller holds n.mu, or is Start.
func (n *Notifier) updateAPI() {
	if n.api == nil {
		return
	}
	n.api.Update(n.conf, func(ctx context.Context, labels model.LabelSet) {
		n.inhibitor.Load().Mutes(ctx, labels)
		n.silencer.Mutes(ctx, labels)
	})
}

// run saves the state after each change. When ctx ends, it stops the notifier.
func (n *Notifier) run(ctx context.Context) {
	defer close(n.stopped)
	gc, again := time.NewTicker(gcInterval), time.NewTicker(saveAgain)
	defer gc.Stop()
	defer again.Stop()
	for {
		select {
		case <-again.C: // the disk may be free again
			if n.unsaved {
				_ = n.save() // it logs the error
			}
		case done := <-n.flush:
			done <- n.save()
		case <-n.changed:
			_ = n.save() // it logs the error
		case <-gc.C:
			_, logErr := n.sent.GC()
			_, silenceErr := n.silences.GC()
			if err := errors.Join(logErr, silenceErr); err != nil {
				n.log.Error("expired notification state not removed", "err", err)
			}
			_ = n.save() // it logs the error
		case <-ctx.Done():
			n.mu.Lock()
			defer n.mu.Unlock()
			n.halt()
			n.begun = true
			n.alerts.Close()
			_ = n.save() // it logs the error
			return
		}
	}
}

// Wait waits until everything has stopped, after the context of Start has ended.
func (n *Notifier) Wait() { <-n.stopped }

// saved returns after a change is on disk. The error says that it is in force, but that a restart loses it.
func (n *Notifier) saved(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case n.flush <- done:
	case <-n.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	select {
	case err = <-done:
	case <-ctx.Done(): // the disk hangs
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("the change is in force, but a restart loses it: it cannot be saved: %w", err)
	}
	return nil
}

// save writes the state files. If a write fails, only a restart loses state.
func (n *Notifier) save() error {
	if n.o.StateDir == "" {
		return nil
	}
	err := errors.Join(n.unreadable, n.o.State.Lock())
	if err == nil {
		err = os.MkdirAll(n.o.StateDir, 0o700)
	}
	if err == nil {
		err = errors.Join(replace(n.file("nflog"), n.sent.Snapshot), replace(n.file("silences"), n.silences.Snapshot),
			replace(n.file("notified"), n.notified.snapshot))
	}
	n.report(err)
	return err
}

// report shows whether the state files could be written.
func (n *Notifier) report(err error) {
	switch {
	case err != nil && !n.unsaved:
		n.metrics.stored.Set(0)
		n.log.Warn("notification state not saved", "err", err, "effect", "a restart repeats notifications")
	case err == nil && n.unsaved:
		n.metrics.stored.Set(1)
		n.log.Info("notification state saved again")
	}
	n.unsaved = err != nil
}

// replace writes a file atomically. It writes no file that snapshot would refuse. The state is locked only while write copies it to memory: a disk may hang.
func replace(path string, write func(io.Writer) (int64, error)) error {
	var content bytes.Buffer
	size, err := write(&content)
	if err != nil {
		return err
	}
	if size > state.MaxBytes {
		return fmt.Errorf("%s: larger than %d MiB: let silences expire", path, state.MaxBytes>>20)
	}
	return renameio.WriteFile(path, content.Bytes(), 0o600)
}
