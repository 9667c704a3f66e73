package scrape_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Different errors have different remedies: use another host name, trust another authority, or replace the certificate.
func TestCertificateErrorsNameTheSettingToChange(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	expired := func() time.Time { return server.Certificate().NotAfter.Add(time.Hour) }
	for words, o := range map[string]scrape.Options{
		"ca_file in AVAX_HTTP_CONFIG_FILE":                   {URL: server.URL, TLS: &tls.Config{RootCAs: x509.NewCertPool()}},
		"Use a host name for which the certificate is valid": {URL: server.URL, TLS: &tls.Config{RootCAs: known, ServerName: "another.test"}},
		"Replace the certificate":                            {URL: server.URL, TLS: &tls.Config{RootCAs: known, Time: expired}},
	} {
		o.Name = "local"
		u, err := scrape.New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rpc[string](t.Context(), u, "/ext/info", "info.getNodeIP", nil)
		if scrape.OutcomeOf(err) != scrape.Unreachable || !strings.Contains(scrape.AdviceOf(err), words) {
			t.Errorf("%v: %q, want it to contain %q", err, scrape.AdviceOf(err), words)
		}
	}
}

// An upstream that supports at most TLS 1.1 gets no request, with and without a CA file.
func TestUpstreamsBelowTLS12GetNoRequest(t *testing.T) {
	asked := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the server that must be rejected
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	for _, config := range []*tls.Config{nil, {RootCAs: known}} {
		u, err := scrape.New(scrape.Options{Name: "local", URL: server.URL, TLS: config})
		if err != nil {
			t.Fatal(err)
		}
		_, err = rpc[string](t.Context(), u, "/ext/info", "info.getNodeIP", nil)
		if scrape.OutcomeOf(err) != scrape.Unreachable || !strings.Contains(err.Error(), "protocol version") || asked {
			t.Errorf("%v, request sent: %t", err, asked)
		}
	}
}
