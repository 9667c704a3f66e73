package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccess(t *testing.T) {
	type client struct {
		address, host, header, value string
		certificate, old             bool
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
		"IPv4 as IPv6":                {Access{TrustLoopback: true}, client{address: "[::ffff:127.0.0.1]:1000", host: "localhost"}, true},
		"another loopback host":       {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "127.1.2.3"}, false},
		"sidecar of a service mesh":   {Access{TrustLoopback: true}, client{address: "127.0.0.6:1000", host: "localhost"}, false},
		"token":                       {Access{Token: "abc"}, client{address: "192.0.2.1:1000", host: "exporter:9865", header: TokenHeader, value: "abc"}, true},
		"another token":               {Access{Token: "abc"}, client{address: "192.0.2.1:1000", host: "exporter:9865", header: TokenHeader, value: "abd"}, false},
		"no token, no state":          {Access{}, client{address: "192.0.2.1:1000", host: "exporter:9865", header: TokenHeader, value: " "}, false},
		"browser":                     {Access{TrustLoopback: true}, client{address: "127.0.0.1:1000", host: "localhost", header: "Sec-Ch-Ua"}, true},
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
			r.Header.Set(test.client.header, cmp.Or(test.client.value, "192.0.2.9"))
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

// Each proxy and each mesh adds headers of its own.
func TestNoForwardedRequestCountsAsLocal(t *testing.T) {
	for _, header := range []string{
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Client-Cert", "X-Original-Forwarded-For", "X-Real-IP", "X-Client-IP", "True-Client-IP",
		"Via", "X-Envoy-External-Address", "X-Envoy-Attempt-Count", "X-Request-Id", "X-B3-TraceId", "Traceparent", "L5d-Dst-Override", "CF-Connecting-IP",
		"Fastly-Client-IP", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "Fly-Client-IP", "X-Azure-FDID", "Proxy-Connection", "X-Anything-New",
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/query?query=up", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1000", "localhost"
		r.Header.Set(header, "")
		if (Access{TrustLoopback: true}).Allows(r) {
			t.Errorf("with %s, the request counts as local", header)
		}
	}
}

// What a browser sends for a page of another site, as Chromium and Firefox write it. Links may be followed; nothing that costs or changes
// something is answered, not even with the password or the token that the browser may add.
func TestPagesOfOtherSitesCauseNoWork(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	source := sourced(t, s, group())
	changes := 0
	s.Access, s.Silences = Access{TrustLoopback: true, Token: "abc"}, hostileSilences{}
	s.Reload = func(http.ResponseWriter, *http.Request) { changes++ }
	s.Notifier = s.Reload
	handler := s.Handler()
	for _, kind := range []struct{ name, mode, dest, site, origin string }{
		{"form", "navigate", "document", "cross-site", "http://evil.example"},
		{"fetch", "no-cors", "empty", "cross-site", ""},
		{"fetch with CORS", "cors", "empty", "cross-site", "http://evil.example"},
		{"beacon", "no-cors", "empty", "cross-site", "http://evil.example"},
		{"image", "no-cors", "image", "cross-site", ""},
		{"script", "no-cors", "script", "cross-site", ""},
		{"frame", "navigate", "iframe", "cross-site", ""},
		{"sandboxed frame", "navigate", "iframe", "cross-site", "null"},
		{"another port", "cors", "empty", "same-site", "http://localhost:3000"},
		{"old browser", "", "", "", "http://evil.example"},
		{"old browser, sandboxed", "", "", "", "null"},
		{"file", "cors", "empty", "cross-site", "null"},
	} {
		for _, call := range []struct{ method, path string }{
			{http.MethodGet, "/api/v1/query?query=up"}, {http.MethodPost, "/api/v1/query?query=up"},
			{http.MethodGet, "/api/v1/query_range?query=up&start=0&end=1&step=1"}, {http.MethodPost, "/api/v1/query_range?query=up&start=0&end=1&step=1"},
			{http.MethodPost, "/alerts/silence?node=a&for=1h"}, {http.MethodPost, "/alerts/end"}, {http.MethodPost, "/-/reload"}, {http.MethodGet, "/-/reload"},
			{http.MethodGet, "/api/v2/alerts"}, {http.MethodPost, "/api/v2/silences"}, {http.MethodDelete, "/api/v2/silence/1"},
		} {
			r := httptest.NewRequest(call.method, call.path, nil)
			r.RemoteAddr, r.Host = "127.0.0.1:1000", "localhost:9865"
			r.Header.Set(TokenHeader, "abc")
			for name, value := range map[string]string{"Sec-Fetch-Mode": kind.mode, "Sec-Fetch-Dest": kind.dest, "Sec-Fetch-Site": kind.site, "Origin": kind.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			if answer.Code != http.StatusForbidden {
				t.Errorf("%s, %s %s: %d", kind.name, call.method, call.path, answer.Code)
			}
		}
	}
	if source.queries+changes > 0 {
		t.Errorf("%d queries, %d changes", source.queries, changes)
	}
	for site, want := range map[string]int{"cross-site": http.StatusForbidden, "same-origin": http.StatusNotFound} {
		if answer := ask(t, s, http.MethodGet, "/explain?name=x", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors"); answer.StatusCode != want {
			t.Errorf("/explain, %s: %s", site, answer.Status)
		}
	}
	link := ask(t, s, http.MethodGet, "/explain?name=x", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if link.StatusCode != http.StatusNotFound {
		t.Errorf("a link to /explain: %s", link.Status)
	}
}

// A client that leaves frees its place, and one that waits too long gets 503.
func TestQueriesRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLimits().queries
		end, ok := w.begin(t.Context())
		if !ok {
			t.Fatal("no slot")
		}
		left, leave := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); leave() }()
		began := time.Now()
		if _, ok := w.begin(left); ok || time.Since(began) != time.Second {
			t.Errorf("a client that leaves waits %s", time.Since(began))
		}
		if _, ok := w.begin(t.Context()); ok || time.Since(began) != time.Second+workWaiting {
			t.Errorf("waited %s", time.Since(began))
		}
		end()
		if _, ok := w.begin(t.Context()); !ok {
			t.Error("the slot is not free")
		}
	})
}

