package app

import (
	"net"
	"net/http"
)

// serveNotifier serves Alertmanager's API, for example for amtool. Every client may read. A client may write if the web
// configuration authenticates it, or if it is on this machine and AVAX_TRUST_LOOPBACK is true. The latter is not the default,
// because requests that a proxy on this machine forwards look local.
func (a *App) serveNotifier(w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case a.notifier == nil:
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
	case !read && !a.cfg.Authenticated && !(a.cfg.TrustLoopback && fromThisMachine(r)):
		http.Error(w, "changes require authentication: set passwords or client certificates in AVAX_WEB_CONFIG_FILE, or set AVAX_TRUST_LOOPBACK=true and send the request from the exporter's machine", http.StatusForbidden)
	default:
		a.notifier.Handler().ServeHTTP(w, r)
	}
}

// fromThisMachine reports whether the client is on this machine. It returns false for a proxy that identifies itself, and for a
// web page of another site whose host name resolves to this machine. It cannot detect other proxies.
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
