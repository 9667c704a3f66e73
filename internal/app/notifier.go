package app

import (
	"net"
	"net/http"
)

// serveNotifier serves Alertmanager's API, which amtool speaks. Everybody who
// reaches the port may read it. It changes something only for who has passed the
// authentication of the web configuration, or asks from this machine where those
// clients are trusted: a proxy on this machine may pass on requests that look so.
func (a *App) serveNotifier(w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case a.notifier == nil:
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
	case !read && !a.cfg.Authenticated && !(a.cfg.TrustLoopback && fromThisMachine(r)):
		http.Error(w, "no changes without authentication: set passwords or client certificates in AVAX_WEB_CONFIG_FILE, or AVAX_TRUST_LOOPBACK=true and ask from the exporter's own machine", http.StatusForbidden)
	default:
		a.notifier.Handler().ServeHTTP(w, r)
	}
}

// fromThisMachine reports whether a client on this machine asks. It refuses a proxy
// that names itself, and a page of another site by a name that it lets point here.
// A proxy that does neither cannot be told from a client.
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
