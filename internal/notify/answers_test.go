package notify_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// answers are what a server that is not the real service may answer with.
func answers(kind string) map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		"closed connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		},
		"incomplete": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, services[kind].answer)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		},
		"pause of 30 years": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "946080000")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	}
	bodies := []string{
		"", "null", "[]", "{}", "0", `"ok"`, "true", "<html><title>Log in</title></html>", "{", strings.Repeat("[", 100_000), "\x00\xff",
		`{"ok":true}`, `{"ok":true,"result":null}`, `{"ok":true,"result":[]}`, `{"ok":true,"result":{"message_id":1}}`, `{"ok":true,"result":{"message_id":"x","chat":7}}`,
		`{"ok":true,"result":{"message_id":1,"chat":null,"from":null}}`, `{"ok":"yes","result":{}}`, `{"ok":false}`, `{"ok":false,"error_code":"x","description":{}}`,
		`{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}`, `{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`,
		`{"ok":false,"error_code":400,"parameters":{"migrate_to_chat_id":1}}`, `{"ok":false,"error":"no_text"}`, `{"status":"error","errors":7}`, `{"status":0,"errors":{}}`, `{"errors":["x"],"status":"x"}`,
	}
	every, statuses := 1, []int{200, 202, 204, 400, 401, 404, 500, 503}
	if testing.Short() {
		every, statuses = 50, []int{200}
	}
	for i := 0; i < len(services[kind].answer); i += every { // cut after each character
		bodies = append(bodies, services[kind].answer[:i])
	}
	for _, status := range statuses {
		for _, body := range bodies {
			all[fmt.Sprint(status, " ", body[:min(80, len(body))])] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}
		}
	}
	return all
}

// No answer ends the process. notify test prints what is wrong.
func TestTrySurvivesEveryAnswer(t *testing.T) {
	for _, kind := range notify.Kinds() {
		if kind == "email" {
			continue // see TestHostileMailServersDelayNoOtherNotification
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var answer http.HandlerFunc
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
			t.Cleanup(server.Close)
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			o := options(t, kind, server.Certificate(), server.Listener.Addr().String())
			host := must.Get(url.Parse(services[kind].url))(t).Hostname()
			for name, a := range answers(kind) {
				answer = a
				trials, err := notify.Try(t.Context(), o.Config, true)
				if err != nil || len(trials) != 1 {
					t.Fatalf("%s: %v, %v", name, trials, err)
				}
				_, body, _ := strings.Cut(name, " ")
				if trials[0].Err == nil && strings.HasPrefix(name, "2") && !strings.HasPrefix(name, "204") && remedy.Refusal(host, []byte(body)) != nil {
					t.Errorf("%s: accepted, although the body refuses", name)
				}
				if trials[0].Err == nil && !strings.HasPrefix(name, "2") && name != "endless" && name != "incomplete" {
					t.Errorf("%s: accepted", name)
				}
			}
		})
	}
}

