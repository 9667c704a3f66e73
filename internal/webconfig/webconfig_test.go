package webconfig

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder holds a configuration and its certificates.
type folder struct {
	dir    string
	signer tls.Certificate
}

// newFolder has authority.pem, with which server.pem and its server.key are signed.
func newFolder(t *testing.T) folder {
	t.Helper()
	f := folder{dir: t.TempDir()}
	f.signer = f.issue(t, "authority")
	f.issue(t, "server")
	return f
}

// issue signs a certificate for this machine and a name.
func (f *folder) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, EmailAddresses: []string{name + "@example.com"},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/" + name}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        f.signer.Leaf == nil, BasicConstraintsValid: true,
	}
	parent, by := template, any(key)
	if f.signer.Leaf != nil {
		parent, by = f.signer.Leaf, f.signer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	f.write(t, name+".pem", string(certificate))
	f.write(t, name+".key", string(private))
	pair, err := tls.X509KeyPair(certificate, private)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func (f *folder) write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *folder) text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const withTLS = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"

// hash is that of a password, quickly made.
func hash(t *testing.T, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

func TestEveryKeyOfTheFormatIsTaken(t *testing.T) {
	f := newFolder(t)
	indented := func(name string) string { return strings.ReplaceAll(f.text(t, name), "\n", "\n    ") }
	for name, want := range map[string]struct {
		text string
		tls  bool
	}{
		"empty":     {"", false},
		"a comment": {"# nothing yet\n", false},
		"empty sections": {`
tls_server_config:
http_server_config:
basic_auth_users:
rate_limit:
`, false},
		"files": {withTLS, true},
		"absolute files": {"tls_server_config:\n  cert_file: " + filepath.Join(f.dir, "server.pem") + "\n  key_file: " +
			filepath.Join(f.dir, "server.key") + "\n", true},
		"texts": {"tls_server_config:\n  cert: |\n    " + indented("server.pem") + "\n  key: |\n    " + indented("server.key") +
			"\n  client_ca: |\n    " + indented("authority.pem") + "\n  client_auth_type: RequireAnyClientCert\n", true},
		"all": {withTLS + `
  client_auth_type: VerifyClientCertIfGiven
  client_ca_file: authority.pem
  client_allowed_sans: [a, b]
  min_version: TLS13
  max_version: TLS13
  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [X25519, CurveP256, CurveP384, CurveP521]
http_server_config:
  http2: no
  headers:
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: "0"
    Strict-Transport-Security: max-age=1
    Content-Security-Policy: default-src 'none'
basic_auth_users:
  prometheus: ` + hash(t, "x") + `
rate_limit:
  burst: 3
  interval: 0
`, true},
	} {
		if got, err := Check(f.write(t, "web.yml", want.text)); err != nil || got != want.tls {
			t.Errorf("%s: TLS %v, want %v (%v)", name, got, want.tls, err)
		}
	}
}

func TestWhatWouldLeaveADoorOpenIsRefused(t *testing.T) {
	f := newFolder(t)
	f.write(t, "empty.pem", "")
	for text, want := range map[string]string{
		"basic_auth_user: {a: b}":                                 "line 1: field basic_auth_user not found",
		withTLS + "  client_ca_fil: x":                            "line 4: field client_ca_fil not found",
		"basic_auth_users: {ann: canary}":                         "basic_auth_users: the password of ann is no bcrypt hash",
		"basic_auth_users: canary":                                "line 1: cannot unmarshal !!str …",
		"basic_auth_users: {ann: }":                               "the password of ann is no bcrypt hash",
		"basic_auth_users: {a: x, a: y}":                          "already defined",
		"canary":                                                  "line 1: cannot unmarshal !!str …",
		"rate_limit: {interval: canary}":                          "line 1: interval: write one like 1s",
		"rate_limit: {interval: -1s}":                             "line 1: interval: write one like 1s",
		"http_server_config: {headers: {X-Frame-Options: never}}": `X-Frame-Options is not one of ["deny" "sameorigin"]`,
		"http_server_config: {headers: {Server: x}}":              "Server cannot be set",
		"tls_server_config: {cert_file: server.pem}":              "missing one of key or key_file",
		"tls_server_config: {key: canary}":                        "missing one of cert or cert_file",
		"tls_server_config: {client_auth_type: x}":                "missing one of cert or cert_file",
		"tls_server_config: {cert_file: none, key_file: x}":       "none: no such file",
		"tls_server_config: {cert_file: server.pem, key: canary}": "server.pem and key: tls: failed to find any PEM data in key input",
		withTLS + "  key: canary\n  key_file: authority.key":      "already defined",
		withTLS + "  client_ca_file: authority.pem":               "client CA's have been configured without a Client Auth Policy",
		withTLS + "  client_auth_type: Require":                   `client_auth_type: "Require" is not one of [`,
		withTLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: empty.pem": "empty.pem: there is no certificate in it",
		withTLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: no.pem":    "no.pem: no such file",
		withTLS + "  client_allowed_sans: [a]":                                                  "client_allowed_sans: nobody verifies",
		withTLS + "  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [a]":        "client_allowed_sans: nobody verifies",
		withTLS + "  min_version: SSL3":                                                         `min_version: "SSL3" is not one of [`,
		withTLS + "  min_version: TLS11":                                                        `min_version: "TLS11" is not one of ["TLS12" "TLS13"]`,
		withTLS + "  max_version: TLS14":                                                        `max_version: "TLS14" is not one of [`,
		withTLS + "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]":                                 `cipher_suites: "TLS_RSA_WITH_RC4_128_SHA" is not one of [`,
		withTLS + "  curve_preferences: [CurveP224]":                                            `curve_preferences: "CurveP224" is not one of [`,
		withTLS + "http_server_config: {http2: canary}":                                         "line 4: cannot unmarshal !!str …",
		withTLS + "rate_limit: {burst: many}":                                                   "line 4: cannot unmarshal !!str …",
		withTLS + "basic_auth_users: [canary]":                                                  "line 4: cannot unmarshal !!seq",
		"basic_auth_users: {ann: `canary`}":                                                     "found character that cannot start any token",
		"basic_auth_users:\n  ann: $2y$10$QOauhQNbBCuQDKes6eFzPeM":                              "the password of ann is no bcrypt hash",
	} {
		_, err := Check(f.write(t, "web.yml", text))
		switch {
		case err == nil:
			t.Errorf("taken:\n%s", text)
		case !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "canary"):
			t.Errorf("%v, want %s, of:\n%s", err, want, text)
		}
	}
	if _, err := Check(filepath.Join(f.dir, "absent.yml")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// log is read while it is written.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve serves with web.yml until the test ends.
func (f *folder) serve(t *testing.T) (address string, logged *log) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logged = &log{}
	logger := slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "inside "+r.Proto) }),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	done := make(chan error)
	go func() { done <- Serve(listener, server, filepath.Join(f.dir, "web.yml"), logger) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().String(), logged
}

