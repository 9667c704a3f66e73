package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// attempts are what a page of another site can send, by kind. %[1]s is the address of the exporter, %[2]s a query as a parameter.
var attempts = map[string]string{
	"fetch of a query":             `fetch("%[1]s/api/v1/query?%[2]s", {mode: "no-cors", credentials: "include"})`,
	"fetch that posts a query":     `fetch("%[1]s/api/v1/query", {method: "POST", mode: "no-cors", body: new URLSearchParams("%[2]s")})`,
	"fetch of a range":             `fetch("%[1]s/api/v1/query_range?%[2]s&start=0&end=1000&step=1", {mode: "no-cors"})`,
	"image":                        `document.body.append(Object.assign(new Image(), {src: "%[1]s/api/v1/query?image&%[2]s"}))`,
	"script":                       `document.body.append(Object.assign(document.createElement("script"), {src: "%[1]s/api/v1/query?script&%[2]s"}))`,
	"frame":                        `document.body.append(Object.assign(document.createElement("iframe"), {src: "%[1]s/api/v1/query?frame&%[2]s"}))`,
	"stream of events":             `new EventSource("%[1]s/api/v1/query?events&%[2]s")`,
	"form that posts a query":      `post("%[1]s/api/v1/query", {query: "avax_node_up"})`,
	"form that posts a silence":    `post("%[1]s/alerts/silence", {node: "a", for: "1h", comment: "x"})`,
	"form that ends a silence":     `post("%[1]s/alerts/end", {id: "1"})`,
	"fetch that posts a silence":   `fetch("%[1]s/api/v2/silences", {method: "POST", mode: "no-cors", body: "{}"})`,
	"beacon that reloads":          `navigator.sendBeacon("%[1]s/-/reload", "x")`,
	"form that reloads":            `post("%[1]s/-/reload", {})`,
	"fetch of Alertmanager's list": `fetch("%[1]s/api/v2/alerts", {mode: "no-cors"})`,
	"navigation":                   `location.href = "%[1]s/api/v1/query?window&%[2]s"`,
	"prefetch":                     `document.head.append(Object.assign(document.createElement("link"), {rel: "prefetch", href: "%[1]s/api/v1/query?prefetch&%[2]s"}))`,
}

const helper = `<!doctype html><title>other</title><body><script>
function post(to, values) {
	const frame = Object.assign(document.createElement("iframe"), {name: "f" + Math.random()});
	const form = Object.assign(document.createElement("form"), {method: "POST", action: to, target: frame.name});
	for (const [name, value] of Object.entries(values)) form.append(Object.assign(document.createElement("input"), {name, value}));
	document.body.append(frame, form);
	form.submit();
}
</script>`

// No request that a page of another site, or of another port, sends from a real browser to an exporter on the same machine has an effect: no query is
// evaluated, no silence changes, and nothing is reloaded.
func TestPagesOfOtherSitesHaveNoEffect(t *testing.T) {
	t.Parallel()
	testworld.Full(t)
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	source := newSource(t)
	source.read(t, s)
	s.Access = Access{TrustLoopback: true}
	reached := make(chan string, 1000)
	reaches := func(what string) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { reached <- what }
	}
	s.Reload, s.Notifier = reaches("the reload"), reaches("Alertmanager's API")
	handler := s.Handler()
	seen := make(chan *http.Request, 1000)
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(context.Background())
		handler.ServeHTTP(w, r)
	}))
	defer exporter.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, helper)
	}))
	defer other.Close()
	c := openChromium(t)
	query := url.Values{"query": {"count_over_time(avax_node_up[1h])"}}.Encode()
	for site, address := range map[string]string{
		"another site": strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "another port": other.URL,
	} {
		for kind, attempt := range attempts {
			c.visit(address+"/", window{800, 600, "light"})
			eval[any](c, fmt.Sprintf(attempt, exporter.URL, query)+"; 0")
			select {
			case r := <-seen:
				if why := s.Access.refusal(r); why == "" {
					t.Errorf("%s, %s: %s %s is allowed: %v", site, kind, r.Method, r.URL.Path, r.Header)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s, %s: the browser sent nothing", site, kind)
			}
		}
	}
	if source.queries > 0 {
		t.Errorf("%d queries were evaluated", source.queries)
	}
	for len(reached) > 0 {
		t.Errorf("%s was reached", <-reached)
	}
	// The same browser, on the exporter's own page, may query: the test would see an effect.
	c.visit(exporter.URL+"/", window{800, 600, "light"})
	before := source.queries
	c.visit(exporter.URL+"/api/v1/query?"+query, window{800, 600, "light"})
	if source.queries == before {
		t.Error("a query that a person types is not evaluated")
	}
}
