package simnet_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
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
		if some := list[dataToken](data, onC+"/addresses/"+simnet.Account+"/balances:listCollectibles?contractAddress="+simnet.Items,
			"collectibleBalances"); len(some) != 2 {
			t.Errorf("one contract: %+v", some)
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

// header returns status and header of a request with a key.
func (c client) header(path, name, key string) (int, http.Header) {
	c.t.Helper()
	req := must.Get(http.NewRequest("GET", c.url+path, nil))(c.t)
	if key != "" {
		req.Header.Set(name, key)
	}
	res := must.Get(c.http.Do(req))(c.t)
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 200 {
		refusal(c.t, res.StatusCode, string(body))
	}
	return res.StatusCode, res.Header
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
		if status != 429 || h.Get("retry-after") != "40" || h.Get("ratelimit-reset") != "40" || h.Get("ratelimit-remaining") != "50" ||
			h.Get("ratelimit-policy") != "350;w=60" {
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
