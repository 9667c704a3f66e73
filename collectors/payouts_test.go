package collectors_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape/data"
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
						w.ups.Watch.Delegators = []collector.Delegator{{Name: "treasury", Address: "P-" + simnet.Delegator}, {Name: "other", Address: "P-" + simnet.Owner}}
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

// One short reading of a list does not lower its count. A second one does.
func TestCountsFallOnlyAfterTwoReadings(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		count := func() int {
			return strings.Count(w.page(t, "deployments"), "avax_address_deployments_total{chain=\"C\",address=\""+simnet.Account+"\"} 4\n")
		}
		w.ups.Watch.Contracts = []string{simnet.Account}
		if count() != 1 {
			t.Fatal(w.page(t, "deployments"))
		}
		short := `{"contracts":[{"address":"0x1111111111111111111111111111111111111111"}]}`
		*w.contracts = short
		if count() != 1 {
			t.Error("one short reading counts")
		}
		*w.contracts = ""
		if count() != 1 {
			t.Error("the whole list does not count")
		}
		*w.contracts = short
		count()
		if page := w.page(t, "deployments"); !strings.Contains(page, "address=\""+simnet.Account+"\"} 1\n") {
			t.Error(page)
		}
	})
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
