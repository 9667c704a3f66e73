package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/avax-exporter/avax-exporter/simnet"
)

// differences are known differences between answers and the description.
var differences = []struct {
	schema, why string
	change      func(*openapi3.Schema)
}{
	{
		schema: "Blockchain",
		why:    "the genesis of the X-Chain comes as {encoding, data} in live answers, which is neither of the two forms described",
		change: func(s *openapi3.Schema) {
			genesis := s.Properties["genesisData"].Value
			text := openapi3.NewSchemaRef("", openapi3.NewStringSchema())
			bytes := openapi3.NewObjectSchema().WithPropertyRef("encoding", text).WithPropertyRef("data", text).WithRequired([]string{"encoding", "data"})
			genesis.OneOf = append(genesis.OneOf, openapi3.NewSchemaRef("", bytes))
		},
	},
}

// described is a service and its description.
type described struct {
	t      *testing.T
	host   string
	client http.Client
	router routers.Router
	open   map[string]bool // operations without a successful answer so far
}

// describe loads a description and makes it stricter: an object has no unnamed fields.
func describe(t *testing.T, net *simnet.Network, host string) *described {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile("testdata/" + host + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if s, ok := document.Components.Schemas[d.schema]; ok {
			d.change(s.Value)
		}
	}
	for _, s := range document.Components.Schemas {
		if len(s.Value.Properties) > 0 {
			s.Value.AdditionalProperties.Has = new(false)
		}
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	d := &described{t, host, http.Client{Transport: net.Transport()}, router, map[string]bool{}}
	for path, item := range document.Paths.Map() {
		for verb := range item.Operations() {
			d.open[verb+" "+path] = true
		}
	}
	return d
}

// ask makes a request and compares it, its answer and the status with the description. A request that expects 400 is invalid
// on purpose, so only its answer is compared.
func (d *described) ask(status int, verb, path, body string) {
	d.t.Helper()
	name := fmt.Sprintf("%s %s %s %s", d.host, verb, path, body)
	request, err := http.NewRequestWithContext(d.t.Context(), verb, "http://"+d.host+".sim"+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	route, params, err := d.router.FindRoute(request)
	if err != nil {
		d.t.Errorf("%s: %v", name, err)
		return
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: params, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(d.t.Context(), input); err != nil && status != http.StatusBadRequest {
		d.t.Errorf("%s: %v", name, err)
	}
	request.Body = io.NopCloser(strings.NewReader(body))
	response, err := d.client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if response.StatusCode != status {
		d.t.Errorf("%s: %d %s", name, response.StatusCode, answer)
	}
	output := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(answer)), Options: input.Options,
	}
	if err := openapi3filter.ValidateResponse(d.t.Context(), output); err != nil {
		d.t.Errorf("%s: %v", name, err)
	}
	if status < 300 {
		delete(d.open, verb+" "+route.Path)
	}
}

func (d *described) get(paths ...string) {
	d.t.Helper()
	for _, path := range paths {
		d.ask(200, "GET", path, "")
	}
}

// complete fails for every operation without a successful answer.
func (d *described) complete() {
	d.t.Helper()
	for _, operation := range slices.Sorted(maps.Keys(d.open)) {
		d.t.Errorf("%s: %s was not called", d.host, operation)
	}
}

// find calls an upstream and returns the first value of a string field.
func find(t *testing.T, net *simnet.Network, field, verb, url, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), verb, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := net.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(string(answer), `"`+field+`":"`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

func TestSimulatedDataServiceMatchesItsDescription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{Seed: 1})
		net.SetBlockPeriod("X", time.Minute)
		time.Sleep(20 * time.Minute)
		net.SetIndexLag("C", time.Hour) // messages from C are delivered before they are indexed
		net.PayReward("alpha", "VALIDATOR", 1_000)
		time.Sleep(20*time.Minute + 8*time.Second)
		d := describe(t, net, "data")
		l1, poa := net.Chain("examplel1"), net.Chain("examplepoa")
		asset := find(t, net, "assetID", "POST", "http://alpha.sim/ext/bc/X", `{"jsonrpc":"2.0","id":1,"method":"avm.getAssetDescription",`+
			`"params":{"assetID":"AVAX"}}`)
		conversion := find(t, net, "l1ConversionTransactionHash", "GET", "http://data.sim/v1/networks/mainnet/subnets/"+l1.SubnetID, "")
		const networks = "/v1/networks/mainnet"
		d.get(networks+"/blockchains", networks+"/blockchains?pageSize=1&sortOrder=asc", "/v1/networks/testnet/blockchains")
		d.get(networks+"/subnets/"+l1.SubnetID, networks+"/subnets/"+poa.SubnetID, networks+"/subnets/11111111111111111111111111111111LpoYY")
		d.get(networks+"/rewards?nodeIds="+net.NodeID("alpha"), networks+"/rewards?addresses=P-"+simnet.Owner+"&currency=eur&pageSize=100",
			networks+"/rewards:listPending?nodeIds="+net.NodeID("alpha"))
		d.get(networks + "/l1Validators?nodeId=" + net.NodeID("alpha") + "&includeInactiveL1Validators=true")
		d.get(networks+"/blockchains/p-chain/transactions?l1ValidationId="+net.ValidationID("examplel1", "alpha"),
			networks+"/blockchains/p-chain/transactions?addresses=P-"+simnet.Owner+"&txTypes=ConvertSubnetToL1Tx")
		d.get(networks + "/blockchains/x-chain/assets/" + asset + "/transactions?pageSize=100&txTypes=BaseTx&txTypes=CreateAssetTx&txTypes=ImportTx&txTypes=ExportTx")
		for _, chain := range []simnet.Chain{net.Chain("C"), l1, poa} {
			for _, id := range []string{fmt.Sprint(chain.EVMChainID), chain.ID} {
				path := "/v1/chains/" + id
				d.get(path+"/blocks/0", path+"/blocks/8000")
				for _, address := range []string{simnet.Account, simnet.Partner, simnet.Relayer, simnet.Items} {
					for _, question := range []string{
						"balances:getNative", "balances:listErc721", "balances:listErc1155", "balances:listCollectibles?pageSize=500",
						"transactions:listErc721?pageSize=100", "transactions:listInternals?pageSize=100",
					} {
						d.get(path + "/addresses/" + address + "/" + question)
					}
					d.get(path + "/contracts/" + address + "/deployments")
				}
			}
		}
		message := find(t, net, "messageId", "GET", "http://data.sim/v1/icm/addresses/"+simnet.Account+"/messages", "")
		d.get("/v1/icm/messages/"+message, "/v1/icm/addresses/"+simnet.Account+"/messages?pageSize=100",
			"/v1/icm/addresses/"+simnet.Partner+"/messages?network=mainnet")

		const tokens = "/v1/chains/43112/nfts/collections/" + simnet.Collection + "/tokens/"
		d.ask(201, "POST", tokens+"7:reindex", "")
		d.ask(429, "POST", tokens+"7:reindex", "")
		d.ask(404, "POST", tokens+"77:reindex", "")

		const signatures = "/v1/signatureAggregator/mainnet/aggregateSignatures"
		d.ask(201, "POST", signatures, `{"message":"0x0001","signingSubnetId":"`+l1.SubnetID+`","quorumPercentage":67,"quorumPercentageBuffer":10,"pChainHeight":0}`)
		d.ask(201, "GET", signatures+"/"+conversion, "")
		d.ask(400, "POST", signatures, `{}`)
		for _, name := range []string{"alpha", "bravo", "charlie"} {
			net.SetSigning(name, false)
		}
		d.ask(500, "POST", signatures, `{"message":"0x0001","signingSubnetId":"`+l1.SubnetID+`"}`)

		const account = "/v1/chains/43112/addresses/" + simnet.Account
		d.ask(400, "GET", networks+"/rewards", "")
		d.ask(400, "GET", account+"/balances:listErc721?pageSize=501", "")
		d.ask(400, "GET", account+"/balances:listErc721?pageToken=old", "")
		d.ask(404, "GET", "/v1/chains/1/blocks/1", "")
		d.ask(404, "GET", networks+"/subnets/"+l1.ID, "")
		service := net.DataService()
		for _, status := range []int{401, 403, 500, 502, 503} {
			service.Inject(simnet.Refused(status, "try later"))
			d.ask(status, "GET", account+"/balances:getNative", "")
			service.Recover()
		}
		service.SetComputeLimit(10)
		d.ask(429, "GET", account+"/balances:getNative", "")
		d.complete()
	})
}

func TestSimulatedMetricsServiceMatchesItsDescription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{Seed: 1})
		time.Sleep(time.Hour)
		d := describe(t, net, "metrics")
		for _, chain := range []string{"43112", "99999", "99998", "12345", "total", "mainnet", "testnet"} {
			for _, metric := range []string{"avgTps", "maxTps", "avgGps", "maxGps", "txCount", "activeAddresses"} {
				d.get("/v2/chains/" + chain + "/metrics/" + metric + "?timeInterval=day&pageSize=400")
			}
		}
		d.ask(400, "GET", "/v2/chains/43112/metrics/avgTps?pageSize=2161", "")
		d.complete()
	})
}

func TestTrimmingIsIdempotent(t *testing.T) {
	for _, name := range []string{"data.json", "metrics.json"} {
		kept, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, kept, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := update("testdata/"+name, file); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, kept) {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(again), len(kept))
		}
	}
}
