package scrape_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestPostSendsItsBodyOrNone(t *testing.T) {
	for want, body := range map[string]any{
		`POST http://data/v1/x type="application/json" length=13 {"a":1,"b":2}`: map[string]int{"b": 2, "a": 1},
		`POST http://data/v1/x type="" length=0 `:                               nil,
	} {
		var got string
		u := open(t, scrape.Options{URL: "http://data", Transport: transport(func(r *http.Request) (*http.Response, error) {
			sent, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s type=%q length=%d %s", r.Method, r.URL, r.Header.Get("Content-Type"), r.ContentLength, sent)
			return respond(201, good), nil
		})})
		if answer, err := post[height](t.Context(), u, "POST /v1/x", "/v1/x", body); err != nil || answer.Height != 14 {
			t.Errorf("got %v, %v", answer, err)
		}
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func TestPostAcceptsAnEmptyAnswerForNilableTypes(t *testing.T) {
	for _, status := range []int{200, 201, 204} {
		for _, body := range []string{"", " \r\n", "{}", `{"height":1}`} {
			u := open(t, scrape.Options{URL: "http://data", Transport: transport(func(*http.Request) (*http.Response, error) { return respond(status, body), nil })})
			if _, err := post[*struct{}](t.Context(), u, "op", "/", nil); err != nil {
				t.Errorf("%d %q: %v", status, body, err)
			}
		}
	}
	u := open(t, scrape.Options{URL: "http://data", Transport: answering("")})
	if _, err := post[height](t.Context(), u, "op", "/", nil); err == nil || err.Error() != "POST op: malformed: the answer is empty" {
		t.Errorf("type that is not nilable: %v", err)
	}
	u = open(t, scrape.Options{URL: "http://data", Transport: answering("<html>")})
	if _, err := post[*struct{}](t.Context(), u, "op", "/", nil); scrape.OutcomeOf(err) != scrape.Malformed {
		t.Errorf("a login page: %v", err)
	}
}

func TestAdmitIsCalledForEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, requests := 2, 0
		registry := prometheus.NewRegistry()
		u := open(t, scrape.Options{
			Name: "data", URL: "http://data", Concurrency: 1, Metrics: scrape.NewMetrics(registry),
			Transport: transport(func(*http.Request) (*http.Response, error) {
				requests++
				return respond(503, ""), nil
			}),
			Admit: func(_ context.Context, op string) error {
				if left--; left < 0 {
					return &scrape.Error{Outcome: scrape.RateLimited, Err: fmt.Errorf("budget spent for %s", op)}
				}
				return nil
			},
		})
		const want = "GET /v1/height/{chain}: rate_limited: budget spent for GET /v1/height/{chain}"
		for range 2 { // a refused call releases its slot
			if err := callREST(u); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		}
		if requests != 2 {
			t.Errorf("%d requests sent, want the 2 admitted", requests)
		}
		for family, want := range map[string]float64{"avax_exporter_upstream_requests_total": 2, "avax_exporter_upstream_unsent_total": 2} {
			if n := total(t, registry, family); n != want {
				t.Errorf("%s is %v, want %v", family, n, want)
			}
		}
	})
}

// total adds up the series of a counter.
func total(t *testing.T, registry prometheus.Gatherer, family string) (sum float64) {
	t.Helper()
	families := must.Get(registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == family {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
