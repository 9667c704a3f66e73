package scrape_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestRequestsAreCountedByOutcomeAndTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		asked := 0
		u := open(t, scrape.Options{Name: "local", URL: "http://node", Metrics: scrape.NewMetrics(reg),
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				switch asked++; asked {
				case 1: // and a retry
					return respond(502, ""), nil
				case 3:
					return respond(404, ""), nil
				case 4:
					r := respond(429, "")
					r.Header.Set("Retry-After", "30")
					return r, nil
				}
				return slow(300*time.Millisecond, good)(r)
			})})
		ctx := scrape.MaxAge(t.Context(), time.Minute)
		for range 2 { // the second call shares the answer
			must.Get(callHeight(ctx, u, nil))(t)
		}
		_, _, _ = callREST(u), callREST(u), callREST(u) // not found, refused, not sent
		if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP avax_exporter_upstream_requests_total Requests to an upstream (a node or service) by outcome. Each retry counts. An answer that several collectors use counts once. The label op, the method, is empty for the outcome ok.
# TYPE avax_exporter_upstream_requests_total counter
avax_exporter_upstream_requests_total{op="",outcome="ok",upstream="local"} 1
avax_exporter_upstream_requests_total{op="GET /v1/height/{chain}",outcome="not_found",upstream="local"} 1
avax_exporter_upstream_requests_total{op="GET /v1/height/{chain}",outcome="rate_limited",upstream="local"} 1
avax_exporter_upstream_requests_total{op="platform.getHeight",outcome="unavailable",upstream="local"} 1
# HELP avax_exporter_upstream_request_duration_seconds Time from the start of a request of this method to the end of its answer, for all upstreams. Includes requests of every outcome.
# TYPE avax_exporter_upstream_request_duration_seconds summary
avax_exporter_upstream_request_duration_seconds_sum{op="GET /v1/height/{chain}"} 0
avax_exporter_upstream_request_duration_seconds_count{op="GET /v1/height/{chain}"} 2
avax_exporter_upstream_request_duration_seconds_sum{op="platform.getHeight"} 0.3
avax_exporter_upstream_request_duration_seconds_count{op="platform.getHeight"} 2
# HELP avax_exporter_upstream_unsent_total Calls and retries that were not sent to an upstream, by outcome. rate_limited: the upstream requested a pause, or a budget is spent. timeout: the wait in the queue was too long.
# TYPE avax_exporter_upstream_unsent_total counter
avax_exporter_upstream_unsent_total{op="GET /v1/height/{chain}",outcome="rate_limited",upstream="local"} 1
# HELP avax_exporter_upstream_wait_until_timestamp_seconds End of the last pause that an upstream requested, in Unix seconds. The pause is for the method in the label op, or for all methods (op=all). Absent if the upstream requested no pause.
# TYPE avax_exporter_upstream_wait_until_timestamp_seconds gauge
avax_exporter_upstream_wait_until_timestamp_seconds{op="all",upstream="local"} 9.4668483e+08
`)); err != nil {
			t.Error(err)
		}
		if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}
