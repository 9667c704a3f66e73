package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// documented returns the methods in the tables of the documented interface.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/methods.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func TestMethodsMatchTheDocumentedInterface(t *testing.T) {
	var rows []string
	for _, m := range node.Methods() {
		if !m.Undocumented {
			rows = append(rows, m.Name)
		}
	}
	slices.Sort(rows)
	if diff := cmp.Diff(slices.Sorted(slices.Values(documented(t))), rows); diff != "" {
		t.Errorf("documented (-), in the table (+):\n%s", diff)
	}
}

// question is a call of a method, as the interface documents it.
type question struct {
	chain  string
	params json.RawMessage
}

func (q question) member(name string) any {
	var object map[string]any
	_ = json.Unmarshal(q.params, &object)
	return object[name]
}

func (q question) text(name string) string {
	s, _ := q.member(name).(string)
	return s
}

func (q question) as() node.Encoding { return node.Encoding(q.text("encoding")) }

func (q question) number(name string) uint64 {
	n, _ := strconv.ParseUint(fmt.Sprint(q.member(name)), 10, 64)
	return n
}

func (q question) texts(name string) (list []string) {
	many, _ := q.member(name).([]any)
	for _, one := range many {
		list = append(list, one.(string))
	}
	return list
}

func (q question) at(i int) any {
	var list []any
	_ = json.Unmarshal(q.params, &list)
	if i < len(list) {
		return list[i]
	}
	return nil
}

// block returns the first parameter as a block number; nil for the latest.
func (q question) block() *uint64 {
	hex, _ := q.at(0).(string)
	if n, err := strconv.ParseUint(strings.TrimPrefix(hex, "0x"), 16, 64); err == nil {
		return &n
	}
	return nil
}

// instant returns the first parameter in Unix seconds; nil without one.
func (q question) instant() *time.Time {
	if seconds, ok := q.at(0).(float64); ok {
		return new(time.Unix(int64(seconds), 0))
	}
	return nil
}

func nothing(err error) (any, error) { return struct{}{}, err }

func some[T any](v T, err error) (any, error) { return v, err }

