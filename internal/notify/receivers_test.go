package notify_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// secrets are the contents of the examples' secret files, by the suffix of their names.
var secrets = map[string]string{
	"telegram.token": "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
	"discord.url":    "https://discord.com/api/webhooks/1234567890/c4n4ry-token",
	"slack.url":      "https://hooks.slack.com/services/T00000000/B00000000/c4n4ry",
	"pagerduty.key":  "0123456789abcdef0123456789abcdef",
	"pushover.user":  "uQiRzpo4DXghDmr9QzzfQu27cmVRsG",
	"pushover.token": "azGDORePK8gMaC0QOYAMyEEuzJnyUi",
	"smtp.password":  "c4n4ry",
	"webhook.url":    "https://hooks.example.org/c4n4ry",
	"teams.url":      "https://prod.westeurope.logic.azure.com/workflows/c4n4ry",
}

// services simulate the services that the examples notify: the address of a request, and the answer that accepts it.
var services = map[string]struct {
	url    string
	status int
	answer string
}{
	"telegram": { // https://core.telegram.org/bots/api#sendmessage
		"https://api.telegram.org/bot" + secrets["telegram.token"] + "/sendMessage", 200,
		`{"ok":true,"result":{"message_id":1,"date":1767225600,"chat":{"id":123456789,"type":"private"}}}`,
	},
	"discord": {secrets["discord.url"], 204, ""}, // https://discord.com/developers/docs/resources/webhook#execute-webhook
	"slack":   {secrets["slack.url"], 200, "ok"}, // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
	"pagerduty": { // https://developer.pagerduty.com/api-reference/368ae3d938c9e-send-an-event-to-pager-duty
		"https://events.pagerduty.com/v2/enqueue", 202, `{"status":"success","message":"Event processed","dedup_key":"samplekeyhere"}`,
	},
	"pushover": {"https://api.pushover.net/1/messages.json", 200, `{"status":1,"request":"647d2300-702c-4b38-8b2f-d56326ae460b"}`}, // https://pushover.net/api
	"webhook":  {secrets["webhook.url"], 200, ""},
	"teams": {
		secrets["teams.url"],
		202,
		"",
	}, // https://learn.microsoft.com/power-automate/overview-adaptive-cards
	"ntfy": {"https://ntfy.sh/", 200, `{"id":"x","time":1,"event":"message","topic":"avax-alerts"}`}, // https://docs.ntfy.sh/publish/#publish-as-json
}

