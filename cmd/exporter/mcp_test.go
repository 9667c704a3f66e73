package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestAgentsPageListsEveryTool(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/agents.md"))(t)
	for _, tool := range tools {
		if !strings.Contains(string(page), "| `"+tool.name+"` |") {
			t.Errorf("docs/agents.md does not list %s", tool.name)
		}
	}
}

// What nodes wrote reaches an agent, and the terminal in which it works, without control characters.
func TestToolsAnswerWithoutControlCharacters(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a\x1b[31m\u202e") }))
	t.Cleanup(page.Close)
	client, server := mcp.NewInMemoryTransports()
	must.Get(mcpServer(exporter{address: page.URL}).Connect(t.Context(), server, nil))(t)
	session := must.Get(mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), client, nil))(t)
	t.Cleanup(func() { _ = session.Close() })
	answer := must.Get(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "causes"}))(t)
	if text, is := answer.Content[0].(*mcp.TextContent); !is || text.Text != "a?[31m?" {
		t.Errorf("%q", text.Text)
	}
}

// Whenever an alert fired within the hours, and however shortly, it is in the answer.
func TestAlertHistoryHasShortAlerts(t *testing.T) {
	store := teststorage.New(t)
	t.Cleanup(func() { store.Close() })
	appender, now := store.Appender(t.Context()), time.Now()
	const alerts = 24 * 6 // one in ten minutes
	for i := range alerts {
		series := labels.FromStrings("__name__", "ALERTS", "alertname", fmt.Sprint("A", i), "alertstate", "firing")
		began := now.Add(-24*time.Hour + 5*time.Minute + time.Duration(i)*10*time.Minute)
		must.Get(appender.Append(0, series, began.UnixMilli(), 1))(t)
		must.Get(appender.Append(0, series, began.Add(15*time.Second).UnixMilli(), math.Float64frombits(value.StaleNaN)))(t)
	}
	must.Do(t, appender.Commit())
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	unix := func(text string) time.Time { return time.Unix(must.Get(strconv.ParseInt(text, 10, 64))(t), 0) }
	for hours, want := range map[string]int{"": 36, "1": 6, "1.5": 9, "24": alerts} {
		v := url.Values{"hours": {hours}}
		must.Do(t, alertHistory(v))
		step := must.Get(strconv.Atoi(v.Get("step")))(t)
		query := must.Get(engine.NewRangeQuery(t.Context(), store, nil, v.Get("query"), unix(v.Get("start")), unix(v.Get("end")), time.Duration(step)*time.Second))(t)
		result := query.Exec(t.Context())
		must.Do(t, result.Err)
		if n := result.Value.(promql.Matrix).Len(); n != want {
			t.Errorf("%s hours: %d alerts, want %d", hours, n, want)
		}
		query.Close()
	}
}

// With hundreds of alerts, the answer leaves out their descriptions, and names the query that counts what is cut off.
func TestManyAlertsAreToldWithoutDescriptions(t *testing.T) {
	answer := func(alerts int) string {
		one := `{"labels":{"alertname":"AvaxNodeDown","severity":"page"},"annotations":{"summary":"` + strings.Repeat("s", 300) + `","description":"` +
			strings.Repeat("d", 300) + `"},"state":"firing","activeAt":"2026-01-01T00:00:00Z","value":"1e+00"}`
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"status":"success","data":{"alerts":[`+strings.TrimSuffix(strings.Repeat(one+",", alerts), ",")+`]}}`)
		}))
		t.Cleanup(server.Close)
		return must.Get(tools[0].answer(t.Context(), exporter{address: server.URL}, nil))(t)
	}
	for alerts, c := range map[int]struct{ described, cut bool }{10: {true, false}, 80: {false, false}, 1000: {false, true}} {
		text := answer(alerts)
		if got := strings.Contains(text, "dddd"); got != c.described {
			t.Errorf("%d alerts: descriptions: %v", alerts, got)
		}
		if got := strings.Contains(text, "the rest is left out: query count by (alertname, severity, alertstate) (ALERTS)"); got != c.cut {
			t.Errorf("%d alerts: cut: %v", alerts, got)
		}
		if n := strings.Count(text, "AvaxNodeDown"); !c.cut && n != alerts {
			t.Errorf("%d of %d alerts", n, alerts)
		}
	}
}