// typed calls each method through the typed client.
var typed = map[string]func(context.Context, *node.Client, question) (any, error){
	"admin.alias": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return nothing(c.AdminAlias(ctx, q.text("endpoint"), q.text("alias")))
	},
	"admin.aliasChain": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return nothing(c.AdminAliasChain(ctx, q.text("chain"), q.text("alias")))
	},
	"admin.getChainAliases": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AdminChainAliases(ctx, q.text("chain")))
	},
	"admin.getLoggerLevel": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AdminLoggerLevel(ctx, q.text("loggerName")))
	},
	"admin.loadVMs": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.AdminLoadVMs(ctx)) },
	"admin.lockProfile": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return nothing(c.AdminLockProfile(ctx))
	},
	"admin.memoryProfile": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return nothing(c.AdminMemoryProfile(ctx))
	},
	"admin.setLoggerLevel": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AdminSetLoggerLevel(ctx, q.text("loggerName"), node.LoggerLevel{LogLevel: q.text("logLevel"), DisplayLevel: q.text("displayLevel")}))
	},
	"admin.startCPUProfiler": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return nothing(c.AdminStartCPUProfiler(ctx))
	},
	"admin.stopCPUProfiler": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return nothing(c.AdminStopCPUProfiler(ctx))
	},

	"info.acps": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.ACPs(ctx)) },
	"info.getBlockchainID": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.BlockchainID(ctx, q.text("alias")))
	},
	"info.getNetworkID":   func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.NetworkID(ctx)) },
	"info.getNetworkName": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.NetworkName(ctx)) },
	"info.getNodeID":      func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.NodeID(ctx)) },
	"info.getNodeIP":      func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.NodeIP(ctx)) },
	"info.getNodeVersion": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.NodeVersion(ctx)) },
	"info.getTxFee":       func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.TxFee(ctx)) },
	"info.getVMs":         func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.VMs(ctx)) },
	"info.isBootstrapped": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.IsBootstrapped(ctx, q.text("chain")))
	},
	"info.peers": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.Peers(ctx, q.texts("nodeIDs")...))
	},
	"info.upgrades": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.Upgrades(ctx)) },
	"info.uptime":   func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.Uptime(ctx)) },

	"avm.getAllBalances": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMAllBalances(ctx, q.chain, q.text("address")))
	},
	"avm.getAssetDescription": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMAssetDescription(ctx, q.chain, q.text("assetID")))
	},
	"avm.getBalance": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMBalance(ctx, q.chain, q.text("address"), q.text("assetID")))
	},
	"avm.getBlock": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMBlock(ctx, q.chain, q.text("blockID"), q.as()))
	},
	"avm.getBlockByHeight": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMBlockByHeight(ctx, q.chain, q.number("height"), q.as()))
	},
	"avm.getHeight": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMHeight(ctx, q.chain))
	},
	"avm.getTx": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMTx(ctx, q.chain, q.text("txID"), q.as()))
	},
	"avm.getTxFee": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMTxFee(ctx, q.chain))
	},
	"avm.getTxStatus": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMTxStatus(ctx, q.chain, q.text("txID")))
	},
	"avm.getUTXOs": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.AVMUTXOPage(ctx, q.chain, node.UTXOQuery{Addresses: q.texts("addresses"), SourceChain: q.text("sourceChain"), Limit: int(q.number("limit"))}, nil))
	},

	"platform.getBalance": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformBalance(ctx, q.texts("addresses")...))
	},
	"platform.getBlock": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformBlock(ctx, q.text("blockID"), q.as()))
	},
	"platform.getBlockByHeight": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformBlockByHeight(ctx, q.number("height"), q.as()))
	},
	"platform.getBlockchains": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return some(c.PlatformBlockchains(ctx))
	},
	"platform.getBlockchainStatus": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformBlockchainStatus(ctx, q.text("blockchainID")))
	},
	"platform.getCurrentSupply": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformCurrentSupply(ctx, q.text("subnetID")))
	},
	"platform.getCurrentValidators": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.PlatformCurrentValidators(ctx, q.text("subnetID"), q.texts("nodeIDs")...))
	},
	"platform.getFeeState": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return some(c.PlatformFeeState(ctx))
	},
	"platform.getHeight": func(ctx context.Context, c *node.Client, _ question) (any, error) { return some(c.PlatformHeight(ctx)) },
	"platform.getTimestamp": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return some(c.PlatformTimestamp(ctx))
	},
	"platform.getValidatorFeeState": func(ctx context.Context, c *node.Client, _ question) (any, error) {
		return some(c.PlatformValidatorFeeState(ctx))
	},

	"eth_baseFee": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthBaseFee(ctx, q.chain))
	},
	"eth_blockNumber": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthBlockNumber(ctx, q.chain))
	},
	"eth_chainId": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthChainID(ctx, q.chain))
	},
	"eth_feeConfig": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthFeeConfig(ctx, q.chain, q.block()))
	},
	"eth_getActivePrecompilesAt": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthActivePrecompilesAt(ctx, q.chain, q.instant()))
	},
	"eth_getActiveRulesAt": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthActiveRulesAt(ctx, q.chain, q.instant()))
	},
	"eth_getBlockByHash": func(ctx context.Context, c *node.Client, q question) (any, error) {
		hash, _ := q.at(0).(string)
		return some(c.EthBlockByHash(ctx, q.chain, hash))
	},
	"eth_getBlockByNumber": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthBlockByNumber(ctx, q.chain, q.block()))
	},
	"eth_getChainConfig": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.EthChainConfig(ctx, q.chain))
	},

	"validators.getCurrentValidators": func(ctx context.Context, c *node.Client, q question) (any, error) {
		return some(c.ValidatorsCurrentValidators(ctx, q.chain, q.texts("nodeIDs")...))
	},
}