// recording is a recorded request in testdata.
type recording struct {
	Request string          `json:"request"`
	Type    string          `json:"content_type,omitempty"`
	Form    url.Values      `json:"form,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Mail    []string        `json:"mail,omitempty"`
	raw     string          // of a mail
}

// simulated starts a service, and returns the options of the shipped example that leads to it, and the requests that it gets.
func simulated(t *testing.T, kind string) (notify.Options, <-chan recording) {
	t.Helper()
	requests := make(chan recording, 10)
	service := services[kind]
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Method != http.MethodPost {
			err = errors.New("not a POST")
		}
		to := "https://" + r.Host + r.URL.Path
		if err == nil && to != service.url {
			err = fmt.Errorf("to %s, want %s", to, service.url)
		}
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		requests <- recording{Request: r.Method + " " + to, Type: r.Header.Get("Content-Type"), Form: r.URL.Query(), Body: body}
		w.WriteHeader(service.status)
		_, _ = io.WriteString(w, service.answer)
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	if kind == "email" {
		address = listening(t, func(conn net.Conn) {
			if err := takeMail(conn, server.TLS, requests); err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
	return options(t, kind, server.Certificate(), address), requests
}

// started starts to notify, until the test ends.
func started(t *testing.T, o notify.Options) *notify.Notifier {
	t.Helper()
	o.Registerer, o.Log = prometheus.NewRegistry(), slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithCancel(context.Background())
	n, err := notify.Start(ctx, o)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		n.Wait()
	})
	return n
}

// listening serves each connection to the address, until the test ends.
func listening(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// The shipped example of each kind sends the requests in testdata when an alert fires and when it resolves. They follow the documentation
// of the service.
func TestExamplesSendRequestsTheirServiceAccepts(t *testing.T) {
	for _, kind := range notify.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o, requests := simulated(t, kind)
			n := started(t, o)
			down := model.Alert{
				Labels: model.LabelSet{"alertname": "AvaxNodeDown", "node": "alpha", "severity": "page", "instance": "exporter:9865"},
				Annotations: model.LabelSet{
					"summary":     `alpha: down for 5 min & "not" <reachable>`,
					"description": "The node alpha does not answer.", "action": "Start the node, or the network to it.",
					"runbook_url": "https://runbooks.example/AvaxNodeDown.md",
				},
				StartsAt: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), EndsAt: time.Now().Add(time.Hour),
				GeneratorURL: "http://exporter.example/alerts#AvaxNodeDown",
			}
			put(t, n, down)
			sent := []recording{<-requests}
			down.EndsAt = time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)
			put(t, n, down)
			sent = append(sent, <-requests)
			for i := range sent {
				sent[i].Body = stable(sent[i].Body)
			}
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			must.Do(t, e.Encode(sent))
			testworld.Golden(t, filepath.Join("testdata", kind+".json"), text.String(), "go test ./internal/notify -update")
		})
	}
}

// A page that the service refuses as one too many is sent again before the next interval of its group, to a receiver of any kind.
func TestPageRefusedAsOneTooManyIsSentAgain(t *testing.T) {
	for _, kind := range notify.Kinds() {
		if kind == "email" {
			continue // has no such answer
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			requests := make(chan struct{}, 10)
			refuse := true
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if refuse {
					refuse = false
					w.WriteHeader(http.StatusTooManyRequests)
				} else {
					w.WriteHeader(services[kind].status)
					_, _ = io.WriteString(w, services[kind].answer)
				}
				requests <- struct{}{}
			}))
			t.Cleanup(server.Close)
			o := options(t, kind, server.Certificate(), server.Listener.Addr().String())
			text := must.Get(os.ReadFile(o.Config.File))(t)
			must.Do(t, os.WriteFile(o.Config.File, bytes.ReplaceAll(text, []byte("group_interval: 1ms"), []byte("group_interval: 24h")), 0o600))
			n := started(t, o)
			put(t, n, model.Alert{
				Labels:   model.LabelSet{"alertname": "AvaxNodeDown", "node": "alpha", "severity": "page"},
				StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
			})
			<-requests
			select {
			case <-requests:
			case <-time.After(2 * time.Minute):
				t.Error("it is not sent again")
			}
		})
	}
}

// Try returns the service's own message for a rejected secret, but not the secret.
func TestTryReportsTheErrorOfTheService(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
	}))
	t.Cleanup(server.Close)
	trials, err := notify.Try(t.Context(), options(t, "telegram", server.Certificate(), server.Listener.Addr().String()).Config, true)
	if err != nil || len(trials) != 1 || trials[0].Err == nil {
		t.Fatalf("%v, %v", trials, err)
	}
	if told := trials[0].Err.Error(); !strings.Contains(told, "Unauthorized") || strings.Contains(told, secrets["telegram.token"]) {
		t.Errorf("error %q", told)
	}
}

// options returns the example of a kind, with its secrets in files, without waits, and with every address redirected to the
// server.
func options(t *testing.T, kind string, certificate *x509.Certificate, address string) notify.Options {
	t.Helper()
	example := must.Get(notify.Example(kind))(t)
	dir := t.TempDir()
	for name, secret := range secrets {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	must.Do(t, os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o600))
	trust := "tls_config: {ca_file: " + filepath.Join(dir, "ca.pem") + ", server_name: example.com}"
	text := strings.NewReplacer(
		"/etc/avax-exporter/",
		dir+"/",
		"group_wait: 30s",
		"group_wait: 1ms",
		"group_interval: 5m",
		"group_interval: 1ms",
		"group_interval: 65s",
		"group_interval: 1ms",
		"smtp.example.org:587",
		address,
		"auth_username:",
		trust+"\n        auth_username:",
	).Replace(string(example))
	text = "global: {http_config: {" + trust + "}}\n" + text
	return notify.Options{Config: notify.Config{
		File: testworld.File(t, text), InhibitRules: []byte(shipped), Templates: alertmanager.Templates, URL: "http://exporter.example",
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
}

// stable returns the body without the parts that differ between runs.
func stable(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	return regexp.MustCompile(`"(dedup_key|groupKey|ts)":("(?:[^"\\]|\\.)*"|\d+)`).ReplaceAll(body, []byte(`"$1":"…"`))
}

