package notify_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// The watchdog would never end on a phone.
func TestWatchdogNeedsARouteOfItsOwn(t *testing.T) {
	watchdog := model.Alert{Labels: model.LabelSet{"alertname": "AvaxWatchdog", "severity": "none"}, StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour)}
	for name, test := range map[string]struct {
		routes string
		want   []string
	}{
		"one receiver": {"", []string{"firing NodeDown a"}},
		"a route":      {`routes: [{receiver: phone, matchers: ['severity="none"'], group_wait: 1ms}]`, []string{"firing AvaxWatchdog", "firing NodeDown a"}},
	} {
		t.Run(name, func(t *testing.T) {
			phone := testworld.Webhook(t)
			n, _ := start(t, notify.Config{File: testworld.File(t, `
route:
  receiver: phone
  group_by: [node]
  group_wait: 1ms
  group_interval: 1ms
  `+test.routes+`
receivers: [{name: phone, webhook_configs: [{url: "`+phone.URL+`"}]}]
`)})
			put(t, n, watchdog)
			if len(test.want) > 1 {
				want(t, phone, test.want[0])
			}
			put(t, n, firing("NodeDown", "a")) // the watchdog would come before
			want(t, phone, test.want...)
		})
	}
}

// Before an alert needs it, the service says whether it knows the chat, the webhook or the key. Nothing is sent.
func TestProbeAsksTheService(t *testing.T) {
	for name, test := range map[string]struct {
		kind   string
		status int
		answer string
		want   string // empty: well
	}{
		"a chat":               {"telegram", 200, `{"ok":true,"result":{"id":1}}`, ""},
		"an unknown chat":      {"telegram", 400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, "correct chat_id"},
		"a revoked token":      {"telegram", 401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, "correct bot_token"},
		"a group that moved":   {"telegram", 400, `{"ok":false,"description":"x","parameters":{"migrate_to_chat_id":-1001234}}`, "write chat_id: -1001234"},
		"too many requests":    {"telegram", 429, `{"ok":false,"description":"Too Many Requests"}`, ""},
		"a webhook":            {"discord", 200, `{"id":"1","token":"x"}`, ""},
		"a deleted webhook":    {"discord", 404, `{"message":"Unknown Webhook","code":10015}`, "Unknown Webhook"},
		"a webhook of Slack":   {"slack", 400, "no_text", ""},
		"a deleted one":        {"slack", 404, "no_service", "no_service"},
		"a key":                {"pushover", 200, `{"status":1}`, ""},
		"an unknown key":       {"pushover", 400, `{"user":"invalid","errors":["user key is invalid"],"status":0}`, "user key is invalid"},
		"a webhook of anybody": {"webhook", 500, "not asked", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "AvaxNodeDown") || test.kind == "webhook" {
					t.Errorf("sent %s %s", r.URL, body)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer)
			}))
			t.Cleanup(server.Close)
			o := options(t, test.kind, server.Certificate(), server.Listener.Addr().String())
			results, err := notify.Probe(t.Context(), o.Config)
			if err != nil || len(results) != 1 {
				t.Fatalf("%v, %v", results, err)
			}
			switch err := results[0].Err; {
			case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			case err != nil:
				for _, secret := range secrets {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("leaked: %v", err)
					}
				}
			}
		})
	}
}

// The ID that a chat moved to is in the error, not thrown away.
func TestMovedGroupIsInTheError(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100777}}`)
	}))
	t.Cleanup(server.Close)
	trials, err := notify.SendTest(t.Context(), options(t, "telegram", server.Certificate(), server.Listener.Addr().String()))
	if err != nil || len(trials) != 1 || trials[0].Err == nil || !strings.Contains(trials[0].Err.Error(), "chat_id: -100777") {
		t.Errorf("%v, %v", trials, err)
	}
}
