package collectors_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// paidTo returns what was paid for the delegations of the delegators, and whether it is known.
func (w world) paidTo(t *testing.T) (avax float64, known bool) {
	t.Helper()
	w.page(t, "delegations")
	for line := range strings.Lines(w.page(t, "payouts")) {
		if series, value, found := strings.Cut(strings.TrimSpace(line), "} "); found && strings.HasPrefix(series, "avax_payout_paid_avax{") {
			var v float64
			_, _ = fmt.Sscan(value, &v)
			avax, known = avax+v, true
		}
	}
	return avax, known
}

// A reward that was paid is never reported as unpaid: in whatever order the service lists rewards, and while it has not indexed the payment,
// whether or not it still lists the delegation as pending. It is reported as paid when the service lists it. A refused reward is reported as
// unpaid by two readings.
func TestPaidRewardIsFoundWhateverTheService(t *testing.T) {
	for _, order := range []simnet.RewardOrder{simnet.RewardsByEnd, simnet.RewardsByStart, simnet.RewardsUnordered} {
		for _, lag := range []time.Duration{0, 7 * time.Hour, 40 * time.Hour} {
			for _, forgets := range []bool{false, true} { // the list of pending rewards
				for _, refused := range []bool{false, true} {
					if refused && lag > 0 {
						continue
					}
					inWorld(t, func(t *testing.T, w world) {
						w.setNodes(t)
						w.ups.Data.Network = data.Mainnet
						w.ups.Watch.Delegators = []collector.Item{{Name: "treasury", Value: "P-" + simnet.Delegator}, {Name: "other", Value: "P-" + simnet.Owner}}
						w.network.OrderRewards(order)
						w.network.EndDelegations("hotel", time.Now().Add(30*time.Minute))
						if refused {
							w.network.RefuseReward("hotel")
						}
						w.paidTo(t)
						w.network.SetIndexLag("P", lag)
						time.Sleep(31 * time.Minute)
						if forgets {
							*w.pendingIsEmpty = true
						}
						sum, known := 0.0, false
						for range 6 + int(6*lag.Hours()) {
							if sum, known = w.paidTo(t); known && !refused && sum < 0.4 {
								t.Fatalf("order %v, lag %v, forgets %t: paid %v", order, lag, forgets, sum)
							}
							time.Sleep(10 * time.Minute)
						}
						if !known || refused != (sum == 0) {
							t.Errorf("order %v, lag %v, forgets %t, refused %t: paid %v, known %t", order, lag, forgets, refused, sum, known)
						}
					})
				}
			}
		}
	}
}

// The payouts of all validators of the network are exported if all are monitored.
func TestPayoutsOfAllMonitoredValidators(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Validators = collector.Validators{All: true}
		bravo := w.network.NodeID("bravo")
		w.network.SetStakeEnd("bravo", time.Now().Add(30*time.Minute))
		wantNoSeries(t, w.page(t, "payouts"), "avax_payout_")
		time.Sleep(time.Hour)
		page := w.page(t, "payouts")
		paid, expected := sum(t, page, "avax_payout_paid_avax"), sum(t, page, "avax_payout_expected_avax")
		if strings.Count(page, `avax_payout_paid_avax{node_id="`+bravo+`"`) != 1 || expected == 0 || paid < 0.99*expected || paid > 1.01*expected {
			t.Errorf("paid %v of %v:\n%s", paid, expected, page)
		}
		calls := func() (n int) {
			for _, node := range w.ups.Nodes() {
				n += w.callCount(node.Name(), "platform.getRewardUTXOs")
			}
			return n
		}
		asked := calls()
		time.Sleep(time.Hour)
		if again := w.page(t, "payouts"); asked == 0 || calls() != asked || sum(t, again, "avax_payout_paid_avax") != paid {
			t.Errorf("asked %d times and %d times again for payouts that do not change:\n%s", asked, calls()-asked, again)
		}
	})
}

