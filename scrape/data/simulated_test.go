package data_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// simulated returns an upstream of a simulated network, which shares no type with the client.
func simulated(t *testing.T, network *simnet.Network, name, key string) *scrape.Upstream {
	t.Helper()
	o := scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: network.Transport(), Rate: 1e6, Header: http.Header{}}
	if key != "" {
		o.Header.Set(data.KeyHeader, key)
	}
	u, err := scrape.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSimulatedServiceDecodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		network.PayReward("alpha", "validator", 5e9)
		time.Sleep(time.Hour)
		c, ctx := data.New(simulated(t, network, "data", "")), t.Context()
		const chain = "43112"
		asset, err := node.New(simulated(t, network, "alpha", "")).AVMAssetDescription(ctx, "X", "AVAX")
		if err != nil {
			t.Fatal(err)
		}
		l1, err := c.Subnet(ctx, data.Mainnet, network.Chain("examplel1").SubnetID)
		if err != nil || !l1.IsL1 || l1.SubnetOwnershipInfo == nil || len(l1.Blockchains) == 0 {
			t.Fatalf("%+v, %v", l1, err)
		}
		newest := uint64(0)
		for low, high := uint64(0), uint64(math.MaxUint32); low < high; newest = low { // bisects the newest indexed block
			middle := low + (high-low+1)/2
			if _, err := c.Block(ctx, chain, strconv.FormatUint(middle, 10)); err == nil {
				low = middle
			} else if scrape.OutcomeOf(err) == scrape.NotFound {
				high = middle - 1
			} else {
				t.Fatal(err)
			}
		}
		block, err := c.Block(ctx, chain, strconv.FormatUint(newest, 10))
		if err != nil || time.Since(block.BlockTimestamp.Time) > 10*time.Minute {
			t.Errorf("%+v, %v", block, err)
		}
		if again, err := c.Block(ctx, chain, block.BlockHash); err != nil || again.BlockNumber != block.BlockNumber {
			t.Errorf("by hash: %+v, %v", again, err)
		}
		if b, err := c.NativeBalance(ctx, chain, simnet.Account, data.NativeBalanceQuery{Currency: "eur"}); err != nil || b.Symbol == "" {
			t.Errorf("%+v, %v", b, err)
		}
		if signed, err := c.AggregateSignatures(ctx, data.Mainnet, data.SignatureQuery{Message: "0x0011", SigningSubnetID: l1.SubnetID}); err != nil || signed == "" {
			t.Errorf("%q, %v", signed, err)
		}
		if signed, err := c.AggregatedSignatures(ctx, data.Mainnet, l1.L1ConversionTxHash); err != nil || signed == "" {
			t.Errorf("%q, %v", signed, err)
		}
		var token data.Collectible
		p := data.Paging{PageSize: 1}
		for found, err := range c.Collectibles(ctx, chain, simnet.Account, data.CollectibleQuery{Paging: p}) {
			if err != nil {
				t.Fatal(err)
			}
			token = found
		}
		if err := c.Reindex(ctx, chain, token.Address, token.TokenID); err != nil {
			t.Errorf("%+v: %v", token, err)
		}

		for name, walk := range map[string]func() (int, error){
			"AssetTransactions": func() (int, error) {
				return count(c.AssetTransactions(ctx, data.Mainnet, data.XChain, asset.AssetID, data.AssetTransactionQuery{Paging: data.Paging{MaxPages: 1000}}))
			},
			"Blockchains": func() (int, error) { return count(c.Blockchains(ctx, data.Mainnet, data.BlockchainQuery{Paging: p})) },
			"Rewards": func() (int, error) {
				return count(c.Rewards(ctx, data.Mainnet, data.RewardQuery{NodeIDs: []string{network.NodeID("alpha")}, Paging: p}))
			},
			"ERC721Transfers": func() (int, error) {
				return count(c.ERC721Transfers(ctx, chain, simnet.Account, data.BlockRange{Paging: p}))
			},
			"InternalTransactions": func() (int, error) {
				return count(c.InternalTransactions(ctx, chain, simnet.Account, data.BlockRange{StartBlock: at(0)}))
			},
			"ERC1155Balances": func() (int, error) {
				return count(c.ERC1155Balances(ctx, chain, simnet.Account, data.ERC1155Query{Paging: p}))
			},
			"ERC721Balances": func() (int, error) {
				return count(c.ERC721Balances(ctx, chain, simnet.Account, data.CollectibleQuery{Paging: p}))
			},
			"Deployments": func() (int, error) {
				network.Deploy("C", simnet.Account)
				return count(c.Deployments(ctx, chain, simnet.Account, p))
			},
			"ICMMessages": func() (int, error) {
				return count(c.ICMMessages(ctx, simnet.Account, data.ICMQuery{Network: data.Mainnet}))
			},
		} {
			if n, err := walk(); err != nil || n == 0 {
				t.Errorf("%s: %d items, %v", name, n, err)
			}
		}
	})
}

func TestWalkContinuesAfterSimulatedTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		c := data.New(simulated(t, network, "data", ""))
		seen := map[string]int{}
		for b, err := range c.Blockchains(t.Context(), data.Mainnet, data.BlockchainQuery{Paging: data.Paging{PageSize: 2}}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[b.BlockchainID]++; len(seen) == 2 {
				time.Sleep(25 * time.Hour) // the token of the second page expires after a day
			}
		}
		want, err := count(c.Blockchains(t.Context(), data.Mainnet, data.BlockchainQuery{}))
		if err != nil || len(seen) != want || want < 4 {
			t.Errorf("%d of %d blockchains, %v", len(seen), want, err)
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("%s yielded %d times", id, times)
			}
		}
	})
}

func TestSimulatedServiceRejectsKeysAndLimitsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		for _, status := range []int{400, 401, 403} {
			network.DataService().SetKey("good", status)
			for key, want := range map[string]bool{"old!": true, "good": false} {
				_, err := data.New(simulated(t, network, "data", key)).Subnet(t.Context(), data.Mainnet, network.Chain("examplel1").SubnetID)
				if data.IsKeyRejected(err) != want || (err != nil) != want {
					t.Errorf("%d, key %s: %v", status, key, err)
				}
			}
		}

		network.DataService().SetComputeLimit(100)
		c := data.New(simulated(t, network, "data", ""))
		ask := func() error {
			_, err := c.Subnet(t.Context(), data.Mainnet, network.Chain("examplel1").SubnetID)
			return err
		}
		for range 5 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		network.ResetCalls()
		for range 3 {
			if err := ask(); scrape.OutcomeOf(err) != scrape.RateLimited {
				t.Errorf("got %v", err)
			}
		}
		if calls := network.Calls(); len(calls) != 1 {
			t.Errorf("second round of calls: %v", fmt.Sprint(calls))
		}
		time.Sleep(time.Minute)
		if err := ask(); err != nil {
			t.Errorf("after a minute: %v", err)
		}
	})
}

func TestAverageTPSSwitchesToSimulatedVersion2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(36 * time.Hour) // noon
		network := simnet.New(simnet.Options{Seed: 1})
		of := func() metrics.AverageTPS {
			found, err := metrics.New(simulated(t, network, "metrics", "")).AverageTPS(t.Context(), "43112")
			if err != nil || found.Point == nil {
				t.Fatalf("%+v, %v", found, err)
			}
			return found
		}
		before := of()
		network.RetireMetricsV1(true)
		if after := of(); *after.Point != *before.Point || before.LastRun == nil || after.LastRun != nil {
			t.Errorf("version 1: %+v, version 2: %+v", before, after)
		}
	})
}
