package data_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

func TestEndpointsMatchTheDocumentedInterface(t *testing.T) {
	documented, err := os.ReadFile("testdata/endpoints.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, e := range data.Endpoints() {
		fmt.Fprintln(&rows, e.Op(), e.Units, e.MaxPageSize)
		if _, ok := reflect.TypeFor[*data.Client]().MethodByName(e.Name); !ok {
			t.Errorf("%s: the client has no method %s", e.Op(), e.Name)
		}
	}
	if diff := cmp.Diff(string(documented), rows.String()); diff != "" {
		t.Errorf("documented (-), in the table (+):\n%s", diff)
	}
}

const (
	wallet = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"
	nftAt  = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"
	nodeID = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
)

func at(n uint64) *uint64 { return &n }

// conversation is a call of an endpoint with all its parameters, and its answer.
type conversation struct {
	op      string
	ask     func(context.Context, *scrape.Upstream) (any, error)
	walk    func(context.Context, *scrape.Upstream) (items int, err error)
	request string // method, path, query and body
	status  int
	fixture string // the answer; empty: none
	under   string // member of the answer that the method returns; empty: all
}

func in(u *scrape.Upstream) *data.Client { return data.New(u) }

func some[T any](v T, err error) (any, error) { return v, err }

func count[T any](items iter.Seq2[T, error]) (n int, err error) {
	for _, err := range items {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

var (
	small  = data.Paging{PageSize: 3}
	assets = data.AssetTransactionQuery{TxTypes: []string{data.ImportTx, data.ExportTx}, Start: time.Unix(0, 0), End: time.Unix(1700000000, 999), Paging: small}
	reward = data.RewardQuery{
		Addresses: []string{"P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg", "avax1qm2a25eytsrj235hxg6jc0mwk99tss64eqevsw"}, NodeIDs: []string{nodeID, nodeID},
		SortOrder: data.Descending, Currency: "nzd", Paging: small,
	}
	blocks = data.BlockRange{StartBlock: at(0), EndBlock: at(18446744073709551615), Paging: small}
	ofOne  = data.CollectibleQuery{ContractAddress: nftAt, Paging: small}
	atTen  = data.ERC1155Query{BlockNumber: at(10), ContractAddress: nftAt, Paging: small}
	allICM = data.ICMQuery{Network: data.Testnet, Paging: small}
)

var conversations = []conversation{
	{
		op: "POST /v1/signatureAggregator/{network}/aggregateSignatures",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).AggregateSignatures(ctx, data.Fuji, data.SignatureQuery{
				Message: "0x0001ab", SigningSubnetID: "7WtoAMPhrmh5KosDUsFL9yTcvw7YSxiKHPpdfs4JsgW47oZT5",
				QuorumPercentage: new(60), QuorumPercentageBuffer: 40, PChainHeight: 1155,
			}))
		},
		request: `POST /v1/signatureAggregator/fuji/aggregateSignatures {"message":"0x0001ab","signingSubnetId":"7WtoAMPhrmh5KosDUsFL9yTcvw7YSxiKHPpdfs4JsgW47oZT5","quorumPercentage":60,"quorumPercentageBuffer":40,"pChainHeight":1155}`,
		status:  201, fixture: "signed_message", under: "signedMessage",
	},
	{
		op: "POST /v1/signatureAggregator/{network}/aggregateSignatures",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).AggregateSignatures(ctx, data.Mainnet, data.SignatureQuery{Justification: "0001abcdabcfff", QuorumPercentage: new(0)}))
		},
		request: `POST /v1/signatureAggregator/mainnet/aggregateSignatures {"justification":"0001abcdabcfff","quorumPercentage":0}`,
		status:  200, fixture: "signed_message", under: "signedMessage",
	},
	{
		op: "GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash}",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).AggregatedSignatures(ctx, data.Mainnet, "2MD56oEzySVW"))
		},
		request: `GET /v1/signatureAggregator/mainnet/aggregateSignatures/2MD56oEzySVW`,
		status:  201, fixture: "signed_message", under: "signedMessage",
	},
	{
		op: "GET /v1/networks/{network}/blockchains/{blockchainId}/assets/{assetId}/transactions",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).AssetTransactionPage(ctx, data.Mainnet, data.XChain, "th5a", assets, "a b"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).AssetTransactions(ctx, data.Mainnet, data.XChain, "th5a", assets))
		},
		request: `GET /v1/networks/mainnet/blockchains/x-chain/assets/th5a/transactions?endTimestamp=1700000000&pageSize=3&pageToken=a+b&startTimestamp=0&txTypes=ImportTx&txTypes=ExportTx`,
		status:  200, fixture: "asset_transactions",
	},
	{
		op: "GET /v1/networks/{network}/blockchains",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).BlockchainPage(ctx, data.Testnet, data.BlockchainQuery{SortOrder: data.Ascending, Paging: data.Paging{PageSize: 10000}}, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).Blockchains(ctx, data.Testnet, data.BlockchainQuery{}))
		},
		request: `GET /v1/networks/testnet/blockchains?pageSize=10000&pageToken=t&sortOrder=asc`,
		status:  200, fixture: "blockchains",
	},
	{
		op: "GET /v1/networks/{network}/subnets/{subnetId}",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).Subnet(ctx, data.Fuji, "2XDn"))
		},
		request: `GET /v1/networks/fuji/subnets/2XDn`,
		status:  200, fixture: "subnet",
	},
	{
		op: "GET /v1/networks/{network}/rewards",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).RewardPage(ctx, data.Mainnet, reward, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).Rewards(ctx, data.Mainnet, reward))
		},
		request: `GET /v1/networks/mainnet/rewards?addresses=P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg%2Cavax1qm2a25eytsrj235hxg6jc0mwk99tss64eqevsw&currency=nzd&nodeIds=` + nodeID + `%2C` + nodeID + `&pageSize=3&pageToken=t&sortOrder=desc`,
		status:  200, fixture: "rewards",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/transactions:listErc721",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).ERC721TransferPage(ctx, "43114", wallet, blocks, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).ERC721Transfers(ctx, "43114", wallet, data.BlockRange{}))
		},
		request: `GET /v1/chains/43114/addresses/` + wallet + `/transactions:listErc721?endBlock=18446744073709551615&pageSize=3&pageToken=t&startBlock=0`,
		status:  200, fixture: "erc721_transfers",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/transactions:listInternals",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).InternalTransactionPage(ctx, "a/b", wallet, blocks, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).InternalTransactions(ctx, "a/b", wallet, blocks))
		},
		request: `GET /v1/chains/a%2Fb/addresses/` + wallet + `/transactions:listInternals?endBlock=18446744073709551615&pageSize=3&pageToken=t&startBlock=0`,
		status:  200, fixture: "internals",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/balances:listErc1155",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).ERC1155BalancePage(ctx, "43114", wallet, atTen, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).ERC1155Balances(ctx, "43114", wallet, atTen))
		},
		request: `GET /v1/chains/43114/addresses/` + wallet + `/balances:listErc1155?blockNumber=10&contractAddress=` + nftAt + `&pageSize=3&pageToken=t`,
		status:  200, fixture: "erc1155",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/balances:listErc721",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).ERC721BalancePage(ctx, "43114", wallet, ofOne, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).ERC721Balances(ctx, "43114", wallet, ofOne))
		},
		request: `GET /v1/chains/43114/addresses/` + wallet + `/balances:listErc721?contractAddress=` + nftAt + `&pageSize=3&pageToken=t`,
		status:  200, fixture: "erc721",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/balances:listCollectibles",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).CollectiblePage(ctx, "43114", wallet, ofOne, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).Collectibles(ctx, "43114", wallet, ofOne))
		},
		request: `GET /v1/chains/43114/addresses/` + wallet + `/balances:listCollectibles?contractAddress=` + nftAt + `&pageSize=3&pageToken=t`,
		status:  200, fixture: "collectibles",
	},
	{
		op: "GET /v1/chains/{chainId}/addresses/{address}/balances:getNative",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).NativeBalance(ctx, "43114", wallet, data.NativeBalanceQuery{BlockNumber: at(0), Currency: "eur"}))
		},
		request: `GET /v1/chains/43114/addresses/` + wallet + `/balances:getNative?blockNumber=0&currency=eur`,
		status:  200, fixture: "native", under: "nativeTokenBalance",
	},
	{
		op: "GET /v1/chains/{chainId}/contracts/{address}/deployments",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).DeploymentPage(ctx, "43114", wallet, small, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).Deployments(ctx, "43114", wallet, small))
		},
		request: `GET /v1/chains/43114/contracts/` + wallet + `/deployments?pageSize=3&pageToken=t`,
		status:  200, fixture: "deployments",
	},
	{
		op: "GET /v1/icm/addresses/{address}/messages",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).ICMMessagePage(ctx, wallet, allICM, "t"))
		},
		walk: func(ctx context.Context, u *scrape.Upstream) (int, error) {
			return count(in(u).ICMMessages(ctx, wallet, allICM))
		},
		request: `GET /v1/icm/addresses/` + wallet + `/messages?network=testnet&pageSize=3&pageToken=t`,
		status:  200, fixture: "icm",
	},
	{
		op: "GET /v1/chains/{chainId}/blocks/{blockId}",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return some(in(u).Block(ctx, "43114", "49889407"))
		},
		request: `GET /v1/chains/43114/blocks/49889407`,
		status:  200, fixture: "block",
	},
	{
		op: "POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			return nil, in(u).Reindex(ctx, "43114", nftAt, "7")
		},
		request: `POST /v1/chains/43114/nfts/collections/` + nftAt + `/tokens/7:reindex`,
		status:  201,
	},
	{
		op: "GET /v1/avg_tps/{chainId}",
		ask: func(ctx context.Context, u *scrape.Upstream) (any, error) {
			for page, err := range metrics.New(u).AvgTPS(ctx, "43114") {
				return some(page, err)
			}
			return nil, nil
		},
		request: `GET /v1/avg_tps/43114`,
		status:  200, fixture: "avg_tps",
	},
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEndpointsSendAndDecodeAsDocumented(t *testing.T) {
	asked := map[string]bool{}
	for _, c := range conversations {
		asked[c.op] = true
		t.Run(c.op, func(t *testing.T) {
			answer := fixture(t, c.fixture)
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = append(got, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
				if r.Header.Get("X-Service-Api-Key") != "k3y" || r.Header.Get("Accept") != "application/json" || (r.Header.Get("Content-Type") == "application/json") != (len(body) > 0) {
					t.Errorf("headers: %v", r.Header)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write(answer)
			}))
			defer server.Close()
			u, err := scrape.New(scrape.Options{Name: "data", URL: server.URL, Header: http.Header{data.KeyHeader: {"k3y"}}})
			if err != nil {
				t.Fatal(err)
			}
			value, err := c.ask(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.request}, got); diff != "" {
				t.Error(diff)
			}
			if c.fixture == "" {
				return
			}
			if c.under != "" {
				value = map[string]any{c.under: value}
			}
			for _, problem := range lost("", parsed(t, answer), again(t, value)) {
				t.Error(problem)
			}
		})
	}
	for _, e := range data.Endpoints() {
		if !asked[e.Op()] {
			t.Errorf("not tested: %s", e.Op())
		}
	}
	if len(asked) != len(data.Endpoints())+1 {
		t.Errorf("%d endpoints called", len(asked))
	}
}

