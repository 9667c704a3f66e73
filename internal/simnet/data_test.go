package simnet_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

const (
	onC  = "/v1/chains/43112"
	onL1 = "/v1/chains/99999"
)

// get decodes the answer to a GET, and returns its status and error message.
func (c client) get(path string, into any) string {
	c.t.Helper()
	status, body, err := c.send("GET", path, "")
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	if status != 200 {
		return refusal(c.t, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		c.t.Fatalf("%s: %v in %s", path, err, body)
	}
	return "200"
}

// refusal checks the form of an error body, and returns its message.
func refusal(t *testing.T, status int, body string) string {
	t.Helper()
	var e struct {
		Message    any
		Error      string
		StatusCode int
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.StatusCode != status || e.Error != http.StatusText(status) {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return fmt.Sprintf("%d %v", status, e.Message)
}

// list returns the items of all pages of a list.
func list[T any](c client, path, field string) (all []T) {
	c.t.Helper()
	for token := ""; ; {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		var page map[string]json.RawMessage
		if end := c.get(path+separator+"pageToken="+token, &page); end != "200" {
			c.t.Fatalf("%s: %s", path, end)
		}
		var items []T
		if err := json.Unmarshal(page[field], &items); err != nil {
			c.t.Fatalf("%s: %v", path, err)
		}
		all = append(all, items...)
		if token = strings.Trim(string(page["nextPageToken"]), `"`); token == "" {
			return all
		}
	}
}

// avaxID returns the asset ID of AVAX.
func avaxID(t *testing.T, net *simnet.Network) string {
	var r struct{ AssetID string }
	dial(t, net, "alpha").must("/ext/bc/X", "avm.getAssetDescription", map[string]any{"assetID": "AVAX"}, &r)
	return r.AssetID
}

// conversion returns the transaction that converted examplel1 to an L1.
func conversion(t *testing.T, net *simnet.Network) string {
	var s struct{ L1ConversionTransactionHash string }
	dial(t, net, "data").get("/v1/networks/mainnet/subnets/"+net.Chain("examplel1").SubnetID, &s)
	return s.L1ConversionTransactionHash
}

// TestServiceAnswersMatchDocumentedExamples compares fields and their types with the examples in the services' documentation.
func TestServiceAnswersMatchDocumentedExamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		net.SetBlockPeriod("X", time.Minute)
		time.Sleep(15 * time.Minute)
		net.SetIndexLag("C", time.Hour) // messages from C are delivered before they are indexed
		time.Sleep(30 * time.Minute)
		place := strings.NewReplacer("$L1", net.Chain("examplel1").SubnetID, "$ALPHA", net.NodeID("alpha"),
			"$ACCOUNT", simnet.Account, "$AVAX", avaxID(t, net), "$CONVERSION", conversion(t, net))
		f, err := os.Open("testdata/services.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		samples := 0
		for lines := bufio.NewScanner(f); lines.Scan(); samples++ {
			var sample struct {
				Upstream, Ask string
				Answer        any
			}
			if err := json.Unmarshal(lines.Bytes(), &sample); err != nil {
				t.Fatal(err)
			}
			verb, path, _ := strings.Cut(place.Replace(sample.Ask), " ")
			path, body, _ := strings.Cut(path, " ")
			status, answer, err := dial(t, net, sample.Upstream).send(verb, path, body)
			if err != nil || status != 200 && status != 201 {
				t.Errorf("%s: %d %s %v", sample.Ask, status, answer, err)
				continue
			}
			var got any
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			for _, d := range differences(shapeOf(got), shapeOf(sample.Answer), "$") {
				t.Errorf("%s: %s", sample.Ask, d)
			}
		}
		if samples < 16 {
			t.Errorf("%d samples", samples)
		}
	})
}

type dataBlock struct {
	ChainID, BlockNumber, BlockHash, ParentHash, FeesSpent string
	GasUsed, CumulativeTransactions                        json.Number
	BlockTimestamp, TxCount                                int64
}

func TestDataServiceBlocksMatchTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		time.Sleep(10 * time.Minute)
		data, alpha := dial(t, net, "data"), dial(t, net, "alpha")
		net.Node("alpha").Fork("examplel1") // the service does not follow a node's fork
		before := map[string]int64{}
		for _, height := range []uint64{73_000 - 1_500, 73_000 - 1_499, 73_001, 73_002, 73_003} {
			for _, chain := range []string{"examplel1", "C"} {
				c := net.Chain(chain)
				if chain == "C" {
					height += 1_250_000 - 73_000
				}
				var b, again dataBlock
				data.get(fmt.Sprintf("/v1/chains/%d/blocks/%d", c.EVMChainID, height), &b)
				data.get(fmt.Sprintf("/v1/chains/%s/blocks/%s", c.ID, b.BlockHash), &again)
				if b != again || b.ChainID != fmt.Sprint(c.EVMChainID) || b.BlockNumber != fmt.Sprint(height) {
					t.Fatalf("by number %+v, by hash %+v", b, again)
				}
				var e struct {
					Hash, ParentHash, Timestamp string
					Transactions                []string
				}
				alpha.must("/ext/bc/"+c.ID+"/rpc", "eth_getBlockByNumber", []any{fmt.Sprintf("0x%x", height), false}, &e)
				if e.Hash != b.BlockHash || e.ParentHash != b.ParentHash || int64(len(e.Transactions)) != b.TxCount ||
					e.Timestamp != fmt.Sprintf("0x%x", b.BlockTimestamp) {
					t.Errorf("node %+v, service %+v", e, b)
				}
				total, _ := b.CumulativeTransactions.Int64()
				if last, ok := before[fmt.Sprint(chain, height-1)]; ok && total-last != b.TxCount {
					t.Errorf("%d transactions up to a block with %d, after %d", total, b.TxCount, last)
				}
				before[fmt.Sprint(chain, height)] = total
				if fees, _ := strconv.Atoi(b.FeesSpent); fees < 21_000 {
					t.Errorf("block %d spent %s", height, b.FeesSpent)
				}
			}
		}
		// Past blocks have the same period.
		var b dataBlock
		data.get(onL1+"/blocks/72000", &b)
		if age := time.Now().Unix() - b.BlockTimestamp; age != 600+2_000 {
			t.Errorf("1,000 blocks before the origin: %d s old", age)
		}
		for ask, want := range map[string]string{
			onC + "/blocks/9999999":               "404 Block 9999999 not found",
			onC + "/blocks/0x12":                  "404 Block 0x12 not found",
			onC + "/blocks/latest":                "400 [blockId must be a block number or a block hash]",
			"/v1/chains/12345/blocks/1":           "404 Chain 12345 not found",
			"/v1/chains/examplel1/blocks/1":       "404 Chain examplel1 not found",
			onC + "/blocks/1/transactions/0/logs": "404 Cannot GET /v1/chains/43112/blocks/1/transactions/0/logs",
		} {
			if end := data.get(ask, nil); end != want {
				t.Errorf("%s: %s", ask, end)
			}
		}
	})
}

