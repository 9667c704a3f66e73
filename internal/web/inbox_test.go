package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestInboxShowsNotificationsNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `avax_node_up{node="a"} 1`)
		sourced(t, s, group())
		s.Inbox = &Inbox{}
		h := s.Handler()
		send := func(body string) int {
			w := httptest.NewRecorder()
			s.Inbox.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
			return w.Code
		}
		page := func() string {
			time.Sleep(2 * time.Second)
			w := answerOf(t, h, "/demo/inbox")
			if w.Header().Get("Refresh") != "15" {
				t.Error("page does not refresh itself")
			}
			return w.Body.String()
		}
		const notification = `{"alerts": [{"status": %q, "labels": {"alertname": "Down", "severity": "page"},
			"annotations": {"summary": "a: <b>down</b>, ` + "`run`" + ` fails", "action": "Look at a.", "runbook_url": "https://example.org/Down"}}]}`
		if status := send(fmt.Sprintf(notification, "firing")); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		demand(t, page(), "1 notification", "<strong>a: <b>down</b>, <code>run</code> fails</strong>", "Look at a.", "Down · page", `<a href="https://example.org/Down"`, "!Resolved")
		demand(t, answerOf(t, h, "/").Body.String(), `<a href="demo/inbox">`)
		send(fmt.Sprintf(notification, "resolved"))
		both := page()
		demand(t, both, "2 notifications", "Resolved: a: <b>down</b>", "!`")
		if strings.Contains(both, "<b>down") || strings.Index(both, "Resolved: ") > strings.Index(both, "Look at a.") {
			t.Error("markup in the inbox, or not newest first")
		}
		if status := send("no JSON"); status != http.StatusBadRequest {
			t.Errorf("status %d", status)
		}
		for range maxMessages {
			send(fmt.Sprintf(notification, "firing"))
		}
		demand(t, page(), "100 notifications", "!Resolved")
	})
}