// The second page repeats items of the first.
func TestWalksYieldItemsOnceAndEndAtAnEmptyToken(t *testing.T) {
	walks := 0
	for _, c := range conversations {
		if c.walk == nil {
			continue
		}
		walks++
		first := fixture(t, c.fixture)
		var page map[string]any
		if err := json.Unmarshal(first, &page); err != nil {
			t.Fatal(err)
		}
		items, token := 0, page["nextPageToken"].(string)
		for name, member := range page {
			if list, ok := member.([]any); ok && name != "nextPageToken" {
				items += len(list)
			}
		}
		for _, end := range []string{`"nextPageToken": ""`, `"nextPageToken": null`, `"x": 0`} {
			last := strings.Replace(string(first), `"nextPageToken": "`+token+`"`, end, 1)
			var tokens []string
			var sizes []string
			u := open(t, transport(func(r *http.Request) (*http.Response, error) {
				query := r.URL.Query()
				tokens, sizes = append(tokens, query.Get("pageToken")), append(sizes, query.Get("pageSize"))
				if query.Has("pageToken") {
					return respond(200, last), nil
				}
				return respond(200, string(first)), nil
			}))
			n, err := c.walk(t.Context(), u)
			if err != nil || n != items || !slices.Equal(tokens, []string{"", token}) || sizes[0] == "" || sizes[0] != sizes[1] {
				t.Errorf("%s, %s: %d items of %d, %v; requested %q, sizes %q", c.op, end, n, items, err, tokens, sizes)
			}
		}
	}
	paged := 0
	for _, e := range data.Endpoints() {
		if e.MaxPageSize > 0 {
			paged++
		}
	}
	if walks != paged {
		t.Errorf("%d walks for %d lists", walks, paged)
	}
}

