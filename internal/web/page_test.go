package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// title returns the title of the page.
func title(page string) string {
	_, rest, _ := strings.Cut(page, "<title>")
	text, _, _ := strings.Cut(rest, "</title>")
	return plain(strings.TrimSuffix(text, " – avax-exporter"))
}

// problemsOf returns the names of the problems on the page, worst first, with their class.
func problemsOf(page string) []string {
	_, rest, _ := strings.Cut(page, `<ul class="problems">`)
	list, _, _ := strings.Cut(rest, `</ul>`)
	var names []string
	for _, m := range regexp.MustCompile(`<li class="([a-z ]+)" id="([^"]+)"`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[2]+": "+m[1])
	}
	return names
}

// plain returns the text of a page as a person reads it: with spaces for non-breaking ones, and with whole IDs.
func plain(page string) string {
	return strings.ReplaceAll(cut.ReplaceAllString(html.UnescapeString(page), "$1"), "\u00a0", " ")
}

var cut = regexp.MustCompile(`<span class="cut">([^<]*)</span>`)

func demand(t *testing.T, page string, words ...string) {
	t.Helper()
	text := plain(page)
	for _, word := range words {
		if want, not := strings.CutPrefix(word, "!"); strings.Contains(text, want) == not {
			t.Errorf("page contains %q: %v", want, not)
		}
	}
}

func TestProblemsAreSortedWorstFirst(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	sourced(t, s, group(
		rule("Small", "info", alerting.Firing, map[string]string{"node": "a", "summary": "small"}),
		rule("Later", "page", alerting.Pending, map[string]string{"node": "a", "summary": "a: soon down", "action": "Look at a."}),
		rule("Now", "page", alerting.Firing,
			map[string]string{"node": "a", "summary": "a: down.", "description": "It is down. Much follows."},
			map[string]string{"node": "b", "summary": "b: down"}),
		rule("Ticket", "warning", alerting.Firing, map[string]string{"summary": "a ticket"}),
		rule("Watchdog", "none", alerting.Firing, map[string]string{"summary": "always fires"}),
	))
	page := read(t, ask(t, s, http.MethodGet, "/").Body)
	if diff := cmp.Diff([]string{"Now: bad", "Later: bad pending", "Ticket: warn", "Small: note"}, problemsOf(page)); diff != "" {
		t.Error(diff)
	}
	if got := title(page); !strings.HasPrefix(got, "a: down, since ") || !strings.HasSuffix(got, " (60 s)") {
		t.Errorf("title %q", got)
	}
	demand(t, page, "It is down.", "!Much follows", "(60 s), pending, fires in 1", "Look at a.", "4 alerts fire", "1 pending", "fill='%23d1242f'",
		"!always fires")
}

func TestFiringAlertIsShownWhileItsCauseIsPending(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	sourced(t, s, group(
		rule("AvaxNodeDown", "page", alerting.Pending, map[string]string{"node": "a", "summary": "a: soon a page"}),
		rule("AvaxNodeDown", "warn", alerting.Firing, map[string]string{"node": "a", "summary": "a: a ticket"}),
		rule("AvaxPeersLow", "warn", alerting.Firing, map[string]string{"node": "a", "summary": "a: few peers"}),
	))
	page := read(t, ask(t, s, http.MethodGet, "/").Body)
	if diff := cmp.Diff([]string{"AvaxNodeDown: bad pending"}, problemsOf(page)); diff != "" {
		t.Error(diff)
	}
	demand(t, page, "a: soon a page", "a: a ticket", "1 effect: AvaxPeersLow", "1 alert fires", "1 pending")
}

