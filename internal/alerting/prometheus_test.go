package alerting

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// answers is a Prometheus with fixed answers by path. It stores the last request. To another host, which it may name in a redirect, it answers 404.
type answers struct {
	status int
	header http.Header
	bodies map[string]string
	last   *http.Request
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	body, known := a.bodies[r.URL.Path]
	status := a.status
	if !known || r.URL.Host != "prometheus:9090" {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: a.header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func overHTTP(t *testing.T, transport http.RoundTripper) *Prometheus {
	t.Helper()
	return must.Get(NewPrometheus(PrometheusConfig{URL: "http://prometheus:9090/prefix/", Timeout: 10 * time.Second, MaxBody: 4 << 10}, transport))(t)
}

func TestPrometheusGroupsAreFilteredByJob(t *testing.T) {
	p := overHTTP(t, &answers{status: http.StatusOK, bodies: map[string]string{"/prefix/api/v1/rules": `{"status":"success","data":{"groups":[
		{"name":"others","file":"o.yml","interval":15,"rules":[
			{"type":"alerting","name":"DiskFull","query":"node_filesystem_avail_bytes == 0","state":"inactive","health":"ok","lastEvaluation":"2026-01-02T03:04:05Z"}]},
		{"name":"avax","file":"r.yml","interval":30,"limit":7,"rules":[
			{"type":"recording","name":"avax:stake:sum","query":"sum(avax_stake)","health":"ok","evaluationTime":0.25,"lastEvaluation":"2026-01-02T03:04:05Z"},
			{"type":"alerting","name":"NodeDown","query":"avax_node_up == 0","duration":300,"keepFiringFor":60.5,"state":"firing","health":"err","lastError":"why","labels":{"severity":"page"},
			 "annotations":{"summary":"s"},"evaluationTime":0.25,"lastEvaluation":"2026-01-02T03:04:06Z",
			 "alerts":[{"labels":{"alertname":"NodeDown","node":"alpha"},"annotations":{"summary":"alpha"},"state":"firing","activeAt":"2026-01-02T03:00:00Z","keepFiringSince":"2026-01-02T03:04:06Z","value":"2.5e+00"}]},
			{"type":"alerting","name":"AvaxWatchdog","query":"vector(1)","state":"firing","health":"ok","lastEvaluation":"2026-01-02T03:04:05Z"}]}]}}`}})
	got := must.Get(p.Groups(t.Context()))(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []Group{{Name: "avax", File: "r.yml", Interval: 30, Limit: 7, Took: 0.5, Evaluated: at.Add(time.Second), Rules: []Rule{
		{Name: "avax:stake:sum", Query: "sum(avax_stake)", Type: RecordingRule, Health: "ok", Took: 0.25, Evaluated: at},
		{
			Name: "NodeDown", Query: "avax_node_up == 0", Type: AlertingRule, State: Firing, For: 300, KeepFiringFor: 60.5, Labels: map[string]string{"severity": "page"},
			Annotations: map[string]string{"summary": "s"}, Health: "err", LastError: "why", Took: 0.25, Evaluated: at.Add(time.Second),
			Alerts: []Alert{{
				Labels: map[string]string{"alertname": "NodeDown", "node": "alpha"}, Annotations: map[string]string{"summary": "alpha"},
				State: Firing, ActiveAt: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), KeepFiringSince: at.Add(time.Second), Value: 2.5,
			}},
		},
		{Name: "AvaxWatchdog", Query: "vector(1)", Type: AlertingRule, State: Firing, Health: "ok", Evaluated: at},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidPrometheusAnswersAreErrors(t *testing.T) {
	vector := func(result string) map[string]string {
		return map[string]string{"/prefix/api/v1/query": `{"status":"success","data":` + result + `}`}
	}
	for name, test := range map[string]struct {
		status int
		header http.Header
		bodies map[string]string
		want   string
	}{
		"not found":           {http.StatusOK, nil, nil, "404"},
		"refused":             {http.StatusUnauthorized, nil, vector(`{}`), "401"},
		"error of Prometheus": {http.StatusBadRequest, nil, map[string]string{"/prefix/api/v1/query": `{"status":"error","errorType":"bad_data","error":"parse error: x"}`}, "parse error: x"},
		"login page":          {http.StatusOK, nil, map[string]string{"/prefix/api/v1/query": `<html>`}, "query up"},
		"range result":        {http.StatusOK, nil, vector(`{"resultType":"matrix","result":[]}`), "is a matrix"},
		"too large":           {http.StatusOK, nil, vector(`{"resultType":"vector","result":[]}` + strings.Repeat(" ", 8<<10)), "too large"},
		"redirect":            {http.StatusFound, http.Header{"Location": {"http://elsewhere/"}}, vector(`{}`), "302"},
	} {
		a := &answers{status: test.status, header: test.header, bodies: test.bodies}
		v, err := Vector(overHTTP(t, a).Query(t.Context(), "up", time.Now()))
		if err == nil || !strings.Contains(err.Error(), test.want) || a.last.URL.Host != "prometheus:9090" {
			t.Errorf("%s: %v, %v, want an error with %q", name, v, err, test.want)
		}
	}
	scalar := overHTTP(
		t,
		&answers{
			status: http.StatusOK,
			bodies: map[string]string{"/prefix/api/v1/query_range": `{"status":"success","data":{"resultType":"scalar","result":[1,"2.5"]}}`},
		},
	)
	if _, err := scalar.QueryRange(t.Context(), "2.5", time.Unix(1, 0), time.Unix(2, 0), time.Second); err == nil || !strings.Contains(err.Error(), "scalar") {
		t.Errorf("scalar as a range: %v", err)
	}
}

// The target of a redirect would receive the credentials.
func TestRedirectsOfAPrometheusAreNotFollowed(t *testing.T) {
	a := &answers{status: http.StatusFound, header: http.Header{"Location": {"http://other.example/prefix/api/v1/rules"}}, bodies: map[string]string{"/prefix/api/v1/rules": ""}}
	if _, err := overHTTP(t, a).Groups(t.Context()); err == nil || a.last.URL.Host != "prometheus:9090" {
		t.Errorf("asked %s: %v", a.last.URL, err)
	}
}

func TestHungPrometheusTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := overHTTP(t, hangs{})
		for what, ask := range map[string]func() error{
			"rules": func() error { _, err := p.Groups(t.Context()); return err },
			"query": func() error { _, err := p.Query(t.Context(), "up", time.Now()); return err },
			"range": func() error {
				_, err := p.QueryRange(t.Context(), "up", time.Now(), time.Now(), time.Second)
				return err
			},
		} {
			began := time.Now()
			if err := ask(); err == nil || time.Since(began) != 10*time.Second {
				t.Errorf("%s: after %s: %v", what, time.Since(began), err)
			}
		}
	})
}

type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}