// indexed returns the newest indexed block of a chain.
func (c client) indexed(chain string) int {
	c.t.Helper()
	return sort.Search(100_000, func(height int) bool {
		return c.get(fmt.Sprintf("%s/blocks/%d", chain, height+1), new(dataBlock)) != "200"
	})
}

func TestIndexerLagsAndNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data := dial(t, net, "data")
		time.Sleep(time.Minute)
		at := data.indexed(onL1)
		if at != 73_029 {
			t.Errorf("indexed %d of 73030, want one block less", at)
		}
		net.SetIndexLag("examplel1", time.Minute)
		if now := data.indexed(onL1); now != at {
			t.Errorf("indexed block changed from %d to %d", at, now)
		}
		time.Sleep(30 * time.Second)
		if now := data.indexed(onL1); now != at {
			t.Errorf("indexed %d before the lag was reached", now)
		}
		time.Sleep(time.Hour)
		if now := data.indexed(onL1); now != 73_000+(60+30+3600-60)/2 {
			t.Errorf("indexed %d with a lag of a minute", now)
		}
		net.SetIndexLag("examplel1", 0)
		if now := data.indexed(onL1); now != 73_000+(60+30+3600)/2 {
			t.Errorf("indexed %d after catching up", now)
		}
	})
}

type dataReward struct {
	NodeID, RewardType, AmountStaked, TxHash string
	EndTimestamp                             int64
	Reward                                   struct {
		Amount          json.Number
		HistoricalPrice *struct {
			CurrencyCode string
			Value        float64
		}
	}
}

func (c client) rewards(query string) []dataReward {
	c.t.Helper()
	return list[dataReward](c, "/v1/networks/mainnet/rewards?"+query, "historicalRewards")
}

func TestRewardsArePaidAtPeriodEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, golf, hotel := dial(t, net, "data"), net.NodeID("golf"), net.NodeID("hotel")
		if n := len(data.rewards("nodeIds=" + golf)); n != 2 {
			t.Fatalf("golf: %d initial rewards", n)
		}
		time.Sleep(9*24*time.Hour + time.Minute) // golf's period ends and the next begins
		paid := data.rewards("nodeIds=" + golf)
		if len(paid) != 3 || paid[0].RewardType != "VALIDATOR" || paid[0].AmountStaked != "2000000000000" {
			t.Fatalf("golf: %+v", paid)
		}
		if time.Now().Unix()-paid[0].EndTimestamp != 60 || paid[0].Reward.HistoricalPrice != nil || paid[1].Reward.HistoricalPrice == nil {
			t.Errorf("golf: %+v", paid[:2])
		}
		whole := float64(2_000*avax) * 0.08 * 14 / 365
		if got, _ := paid[0].Reward.Amount.Float64(); got < whole*0.69 || got > whole*0.71 {
			t.Errorf("paid %v of %v, with 30 %% restaked", got, whole)
		}
		time.Sleep(24 * time.Hour)
		price := data.rewards("currency=eur&nodeIds=" + golf)[0].Reward.HistoricalPrice
		if price == nil || price.CurrencyCode != "eur" || price.Value < 18 || price.Value > 40 {
			t.Errorf("price after a day: %+v", price)
		}

		before := len(data.rewards("nodeIds=" + hotel))
		time.Sleep(11 * 24 * time.Hour) // hotel's delegation has ended
		if paid := data.rewards("nodeIds=" + hotel); len(paid) != before+1 || paid[0].RewardType != "DELEGATOR" || paid[0].AmountStaked != "100000000000" {
			t.Fatalf("hotel: %+v", paid)
		}
		time.Sleep(10 * 24 * time.Hour) // hotel's validation has ended
		paid = data.rewards("nodeIds=" + hotel)
		if len(paid) != before+3 || paid[0].RewardType != "VALIDATOR_FEE" || paid[1].RewardType != "VALIDATOR" {
			t.Fatalf("hotel: %+v", paid)
		}
		delegator, _ := paid[2].Reward.Amount.Float64()
		if fee, _ := paid[0].Reward.Amount.Float64(); fee/delegator < 0.110 || fee/delegator > 0.112 {
			t.Errorf("delegation fee of a tenth: %v to %v", fee, delegator)
		}

		net.PayReward("alpha", "AUTO_RENEWED", 7)
		time.Sleep(10 * time.Second)
		if newest := data.rewards("nodeIds=" + net.NodeID("alpha"))[0]; newest.RewardType != "AUTO_RENEWED" || newest.Reward.Amount != "7" {
			t.Errorf("got %+v", newest)
		}
		both := data.rewards("sortOrder=asc&addresses=P-" + simnet.Owner + "&nodeIds=" + golf + "," + hotel)
		if !slices.IsSortedFunc(both, func(a, b dataReward) int { return int(a.EndTimestamp - b.EndTimestamp) }) || len(both) <= before+3 {
			t.Errorf("%d rewards in the order %+v", len(both), both)
		}
		if some := data.rewards("addresses=avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg"); len(some) != 0 {
			t.Errorf("another address has %+v", some)
		}
	})
}

func TestSubnetOwnersAndManagersMatchTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, l1 := dial(t, net, "data"), net.Chain("examplel1")
		type subnet struct {
			OwnerAddresses      []string
			SubnetOwnershipInfo struct {
				Addresses []string
				Threshold int
			}
			IsL1                      bool
			L1ValidatorManagerDetails *struct{ BlockchainID, ContractAddress string }
			Blockchains               []struct {
				BlockchainID string
				GenesisData  json.RawMessage
			}
		}
		tell := func(id string) (s subnet) {
			t.Helper()
			if end := data.get("/v1/networks/mainnet/subnets/"+id, &s); end != "200" {
				t.Fatal(end)
			}
			return s
		}
		net.SetOwner("examplel1", []string{"custom1alice", "custom1bob"}, 2)
		net.SetManager(l1.SubnetID, "C", "0x00000000000000000000000000000000000000FF")
		s := tell(l1.SubnetID)
		if got := s.SubnetOwnershipInfo; got.Threshold != 2 || !slices.Equal(got.Addresses, []string{"custom1alice", "custom1bob"}) {
			t.Errorf("owner %+v", got)
		}
		if !slices.Equal(s.OwnerAddresses, []string{simnet.Owner}) {
			t.Errorf("deprecated field %v, want the first owner", s.OwnerAddresses)
		}
		m := s.L1ValidatorManagerDetails
		if m == nil || m.BlockchainID != net.Chain("C").ID || !strings.HasSuffix(m.ContractAddress, "FF") || !s.IsL1 {
			t.Errorf("manager %+v", m)
		}
		poa := tell(net.Chain("examplepoa").SubnetID)
		if poa.IsL1 || poa.L1ValidatorManagerDetails != nil || !strings.HasPrefix(string(poa.Blockchains[0].GenesisData), `"{`) {
			t.Errorf("examplepoa: %+v", poa)
		}
		net.AddL1Validator("examplepoa", "delta", 20, avax)
		if s := tell(net.Chain("examplepoa").SubnetID); !s.IsL1 || s.L1ValidatorManagerDetails.BlockchainID != net.Chain("examplepoa").ID {
			t.Errorf("after its conversion: %+v", s)
		}
		if p := tell("11111111111111111111111111111111LpoYY"); len(p.Blockchains) != 3 || p.Blockchains[0].GenesisData != nil || len(p.OwnerAddresses) != 0 {
			t.Errorf("primary network: %+v", p)
		}
		if n := len(list[any](data, "/v1/networks/mainnet/blockchains?pageSize=2", "blockchains")); n != 5 {
			t.Errorf("%d blockchains", n)
		}
		if n := len(list[any](data, "/v1/networks/fuji/blockchains", "blockchains")); n != 0 {
			t.Errorf("%d blockchains of another network", n)
		}
	})
}

func TestXChainTransactionsHaveBothFormats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		path := "/v1/networks/mainnet/blockchains/x-chain/assets/" + avaxID(t, net) + "/transactions"
		type tx struct {
			ChainFormat, TxType       string
			Timestamp                 int64
			BlockHeight               uint64
			Vertices                  []any
			SourceChain, AssetCreated any
		}
		data := dial(t, net, "data")
		quiet := list[tx](data, path, "transactions")
		if len(quiet) != 2 || quiet[0].ChainFormat != "non-linear" || len(quiet[0].Vertices) != 1 || quiet[1].TxType != "CreateAssetTx" || quiet[1].AssetCreated == nil {
			t.Fatalf("chain without blocks: %+v", quiet)
		}
		net.SetBlockPeriod("X", time.Minute)
		start := time.Now().Unix()
		time.Sleep(25*time.Minute + 10*time.Second)
		all := list[tx](data, path, "transactions")
		if len(all) != 28 || all[0].ChainFormat != "linear" || all[0].BlockHeight != 26 || all[0].Vertices != nil || all[0].Timestamp != start+25*60 {
			t.Errorf("%d transactions, the newest %+v", len(all), all[0])
		}
		some := list[tx](data, fmt.Sprintf("%s?txTypes=ImportTx&txTypes=CreateAssetTx&startTimestamp=%d&endTimestamp=%d", path, start, start+12*60), "transactions")
		if len(some) != 2 || some[0].BlockHeight != 10 || some[0].SourceChain != net.Chain("C").ID {
			t.Errorf("filtered: %+v", some)
		}
		for ask, want := range map[string]string{
			path + "?txTypes=ImportTx,ExportTx":                                 "400 [each value in txTypes must be one of",
			strings.Replace(path, "x-chain", "p-chain", 1):                      "400 [blockchainId must be one of",
			"/v1/networks/mainnet/blockchains/x-chain/assets/AVAX/transactions": "404 Asset AVAX not found",
			path + "?startTimestamp=-1":                                         "400 [startTimestamp must not be less than 0]",
		} {
			if end := data.get(ask, nil); !strings.HasPrefix(end, want) {
				t.Errorf("%s: %s", ask, end)
			}
		}
	})
}