func TestAlertsThatSuppressEachOtherAreAllShown(t *testing.T) {
	inhibition, err := notify.ParseInhibition([]byte(`
inhibit_rules:
  - {source_matchers: ['alertname="One"'], target_matchers: ['alertname="Two"']}
  - {source_matchers: ['alertname="Two"'], target_matchers: ['alertname=~"One|Effect"']}
`))
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]string{"node": "a"}
	j := status.AlertsOf([]alerting.Group{group(rule("Effect", "page", alerting.Firing, one), rule("One", "page", alerting.Firing, one),
		rule("Two", "page", alerting.Firing, one))}, inhibition, nil)
	var got []string
	for _, p := range j.Problems {
		got = append(got, p.Name+": "+suppressed(p.Suppressed))
	}
	if diff := cmp.Diff([]string{"One: ", "Two: Effect"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCellColorsFollowAlerts(t *testing.T) {
	record := alerting.Rule{Name: "avax:bad_peers", Type: alerting.RecordingRule, Query: "avax_node_peers < 5 unless avax_node_validating == 1"}
	few := rule("Few", "warn", alerting.Firing, map[string]string{"node": "a"})
	few.Query = "avax:bad_peers > 0 and avax_node_connected_stake_ratio > 0"
	j := status.AlertsOf([]alerting.Group{group(record, few)}, notify.Inhibition{}, nil)
	for _, test := range []struct {
		node, family string
		want         status.Urgency
	}{
		{"a", "avax_node_peers", status.Urgency{Severity: status.Warn}},
		{"a", "avax_node_validating", status.Urgency{}},
		{"a", "avax_node_connected_stake_ratio", status.Urgency{}},
		{"b", "avax_node_peers", status.Urgency{}},
	} {
		if got := j.AboutValues(status.Subject{{"node", test.node}}, status.Value{Family: collectors.MustFamily(test.family)}); got != test.want {
			t.Errorf("%s of %s: %v, want %v", test.family, test.node, got, test.want)
		}
	}
	if got := j.About(status.Subject{{"node", "a"}, {"chain", "C"}}); got != (status.Urgency{Severity: status.Warn}) {
		t.Errorf("alert without a chain: %v, want it for all chains", got)
	}
}

func TestChecksWithEqualErrorsAreGrouped(t *testing.T) {
	s := newSite()
	var samples []testSample
	for _, check := range []string{"X", "P", "diskspace"} {
		samples = append(samples, testSample{"avax_node_health_check_failing", []string{"node", "a", "check", check}, 1})
	}
	putSamples(t, s, metric.Key{Collector: "test"}, append(samples, testSample{"avax_node_up", []string{"node", "a"}, 1})...)
	s.Store.Put(metric.Run{
		Key: metric.Key{Collector: "health", Target: metric.Target{Node: "a"}}, At: time.Now(), Until: time.Now().Add(time.Minute),
		Tables: []metric.Table{{Columns: []string{"Node", "Check", "Error"}, Rows: [][]string{{"a", "P", "little stake"}, {"a", "X", "little stake"},
			{"a", "diskspace", "disk full"}}}},
	})
	sourced(t, s, group())
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `>P, X</p><code class="error">little stake</code>`,
		`>diskspace</p><code class="error">disk full</code>`)
}

func TestBackticksRenderAsCode(t *testing.T) {
	for text, want := range map[string]string{
		"Run `a <b>` now.": "Run <code>a &lt;b&gt;</code> now.",
		"one ` only":       "one ` only",
		"none":             "none",
	} {
		var out strings.Builder
		if err := prose(text).Render(&out); err != nil || out.String() != want {
			t.Errorf("%q: %q, %v", text, out.String(), err)
		}
	}
}

func TestStatusPageReportsUnknownAlerts(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	sourced(t, s).err = errors.New("connection refused")
	page := read(t, ask(t, s, http.MethodGet, "/").Body)
	demand(t, page, `<h1 class="bad">Alerts are unknown`, "connection refused", "!No active alerts", "1 of 1 collector run succeeded")
}

func TestPageIsShownWithoutHistory(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	source := sourced(t, s, group(rule("Down", "page", alerting.Firing, map[string]string{"node": "a", "summary": "a: down"})))
	source.failing = errors.New("query timed out")
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `<h1 class="bad">a: down, since `, "1 of 1 node up", "The history cannot be read", "query timed out")
}

func TestStatusIsStartingUntilAllCollectorsHaveRun(t *testing.T) {
	s := newSite()
	sourced(t, s, group())
	s.Progress = func() (ran, of int) { return 12, 60 }
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "<title>Starting – avax-exporter</title>", "12 of 60 collectors have run; a fault from ", "No collector has run yet")
}

// A start that does not end is a fault.
func TestStartingEnds(t *testing.T) {
	s := newSite()
	sourced(t, s, group())
	s.Progress = func() (ran, of int) { return 12, 60 }
	first := status.OfNodes(s.Store.Jobs(), time.Now().Add(-6*time.Minute), s.Pool)
	s.restarts.See(first)
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "48 collectors have not run for 6 min", "!Starting")

	s = siteWith(t, `avax_node_up{node="a"} 1`)
	sourced(t, s, alerting.Group{Name: "g"})
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "Starting", "have not been evaluated yet")
	s.began = s.began.Add(-6 * time.Minute)
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `<h1 class="bad">The alert rules have not been evaluated for 6 min`, "!Starting")
}

func TestPrometheusWithoutRulesIsAFaultAfterAMinute(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := `{"resultType":"vector","result":[]}`
		if r.URL.Path == "/api/v1/rules" {
			data = `{"groups":[{"name":"of others","rules":[{"name":"Up","type":"alerting","query":"up == 0","lastEvaluation":"2026-01-01T00:00:00Z"}]}]}`
		}
		fmt.Fprintf(w, `{"status":"success","data":%s}`, data)
	}))
	t.Cleanup(server.Close)
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	s.Source = must.Get(alerting.NewPrometheus(alerting.PrometheusConfig{URL: server.URL, Timeout: time.Minute}, nil))(t)
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "Starting", "!none of the alert rules")
	s.began = s.began.Add(-61 * time.Second)
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `<h1 class="bad">The server of AVAX_PROMETHEUS_URL has none of the alert rules`, "!Starting")
}

