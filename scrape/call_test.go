package scrape_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestGetEvenAtAcceptsOneMoreStatus(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		body     string
		answered bool
		want     string
		requests int
	}{
		"usual status":                {200, good, true, "", 1},
		"additional status":           {503, good, true, "", 1},
		"wrong status":                {500, good, false, `op: unavailable: HTTP 500`, 3},
		"HTML page of a proxy":        {503, "<html>", false, `op: unavailable: HTTP 503: an HTML page of a proxy`, 3},
		"message of a proxy":          {503, `{"message":"no upstream"}`, false, `op: unavailable: HTTP 503: no upstream`, 3},
		"truncated answer":            {503, `{"height":`, false, `op: unavailable: HTTP 503`, 3},
		"chain that is bootstrapping": {503, "API call rejected because chain is not done bootstrapping\n", false, `op: bootstrapping: HTTP 503: the chain is not done bootstrapping`, 1},
		"long answer": {503, `{"height":"14","more":"` + strings.Repeat("long", 1<<10) + `"}`, false,
			`op: too_large: the answer is larger than the limit of 1KiB`, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			u := open(t, scrape.Options{URL: "http://node", MaxBody: 1 << 10, Transport: transport(func(*http.Request) (*http.Response, error) {
				requests++
				return respond(c.status, c.body), nil
			})})
			got, err := scrape.GetEvenAt[height](t.Context(), u, http.StatusServiceUnavailable, "op", "/ext/health", nil)
			if c.answered != (err == nil && got.Height == 14) || !c.answered && err.Error() != c.want || requests != c.requests {
				t.Errorf("%s: %v, %v after %d requests", name, got, err, requests)
			}
			if c.answered && !u.Healthy() {
				t.Errorf("%s: answer not counted", name)
			}
		})
	}
}