type dataToken struct {
	Address, Name, ErcType, TokenID, OwnerAddress, Balance string
	Metadata                                               struct {
		IndexStatus                  string
		MetadataLastUpdatedTimestamp int64
		Name, Attributes, Properties string
	}
}

func TestTransfersMatchCollectibleBalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data := dial(t, net, "data")
		type transfer struct {
			BlockNumber json.Number
			From, To    struct{ Address string }
			ERC721Token dataToken
		}
		holdings := func(chain, address string) map[string]bool {
			owned := map[string]bool{}
			for _, token := range list[dataToken](data, chain+"/addresses/"+address+"/balances:listErc721?pageSize=5", "erc721TokenBalances") {
				owned[token.TokenID] = true
			}
			return owned
		}
		for chain, tokens := range map[string]int{onC: 12, onL1: 3} {
			before := holdings(chain, simnet.Account)
			if other := holdings(chain, strings.ToLower(simnet.Partner)); len(before)+len(other) != tokens {
				t.Errorf("%d and %d of %d tokens", len(before), len(other), tokens)
			}
			var newest []transfer
			newest = list[transfer](data, chain+"/addresses/"+simnet.Account+"/transactions:listErc721", "transactions")
			known := len(newest)
			last, _ := newest[0].BlockNumber.Int64()
			time.Sleep(26 * time.Hour)
			newest = list[transfer](data, fmt.Sprintf("%s/addresses/%s/transactions:listErc721?startBlock=%d", chain, simnet.Account, last+1), "transactions")
			if len(newest) != 52 {
				t.Errorf("%d transfers in 26 hours, after %d", len(newest), known)
			}
			for _, m := range slices.Backward(newest) {
				token, out := m.ERC721Token.TokenID, m.From.Address == simnet.Account
				if before[token] != out || out == (m.To.Address == simnet.Account) {
					t.Errorf("token %s transferred from %s to %s", token, m.From.Address, m.To.Address)
				}
				before[token] = !out
			}
			after := holdings(chain, simnet.Account)
			for token, owned := range before {
				if owned != after[token] {
					t.Errorf("token %s: %v from transfers, %v from the balance", token, owned, after[token])
				}
			}
		}
		both := list[dataToken](data, onC+"/addresses/"+simnet.Account+"/balances:listCollectibles", "collectibleBalances")
		items := slices.DeleteFunc(both, func(token dataToken) bool { return token.ErcType == "ERC-721" })
		if len(items) != 2 || items[0].Name != "" || items[0].OwnerAddress != "" || items[0].Balance != "25" || items[0].Metadata.Properties == "" {
			t.Errorf("ERC-1155: %+v", items)
		}
		if some := list[dataToken](data, onC+"/addresses/"+simnet.Account+"/balances:listCollectibles?contractAddress="+simnet.Items, "collectibleBalances"); len(some) != 2 {
			t.Errorf("one contract: %+v", some)
		}
	})
}

func TestReindexIsLimitedToOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data := dial(t, net, "data")
		status := func() string {
			for _, a := range []string{simnet.Account, simnet.Partner} {
				for _, token := range list[dataToken](data, onC+"/addresses/"+a+"/balances:listErc721", "erc721TokenBalances") {
					if token.TokenID == "7" {
						return fmt.Sprint(token.Metadata.IndexStatus, " ", time.Now().Unix()-token.Metadata.MetadataLastUpdatedTimestamp)
					}
				}
			}
			return "nobody has it"
		}
		reindex := func(token string) string {
			code, body, err := data.send("POST", onC+"/nfts/collections/"+strings.ToLower(simnet.Collection)+"/tokens/"+token+":reindex", "")
			if err != nil {
				t.Fatal(err)
			}
			if code != 201 {
				return refusal(t, code, body)
			}
			return fmt.Sprintf("%d %q", code, body)
		}
		if s := status(); !strings.HasPrefix(s, "UNREACHABLE_TOKEN_URI ") {
			t.Errorf("initially %s", s)
		}
		if end := reindex("7"); end != `201 ""` {
			t.Errorf("reindex: %s", end)
		}
		if s := status(); !strings.HasPrefix(s, "UNREACHABLE_TOKEN_URI ") {
			t.Errorf("immediately: %s", s)
		}
		time.Sleep(30 * time.Second)
		if s := status(); s != "INDEXED 10" {
			t.Errorf("after half a minute: %s", s)
		}
		if end := reindex("7"); !strings.HasPrefix(end, "429 ") {
			t.Errorf("again: %s", end)
		}
		if end := reindex("8"); !strings.HasPrefix(end, "201 ") {
			t.Errorf("another token: %s", end)
		}
		if end := reindex("12"); !strings.HasPrefix(end, "404 ") {
			t.Errorf("unknown token: %s", end)
		}
		time.Sleep(time.Hour)
		if end := reindex("7"); !strings.HasPrefix(end, "201 ") {
			t.Errorf("after an hour: %s", end)
		}
	})
}

