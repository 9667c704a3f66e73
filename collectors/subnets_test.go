package collectors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A change of the source must not look like a change of the owner.
func TestOwnersHaveTheSameLabelsFromNodesAndFromTheDataService(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetOwner("examplel1", []string{simnet.Owner, simnet.Delegator}, 2)
		w.network.SetManager("examplel1", "C", "0x00000000000000000000000000000000000000FF")
		service := w.ups.Data
		w.ups.Data = nil
		fromNodes := w.page(t, "subnets")
		id := w.network.Chain("examplel1").SubnetID
		wantSeries(t, fromNodes, `avax_subnet_owner_info{subnet_id="`+id+`",address="P-`+simnet.Owner+`"}`, "1")
		wantSeries(t, fromNodes, `avax_subnet_owner_threshold{subnet_id="`+id+`"}`, "2")
		wantSeries(t, fromNodes, `avax_subnet_info{subnet_id="`+id+`",is_l1="true",manager_blockchain_id="`+w.network.Chain("C").ID+
			`",manager_address="0x00000000000000000000000000000000000000ff"}`, "1")
		poa := w.network.Chain("examplepoa").SubnetID
		wantSeries(t, fromNodes, `avax_subnet_info{subnet_id="`+poa+`",is_l1="false",manager_blockchain_id="",manager_address=""}`, "1")

		w.ups.Data = service
		w.setNodes(t)
		time.Sleep(time.Minute)
		if fromService := w.page(t, "subnets"); fromService != fromNodes {
			t.Errorf("from the Data service:\n%s\nfrom nodes:\n%s", fromService, fromNodes)
		}
	})
}

func TestObserverReportsOwnersAndBalances(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Data = nil
		w.ups.SetNodes([]*nodes.Node{watch(t, w)})
		wantSeries(t, w.page(t, "subnets"), `avax_subnet_owner_threshold{subnet_id="`+w.network.Chain("examplel1").SubnetID+`"}`, "1")
		wantSeries(t, w.page(t, "native_balances"), `avax_address_balance_tokens{chain="C",address="`+simnet.Account+`"}`, "5e+06")
	})
}

func TestBalancesNeedNoDataService(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		onL1 := `avax_address_balance_tokens{chain="examplel1",address="` + simnet.Account + `"}`
		service := w.ups.Data
		w.ups.Data = nil
		page := w.page(t, "native_balances")
		wantSeries(t, page, `avax_address_balance_tokens{chain="C",address="`+simnet.Account+`"}`, "5e+06")
		wantSeries(t, page, onL1, "5e+06")
		wantSeries(t, page, `avax_address_token_info{chain="C",address="`+simnet.Account+`",symbol="AVAX"}`, "1")
		wantNoSeries(t, page, "avax_address_balance_value")
		wantNoSeries(t, page, `avax_address_token_info{chain="examplel1"`)

		w.ups.Data = service
		page = w.page(t, "native_balances")
		wantSeries(t, page, onL1, "5e+06") // the same series
		wantSeries(t, page, `avax_address_token_info{chain="examplel1",address="`+simnet.Account+`",symbol="L1"}`, "1")
		if strings.Count(page, "avax_address_balance_value{") != 2 {
			t.Errorf("with the Data service:\n%s", page)
		}
		// While the service fails, only the values in a currency are absent.
		w.network.DataService().Inject(simnet.Unavailable())
		time.Sleep(5 * time.Minute)
		without := w.page(t, "native_balances")
		wantNoSeries(t, without, "avax_address_balance_value")
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, onL1) && !strings.Contains(without, line) {
				t.Errorf("missing: %s", line)
			}
		}
	})
}

func TestBalanceComesFromTheDataServiceIfNoNodeServesTheChain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, name := range []string{"alpha", "foxtrot"} {
			w.network.Node(name).SetChain("examplel1", simnet.Untracked)
		}
		time.Sleep(time.Minute)
		page, err := w.run(t, "native_balances", simnet.Account+"/examplel1")
		if err != nil || !strings.Contains(page, ` 5e+06`) {
			t.Errorf("%v\n%s", err, page)
		}
		w.ups.Data = nil
		if _, err := w.run(t, "native_balances", simnet.Account+"/examplel1"); scrape.OutcomeOf(err) != scrape.NotFound {
			t.Errorf("without the service: %v", err)
		}
	})
}
