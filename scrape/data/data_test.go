package data_test

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// told answers with a fixture.
func told(t *testing.T, name string) *data.Client {
	t.Helper()
	body := string(fixture(t, name))
	return data.New(open(t, func(*http.Request) (*http.Response, error) { return respond(200, body), nil }))
}

func TestAbsentFieldsAreNotZero(t *testing.T) {
	assets, err := told(t, "asset_transactions").AssetTransactionPage(t.Context(), data.Mainnet, data.XChain, "a", data.AssetTransactionQuery{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if graph, chain := assets.Transactions[0].Value, assets.Transactions[1].Value; graph.BlockHeight != nil || len(graph.Vertices) != 1 || graph.ChainFormat != data.NonLinear ||
		chain.BlockHeight == nil || *chain.BlockHeight != 1005 || chain.Vertices != nil || chain.ChainFormat != data.Linear {
		t.Errorf("both formats: %+v", assets.Transactions)
	}
	if out := assets.Transactions[0].Value.EmittedUTXOs[0]; out.ConsumingTxTimestamp != nil || out.Asset.Amount.Sign() != 0 {
		t.Errorf("unspent output: %+v", out)
	}

	rewards, err := told(t, "rewards").RewardPage(t.Context(), data.Mainnet, data.RewardQuery{NodeIDs: []string{nodeID}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if old, young := rewards.Rewards[0].Value.Reward, rewards.Rewards[1].Value.Reward; old.HistoricalPrice == nil || old.HistoricalPrice.Value != 42.42 || old.Amount.Tokens(uint64(old.Denomination)) != 3.780382 || young.HistoricalPrice != nil {
		t.Errorf("old and new reward: %+v %+v", old, young)
	}

	icm, err := told(t, "icm").ICMMessagePage(t.Context(), wallet, data.ICMQuery{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		status              string
		source, destination bool
	}{{data.ICMPending, true, false}, {data.ICMDelivered, true, true}, {data.ICMDeliveredSourceNotIndexed, false, true}} {
		if m := icm.Messages[i].Value; m.Status != want.status || (m.SourceTransaction != nil) != want.source || (m.DestinationTransaction != nil) != want.destination {
			t.Errorf("message %d: %+v", i, m)
		}
	}

	owned, err := told(t, "collectibles").CollectiblePage(t.Context(), "1", wallet, data.CollectibleQuery{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if one, many := owned.Collectibles[0].Value, owned.Collectibles[1].Value; one.Balance != nil || many.Balance == nil || many.Balance.Int64() != 3 || one.Metadata.Indexed() || !many.Metadata.Indexed() {
		t.Errorf("both types: %+v %+v", one, many)
	}

	rich, err := told(t, "native").NativeBalance(t.Context(), "43114", wallet, data.NativeBalanceQuery{})
	if err != nil || rich.Tokens() != 2.5 || rich.BalanceValue.Value != 106.05 || rich.Price.Value != 42.42 {
		t.Errorf("%+v, %v", rich, err)
	}
	poor, err := told(t, "erc721").ERC721BalancePage(t.Context(), "43114", wallet, data.CollectibleQuery{}, "")
	if err != nil || poor.NativeTokenBalance.Price != nil || poor.NativeTokenBalance.Tokens() != 0 {
		t.Errorf("%+v, %v", poor, err)
	}
}

func TestAnswersWithoutRequiredFieldsAreMalformed(t *testing.T) {
	for _, body := range []string{`{}`, `{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18}}`, `{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":null}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":"-1"}}`, `{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":"1.5"}}`,
		`{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":""}}`, `{"nativeTokenBalance":{"chainId":"1","symbol":"A","decimals":18,"balance":` + strings.Repeat("9", 79) + `}}`} {
		c := data.New(open(t, func(*http.Request) (*http.Response, error) { return respond(200, body), nil }))
		if got, err := c.NativeBalance(t.Context(), "1", wallet, data.NativeBalanceQuery{}); scrape.OutcomeOf(err) != scrape.Malformed {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func TestTokensConvertsAnyDecimals(t *testing.T) {
	huge := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for _, c := range []struct {
		n        *big.Int
		decimals uint64
		want     float64
	}{
		{big.NewInt(0), 18, 0}, {big.NewInt(1), 0, 1}, {big.NewInt(1500000000), 9, 1.5}, {big.NewInt(1), 18, 1e-18},
		{huge, 0, 1.157920892373162e77}, {huge, 1 << 63, 1.157920892373162e77 / 1e255},
	} {
		if got := (data.Amount{Int: c.n}).Tokens(c.decimals); got != c.want && (got-c.want)/c.want > 1e-15 {
			t.Errorf("%v with %d decimals: got %v, want %v", c.n, c.decimals, got, c.want)
		}
	}
}

func TestGenesisKeepsAnyVMAndDecodesEVM(t *testing.T) {
	page, err := told(t, "blockchains").BlockchainPage(t.Context(), data.Mainnet, data.BlockchainQuery{}, "")
	if err != nil {
		t.Fatal(err)
	}
	evm, x, text, p := page.Blockchains[0].Value, page.Blockchains[1].Value, page.Blockchains[2].Value, page.Blockchains[3].Value
	genesis, err := evm.GenesisData.EVM()
	if err != nil {
		t.Fatal(err)
	}
	raw := parsed(t, evm.GenesisData.Raw)
	for _, problem := range lost("", raw, again(t, genesis)) {
		t.Error(problem)
	}
	if genesis.AirdropAmount != nil || genesis.Config.FeeConfig.MinBaseFee.Int64() != 25000000000 || genesis.Timestamp.Int64() != 0x64f0a000 {
		t.Errorf("got %+v", genesis)
	}
	if genesis, err := text.GenesisData.EVM(); err != nil || *genesis.Config.ChainID != 42 {
		t.Errorf("string genesis: %+v, %v", genesis, err)
	}
	if _, err := x.GenesisData.EVM(); err == nil || string(x.GenesisData.Raw) != `{"encoding":"hex","data":"0x0000"}` {
		t.Errorf("X-Chain: %s, %v", x.GenesisData.Raw, err)
	}
	if p.GenesisData != nil || p.EVMChainID != nil || p.CreateBlockNumber != -1 {
		t.Errorf("P-Chain: %+v", p)
	}
	for _, odd := range []string{`"text"`, `[1]`, `7`, `{"config":{"chainId":"x"}}`, `""`, `true`} {
		c := data.New(open(t, func(*http.Request) (*http.Response, error) {
			return respond(200, `{"blockchains":[{"createBlockTimestamp":0,"createBlockNumber":"1","blockchainId":"b","vmId":"v","subnetId":"s","blockchainName":"n","genesisData":`+odd+`}]}`), nil
		}))
		page, err := c.BlockchainPage(t.Context(), data.Mainnet, data.BlockchainQuery{}, "")
		if err != nil || string(page.Blockchains[0].Value.GenesisData.Raw) != odd {
			t.Errorf("%s: %+v, %v", odd, page, err)
		} else if genesis, err := page.Blockchains[0].Value.GenesisData.EVM(); err == nil {
			t.Errorf("%s decoded as an EVM genesis: %+v", odd, genesis)
		}
	}
}

func TestIsKeyRejected(t *testing.T) {
	const words = "GET /v1/chains/{chainId}/blocks/{blockId}: forbidden: "
	for name, answer := range map[string]*http.Response{
		"401": refuse(401, "Unauthorized"), "403": refuse(403, "Forbidden resource"),
		"400 with words": refuse(400, "Api key is invalid"), "429 with words": refuse(429, "API key is invalid"),
	} {
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		u := open(t, func(*http.Request) (*http.Response, error) { return respond(answer.StatusCode, string(body)), nil })
		for header, say := range map[string]string{
			data.KeyHeader: "the service rejects the key",
			"":             "the service requires a key, and none is configured",
		} {
			if header != "" {
				if err := u.Renew(http.Header{header: {"some-key"}}, nil); err != nil {
					t.Fatal(err)
				}
			} else if err := u.Renew(nil, nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // shorter than a pause of ten seconds
			_, err := data.New(u).Block(ctx, "1", "1")
			cancel()
			if strings.HasPrefix(name, "429") && scrape.OutcomeOf(err) == scrape.RateLimited {
				continue // the pause is not over
			}
			if !data.IsKeyRejected(err) || scrape.OutcomeOf(err) != scrape.Forbidden || !strings.HasPrefix(err.Error(), words+say) || !strings.Contains(err.Error(), "HTTP 4") {
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
	for _, header := range []string{data.KeyHeader, data.LegacyKeyHeader, "X-Other"} {
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
			u, err := scrape.New(scrape.Options{Name: "data", URL: server.URL, Header: http.Header{header: {canary}}})
			if err != nil {
				t.Fatal(err)
			}
			c := data.New(u)
			_, walked := count(c.Rewards(t.Context(), data.Mainnet, data.RewardQuery{NodeIDs: []string{nodeID}}))
			_, once := c.Block(t.Context(), "1", "1")
			_, posted := c.AggregateSignatures(t.Context(), data.Mainnet, data.SignatureQuery{Message: "00"})
			for _, err := range []error{walked, once, posted} {
				if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), server.URL) || got != canary {
					t.Errorf("%s was sent as %q: %v", header, got, err)
				}
			}
			server.Close()
		}
	}
}

func TestRetryAfterOfTheServiceIsObeyed(t *testing.T) {
	for name, want := range map[string]time.Duration{"Retry-After": 42 * time.Second, "Ratelimit-Reset": 42 * time.Second, "X-Other": 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			c := data.New(open(t, func(*http.Request) (*http.Response, error) {
				if requests++; requests > 1 {
					return respond(200, string(fixture(t, "block"))), nil
				}
				r := refuse(429, "Too Many Requests")
				r.Header.Set(name, "42")
				return r, nil
			}))
			began := time.Now()
			for requests < 2 {
				if _, err := c.Block(t.Context(), "1", "1"); err != nil && scrape.OutcomeOf(err) != scrape.RateLimited {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			if waited := time.Since(began); waited < want || waited > want+3*time.Second {
				t.Errorf("%s: next request after %s", name, waited)
			}
		})
	}
}

func TestReindexIsSentAtMostOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, answer := 0, respond(201, "")
		c := data.New(open(t, func(*http.Request) (*http.Response, error) {
			requests++
			return answer, nil
		}))
		again := func(address, token string) error { return c.Reindex(t.Context(), "43114", address, token) }
		expect := func(want int, what string) {
			t.Helper()
			if requests != want {
				t.Errorf("%s: %d requests, want %d", what, requests, want)
			}
		}

		if err := again(nftAt, "7"); err != nil {
			t.Error(err)
		}
		time.Sleep(59 * time.Minute)
		err := again(strings.ToUpper(nftAt), "7")
		if want := "POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex: rate_limited: a token can be indexed once an hour: wait another 1m0s"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		expect(1, "within the hour")
		if err := again(nftAt, "8"); err != nil {
			t.Error(err)
		}
		expect(2, "another token")
		time.Sleep(time.Minute)
		if err := again(nftAt, "7"); err != nil {
			t.Error(err)
		}
		expect(3, "an hour later")
		_ = again(nftAt, "7")
		expect(3, "and at once again")

		answer = refuse(400, "no")
		_ = again(nftAt, "9")
		answer = respond(502, "")
		_ = again(nftAt, "9")
		expect(5, "a refused call does not count")
		_ = again(nftAt, "9")
		expect(5, "one that may have arrived does")
	})
}