// takeMail handles one connection: it accepts messages over SMTP with STARTTLS and AUTH PLAIN (RFC 5321, 3207 and 4954), with the
// certificate of secure. Commands are recorded in order.
func takeMail(conn net.Conn, secure *tls.Config, messages chan<- recording) error {
	in := bufio.NewReader(conn)
	say := func(lines string) { _, _ = io.WriteString(conn, strings.ReplaceAll(lines, "\n", "\r\n")+"\r\n") }
	say("220 mail.example.org ESMTP")
	var dialog []string
	encrypted, authenticated, queued := false, false, false
	for {
		line, err := in.ReadString('\n')
		if queued && err != nil {
			return nil //nolint:nilerr // the end of the test cancels QUIT
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		verb, _, _ := strings.Cut(line, " ")
		switch verb = strings.ToUpper(verb); verb {
		case "EHLO":
			line = "EHLO …" // the host name
			if encrypted {
				say("250-mail.example.org\n250 AUTH PLAIN")
			} else {
				say("250-mail.example.org\n250 STARTTLS")
			}
		case "STARTTLS":
			say("220 ready")
			conn = tls.Server(conn, secure)
			in, encrypted = bufio.NewReader(conn), true
		case "AUTH":
			answer, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "AUTH PLAIN "))
			if want := "\x00avax-exporter@example.org\x00c4n4ry"; err != nil || string(answer) != want || !encrypted {
				say("535 authentication failed")
				return fmt.Errorf("%s: %q", line, answer)
			}
			authenticated = true
			say("235 authenticated")
		case "MAIL", "RCPT":
			if !authenticated {
				say("530 authentication required")
				return errors.New("mail before authentication")
			}
			say("250 ok")
		case "DATA":
			say("354 end with a dot")
			var message strings.Builder
			for {
				l, err := in.ReadString('\n')
				if err != nil {
					return err
				}
				if l == ".\r\n" {
					break
				}
				message.WriteString(strings.TrimPrefix(l, "."))
			}
			told, err := readMail(message.String())
			if err != nil {
				say("554 no message")
				return err
			}
			say("250 queued")
			queued = true
			messages <- recording{Request: "SMTP", Mail: append(append(dialog, line), told...), raw: message.String()}
		case "QUIT":
			say("221 bye")
			return nil
		default:
			say("502 not implemented")
			return fmt.Errorf("%q", line)
		}
		dialog = append(dialog, line)
	}
}

// readMail returns the headers of a message (RFC 5322).
func readMail(text string) (headers []string, err error) {
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(message.Body)
	if err != nil || len(body) == 0 {
		return nil, fmt.Errorf("no body: %w", err)
	}
	if _, err := message.Header.Date(); err != nil {
		return nil, err
	}
	for _, name := range []string{"From", "To", "Subject", "Message-Id", "Mime-Version", "Content-Type"} {
		value := message.Header.Get(name)
		if value == "" {
			return nil, fmt.Errorf("no %s: %s", name, text)
		}
		switch name {
		case "Message-Id":
			value = "…"
		case "Content-Type":
			value, _, _ = strings.Cut(value, ";")
		}
		headers = append(headers, name+": "+value)
	}
	return headers, nil
}

