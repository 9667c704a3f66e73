package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// A browser gets a page with a title, the navigation and the answer. Others get text.
func TestExplanationIsAPageForABrowser(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="<a>"} 0`)
	sourced(
		t,
		s,
		group(rule("AvaxNodeDown", "page", alerting.Firing, map[string]string{"node": "<a>", "summary": "<a>: no answer", "action": "Log in to `<a>`."})),
	)
	const path = "/explain?name=AvaxNodeDown&target=%3Ca%3E"
	answer := ask(t, s, http.MethodGet, path, "Accept", "text/html,application/xhtml+xml")
	page := read(t, answer.Body)
	demand(t, page, "<title>AvaxNodeDown for <a> – avax-exporter</title>", `href="./"`, `href="alerts"`, `href="runbook/AvaxNodeDown"`, `<h1 class="bad">`,
		"AvaxNodeDown (page) is firing for 60 s: <a>: no answer", "Log in to ", "How this is computed", "fires after 3m")
	if strings.Contains(page, "<a>:") {
		t.Error("markup of a name")
	}
	text := ask(t, s, http.MethodGet, path)
	if kind := text.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("without a browser: %s", kind)
	}
	demand(t, read(t, text.Body), "AvaxNodeDown (page) is firing for ", "fires after 3m")
	demand(t, read(t, ask(t, s, http.MethodGet, path+"&why=0").Body), "AvaxNodeDown (page) is firing for ", "Log in to ", "!fires after 3m")
}

// Text for a terminal has no control character of a node, whatever answers it.
func TestTextHasNoControlCharacters(t *testing.T) {
	const name = "a\x1b]0;b\x07\u202e"
	s := siteWith(t, `avax_node_up{node="alpha"} 0`)
	sourced(t, s, group(rule("AvaxNodeDown", "page", alerting.Firing, map[string]string{"node": "alpha", "summary": name + ": no answer"})))
	escaped := url.QueryEscape(name)
	for _, path := range []string{
		"/explain?name=AvaxNodeDown&target=alpha", "/explain?name=AvaxNodeDown&target=" + escaped, "/explain?name=" + escaped, "/safe-to-stop?node=" + escaped,
		"/serving?chain=C&node=" + escaped, "/is-back?node=" + escaped, "/safe-to-remove?validation=" + escaped, "/waves?node=" + escaped, "/silence-matches?of=" + escaped,
		"/node/" + escaped, "/safe-to-stop?" + escaped + "=1",
	} {
		if body := read(t, ask(t, s, http.MethodGet, path).Body); strings.ContainsAny(body, "\x1b\x07\u202e") {
			t.Errorf("%s: %q", path, body)
		}
	}
}
