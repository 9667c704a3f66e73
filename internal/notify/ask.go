package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/notify/discord"
	"github.com/prometheus/alertmanager/notify/jira"
	"github.com/prometheus/alertmanager/notify/opsgenie"
	"github.com/prometheus/alertmanager/notify/pagerduty"
	"github.com/prometheus/alertmanager/notify/telegram"
	httpconfig "github.com/prometheus/common/config"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
)

const (
	askTimeout = 10 * time.Second
	maxRead    = 16 << 10 // bytes of an answer that are read
)

// connected is what is tried where a service has no question that notifies nobody.
const connected = "Does its name resolve, and does it accept a connection, with TLS if the address begins with https?"

// Asked is what Try asks about each kind of integration, for the documentation.
var Asked = []struct{ Kind, Asks string }{
	{"discord", "Is the webhook known? " + connected},
	{"email", "Does the mail server accept EHLO, STARTTLS and the login? It gets QUIT, and no message."},
	{"incidentio", connected},
	{"jira", "Can issues be searched with the credentials? " + connected},
	{"mattermost", connected},
	{"msteams", connected},
	{"msteamsv2", connected},
	{"opsgenie", "Is the key accepted, when an alert is closed that does not exist? " + connected},
	{"pagerduty", "Is the key accepted, when an incident is resolved that does not exist? " + connected},
	{"pushover", "Are the token and the user valid? " + connected},
	{"rocketchat", "Are the user and the token valid? " + connected},
	{"slack", "Is the webhook known, or is the token valid? A webhook gets a message without a text, which Slack refuses. " + connected},
	{"sns", "Are the credentials accepted? The question is a message without a text, which SNS refuses."},
	{"telegram", "Does the bot know the chat? " + connected},
	{"victorops", connected},
	{"webex", "Does the bot know the room? " + connected},
	{"webhook", connected},
	{"wechat", "Are the ID and the secret valid? " + connected},
}

// question is a request to a service that notifies nobody, and whose answer says whether notifications would be accepted.
type question struct {
	method, url, body string
	headers           map[string]string
	// means returns why notifications would be refused.
	means func(status int, body []byte) error
}

// ask asks the service of an integration what notifies nobody. Where there is no such question, the connection has been tried.
func (r rehearsed) ask(ctx context.Context, route *dispatch.Route) error {
	switch c := r.config.Interface().(type) {
	case *pagerduty.PagerdutyConfig, *opsgenie.OpsGenieConfig, *jira.JiraConfig: // that an alert is over of which they do not know
		return r.attempt(ctx, route, r.integration())
	case *amconfig.SNSConfig: // SNS refuses an empty message after it has checked the key and the signature
		empty := *c
		empty.Message, empty.Subject = "", ""
		one := r
		one.receiver.SNSConfigs = slices.Clone(one.receiver.SNSConfigs)
		one.receiver.SNSConfigs[r.index] = &empty
		one.receiver = r.buildReceiver(one.receiver.Receiver, r.templates, slog.New(slog.DiscardHandler))
		if err := r.attempt(ctx, route, one.integration()); err != nil && !strings.Contains(err.Error(), "Empty message") {
			return err
		}
		return nil
	case *amconfig.EmailConfig:
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		return (&mailer{c, r.templates, slog.New(slog.DiscardHandler), r.dial}).ask(ctx)
	}
	q, err := r.question()
	if q == nil || err != nil {
		return err
	}
	access, _ := r.config.Elem().FieldByName("HTTPConfig").Interface().(*httpconfig.HTTPClientConfig)
	if access == nil {
		access = &httpconfig.DefaultHTTPClientConfig
	}
	client, err := httpconfig.NewClientFromConfig(*access, "check", httpconfig.WithDialContextFunc(r.dial))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, q.method, q.url, strings.NewReader(q.body))
	if err != nil {
		return errors.New("invalid URL")
	}
	for name, value := range q.headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		var at *url.Error // its URL may have a secret
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("ask the service: %w", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRead))
	if scrape.SpeaksTLS(resp.StatusCode, body) {
		return errors.New("the service speaks TLS: write https:// in its address")
	}
	if err := q.means(resp.StatusCode, body); err != nil {
		return fmt.Errorf("the service answers %w", err)
	}
	return nil
}

// attempt sends by an integration that a test alert is over, of which no firing notification was sent.
func (r rehearsed) attempt(ctx context.Context, route *dispatch.Route, i notify.Integration) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	over := testAlert(time.Now())
	over.EndsAt = over.StartsAt
	if _, err := guarded(notify.WithGroupKey(testContext(ctx, route, r.receiver.Name, over.StartsAt), route.Key()+":check"), i, over); err != nil {
		do := "correct the address, the key or the token"
		if r.kind == "opsgenie" && strings.Contains(err.Error(), "authenticate") {
			do = "correct the key. An account in the EU needs the api_url of api.eu.opsgenie.com"
		}
		return fmt.Errorf("ask the service: %w: %s", err, do)
	}
	return nil
}