// TestFixturesContainEveryField checks that a fixture contains every field of the types.
func TestFixturesContainEveryField(t *testing.T) {
	shown := map[reflect.Type]map[string]bool{}
	for _, c := range conversations {
		if c.fixture == "" || c.under == "signedMessage" {
			continue
		}
		answer := fixture(t, c.fixture)
		value, err := c.ask(t.Context(), open(t, transport(func(*http.Request) (*http.Response, error) { return respond(200, string(answer)), nil })))
		if err != nil {
			t.Fatal(err)
		}
		whole := parsed(t, answer)
		if c.under != "" {
			whole = whole.(map[string]any)[c.under]
		}
		show(shown, reflect.TypeOf(value), whole)
	}
	genesis := parsed(t, fixture(t, "blockchains")).(map[string]any)["blockchains"].([]any)[0].(map[string]any)["genesisData"]
	show(shown, reflect.TypeFor[data.EVMGenesis](), genesis)
	if len(shown) < 30 {
		t.Errorf("%d types found", len(shown))
	}
	null := []string{"airdropAmount", "baseFeePerGas", "blobGasUsed", "excessBlobGas"} // in every documented genesis
	for of, names := range shown {
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !names[name] && !slices.Contains(null, name) {
				t.Errorf("no fixture contains %s.%s", of.Name(), name)
			}
		}
	}
}

