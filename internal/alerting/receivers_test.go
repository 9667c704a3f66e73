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

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery"

	"log/slog"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAlertmanagersComeFromURLsAndFile(t *testing.T) {
	block, err := receivers(Config{
		Alertmanagers: []string{"http://one:9093", "https://two/prefix/"},
		AlertmanagerFile: file(t, "am.yml", `
alerting:
  alert_relabel_configs: [{regex: replica, action: labeldrop}]
  alertmanagers:
    - basic_auth: {username: us, password: canary}
      timeout: 3s
    - static_configs: [{targets: ['three:9093', 'four:9093']}]
`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range block.AlertmanagerConfigs {
		line := a.Scheme
		for _, d := range a.ServiceDiscoveryConfigs {
			for _, target := range d.(discovery.StaticConfig)[0].Targets {
				line += " " + string(target["__address__"])
			}
		}
		line += " " + a.PathPrefix + " " + a.Timeout.String()
		if a.HTTPClientConfig.BasicAuth != nil {
			line += " as " + a.HTTPClientConfig.BasicAuth.Username
		}
		got = append(got, line)
	}
	want := []string{"http three:9093 four:9093  10s", "http one:9093  3s as us", "https two /prefix 3s as us"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(block.AlertRelabelConfigs) != 1 {
		t.Errorf("relabeling: %v", block.AlertRelabelConfigs)
	}
}

func TestAlertmanagerErrorsContainNoSecrets(t *testing.T) {
	for _, test := range []struct {
		urls    []string
		content string
		want    string
	}{
		{urls: []string{"localhost:9093"}, want: "write one like http://127.0.0.1:9093"},
		{urls: []string{"http://a", "http://us:canary@host:9093"}, want: "entry 2 of the list: the URL contains a user or password"},
		{urls: []string{"http://us:canary@ho st"}, want: "write one like"},
		{urls: []string{"http://host/?key=canary"}, want: "the URL has a query or fragment"},
		{urls: []string{"http://a"}, content: "alerting: {alertmanagers: [{static_cofnigs: []}]}", want: "static_cofnigs"},
		{urls: []string{"http://a"}, content: "alerting: {alertmanagers: [{consul_sd_configs: [{server: x}]}]}", want: "consul_sd_configs"},
		{urls: []string{"http://a"}, content: "rule_files: [x]", want: "write only the section alerting"},
		{urls: []string{"http://a"}, content: "alerting: {alertmanagers: [{timeout: 1s}, {timeout: 2s}]}", want: "2 entries without static_configs"},
		{content: "alerting: {alertmanagers: [{timeout: 1s}]}", want: "only for the URLs in AVAX_ALERTMANAGERS, which is empty: add static_configs to the entry"},
		{content: "alerting: {}", want: "contains an Alertmanager"},
	} {
		c := Config{Alertmanagers: test.urls}
		if test.content != "" {
			c.AlertmanagerFile = file(t, "am.yml", test.content)
		}
		urls, inFile := CheckAlertmanagers(c)
		text := ""
		for _, err := range []error{urls, inFile} {
			if err != nil {
				text += err.Error()
			}
		}
		if !strings.Contains(text, test.want) || strings.Contains(text, "canary") {
			t.Errorf("%v %s\nerror %q, want it to contain %q", test.urls, test.content, text, test.want)
		}
	}
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
			AlertmanagerFile: file(t, "am.yml", `
alerting:
  alertmanagers:
    - basic_auth: {username: us, password_file: `+password+`}
      tls_config: {ca_file: `+ca+`}
`),
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
	if err := os.WriteFile(password, []byte("right"), 0o600); err != nil {
		t.Fatal(err)
	}
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
