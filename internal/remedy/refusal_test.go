package remedy_test

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
)

// With status 200, the body decides.
func TestBodyDecidesWhetherARequestWasAccepted(t *testing.T) {
	for _, body := range []string{
		"", "OK", "ok", "Ok.", "Got it, thanks.", "1", "null", "{}", `{"ok":true,"msg":""}`, `{"status":"success"}`, `{"status":1,"request":"x"}`, `{"errcode":0,"errmsg":"ok"}`,
		`{"code":0,"msg":"success"}`, `{"code":200}`, `{"success":true,"error":null,"errors":[]}`, `{"result":"PONG - Heartbeat received","took":0.006}`, `{"id":1}`,
	} {
		if err := remedy.Refusal([]byte(body)); err != nil {
			t.Errorf("%q: refused: %v", body, err)
		}
	}
	for _, body := range []string{
		"OK (not found)", "OK (rate limited)", `{"ok":false,"msg":"Monitor not found or not active."}`, `{"status":0,"errors":["user key is invalid"]}`,
		`{"errcode":310000,"errmsg":"sign not match"}`, `{"code":19024,"msg":"Key Words Not Found"}`, `{"StatusCode":400}`, `{"status":"error"}`, `{"success":false}`,
		`{"error":"no such check"}`, "Not Found", "invalid token", "Webhook message delivery failed with error: HTTP error 429",
		"<!DOCTYPE html><title>Log in</title>", "\n <HTML>",
	} {
		if err := remedy.Refusal([]byte(body)); err == nil {
			t.Errorf("%q: accepted", body)
		}
	}
}
