package web

import (
	"net"
	"net/http"
)

// Access decides who may send queries and change something: clients that the web configuration authenticates, and clients on this
// machine. Every client may read the metrics, the pages and the health endpoints.
type Access struct {
	// Authenticates reports whether the web server requires a password now. Nil: it does not.
	Authenticates func() bool
	// TrustLoopback allows clients on this machine.
	TrustLoopback bool
}

// denied is the error for a client without access.
const denied = "not allowed for this client: set passwords or client certificates in AVAX_WEB_CONFIG_FILE, " +
	"or send the request to localhost on the exporter's machine (AVAX_TRUST_LOOPBACK)"

// Allows reports whether the client has access.
func (a Access) Allows(r *http.Request) bool {
	switch {
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0: // a client certificate
		return true
	case a.Authenticates != nil && a.Authenticates(): // otherwise the request would not have arrived here
		return true
	}
	return a.TrustLoopback && fromThisMachine(r)
}

// Only answers 403 to clients without access.
func (a Access) Only(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Allows(r) {
			http.Error(w, denied, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// fromThisMachine reports whether the client is on this machine. It returns false for a request that a proxy forwards: proxies add
// headers, or use HTTP/1.0, the default of nginx before 1.29.7. It also returns false if the host name of the request is not a name of
// this machine, because a web page of another site may have a host name that resolves to 127.0.0.1 (DNS rebinding).
func fromThisMachine(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
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
	return r.ProtoAtLeast(1, 1) && local(r.RemoteAddr) && local(r.Host)
}
