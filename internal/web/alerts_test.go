//go:build !noalerting

package web

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// deaf is an Alertmanager that takes everything.
type deaf struct{}

func (deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// alarmed is the site of hostile texts with an alert about each of its samples,
// whose runbook is such a text as well. They stay when a busy machine evaluates late.
func alarmed(t *testing.T) *Site {
	t.Helper()
	s := hostile(t)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	const text = `groups: [{name: a, rules: [
		{alert: Up, expr: avax_node_up, keep_firing_for: 5m, annotations: {summary: '{{ $labels.node }}', description: 'x {{ $labels.node }}', impact: '{{ $labels.node }}', runbook_url: 'javascript:alert(4)'}},
		{alert: Info, expr: avax_node_info, keep_firing_for: 5m, annotations: {summary: '{{ $labels.version }}'}},
		{alert: Chain, expr: avax_node_chain_present == 0, keep_firing_for: 5m, annotations: {summary: '{{ $labels.chain }}'}}]}]`
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	running, err := alerting.Start(ctx, alerting.Options{
		Config: alerting.Config{
			RulesFile: rules, Alertmanagers: []string{"http://pager:9093"}, Job: "j", Instance: "i", URL: "http://i", Interval: 50 * time.Millisecond,
		},
		Metrics: s.Handler(), Ready: func() bool { return true }, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Transport: deaf{},
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	s.Alerting = running
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		active := 0
		for _, g := range s.groups(t.Context()) {
			for _, r := range g.Rules {
				active += len(r.Alerts)
			}
		}
		if active == 4 {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("%d alerts are active", active)
		}
	}
}

func TestTheVerdictLeadsToTheAlert(t *testing.T) {
	t.Parallel()
	s := alarmed(t)
	status, alerts := statusOf(t, s), read(t, ask(t, s, http.MethodGet, "/alerts").Body)
	links := regexp.MustCompile(`href="alerts#([^"]*)"`).FindAllStringSubmatch(status, -1)
	if len(links) < 4 {
		t.Errorf("%d links lead to alerts", len(links))
	}
	for _, m := range links {
		if strings.Count(alerts, ` id="`+m[1]+`"`) != 1 {
			t.Errorf("alerts#%s leads nowhere", m[1])
		}
	}
	for _, markup := range []string{"<script", "<img", "<iframe", "onclick='", `="javascript:`} {
		if strings.Contains(strings.ToLower(status), markup) {
			t.Errorf("%s stands in the page", markup)
		}
	}
}

func TestHostileTextStaysTextAmongAlerts(t *testing.T) {
	t.Parallel()
	s := alarmed(t)
	page := read(t, ask(t, s, http.MethodGet, "/alerts").Body)
	for _, markup := range []string{"<script", "<img", "<iframe", "onclick='", `="javascript:`} {
		if strings.Contains(strings.ToLower(page), markup) {
			t.Errorf("%s stands in the page", markup)
		}
	}
	for _, want := range []string{hostileTexts[0], hostileTexts[1], hostileTexts[3], hostileTexts[4]} {
		if !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("%s is not shown", want)
		}
	}
	answer := ask(t, s, http.MethodGet, "/api/v1/alerts")
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" || strings.Contains(read(t, answer.Body), "<script") {
		t.Errorf("the JSON is %s, or has markup in it", kind)
	}

	c := openChromium(t)
	c.visit(serve(t, s)+"/alerts", window{390, 844, "light"})
	if got := eval[int](c, `document.querySelectorAll("script, img, iframe, [onerror], [onclick], [href^='javascript:']").length`); got != 0 {
		t.Errorf("%d elements came from outside", got)
	}
	if got := eval[string](c, `document.querySelector("main").textContent`); !strings.Contains(got, hostileTexts[0]) {
		t.Errorf("not shown as it is: %s", hostileTexts[0])
	}
	for _, complaint := range c.complaints {
		t.Error(complaint)
	}
}
