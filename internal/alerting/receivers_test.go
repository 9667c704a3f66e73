package alerting

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	httpconfig "github.com/prometheus/common/config"

	"log/slog"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// The Alertmanager uses TLS with its own certificate, and a password that changes while the exporter runs.
func TestAlertmanagerWithTLSAndPassword(t *testing.T) {
	requests := make(chan string, 100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		requests <- password
		if password != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	ca := file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	password := file(t, "password", "wrong")
	w := newWorld(t, `groups: [{name: g, rules: [{alert: Watchdog, expr: vector(1)}]}]`)
	w.reporter = prometheus.NewRegistry()
	a, err := Start(t.Context(), Options{
		Config: Config{
			RulesFile: w.rules, Job: "j", Instance: "i", URL: "http://i", Interval: 20 * time.Millisecond, Alertmanagers: []string{server.URL},
			HTTP: &httpconfig.HTTPClientConfig{BasicAuth: &httpconfig.BasicAuth{Username: "us", PasswordFile: password}, TLSConfig: httpconfig.TLSConfig{CAFile: ca}},
		},
		Metrics: w, Registerer: w.reporter, Log: slog.New(slog.NewTextHandler(w, nil)), ResendDelay: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Wait)
	if got := <-requests; got != "wrong" {
		t.Errorf("sent password %q", got)
	}
	must.Do(t, os.WriteFile(password, []byte("right"), 0o600))
	for got := range requests {
		if got == "right" {
			break
		}
	}
	<-requests // the previous answer has been recorded
	if r := a.Receivers(); len(r) != 1 || !r[0].Up {
		t.Errorf("receiver %+v", r)
	}
	if log := w.logged(); !strings.Contains(log, "answers 401 Unauthorized") || strings.Contains(log, "wrong") {
		t.Errorf("log:\n%s", log)
	}
}
