package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

func unix(seconds int64) *wire.UnixTime { return &wire.UnixTime{Time: time.Unix(seconds, 0).UTC()} }

func TestEVMBlockTimeHasMilliseconds(t *testing.T) {
	c := replay(t, "healthy")
	b := must.Get(c.EthBlockByNumber(t.Context(), l1Chain, nil))(t)
	if diff := cmp.Diff(node.EthBlock{
		Number: 56, Hash: "0xf92e6c3c0e15cd67f239ca8cfd8e08fc67199cc547f9235b4de4e584ea13f802",
		ParentHash: "0xcf177322dc8c867f3b99ceb3c79550d195b6e63a40e1eb9ebc2c8870673a963e", Timestamp: 1795198163,
		TimestampMilliseconds: new(wire.HexUint64(1795198163598)), GasLimit: 20000000, GasUsed: 21000,
		BaseFeePerGas: b.BaseFeePerGas, Transactions: 1, MinDelayExcess: new(wire.HexUint64(7_970_124)),
	}, b, cmp.Comparer(func(a, b *wire.BigInt) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if fee := b.BaseFeePerGas.String(); fee != "1000000000" {
		t.Errorf("base fee %s", fee)
	}
	if at := b.Time(); !at.Equal(time.UnixMilli(1795198163598)) {
		t.Errorf("time %s", at)
	}
	if delay := *b.MinBlockDelay(); math.Abs(delay-2) > 1e-6 || b.MinGasPrice() != nil || b.GasTarget() != nil {
		t.Errorf("delay %v s, gas price %v, target %v", delay, b.MinGasPrice(), b.GasTarget())
	}
	b.MinPriceExponent, b.TargetExponent = new(wire.HexUint64(415_828_534_307_635_077)), new(wire.HexUint64(1<<25))
	if price, target := *b.MinGasPrice(), *b.GasTarget(); math.Abs(price-math.E) > 1e-9 || math.Abs(target-1e6*math.E) > 1e-3 {
		t.Errorf("gas price %v, target %v", price, target)
	}
	b.TimestampMilliseconds = nil
	if at := b.Time(); !at.Equal(time.Unix(1795198163, 0)) {
		t.Errorf("time %s", at)
	}
}

func TestEthChainConfigDecodesOnEveryVM(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	onL1 := must.Get(c.EthChainConfig(ctx, l1Chain))(t)
	genesis := unix(1607144400)
	want := node.ChainConfig{
		ChainID: 99999, Canonical: onL1.Canonical,
		Times: map[string]time.Time{
			"cancunTime": genesis.Time, "shanghaiTime": genesis.Time, "durangoTimestamp": genesis.Time, "etnaTimestamp": genesis.Time,
			"graniteTimestamp": genesis.Time, "heliconTimestamp": time.Unix(1795198084, 0).UTC(), "subnetEVMTimestamp": time.Unix(0, 0).UTC(),
		},
		Precompiles: map[string]node.Precompile{
			"contractDeployerAllowListConfig": {BlockTimestamp: genesis},
			"contractNativeMinterConfig":      {BlockTimestamp: genesis},
			"feeManagerConfig":                {BlockTimestamp: genesis},
			"rewardManagerConfig":             {BlockTimestamp: genesis},
			"warpConfig":                      {BlockTimestamp: genesis},
		},
		PrecompileUpgrades: []map[string]node.Precompile{
			{"feeManagerConfig": {BlockTimestamp: unix(1795199154), Disable: true}},
			{"txAllowListConfig": {BlockTimestamp: unix(1795199214)}},
		},
	}
	if diff := cmp.Diff(want, onL1); diff != "" {
		t.Error(diff)
	}
	onC, err := c.EthChainConfig(ctx, "C")
	if err != nil || onC.ChainID != 43112 || len(onC.Precompiles) != 0 || onC.PrecompileUpgrades != nil ||
		!onC.Times["durangoBlockTimestamp"].Equal(genesis.Time) {
		t.Errorf("C-Chain: %+v, %v", onC, err)
	}
	if onPoA, err := c.EthChainConfig(ctx, poaChain); err != nil || onPoA.PrecompileUpgrades != nil || len(onPoA.Precompiles) != 4 {
		t.Errorf("without upgrades: %+v, %v", onPoA, err)
	}
}

func TestUnfitChainConfigMembersAreOmitted(t *testing.T) {
	c, err := answering(t, `{"id":1,"result":{"chainId":18446744073709551615,"feeConfig":null,"upgrades":null,"shanghaiTime":null,"warpConfig":null,
		"etnaTimestamp":7,"neverTimestamp":18446744073709551615,"oddConfig":{"blockTimestamp":"x"},"otherConfig":[]}}`).EthChainConfig(t.Context(), "C")
	if err != nil || c.ChainID != 18446744073709551615 || c.PrecompileUpgrades != nil || len(c.Precompiles) != 0 || len(c.Times) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	for config, want := range map[string]string{
		`{"etnaTimestamp":7}`:                     "eth_getChainConfig: malformed: result: chainId is missing",
		`{"chainId":null}`:                        "eth_getChainConfig: malformed: chainId: neither a number nor a string",
		`{"chainId":1,"upgrades":{},"a":1,"a":2}`: "",
		`[]`: "",
	} {
		_, err := answering(t, `{"id":1,"result":`+config+`}`).EthChainConfig(t.Context(), "C")
		if scrape.OutcomeOf(err) != scrape.Malformed || want != "" && err.Error() != want {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestEqualChainConfigsHaveEqualCanonicalText(t *testing.T) {
	canonical := func(config string) string {
		found := must.Get(answering(t, `{"id":1,"result":`+config+`}`).EthChainConfig(t.Context(), "C"))(t)
		return found.Canonical
	}
	want := `{"a":{"b":[1,2],"c":"é"},"chainId":1,"weight":9007199254740993}`
	for _, config := range []string{want, `{"weight": 9007199254740993, "chainId":1, "a":{"c":"\u00e9", "b":[1, 2]}}`} {
		if got := canonical(config); got != want {
			t.Errorf("%s: canonical text %s", config, got)
		}
	}
	if got := canonical(strings.Replace(want, "993", "992", 1)); got == want {
		t.Error("different numbers above 2^53 have equal canonical texts")
	}
}

func TestEthActiveRulesAtDecodesRules(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	rules := must.Get(c.EthActiveRulesAt(ctx, l1Chain))(t)
	if len(rules.EthRules) != 15 || !rules.EthRules["IsCancun"] || rules.EthRules["IsPrague"] || !rules.AvalancheRules["IsHelicon"] {
		t.Errorf("rules: %+v", rules)
	}
	if _, isRule := rules.EthRules["ChainID"]; isRule {
		t.Error("number decoded as a rule")
	}
	if since := rules.Precompiles["feeManagerConfig"].Timestamp; len(rules.Precompiles) != 5 || !since.Equal(time.Unix(1607144400, 0)) {
		t.Errorf("precompiles: %v", rules.Precompiles)
	}
}

// healthAnswers are the recorded health answers of real nodes, by situation and path.
func healthAnswers(t *testing.T) map[string]*node.Client {
	t.Helper()
	survey := must.Get(recorded.Load("survey"))(t)
	clients := map[string]*node.Client{}
	for _, r := range survey {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Path, "/ext/health") {
			continue
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
			if asked.Method != http.MethodGet {
				t.Errorf("method %s", asked.Method)
			}
			w.WriteHeader(r.Status)
			_, _ = io.WriteString(w, r.Response)
		}))
		t.Cleanup(server.Close)
		u := must.Get(scrape.New(scrape.Options{URL: server.URL}))(t)
		clients[fmt.Sprintf("%s %s %d", r.From, r.Path, r.Status)] = node.New(u)
	}
	return clients
}

func TestUnhealthyNodeIsAnAnswer(t *testing.T) {
	answers, ctx := healthAnswers(t), t.Context()
	for what, c := range answers {
		h, err := c.Health(ctx)
		if err != nil || h.Healthy != strings.HasSuffix(what, "200") || h.Checks == nil {
			t.Errorf("%s: %+v, %v", what, h, err)
		}
		if !c.Healthy() {
			t.Errorf("%s: unhealthy after an answer", what)
		}
		for name, check := range h.Checks {
			if check.Timestamp.IsZero() != (check.Error == "not yet run") {
				t.Errorf("%s: %s: %+v", what, name, check)
			}
		}
	}
	if len(answers) < 6 {
		t.Fatalf("%d recordings", len(answers))
	}
	well, err := answers["healthy /ext/health 200"].Health(ctx)
	if m := well.Checks["P"].Message; err != nil || m.ProcessingBlocks == nil || *m.ProcessingBlocks != 0 || m.LongestProcessingBlock == nil ||
		well.Checks["bls"].Message.ProcessingBlocks != nil {
		t.Errorf("healthy: %+v, %v", well.Checks, err)
	}
	alone, err := answers["bootstrapping /ext/health 503"].Health(ctx)
	if p := alone.Checks["P"]; err != nil || p.Error == "" || p.Message.ProcessingBlocks != nil {
		t.Errorf("only P: %+v, %v", p, err)
	}
}

// pages is a chain whose unspent outputs come from page, which takes the index at which a page starts.
func pages(t *testing.T, page func(start string) (utxos []string, end string)) (*node.Client, *int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var question struct {
			Params struct{ StartIndex struct{ UTXO string } }
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &question)
		utxos, end := page(question.Params.StartIndex.UTXO)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1, "result": map[string]any{
			"numFetched": fmt.Sprint(len(utxos)), "utxos": append([]string{}, utxos...), "endIndex": map[string]string{"address": "X-a", "utxo": end}, "encoding": "hex",
		}})
	}))
	t.Cleanup(server.Close)
	u := must.Get(scrape.New(scrape.Options{URL: server.URL, Rate: 1e6}))(t)
	return node.New(u), &asked
}

func TestAVMUTXOsCountsEachOutputOnceAndEnds(t *testing.T) {
	for name, c := range map[string]struct {
		page        func(start string) ([]string, string)
		asked, want int
	}{
		"ends at an empty page": {func(start string) ([]string, string) {
			return map[string][]string{"": {"0x1", "0x2"}, "0x2": {"0x2", "0x3"}}[start], map[string]string{"": "0x2", "0x2": "0x3", "0x3": "0x3"}[start]
		}, 3, 3},
		"none":                            {func(string) ([]string, string) { return nil, "" }, 1, 0},
		"ends at a page without progress": {func(string) ([]string, string) { return []string{"0x1"}, "0x1" }, 2, 1},
		"set that grows without end":      {func(start string) ([]string, string) { return []string{"0x1"}, start + "x" }, 100, 0},
	} {
		client, asked := pages(t, c.page)
		found, err := client.AVMUTXOs(t.Context(), "X", "X-a")
		if found != c.want || *asked != c.asked || (scrape.OutcomeOf(err) == scrape.TooLarge) != (c.asked == 100) {
			t.Errorf("%s: %d of %d pages, %v", name, found, *asked, err)
		}
	}
}
