package scrape_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// A token may be rotated every hour. A rotation must not change shared answers, limits and health.
func TestRenewReplacesOnlyTheCredentials(t *testing.T) {
	var sent []string
	u := open(t, scrape.Options{URL: "http://node", Header: bearer("first"), Transport: transport(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Authorization"))
		if r.URL.Path == "/v1/height/P" {
			return nil, errors.New("said first-token and second-token")
		}
		return respond(200, `{"id":1,"result":{"height":"14"}}`), nil
	})})
	ctx := scrape.MaxAge(t.Context(), time.Minute)
	ask := func() {
		t.Helper()
		must.Get(callHeight(ctx, u, nil))(t)
	}
	ask()
	must.Do(t, u.Renew(bearer("second"), nil))
	ask() // is shared
	must.Do(t, callRPC(u))
	if got := strings.Join(sent, ", "); got != "Bearer first, Bearer second" {
		t.Errorf("sent %s", got)
	}
	if err := u.Renew(bearer("thi\nrd"), nil); err == nil || strings.Contains(err.Error(), "rd") {
		t.Errorf("header with two lines: %v", err)
	}
	if sent = nil; callRPC(u) != nil || sent[0] != "Bearer second" {
		t.Errorf("after a failed Renew: sent %v", sent)
	}
}

// An error of a call that began with the old credentials may contain them.
func TestErrorsContainNeitherOldNorNewSecrets(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:c4n4ry-0"))
	u := open(t, scrape.Options{URL: "http://node", Header: http.Header{"Authorization": {basic}},
		Transport: transport(func(*http.Request) (*http.Response, error) {
			return respond(403, "c4n4ry-0 c4n4ry-1 "+strings.TrimPrefix(basic, "Basic ")), nil
		})})
	for _, renew := range []bool{false, true} {
		if renew {
			must.Do(t, u.Renew(bearer("c4n4ry-1"), nil))
		}
		if err := callRPC(u); err == nil || strings.Contains(err.Error(), "c4n4ry-0") || strings.Contains(err.Error(), basic[6:]) ||
			renew && strings.Contains(err.Error(), "c4n4ry-1") {
			t.Errorf("renewed %v: %v", renew, err)
		}
	}
}

func TestRenewedAuthoritiesApplyToTheNextCall(t *testing.T) {
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":1,"result":{"height":"14"}}`))
	}))
	server.Config.ErrorLog = quiet
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections++
		}
	}
	server.StartTLS()
	defer server.Close()
	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig
	u := open(t, scrape.Options{URL: server.URL})
	if err := callRPC(u); scrape.OutcomeOf(err) != scrape.Unreachable {
		t.Fatalf("without its authority: %v", err)
	}
	must.Do(t, u.Renew(nil, trusting))
	must.Do(t, callRPC(u))
	before := connections
	must.Do(t, u.Renew(bearer("next"), trusting))
	if err := callRPC(u); err != nil || connections != before {
		t.Errorf("%d new connections after a new token, error %v", connections-before, err)
	}
}

func TestCertificateExpiryIsExported(t *testing.T) {
	const family = "avax_exporter_upstream_certificate_expiry_timestamp_seconds"
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":1,"result":{"height":"14"}}`))
	})
	serve := func(start func(*httptest.Server)) *httptest.Server {
		server := httptest.NewUnstartedServer(handler)
		server.Config.ErrorLog = quiet
		start(server)
		t.Cleanup(server.Close)
		return server
	}
	plain, secure := serve((*httptest.Server).Start), serve((*httptest.Server).StartTLS)
	expiry := float64(secure.Certificate().NotAfter.Unix())

	registry := prometheus.NewRegistry()
	m := scrape.NewMetrics(registry)
	exported := func() map[string]float64 {
		found := map[string]float64{}
		families := must.Get(registry.Gather())(t)
		for _, f := range families {
			if f.GetName() == family {
				for _, s := range f.GetMetric() {
					found[s.GetLabel()[0].GetValue()] = s.GetGauge().GetValue()
				}
			}
		}
		return found
	}
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig
	trusted := open(t, scrape.Options{Name: "trusted", URL: secure.URL, TLS: trusting, Metrics: m})
	if got := exported(); len(got) > 0 {
		t.Errorf("before any call: %v", got)
	}
	must.Do(t, callRPC(trusted))
	must.Do(t, callRPC(open(t, scrape.Options{Name: "plain", URL: plain.URL, Metrics: m})))
	if diff := cmp.Diff(map[string]float64{"trusted": expiry}, exported()); diff != "" {
		t.Error(diff)
	}
	// A handshake with an expired certificate fails, but its expiry must still be exported.
	late := trusting.Clone()
	late.Time = func() time.Time { return secure.Certificate().NotAfter.Add(time.Hour) }
	if err := callRPC(open(t, scrape.Options{Name: "late", URL: secure.URL, TLS: late, Metrics: m})); scrape.OutcomeOf(err) != scrape.Unreachable {
		t.Fatal(err)
	}
	trusted.Close()
	if diff := cmp.Diff(map[string]float64{"late": expiry}, exported()); diff != "" {
		t.Error(diff)
	}
}

// The certificate of a proxy says nothing about the upstream behind it.
func TestProxyCertificateIsNotExported(t *testing.T) {
	reg := prometheus.NewRegistry()
	u := open(t, scrape.Options{Name: "node", URL: "http://node", Metrics: scrape.NewMetrics(reg),
		Transport: transport(func(*http.Request) (*http.Response, error) {
			r := respond(200, good)
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{NotAfter: time.Now()}}}
			return r, nil
		})})
	must.Do(t, callRPC(u))
	if n, err := testutil.GatherAndCount(reg, "avax_exporter_upstream_certificate_expiry_timestamp_seconds"); err != nil || n != 0 {
		t.Errorf("%d series, %v", n, err)
	}
}

func TestCloseDeletesSeriesDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := scrape.NewMetrics(reg)
		kept := open(t, scrape.Options{Name: "kept", URL: "http://node", Metrics: m, Transport: answering(`{"id":1,"result":{"height":"14"}}`)})
		closed := open(t, scrape.Options{Name: "closed", URL: "http://node", Metrics: m, Transport: slow(time.Second, good)})
		for _, u := range []*scrape.Upstream{kept, closed} {
			must.Do(t, callRPC(u))
		}
		done := make(chan error)
		go func() { done <- callRPC(closed) }()
		synctest.Wait()
		closed.Close()
		if err := <-done; err != nil {
			t.Errorf("call in progress: %v", err)
		}
		if n, err := testutil.GatherAndCount(reg, "avax_exporter_upstream_requests_total"); err != nil || n != 1 {
			t.Errorf("%d series, want that of the remaining upstream (%v)", n, err)
		}
	})
}
