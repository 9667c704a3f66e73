package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
		n, isNumber := number(v)
		text, _ := v.(string)
		return isNumber && n != 0 && (n < 200 || n >= 300) || !isNumber && refusesText(text)
	}},
	{[]string{"status", "result", "state", "outcome", "stat"}, func(v any) bool { // Splunk On-Call has the result, UptimeRobot stat
		n, isNumber := number(v)
		text, _ := v.(string)
		switch text = strings.ToLower(text); text {
		case "fail", "failure", "rejected", "denied", "undelivered", "nok", "ko", "paused", "disabled", "inactive", "expired", "deleted", "suspended":
			return true
		}
		return v == false || isNumber && n >= 300 || refusesText(text)
	}},
	{[]string{"type"}, func(v any) bool { return v == "error" }},
	{[]string{"error", "errors", "errormessage", "errormessages", "exception", "fault"}, func(v any) bool { // AWS Lambda has the message, gateways a fault
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

// reasons are fields with a text for people, which counts if no other field says that the request was accepted.
var reasons = []string{"message", "msg", "detail", "description", "title", "reason"}

// accepts reports whether a field says that the request was accepted.
func accepts(name string, value any) bool {
	switch name {
	case "ok", "success", "accepted", "delivered":
		return value == true
	case "status", "result":
		text, _ := value.(string)
		return slices.Contains([]string{"ok", "success", "accepted", "queued", "sent"}, strings.ToLower(text))
	}
	return false
}

// number returns a number, also one in quotation marks.
func number(v any) (float64, bool) {
	if text, isText := v.(string); isText {
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	n, is := v.(float64)
	return n, is
}

// refusalPhrases match a text that says anywhere that the request was not accepted.
var refusalPhrases = regexp.MustCompile(`(?i)\b(not found|not exist|doesn't exist|no longer (exists|active|available)|not authori[sz]ed|` +
	`rate limit|too many requests|quota exceeded|(is|was|are|has|been) (expired|disabled|paused|suspended|archived|blocked|deleted|removed|invalid|unknown))\b`)

// refusesText reports whether a text says that the request was not accepted.
func refusesText(text string) bool {
	text = strings.ToLower(strings.NewReplacer("_", " ").Replace(strings.TrimSpace(text)))
	return refusalPhrases.MatchString(text) ||
		slices.ContainsFunc(refusalTexts, func(begin string) bool { return strings.HasPrefix(text, strings.ReplaceAll(begin, "_", " ")) })
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
	accepted, reason := false, false
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
		text, _ := value.(string)
		accepted = accepted || accepts(name, value)
		reason = reason || slices.Contains(reasons, name) && refusesText(text)
	}
	return reason && !accepted
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
var webPage = regexp.MustCompile(`(?i)^\s*(<\?xml[^>]*>\s*)?(<!doctype html|<html|<head|<body)`)

// xmlError matches the beginning of an XML document that is an error.
var xmlError = regexp.MustCompile(`(?i)^(<\?xml[^>]*>\s*)?<(\w+:)?(error|errorresponse|fault|exception)\b`)

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
		switch said, isText := answer.(string); {
		case isText:
			text = said
		case refuses(answer, 1):
			return fmt.Errorf("%q", Brief(body))
		default:
			return nil
		}
	}
	if refusesText(text) || xmlError.MatchString(text) {
		return fmt.Errorf("%q", Brief(body))
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
