package notify_test

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
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
		"a routing key":        {"pagerduty", 202, `{"status":"success","message":"Event processed","dedup_key":"x"}`, ""},
		"an unknown key of it": {"pagerduty", 400, `{"status":"invalid event","errors":["'routing_key' is invalid"]}`, "'routing_key' is invalid"},
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
			results, err := notify.Try(t.Context(), o.Config, false)
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
	trials, err := notify.Try(t.Context(), options(t, "telegram", server.Certificate(), server.Listener.Addr().String()).Config, true)
	if err != nil || len(trials) != 1 || trials[0].Err == nil || !strings.Contains(trials[0].Err.Error(), "chat_id: -100777") {
		t.Errorf("%v, %v", trials, err)
	}
}

// A service without an example of its own is asked, too: SNS refuses an empty message, and Opsgenie and Jira know no such alert.
func TestProbeAsksServicesWithoutAnExample(t *testing.T) {
	for name, test := range map[string]struct {
		receiver string
		status   int
		answer   string
		want     string // empty: well
	}{
		"opsgenie":            {"opsgenie_configs: [{api_key: x, api_url: URL, HTTP}]", 202, `{"result":"Request will be processed"}`, ""},
		"opsgenie, bad key":   {"opsgenie_configs: [{api_key: x, api_url: URL, HTTP}]", 422, `{"message":"Key format is not valid!"}`, "Key format is not valid"},
		"jira":                {"jira_configs: [{api_url: URL, project: x, issue_type: x, HTTP}]", 200, `{"issues":[]}`, ""},
		"jira, no access":     {"jira_configs: [{api_url: URL, project: x, issue_type: x, HTTP}]", 401, `{"errorMessages":["Unauthorized"]}`, "Unauthorized"},
		"opsgenie, EU key":    {"opsgenie_configs: [{api_key: x, api_url: URL, HTTP}]", 403, `{"message":"Could not authenticate"}`, "needs the api_url of api.eu.opsgenie.com"},
		"webex":               {"webex_configs: [{room_id: x, api_url: URL/v1/messages, BEARER}]", 200, `{"id":"x","title":"Ops"}`, ""},
		"webex, no such room": {"webex_configs: [{room_id: x, api_url: URL/v1/messages, BEARER}]", 404, `{"message":"The requested resource could not be found."}`, "could not be found"},
		"rocketchat":          {"rocketchat_configs: [{token: t0k3n, token_id: x, api_url: URL, channel: x, HTTP}]", 200, `{"_id":"x","success":true}`, ""},
		"rocketchat, bad token": {"rocketchat_configs: [{token: t0k3n, token_id: x, api_url: URL, channel: x, HTTP}]", 401,
			`{"status":"error","message":"You must be logged in to do this."}`, "You must be logged in"},
		"wechat":                 {"wechat_configs: [{api_secret: 's3/cr=t', corp_id: x, api_url: URL/, HTTP}]", 200, `{"errcode":0,"errmsg":"ok","access_token":"x"}`, ""},
		"wechat, bad ID":         {"wechat_configs: [{api_secret: 's3/cr=t', corp_id: x, api_url: URL/, HTTP}]", 200, `{"errcode":40013,"errmsg":"invalid corpid"}`, "invalid corpid"},
		"slack, a token":         {"slack_configs: [{channel: x, api_url: URL/api/chat.postMessage, BEARER}]", 200, `{"ok":true,"user":"bot"}`, ""},
		"slack, a revoked token": {"slack_configs: [{channel: x, api_url: URL/api/chat.postMessage, BEARER}]", 200, `{"ok":false,"error":"token_revoked"}`, "token_revoked"},
		"slack, another service": {"slack_configs: [{channel: x, api_url: URL/hooks/x, BEARER}]", 404, "not asked", ""},
		"sns": {"sns_configs: [{api_url: URL, topic_arn: 'arn:aws:sns:x:1:y', sigv4: {region: x, access_key: a, secret_key: b}, HTTP}]", 400,
			"<ErrorResponse><Error><Code>InvalidParameter</Code><Message>Invalid parameter: Empty message</Message></Error></ErrorResponse>", ""},
		"sns, bad key": {"sns_configs: [{api_url: URL, topic_arn: 'arn:aws:sns:x:1:y', sigv4: {region: x, access_key: a, secret_key: b}, HTTP}]", 403,
			"<ErrorResponse><Error><Code>InvalidClientTokenId</Code><Message>The security token is invalid</Message></Error></ErrorResponse>", "token is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "AvaxNodeDown") || test.answer == "not asked" || r.URL.Path == "/v1/messages" {
					t.Errorf("sent %s %s", r.URL, body)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer)
			}))
			t.Cleanup(server.Close)
			receiver := strings.NewReplacer("URL", server.URL, "BEARER", "http_config: {authorization: {credentials: x}, tls_config: {insecure_skip_verify: true}}", "HTTP", "http_config: {basic_auth: {username: a, password: b}, tls_config: {insecure_skip_verify: true}}")
			results, err := notify.Try(t.Context(), notify.Config{Text: []byte("route: {receiver: it}\nreceivers: [{name: it, " + receiver.Replace(test.receiver) + "}]")}, false)
			if err != nil || len(results) != 1 {
				t.Fatalf("%v, %v", results, err)
			}
			if told := fmt.Sprint(results[0].Err); !strings.Contains(told, cmp.Or(test.want, "<nil>")) {
				t.Errorf("%s, want %q", told, test.want)
			}
		})
	}
}

// A certificate that nobody trusts is found without a request.
func TestProbeShakesHands(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent %s", r.URL) }))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	for config, want := range map[string]string{"": "TLS: ", ", http_config: {tls_config: {insecure_skip_verify: true}}": "<nil>"} {
		results, err := notify.Try(t.Context(), notify.Config{Text: []byte("route: {receiver: it}\nreceivers: [{name: it, webhook_configs: [{url: '" + server.URL + "'" +
			config + "}]}]")}, false)
		if err != nil || len(results) != 1 || !strings.Contains(fmt.Sprint(results[0].Err), want) {
			t.Errorf("%s: %v, %v", config, results, err)
		}
	}
}
