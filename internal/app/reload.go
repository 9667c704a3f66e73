package app

import (
	"errors"
	"fmt"
	"net/http"
)

// Reload reloads the nodes, the credentials of all upstreams, the alert rules and the notification configuration. If
// a part cannot be loaded, Reload logs the error and keeps the previous state of that part.
func (a *App) Reload() error {
	err := a.watch.Reload()
	if a.alerting != nil {
		err = errors.Join(err, a.alerting.Reload()) // logs its errors
	}
	if a.notifier != nil {
		err = errors.Join(err, a.notifier.Reload()) // logs its errors
	}
	return err
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