// mailAnswers are what a server that is not a mail server may do with a connection.
func mailAnswers() map[string]func(conn net.Conn) {
	say := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	answer := func(greeting, text string) func(net.Conn) { // text answers each command
		return func(conn net.Conn) {
			say(greeting)(conn)
			for in := bufio.NewScanner(conn); in.Scan(); {
				say(text)(conn)
			}
		}
	}
	hang := func(before func(net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			before(conn)
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	const greeting, extensions = "220 mail.example.org ESMTP\r\n", "250-mail.example.org\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n"
	return map[string]func(conn net.Conn){
		"closed":                     say(""),
		"silence":                    hang(say("")),
		"garbage":                    say("\x00\xff\r\n"),
		"HTTP":                       say("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"truncated greeting":         say("220 mail.exa"),
		"hang in the greeting":       hang(say("220 mail.exa")),
		"closed after the greeting":  say(greeting),
		"silence after the greeting": hang(say(greeting)),
		"greeting 554":               say("554 no\r\n"),
		"421 to each command":        answer(greeting, "421 closing\r\n"),
		"garbage to each command":    answer(greeting, "\x00\xff\r\n"),
		"empty lines":                answer(greeting, "\r\n"),
		"no extensions":              answer(greeting, "250 mail.example.org\r\n"),
		"no TLS after STARTTLS":      answer(greeting, extensions),
		"endless list of extensions": func(conn net.Conn) { endless(conn, greeting, "250-x\r\n") },
		"endless line":               func(conn net.Conn) { endless(conn, "220 ", strings.Repeat("x", 4<<10)) },
	}
}

// endless sends a text again and again.
func endless(conn net.Conn, begin, text string) {
	for _, err := io.WriteString(conn, begin); err == nil; _, err = io.WriteString(conn, text) {
	}
}

// No answer of a mail server, or none, ends the process or delays other integrations of its receiver, or the next notifications of a
// group. The failure is reported. notify test prints it.
func TestHostileMailServersDelayNoOtherNotification(t *testing.T) {
	t.Parallel()
	config := func(phone *testworld.Receiver, servers ...string) notify.Config {
		text := `
route: {receiver: phone, group_by: [node], group_wait: 1ms, group_interval: 1ms, repeat_interval: 1h}
receivers:
  - name: phone
    webhook_configs: [{url: "` + phone.URL + `"}]
    email_configs:
`
		for _, address := range servers {
			text += `    - {to: a@example.org, from: b@example.org, smarthost: "` + address + `", auth_username: u, auth_password: c4n4ry}` + "\n"
		}
		return notify.Config{Text: []byte(text), URL: "http://exporter.example"}
	}
	var servers, failing []string
	var tests sync.WaitGroup
	defer tests.Wait()
	for name, serve := range mailAnswers() {
		address := listening(t, serve)
		failing = append(failing, fmt.Sprintf("phone/email[%d]", len(servers)))
		servers = append(servers, address)
		tests.Go(func() {
			trials, err := notify.Try(t.Context(), config(testworld.Webhook(t), address), true)
			if err != nil || len(trials) != 2 {
				t.Errorf("%s: %v, %v", name, trials, err)
			}
			for _, trial := range trials {
				if failed := trial.Err != nil; failed != (trial.Integration == "email[0]") || failed && strings.Contains(trial.Err.Error(), "c4n4ry") {
					t.Errorf("%s: %s: %v", name, trial.Integration, trial.Err)
				}
			}
		})
	}
	phone := testworld.Webhook(t)
	n, _ := start(t, config(phone, servers...))
	down := firing("NodeDown", "alpha")
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha")
	down.EndsAt = time.Now()
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha", "resolved NodeDown alpha") // after the ten seconds that a notification may take
	slices.Sort(failing)
	if got := slices.Sorted(slices.Values(n.Failing())); !slices.Equal(got, failing) {
		t.Errorf("failing: %v, want %v", got, failing)
	}
}

// The code for Telegram has a nil pointer for an answer without a chat. It costs only its own receiver, at each try, and is reported.
func TestPanicOfAReceiverCostsOnlyItself(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1}}`)
	}))
	t.Cleanup(gateway.Close)
	phone := testworld.Webhook(t)
	config := []byte(`
route: {receiver: both, group_by: [node], group_wait: 1ms, group_interval: 1ms, repeat_interval: 1h}
receivers:
  - name: both
    telegram_configs: [{bot_token: "1:x", chat_id: 1, api_url: "` + gateway.URL + `"}]
    webhook_configs: [{url: "` + phone.URL + `"}]
`)
	var log testworld.Log
	ctx, cancel := context.WithCancel(context.Background())
	n, err := notify.Start(ctx, notify.Options{
		Config: notify.Config{Text: config, URL: "http://exporter.example"}, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	defer n.Wait()
	defer cancel()
	for i, node := range []string{"alpha", "bravo", "charlie"} {
		put(t, n, firing("NodeDown", node))
		eventually(t, func() bool {
			return len(phone.Alerts()) == i+1 && slices.Equal(n.Failing(), []string{"both/telegram[0]"})
		})
	}
	if !strings.Contains(log.String(), "the code for telegram failed") {
		t.Errorf("log: %s", log.String())
	}
	trials, err := notify.Try(t.Context(), notify.Config{Text: config, URL: "http://exporter.example"}, true)
	if err != nil || len(trials) != 2 || trials[0].Err == nil == (trials[1].Err == nil) {
		t.Errorf("%v, %v", trials, err)
	}
}
