package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// canary is part of every secret.
const canary = "c4n4ry"

// guarded serves a node for requests that pass. It answers every other request with the content of that request, like a careless
// proxy.
func guarded(t *testing.T, node http.Handler, pass func(*http.Request) bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pass(r) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "you sent %v", r.Header)
			return
		}
		r.Host = "127.0.0.1"
		node.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	t.Cleanup(server.Close)
	return server
}

// files writes into a directory and returns a function to change a file.
func files(t *testing.T, all map[string]string) (dir string, put func(name, text string)) {
	t.Helper()
	dir = t.TempDir()
	put = func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, text := range all {
		put(name, text)
	}
	return dir, put
}

// reload makes the exporter reload its nodes.
func (e exporter) reload(t *testing.T, want int) string {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, e.url+"/-/reload", nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Errorf("POST /-/reload: status %s, want %d (%v)", resp.Status, want, err)
	}
	return string(body)
}

// up waits until avax_node_up of the node has this value.
func (e exporter) up(t *testing.T, node string, want int) {
	t.Helper()
	line := fmt.Sprintf("avax_node_up{node=%q} %d\n", node, want)
	e.until(t, "/metrics", func(_ int, body string) bool { return strings.Contains(body, line) })
}

// An observer belongs to another operator. It gets only credentials that are configured for its name.
func TestCredentialsReachOnlyTheirNodes(t *testing.T) {
	network := simnet.New(simnet.Options{Seed: 1})
	node := network.Node("alpha")
	clients, servers := testworld.NewAuthority(t), testworld.NewAuthority(t)
	serverCert, serverKey := servers.Sign(t, "node")
	clientCert, clientKey := clients.Sign(t, "exporter")
	header := func(name, want string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Header.Get(name) == want && len(r.Header) < 8 }
	}
	const basic = "Basic dXNlcjpjNG40cnktYg==" // user:c4n4ry-b
	bearer := guarded(t, node, header("Authorization", "Bearer "+canary+"-t"))
	password := guarded(t, node, header("Authorization", basic))
	key := guarded(t, node, header("X-Key", canary+"-k"))
	host := guarded(t, node, func(r *http.Request) bool { return r.Host == "inner.example.com" })
	mutual := guarded(t, node, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+canary+"-all" })
	pair := must.Get(tls.X509KeyPair([]byte(serverCert), []byte(serverKey)))(t)
	trusted := x509.NewCertPool()
	trusted.AddCert(clients.Certificate)
	mutual.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert}
	mutual.StartTLS()
	received := &testworld.Log{}
	record := func(r *http.Request) bool {
		fmt.Fprintln(received, r.Host, r.URL, r.Header)
		return true
	}
	public, named := guarded(t, network.Observer(), record), guarded(t, network.Observer(), header("X-Own", "of-the-observer"))
	for _, s := range []*httptest.Server{bearer, password, key, host, public, named} {
		s.Start()
	}
	dir, put := files(t, map[string]string{
		"token": canary + "-t\n", "password": canary + "-b\n", "key-of-proxy": canary + "-k", "all": canary + "-all",
		"ca": servers.PEM, "cert": clientCert, "key": clientKey,
	})
	nodes := ""
	for name, url := range map[string]string{
		"bearer": bearer.URL, "password": password.URL, "key": key.URL, "host": host.URL, "mutual": mutual.URL, "wrong": bearer.URL, "wrong-too": password.URL,
	} {
		nodes += fmt.Sprintf("- targets: [%q]\n  labels: {node: %s}\n", url, name)
	}
	nodes += fmt.Sprintf("- targets: [%q]\n  labels: {node: named, __role__: observer}\n", named.URL)
	put("nodes.yml", nodes)
	put("http.yml", `
- {upstreams: [named], http_config: {http_headers: {X-Own: {values: [of-the-observer]}}}}
- {upstreams: [bearer], http_config: {authorization: {credentials_file: token}}}
- {upstreams: [pass*], http_config: {basic_auth: {username: user, password_file: password}}}
- {upstreams: [key], http_config: {http_headers: {X-Key: {files: [key-of-proxy]}}}}
- {upstreams: [host], host: inner.example.com}
- upstreams: [mutual]
  http_config: {authorization: {credentials_file: all}, tls_config: {ca_file: ca, cert_file: cert, key_file: key}}
- upstreams: ["*"]
  host: `+canary+`.example.com
  http_config: {authorization: {credentials_file: all}, tls_config: {cert_file: cert, key_file: key}}
`)
	env := config.Environment{}
	env["NODES"], env["OBSERVERS"] = "", "public="+public.URL
	env["NODES_FILE"] = filepath.Join(dir, "nodes.yml")
	env["HTTP_CONFIG_FILE"] = filepath.Join(dir, "http.yml")
	env["COLLECTORS"] = "up,identity,observer"
	log := &testworld.Log{}
	e := startLogging(t, env, log)
	_, page := e.get(t, "/metrics")
	served := samples(t, page)
	for name, want := range map[string]float64{"bearer": 1, "password": 1, "key": 1, "host": 1, "mutual": 1, "wrong": 0, "wrong-too": 0} {
		if got := served[`avax_node_up{node="`+name+`"}`]; got != want {
			t.Errorf("%s: up %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"public", "named"} {
		if served[`avax_observer_up{node="`+name+`"}`] != 1 {
			t.Errorf("observer %s not up", name)
		}
	}
	if text := received.String(); text == "" || strings.Contains(text, canary) || strings.Contains(text, "Authorization") || strings.Contains(text, "X-Own") {
		t.Errorf("the observer without an entry receives:\n%s", text)
	}

	// The error about an invalid secret contains its location.
	put("token", canary+"\x01")
	answer := e.reload(t, http.StatusInternalServerError)
	_, page = e.get(t, "/metrics")
	_, status := e.get(t, "/")
	for where, text := range map[string]string{"/metrics": page, "/": status, "the log": log.String(), "/-/reload": answer} {
		for _, secret := range []string{canary, basic[6:], "PRIVATE KEY", strings.Split(clientKey, "\n")[1]} {
			if strings.Contains(text, secret) {
				t.Errorf("secret in %s:\n%s", where, text)
			}
		}
	}
	if !strings.Contains(log.String(), "http.yml: upstreams [bearer]: the value of the header Authorization contains") {
		t.Errorf("log:\n%s", log)
	}
}

// A token and a certificate are replaced while the exporter runs. The exporter uses the new token and certificate, without a gap in
// the samples.
func TestRotatedCredentialsCauseNoGap(t *testing.T) {
	node := simnet.New(simnet.Options{Seed: 1}).Node("alpha")
	authority := testworld.NewAuthority(t)
	nodeCert, nodeKey := authority.Sign(t, "node")
	pair := must.Get(tls.X509KeyPair([]byte(nodeCert), []byte(nodeKey)))(t)
	var mu sync.Mutex
	wanted := [2]string{"one", "first"} // token, name in the certificate
	server := guarded(t, node, func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.Header.Get("Authorization") == "Bearer "+wanted[0] && r.TLS.PeerCertificates[0].Subject.CommonName == wanted[1]
	})
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.Certificate)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	firstCert, firstKey := authority.Sign(t, "first")
	secondCert, secondKey := authority.Sign(t, "second")
	dir, put := files(t, map[string]string{
		"token": "one", "cert": firstCert, "key": firstKey,
		"ca": authority.PEM,
	})
	env := config.Environment{}
	env["NODES"] = "alpha=" + server.URL
	put("http.yml", `[{upstreams: [alpha], http_config: {authorization: {credentials_file: token}, tls_config: {ca_file: ca, cert_file: cert, key_file: key}}}]`)
	env["HTTP_CONFIG_FILE"] = filepath.Join(dir, "http.yml")
	env["COLLECTORS"] = "up,identity"
	env["SCHEDULES"] = "up=@every 1s"
	e := start(t, env)
	e.up(t, "alpha", 1)

	mu.Lock()
	wanted = [2]string{"two", "second"}
	mu.Unlock()
	e.up(t, "alpha", 0)
	put("token", "two")
	put("cert", secondCert)
	put("key", secondKey)
	e.reload(t, http.StatusOK)
	if _, page := e.get(t, "/metrics"); !strings.Contains(page, `avax_node_info{node="alpha"`) {
		t.Error("samples missing")
	}
	e.up(t, "alpha", 1)
}