// Without alerts the page still shows every fact.
func TestPageIsShownWithoutASource(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="a"} 1
		avax_node_peers{node="a"} 1234
		avax_validator_present{node_id="NodeID-1"} 1
		avax_l1_weight{chain="one"} 100`)
	fail(s, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), "Alerts are not evaluated here", "AVAX_PROMETHEUS_URL", "1 of 1 node up", "1,234", "NodeID-1",
		`id="l1-one"`,
		"No answer in time", "no answer within 10s")
	for _, path := range []string{"/explain?name=avax_node_up", "/api/v1/query?query=up", "/api/v1/rules", "/api/v1/alerts"} {
		if answer := ask(t, s, http.MethodGet, path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

// hostileTexts may come from a node, a chain's owner, a proxy, or a rules file.
var hostileTexts = []string{
	`<script>document.title="owned"</script>`,
	`"><img src=x onerror=alert(1)>`,
	`</style></title><iframe src=javascript:alert(2)>`,
	`' onclick='alert(3)`,
	`{{.Version}}`,
}

func hostile(t testing.TB) *Site {
	s := newSite()
	texts := hostileTexts
	s.Version = texts[0]
	putSamples(t, s, metric.Key{Collector: "test", Target: metric.Target{}},
		testSample{"avax_node_up", []string{"node", texts[1]}, 1},
		testSample{"avax_node_up", []string{"node", "down" + texts[3]}, 0},
		testSample{"avax_node_info", []string{"node", texts[1], "node_id", texts[2], "version", texts[0]}, 1},
		testSample{"avax_node_chain_present", []string{"node", texts[1], "chain", texts[4]}, 0},
		testSample{"avax_validator_present", []string{"node_id", texts[2]}, 1},
		testSample{"avax_chain_info", []string{"chain", texts[0], "subnet_id", texts[3]}, 1},
		testSample{"avax_l1_weight", []string{"chain", texts[0]}, 1},
		testSample{"avax_l1_validator_weight", []string{"chain", texts[0], "node_id", texts[1], "validation_id", texts[2]}, 1},
		testSample{"avax_l1_validator_runway_seconds", []string{"chain", texts[0], "node_id", texts[1], "validation_id", texts[2]}, 1e6},
		testSample{"avax_node_health_check_failing", []string{"node", texts[1], "check", texts[3]}, 1},
	)
	s.Store.Put(metric.Run{
		Key: metric.Key{Collector: "variants"}, At: time.Now(), Until: time.Now().Add(time.Minute),
		Tables: []metric.Table{{About: texts[0], Columns: []string{texts[1], texts[3]}, Rows: [][]string{{texts[2], texts[4]}}}},
	})
	fail(s, texts[3], metric.Target{Node: texts[1]}, outcome("info.peers", scrape.Rejected, strings.Join(texts, " ")))
	sourced(t, s, group(rule(texts[4], texts[3], alerting.Firing, map[string]string{
		"node": texts[1], "summary": texts[0], "description": texts[2], "runbook_url": "javascript:alert(4)",
		"action": texts[1], "impact": "`" + texts[2] + "`", "dashboard_url": "data:text/html," + texts[0],
	})))
	s.Receivers = func() []alerting.Receiver {
		return []alerting.Receiver{{Name: texts[1], Notified: true, Err: "answers 500 " + texts[0]}}
	}
	s.Silences = hostileSilences{}
	return s
}

// hostileSilences contain markup.
type hostileSilences struct{ silencer }

type silencer = Silences

func (hostileSilences) Silences(context.Context) ([]notify.Silence, error) {
	texts := hostileTexts
	return []notify.Silence{{ID: texts[1], By: texts[0], Comment: texts[2], Matches: texts[3], Ends: time.Now().Add(time.Hour)}}, nil
}

func TestMarkupIsEscaped(t *testing.T) {
	s := hostile(t)
	for _, path := range []string{"/", "/alerts"} {
		page := read(t, ask(t, s, http.MethodGet, path).Body)
		for _, markup := range []string{"<script", "<img", "<iframe", "onclick='", `="javascript:`} {
			if strings.Contains(strings.ToLower(page), markup) {
				t.Errorf("markup %s in %s", markup, path)
			}
		}
		for _, text := range hostileTexts {
			if !strings.Contains(html.UnescapeString(page), text) {
				t.Errorf("%s: text %s missing", path, text)
			}
		}
	}
	s.Source = nil
	if page := read(t, ask(t, s, http.MethodGet, "/").Body); strings.Contains(page, "<img") || strings.Contains(page, "<iframe") {
		t.Error("markup in the landing page")
	}
}

