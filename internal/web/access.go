package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// Access decides who may send queries and change something: clients that the web configuration authenticates, clients with the token of the
// state directory, and clients on this machine. Every client may read the metrics, the pages and the health endpoints.
type Access struct {
	// Authenticates reports whether the web server requires a password now. Nil: it does not.
	Authenticates func() bool
	// TrustLoopback allows clients on this machine.
	TrustLoopback bool
	// Token allows requests with this value of TokenHeader; empty: none. The commands of this program read it from the state directory.
	Token string
}

// TokenHeader is the header with the token of the state directory.
const TokenHeader = "X-Avax-Token" //nolint:gosec // a name

// denied is the error for a client without access.
const denied = "not allowed for this client: set passwords or client certificates in AVAX_WEB_CONFIG_FILE, " +
	"or send the request to localhost on the exporter's machine (AVAX_TRUST_LOOPBACK)"

// crossSite is the error for a request that a page of another site sends.
const crossSite = "not allowed for a page of another site: open the exporter's own pages"

// refusal returns why the client may not send this request; empty if it may. A browser sends its password also for a page of another
// site, so such a request is refused whoever sends it.
func (a Access) refusal(r *http.Request) string {
	switch {
	case !sameSite(r):
		return crossSite
	case !a.Allows(r):
		return denied
	}
	return ""
}

// Allows reports whether the client has access.
func (a Access) Allows(r *http.Request) bool {
	switch {
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0: // a client certificate
		return true
	case a.Authenticates != nil && a.Authenticates(): // otherwise the request would not have arrived here
		return true
	case a.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(TokenHeader)), []byte(a.Token)) == 1:
		return true
	}
	return a.TrustLoopback && fromThisMachine(r)
}

// user returns who sent the request: the user whose password was checked, or the name in the client certificate. Anybody may write a name into a request.
func (a Access) user(r *http.Request) string {
	if user, _, is := r.BasicAuth(); is && a.Authenticates != nil && a.Authenticates() {
		return user
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.PeerCertificates) > 0 {
		return r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return "not known"
}

// Only answers 403 to clients without access.
func (a Access) Only(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := a.refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// sameSite reports whether the request is not from a page of another site: browsers say in Sec-Fetch-Site and Origin where it is from.
func sameSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// direct are the headers that clients themselves send: browsers, curl, and the HTTP clients of languages.
var direct = []string{
	"Authorization", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Cookie", "Dnt", "Expect", "Host", "If-Modified-Since", "If-None-Match",
	"Keep-Alive", "Origin", "Pragma", "Priority", "Range", "Referer", "Save-Data", "Te", "Transfer-Encoding", "Upgrade-Insecure-Requests", "User-Agent",
	TokenHeader,
}

// forwarded reports whether the request has a header that clients do not send themselves. Proxies and service meshes add such headers, each
// of them others.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !slices.Contains(direct, name) && !strings.HasPrefix(name, "Accept") && !strings.HasPrefix(name, "Sec-") {
			return true
		}
	}
	return false
}

// fromThisMachine reports whether the client is on this machine. It returns false for a request that a proxy forwards: proxies add
// headers, or use HTTP/1.0, the default of nginx before 1.29.7. Only 127.0.0.1 and ::1 count: service meshes connect from other loopback
// addresses. It also returns false if the host name of the request is not a name of this machine, because a web page of another site may
// have a host name that resolves to 127.0.0.1 (DNS rebinding).
func fromThisMachine(r *http.Request) bool {
	local := func(address string) (ip, name bool) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		parsed := net.ParseIP(strings.Trim(host, "[]"))
		return parsed.Equal(net.IPv4(127, 0, 0, 1)) || parsed.Equal(net.IPv6loopback), host == "localhost"
	}
	from, _ := local(r.RemoteAddr)
	ip, name := local(r.Host)
	return r.ProtoAtLeast(1, 1) && !forwarded(r) && from && (ip || name)
}