// The Alertmanagers and a Prometheus get the new credentials after a reload. After an invalid file they get the previous ones.
func TestAlertmanagersAndPrometheusGetNewCredentials(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{} // Authorization by alert or upstream
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Authorization")
		switch _, name, _ := strings.Cut(string(text), `"alertname":"`); {
		case r.URL.Path == "/api/v1/rules":
			got["prometheus"] = key
		case r.URL.Path == "/api/v2/status":
			got["inhibition"] = key
		case name != "":
			name, _, _ = strings.Cut(name, `"`)
			got[name] = key
		}
		_, _ = io.WriteString(w, `{"status":"success","data":{"groups":[]},"config":{"original":"route: {receiver: x}\nreceivers: [{name: x}]"}}`)
	}))
	t.Cleanup(server.Close)
	dir, put := files(t, nil)
	configure := func(key, rule string) {
		put("http.yml", `[{upstreams: [alertmanager, prometheus], http_config: {authorization: {credentials: `+key+`}}}]`)
		put("rules.yml", `groups: [{name: all, rules: [{alert: `+rule+`, expr: vector(1)}]}]`)
	}
	configure("first", "Before")
	node := guarded(t, simnet.New(simnet.Options{Seed: 1}).Node("alpha"), func(*http.Request) bool { return true })
	node.Start()
	run := func(more config.Environment) exporter {
		env := config.Environment{"NODES": "alpha=" + node.URL, "HTTP_CONFIG_FILE": filepath.Join(dir, "http.yml"), "COLLECTORS": "up"}
		maps.Copy(env, more)
		return start(t, env)
	}
	sends := run(config.Environment{"ALERTMANAGERS": server.URL, "RULES_FILE": filepath.Join(dir, "rules.yml"), "ALERTING_INTERVAL": "1s"})
	asks := run(config.Environment{"PROMETHEUS_URL": server.URL, "ALERTING": "off"})
	want := func(name, key string) {
		t.Helper()
		testworld.Await(t, name+" with "+key, func() error {
			asks.get(t, "/alerts")
			mu.Lock()
			defer mu.Unlock()
			if got[name] != "Bearer "+key {
				return fmt.Errorf("got %v", got)
			}
			return nil
		})
	}
	for _, name := range []string{"Before", "inhibition", "prometheus"} {
		want(name, "first")
	}

	configure("second", "After")
	sends.reload(t, http.StatusOK)
	asks.reload(t, http.StatusOK)
	for _, name := range []string{"After", "inhibition", "prometheus"} {
		want(name, "second")
	}

	configure("{}", "Later")
	if answer := sends.reload(t, http.StatusInternalServerError); !strings.Contains(answer, "http.yml") {
		t.Errorf("error %q", answer)
	}
	want("Later", "second")
}
