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
		`{"status":0,"message":"ok"}`, `{"result":"success","entity_id":"x"}`, `{"result":"Request will be processed","took":0.3}`, `[{"status":"ok"}]`, `"ok"`,
		`{"code":0,"data":{"error":"an alert with this label"}}`, `{"error_code":null,"error_message":null,"status":"queued"}`, `{"errorMessages":[],"issues":[]}`,
		`{"response":{"status":200}}`, `{"error":0}`,
	} {
		if err := remedy.Refusal([]byte(body)); err != nil {
			t.Errorf("%q: refused: %v", body, err)
		}
	}
	for _, body := range []string{
		"OK (not found)", "OK (rate limited)", `{"ok":false,"msg":"Monitor not found or not active."}`, `{"status":0,"errors":["user key is invalid"]}`,
		`{"errcode":310000,"errmsg":"sign not match"}`, `{"code":19024,"msg":"Key Words Not Found"}`, `{"StatusCode":400}`, `{"status":"error"}`, `{"success":false}`,
		`{"error":"no such check"}`, "Not Found", "invalid token", "Webhook message delivery failed with error: HTTP error 429",
		`{"result":"failure","message":"invalid key"}`, `{"errors":[{"message":"x"}]}`, `{"errorMessage":"Task timed out","errorType":"Sandbox.Timedout"}`, `{"success":0}`,
		`{"response":{"status":"error"}}`, `[{"status":"error"}]`, `{"delivered":false}`, `"invalid token"`, `{"error_code":7}`, `{"Status":"Failed"}`, `{"meta":{"code":401}}`,
		"<!DOCTYPE html><title>Log in</title>", "\n <HTML>",
	} {
		if err := remedy.Refusal([]byte(body)); err == nil {
			t.Errorf("%q: accepted", body)
		}
	}
}