// question returns the question for the kind of integration; nil if there is none.
func (r rehearsed) question() (*question, error) {
	switch c := r.config.Interface().(type) {
	case *telegram.TelegramConfig:
		token, err := valueOr(string(c.BotToken), c.BotTokenFile)
		if err != nil {
			return nil, err
		}
		chat, err := valueOr(strconv.FormatInt(c.ChatID, 10), c.ChatIDFile)
		if err != nil {
			return nil, err
		}
		return &question{method: http.MethodGet, means: telegramRefusal, url: strings.TrimSuffix(c.APIUrl.String(), "/") + "/bot" + token + "/getChat?chat_id=" +
			url.QueryEscape(chat)}, nil
	case *discord.DiscordConfig:
		var hook string
		if c.WebhookURL != nil {
			hook = c.WebhookURL.String()
		}
		hook, err := valueOr(hook, c.WebhookURLFile)
		if at, parseErr := url.Parse(hook); err != nil || parseErr != nil || !strings.HasPrefix(at.Hostname(), "discord") {
			return nil, err
		}
		return &question{method: http.MethodGet, url: hook, means: statusRefusal}, nil // the description of the webhook
	case *amconfig.SlackConfig:
		var hook string
		if c.APIURL != nil {
			hook = c.APIURL.String()
		}
		hook, err := valueOr(hook, c.APIURLFile)
		at, parseErr := url.Parse(hook)
		switch {
		case err != nil || parseErr != nil:
			return nil, err
		case strings.HasSuffix(at.Path, "/api/chat.postMessage"):
			return &question{method: http.MethodPost, url: at.ResolveReference(&url.URL{Path: "auth.test"}).String(), means: statusRefusal}, nil
		case strings.HasPrefix(at.Hostname(), "discord"): // a webhook of Discord that takes Slack's messages
			return &question{method: http.MethodGet, url: strings.TrimSuffix(hook, "/slack"), means: statusRefusal}, nil
		case at.Hostname() != "hooks.slack.com":
			return nil, nil
		}
		return &question{method: http.MethodPost, url: hook, body: "{}", headers: map[string]string{"Content-Type": "application/json"}, means: slackRefusal}, nil
	case *amconfig.WebexConfig: // a room's ID may be a template
		messages := c.APIURL.String()
		if path.Base(c.APIURL.Path) != "messages" || strings.Contains(c.RoomID, "{{") {
			return nil, nil
		}
		return &question{method: http.MethodGet, url: strings.TrimSuffix(messages, "messages") + "rooms/" + url.PathEscape(c.RoomID), means: statusRefusal}, nil
	case *amconfig.RocketchatConfig:
		token, err := secretOr(c.Token, c.TokenFile)
		if err != nil {
			return nil, err
		}
		id, err := secretOr(c.TokenID, c.TokenIDFile)
		if err != nil {
			return nil, err
		}
		return &question{method: http.MethodGet, url: c.APIURL.JoinPath("api/v1/me").String(), means: statusRefusal,
			headers: map[string]string{"X-Auth-Token": token, "X-User-Id": id}}, nil
	case *amconfig.WechatConfig: // a notification asks this first
		apiSecret, err := valueOr(string(c.APISecret), c.APISecretFile)
		if err != nil {
			return nil, err
		}
		return &question{method: http.MethodGet, url: c.APIURL.String() + "gettoken?" + url.Values{"corpid": {c.CorpID}, "corpsecret": {apiSecret}}.Encode(),
			means: statusRefusal}, nil
	case *amconfig.PushoverConfig:
		token, err := valueOr(string(c.Token), c.TokenFile)
		if err != nil {
			return nil, err
		}
		user, err := valueOr(string(c.UserKey), c.UserKeyFile)
		if err != nil {
			return nil, err
		}
		return &question{
			method: http.MethodPost, url: "https://api.pushover.net/1/users/validate.json", means: statusRefusal,
			body: url.Values{"token": {token}, "user": {user}}.Encode(), headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		}, nil
	}
	return nil, nil
}

// valueOr returns the value, or the content of the file.
func valueOr(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the configuration names it
	return strings.TrimSpace(string(text)), err
}

// secretOr is valueOr of a secret that may be absent.
func secretOr(value *httpconfig.Secret, file string) (string, error) {
	if value == nil {
		return valueOr("", file)
	}
	return valueOr(string(*value), file)
}

// statusRefusal returns the error of a client's mistake, such as an unknown webhook.
func statusRefusal(status int, body []byte) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest, http.StatusGone:
		return fmt.Errorf("%d %s: correct the URL, the key or the token", status, remedy.Brief(body))
	}
	return remedy.Refusal("", body) // each question has an answer of its own
}

// slackRefusal returns why Slack would refuse a message. An empty message, which Slack does not post, is refused for its text if the webhook exists.
func slackRefusal(status int, body []byte) error {
	switch text := string(bytes.TrimSpace(body)); text {
	case "no_text", "invalid_payload", "missing_text_or_fallback_or_attachments", "ok":
		return nil
	default:
		return statusRefusal(status, body)
	}
}

// telegramRefusal returns why Telegram would refuse a message to the chat.
func telegramRefusal(status int, body []byte) error {
	var answer struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
		Parameters  struct {
			MigrateTo int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return statusRefusal(status, body)
	}
	switch text := answer.Description; {
	case answer.OK || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return nil
	case answer.Parameters.MigrateTo != 0:
		return migrated(answer.Parameters.MigrateTo)
	case strings.Contains(text, "chat not found"):
		return fmt.Errorf("%q: correct chat_id, and write to the bot once or add it to the group. The ID of a group begins with -", text)
	case status == http.StatusUnauthorized || status == http.StatusNotFound:
		return fmt.Errorf("%q: correct bot_token: @BotFather shows it", text)
	default:
		return fmt.Errorf("%q", text)
	}
}

// migrated is the error of a group whose ID has changed.
func migrated(to int64) error {
	return fmt.Errorf("that the group became a supergroup with another ID: write chat_id: %d", to)
}
