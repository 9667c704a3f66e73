package scrape_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestAnswerStatusIsAccepted(t *testing.T) {
	unhealthy := method[height](scrape.Method{Verb: http.MethodGet, Path: "/ext/health", AnswerStatus: http.StatusServiceUnavailable, MaxBody: 1 << 10})
	for name, c := range map[string]struct {
		status   int
		body     string
		answered bool
		want     string
		requests int
	}{
		"usual status":         {200, good, true, "", 1},
		"additional status":    {503, good, true, "", 1},
		"wrong status":         {500, good, false, `GET /ext/health: unavailable: HTTP 500`, 3},
		"HTML page of a proxy": {503, "<html>", false, `GET /ext/health: unavailable: HTTP 503: an HTML page of a proxy`, 3},
		"message of a proxy":   {503, `{"message":"no upstream"}`, false, `GET /ext/health: unavailable: HTTP 503: no upstream`, 3},
		"truncated answer":     {503, `{"height":`, false, `GET /ext/health: unavailable: HTTP 503`, 3},
		"chain that is bootstrapping": {503, "API call rejected because chain is not done bootstrapping\n", false,
			`GET /ext/health: bootstrapping: HTTP 503: the chain is not done bootstrapping`, 1},
		"long answer": {503, `{"height":"14","more":"` + strings.Repeat("long", 1<<10) + `"}`, false,
			`GET /ext/health: too_large: the answer is larger than the limit of 0.0009765625 MiB`, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
				requests++
				return respond(c.status, c.body), nil
			})})
			got, err := unhealthy.Call(t.Context(), u, "/ext/health", nil)
			if c.answered != (err == nil && got.Height == 14) || !c.answered && err.Error() != c.want || requests != c.requests {
				t.Errorf("%s: %v, %v after %d requests", name, got, err, requests)
			}
			if c.answered && !u.Healthy() {
				t.Errorf("%s: answer not counted", name)
			}
		})
	}
}
