package scrape_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// refusals are refusals by kind, as nodes and gateways write them.
var refusals = map[scrape.Outcome][]struct {
	status int
	body   string
}{
	scrape.RateLimited: {
		{200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"daily request count exceeded, request rate limited"}}`},
		{200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"DAILY REQUEST COUNT EXCEEDED"}}`},
		{200, `{"error":{"code":"-32005","message":"limit"}}`},
		{200, `{"error":{"code":429,"message":"Your app has exceeded its compute units per second capacity."}}`},
		{200, `{"error":{"code":"429","message":""}}`},
		{200, `{"error":{"code":-32012,"message":"over capacity"}}`},
		{200, `{"error":{"code":-32016,"message":"over rate limit"}}`},
		{200, `{"error":{"code":-32007,"message":"15/second request limit reached"}}`},
		{200, `{"error":{"code":-32090,"message":"Too many requests, reason: call rate limit exhausted, retry in 10s"}}`},
		{200, `{"error":{"code":-32000,"message":"monthly quota exceeded"}}`},
		{200, `{"error":"rate limit exceeded"}`},
		{200, `{"code":-32005,"message":"rate limit exceeded"}`},
		{200, `{"message":"API rate limit exceeded"}`},
		{402, `{"message":"Payment Required"}`},
		{403, `{"error":{"code":-32005,"message":"You have exceeded the quota of your plan"}}`},
		{429, `<html>Too Many Requests</html>`},
		{429, ``},
		{503, `{"error":{"code":-32016,"message":"over rate limit"}}`},
	},
	scrape.Unavailable: {
		{200, `{"error":{"code":-32011,"message":"no backend is currently healthy to serve traffic"}}`},
		{200, `{"error":{"code":-32000,"message":"No Backend is currently healthy to serve traffic"}}`},
		{200, `{"error":{"code":-32010,"message":"backend offline"}}`},
		{200, `{"error":{"code":"-32018","message":"x"}}`},
		{200, `{"error":{"code":503,"message":"x"}}`},
		{503, `no healthy upstream`},
		{502, `<html>nginx</html>`},
		{503, `{"error":{"code":-32011,"message":"no backends available for method"}}`},
	},
	scrape.NotOffered: {
		{200, `{"error":{"code":-32601,"message":"the method eth_x does not exist/is not available"}}`},
		{200, `{"error":{"code":"-32601","message":"nope"}}`},
		{200, `{"error":{"code":-32000,"message":"rpc: can't find method \"platform.getHeight\"","data":null}}`},
		{200, `{"error":{"code":-32000,"message":"rpc: can't find service \"platform.getHeight\""}}`},
		{200, `{"error":{"code":-32001,"message":"rpc method is not whitelisted"}}`},
		{200, `{"error":{"code":-32600,"message":"Method Not Allowed"}}`},
		{200, `{"error":{"code":-32004,"message":"x"}}`},
		{200, `{"error":{"code":-32000,"message":"Unsupported method: platform.getHeight"}}`},
		{403, `{"error":{"code":-32001,"message":"rpc method is not whitelisted"}}`},
		{404, `{"error":{"code":-32601,"message":"Method not found"}}`},
		{400, `{"error":{"code":-32601,"message":"x"}}`},
		{405, `rpc: POST method required`},
		{501, ``},
	},
	scrape.Forbidden: {
		{200, `{"error":{"code":-32600,"message":"Must be authenticated!"}}`},
		{200, `{"error":{"code":-32002,"message":"Invalid API key"}}`},
		{401, ``},
		{403, `Forbidden`},
		{403, `<html>Forbidden</html>`},
		{403, "invalid host specified\n"},
		{451, `not in your country`},
	},
	scrape.Bootstrapping: {
		{503, "API call rejected because chain is not done bootstrapping\n"},
		{200, `{"error":{"code":-32000,"message":"API call rejected because chain is not done bootstrapping"}}`},
	},
	scrape.Rejected: {
		{200, `{"error":{"code":-32602,"message":"invalid argument 0"}}`},
		{200, `{"error":{"code":-32700,"message":"EOF"}}`},
		{200, `{"error":{"code":-32603,"message":"method handler crashed"}}`},
		{200, `{"error":{"code":-32000,"message":"argument 'chain' not given"}}`},
		{200, `{"error":{"code":-32005,"message":"query returned more than 10000 results"}}`},
		{200, `{"error":{}}`},
		{400, `bad request`},
		{413, ``},
	},
	scrape.NotFound: {{404, "404 page not found\n"}, {404, `<html>nginx</html>`}, {404, ``}},
}

func TestRefusalsAreClassifiedByKind(t *testing.T) {
	for want, all := range refusals {
		for _, c := range all {
			u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
				return respond(c.status, c.body), nil
			})})
			err := callRPC(u)
			if got := scrape.OutcomeOf(err); got != want {
				t.Errorf("HTTP %d %s: %s, want %s: %v", c.status, c.body, got, want, err)
			}
			if healthy := want != scrape.RateLimited && want != scrape.Unavailable && want != scrape.Forbidden; u.Healthy() != healthy || !u.Succeeded().IsZero() {
				t.Errorf("HTTP %d %s: healthy %t, result at %s", c.status, c.body, u.Healthy(), u.Succeeded())
			}
		}
	}
}