// Probe detects missing files and unreachable addresses before an alert needs them.
func TestReachReadsFilesAndConnects(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "webhook.url")
	config := notify.Config{Text: []byte("route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url_file: " + secret + "}]}]")}
	reach := func(wants string) {
		t.Helper()
		trials, err := notify.Try(t.Context(), config, false)
		if err != nil || len(trials) != 1 {
			t.Fatalf("%v, %v", trials, err)
		}
		told := fmt.Sprint(trials[0].Err)
		if !strings.Contains(told, wants) || strings.Contains(told, "c4n4ry") {
			t.Errorf("%q, want %q", told, wants)
		}
	}
	reach("no such file")
	for content, wants := range map[string]string{
		"\n": "is empty", "c4n4ry": "does not contain a URL", "http://" + listener.Addr().String() + "/c4n4ry\n": "<nil>",
	} {
		must.Do(t, os.WriteFile(secret, []byte(content), 0o600))
		reach(wants)
	}
	must.Do(t, os.WriteFile(secret, []byte("http://"+listener.Addr().String()+"/c4n4ry"), 0o600))
	listener.Close()
	reach("connection refused")
	config.Text = []byte("route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url: 'http://" + listener.Addr().String() + "/c4n4ry'}]}]")
	reach("connection refused")
}

// Slack's own address, which is the default of other settings, is not called for a server that takes Slack's messages.
func TestProbeConnectsOnlyToWhatIsConfigured(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a message without an alert: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(server.Close)
	var called []string
	trials, err := notify.Try(t.Context(), notify.Config{
		Text: []byte("route: {receiver: ops}\nreceivers: [{name: ops, slack_configs: [{api_url: '" + server.URL + "/hooks/x', channel: '#ops'}]}]"),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			called = append(called, address)
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}, false)
	if err != nil || len(trials) != 1 || trials[0].Err != nil {
		t.Fatalf("%v, %v", trials, err)
	}
	if want := server.Listener.Addr().String(); len(called) == 0 || slices.ContainsFunc(called, func(a string) bool { return a != want }) {
		t.Errorf("calls %v, want only %s", called, want)
	}
}

// No failure puts a secret into the log, the API or a metric.
func TestReceiverErrorsContainNoSecrets(t *testing.T) {
	for _, kind := range notify.Kinds() {
		for name, refuse := range map[string]http.HandlerFunc{
			"status 500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			"answer that repeats the request": func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, `{"message": %q, "description": %[1]q, "errors": [%[1]q]}`, r.URL.String()+string(body))
			},
			"no answer":     func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
			"no connection": nil,
		} {
			if kind == "email" && refuse != nil {
				continue // the server speaks HTTP; a hung mail server has its own test
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewTLSServer(refuse)
				o := options(t, kind, server.Certificate(), server.Listener.Addr().String())
				if refuse == nil {
					server.Close()
				} else {
					t.Cleanup(server.Close)
				}
				var log testworld.Log
				registry := prometheus.NewRegistry()
				o.Registerer, o.Log = registry, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				ctx, cancel := context.WithCancel(context.Background())
				n, err := notify.Start(ctx, o)
				if err != nil {
					cancel()
					t.Fatal(err)
				}
				put(t, n, firing("NodeDown", "alpha"))
				eventually(t, func() bool {
					return len(n.Failing()) > 0 && (strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR"))
				})
				cancel()
				n.Wait()
				w := httptest.NewRecorder()
				n.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v2/status", nil))
				families, err := registry.Gather()
				if err != nil || w.Code != http.StatusOK {
					t.Fatalf("%d, %v", w.Code, err)
				}
				told := log.String() + w.Body.String() + fmt.Sprint(families, n.Failing())
				for file, secret := range secrets {
					if strings.Contains(told, secret) {
						t.Errorf("content of %s leaked", file)
					}
				}
			})
		}
	}
}
