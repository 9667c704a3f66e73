package app

import (
	"net"
	"net/http"
)

// serveNotifier serves Alertmanager's API, for example for amtool. Every client may read. Writes require the authentication of the
// web configuration, or a client on this machine if those are trusted. A proxy on this machine may forward requests that look
// local.
func (a *App) serveNotifier(w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case a.notifier == nil:
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
	case !read && !a.cfg.Authenticated && !(a.cfg.TrustLoopback && fromThisMachine(r)):
		http.Error(w, "no changes without authentication: set passwords or client certificates in AVAX_WEB_CONFIG_FILE, or set AVAX_TRUST_LOOPBACK=true and send the request from the exporter's machine", http.StatusForbidden)
	default:
		a.notifier.Handler().ServeHTTP(w, r)
	}
}

// fromThisMachine reports whether the client is on this machine. It rejects proxies that identify themselves, and pages of other
// sites whose name resolves to this machine. Other proxies cannot be detected.
func fromThisMachine(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	local := func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		ip := net.ParseIP(host)
		return host == "localhost" || ip != nil && ip.IsLoopback()
	}
	return local(r.RemoteAddr) && local(r.Host)
}