// While every slot of every class of work is taken, each request gets status 503, except scrapes, the health endpoints, and what load balancers ask.
func TestSlowRequestsLeaveScrapesAPlace(t *testing.T) {
	other, _ := hangingSite(t, "none") // listing the endpoints of a site makes new limits
	for _, e := range other.endpoints() {
		synctest.Test(t, func(t *testing.T) {
			s, _ := hangingSite(t, "none")
			s.Access, s.Silences = Access{Authenticates: func() bool { return true }}, hostileSilences{}
			s.Reload, s.Notifier = func(http.ResponseWriter, *http.Request) {}, func(http.ResponseWriter, *http.Request) {}
			handler := s.Handler()
			var ends []func()
			const from, tooMany = "192.0.2.1", "too many requests" // of httptest's requests
			s.limits.verdicts.now[from] = s.limits.verdicts.most
			for _, class := range []work{s.limits.fixed, s.limits.named, s.limits.filtered, s.limits.explain, s.limits.answers, s.limits.queries, s.limits.changes} {
				for range cap(class.slots) {
					end, _ := class.begin(t.Context())
					ends = append(ends, end)
				}
			}
			path := strings.NewReplacer("{$}", "", "{name}", "n1", "{chain}", "one1", "{change}", "silence").Replace(e.path)
			began := time.Now()
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(e.method, path, nil))
			busy := answer.Code == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") != "" && strings.Contains(answer.Body.String(), tooMany)
			exempt := slices.Contains([]string{"/metrics", "/-/healthy", "/-/ready", "/serving", "/is-back"}, path)
			if busy == exempt || exempt && time.Since(began) > 0 || time.Since(began) > workWaiting {
				t.Errorf("%s %s: %d after %s", e.method, path, answer.Code, time.Since(began))
			}
			for _, end := range ends {
				end()
			}
			s.limits.verdicts.now[from] = 0
			answer = httptest.NewRecorder()
			if handler.ServeHTTP(answer, httptest.NewRequest(e.method, path, nil)); answer.Code >= 500 && strings.Contains(answer.Body.String(), tooMany) {
				t.Errorf("%s %s: the slots are free, and the answer is %d", e.method, path, answer.Code)
			}
		})
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
	for _, path := range []string{"/", "/alerts", "/metrics", "/-/ready", "/api/v1/alerts", "/api/v1/rules", "/api/v1/tables", "/api/v1/incidents"} {
		if answer := ask(t, s, http.MethodGet, path); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
