package notify_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
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
		every, statuses = 9, []int{200, 400}
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
			continue // the server speaks HTTP
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var answer http.HandlerFunc
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
			t.Cleanup(server.Close)
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			o := options(t, kind, server.Certificate(), server.Listener.Addr().String())
			for name, a := range answers(kind) {
				answer = a
				trials, err := notify.Try(t.Context(), o)
				if err != nil || len(trials) != 1 {
					t.Fatalf("%s: %v, %v", name, trials, err)
				}
				if trials[0].Err == nil && !strings.HasPrefix(name, "2") && name != "endless" && name != "incomplete" {
					t.Errorf("%s: accepted", name)
				}
			}
		})
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
	trials, err := notify.Try(t.Context(), notify.Options{Config: notify.Config{Text: config, URL: "http://exporter.example"}})
	if err != nil || len(trials) != 2 || trials[0].Err == nil == (trials[1].Err == nil) {
		t.Errorf("%v, %v", trials, err)
	}
}