// If no node reports what a validator was paid, the Data service does. A refused reward is reported as unpaid by two readings.
func TestDataServiceReplacesTheRewardsOfNodes(t *testing.T) {
	for _, refused := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w world) {
			w.ups.Data.Network = data.Mainnet
			w.ups.Watch.Validators.IDs = []string{w.network.NodeID("bravo")}
			w.network.SetStakeEnd("bravo", time.Now().Add(30*time.Minute))
			if refused {
				w.network.RefuseReward("bravo")
			}
			w.page(t, "payouts")
			w.refuseOnNodes("platform.getRewardUTXOs")
			w.network.Observer().Inject(simnet.Refused(-32601, "the method is not available"), "platform.getRewardUTXOs")
			time.Sleep(time.Hour)
			for range 4 {
				w.page(t, "payouts")
				time.Sleep(10 * time.Minute)
			}
			page := w.page(t, "payouts")
			paid, expected := sum(t, page, "avax_payout_paid_avax"), sum(t, page, "avax_payout_expected_avax")
			if !strings.Contains(page, "avax_payout_paid_avax{") || expected == 0 || refused != (paid == 0) ||
				!refused && (paid < 0.99*expected || paid > 1.01*expected) {
				t.Errorf("refused %t: paid %v of %v:\n%s", refused, paid, expected, page)
			}
		})
	}
}

// One reading of a list that lacks items changes nothing. A second one in succession does.
func TestListsLoseItemsOnlyAfterTwoReadings(t *testing.T) {
	for name, list := range map[string]struct {
		suffix, empty string
		first         int // requests of the first short reading
	}{
		"deployments":      {"/deployments", `{"contracts":[]}`, 3},
		"collectibles":     {":listCollectibles", `{"collectibles":[]}`, 6},
		"data_blockchains": {"/blockchains", `{"blockchains":[]}`, 1},
		"delegations":      {":listPending", `{"pendingRewards":[]}`, 1},
		"nft_metadata":     {":listCollectibles", `{"collectibles":[]}`, 2}, // the second reading follows at once
	} {
		inWorld(t, func(t *testing.T, w world) {
			w.ups.Watch.Contracts = collector.Unnamed(simnet.Account)
			w.ups.Watch.Tokens = w.ups.Watch.Tokens[:1]
			if name == "delegations" {
				w.setNodes(t)
				w.ups.Data.Network = data.Mainnet
			}
			short, cut := 0, 0
			w.data(func(r *http.Request) string {
				if !strings.HasSuffix(r.URL.Path, list.suffix) || short == 0 {
					return ""
				}
				short--
				cut++
				return list.empty
			})
			for _, c := range []struct {
				short   int
				changes bool
			}{{0, false}, {list.first, false}, {0, false}, {list.first, false}, {100, true}} {
				before := w.page(t, name)
				short, cut = c.short, 0
				after := w.page(t, name)
				if c.changes {
					after = w.page(t, name)
				}
				if changes := before != after; changes != c.changes || c.short > 0 && cut == 0 {
					t.Errorf("%s, %d short answers (%d asked): changes %t:\n%s\n%s", name, c.short, cut, changes, before, after)
				}
				short = 0
				if strings.TrimSpace(before) == "" {
					t.Fatal(name, "has no samples")
				}
			}
		})
	}
}

// The Metrics service alone is no reason to configure a node: the Data service knows the EVM chain ID.
func TestTransactionsPerSecondWithoutNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t)
		w.ups.Data.Network = data.Mainnet
		if spec := specOf(t, "tps"); !spec.WithoutNodes() {
			t.Error("disabled without nodes")
		}
		if page := w.page(t, "tps"); !strings.Contains(page, "avax_chain_avg_tps{") {
			t.Error(page)
		}
	})
}

// A node does not report its own uptime. Whether a delegation will be rewarded is known from the others, wherever its validator is in the list of nodes.
func TestRewardOfADelegationIsSeenByOtherNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "hotel", "alpha", "bravo")
		w.ups.Data = nil
		w.ups.Watch.Delegators = []collector.Item{{Name: "treasury", Value: "P-" + simnet.Delegator}}
		time.Sleep(time.Minute)
		if page := w.page(t, "delegations"); !strings.Contains(page, "avax_delegation_reward_reachable{") {
			t.Errorf("not known:\n%s", page)
		}
	})
}

// With AVAX_VALIDATORS=all no node lists delegations, and only the Data service knows them.
func TestDelegationsOfAllValidatorsNeedTheDataService(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Delegators = []collector.Item{{Name: "treasury", Value: "P-" + simnet.Delegator}}
		w.ups.Watch.Validators = collector.Validators{All: true}
		if page := w.page(t, "delegations"); !strings.Contains(page, "avax_delegation_stake_avax{") {
			t.Errorf("not found with the Data service:\n%s", page)
		}
		w.ups.Data = nil
		_, err := w.run(t, "delegations", "treasury")
		if want := "with all, delegations are found only with AVAX_DATA_URL: correct AVAX_VALIDATORS"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}
