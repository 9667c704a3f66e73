package notify_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	amconfig "github.com/prometheus/alertmanager/config"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// everyKind has an integration of each kind of Alertmanager.
const everyKind = `
global: {smtp_smarthost: "mail.example:587", smtp_from: a@mail.example}
route: {receiver: all}
receivers:
  - name: all
    discord_configs: [{webhook_url: "URL"}]
    email_configs: [{to: b@mail.example}]
    incidentio_configs: [{url: "URL", alert_source_token: x}]
    jira_configs: [{api_url: "URL", project: x, issue_type: x, http_config: {basic_auth: {username: a, password: b}}}]
    mattermost_configs: [{webhook_url: "URL"}]
    msteams_configs: [{webhook_url: "URL"}]
    msteamsv2_configs: [{webhook_url: "URL"}]
    opsgenie_configs: [{api_key: x, api_url: "URL"}]
    pagerduty_configs: [{routing_key: x, url: "URL"}]
    pushover_configs: [{user_key: x, token: x}]
    rocketchat_configs: [{token: x, token_id: x, api_url: "URL", channel: x}]
    slack_configs: [{api_url: "URL", channel: x}]
    sns_configs: [{topic_arn: "arn:aws:sns:eu-central-1:1:x", sigv4: {region: eu-central-1, access_key: x, secret_key: x}}]
    telegram_configs: [{bot_token: "1:x", chat_id: 1, api_url: "URL"}]
    victorops_configs: [{api_key: x, api_url: "URL/", routing_key: x}]
    webex_configs: [{room_id: x, api_url: "URL", http_config: {authorization: {credentials: x}}}]
    webhook_configs: [{url: "URL"}]
    wechat_configs: [{api_secret: x, corp_id: x, api_url: "URL/"}]
`

// The answer of each service that Alertmanager's code judges by its status is read.
func TestAnswersOfEveryKindAreRead(t *testing.T) {
	kinds, err := notify.ReadsAnswers(strings.ReplaceAll(everyKind, "URL", "https://service.example"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, a := range notify.Asked {
		asked[a.Kind] = a.Asks != ""
	}
	of := reflect.TypeFor[amconfig.Receiver]()
	for i := range of.NumField() {
		kind, isConfigs := strings.CutSuffix(of.Field(i).Tag.Get("yaml"), "_configs,omitempty")
		if !isConfigs {
			continue
		}
		read, known := kinds[kind]
		without := kind == "email" || kind == "sns" || kind == "telegram" // their libraries decode each answer
		if !known || read == without || !asked[kind] {
			t.Errorf("%s: known %v, answers read %v, check asks %v", kind, known, read, asked[kind])
		}
	}
}

// A gateway that answers 200 and says that it delivered nothing has not delivered.
func TestNotificationIsDeliveredOnlyIfTheAnswerSaysSo(t *testing.T) {
	for body, refused := range map[string]bool{
		`{"ok":false,"error":"unknown topic"}`: true, `{"status":"error"}`: true, `{"errors":[{"message":"no such user"}]}`: true, "<html>Log in": true,
		`{"errcode":310000,"errmsg":"sign not match"}`: true, "": false, "ok": false, `{"status":"success"}`: false, `{"errors":[]}`: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		trials, err := notify.Try(t.Context(), notify.Config{Text: []byte("route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url: '" +
			server.URL + "/c4n4ry'}]}]")}, true)
		server.Close()
		if err != nil || len(trials) != 1 || (trials[0].Err != nil) != refused || refused && strings.Contains(trials[0].Err.Error(), "c4n4ry") {
			t.Errorf("%s: %v, %v", body, trials, err)
		}
	}
}

// roundTrip answers requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// At a service whose answer is documented, everything else is no heartbeat.
func TestHeartbeatIsSentOnlyIfTheServiceSaysSo(t *testing.T) {
	for answer, delivered := range map[string]bool{"OK": true, "": false, "queued": false, "OK (not found)": false} {
		h := notify.Heartbeat{URL: "https://hc-ping.com/c4n4ry", Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(answer))}, nil
		})}}
		if err := h.Send(t.Context()); (err == nil) != delivered {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