// simulated returns the client of node alpha of a simulated network, in memory.
func simulated(t *testing.T, network *simnet.Network) *node.Client {
	t.Helper()
	u, err := scrape.New(scrape.Options{Name: "alpha", URL: "http://alpha.sim", Transport: network.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return node.New(u)
}

// TestEveryMethodDecodesSimulatedAnswers calls each method with its parameters, in its typed form and by Call. Both
// must send the same request.
func TestEveryMethodDecodesSimulatedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, twin := simnet.New(simnet.Options{Seed: 1}), simnet.New(simnet.Options{Seed: 1})
		network.SetPrecompile("examplel1", "feeManagerConfig", false, time.Now().Add(time.Hour))
		time.Sleep(10 * time.Minute)
		c, ctx, l1 := simulated(t, network), t.Context(), network.Chain("examplel1")
		must := func(v any, err error) any {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		xHead := must(some(c.AVMBlockByHeight(ctx, "X", 0, node.JSON))).(node.Encoded[node.Block]).JSON
		pHeight := must(some(c.PlatformHeight(ctx))).(uint64)
		pHead := must(some(c.PlatformBlockByHeight(ctx, pHeight, node.JSON))).(node.Encoded[node.Block]).JSON
		head := must(some(c.EthBlockByNumber(ctx, l1.ID, nil))).(node.EthBlock)
		asset := must(some(c.AVMAssetDescription(ctx, "X", "AVAX"))).(node.Asset).AssetID
		left := maps.Clone(typed)
		byHand := simulated(t, twin)
		xOwner, pOwner := "X-"+simnet.Owner, "P-"+simnet.Owner

		for _, q := range []struct {
			method, chain, params string
			sane                  func(answer any) bool
		}{
			{"admin.alias", "", `{"endpoint":"bc/X","alias":"bc/other"}`, func(any) bool { _, err := c.AVMHeight(ctx, "other"); return err == nil }},
			{"admin.aliasChain", "", `{"chain":"` + network.Chain("X").ID + `","alias":"myxchain"}`, func(any) bool { _, err := c.AVMHeight(ctx, "myxchain"); return err == nil }},
			{"admin.getChainAliases", "", `{"chain":"` + network.Chain("X").ID + `"}`, func(a any) bool { return slices.Contains(a.([]string), "myxchain") }},
			{"admin.getLoggerLevel", "", `{"loggerName":"C"}`, func(a any) bool {
				return reflect.DeepEqual(a, map[string]node.LoggerLevel{"C": {LogLevel: "INFO", DisplayLevel: "OFF"}})
			}},
			{"admin.setLoggerLevel", "", `{"loggerName":"C","logLevel":"DEBUG"}`, func(a any) bool { return a.(map[string]node.LoggerLevel)["C"].LogLevel == "DEBUG" }},
			{"admin.loadVMs", "", "", func(a any) bool { return a.(node.LoadedVMs).NewVMs != nil && a.(node.LoadedVMs).FailedVMs == nil }},
			{"admin.lockProfile", "", "", nil},
			{"admin.memoryProfile", "", "", nil},
			{"admin.startCPUProfiler", "", "", nil},
			{"admin.stopCPUProfiler", "", "", nil},

			{"info.acps", "", "", func(a any) bool { return len(a.(map[uint32]node.ACP)) > 0 }},
			{"info.getBlockchainID", "", `{"alias":"C"}`, func(a any) bool { return a == network.Chain("C").ID }},
			{"info.getNetworkID", "", "", func(a any) bool { return a == uint64(1337) }},
			{"info.getNetworkName", "", "", func(a any) bool { return a == "network-1337" }},
			{"info.getNodeID", "", "", func(a any) bool { return a.(node.Identity).NodeID == network.NodeID("alpha") }},
			{"info.getNodeIP", "", "", func(a any) bool { return strings.Contains(a.(string), ":") }},
			{"info.getNodeVersion", "", "", func(a any) bool { return strings.HasPrefix(a.(node.Version).Version, "avalanchego/") }},
			{"info.getTxFee", "", "", func(a any) bool { return a.(node.TxFee).TxFee > 0 }},
			{"info.getVMs", "", "", func(a any) bool { return len(a.(map[string][]string)) > 2 }},
			{"info.isBootstrapped", "", `{"chain":"C"}`, func(a any) bool { return a == true }},
			{"info.peers", "", `{"nodeIDs":["` + network.NodeID("bravo") + `"]}`, func(a any) bool { return a.(node.Peers).Peers[0].NodeID == network.NodeID("bravo") }},
			{"info.upgrades", "", "", func(a any) bool { return len(a.(node.Upgrades).Times) > 10 }},
			{"info.uptime", "", "", func(a any) bool { return a.(node.Uptime).RewardingStakePercentage > 50 }},

			{"avm.getAllBalances", "X", `{"address":"` + xOwner + `"}`, func(a any) bool { return len(a.([]node.AssetBalance)) == 2 }},
			{"avm.getAssetDescription", "X", `{"assetID":"AVAX"}`, func(a any) bool { return a.(node.Asset).Denomination == 9 }},
			{"avm.getBalance", "X", `{"address":"` + xOwner + `","assetID":"AVAX"}`, func(a any) bool { return a.(node.AVMBalance).Balance > 0 && len(a.(node.AVMBalance).UTXOIDs) > 0 }},
			{"avm.getBlock", "X", `{"blockID":"` + xHead.ID + `","encoding":"json"}`, func(a any) bool { return a.(node.Encoded[node.Block]).JSON.ID == xHead.ID }},
			{"avm.getBlockByHeight", "X", `{"height":"0"}`, func(a any) bool { return strings.HasPrefix(a.(node.Encoded[node.Block]).Hex, "0x") }},
			{"avm.getHeight", network.Chain("X").ID, "", func(a any) bool { return a.(uint64) < 1000 }},
			{"avm.getTx", "X", `{"txID":"` + asset + `","encoding":"json"}`, func(a any) bool { return a.(node.Encoded[node.Tx]).JSON.ID == asset }},
			{"avm.getTxFee", "X", "", func(a any) bool { return a.(node.TxFee).CreateAssetTxFee > 0 }},
			{"avm.getTxStatus", "X", `{"txID":"` + asset + `"}`, func(a any) bool { return a == "Accepted" }},
			{"avm.getUTXOs", "X", `{"addresses":["` + xOwner + `"],"limit":2}`, func(a any) bool {
				return len(a.(node.UTXOPage).UTXOs) == 2 && a.(node.UTXOPage).EndIndex.Address == xOwner
			}},

			{"platform.getBalance", "", `{"addresses":["` + pOwner + `"]}`, func(a any) bool {
				b := a.(node.PlatformBalance)
				return b.Balances[asset] > 0 && b.Unlockeds[asset] == b.Balances[asset] && len(b.UTXOIDs) > 0 && uint64(*b.Balance) == uint64(b.Balances[asset])
			}},
			{"platform.getBlock", "", `{"blockID":"` + pHead.ID + `","encoding":"json"}`, func(a any) bool {
				b := a.(node.Encoded[node.Block]).JSON
				return uint64(b.Height) == pHeight && len(b.Txs) == 1
			}},
			{"platform.getBlockByHeight", "", `{"height":1,"encoding":"hex"}`, func(a any) bool { return strings.HasPrefix(a.(node.Encoded[node.Block]).Hex, "0x") }},
			{"platform.getBlockchains", "", "", func(a any) bool { return len(a.([]node.Blockchain)) == 4 }},
			{"platform.getBlockchainStatus", "", `{"blockchainID":"C"}`, func(a any) bool { return a == "Validating" }},
			{"platform.getCurrentSupply", "", `{"subnetID":"` + node.PrimaryNetworkID + `"}`, func(a any) bool { return a.(node.Supply).Supply > 300e15 && *a.(node.Supply).Height > 0 }},
			{"platform.getCurrentValidators", "", `{"subnetID":"` + l1.SubnetID + `","nodeIDs":["` + network.NodeID("bravo") + `"]}`, func(a any) bool { return a.([]node.Validator)[0].NodeID == network.NodeID("bravo") }},
			{"platform.getFeeState", "", "", func(a any) bool { return a.(node.FeeState).Capacity > 0 && a.(node.FeeState).Price > 0 }},
			{"platform.getHeight", "", "", func(a any) bool { return a.(uint64) > 0 }},
			{"platform.getTimestamp", "", "", func(a any) bool { return time.Since(a.(time.Time)) < time.Hour }},
			{"platform.getValidatorFeeState", "", "", func(a any) bool { return a.(node.ValidatorFeeState).Price > 0 }},

			{"eth_baseFee", l1.ID, "", func(a any) bool { return fmt.Sprint(a) == "1000000000" }},
			{"eth_blockNumber", "C", "", func(a any) bool { return a.(uint64) > 0 }},
			{"eth_chainId", l1.ID, "", func(a any) bool { return a == l1.EVMChainID }},
			{"eth_feeConfig", l1.ID, `["0x0"]`, func(a any) bool { return a.(node.FeeConfig).FeeConfig.MinBaseFee == 1e9 }},
			{"eth_getActivePrecompilesAt", l1.ID, `[` + strconv.FormatInt(time.Now().Unix(), 10) + `]`, func(a any) bool {
				return a.(map[string]node.Precompile)["feeManagerConfig"].AdminAddresses != nil && *a.(map[string]node.Precompile)["warpConfig"].QuorumNumerator == 67
			}},
			{"eth_getActiveRulesAt", l1.ID, `[0]`, func(a any) bool { r := a.(node.Rules); return r.EthRules["IsHomestead"] && len(r.Precompiles) == 0 }},
			{"eth_getBlockByHash", l1.ID, `["` + head.Hash + `",false]`, func(a any) bool { return reflect.DeepEqual(a, head) }},
			{"eth_getBlockByNumber", l1.ID, `["latest",false]`, func(a any) bool {
				b := a.(node.EthBlock)
				return len(b.Transactions) > 0 && time.Since(b.Time()) < time.Minute
			}},
			{"eth_getChainConfig", l1.ID, "", func(a any) bool {
				c := a.(node.ChainConfig)
				return c.ChainID == l1.EVMChainID && len(c.PrecompileUpgrades) == 1
			}},

			{"validators.getCurrentValidators", l1.ID, `{"nodeIDs":["` + network.NodeID("bravo") + `"]}`, func(a any) bool { return a.([]node.ChainValidator)[0].NodeID == network.NodeID("bravo") }},
		} {
			delete(left, q.method)
			network.ResetCalls()
			answer, err := typed[q.method](ctx, c, question{q.chain, json.RawMessage(q.params)})
			if err != nil {
				t.Error(err)
				continue
			}
			asked := network.Calls()
			if q.sane != nil && !q.sane(answer) {
				t.Errorf("%s: %+v", q.method, answer)
			}

			m := row(t, q.method)
			var params jsontext.Value
			if q.params != "" {
				params = jsontext.Value(q.params)
			}
			if err := m.Check(params); err != nil {
				t.Error(err)
			}
			twin.ResetCalls()
			if _, err := byHand.Call(ctx, m, q.chain, params); err != nil {
				t.Error(err)
			}
			if len(asked) != 1 || len(twin.Calls()) != 1 {
				t.Errorf("%s: %d calls, %d by Call", q.method, len(asked), len(twin.Calls()))
				continue
			}
			sent, want := asked[0], twin.Calls()[0]
			if sent.Method != q.method || sent.Path != want.Path || !sameParams(decoded(sent.Params), decoded(want.Params)) {
				t.Errorf("called %s %s %s, by Call %s %s %s", sent.Path, sent.Method, sent.Params, want.Path, want.Method, want.Params)
			}
		}
		for name := range left {
			t.Errorf("%s: not called", name)
		}
	})
}

