package web

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAccess(t *testing.T) {
	type client struct {
		address, host, header string
		certificate, old      bool
	}
	local := client{address: "127.0.0.1:1000", host: "localhost:9865"}
	for name, test := range map[string]struct {
		access Access
		client client
		want   bool
	}{
		"another machine":             {Access{TrustLoopback: true}, client{address: "192.0.2.1:1000", host: "localhost:9865"}, false},
		"another machine, password":   {everyone, client{address: "192.0.2.1:1000", host: "exporter:9865"}, true},
		"client certificate":          {Access{}, client{address: "192.0.2.1:1000", host: "exporter:9865", certificate: true}, true},
		"this machine":                {Access{TrustLoopback: true}, local, true},
		"this machine, not trusted":   {Access{}, local, false},
		"IPv6":                        {Access{TrustLoopback: true}, client{address: "[::1]:1000", host: "[::1]:9865"}, true},
		"another loopback address":    {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "127.1.2.3"}, true},
		"DNS rebinding":               {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "evil.example:9865"}, false},
		"name that looks local":       {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost.evil.example"}, false},
		"no host":                     {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000"}, false},
		"proxy, X-Forwarded-For":      {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost", header: "X-Forwarded-For"}, false},
		"proxy, Forwarded":            {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost", header: "Forwarded"}, false},
		"proxy, Via":                  {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost", header: "Via"}, false},
		"proxy, X-Real-IP":            {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost", header: "X-Real-IP"}, false},
		"proxy, HTTP/1.0, no headers": {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "127.0.0.1:9865", old: true}, false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/-/reload", nil)
		r.RemoteAddr, r.Host = test.client.address, test.client.host
		if test.client.header != "" {
			r.Header.Set(test.client.header, "192.0.2.9")
		}
		if test.client.certificate {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
		}
		if test.client.old {
			r.ProtoMajor, r.ProtoMinor = 1, 0
		}
		if got := test.access.Allows(r); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestQueriesAndSilencesNeedAccess(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	source := sourced(t, s, group())
	s.Access, s.Silences = Access{TrustLoopback: true}, hostileSilences{}
	for _, call := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/query?query=up"}, {http.MethodPost, "/api/v1/query?query=up"},
		{http.MethodGet, "/api/v1/query_range?query=up&start=0&end=1&step=1"},
		{http.MethodPost, "/alerts/silence"}, {http.MethodPost, "/alerts/end"},
	} {
		answer := ask(t, s, call.method, call.path)
		if body := read(t, answer.Body); answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "AVAX_WEB_CONFIG_FILE") {
			t.Errorf("%s %s: %s %s", call.method, call.path, answer.Status, body)
		}
	}
	if source.queries > 0 {
		t.Errorf("%d queries", source.queries)
	}
	for _, path := range []string{"/", "/alerts", "/metrics", "/-/ready", "/api/v1/alerts", "/api/v1/rules", "/api/v1/targets", "/api/v1/tables"} {
		if answer := ask(t, s, http.MethodGet, path); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
