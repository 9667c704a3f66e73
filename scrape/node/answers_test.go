package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

const (
	avaxAsset = "28N55gFiYRrHWTopC4mybgvTw92x4EmWiZBLCRBgjXFyBgx9UN"
	secpFx    = "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ"
	xOwner    = "X-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"
	pOwner    = "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"
	evmOwner  = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"
)

func unix(seconds int64) *wire.UnixTime { return &wire.UnixTime{Time: time.Unix(seconds, 0).UTC()} }

func past(seconds int64) *wire.PastUnixTime {
	return &wire.PastUnixTime{Time: time.Unix(seconds, 0).UTC()}
}

func TestBlocksTransactionsAndBalancesDecodeExactly(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	output := func(amount uint64) node.TxOutput {
		return node.TxOutput{AssetID: avaxAsset, FxID: secpFx, Output: node.Output{
			Addresses: []string{pOwner}, Amount: new(wire.Uint64(amount)), Locktime: new(wire.Uint64(0)), Threshold: new(wire.Uint64(1)),
		}}
	}
	hex := func(prefix string, e node.Encoded[node.Block], err error) any {
		return err == nil && e.Encoding == node.Hex && e.JSON == nil && strings.HasPrefix(e.Hex, prefix)
	}
	xHex, xErr := c.AVMBlockByHeight(ctx, "X", 0, node.Hex)
	for name, check := range map[string]struct{ got, want any }{
		"an X-Chain block": {got(c.AVMBlockByHeight(ctx, "X", 0, node.JSON)), node.Encoded[node.Block]{Encoding: node.JSON, JSON: &node.Block{
			ID: "U6MM8doyVRTnUwjbZj6UMEquvu38tXXPehfaGdsfiZmKrvJtf", ParentID: "22hyk5maPijVoX12eRP6r8UWzz9hP6rBHgokJovpSNqQMRM2Ue",
			Time: past(1607144400), MerkleRoot: node.PrimaryNetworkID, Txs: []node.Tx{},
		}}},
		"an X-Chain block in hex": {hex("0x0000", xHex, xErr), true},
		"a P-Chain block": {got(c.PlatformBlockByHeight(ctx, 14, node.JSON)), node.Encoded[node.Block]{Encoding: node.JSON, JSON: &node.Block{
			ID: "SXrVtnHNB7An1iTJ2JQ734sN3FVa3muWMHcKBmrfpKXisCD6U", ParentID: "mTtWpa6yVD4kJ6Ka1SBHyZJrx9GcEwLRF3PD9yxpYsG7EaXXn",
			Height: 14, Time: past(1795198147),
			Txs: []node.Tx{{
				ID: "2EDi9nVH7Mf42PuUzc5p1ryhcU6TSw27QU2YNDcUvKsngALrTb",
				UnsignedTx: node.UnsignedTx{
					NetworkID: new(wire.Uint64(1337)), BlockchainID: node.PrimaryNetworkID, Memo: "0x",
					Outputs: []node.TxOutput{output(9999899999899444)},
					Inputs: []node.TxInput{{
						TxID: "bGfKK16DEgyp8xX6FpP2BB5UfE3fZFVn9f8NuS65sHWT5gn3J", AssetID: avaxAsset, FxID: secpFx,
						Input: node.Input{Amount: new(wire.Uint64(9999999999916042)), SignatureIndices: []wire.Uint64{0}},
					}},
				},
				Credentials: []node.Credential{{Signatures: []string{"0x1d8c3a939d8884290e48af0cacaa86109597e0332d5ba5d45f388bab852df9e41460f53094f1c9160148a4bff81a1f8ea0a0db0fc3de1a9eccc41bc49b152b3301"}}},
			}},
		}}},
		"the P-Chain's genesis": {got(c.PlatformBlock(ctx, "2Hm3s6bNDA8s7zgCVYEVUL8DMR5APTEhypZy3MY424GoAxM98M", node.JSON)), node.Encoded[node.Block]{Encoding: node.JSON, JSON: &node.Block{
			ID: "2Hm3s6bNDA8s7zgCVYEVUL8DMR5APTEhypZy3MY424GoAxM98M", ParentID: "ungu755W2Xtz9kEY7iGUQJZCfzEJQbXsUzfA66Wi8mFKDYEky",
		}}},
		"a transaction": {got(c.AVMTx(ctx, "X", avaxAsset, node.JSON)), node.Encoded[node.Tx]{Encoding: node.JSON, JSON: &node.Tx{
			ID: avaxAsset, Credentials: []node.Credential{},
			UnsignedTx: node.UnsignedTx{
				NetworkID: new(wire.Uint64(1337)), BlockchainID: node.PrimaryNetworkID, Outputs: []node.TxOutput{}, Inputs: []node.TxInput{},
				Memo: "0xb3d82b1367d362de99ab59a658165aff520cbd4db3d82b1367d362de99ab59a658165aff520cbd4d",
			},
		}}},
		"an asset":            {got(c.AVMAssetDescription(ctx, "X", "AVAX")), node.Asset{AssetID: avaxAsset, Name: "Avalanche", Symbol: "AVAX", Denomination: 9}},
		"an X-Chain balance":  {got(c.AVMBalance(ctx, "X", xOwner, "AVAX")), node.AVMBalance{Balance: 300000000000000000, UTXOIDs: []node.UTXOID{{TxID: avaxAsset, OutputIndex: 1}}}},
		"X-Chain balances":    {got(c.AVMAllBalances(ctx, "X", xOwner)), []node.AssetBalance{{Asset: "AVAX", Balance: 300000000000000000}}},
		"X-Chain fees":        {got(c.AVMTxFee(ctx, "X")), node.TxFee{TxFee: 1000000, CreateAssetTxFee: 1000000}},
		"the supply":          {got(c.PlatformCurrentSupply(ctx, "")), node.Supply{Supply: 361177296012368394, Height: new(wire.Height(14))}},
		"the P-Chain's fees":  {got(c.PlatformFeeState(ctx)), node.FeeState{Capacity: 991701, Excess: 8299, Price: 1, Timestamp: wire.PastTime{Time: utc("2026-11-20T18:09:07Z")}}},
		"aliases":             {got(c.AdminChainAliases(ctx, "2huFztbeB4LijVCoLrxP8NwFbRCdtLfUyvx4VXwD5VnVxzxkMX")), []string{"X", "avm", "2huFztbeB4LijVCoLrxP8NwFbRCdtLfUyvx4VXwD5VnVxzxkMX", "myxchain"}},
		"aliases of no chain": {got(c.AdminChainAliases(ctx, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof")), []string(nil)},
		"a P-Chain balance": {got(c.PlatformBalance(ctx, pOwner)), node.PlatformBalance{
			Balances: map[string]wire.Uint64{avaxAsset: 29994522899639994}, Unlockeds: map[string]wire.Uint64{avaxAsset: 29994522899639994},
			LockedStakeables: map[string]wire.Uint64{}, LockedNotStakeables: map[string]wire.Uint64{},
			UTXOIDs: []node.UTXOID{{TxID: "2EDi9nVH7Mf42PuUzc5p1ryhcU6TSw27QU2YNDcUvKsngALrTb"}, {TxID: "21Bz9oXu1AQ3zWciVWgcNBLemrhp6ZFitBpbvj6DPncnszH26V"}},
			Balance: new(wire.NanoAVAX(29994522899639994)), Unlocked: new(wire.NanoAVAX(29994522899639994)),
			LockedStakeable: new(wire.NanoAVAX(0)), LockedNotStakeable: new(wire.NanoAVAX(0)),
		}},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestEveryTransactionTypeDecodes(t *testing.T) {
	locked := `{"addresses":["P-a"],"amount":"18446744073709551615","locktime":7,"threshold":1}`
	c := answering(t, `{"id":1,"result":{"encoding":"json","block":{"id":"b","parentID":"a","height":1099511627776,
		"tx":{"id":"r","unsignedTx":{"txID":"rewarded"},"credentials":[]},
		"txs":[{"id":"s","credentials":[{"fxID":"f","credential":{"signatures":["0x1"]}}],"unsignedTx":{
			"destinationChain":"P","exportedOutputs":[{"assetID":"x","output":{"locktime":9,"output":`+locked+`}}],
			"sourceChain":"C","importedInputs":[{"txID":"t","outputIndex":4294967295,"assetID":"x","input":{"locktime":9,"input":{"amount":5,"signatureIndices":[1]}}}]}}]}}}`)
	e, err := c.PlatformBlockByHeight(t.Context(), 1, node.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&node.Block{
		ID: "b", ParentID: "a", Height: 1099511627776, Tx: &node.Tx{ID: "r", Credentials: []node.Credential{}},
		Txs: []node.Tx{{ID: "s", Credentials: []node.Credential{{FxID: "f", Credential: &node.Credential{Signatures: []string{"0x1"}}}}, UnsignedTx: node.UnsignedTx{
			DestinationChain: "P", SourceChain: "C",
			ExportedOutputs: []node.TxOutput{{AssetID: "x", Output: node.Output{Locktime: new(wire.Uint64(9)), Output: &node.Output{
				Addresses: []string{"P-a"}, Amount: new(wire.Uint64(18446744073709551615)), Locktime: new(wire.Uint64(7)), Threshold: new(wire.Uint64(1)),
			}}}},
			ImportedInputs: []node.TxInput{{TxID: "t", OutputIndex: 4294967295, AssetID: "x", Input: node.Input{Input: &node.Input{Amount: new(wire.Uint64(5)), SignatureIndices: []wire.Uint64{1}}}}},
		}}},
	}, e.JSON); diff != "" {
		t.Error(diff)
	}
	if _, err := answering(t, `{"id":1,"result":{"encoding":"cb58","block":"x"}}`).PlatformBlockByHeight(t.Context(), 1, ""); scrape.OutcomeOf(err) != scrape.Malformed {
		t.Errorf("unknown encoding: %v", err)
	}
}

func TestUnknownBlockIsAnErrorOnEveryChain(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	_, onX := c.AVMBlockByHeight(ctx, "X", 99999999, "")
	_, onC := c.EthBlockByNumber(ctx, "C", new(uint64(0xffffff)))
	_, onL1 := c.EthBlockByNumber(ctx, l1Chain, new(uint64(0xffffff)))
	for chain, err := range map[string]error{"X": onX, "C": onC, "L1": onL1} {
		if outcome := scrape.OutcomeOf(err); outcome != scrape.Rejected && outcome != scrape.NotFound {
			t.Errorf("%s: %v", chain, err)
		}
	}
	if want := "eth_getBlockByNumber: not_found: there is no such block"; onC.Error() != want {
		t.Errorf("got %v, want %s", onC, want)
	}
}

func TestEVMBlockTimeHasMilliseconds(t *testing.T) {
	c := replay(t, "healthy")
	b, err := c.EthBlockByNumber(t.Context(), l1Chain, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.EthBlock{
		Number: 56, Hash: "0xf92e6c3c0e15cd67f239ca8cfd8e08fc67199cc547f9235b4de4e584ea13f802",
		ParentHash: "0xcf177322dc8c867f3b99ceb3c79550d195b6e63a40e1eb9ebc2c8870673a963e", Timestamp: 1795198163,
		TimestampMilliseconds: new(wire.HexUint64(1795198163598)), GasLimit: 20000000, GasUsed: 21000,
		BaseFeePerGas: b.BaseFeePerGas, Transactions: []node.EthTxHash{"0xdda4ca5d3bb0ab1901dfa120fc43319298c6986752b679a30d5b52cba4a817cc"},
	}, b, cmp.Comparer(func(a, b *wire.HexInt) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if fee := b.BaseFeePerGas.String(); fee != "1000000000" {
		t.Errorf("base fee %s", fee)
	}
	if at := b.Time(); !at.Equal(time.UnixMilli(1795198163598)) {
		t.Errorf("time %s", at)
	}
	b.TimestampMilliseconds = nil
	if at := b.Time(); !at.Equal(time.Unix(1795198163, 0)) {
		t.Errorf("time %s", at)
	}
	if fee, err := c.EthBaseFee(t.Context(), l1Chain); err != nil || fee.String() != "1000000000" {
		t.Errorf("base fee %s, %v", fee, err)
	}
}

func TestEthBlockByHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		c, ctx, chain := simulated(t, network), t.Context(), network.Chain("examplel1").ID
		before, err := c.EthBlockByNumber(ctx, chain, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		const unknown = "0x1111111111111111111111111111111111111111111111111111111111111111"
		if got, err := c.EthBlockByHash(ctx, chain, before.Hash); err != nil || got.Number != before.Number {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := c.EthBlockByHash(ctx, chain, unknown); scrape.OutcomeOf(err) != scrape.NotFound {
			t.Errorf("unknown block: %v", err)
		}
	})
}

func TestEthChainConfigDecodesOnEveryVM(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	onL1, err := c.EthChainConfig(ctx, l1Chain)
	if err != nil {
		t.Fatal(err)
	}
	genesis, admins := unix(1607144400), []string{evmOwner}
	want := node.ChainConfig{
		ChainID: 99999, AllowFeeRecipients: new(true), Canonical: onL1.Canonical,
		Fees: &node.Fees{GasLimit: 20000000, TargetBlockRate: 2, MinBaseFee: 1000000000, TargetGas: 100000000, BaseFeeChangeDenominator: 48, MaxBlockGasCost: 10000000, BlockGasCostStep: 500000},
		Blocks: map[string]uint64{
			"berlinBlock": 0, "byzantiumBlock": 0, "constantinopleBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
			"homesteadBlock": 0, "istanbulBlock": 0, "londonBlock": 0, "muirGlacierBlock": 0, "petersburgBlock": 0,
		},
		Times: map[string]time.Time{
			"cancunTime": genesis.Time, "shanghaiTime": genesis.Time, "durangoTimestamp": genesis.Time, "etnaTimestamp": genesis.Time,
			"graniteTimestamp": genesis.Time, "heliconTimestamp": time.Unix(1795198084, 0).UTC(), "subnetEVMTimestamp": time.Unix(0, 0).UTC(),
		},
		Precompiles: map[string]node.Precompile{
			"contractDeployerAllowListConfig": {BlockTimestamp: genesis, AdminAddresses: admins},
			"contractNativeMinterConfig":      {BlockTimestamp: genesis, AdminAddresses: admins},
			"feeManagerConfig":                {BlockTimestamp: genesis, AdminAddresses: admins},
			"rewardManagerConfig":             {BlockTimestamp: genesis, AdminAddresses: admins},
			"warpConfig":                      {BlockTimestamp: genesis, QuorumNumerator: new(wire.Uint64(67)), RequirePrimaryNetworkSigners: true},
		},
		PrecompileUpgrades: []map[string]node.Precompile{
			{"feeManagerConfig": {BlockTimestamp: unix(1795199154), Disable: true}},
			{"txAllowListConfig": {BlockTimestamp: unix(1795199214), AdminAddresses: admins}},
		},
	}
	if diff := cmp.Diff(want, onL1); diff != "" {
		t.Error(diff)
	}
	onC, err := c.EthChainConfig(ctx, "C")
	if err != nil || onC.ChainID != 43112 || onC.Fees != nil || onC.AllowFeeRecipients != nil || len(onC.Precompiles) != 0 || onC.PrecompileUpgrades != nil ||
		!onC.Times["durangoBlockTimestamp"].Equal(genesis.Time) {
		t.Errorf("C-Chain: %+v, %v", onC, err)
	}
	if onPoA, err := c.EthChainConfig(ctx, poaChain); err != nil || onPoA.PrecompileUpgrades != nil || len(onPoA.Precompiles) != 4 {
		t.Errorf("without upgrades: %+v, %v", onPoA, err)
	}
}

func TestEmptyChainConfigFieldsStayAbsent(t *testing.T) {
	c, err := answering(t, `{"id":1,"result":{"chainId":18446744073709551615,"feeConfig":null,"allowFeeRecipients":null,"upgrades":null,
		"shanghaiTime":null,"londonBlock":null,"warpConfig":null,"etnaTimestamp":7,
		"neverTimestamp":18446744073709551615,"oddBlock":-1,"oddConfig":{"adminAddresses":7},"otherConfig":[]}}`).EthChainConfig(t.Context(), "C")
	if err != nil || c.ChainID != 18446744073709551615 || c.Fees != nil || c.AllowFeeRecipients != nil || c.PrecompileUpgrades != nil ||
		len(c.Blocks) != 0 || len(c.Precompiles) != 0 || len(c.Times) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	for config, want := range map[string]string{
		`{"etnaTimestamp":7}`:                     "eth_getChainConfig: malformed: result: chainId is missing",
		`{"chainId":null}`:                        "eth_getChainConfig: malformed: result: chainId: neither a number nor a string",
		`{"chainId":1,"feeConfig":{}}`:            `eth_getChainConfig: malformed: result: feeConfig: gasLimit is missing`,
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
		found, err := answering(t, `{"id":1,"result":`+config+`}`).EthChainConfig(t.Context(), "C")
		if err != nil {
			t.Fatal(err)
		}
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
	rules, err := c.EthActiveRulesAt(ctx, l1Chain, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules.EthRules) != 15 || !rules.EthRules["IsCancun"] || rules.EthRules["IsPrague"] || !rules.AvalancheRules["IsHelicon"] {
		t.Errorf("rules: %+v", rules)
	}
	if _, isRule := rules.EthRules["ChainID"]; isRule {
		t.Error("number decoded as a rule")
	}
	if since := rules.Precompiles["feeManagerConfig"].Timestamp; len(rules.Precompiles) != 5 || !since.Equal(time.Unix(1607144400, 0)) {
		t.Errorf("precompiles: %v", rules.Precompiles)
	}
	active, err := c.EthActivePrecompilesAt(ctx, l1Chain, nil)
	if err != nil || len(active) != 5 || !slices.Equal(active["feeManagerConfig"].AdminAddresses, []string{evmOwner}) {
		t.Errorf("precompiles: %v, %v", active, err)
	}
}

// healthAnswers are the recorded health answers of real nodes, by situation and path.
func healthAnswers(t *testing.T) map[string]*node.Client {
	t.Helper()
	survey, err := recorded.Load("survey")
	if err != nil {
		t.Fatal(err)
	}
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
		u, err := scrape.New(scrape.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
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
			if chain := len(name) == 1 || len(name) > 40; chain && check.Error != "not yet run" && check.Chain == nil && check.Message != nil || !chain && check.Chain != nil {
				t.Errorf("%s: %s: %s", what, name, check.Message)
			}
		}
	}
	if len(answers) < 8 {
		t.Fatalf("%d recordings", len(answers))
	}

	well, err := answers["healthy /ext/health 200"].Health(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&node.ChainHealth{
		LastAcceptedHeight: new(wire.Height(14)), LastAcceptedID: "2U7px9977eMHXeUDcai3G5sy3scsJhRka3buRuwLrNsdjpRnCP",
		ProcessingBlocks: new(wire.Uint64(0)), LongestProcessingBlock: &wire.GoDuration{}, PercentConnected: new(wire.Float(1)), DisconnectedValidators: []string{},
	}, well.Checks["P"].Chain); diff != "" {
		t.Error(diff)
	}
	for check, message := range map[string]string{"bls": `"node has the correct BLS key"`, "bootstrapped": "[]", "database": ""} {
		if got := string(well.Checks[check].Message); got != message {
			t.Errorf("%s: %q", check, got)
		}
	}

	alone, err := answers["bootstrapping /ext/health 503"].Health(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := alone.Checks["P"]
	if p.Error == "" || p.ContiguousFailures == 0 || p.TimeOfFirstFailure == nil || p.Chain.LastAcceptedHeight != nil || *p.Chain.PercentConnected != 0 || len(p.Chain.DisconnectedValidators) == 0 {
		t.Errorf("only P: %+v", p)
	}
}

func TestHealthRequestsTheRightPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		c, ctx := simulated(t, network), t.Context()
		if h, err := c.Health(ctx, network.Chain("examplel1").SubnetID); err != nil || !h.Healthy {
			t.Errorf("%+v, %v", h, err)
		}
		if call := network.Calls()[0]; call.Method != "GET /ext/health" || string(call.Params) != `"tag=`+network.Chain("examplel1").SubnetID+`"` {
			t.Errorf("called %s %s", call.Method, call.Params)
		}
		network.Node("alpha").SetChain("C", simnet.Bootstrapping)
		time.Sleep(time.Minute)
		if h, err := c.Health(ctx); err != nil || h.Healthy || string(h.Checks["bootstrapped"].Message) != `["`+node.PrimaryNetworkID+`"]` {
			t.Errorf("bootstrapping: %+v, %v", h, err)
		}
	})
}

// pages is a chain whose unspent outputs come from page, which takes the index at which a page starts.
func pages(t *testing.T, page func(start string) (utxos []string, end string)) (*node.Client, *int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var question struct {
			Params struct{ StartIndex node.UTXOIndex }
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &question)
		utxos, end := page(question.Params.StartIndex.UTXO)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1, "result": map[string]any{
			"numFetched": fmt.Sprint(len(utxos)), "utxos": append([]string{}, utxos...), "endIndex": node.UTXOIndex{Address: "X-a", UTXO: end}, "encoding": "hex",
		}})
	}))
	t.Cleanup(server.Close)
	u, err := scrape.New(scrape.Options{URL: server.URL, Rate: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	return node.New(u), &asked
}

func walk(t *testing.T, c *node.Client) (found []string, failed error) {
	t.Helper()
	for utxo, err := range c.AVMUTXOs(t.Context(), "X", node.UTXOQuery{Addresses: []string{"X-a"}}) {
		if err != nil {
			return found, err
		}
		found = append(found, utxo)
	}
	return found, nil
}

func TestAVMUTXOsYieldsEachOutputOnceAndEnds(t *testing.T) {
	for name, c := range map[string]struct {
		page  func(start string) ([]string, string)
		asked int
		want  string
	}{
		"ends at an empty page": {func(start string) ([]string, string) {
			return map[string][]string{"": {"0x1", "0x2"}, "0x2": {"0x2", "0x3"}}[start], map[string]string{"": "0x2", "0x2": "0x3", "0x3": "0x3"}[start]
		}, 3, "0x1 0x2 0x3"},
		"page with only the previous output": {func(start string) ([]string, string) {
			return map[string][]string{"": {"0x1"}, "a": {"0x1"}, "b": {"0x2"}}[start], map[string]string{"": "a", "a": "b", "b": "c"}[start]
		}, 4, "0x1 0x2"},
		"none":                            {func(string) ([]string, string) { return nil, "" }, 1, ""},
		"ends at a page without progress": {func(string) ([]string, string) { return []string{"0x1"}, "0x1" }, 2, "0x1"},
		"set that grows without end":      {func(start string) ([]string, string) { return []string{"0x1"}, start + "x" }, 100, "0x1"},
	} {
		client, asked := pages(t, c.page)
		found, err := walk(t, client)
		if strings.Join(found, " ") != c.want || *asked != c.asked || (err != nil) != (c.asked == 100) {
			t.Errorf("%s: %v %d pages, %v", name, found, *asked, err)
		}
		if err != nil && scrape.OutcomeOf(err) != scrape.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	client, asked := pages(t, func(start string) ([]string, string) { return []string{start + "x", start + "y"}, start + "y" })
	for _, err := range client.AVMUTXOs(t.Context(), "X", node.UTXOQuery{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if *asked != 1 {
		t.Errorf("%d pages after the caller stopped", *asked)
	}
	if _, err := walk(t, answering(t, `{"error":"no"}`)); scrape.OutcomeOf(err) != scrape.Rejected {
		t.Errorf("got %v", err)
	}
}

func TestAVMUTXOsOfTheSimulatedNetworkAreComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		network.SetUTXOs(1_200)
		for limit, pages := range map[int]int{0: 3, 5_000: 3, 500: 4} {
			network.ResetCalls()
			n := 0
			for _, err := range simulated(t, network).AVMUTXOs(t.Context(), "X", node.UTXOQuery{Addresses: []string{"X-" + simnet.Owner}, Limit: limit}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if asked := len(network.Calls()); n != 1_201 || asked != pages {
				t.Errorf("limit %d: %d outputs on %d pages", limit, n, asked)
			}
		}
	})
}
