package faults_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// expensiveQueries are short queries that need much: time, samples, stack, regular expressions, labels. Only clients with access may
// send them.
func expensiveQueries() []string {
	double := `{__name__=~".+"}`
	for range 40 {
		double = `label_replace(` + double + `, "a", "$1$1", "node", "(.*)")`
	}
	return []string{
		`count_over_time({__name__=~".+"}[1h:1ms])`,
		`{__name__=~".+"}[1h:1ms]`,
		strings.Repeat(`sum(count_over_time({__name__=~".+"}[2h:1ms])) + `, 50) + "1",
		strings.Repeat("(", 400_000) + "1" + strings.Repeat(")", 400_000),
		strings.Repeat("-", 900_000) + "1",
		strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000),
		`{__name__=~"` + strings.Repeat(".{1000}", 500) + `"}`,
		double,
		`label_replace({__name__=~".+"}, "a", "` + strings.Repeat("$1", 1500) + `", "node", "(.*)")`,
	}
}

// querying sends all of them, eight at a time.
func querying(e *exporter, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stop
		cancel()
	}()
	var all sync.WaitGroup
	for first := range 8 {
		all.Go(func() {
			client := &http.Client{Timeout: answered, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for n := first; ; n++ {
				queries := expensiveQueries()
				matchers := "/api/v2/alerts?filter=" + url.QueryEscape(`a=~"<`+strings.Repeat(".{1000}", 3000)+`>"`)
				for _, path := range []string{"/api/v1/query", "/api/v1/query_range?start=0&end=1e10&step=1e6", matchers} {
					form := strings.NewReader(url.Values{"query": {queries[n%len(queries)]}}.Encode())
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+path, form)
					if err != nil {
						panic(err)
					}
					request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					if answer, err := client.Do(request); err == nil {
						_, _ = io.Copy(io.Discard, answer.Body)
						_ = answer.Body.Close()
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	all.Wait()
	return nil
}

// Queries of strangers take neither the memory nor the time that a scraper needs.
func TestExpensiveQueriesOfStrangersDoNotAffectScrapes(t *testing.T) {
	testworld.Full(t)
	endureQueries(t, "short but expensive PromQL queries", "false", 160<<20)
}

// The exporter answers one query of clients with access at a time.
func TestExpensiveQueriesOfLocalClientsDoNotAffectScrapes(t *testing.T) {
	testworld.Full(t)
	endureQueries(t, "the same queries of eight clients with access", "true", 250<<20)
}

func endureQueries(t *testing.T, name, trust string, resident int64) {
	t.Helper()
	urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1, Validators: 200}))
	e := run(
		t,
		confined(t),
		append(probed("identity", "validators"), listed(urls, "alpha"), "AVAX_VALIDATORS=all", "AVAX_ALERTING_INTERVAL=1s", "AVAX_TRUST_LOOPBACK="+trust,
			"AVAX_NOTIFY_FILE="+testworld.File(t, "{route: {receiver: nobody}, receivers: [{name: nobody}]}"))...)
	e.Ready()
	e.Until("samples", func(p page) error { return atLeast("avax_exporter_history_series", 200)(p) })
	e.endure(attack{name, querying, resident, false}, "outside", "alpha")
}

// An expensive rule fails, reports it, and does not affect other rules.
func TestExpensiveRuleFailsAlone(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1}))
	const rules = `
groups:
  - name: all
    rules:
      - {alert: Expensive, expr: 'sum_over_time(vector(1)[2h:1ms]) > 0'}
      - {alert: Watchdog, expr: vector(1)}
`
	e := start(t, append(append(quickly("up"), listed(urls, "alpha")), judging(t, rules)...)...)
	e.Until("the rule fails", testworld.Is("avax_exporter_rules_failing", 1))
	e.Until("the other one fires", testworld.Is(firing, 1))
	e.awaitLog("Expensive.*too many samples")
	testworld.Await(t, "the page says why", func() error {
		_, body, err := e.Get("/alerts")
		return wants(body, err, "too many samples")
	})
	e.needs("a rule that needs 7,200,000 samples at once", e.resident(), 450<<20)
}
