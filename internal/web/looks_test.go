package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// overflow lists the elements that are wider than a window of this width. The test cannot use the browser's own width, because on a
// phone the browser zooms out until everything fits.
func overflow(c *chromium, width int) string {
	return eval[string](c, fmt.Sprintf(`(() => {
		const width = %d, out = [], all = document.documentElement;
		for (const e of document.querySelectorAll("body, body *"))
			if (!e.closest(".table, svg") && e.getBoundingClientRect().right > width + 0.5) out.push(e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40));
		if (all.scrollWidth > width || innerWidth != width) out.push("the page is " + all.scrollWidth + " wide, shown in " + innerWidth);
		return out.join("\n");
	})()`, width))
}

// violations runs axe-core on the page. AXE_CORE is the path of its axe.min.js, as npm installs it.
func violations(c *chromium, axe string) string {
	if axe == "" {
		return ""
	}
	eval[any](c, axe+"; 0")
	eval[any](c, `axe.run().then(r => { window.found = r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | `+
		`")).join("\n") + "\n" }); 0`)
	for range 200 {
		if found := eval[string](c, `window.found || ""`); found != "" {
			return strings.TrimSpace(found)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "axe-core did not end"
}

// pages are pages in several situations, by name, as the server sends them.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := WorldPages(t)
	get := func(s *Site) string { return read(t, ask(t, s, http.MethodGet, "/").Body) }
	found["fleet-of-50"] = get(fleet(t, 50, 3))

	starting := newSite()
	sourced(t, starting, group())
	starting.Progress = func() (ran, of int) { return 12, 60 }
	found["starting"] = get(starting)

	landing := siteWith(t, `avax_node_up{node="a"} 1`)
	fail(landing, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
	found["landing"] = get(landing)

	long := newSite()
	n, c := strings.Repeat("n", metric.MaxValue), strings.Repeat("c", metric.MaxValue)
	putSamples(t, long, metric.Key{Collector: "test"},
		testSample{"avax_node_up", []string{"node", n}, 1}, testSample{"avax_node_info", []string{"node", n, "node_id", n, "version", c}, 1},
		testSample{"avax_node_chain_present", []string{"node", n, "chain", c}, 1}, testSample{"avax_validator_present", []string{"node_id", n}, 0},
		testSample{"avax_l1_weight", []string{"chain", c}, 1e300})
	fail(long, "peers", metric.Target{Node: n}, outcome("info.peers", scrape.Rejected, strings.Repeat("x", 300)))
	sourced(t, long, group(rule("Long", "page", alerting.Firing, map[string]string{"node": n, "summary": n + " " + c, "description": c})))
	found["long"] = get(long)
	return found
}

// Tests the pages in a browser. With -artifacts the screenshots are kept.
func TestPagesFitPhoneAndDesktop(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	all := pages(t)
	c := openChromium(t)
	var axe string
	if path := os.Getenv("AXE_CORE"); path != "" {
		text := must.Get(os.ReadFile(path))(t)
		axe = string(text)
	}
	dir := t.ArtifactDir()
	var mu sync.Mutex
	var shown string
	server := httptest.NewServer(strict(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(shown))
	})))
	defer server.Close()
	for name, page := range all {
		mu.Lock()
		shown = page
		mu.Unlock()
		for _, w := range []window{{390, 844, "light"}, {390, 844, "dark"}, {1300, 900, "light"}, {1300, 900, "dark"}, {1920, 1080, "light"}, {1920, 1080, "dark"}} {
			at := fmt.Sprintf("%s-%d-%s", name, w.width, w.scheme)
			c.visit(server.URL+"/", w)
			c.screenshot(filepath.Join(dir, at+".png"))
			eval[any](c, `document.querySelectorAll("details").forEach(d => d.open = true)`)
			if out := overflow(c, w.width); out != "" {
				t.Errorf("%s: wider than the window:\n%s", at, out)
			}
			if w.width < 1000 == (w.scheme == "dark") { // each width and each scheme once
				if found := violations(c, axe); found != "" {
					t.Errorf("%s: axe-core:\n%s", at, found)
				}
			}
			// The page's own policy allows the style, and the style follows the color scheme.
			background := eval[string](c, `getComputedStyle(document.body).backgroundColor`)
			if dark := background == "rgb(14, 17, 22)"; dark != (w.scheme == "dark") {
				t.Errorf("%s: background %s", at, background)
			}
		}
	}
	for _, complaint := range c.complaints {
		t.Error(complaint)
	}
}

// Names of nodes and chains are text, never markup.
func TestMarkupIsEscapedInABrowser(t *testing.T) {
	t.Parallel()
	c := openChromium(t)
	c.visit(serve(t, hostile(t))+"/", window{390, 844, "light"})
	if got := eval[int](c, `document.querySelectorAll("script, img, iframe, b > i, [onerror], [onclick]").length`); got != 0 {
		t.Errorf("%d elements from injected markup", got)
	}
	text := eval[string](c, `document.documentElement.textContent`)
	for _, want := range hostileTexts {
		if !strings.Contains(text, want) {
			t.Errorf("not shown unchanged: %s", want)
		}
	}
	for _, complaint := range c.complaints {
		t.Error(complaint)
	}

	// The policy also forbids scripts.
	eval[any](c, `document.body.append(Object.assign(document.createElement("script"), {textContent: "document.title = 'ran'"}))`)
	if got := eval[string](c, `document.title`); got == "ran" {
		t.Error("script executed")
	}
}
