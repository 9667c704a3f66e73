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

// A form to log in answers each POST with status 200, and the alerts would be lost.
func TestFormToLogInIsNoDelivery(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>Log in</title>"))
	}))
	defer server.Close()
	w := newWorld(t, `groups: [{name: g, rules: [{alert: Watchdog, expr: vector(1)}]}]`)
	w.reporter = prometheus.NewRegistry()
	a, err := Start(t.Context(), Options{
		Config:  Config{RulesFile: w.rules, Job: "j", Instance: "i", URL: "http://i", Interval: 20 * time.Millisecond, Alertmanagers: []string{server.URL}},
		Metrics: w, Registerer: w.reporter, Log: slog.New(slog.NewTextHandler(w, nil)), ResendDelay: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Wait)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(poll) {
		if r := a.Receivers(); len(r) == 1 && r[0].Notified {
			if r[0].Up || !strings.Contains(w.logged(), "answers 200 OK with a web page") {
				t.Errorf("receiver %+v, log:\n%s", r, w.logged())
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was sent")
		}
	}
}
