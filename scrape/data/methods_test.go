package data_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

const (
	wallet = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"
	nftAt  = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"
	nodeID = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
)

type transport = promhttp.RoundTripperFunc

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func refuse(status int, message string) *http.Response {
	return respond(status, fmt.Sprintf(`{"message":%q,"error":"E","statusCode":%d}`, message, status))
}

func open(t testing.TB, f transport) *scrape.Upstream {
	t.Helper()
	return must.Get(scrape.New(scrape.Options{Name: "data", URL: "https://data.example.com", Transport: f, Rate: 1e6}))(t)
}

func count[T any](items iter.Seq2[T, error]) (n int, err error) {
	for _, err := range items {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	text := must.Get(os.ReadFile(filepath.Join("testdata", name+".json")))(t)
	return string(text)
}

func method(name string) *scrape.Method {
	return data.Methods()[slices.IndexFunc(data.Methods(), func(m *scrape.Method) bool { return m.Name == name })]
}

// TestMethodsMatchTheDescription compares the table with the description that the service publishes.
func TestMethodsMatchTheDescription(t *testing.T) {
	text := must.Get(os.ReadFile("../../internal/tools/openapi/testdata/data.json"))(t)
	var description struct {
		Paths map[string]map[string]struct {
			Cost       string `json:"x-execution-weight"`
			Parameters []struct {
				Name   string
				Schema struct{ Maximum int }
			}
			Body struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			} `json:"requestBody"`
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	must.Do(t, json.Unmarshal(text, &description))
	units := map[string]int{"small": 10, "medium": 20, "xl": 100}
	type operation struct {
		Units, MaxPageSize int
		Params             []string
	}
	described, table := map[string]operation{}, map[string]operation{}
	for path, verbs := range description.Paths {
		for verb, d := range verbs {
			o := operation{Units: units[d.Cost]}
			for _, p := range d.Parameters {
				o.Params = append(o.Params, p.Name)
				if p.Name == "pageSize" {
					o.MaxPageSize = p.Schema.Maximum
				}
			}
			body := description.Components.Schemas[filepath.Base(d.Body.Content["application/json"].Schema.Ref)]
			o.Params = slices.AppendSeq(o.Params, maps.Keys(body.Properties))
			slices.Sort(o.Params)
			described[strings.ToUpper(verb)+" "+path] = o
		}
	}
	for _, m := range data.Methods() {
		o := operation{Units: m.Units, MaxPageSize: m.MaxPageSize}
		for _, p := range m.Params {
			o.Params = append(o.Params, strings.TrimSuffix(p, "?"))
		}
		slices.Sort(o.Params)
		table[m.Op()] = o
	}
	if diff := cmp.Diff(described, table); diff != "" {
		t.Errorf("described (-), in the table (+):\n%s", diff)
	}
}

// examples has a call of each method with all its parameters, the request that it sends, and an answer.
var examples = []struct {
	name    string
	args    data.Args
	request string // method, path, query and body
	fixture string // empty: an empty answer
}{
	{"data.aggregateSignatures", data.Args{"network": "fuji", "message": "0x0001ab", "signingSubnetId": "7Wto", "quorumPercentage": 60,
		"quorumPercentageBuffer": 40, "pChainHeight": jsontext.Value("1155")},
		`POST /v1/signatureAggregator/fuji/aggregateSignatures {"message":"0x0001ab","pChainHeight":1155,"quorumPercentage":60,"quorumPercentageBuffer":40,` +
			`"signingSubnetId":"7Wto"}`, "signed_message"},
	{"data.aggregateSignatures", data.Args{"network": data.Mainnet, "justification": "0001abff", "quorumPercentage": 0},
		`POST /v1/signatureAggregator/mainnet/aggregateSignatures {"justification":"0001abff","quorumPercentage":0}`, "signed_message"},
	{"data.aggregatedSignatures", data.Args{"network": data.Mainnet, "txHash": "2MD56oEzySVW"},
		`GET /v1/signatureAggregator/mainnet/aggregateSignatures/2MD56oEzySVW`, "signed_message"},
	{"data.assetTransactions", data.Args{"network": data.Mainnet, "blockchainId": data.XChain, "assetId": "th5a", "txTypes": []string{"ImportTx", "ExportTx"},
		"startTimestamp": 0, "endTimestamp": 1700000000, "pageSize": 3, "pageToken": "ab+"},
		`GET /v1/networks/mainnet/blockchains/x-chain/assets/th5a/transactions?endTimestamp=1700000000&pageSize=3&pageToken=ab%2B&startTimestamp=0&txTypes=ImportTx&txTypes=ExportTx`, "asset_transactions"},
	{"data.blockchains", data.Args{"network": data.Testnet, "sortOrder": "asc", "pageSize": 10000, "pageToken": "t"},
		`GET /v1/networks/testnet/blockchains?pageSize=10000&pageToken=t&sortOrder=asc`, "blockchains"},
	{"data.subnet", data.Args{"network": "fuji", "subnetId": "2XDn"}, `GET /v1/networks/fuji/subnets/2XDn`, "subnet"},
	{
		"data.rewards",
		data.Args{
			"network":   data.Mainnet,
			"addresses": []string{"P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg", "avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5"},
			"nodeIds":   jsontext.Value(`["` + nodeID + `"]`),
			"sortOrder": data.Descending,
			"currency":  "nzd",
			"pageSize":  3,
			"pageToken": "t",
		},
		`GET /v1/networks/mainnet/rewards?addresses=P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg%2Cavax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5&currency=nzd&nodeIds=` + nodeID + `&pageSize=3&pageToken=t&sortOrder=desc`,
		"rewards",
	},
	{
		"data.pendingRewards",
		data.Args{
			"network":   data.Mainnet,
			"addresses": []string{"P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg"},
			"sortOrder": data.Descending,
			"pageSize":  3,
			"pageToken": "t",
		},
		`GET /v1/networks/mainnet/rewards:listPending?addresses=P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg&pageSize=3&pageToken=t&sortOrder=desc`,
		"pending_rewards",
	},
	{"data.l1Validators", data.Args{"network": data.Mainnet, "subnetId": "2XDn", "nodeId": nodeID, "l1ValidationId": "BsSp", "includeInactiveL1Validators": true,
		"pageSize": 3, "pageToken": "t"},
		`GET /v1/networks/mainnet/l1Validators?includeInactiveL1Validators=true&l1ValidationId=BsSp&nodeId=` + nodeID + `&pageSize=3&pageToken=t&subnetId=2XDn`,
		"l1_validators"},
	{
		"data.transactions",
		data.Args{
			"network":        data.Mainnet,
			"blockchainId":   data.PChain,
			"addresses":      []string{"P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg"},
			"l1ValidationId": "BsSp",
			"txTypes":        []string{"RegisterL1ValidatorTx", "IncreaseL1ValidatorBalanceTx"},
			"startTimestamp": 0,
			"endTimestamp":   1700000000,
			"sortOrder":      "asc",
			"pageSize":       3,
			"pageToken":      "t",
		},
		`GET /v1/networks/mainnet/blockchains/p-chain/transactions?addresses=P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg&endTimestamp=1700000000&l1ValidationId=BsSp&pageSize=3&pageToken=t&sortOrder=asc&startTimestamp=0&txTypes=RegisterL1ValidatorTx&txTypes=IncreaseL1ValidatorBalanceTx`,
		"transactions",
	},
	{"data.erc721Transfers", data.Args{"chainId": "43114", "address": wallet, "startBlock": 0, "endBlock": uint64(18446744073709551615), "pageSize": 3,
		"pageToken": "t"},
		`GET /v1/chains/43114/addresses/` + wallet + `/transactions:listErc721?endBlock=18446744073709551615&pageSize=3&pageToken=t&startBlock=0`,
		"erc721_transfers"},
	{"data.internalTransactions", data.Args{"chainId": "a/b", "address": wallet, "startBlock": 5},
		`GET /v1/chains/a%2Fb/addresses/` + wallet + `/transactions:listInternals?startBlock=5`, "internals"},
	{"data.erc1155Balances", data.Args{"chainId": 43114, "address": wallet, "blockNumber": 10, "contractAddress": nftAt, "pageSize": 3},
		`GET /v1/chains/43114/addresses/` + wallet + `/balances:listErc1155?blockNumber=10&contractAddress=` + nftAt + `&pageSize=3`, "erc1155"},
	{"data.erc721Balances", data.Args{"chainId": 43114, "address": wallet, "contractAddress": nftAt},
		`GET /v1/chains/43114/addresses/` + wallet + `/balances:listErc721?contractAddress=` + nftAt, "erc721"},
	{"data.collectibles", data.Args{"chainId": 43114, "address": wallet, "contractAddress": nftAt},
		`GET /v1/chains/43114/addresses/` + wallet + `/balances:listCollectibles?contractAddress=` + nftAt, "collectibles"},
	{"data.nativeBalance", data.Args{"chainId": 43114, "address": wallet, "blockNumber": 0, "currency": "eur"},
		`GET /v1/chains/43114/addresses/` + wallet + `/balances:getNative?blockNumber=0&currency=eur`, "native"},
	{"data.deployments", data.Args{"chainId": 43114, "address": wallet, "pageSize": 3}, `GET /v1/chains/43114/contracts/` + wallet + `/deployments?pageSize=3`,
		"deployments"},
	{"data.icmMessages", data.Args{"address": wallet, "network": data.Testnet, "pageSize": 3},
		`GET /v1/icm/addresses/` + wallet + `/messages?network=testnet&pageSize=3`, "icm"},
	{"data.icmMessage", data.Args{"messageId": "aBc"}, `GET /v1/icm/messages/aBc`, "icm_message"},
	{"data.block", data.Args{"chainId": 43114, "blockId": 49889407}, `GET /v1/chains/43114/blocks/49889407`, "block"},
	{"data.reindex", data.Args{"chainId": 43114, "address": nftAt, "tokenId": 7}, `POST /v1/chains/43114/nfts/collections/` + nftAt + `/tokens/7:reindex`, ""},
}

func TestMethodsSendAndDecodeAsDocumented(t *testing.T) {
	asked := map[string]bool{}
	for _, c := range examples {
		asked[c.name] = true
		var got string
		answer := fixture(t, c.fixture)
		client := data.New(open(t, func(r *http.Request) (*http.Response, error) {
			var body []byte
			if r.Body != nil {
				body, _ = io.ReadAll(r.Body)
			}
			got = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
			return respond(http.StatusCreated, answer), nil
		}))
		path, body, err := data.Request(method(c.name), c.args)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := client.Call(t.Context(), method(c.name), path, body)
		if err != nil || strings.TrimSpace(answer) != string(text) {
			t.Errorf("%s: %s, %v", c.name, text, err)
		}
		if got != c.request {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.request)
		}
	}
	for _, m := range data.Methods() {
		if !asked[m.Name] {
			t.Errorf("%s: no example of a call: add it to examples", m.Name)
		}
	}
}

func TestInvalidParametersAreErrorsWithARemedy(t *testing.T) {
	network := func(args data.Args) data.Args { args["network"] = data.Mainnet; return args }
	chain := func(args data.Args) data.Args { args["chainId"], args["address"] = "1", wallet; return args }
	asset := func(args data.Args) data.Args {
		args["network"], args["blockchainId"], args["assetId"] = data.Fuji, data.XChain, "a"
		return args
	}
	for _, c := range []struct {
		name string
		args data.Args
		want string
	}{
		{"data.aggregateSignatures", network(data.Args{}), `write exactly one of message and justification`},
		{"data.aggregateSignatures", network(data.Args{"message": "00", "justification": "00"}), `write exactly one of message and justification`},
		{"data.aggregateSignatures", network(data.Args{"message": "0x0"}), `message "0x0": write bytes in hex, with or without 0x`},
		{"data.aggregateSignatures", network(data.Args{"message": "00", "quorumPercentage": 101}), `quorumPercentage "101": write 0 to 100`},
		{"data.aggregateSignatures", network(data.Args{"message": "00", "quorumPercentageBuffer": 34}),
			`quorumPercentage 67 and quorumPercentageBuffer 34 add up to more than 100: reduce one of them`},
		{"data.aggregatedSignatures", data.Args{"network": "main", "txHash": "x"}, `network "main": write one of mainnet, fuji, testnet`},
		{"data.aggregatedSignatures", network(data.Args{"txHash": ".."}), `parameter "txHash": write a value`},
		{"data.assetTransactions", data.Args{"blockchainId": data.XChain, "assetId": "a"}, `parameter "network": write a value`},
		{"data.assetTransactions", asset(data.Args{"startTimestamp": 2, "endTimestamp": 1}), `startTimestamp is after endTimestamp: swap them`},
		{"data.assetTransactions", asset(data.Args{"endTimestamp": -1}), `endTimestamp "-1": write a whole number of 0 or more`},
		{"data.assetTransactions", asset(data.Args{"pageSize": 101}), `pageSize 101: write 1 to 100`},
		{"data.blockchains", network(data.Args{"sortOrder": "up"}), `sortOrder "up": write one of asc, desc`},
		{"data.subnet", network(data.Args{"subnetId": "a b"}), `subnetId "a b": write one word without spaces`},
		{"data.rewards", network(data.Args{}), `write at least one of addresses and nodeIds`},
		{"data.rewards", network(data.Args{"nodeIds": "7Xhw"}), `nodeIds "7Xhw": write node IDs such as NodeID-7Xhw…`},
		{"data.rewards", network(data.Args{"addresses": "C-avax1x"}), `addresses "C-avax1x": write addresses of the X- or P-Chain such as P-avax1… or avax1…`},
		{"data.rewards", network(data.Args{"nodeIds": nodeID, "currency": "btc"}),
			`currency "btc": write one of usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy, nzd`},
		{"data.erc721Transfers", chain(data.Args{"startBlock": 5, "endBlock": 5}), `endBlock 5: write a number above startBlock; the range ends before endBlock`},
		{"data.icmMessages", data.Args{"address": "0x1f"}, `address "0x1f": write an EVM address, 40 hex digits after 0x`},
		{"data.block", data.Args{"chainId": "1", "blockId": "latest"}, `blockId "latest": write the number of a block, or its hash, 64 hex digits after 0x`},
		{"data.subnet", network(data.Args{"subnetId": jsontext.Value(`{}`)}), `parameter "subnetId": write a string, a number or a list`},
	} {
		if _, _, err := data.Request(method(c.name), c.args); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.name, err, c.want)
		}
	}
	c := data.New(open(t, func(r *http.Request) (*http.Response, error) {
		t.Errorf("sent: %s", r.URL)
		return respond(200, "{}"), nil
	}))
	if _, err := c.Block(t.Context(), "1", "latest"); scrape.OutcomeOf(err) != scrape.Rejected {
		t.Errorf("got %v", err)
	}
}

// FuzzAnswerIsAValueOrAnError gives each method any answer. The seeds are the documented answers.
func FuzzAnswerIsAValueOrAnError(f *testing.F) {
	for i, c := range examples {
		f.Add(uint8(i), fixture(f, c.fixture))
	}
	f.Fuzz(func(t *testing.T, which uint8, answer string) {
		c := examples[int(which)%len(examples)]
		path, body, _ := data.Request(method(c.name), c.args)
		u := open(t, func(*http.Request) (*http.Response, error) { return respond(http.StatusOK, answer), nil })
		if _, err := data.New(u).Call(t.Context(), method(c.name), path, body); err != nil && scrape.OutcomeOf(err) == scrape.OK {
			t.Errorf("%s: %q: error without outcome: %v", c.name, answer, err)
		}
	})
}