func row(t testing.TB, name string) node.Method {
	t.Helper()
	all := node.Methods()
	i := slices.IndexFunc(all, func(m node.Method) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("%s: no row in the table", name)
	}
	return all[i]
}

func decoded(text []byte) (v any) {
	_ = json.Unmarshal(text, &v)
	return v
}

// recording is a recorded call and answer of a real node.
type recording struct {
	from, name, path, request string
	status                    int
	response                  string
	question
	method string
}

// recordings are the recorded calls of methods that the client knows, in the form that the client sends.
func recordings(t testing.TB) (list []recording) {
	t.Helper()
	add := func(r recording) {
		var asked struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(r.request), &asked) != nil || typed[asked.Method] == nil {
			return
		}
		r.method, r.params = asked.Method, asked.Params
		if parts := strings.Split(r.path, "/"); len(parts) > 3 && parts[2] == "bc" {
			r.chain = parts[3]
		}
		m := row(t, r.method)
		switch {
		case r.status == 0, r.status == http.StatusUnsupportedMediaType, strings.HasPrefix(r.name, "err_"): // sent by another client
		case r.path != strings.ReplaceAll(m.Path, "{chain}", r.chain), m.Check(jsontext.Value(r.params)) != nil, r.at(1) == true:
		default:
			list = append(list, r)
		}
	}
	files, err := filepath.Glob("../../internal/recorded/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		situation := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		answers, err := recorded.Load(situation)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			add(recording{from: situation, name: a.Name, path: a.Path, request: a.Request, status: a.Status, response: a.Response})
		}
	}
	return list
}

