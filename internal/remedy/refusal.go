package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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

// refusalFields are the fields of a JSON answer that say whether a request was accepted. Each returns whether its value is a refusal.
var refusalFields = []struct {
	names   []string
	refuses func(value any) bool
}{
	{[]string{"ok", "success", "accepted"}, func(v any) bool { return v == false || v == "false" }}, // Telegram, Uptime Kuma, Rocket.Chat
	{[]string{"errcode", "errno", "statuscode", "code"}, func(v any) bool { // DingTalk and WeCom; Feishu and Lark; others repeat the status
		n, isNumber := v.(float64)
		return isNumber && n != 0 && (n < 200 || n >= 300)
	}},
	{[]string{"status"}, func(v any) bool {
		n, isNumber := v.(float64)
		text, _ := v.(string)
		switch strings.ToLower(text) {
		case "error", "fail", "failed", "failure", "invalid", "not found":
			return true
		}
		return v == false || isNumber && (n == 0 || n >= 300) // Pushover has 0
	}},
	{[]string{"error", "errors"}, func(v any) bool {
		switch v := v.(type) {
		case string:
			return v != ""
		case bool:
			return v
		case []any:
			return len(v) > 0
		case map[string]any:
			return len(v) > 0
		}
		return false
	}},
}

// webPage matches the beginning of a web page, such as a form to log in.
var webPage = regexp.MustCompile(`(?i)^\s*(<!doctype html|<html|<head|<body)`)

// Refusal returns an error if the body of an answer with a status of success says that the request was not accepted. A status alone is no success:
// many services answer 200 to a wrong or deleted address.
func Refusal(body []byte) error {
	text := strings.TrimSpace(string(body))
	if webPage.MatchString(text) {
		return errors.New("a web page, such as a form to log in")
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) == nil {
		for name, value := range fields {
			for _, f := range refusalFields {
				for _, n := range f.names {
					if strings.EqualFold(n, name) && f.refuses(value) {
						return fmt.Errorf("%q", Brief(body))
					}
				}
			}
		}
		return nil
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
