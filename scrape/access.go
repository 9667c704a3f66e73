package scrape

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// access is what an upstream lets a request in by. It is replaced whole, never edited.
type access struct {
	header    http.Header
	host      string
	tls       *tls.Config
	transport http.RoundTripper
	said      []string          // the secrets in it
	secrets   *strings.Replacer // what no error may say: said, and what the access before said
}

// mostHeader is the size, in bytes, of the largest header of an answer that is read: as net/http's servers take it.
const mostHeader = 1 << 20

// ioBuffer is the size of the two buffers that each connection keeps while nothing goes through it, in bytes: net/http's
// own 4 KiB are most of what a fleet's idle connections hold. A question and the header of its answer fit; what is larger
// goes past the buffers.
const ioBuffer = 1 << 10

// mostIdle is how many connections to one upstream stay open between calls. Each takes about 20 kB, and a fleet has a
// thousand upstreams.
const mostIdle = 2

// newAccess makes the access of an upstream with the header and TLS in place of the configured ones.
func (u *Upstream) newAccess(configured http.Header, tls *tls.Config) (*access, error) {
	header := http.Header{}
	for name, values := range configured {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if err := checkHeader(header); err != nil {
		return nil, fmt.Errorf("upstream %q: %w", u.name, err)
	}
	a := &access{header: header, tls: tls, said: secretsOf(u.user, header), transport: u.given}
	if u.user != nil && header.Get("Authorization") == "" {
		password, _ := u.user.Password()
		request := http.Request{Header: header}
		request.SetBasicAuth(u.user.Username(), password)
		a.said = append(a.said, strings.TrimPrefix(header.Get("Authorization"), "Basic "))
	}
	a.host = cmp.Or(u.configuredHost, header.Get("Host"))
	header.Del("Host") // net/http sends it from a field of its own

	secrets := a.said
	old := u.access.Load()
	if old != nil {
		secrets = append(slices.Clone(secrets), old.said...)
	}
	a.secrets = redacting(secrets)
	switch {
	case a.transport != nil:
	case old != nil && old.tls == tls:
		a.transport = old.transport
	default:
		idle := min(cap(u.pace.slots), mostIdle)
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

			MaxResponseHeaderBytes: mostHeader,
			ReadBufferSize:         ioBuffer,
			WriteBufferSize:        ioBuffer,
		}
	}
	return a, nil
}

// HasCredentials tells whether requests carry a configured header, or a user name.
func (u *Upstream) HasCredentials() bool { return len(u.access.Load().header) > 0 }

// Renew replaces Options.Header and Options.TLS, as when a token or a certificate was rotated. Calls under way end with
// the old ones; answers, pace and health stay. The same TLS pointer keeps the connections. On an error nothing changes.
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

// Close is for an upstream that is no longer wanted: its series end, and its connections with the calls under way.
func (u *Upstream) Close() {
	u.metrics.forget()
	u.closeIdle(u.access.Load())
}

// closeIdle closes the connections of an own transport; those in use follow.
func (u *Upstream) closeIdle(a *access) {
	if own, ok := a.transport.(*http.Transport); ok && u.given == nil {
		own.CloseIdleConnections()
	}
}

// secretsOf lists what an upstream could echo: the values of the configured headers, with and without their scheme, what
// stands behind basic authentication, and the password, or a user name that stands alone and so is a token.
func secretsOf(user *url.Userinfo, h http.Header) []string {
	var secrets []string
	if user != nil {
		password, _ := user.Password()
		if password == "" {
			password = user.Username()
		}
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	for _, values := range h {
		for _, value := range values {
			scheme, bare, _ := strings.Cut(value, " ")
			secrets = append(secrets, value, bare)
			if pair, err := base64.StdEncoding.DecodeString(bare); err == nil && strings.EqualFold(scheme, "Basic") {
				_, password, _ := strings.Cut(string(pair), ":")
				secrets = append(secrets, string(pair), password)
			}
		}
	}
	return secrets
}

// redacting replaces secrets, longest first. Those of under four characters are left: they would blot out half a text.
func redacting(secrets []string) *strings.Replacer {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < 4 })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...)
}
