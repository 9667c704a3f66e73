package scrape

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// access holds the credentials and connections of an upstream. It is immutable: Renew replaces it as a whole.
type access struct {
	header    http.Header
	host      string
	tls       *tls.Config
	transport http.RoundTripper
	secrets   secret.Values // of this header and the previous one
}

// maxHeader is the maximum size of an answer's header in bytes, as in net/http's servers.
const maxHeader = 1 << 20

// ioBuffer is the size in bytes of each of the two buffers that an idle connection keeps. With net/http's default of
// 4 KiB, buffers would take most of the memory of a fleet's idle connections. A request usually fits into ioBuffer, and the
// header of an answer does too. Larger data bypasses the buffers.
const ioBuffer = 1 << 10

// maxIdle is the maximum number of idle connections to one upstream. A connection takes about 20 kB, and a fleet has a
// thousand upstreams.
const maxIdle = 2

// newAccess returns an access with this header and this TLS configuration.
func (u *Upstream) newAccess(configured http.Header, tls *tls.Config) (*access, error) {
	header := http.Header{}
	for name, values := range configured {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if err := checkHeader(header); err != nil {
		return nil, fmt.Errorf("upstream %q: %w", u.options.Name, err)
	}
	a := &access{header: header, tls: tls, transport: u.options.Transport}
	if u.user != nil && header.Get("Authorization") == "" {
		password, _ := u.user.Password()
		(&http.Request{Header: header}).SetBasicAuth(u.user.Username(), password)
	}
	a.host = cmp.Or(u.options.Host, header.Get("Host"))
	header.Del("Host") // net/http sends Request.Host instead

	a.secrets.AddHeader(header)
	old := u.access.Load()
	if old != nil {
		a.secrets.AddHeader(old.header) // calls in progress use it
	}
	switch {
	case a.transport != nil:
	case old != nil && old.tls == tls:
		a.transport = old.transport
	default:
		idle := min(cap(u.limiter.slots), maxIdle)
		a.transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       tls.Clone(),
			TLSHandshakeTimeout:   5 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          idle,
			MaxIdleConnsPerHost:   idle,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,

			MaxResponseHeaderBytes: maxHeader,
			ReadBufferSize:         ioBuffer,
			WriteBufferSize:        ioBuffer,
		}
	}
	return a, nil
}

// HasCredentials reports whether requests carry a configured header or a user name.
func (u *Upstream) HasCredentials() bool { return len(u.access.Load().header) > 0 }

// Renew replaces Options.Header and Options.TLS, for example after a token or a certificate was rotated. Calls in progress
// continue with the old header and TLS. Renew does not change shared answers, rate limits and health. If tls is the same
// pointer as before, the connections stay open. If Renew returns an error, nothing has changed.
func (u *Upstream) Renew(header http.Header, tls *tls.Config) error {
	u.renewing.Lock()
	defer u.renewing.Unlock()
	next, err := u.newAccess(header, tls)
	if err != nil {
		return err
	}
	old := u.access.Swap(next)
	if old.tls != next.tls {
		u.closeIdle(old)
	}
	return nil
}

// Close deletes the upstream's series and closes its idle connections. Connections in use are closed after use.
func (u *Upstream) Close() {
	u.metrics.forget()
	u.closeIdle(u.access.Load())
}

// closeIdle closes the idle connections of a transport that newAccess created. Connections in use are closed after use.
func (u *Upstream) closeIdle(a *access) {
	if own, ok := a.transport.(*http.Transport); ok && u.options.Transport == nil {
		own.CloseIdleConnections()
	}
}
