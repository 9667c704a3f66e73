package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// Reload reloads the nodes, the credentials of all upstreams, the alert rules and the notification configuration. If
// a part cannot be loaded, Reload logs the error and keeps the previous state of that part.
func (a *App) Reload() error { return a.watch.Reload() }

// follow reloads nodes, credentials, rules and notifications when their files change.
func (a *App) follow(ctx context.Context, reg prometheus.Registerer) {
	a.watch = config.NewWatch(a.cfg, a.setUpstreams, a.log, reg)
	if a.alerting != nil && a.cfg.Alerting.RulesFile != "" {
		a.watch.Follow("alert rules", "rules", func() []string { return []string{a.cfg.Alerting.RulesFile} }, a.alerting.Reload)
	}
	if a.notifier != nil {
		a.watch.Follow("notifications", "notifications", a.notifier.Files, a.notifier.Reload)
	}
	go a.watch.Run(ctx)
}

// reloads describes the reloads of the last day.
func (a *App) reloads() (facts []string) {
	for _, r := range a.watch.Last() {
		switch at := r.At.UTC().Format("2006-01-02 15:04:05 UTC"); {
		case time.Since(r.At) > 24*time.Hour:
		case r.Err != nil:
			facts = append(facts, fmt.Sprintf("%s: the reload failed at %s, the previous configuration is in use: see the log", r.Name, at))
		default:
			facts = append(facts, fmt.Sprintf("%s: reloaded at %s", r.Name, at))
		}
	}
	return facts
}

// serveReload serves POST /-/reload.
func (a *App) serveReload(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	if err := a.Reload(); err != nil {
		http.Error(w, fmt.Sprintf("reload failed, keeping the previous configuration:\n%v", err), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "reloaded")
}

// serveNotifier serves Alertmanager's API, for example for amtool.
func (a *App) serveNotifier(w http.ResponseWriter, r *http.Request) {
	if a.notifier == nil {
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
		return
	}
	a.notifier.Handler().ServeHTTP(w, r)
}
