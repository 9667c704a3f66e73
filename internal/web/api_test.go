package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// jsonOf requests JSON of the site and decodes it.
func jsonOf[T any](t *testing.T, s *Site, path string) (status int, answer T) {
	t.Helper()
	response := ask(t, s, http.MethodGet, path)
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return response.StatusCode, answer
}

type apiResult struct {
	Status, ErrorType, Error string
	Data                     struct {
		ResultType string
		Result     json.RawMessage
	}
}

func TestQueriesAreAnsweredLikePrometheus(t *testing.T) {
	s := siteWith(t, `avax_node_peers{node="a"} 7`)
	sourced(t, s)
	now := float64(time.Now().Unix())
	query := func(path string, parameters ...string) (int, apiResult) {
		form := url.Values{}
		for i := 0; i < len(parameters); i += 2 {
			form.Set(parameters[i], parameters[i+1])
		}
		return jsonOf[apiResult](t, s, "/api/v1/"+path+"?"+form.Encode())
	}
	unix := func(t float64) string { return model.Time(t * 1000).String() }
	for name, test := range map[string]struct {
		path       string
		parameters []string
		kind, want string
	}{
		"instant": {"query", []string{"query", "avax_node_peers + 1", "time", unix(now)}, "vector", `"8"`},
		"RFC 3339": {
			"query", []string{"query", "avax_node_peers", "time", time.Now().Format(time.RFC3339Nano)}, "vector", `"7"`,
		},
		"scalar":    {"query", []string{"query", "3 * 4", "time", unix(now)}, "scalar", `"12"`},
		"samples":   {"query", []string{"query", "avax_node_peers[1m]", "time", unix(now)}, "matrix", `"7"`},
		"no series": {"query", []string{"query", "absent_family"}, "vector", `[]`},
		"range": {
			"query_range", []string{"query", "avax_node_peers", "start", unix(now), "end", unix(now + 30), "step", "15s"}, "matrix", `"7"`,
		},
		"step in seconds": {
			"query_range", []string{"query", "avax_node_peers", "start", unix(now), "end", unix(now + 30), "step", "15"}, "matrix", `"7"`,
		},
		"range without series": {
			"query_range", []string{"query", "absent_family", "start", unix(now), "end", unix(now), "step", "1"}, "matrix", `[]`,
		},
	} {
		status, answer := query(test.path, test.parameters...)
		if status != http.StatusOK || answer.Status != "success" || answer.Data.ResultType != test.kind || !strings.Contains(string(answer.Data.Result), test.want) {
			t.Errorf("%s: %d %+v %s", name, status, answer, answer.Data.Result)
		}
	}
	_, answer := query("query_range", "query", "avax_node_peers", "start", unix(now), "end", unix(now+30), "step", "15s")
	if values := strings.Count(string(answer.Data.Result), `"7"`); values != 3 {
		t.Errorf("%d values in 30 s with a step of 15 s, want 3", values)
	}
	for name, test := range map[string]struct {
		path       string
		parameters []string
		want       string
	}{
		"expression": {"query", []string{"query", "("}, "query: "},
		"time":       {"query", []string{"query", "up", "time", "noon"}, "time=noon: write Unix seconds"},
		"no start":   {"query_range", []string{"query", "up", "end", "1", "step", "1"}, "start=: write Unix seconds"},
		"no end":     {"query_range", []string{"query", "up", "start", "1", "step", "1"}, "end=: write Unix seconds"},
		"no step":    {"query_range", []string{"query", "up", "start", "1", "end", "1"}, "step=: write seconds"},
		"zero step":  {"query_range", []string{"query", "up", "start", "1", "end", "1", "step", "0"}, "step=0: write seconds"},
		"backwards":  {"query_range", []string{"query", "up", "start", "2", "end", "1", "step", "1"}, "end is before start"},
		"rule type":  {"rules", []string{"type", "alerts"}, "type=alerts: write alert or record"},
	} {
		status, answer := query(test.path, test.parameters...)
		if status != http.StatusBadRequest || answer.Status != "error" || answer.ErrorType != "bad_data" || !strings.HasPrefix(answer.Error, test.want) {
			t.Errorf("%s: %d %+v, want %s", name, status, answer, test.want)
		}
	}
	s.Source.(*stored).failing = errors.New("too many samples")
	if status, answer := query("query", "query", "up"); status != http.StatusUnprocessableEntity || answer.ErrorType != "execution" ||
		answer.Error != "too many samples" {
		t.Errorf("%d %+v", status, answer)
	}
}

func TestTablesAreServedAsJSON(t *testing.T) {
	s := newSite()
	s.Store.Put(metric.Run{
		Key: metric.Key{Collector: "health", Target: metric.Target{Node: "a"}}, At: time.Now(), Until: time.Now().Add(time.Minute),
		Tables: []metric.Table{{About: "Failing checks.", Columns: []string{"Check", "Error"}, Rows: [][]string{{"P", "little stake"}}, LeftOut: 2}},
	})
	_, answer := jsonOf[struct{ Data json.RawMessage }](t, s, "/api/v1/tables")
	want := `[{"collector":"health","target":"a","about":"Failing checks.","columns":["Check","Error"],"rows":[["P","little stake"]],"left_out":2}]`
	if diff := cmp.Diff(want, string(answer.Data)); diff != "" {
		t.Error(diff)
	}
}

// A rule that cannot be evaluated could hide an incident.
func TestBrokenRuleIsAProblem(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	broken := rule("Down", "page", "inactive")
	broken.Health, broken.LastError = "err", "many-to-many matching"
	kept := rule("Kept", "page", alerting.Firing, map[string]string{"node": "a", "summary": "a: slow"})
	kept.Alerts[0].KeepFiringSince = time.Unix(1e9, 0).UTC()
	source := sourced(t, s, group(broken))
	demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `<h1 class="bad">1 alert rule cannot be evaluated`, "!No active alerts")
	demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "cannot be evaluated: many-to-many matching")
	source.groups = append(source.groups, group(kept))
	type apiRule struct {
		Name, Health, LastError string
		Alerts                  []struct{ KeepFiringSince time.Time }
	}
	_, answer := jsonOf[struct {
		Data struct{ Groups []struct{ Rules []apiRule } }
	}](t, s, "/api/v1/rules")
	want := []struct{ Rules []apiRule }{
		{[]apiRule{{"Down", "err", "many-to-many matching", []struct{ KeepFiringSince time.Time }{}}}},
		{[]apiRule{{"Kept", "", "", []struct{ KeepFiringSince time.Time }{{time.Unix(1e9, 0).UTC()}}}}},
	}
	if diff := cmp.Diff(want, answer.Data.Groups); diff != "" {
		t.Error(diff)
	}
}

// A reader that takes only a part of the alerts gets the worst.
func TestAlertsComeWorstFirst(t *testing.T) {
	s := siteWith(t, `avax_node_up{node="a"} 1`)
	var rules []alerting.Rule
	for _, state := range []string{"pending", alerting.Firing} {
		for _, severity := range []string{"none", "info", "page", "warn"} {
			rules = append(rules, rule(state+" "+severity, severity, state, map[string]string{"node": "a"}))
		}
	}
	sourced(t, s, group(rules...))
	_, text := get(t, s, "/api/v1/alerts")
	var got []string
	for _, m := range regexp.MustCompile(`"alertname":\s*"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	want := []string{"firing page", "firing warn", "firing info", "firing none", "pending page", "pending warn", "pending info", "pending none"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
