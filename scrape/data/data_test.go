package data_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

func TestAbsentFieldsAreNotZero(t *testing.T) {
	answering := func(name string) *data.Client {
		body := fixture(t, name)
		return data.New(open(t, func(*http.Request) (*http.Response, error) { return respond(200, body), nil }))
	}
	rewards := must.Get(answering("rewards").RewardPage(t.Context(), data.Mainnet, nodeID, "", 0, ""))(t)
	if old, young := rewards.Items[0].Value.Reward, rewards.Items[1].Value.Reward; old.HistoricalPrice == nil || old.HistoricalPrice.Value != 42.42 ||
		old.Amount.Tokens(old.Denomination) != 3.780382 || young.HistoricalPrice != nil {
		t.Errorf("old and new reward: %+v %+v", old, young)
	}
	messages, err := answering("icm").ICMMessages(t.Context(), data.Mainnet, wallet, "")
	if err != nil || len(messages.Items) != 3 {
		t.Fatalf("%+v, %v", messages, err)
	}
	for i, want := range []struct {
		status              string
		source, destination bool
	}{{data.ICMPending, true, false}, {data.ICMDelivered, true, true}, {data.ICMDeliveredSourceNotIndexed, false, true}} {
		if m := messages.Items[i].Value; m.Status != want.status || (m.SourceTransaction != nil) != want.source ||
			(m.DestinationTransaction != nil) != want.destination {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if rich, err := answering("native").NativeBalance(t.Context(), "43114", wallet, ""); err != nil || rich.Tokens() != 2.5 || rich.BalanceValue.Value != 106.05 {
		t.Errorf("%+v, %v", rich, err)
	}
}

func TestAnswersWithoutRequiredFieldsAreMalformed(t *testing.T) {
	for _, body := range []string{`{}`, `{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":null}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":"-1"}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":"1.5"}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":""}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":` + strings.Repeat("9", 79) + `}}`} {
		c := data.New(open(t, func(*http.Request) (*http.Response, error) { return respond(200, body), nil }))
		if got, err := c.NativeBalance(t.Context(), "1", wallet, ""); scrape.OutcomeOf(err) != scrape.Malformed {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func TestIsKeyRejected(t *testing.T) {
	const words = "GET /v1/chains/{chainId}/blocks/{blockId}: forbidden: "
	for name, answer := range map[string]*http.Response{
		"401": refuse(401, "Unauthorized"), "403": refuse(403, "Forbidden resource"),
		"400 with words": refuse(400, "Api key is invalid"), "429 with words": refuse(429, "API key is invalid"),
	} {
		body := must.Get(io.ReadAll(answer.Body))(t)
		u := open(t, func(*http.Request) (*http.Response, error) { return respond(answer.StatusCode, string(body)), nil })
		for header, say := range map[string]string{
			data.KeyHeader: "the service rejects the key",
			"":             "the service requires a key, and none is configured",
		} {
			if header != "" {
				must.Do(t, u.Renew(http.Header{header: {"some-key"}}, nil))
			} else if err := u.Renew(nil, nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // shorter than a pause of ten seconds
			_, err := data.New(u).Block(ctx, "1", "1")
			cancel()
			if strings.HasPrefix(name, "429") && scrape.OutcomeOf(err) == scrape.RateLimited {
				continue // the pause is not over
			}
			if !data.IsKeyRejected(err) || scrape.OutcomeOf(err) != scrape.Forbidden || !strings.HasPrefix(err.Error(), words+say) ||
				!strings.Contains(err.Error(), "HTTP 4") {
				t.Errorf("%s, %q: %v", name, header, err)
			}
		}
	}
	for _, answer := range []*http.Response{refuse(400, "no"), refuse(404, "no"), respond(200, "{}")} {
		u := open(t, func(*http.Request) (*http.Response, error) { return answer, nil })
		if _, err := data.New(u).Block(t.Context(), "1", "1"); err == nil || data.IsKeyRejected(err) || strings.Contains(err.Error(), "key") {
			t.Errorf("%d: %v", answer.StatusCode, err)
		}
	}
	if data.IsKeyRejected(nil) {
		t.Error("nil is not a rejected key")
	}
}

func TestKeyStaysWithItsHostAndOutOfErrors(t *testing.T) {
	const canary = "c4n4ry-k3y"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("redirect followed: %v", r.Header)
	}))
	defer elsewhere.Close()
	for _, header := range []string{data.KeyHeader, "X-Other"} {
		for _, answer := range []func(http.ResponseWriter){
			func(w http.ResponseWriter) { w.Header().Set("Location", elsewhere.URL+"/"+canary); w.WriteHeader(307) },
			func(w http.ResponseWriter) {
				w.WriteHeader(401)
				fmt.Fprintf(w, `{"message":"Api key is invalid: %s"}`, canary)
			},
			func(w http.ResponseWriter) {
				fmt.Fprintf(w, `{"signedMessage":7,"blockNumber":"%s","historicalRewards":"%[1]s"}`, canary)
			},
			func(w http.ResponseWriter) {
				w.WriteHeader(400)
				fmt.Fprintf(w, `{"message":["pageToken %s","%[1]s"]}`, canary)
			},
		} {
			got := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get(header)
				answer(w)
			}))
			u := must.Get(scrape.New(scrape.Options{Name: "data", URL: server.URL, Header: http.Header{header: {canary}}}))(t)
			c := data.New(u)
			_, walked := c.RewardPage(t.Context(), data.Mainnet, nodeID, "", 0, "")
			_, once := c.Block(t.Context(), "1", "1")
			_, posted := c.AggregatedSignatures(t.Context(), data.Mainnet, "x")
			for _, err := range []error{walked, once, posted} {
				if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), server.URL) || got != canary {
					t.Errorf("%s was sent as %q: %v", header, got, err)
				}
			}
			server.Close()
		}
	}
}