// unrecorded are the methods without a recorded answer of a real node.
var unrecorded = []string{
	"admin.alias", "admin.aliasChain", "admin.lockProfile", "admin.memoryProfile", "admin.startCPUProfiler", "admin.stopCPUProfiler",
	"avm.getBlock", "eth_getBlockByHash",
}

func TestEveryRecordingOfARealNodeDecodes(t *testing.T) {
	var now recording
	var asked []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ = io.ReadAll(r.Body)
		if r.URL.Path != now.path {
			t.Errorf("%s: called %s, recorded %s", now.name, r.URL.Path, now.path)
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.response)
	}))
	defer server.Close()
	u, err := scrape.New(scrape.Options{URL: server.URL, Rate: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	c, answered, read := node.New(u), map[string]bool{}, 0
	for _, now = range recordings(t) {
		read++
		what := now.from + "/" + now.name
		answer, err := typed[now.method](t.Context(), c, now.question)
		var sent, recorded struct {
			Result, Params any
			Error          *struct{ Message string }
		}
		_, _ = json.Unmarshal(asked, &sent), json.Unmarshal([]byte(now.response), &recorded)
		switch {
		case now.status != http.StatusOK:
			if want := map[int]scrape.Outcome{404: scrape.NotFound, 503: scrape.Bootstrapping}[now.status]; scrape.OutcomeOf(err) != want {
				t.Errorf("%s: HTTP %d: error %v", what, now.status, err)
			}
		case recorded.Error != nil:
			if err == nil || !strings.HasSuffix(err.Error(), recorded.Error.Message) {
				t.Errorf("%s: recorded error %q, got %v", what, recorded.Error.Message, err)
			}
		case recorded.Result == nil: // an EVM chain answers null for an unknown block
			if scrape.OutcomeOf(err) != scrape.NotFound {
				t.Errorf("%s: null decoded as %v, %v", what, answer, err)
			}
		case err != nil:
			t.Errorf("%s: %v\n%.500s", what, err, now.response)
		default:
			answered[now.method] = true
			if !sameParams(spelled(sent.Params), spelled(decoded(now.params))) {
				t.Errorf("%s: sent %v, recorded %s", what, sent.Params, now.params)
			}
		}
	}
	if read < 100 {
		t.Errorf("%d recordings", read)
	}
	for _, m := range node.Methods() {
		if known := slices.Contains(unrecorded, m.Name); known == answered[m.Name] {
			t.Errorf("%s: recorded %v; listed as unrecorded %v", m.Name, answered[m.Name], known)
		}
	}
}

// spelled removes differences without meaning to a node: heights as numbers or strings, and defaults.
func spelled(params any) any {
	object, ok := params.(map[string]any)
	if !ok {
		return params
	}
	same := maps.Clone(object)
	for name, value := range same {
		if list, ok := value.([]any); ok && len(list) == 0 || name == "subnetID" && value == node.PrimaryNetworkID {
			delete(same, name)
		}
	}
	if height, ok := same["height"]; ok {
		same["height"] = fmt.Sprint(height)
	}
	return same
}

func TestOnlyReadingMethodsAreRetried(t *testing.T) {
	for _, m := range node.Methods() {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(simnet.Options{Seed: 1})
			network.Node("alpha").Inject(simnet.Unavailable())
			c, want := simulated(t, network), 3
			if m.Changes != "" {
				want = 1
			}
			ctx := scrape.MaxAge(t.Context(), time.Minute)
			q := question{"C", json.RawMessage("null")}
			if _, err := typed[m.Name](ctx, c, q); err == nil || len(network.Calls()) != want {
				t.Errorf("%s: %d requests, %v", m.Name, len(network.Calls()), err)
			}
			network.ResetCalls()
			if _, err := c.Call(ctx, m, q.chain, nil); err == nil || len(network.Calls()) != want {
				t.Errorf("%s by Call: %d requests, %v", m.Name, len(network.Calls()), err)
			}
		})
	}
}