// show stores, for a type and those inside it, which fields a part of an answer contains.
func show(shown map[reflect.Type]map[string]bool, of reflect.Type, part any) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			show(shown, of.Elem(), item)
		}
	case map[string]any:
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if _, itself := reflect.PointerTo(of).MethodByName("UnmarshalJSONFrom"); itself {
			return
		}
		if strings.HasPrefix(of.Name(), "Item[") {
			value, _ := of.FieldByName("Value")
			of = value.Type
		}
		if of.Kind() == reflect.Map {
			for _, member := range part {
				show(shown, of.Elem(), member)
			}
			return
		}
		if shown[of] == nil {
			shown[of] = map[string]bool{}
		}
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if member := part[name]; member != nil {
				shown[of][name] = true
				show(shown, f.Type, member)
			}
		}
	}
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// again returns a decoded value as JSON.
func again(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text)
}

// lost returns the differences between an answer and its decoded value.
func lost(place string, answer, got any) (problems []string) {
	switch answer := answer.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, member := range answer {
			switch {
			case name == "status" && place == "": // of the Metrics service: repeats the HTTP status
				continue
			case name == "genesisData":
				raw, _ := object[name].(map[string]any)
				problems = append(problems, lost(place+"."+name, member, raw["Raw"])...)
				continue
			}
			problems = append(problems, lost(place+"."+name, member, object[name])...)
		}
		return problems
	case []any:
		list, _ := got.([]any)
		if len(list) != len(answer) {
			return []string{fmt.Sprintf("%s: %d of %d", place, len(list), len(answer))}
		}
		for i, item := range answer {
			problems = append(problems, lost(fmt.Sprintf("%s.%d", place, i), item, list[i])...)
		}
		return problems
	}
	if said, read := fmt.Sprint(answer), fmt.Sprint(got); said != read && !same(said, read) && !(said == "" && got == nil) {
		return []string{fmt.Sprintf("%s: %q became %q", place, said, read)}
	}
	return nil
}

// same reports whether two spellings are the same number or time.
func same(said, read string) bool {
	if at, err := time.Parse(time.RFC3339, read); err == nil {
		return said == fmt.Sprint(at.Unix())
	}
	a, isA := new(big.Int).SetString(said, 0)
	b, isB := new(big.Int).SetString(read, 0)
	return isA && isB && a.Cmp(b) == 0
}