func TestBalancesHaveAPriceIfTheTokenHasOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data := dial(t, net, "data")
		type native struct {
			NativeTokenBalance struct {
				Symbol, Balance     string
				Price, BalanceValue *struct {
					CurrencyCode string
					Value        float64
				}
			}
		}
		balance := func(path string) (n native) {
			t.Helper()
			if end := data.get(path, &n); end != "200" {
				t.Fatal(end)
			}
			return n
		}
		net.SetNativeBalance("C", simnet.Partner, big.NewInt(2_500_000_000_000_000_000))
		b := balance(onC + "/addresses/" + simnet.Partner + "/balances:getNative?currency=jpy").NativeTokenBalance
		if b.Symbol != "AVAX" || b.Balance != "2500000000000000000" || b.Price.CurrencyCode != "jpy" || b.BalanceValue.Value < 2.49*b.Price.Value || b.BalanceValue.Value > 2.51*b.Price.Value {
			t.Errorf("got %+v", b)
		}
		if b := balance(onL1 + "/addresses/" + simnet.Account + "/balances:getNative").NativeTokenBalance; b.Price != nil || b.BalanceValue != nil || b.Balance != "5000000000000000000000000" {
			t.Errorf("token without a price: %+v", b)
		}
		if b := balance(onC + "/addresses/0x00000000000000000000000000000000000000aa/balances:getNative").NativeTokenBalance; b.Balance != "0" {
			t.Errorf("unused address: %+v", b)
		}
		// A relayer pays for each delivery.
		relayer := onL1 + "/addresses/" + simnet.Relayer + "/balances:getNative"
		time.Sleep(time.Minute)
		first := balance(relayer).NativeTokenBalance.Balance
		time.Sleep(time.Hour)
		second := balance(relayer).NativeTokenBalance.Balance
		if first != "9930500000000000000" || second != "9927500000000000000" {
			t.Errorf("balance changed from %s to %s with 6 messages", first, second)
		}
		if old := balance(relayer + "?blockNumber=73029").NativeTokenBalance.Balance; old != first {
			t.Errorf("balance an hour ago %s, want %s", old, first)
		}
		net.HoldICM(true)
		time.Sleep(time.Hour)
		if now := balance(relayer).NativeTokenBalance.Balance; now != second {
			t.Errorf("balance changed from %s to %s without deliveries", second, now)
		}
	})
}

func TestDeploymentsAreListedByDeployer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, path := dial(t, net, "data"), onC+"/contracts/"+simnet.Account+"/deployments"
		type contract struct {
			Address, ErcType  string
			DeploymentDetails struct{ DeployerAddress string }
		}
		if n := len(list[contract](data, path, "contracts")); n != 4 {
			t.Errorf("%d initially", n)
		}
		time.Sleep(time.Minute)
		address := net.Deploy("C", strings.ToLower(simnet.Account))
		if n := len(list[contract](data, path, "contracts")); n != 4 {
			t.Errorf("%d before it was indexed", n)
		}
		time.Sleep(10 * time.Second)
		if all := list[contract](data, path+"?pageSize=1", "contracts"); len(all) != 5 || all[0].Address != address || all[0].ErcType != "UNKNOWN" {
			t.Errorf("got %+v", all)
		}
	})
}

func TestInternalTransactionTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, path := dial(t, net, "data"), onC+"/addresses/"+simnet.Account+"/transactions:listInternals"
		type internal struct {
			BlockNumber           int64 `json:",string"`
			InternalTxType, Value string
			From, To              struct{ Address string }
		}
		known := len(list[internal](data, path, "transactions"))
		time.Sleep(24 * time.Hour)
		all := list[internal](data, path, "transactions")
		if len(all) != known+32 {
			t.Errorf("%d in a day, after %d", len(all), known)
		}
		kinds := map[string]int{}
		for _, tx := range all {
			kinds[tx.InternalTxType]++
			if created := tx.InternalTxType == "CREATE"; created != (tx.Value == "0") || (tx.From.Address == simnet.Account) == (tx.To.Address == simnet.Account) {
				t.Errorf("%+v", tx)
			}
		}
		if len(kinds) != 3 || kinds["CREATE"] == 0 || kinds["CALLCODE"] == 0 || kinds["CALL"] < 40 {
			t.Errorf("kinds %v", kinds)
		}
		from, to := all[9].BlockNumber, all[4].BlockNumber
		if some := list[internal](data, fmt.Sprintf("%s?startBlock=%d&endBlock=%d", path, from, to), "transactions"); !slices.Equal(some, all[5:10]) {
			t.Errorf("block range: %+v", some)
		}
	})
}

type dataMessage struct {
	MessageID, Status, SourceEVMChainID string
	MessageExecuted                     bool
	SourceTransaction                   *struct{ Timestamp int64 }
	DestinationTransaction              *struct{ Timestamp int64 }
}

func (c client) messages() []dataMessage {
	c.t.Helper()
	return list[dataMessage](c, "/v1/icm/addresses/"+simnet.Account+"/messages?pageSize=100", "messages")
}

func TestICMMessagesWaitWithoutARelayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data := dial(t, net, "data")
		count := func() map[string]int {
			n := map[string]int{}
			last := int64(1 << 62)
			for _, m := range data.messages() {
				n[m.Status]++
				at := int64(0)
				if m.SourceTransaction != nil {
					at = m.SourceTransaction.Timestamp
				} else {
					at = m.DestinationTransaction.Timestamp
				}
				if at > last {
					t.Fatalf("%+v after one of %d", m, last)
				}
				last = at
				if (m.Status == "delivered_source_not_indexed") != (m.SourceTransaction == nil) ||
					(m.Status == "pending") != (m.DestinationTransaction == nil) || m.MessageExecuted != (m.DestinationTransaction != nil) {
					t.Fatalf("%+v", m)
				}
				if m.Status == "delivered" {
					if took := m.DestinationTransaction.Timestamp - m.SourceTransaction.Timestamp; took < 5 || took > 7200 {
						t.Fatalf("%+v took %d s", m, took)
					}
				}
			}
			return n
		}
		time.Sleep(50 * time.Second)
		first := count()
		time.Sleep(100 * time.Minute) // 10 from C, 4 from the L1
		if now := count(); now["delivered"] != first["delivered"]+first["pending"]+14 || now["pending"] != 0 {
			t.Errorf("messages from %v to %v", first, now)
		}
		net.HoldICM(true)
		time.Sleep(100 * time.Minute)
		if now := count(); now["pending"] != 14 {
			t.Errorf("without a relayer: %v", now)
		}
		net.HoldICM(false)
		released := time.Now().Unix()
		time.Sleep(10 * time.Second)
		if now := count(); now["pending"] != 0 {
			t.Errorf("after the relayer resumed: %v", now)
		}
		if late := data.messages()[13].DestinationTransaction.Timestamp - released; late != 5 {
			t.Errorf("oldest message delivered %d s after the relayer resumed", late)
		}
		net.SetIndexLag("C", 24*time.Hour)
		time.Sleep(100 * time.Minute)
		if now := count(); now["delivered_source_not_indexed"] != 10 || now["pending"] != 4 {
			t.Errorf("while C is not indexed: %v", now)
		}
		other := list[any](data, "/v1/icm/addresses/"+simnet.Relayer+"/messages", "messages")
		elsewhere := list[any](data, "/v1/icm/addresses/"+simnet.Account+"/messages?network=fuji", "messages")
		if len(other)+len(elsewhere) != 0 {
			t.Errorf("messages of other addresses: %d, %d", len(other), len(elsewhere))
		}
	})
}

func TestSignatureAggregationNeedsAQuorum(t *testing.T) {
	net := simnet.New(simnet.Options{})
	data, l1 := dial(t, net, "data"), net.Chain("examplel1")
	sign := func(body string) string {
		t.Helper()
		status, answer, err := data.send("POST", "/v1/signatureAggregator/mainnet/aggregateSignatures", body)
		if err != nil {
			t.Fatal(err)
		}
		if status != 201 {
			return refusal(t, status, answer)
		}
		if !strings.HasPrefix(answer, `{"signedMessage":"0011`) {
			t.Errorf("signed: %s", answer)
		}
		return "201"
	}
	message := fmt.Sprintf(`{"message":"0x0011","signingSubnetId":%q}`, l1.SubnetID)
	if end := sign(message); end != "201" {
		t.Error(end)
	}
	net.SetSigning("alpha", false) // 100 of 370
	net.SetSigning("charlie", false)
	if end := sign(message); end != "500 signature weight is insufficient: 67*370 > 100*220" {
		t.Error(end)
	}
	if end := sign(strings.TrimSuffix(message, "}") + `,"quorumPercentage":59,"quorumPercentageBuffer":41}`); end != "201" {
		t.Error(end)
	}
	net.SetSigning("alpha", true)
	net.SetSigning("charlie", true)
	net.SetBalance("examplel1", "foxtrot", 0) // an inactive validator does not count
	net.Node("foxtrot").Stop()
	if end := sign(strings.TrimSuffix(message, "}") + `,"quorumPercentage":100}`); end != "201" {
		t.Error(end)
	}
	net.Node("alpha").Stop()
	if end := sign(message); end != "500 failed to connect to a threshold of stake" {
		t.Error(end)
	}
	for body, want := range map[string]string{
		`{}`: "400 [Exactly one of message and justification must be provided]",
		`{"message":"0011","justification":"0011"}`:                            "400 [Exactly one of message and justification must be provided]",
		`{"message":"zz"}`:                                                     "400 [message and justification must be hexadecimal]",
		`{"message":"0011","quorumPercentage":67.5}`:                           "400 [quorumPercentage must be an integer between 0 and 100]",
		`{"message":"0011","quorumPercentage":67,"quorumPercentageBuffer":34}`: "400 [quorumPercentage + quorumPercentageBuffer must be less than or equal to 100]",
		`{"message":"0011","quorumPercentage":"67"}`:                           "400 The body must be a JSON object with values of the documented types",
		`[]`: "400 The body must be a JSON object with values of the documented types",
		`{"message":"0011","pChainHeight":99999999}`:  "400 [pChainHeight must not be greater than the height of the P-Chain]",
		`{"message":"0011","signingSubnetId":"nope"}`: "404 Subnet nope not found",
	} {
		if end := sign(body); end != want {
			t.Errorf("%s: %s", body, end)
		}
	}
	path := "/v1/signatureAggregator/mainnet/aggregateSignatures/"
	if status, body, _ := data.send("GET", path+conversion(t, net), ""); status != 500 {
		t.Errorf("without alpha: %d %s", status, body)
	}
	net.Node("alpha").Start()
	net.TopUp("examplel1", "foxtrot", avax)
	net.Node("foxtrot").Start()
	if end := data.get(path+"nope", nil); !strings.HasPrefix(end, "400 [txHash: ") {
		t.Error(end)
	}
	if end := data.get(path+l1.ID, nil); !strings.HasPrefix(end, "404 ") {
		t.Error(end)
	}
}

func TestPagesShareOneTimeAndExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, path := dial(t, net, "data"), "/v1/icm/addresses/"+simnet.Account+"/messages"
		type page struct {
			Messages      []dataMessage
			NextPageToken *string
		}
		var first page
		data.get(path+"?pageSize=50", &first)
		seen, pages := map[string]bool{}, 0
		for p := first; ; pages++ {
			for _, m := range p.Messages {
				if seen[m.MessageID+m.SourceEVMChainID] {
					t.Fatalf("duplicate %s", m.MessageID)
				}
				seen[m.MessageID+m.SourceEVMChainID] = true
			}
			if p.NextPageToken == nil {
				t.Fatal("the last page of a chain's list has an empty token")
			}
			if *p.NextPageToken == "" {
				break
			}
			time.Sleep(30 * time.Minute) // new messages are sent in the meantime
			token := *p.NextPageToken
			p = page{}
			if end := data.get(path+"?pageSize=50&pageToken="+token, &p); end != "200" {
				t.Fatal(end)
			}
		}
		if want := 138 + 56; len(seen) != want || pages != 3 {
			t.Errorf("%d messages on %d more pages, want %d", len(seen), pages, want)
		}
		const expired = "400 [pageToken is invalid or expired, start again from the first page]"
		if end := data.get(onC+"/contracts/"+simnet.Account+"/deployments?pageToken="+*first.NextPageToken, nil); end != expired {
			t.Errorf("token of another list: %s", end)
		}
		time.Sleep(23 * time.Hour)
		for _, ask := range []string{
			path + "?pageToken=" + *first.NextPageToken,
			path + "?pageToken=something",
		} {
			if end := data.get(ask, nil); end != expired {
				t.Errorf("%s: %s", ask, end)
			}
		}
		var last map[string]any
		data.get("/v1/networks/mainnet/blockchains", &last)
		if _, ok := last["nextPageToken"]; ok {
			t.Error("the last page of a network's list has no token")
		}
	})
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	net := simnet.New(simnet.Options{})
	data, account := dial(t, net, "data"), "/addresses/"+simnet.Account
	for ask, want := range map[string]string{
		"/v1/icm" + account + "/messages?pageSize=101":                  "400 [pageSize must not be greater than 100]",
		"/v1/icm" + account + "/messages?network=moon":                  "400 [network must be one of the following values: mainnet, fuji, testnet]",
		"/v1/icm/addresses/nobody/messages":                             "400 [address must be a valid EVM address]",
		onC + account + "/balances:listErc721?pageSize=501":             "400 [pageSize must not be greater than 500]",
		onC + account + "/balances:listErc1155?pageSize=ten":            "400 [pageSize must not be less than 1 pageSize must be an integer number]",
		onC + account + "/balances:listCollectibles?contractAddress=0x": "400 [contractAddress must be a valid EVM address]",
		onC + account + "/balances:getNative?currency=btc":              "400 [currency must be one of the following values: usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy, nzd]",
		onC + account + "/balances:getNative?blockNumber=9999999":       "404 Block 9999999 not found",
		onC + account + "/balances:everything":                          "404 Cannot GET /v1/chains/43112/addresses/" + simnet.Account + "/balances:everything",
		"/v1/chains/1" + account + "/transactions:listInternals":        "404 Chain 1 not found",
		"/v1/networks/mainnet/blockchains?pageSize=10001&sortOrder=up":  "400 [pageSize must not be greater than 10000 sortOrder must be one of the following values: desc, asc]",
		"/v1/networks/moon/blockchains":                                 "400 [network must be one of the following values: mainnet, fuji, testnet]",
		"/v1/networks/mainnet/subnets/nope":                             "400 [subnetId: input string is smaller than the checksum size]",
		"/v1/networks/mainnet/subnets/" + net.Chain("C").ID:             "404 Subnet " + net.Chain("C").ID + " not found",
		"/v1/networks/fuji/subnets/" + net.Chain("examplel1").SubnetID:  "404 Subnet " + net.Chain("examplel1").SubnetID + " not found",
		"/v1/networks/mainnet/rewards":                                  "400 At least one of addresses or nodeIds is required",
		"/v1/networks/mainnet/rewards?nodeIds=NodeID-1":                 `400 [nodeIds: "NodeID-1": input string is smaller than the checksum size]`,
		"/v1/networks/mainnet/rewards?addresses=0x12":                   `400 [addresses: "0x12" is no address of the P-Chain or the X-Chain]`,
	} {
		if end := data.get(ask, nil); end != want {
			t.Errorf("%s:\n got %s\nwant %s", ask, end, want)
		}
	}
}