// goMethods are the client's Go methods by the API method that their code names.
func goMethods(t *testing.T) map[string][]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]*ast.FuncDecl{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if name, err := strconv.Unquote(literal.Value); err == nil && typed[name] != nil {
						found[name] = append(found[name], f)
					}
				}
				return true
			})
		}
	}
	return found
}

func TestDeprecatedMethodsHaveADeprecatedComment(t *testing.T) {
	inUse := []string{"info.getTxFee", "platform.getBlockchains"} // without a replacement, so a linter must not object
	all := goMethods(t)
	for _, m := range node.Methods() {
		if len(all[m.Name]) == 0 {
			t.Errorf("no Go method calls %s", m.Name)
		}
		for _, f := range all[m.Name] {
			if want := m.Deprecated != "" && !slices.Contains(inUse, m.Name); strings.Contains(f.Doc.Text(), "\n\nDeprecated: ") != want {
				t.Errorf("%s calls %s, deprecated %q", f.Name, m.Name, m.Deprecated)
			}
			if !strings.Contains(f.Doc.Text(), m.Name) {
				t.Errorf("the comment on %s does not name %s", f.Name, m.Name)
			}
		}
	}
}

func TestCollectorsCallNoChangingMethod(t *testing.T) {
	forbidden := map[string]bool{"RPCOnce": true, "Call": true} // Call takes any method
	all, changing := goMethods(t), 0
	for _, m := range node.Methods() {
		if m.Changes == "" {
			continue
		}
		changing++
		forbidden[m.Name] = true
		for _, f := range all[m.Name] {
			forbidden[f.Name.Name] = true
		}
	}
	if changing != 8 {
		t.Errorf("%d methods change a node, the interface has 8", changing)
	}
	for _, spec := range collectors.All() {
		for _, call := range spec.Calls {
			if forbidden[call] {
				t.Errorf("the collector %s declares %s", spec.Name, call)
			}
		}
	}
	files, err := filepath.Glob("../../collectors/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if forbidden[n.Sel.Name] {
					t.Errorf("%s uses %s", file, n.Sel.Name)
				}
			case *ast.BasicLit:
				if name, err := strconv.Unquote(n.Value); err == nil && forbidden[name] {
					t.Errorf("%s names %s", file, name)
				}
			}
			return true
		})
	}
}