// client trusts the folder's authority, and shows a certificate if it is given one.
func (f *folder) client(t *testing.T, shows ...tls.Certificate) *http.Client {
	t.Helper()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(f.text(t, "authority.pem")))
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: trusted, Certificates: shows, ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// get asks with a name and a password, unless both are empty. Its body is that of
// the answer, or the error.
func get(t *testing.T, client *http.Client, url, name, password string) (status int, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name+password != "" {
		req.SetBasicAuth(name, password)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func TestHTTP2IsSpokenUnlessItIsLeftOut(t *testing.T) {
	f := newFolder(t)
	for text, want := range map[string]string{
		withTLS: "inside HTTP/2.0",
		withTLS + "http_server_config: {http2: false}": "inside HTTP/1.1",
	} {
		f.write(t, "web.yml", text)
		address, _ := f.serve(t)
		if _, got, _ := get(t, f.client(t), "https://"+address, "", ""); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A client that has been let in, and would resume its connection, is let in no more
// once its name is taken from the list, or another authority is trusted.
func TestWhoIsTrustedNoMoreStaysOutside(t *testing.T) {
	mutual := withTLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: authority.pem\n"
	for _, change := range []struct{ from, to string }{
		{mutual + "  client_allowed_sans: [x, prometheus]\n", mutual + "  client_allowed_sans: [x, grafana]\n"},
		{mutual + "  client_allowed_sans: [x, prometheus@example.com]\n", mutual + "  client_allowed_sans: [x, 127.0.0.2]\n"},
		{mutual + "  client_allowed_sans: [x, 127.0.0.1]\n", mutual + "  client_allowed_sans: [spiffe://example.com/x]\n"},
		{mutual + "  client_allowed_sans: [x, spiffe://example.com/prometheus]\n", mutual + "  client_allowed_sans: []\n"},
		{mutual, strings.Replace(mutual, "authority.pem", "theirs.pem", 1)},
	} {
		f, other := newFolder(t), newFolder(t)
		f.write(t, "theirs.pem", other.text(t, "authority.pem"))
		client := f.client(t, f.issue(t, "prometheus"))
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = false // a connection that was refused is no other request's
		f.write(t, "web.yml", change.from)
		address, _ := f.serve(t)
		for range 2 {
			if status, body, _ := get(t, client, "https://"+address, "", ""); status != http.StatusOK {
				t.Fatalf("%s\n%s", body, change.from)
			}
			client.CloseIdleConnections()
		}
		f.write(t, "web.yml", change.to)
		if status, body, _ := get(t, client, "https://"+address, "", ""); status != 0 {
			t.Errorf("%d %s\n%s", status, body, change.to)
		}
		f.write(t, "web.yml", change.from)
		if status, body, _ := get(t, client, "https://"+address, "", ""); status != http.StatusOK {
			t.Errorf("%s\n%s", body, change.from)
		}
	}
}

func TestAPasswordIsItsUsersAlone(t *testing.T) {
	f := folder{dir: t.TempDir()}
	f.write(t, "web.yml", "basic_auth_users: {ann: '"+hash(t, "one")+"', bob: '"+hash(t, "two")+"'}\nhttp_server_config: {headers: {X-Frame-Options: deny}}")
	address, logged := f.serve(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for range 2 { // what was right is remembered
		for pair, want := range map[[2]string]int{
			{"ann", "one"}: 200, {"bob", "two"}: 200,
			{"ann", "two"}: 401, {"bob", "one"}: 401, {"ann", ""}: 401, {"", ""}: 401, {"", "one"}: 401,
			{"eve", "one"}: 401, {"eve", "two"}: 401, {"Ann", "one"}: 401,
		} {
			status, body, h := get(t, client, "http://"+address, pair[0], pair[1])
			if status != want || (want == 200) != (body == "inside HTTP/1.1") || (want == 401) != (h.Get("WWW-Authenticate") == "Basic") {
				t.Errorf("%q: %d %s %v", pair, status, body, h)
			}
			if h.Get("X-Frame-Options") != "deny" {
				t.Errorf("%q: %v", pair, h)
			}
		}
	}
	f.write(t, "web.yml", "basic_auth_users: {ann: '"+hash(t, "three")+"'}")
	for pair, want := range map[[2]string]int{{"ann", "three"}: 200, {"ann", "one"}: 401, {"bob", "two"}: 401} {
		if status, _, _ := get(t, client, "http://"+address, pair[0], pair[1]); status != want {
			t.Errorf("%q: %d", pair, status)
		}
	}

	// A mistake that is made later lets nobody in, and tells no secret.
	f.write(t, "web.yml", "basic_auth_users: {ann: canary}")
	if status, body, _ := get(t, client, "http://"+address, "ann", "three"); status != http.StatusInternalServerError || strings.Contains(body, "ann") {
		t.Errorf("%d %s", status, body)
	}
	if got := logged.String(); !strings.Contains(got, "the password of ann is no bcrypt hash") || strings.Contains(got, "canary") {
		t.Error(got)
	}
}

// A name that is not there is compared with somebody's hash: who guesses is kept
// waiting as long as for a wrong password. What was right is not compared again.
func TestWhoGuessesIsComparedAndWhoIsKnownIsNot(t *testing.T) {
	compared := 0
	d := &door{compare: func(hash, password []byte) error {
		compared++
		return bcrypt.CompareHashAndPassword(hash, password)
	}}
	first, second := map[string]string{"ann": hash(t, "one")}, map[string]string{"ann": hash(t, "one")}
	for _, ask := range []struct {
		users          map[string]string
		name, password string
		right          bool
		compared       int
	}{
		{first, "eve", "one", false, 1},
		{first, "eve", "one", false, 1},
		{first, "ann", "two", false, 1},
		{first, "ann", "two", false, 1},
		{first, "ann", "one", true, 1},
		{first, "ann", "one", true, 0},
		{first, "eve", "one", false, 1},
		{second, "ann", "one", true, 1},
		{second, "ann", "one", true, 0},
		{second, "ann", "two", false, 1},
	} {
		compared = 0
		if right := d.knows(ask.users, ask.name, ask.password); right != ask.right || compared != ask.compared {
			t.Errorf("%s with %s: %v, compared %d times", ask.name, ask.password, right, compared)
		}
	}
}

func TestTLSThatIsTakenAwayLetsNobodyIn(t *testing.T) {
	f := newFolder(t)
	f.write(t, "web.yml", withTLS)
	address, _ := f.serve(t)
	if status, body, _ := get(t, f.client(t), "https://"+address, "", ""); status != http.StatusOK {
		t.Fatal(body)
	}
	f.write(t, "web.yml", "")
	if status, body, _ := get(t, f.client(t), "https://"+address, "", ""); status != 0 {
		t.Errorf("%d %s", status, body)
	}
	f.write(t, "web.yml", withTLS)
	if status, body, _ := get(t, f.client(t), "https://"+address, "", ""); status != http.StatusOK {
		t.Error(body)
	}
}