func TestEveryAnswerHasStrictHeaders(t *testing.T) {
	s := stopping(t)
	sourced(t, s, group())
	for path, want := range map[string]int{
		"/": 200, "/?refresh=15": 200, "/?refresh=x": 400, "/alerts": 200, "/metrics": 200, "/-/healthy": 200, "/-/ready": 200, "/nowhere": 404, "/index.html": 404,
		"/safe-to-stop": 400, "/safe-to-stop?node=x": 404, "/api/v1/l1/none/plan": 404, "/api/v1/l1/one/plan?days=x": 400,
		"/api/v1/query?query=up": 200, "/api/v1/query?query=(": 400, "/api/v1/rules": 200,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := ask(t, s, method, path)
			if answer.StatusCode != want {
				t.Errorf("%s %s: %s, want %d", method, path, answer.Status, want)
			}
			h := answer.Header
			if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s %s: %v", method, path, h)
			}
			policy := h.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s %s: %s", method, path, policy)
			}
			wantKind := "text/plain"
			switch {
			case want == 200 && (path == "/alerts" || strings.HasPrefix(path, "/?") || path == "/"):
				wantKind = "text/html"
			case strings.HasPrefix(path, "/api/"):
				wantKind = "application/json"
			}
			if kind := h.Get("Content-Type"); !strings.HasPrefix(kind, wantKind) {
				t.Errorf("%s %s: content type %s", method, path, kind)
			}
		}
	}
	if got := ask(t, s, http.MethodGet, "/?refresh=15").Header.Get("Refresh"); got != "15" {
		t.Errorf("refresh %q", got)
	}
	if body := read(t, ask(t, s, http.MethodGet, "/nowhere").Body); !strings.Contains(body, "/metrics") || strings.Contains(body, "<") {
		t.Errorf("404 page: %s", body)
	}
	if strings.Contains(read(t, ask(t, s, http.MethodGet, "/").Body), "style=") {
		t.Error("policy forbids style attributes")
	}
}

func TestStatusPageIsCompressedIfAccepted(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	sourced(t, s, group())
	answer := ask(t, s, http.MethodGet, "/", "Accept-Encoding", "gzip")
	if answer.Header.Get("Content-Encoding") != "gzip" || answer.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatal(answer.Header)
	}
	unpacked := must.Get(gzip.NewReader(answer.Body))(t)
	demand(t, read(t, unpacked), "No active alerts", "1 of 1 node up")
}

func TestEveryOutcomeHasARemedy(t *testing.T) {
	for _, o := range scrape.Outcomes {
		if o == scrape.OK {
			continue
		}
		if f := status.FailureOf(outcome("info.peers", o, "text")); f.What == "" || f.Do == "" {
			t.Errorf("%s: %q, %q", o, f.What, f.Do)
		}
	}
}

func TestNumbersAreTruncated(t *testing.T) {
	for want, got := range map[string]string{
		"99.99 %": words.Percent(0.99999), "100 %": words.Percent(1), "80.5 %": words.Percent(0.805),
		"47 h": words.Span(48*time.Hour - time.Second), "2 days": words.Span(71 * time.Hour), "1,234 AVAX": words.AVAX(1234.9), "0.1234 AVAX": words.AVAX(0.12349),
		"< 0.0001 AVAX": words.AVAX(1e-6),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Through this port, clients must not be able to read all samples of a Prometheus.
func TestQueriesAreNotForwardedToPrometheus(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	source := must.Get(alerting.NewPrometheus(alerting.PrometheusConfig{URL: "http://prometheus:9090", Timeout: time.Second, MaxBody: 1 << 10}, refusing(t)))(t)
	s.Source = source
	for _, path := range []string{"/api/v1/query?query=up", "/api/v1/query_range?query=up&start=0&end=1&step=1"} {
		answer := ask(t, s, http.MethodGet, path)
		if body := read(t, answer.Body); answer.StatusCode != http.StatusNotFound || !strings.Contains(body, "AVAX_PROMETHEUS_URL: query that") {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
	}
}

// refusing is a transport that must not be used.
func refusing(t *testing.T) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		t.Errorf("request to %s", r.URL)
		return nil, errors.New("refused")
	})
}

// A proxy may block /-/reload, but forward /%2d/reload.
func TestPathsWithPercentEncodingAreNotFound(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	s.Reload = func(http.ResponseWriter, *http.Request) { t.Error("reloaded") }
	for method, path := range map[string]string{http.MethodPost: "/%2d/reload", http.MethodGet: "/%6detrics"} {
		if answer := ask(t, s, method, path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: %s", method, path, answer.Status)
		}
	}
}
