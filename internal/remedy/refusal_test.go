package remedy_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

//go:generate go test -run TestOnlyTheDocumentedAnswerOfAServiceIsSuccess -update .

// At the address of a service, only the answer that it documents is success. A gateway, or a service of another address, may answer something else.
func TestOnlyTheDocumentedAnswerOfAServiceIsSuccess(t *testing.T) {
	table := "| service | addresses | answer that is success |\n|---|---|---|\n"
	for _, s := range remedy.Successes {
		says := "`" + s.Says + "`"
		if s.Says == "" {
			says = "an empty one"
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", s.Service, strings.Join(s.Hosts, ", "), says)
		for _, host := range append(s.Hosts, "eu."+s.Hosts[0]) {
			if err := remedy.Refusal(host, []byte(s.Says)); err != nil {
				t.Errorf("%s: its own answer: %v", host, err)
			}
			for _, other := range []string{"queued", "{}", "[]", "null", "2", `{"state":"open"}`} {
				if err := remedy.Refusal(host, []byte(other)); err == nil {
					t.Errorf("%s: %s is success", host, other)
				}
			}
		}
		for _, other := range remedy.Successes {
			if err := remedy.Refusal("gateway.example", []byte(other.Says)); err != nil {
				t.Errorf("a gateway answers %s: %v", cmp.Or(other.Says, "nothing"), err)
			}
		}
		if err := remedy.Refusal("not"+s.Hosts[0], []byte("queued")); err != nil {
			t.Errorf("not%s is not the service: %v", s.Hosts[0], err)
		}
	}
	const page = "../../docs/notifications.md"
	testworld.Golden(t, page, must.Get(section.With(page, "successes", table))(t), "make docs")
}

// With status 200, the body decides.
func TestBodyDecidesWhetherARequestWasAccepted(t *testing.T) {
	for _, body := range []string{
		"", "OK", "ok", "Ok.", "Got it, thanks.", "1", "null", "{}", `{"ok":true,"msg":""}`, `{"status":"success"}`, `{"status":1,"request":"x"}`, `{"errcode":0,"errmsg":"ok"}`,
		`{"code":0,"msg":"success"}`, `{"code":200}`, `{"success":true,"error":null,"errors":[]}`, `{"result":"PONG - Heartbeat received","took":0.006}`, `{"id":1}`,
		`{"status":0,"message":"ok"}`, `{"result":"success","entity_id":"x"}`, `{"result":"Request will be processed","took":0.3}`, `[{"status":"ok"}]`, `"ok"`,
		`{"code":0,"data":{"error":"an alert with this label"}}`, `{"error_code":null,"error_message":null,"status":"queued"}`, `{"errorMessages":[],"issues":[]}`,
		`{"response":{"status":200}}`, `{"error":0}`, `{"ok":true,"description":"1 of 3 chats not found"}`, `{"code":"0"}`, `{"code":"200"}`, `{"code":"OK"}`,
		`{"message":"accepted"}`, `{"type":"message","detail":""}`, `{"status":"200"}`, "Message queued. No errors.", `<?xml version="1.0"?><response code="0"/>`,
		`{"status":"queued","message":"the last one was not found"}`,
	} {
		if err := remedy.Refusal("", []byte(body)); err != nil {
			t.Errorf("%q: refused: %v", body, err)
		}
	}
	for _, body := range []string{
		"OK (not found)", "OK (rate limited)", `{"ok":false,"msg":"Monitor not found or not active."}`, `{"status":0,"errors":["user key is invalid"]}`,
		`{"errcode":310000,"errmsg":"sign not match"}`, `{"code":19024,"msg":"Key Words Not Found"}`, `{"StatusCode":400}`, `{"status":"error"}`, `{"success":false}`,
		`{"error":"no such check"}`, "Not Found", "invalid token", "Webhook message delivery failed with error: HTTP error 429",
		`{"result":"failure","message":"invalid key"}`, `{"errors":[{"message":"x"}]}`, `{"errorMessage":"Task timed out","errorType":"Sandbox.Timedout"}`, `{"success":0}`,
		`{"response":{"status":"error"}}`, `[{"status":"error"}]`, `{"delivered":false}`, `"invalid token"`, `{"error_code":7}`, `{"Status":"Failed"}`, `{"meta":{"code":401}}`,
		"<!DOCTYPE html><title>Log in</title>", "\n <HTML>", `<?xml version="1.0"?><!DOCTYPE html><html>`, `{"stat":"fail"}`, `{"status":"paused"}`, `{"status":"not_found"}`,
		`{"code":"404"}`, `{"code":"NOT_FOUND"}`, `{"message":"Not Found"}`, `{"detail":"Invalid token."}`, `{"type":"error","title":"x"}`, `{"fault":{"code":900901}}`,
		`{"exception":"x"}`, "Heartbeat not found", "This check has been paused", "The token is expired.", "Monitor does not exist", "channel_not_found",
		`{"reason":"the integration was deleted"}`, `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`, "<soap:Fault>", "Rate limit exceeded",
	} {
		if err := remedy.Refusal("", []byte(body)); err == nil {
			t.Errorf("%q: accepted", body)
		}
	}
}