func TestCheckRejectsInvalidParameters(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"avm.getTx", `{"txID":"x"}`, ""},
		{"avm.getTx", `{"txID":"x","encoding":"json"}`, ""},
		{"avm.getTx", `{"txId":"x"}`, `there is no parameter "txId": write avm.getTx {"txID":…, "encoding"?:…}`},
		{"avm.getTx", `{}`, `the parameter "txID" is missing: write avm.getTx {"txID":…, "encoding"?:…}`},
		{"avm.getTx", ``, `the parameter "txID" is missing: write avm.getTx {"txID":…, "encoding"?:…}`},
		{"avm.getTx", `["x"]`, `the parameters are not an object: write avm.getTx {"txID":…, "encoding"?:…}`},
		{"avm.getTx", `{"txID":`, `the parameters are not an object: write avm.getTx {"txID":…, "encoding"?:…}`},
		{"avm.getTx", `null`, `the parameters are not an object: write avm.getTx {"txID":…, "encoding"?:…}`},
		{"info.getNodeID", `{}`, ""},
		{"info.getNodeID", `{"x":1}`, `there is no parameter "x": write info.getNodeID`},
		{"eth_feeConfig", `[]`, ""},
		{"eth_feeConfig", `["latest"]`, ""},
		{"eth_feeConfig", `["latest",1]`, `2 parameters are too many: write eth_feeConfig [blk?]`},
		{"eth_feeConfig", `{"blk":"latest"}`, `the parameters are not a list: write eth_feeConfig [blk?]`},
		{"eth_getBlockByNumber", `["latest"]`, `the parameter "full" is missing: write eth_getBlockByNumber [number, full]`},
	} {
		var params jsontext.Value
		if c.params != "" {
			params = jsontext.Value(c.params)
		}
		got := ""
		if err := row(t, c.method).Check(params); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, got, c.want)
		}
	}
}