// The pause is as long for an error with status 200 as for status 429.
func TestSpentRatesPauseWithAnyStatus(t *testing.T) {
	for _, c := range []struct {
		name, header, body string
		status             int
		want               time.Duration
	}{
		{"429", "", ``, 429, 10 * time.Second},
		{"429 with Retry-After", "30", ``, 429, 30 * time.Second},
		{"a rate in an error", "", `{"error":{"code":-32016,"message":"over rate limit"}}`, 200, 10 * time.Second},
		{"a rate in an error, with Retry-After", "25", `{"error":{"code":-32016,"message":"over rate limit"}}`, 200, 25 * time.Second},
		{"a rate with a time", "", `{"error":{"code":-32090,"message":"Too many requests, Retry in 20s"}}`, 200, 20 * time.Second},
		{"a rate with a time in seconds", "", `{"error":{"code":-32005,"message":"rate limit, try again after 15 seconds"}}`, 200, 15 * time.Second},
		{"a quota of a day", "", `{"error":{"code":-32005,"message":"daily request count exceeded, request rate limited"}}`, 200, 5 * time.Minute},
		{"a payment", "", ``, 402, 5 * time.Minute},
		{"a quota with status 403", "", `{"error":{"code":1,"message":"monthly quota exceeded"}}`, 403, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent []time.Time
				u := open(t, scrape.Options{URL: "http://node", MaxWait: 5 * time.Minute, Transport: transport(func(*http.Request) (*http.Response, error) {
					sent = append(sent, time.Now())
					r := respond(c.status, c.body)
					if c.header != "" {
						r.Header = http.Header{"Retry-After": {c.header}}
					}
					return r, nil
				})})
				_ = callRPC(u)
				first := sent[0]
				for len(sent) < 3 && time.Since(first) < time.Hour {
					time.Sleep(time.Second)
					if n := len(sent); time.Since(first) > time.Second && n == 1 {
						_ = callRPC(u)
					}
					if len(sent) > 1 {
						break
					}
				}
				if got := sent[1].Sub(first); got < c.want || got > c.want+3*time.Second {
					t.Errorf("the second request came after %s, want %s", got, c.want)
				}
			})
		})
	}
}

// A gateway that blocks one method with 403 or 404 answers the others.
func TestOneBlockedMethodIsNotOffered(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		synctest.Test(t, func(t *testing.T) {
			all := false
			u := open(t, scrape.Options{URL: "http://node", RepeatAfter: func(string, error, bool) time.Duration { return 0 },
				Transport: transport(func(r *http.Request) (*http.Response, error) {
					if body := make([]byte, 200); all || func() bool { n, _ := r.Body.Read(body); return strings.Contains(string(body[:n]), "getHeight") }() {
						return respond(status, ""), nil
					}
					return respond(http.StatusOK, `{"id":1,"result":"x"}`), nil
				})})
			call := func(method string) scrape.Outcome {
				time.Sleep(time.Second)
				_, err := rpc[string](t.Context(), u, "/ext/bc/P", method, nil)
				return scrape.OutcomeOf(err)
			}
			first := call("platform.getHeight")
			if first == scrape.NotOffered || call("platform.getHeight") != first {
				t.Errorf("HTTP %d to everything so far: %s", status, first)
			}
			if call("platform.getTimestamp") != scrape.OK || call("platform.getHeight") != scrape.NotOffered {
				t.Errorf("HTTP %d to one method: %s", status, call("platform.getHeight"))
			}
			all = true
			call("platform.getHeight")
			if got := []scrape.Outcome{call("platform.getHeight"), call("platform.getTimestamp")}; got[0] != first || got[1] != first {
				t.Errorf("HTTP %d to everything again: %v", status, got)
			}
		})
	}
}

func TestLostMethodsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuses := true
		u := open(t, scrape.Options{URL: "http://node", RepeatAfter: func(_ string, err error, _ bool) time.Duration {
			if scrape.OutcomeOf(err) == scrape.NotOffered {
				return time.Hour
			}
			return 0
		}, Transport: transport(func(*http.Request) (*http.Response, error) {
			if refuses {
				return respond(http.StatusOK, `{"error":{"code":-32601,"message":"no"}}`), nil
			}
			return respond(http.StatusOK, good), nil
		})})
		if err := callRPC(u); scrape.IsLost(err) || scrape.OutcomeOf(err) != scrape.NotOffered {
			t.Errorf("never answered: %v", err)
		}
		refuses = false
		u.ForgetAnswers()
		must.Do(t, callRPC(u))
		refuses = true
		for range 3 {
			var refusal *scrape.RPCError
			if err := callRPC(u); !scrape.IsLost(err) || scrape.OutcomeOf(err) != scrape.NotOffered || !errors.As(err, &refusal) {
				t.Errorf("answered before: %v", err)
			}
			u.ForgetAnswers()
		}
		refuses = false
		u.ForgetAnswers()
		if err := callRPC(u); err != nil {
			t.Error(err)
		}
	})
}
