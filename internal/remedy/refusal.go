package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxShown is the number of bytes of an answer that are shown.
const maxShown = 200

// refusalTexts are what services answer with status 200 although they did not accept a request: the beginning of the text, in lower case.
var refusalTexts = []string{
	"ok (not found)", "ok (rate limited)", // healthchecks.io
	"webhook message delivery failed", // the connectors of Microsoft Teams
	"not found", "no such", "unknown", "invalid", "unauthorized", "forbidden", "error", "failed", "access denied", "bad request", "no_service",
}

// refusalFields are the fields of a JSON answer that say whether a request was accepted, in lower case without - and _. Each returns whether its
// value is a refusal.
var refusalFields = []struct {
	names   []string
	refuses func(value any) bool
}{
	{[]string{"ok", "success", "succeeded", "accepted", "delivered", "sent"}, func(v any) bool { // Telegram, Uptime Kuma, Rocket.Chat
		return v == false || v == "false" || v == 0.0
	}},
	{[]string{"errcode", "errno", "errorcode", "statuscode", "code"}, func(v any) bool { // DingTalk and WeCom; Feishu and Lark; others repeat the status
		n, isNumber := v.(float64)
		return isNumber && n != 0 && (n < 200 || n >= 300)
	}},
	{[]string{"status", "result", "state", "outcome"}, func(v any) bool { // Splunk On-Call has the result
		n, isNumber := v.(float64)
		text, _ := v.(string)
		switch strings.ToLower(text) {
		case "error", "fail", "failed", "failure", "invalid", "not found", "rejected", "denied", "unauthorized", "forbidden", "undelivered", "nok", "ko":
			return true
		}
		return v == false || isNumber && n >= 300
	}},
	{[]string{"error", "errors", "errormessage", "errormessages"}, func(v any) bool { // AWS Lambda has the message
		switch v := v.(type) {
		case string:
			return v != ""
		case bool:
			return v
		case float64:
			return v != 0
		case []any:
			return len(v) > 0
		case map[string]any:
			return len(v) > 0
		}
		return false
	}},
}

// envelopes are fields whose value may be the answer of another service.
var envelopes = []string{"response", "result", "meta"}

// refuses reports whether a JSON answer says that the request was not accepted.
func refuses(answer any, depth int) bool {
	fields, isObject := answer.(map[string]any)
	if !isObject {
		list, _ := answer.([]any)
		return depth > 0 && len(list) > 0 && refuses(list[0], depth-1)
	}
	for name, value := range fields {
		name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
		for _, f := range refusalFields {
			if slices.Contains(f.names, name) && f.refuses(value) {
				return true
			}
		}
		if depth > 0 && slices.Contains(envelopes, name) && refuses(value, depth-1) {
			return true
		}
	}
	return false
}

// success is what a service documents as the answer to a request that it accepts.
type success struct {
	Service string
	// Hosts are domains. A subdomain counts too.
	Hosts []string
	// Says is the answer as documents show it.
	Says string
	is   func(text string, fields map[string]any) bool
}

// Successes are the services whose answers are documented. Of a gateway, or of a service of another address, only refusals are known.
var Successes = []success{
	{"healthchecks.io", []string{"hc-ping.com"}, "OK", whole("OK")},
	{"Slack", []string{"slack.com"}, "ok", func(text string, fields map[string]any) bool { // a webhook; its API
		return text == "ok" || fields["ok"] == true
	}},
	{"Telegram", []string{"api.telegram.org"}, `{"ok":true,"result":{}}`, field("ok", true)},
	{"Discord", []string{"discord.com", "discordapp.com"}, "", func(text string, fields map[string]any) bool { // with /slack; with wait=true
		return text == "" || text == "ok" || fields["id"] != nil
	}},
	{"PagerDuty", []string{"pagerduty.com"}, `{"status":"success"}`, field("status", "success")},
	{"Opsgenie", []string{"opsgenie.com"}, `{"result":"Request will be processed","requestId":"1"}`, has("requestId")},
	{"Pushover", []string{"pushover.net"}, `{"status":1}`, field("status", 1.0)},
	{"Splunk On-Call", []string{"victorops.com"}, `{"result":"success"}`, field("result", "success")},
	{"Webex", []string{"webexapis.com"}, `{"id":"1"}`, has("id")},
	{"WeCom", []string{"qyapi.weixin.qq.com"}, `{"errcode":0}`, field("errcode", 0.0)},
	{"incident.io", []string{"incident.io"}, `{"status":"success"}`, field("status", "success")},
	{"Microsoft Teams, a connector", []string{"webhook.office.com"}, "1", whole("1")},
	{"ntfy.sh", []string{"ntfy.sh"}, `{"id":"1","event":"message"}`, has("id")},
}

// whole is an answer that is this text.
func whole(want string) func(string, map[string]any) bool {
	return func(text string, _ map[string]any) bool { return text == want }
}

// field is an answer with this value of a field.
func field(name string, want any) func(string, map[string]any) bool {
	return func(_ string, fields map[string]any) bool { return fields[name] == want }
}

// has is an answer with a field.
func has(name string) func(string, map[string]any) bool {
	return func(_ string, fields map[string]any) bool { return fields[name] != nil }
}

// webPage matches the beginning of a web page, such as a form to log in.
var webPage = regexp.MustCompile(`(?i)^\s*(<!doctype html|<html|<head|<body)`)

// Refusal returns an error if the body of an answer with a status of success says that the request was not accepted, or if the host is that of a service of
// Successes and the body is not the answer that the service documents. A status alone is no success: many services answer 200 to a wrong or deleted address.
func Refusal(host string, body []byte) error {
	if err := refusal(body); err != nil {
		return err
	}
	text := strings.TrimSpace(string(body))
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // a text has no fields
	for _, s := range Successes {
		if slices.ContainsFunc(s.Hosts, func(of string) bool { return host == of || strings.HasSuffix(host, "."+of) }) {
			if s.is(text, fields) {
				return nil
			}
			return fmt.Errorf("%q, which is not what %s answers", Brief(body), s.Service)
		}
	}
	return nil
}

func refusal(body []byte) error {
	text := strings.TrimSpace(string(body))
	if webPage.MatchString(text) {
		return errors.New("a web page, such as a form to log in")
	}
	var answer any
	if json.Unmarshal(body, &answer) == nil {
		if said, isText := answer.(string); isText {
			text = said
		} else if refuses(answer, 1) {
			return fmt.Errorf("%q", Brief(body))
		}
	}
	for _, begin := range refusalTexts {
		if strings.HasPrefix(strings.ToLower(text), begin) {
			return fmt.Errorf("%q", Brief(body))
		}
	}
	return nil
}

// Brief returns the beginning of an answer in one line.
func Brief(body []byte) string {
	text := string(bytes.Join(bytes.Fields(body), []byte(" ")))
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