// header returns status and header of a request with a key.
func (c client) header(path, name, key string) (int, http.Header) {
	c.t.Helper()
	req, err := http.NewRequest("GET", c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set(name, key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 200 {
		refusal(c.t, res.StatusCode, string(body))
	}
	return res.StatusCode, res.Header
}

func TestAPIKeyIsOptional(t *testing.T) {
	net := simnet.New(simnet.Options{})
	data := dial(t, net, "data")
	for _, name := range []string{"x-service-api-key", "X-Glacier-Api-Key"} {
		net.DataService().SetKey("good", 403)
		for key, want := range map[string]int{"": 200, "good": 200, "old": 403} {
			if status, _ := data.header(onC+"/blocks/7", name, key); status != want {
				t.Errorf("%s %q: %d", name, key, status)
			}
		}
		net.DataService().SetKey("better", 401)
		if status, _ := data.header(onC+"/blocks/7", name, "good"); status != 401 {
			t.Errorf("%s: %d for the previous key", name, status)
		}
	}
	if status, _ := dial(t, net, "metrics").header("/v1/avg_tps/43112", "x-service-api-key", "old"); status != 200 {
		t.Errorf("Metrics service with a key: %d", status)
	}
}

func TestComputeUnitsAreLimitedPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		data, rewards := dial(t, net, "data"), "/v1/networks/mainnet/rewards?nodeIds="+net.NodeID("alpha")
		net.DataService().SetKey("good", 401)
		net.DataService().SetComputeLimit(350)
		time.Sleep(20 * time.Second)
		ask := func(path, key string) (int, http.Header) { return data.header(path, "x-service-api-key", key) }
		for range 3 {
			if status, h := ask(rewards, ""); status != 200 || h.Get("ratelimit-limit") != "" {
				t.Fatalf("%d %v", status, h)
			}
		}
		status, h := ask(rewards, "")
		if status != 429 || h.Get("retry-after") != "40" || h.Get("ratelimit-reset") != "40" || h.Get("ratelimit-remaining") != "50" || h.Get("ratelimit-policy") != "350;w=60" {
			t.Errorf("fourth request for rewards: %d %v", status, h)
		}
		if status, _ := ask(onC+"/blocks/1", ""); status != 200 {
			t.Errorf("block: %d", status)
		}
		status, h = ask(rewards, "good")
		if status != 200 || h.Get("ratelimit-limit") != "350" || h.Get("ratelimit-remaining") != "250" || h.Get("retry-after") != "" {
			t.Errorf("with a key: %d %v", status, h)
		}
		time.Sleep(40 * time.Second)
		if status, _ := ask(rewards, ""); status != 200 {
			t.Errorf("next minute: %d", status)
		}
		// Costs of every endpoint.
		account := "/addresses/" + simnet.Account
		for path, want := range map[string]int{
			onC + "/blocks/7": 10, onC + account + "/balances:getNative": 20,
			onC + account + "/transactions:listInternals": 20, "/v1/networks/mainnet/blockchains": 20, rewards: 100,
			"/v1/networks/mainnet/blockchains/x-chain/assets/" + avaxID(t, net) + "/transactions": 100, "/v1/icm" + account + "/messages": 20,
		} {
			time.Sleep(time.Minute)
			_, h := ask(path, "good")
			if left, _ := strconv.Atoi(h.Get("ratelimit-remaining")); 350-left != want {
				t.Errorf("%s costs %d, want %d", path, 350-left, want)
			}
		}
	})
}

func TestDataServiceFaults(t *testing.T) {
	net := simnet.New(simnet.Options{})
	data, service := dial(t, net, "data"), net.DataService()
	path := onC + "/contracts/" + simnet.Account + "/deployments"
	service.Stop()
	if _, _, err := data.send("GET", path, ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("stopped: %v", err)
	}
	service.Start()
	const call = "GET /v1/chains/{chainId}/contracts/{address}/deployments"
	for _, code := range []int{500, 502, 503} {
		service.Inject(simnet.Refused(code, "try later"), call)
		if end := data.get(path, nil); end != fmt.Sprint(code, " try later") {
			t.Errorf("%d: %s", code, end)
		}
		if end := data.get(onC+"/blocks/7", new(any)); end != "200" {
			t.Errorf("other call: %s", end)
		}
		service.Recover()
	}
	service.Inject(simnet.RateLimited(7 * time.Second))
	if status, h := data.header(path, "", ""); status != 429 || h.Get("Retry-After") != "7" {
		t.Errorf("limited: %d %v", status, h)
	}
	service.Recover()
	net.ResetCalls()
	if _, _, err := data.send("POST", onC+"/nfts/collections/"+simnet.Items+"/tokens/1:reindex", ""); err != nil {
		t.Error(err)
	}
	const want = "POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex"
	if calls := net.Calls(); len(calls) != 1 || calls[0].Upstream != "data" || calls[0].Method != want {
		t.Errorf("recorded %+v", calls)
	}
}

func TestEqualSeedsGiveEqualServiceAnswers(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 9, 25, 0, time.UTC)
	answer := func(seed uint64) string {
		net := simnet.New(simnet.Options{Seed: seed, Now: func() time.Time { return now }})
		status, body, err := dial(t, net, "data").send("GET", "/v1/icm/addresses/"+simnet.Account+"/messages", "")
		if err != nil || status != 200 {
			t.Fatal(status, err)
		}
		return body
	}
	if one, other := answer(1), answer(1); one != other {
		t.Error("networks of one seed differ")
	}
	if answer(1) == answer(2) {
		t.Error("networks of different seeds are equal")
	}
}
