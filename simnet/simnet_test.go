package simnet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

const avax = 1_000_000_000

// client calls one upstream in memory.
type client struct {
	t    *testing.T
	http http.Client
	url  string
}

func dial(t *testing.T, net *simnet.Network, host string) client {
	return client{t, http.Client{Transport: net.Transport(), Timeout: 5 * time.Second}, "http://" + host + ".sim"}
}

// send returns status and body of an answer.
func (c client) send(method, path, body string) (int, string, error) {
	req := must.Get(http.NewRequest(method, c.url+path, strings.NewReader(body)))(c.t)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// call returns the result of a JSON-RPC call: "ok", the error text, or status and body.
func (c client) call(path, method string, params any, into any) string {
	c.t.Helper()
	p := must.Get(json.Marshal(params))(c.t)
	status, body, err := c.send("POST", path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, p))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case err != nil:
		return err.Error()
	case status != 200:
		return fmt.Sprintf("%d %s", status, strings.TrimSpace(body))
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return err.Error()
	}
	if answer.Error != nil {
		return answer.Error.Message
	}
	if into != nil {
		if err := json.Unmarshal(answer.Result, into); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, body)
		}
	}
	return "ok"
}

// must is call for a call that must succeed.
func (c client) must(path, method string, params any, into any) {
	c.t.Helper()
	if end := c.call(path, method, params, into); end != "ok" {
		c.t.Fatalf("%s: %s", method, end)
	}
}

type uptime struct {
	Rewarding float64 `json:"rewardingStakePercentage,string"`
	Weighted  float64 `json:"weightedAveragePercentage,string"`
}

func (c client) uptime() (u uptime) {
	c.t.Helper()
	c.must("/ext/info", "info.uptime", nil, &u)
	return u
}

type validator struct {
	NodeID, ValidationID, TxID  string
	Weight, Balance             json.Number
	StartTime, EndTime          string
	Uptime                      string
	Connected                   bool
	IsActive, IsConnected       bool
	UptimePercentage            float64
	NextPeriod, PotentialReward string
	Delegators                  *[]struct{ Weight string }
}

// validators returns the P-Chain's set of a chain's subnet, by node ID.
func (c client) validators(chain simnet.Chain) map[string]validator {
	c.t.Helper()
	return c.list("/ext/bc/P", "platform.getCurrentValidators", map[string]any{"subnetID": chain.SubnetID})
}

// chainValidators returns the chain's own view of its set.
func (c client) chainValidators(chain simnet.Chain) map[string]validator {
	c.t.Helper()
	return c.list("/ext/bc/"+chain.ID+"/validators", "validators.getCurrentValidators", nil)
}

func (c client) list(path, method string, params any) map[string]validator {
	c.t.Helper()
	var r struct{ Validators []validator }
	c.must(path, method, params, &r)
	set := make(map[string]validator)
	for _, v := range r.Validators {
		set[v.NodeID] = v
	}
	return set
}

func (c client) height(path string) uint64 {
	c.t.Helper()
	var hex string
	c.must(path, "eth_blockNumber", []any{}, &hex)
	return must.Get(strconv.ParseUint(strings.TrimPrefix(hex, "0x"), 16, 64))(c.t)
}

func TestNodeStartsLikeARealOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, l1 := dial(t, net, "alpha"), net.Chain("examplel1")
		const waiting = "503 API call rejected because chain is not done bootstrapping"
		const missing = "404 404 page not found"
		unknown := "there is no chain with alias/ID '" + l1.ID + "'"

		check := func(want ...string) {
			t.Helper()
			got := []string{
				alpha.call("/ext/info", "info.getNodeID", nil, nil),
				alpha.call("/ext/bc/P", "platform.getHeight", nil, nil),
				alpha.call("/ext/bc/C/rpc", "eth_blockNumber", []any{}, nil),
				alpha.call("/ext/bc/"+l1.ID+"/rpc", "eth_blockNumber", []any{}, nil),
				alpha.call("/ext/info", "info.isBootstrapped", map[string]string{"chain": l1.ID}, nil),
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		check("ok", "ok", "ok", "ok", "ok")
		net.Node("alpha").Stop()
		time.Sleep(time.Minute)
		check("refused", "refused", "refused", "refused", "refused")
		net.Node("alpha").Start()
		check("refused", "refused", "refused", "refused", "refused")
		time.Sleep(1500 * time.Millisecond)
		check("ok", waiting, missing, missing, unknown)
		if end := alpha.call("/ext/info", "info.uptime", nil, nil); !strings.HasSuffix(end, "still bootstrapping") {
			t.Errorf("info.uptime: %s", end)
		}
		time.Sleep(4 * time.Second)
		check("ok", "ok", waiting, waiting, "ok")
		if u := alpha.uptime(); u.Rewarding > 21 || u.Rewarding < 19 {
			t.Errorf("rewarding stake %v %% right after the start, want only its own", u.Rewarding)
		}
		time.Sleep(4 * time.Second)
		check("ok", "ok", "ok", waiting, "ok")
		time.Sleep(4 * time.Second)
		check("ok", "ok", "ok", "ok", "ok")
		if u := alpha.uptime(); u.Rewarding < 41 || u.Rewarding > 99 {
			t.Errorf("rewarding stake %v %% half-way, want a part", u.Rewarding)
		}
		time.Sleep(8 * time.Second)
		if u := alpha.uptime(); u.Rewarding != 100 {
			t.Errorf("rewarding stake %v %% after the last ping", u.Rewarding)
		}
		// The health API reports recovery only after the next run of the checks.
		if status, _, _ := alpha.send("GET", "/ext/health", ""); status != 503 {
			t.Errorf("readiness %d before the checks ran", status)
		}
		time.Sleep(10 * time.Second)
		if status, body, _ := alpha.send("GET", "/ext/health", ""); status != 200 {
			t.Errorf("health %d: %s", status, body)
		}
	})
}

func TestStoppedValidatorLosesUptime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, p, charlie := dial(t, net, "alpha"), net.Chain("P"), net.NodeID("charlie")
		before := alpha.uptime()
		was := alpha.validators(p)[charlie]
		if before.Rewarding != 100 || before.Weighted < 98 || !was.Connected {
			t.Fatalf("initial network not healthy: %+v, charlie %+v", before, was)
		}
		net.Node("charlie").Stop()
		time.Sleep(24 * time.Hour)
		after := alpha.uptime()
		if after.Weighted > before.Weighted-19 || after.Rewarding > 81 {
			t.Errorf("uptime changed from %+v to %+v while a fifth of the stake is offline", before, after)
		}
		now := alpha.validators(p)[charlie]
		if now.Connected || now.Uptime >= was.Uptime {
			t.Errorf("charlie changed from %+v to %+v", was, now)
		}
		var peers struct{ NumPeers string }
		alpha.must("/ext/info", "info.peers", nil, &peers)
		if peers.NumPeers != "6" {
			t.Errorf("%s peers", peers.NumPeers)
		}
		net.Node("charlie").Start()
		time.Sleep(time.Minute)
		if own := dial(t, net, "charlie").validators(p)[charlie]; own.Uptime != "100.0000" || !own.Connected {
			t.Errorf("the node's own view %+v, want always up", own)
		}
		if back := alpha.validators(p)[charlie]; !back.Connected || back.Uptime == "100.0000" {
			t.Errorf("after the restart: %+v", back)
		}
	})
}

func TestOwnDowntimeIsCreditedToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		charlie := func(by string) string {
			return dial(t, net, by).validators(net.Chain("P"))[net.NodeID("charlie")].Uptime
		}
		alpha, bravo := charlie("alpha"), charlie("bravo")
		net.Node("alpha").Stop()
		net.Node("charlie").Stop()
		time.Sleep(24 * time.Hour)
		net.Node("charlie").Start()
		net.Node("alpha").Start()
		time.Sleep(time.Minute)
		if now := charlie("bravo"); now >= bravo {
			t.Errorf("bravo was online: charlie's uptime changed from %s to %s", bravo, now)
		}
		if now := charlie("alpha"); now < alpha {
			t.Errorf("alpha was offline as well: charlie's uptime changed from %s to %s", alpha, now)
		}
	})
}

func TestHealthFailsBelow80PercentOfTheWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha := dial(t, net, "alpha")
		time.Sleep(time.Second)
		net.Node("foxtrot").Stop() // 100 of 370
		if status, _, _ := alpha.send("GET", "/ext/health", ""); status != 200 {
			t.Errorf("health %d before the checks ran again", status)
		}
		time.Sleep(30 * time.Second)
		status, body, _ := alpha.send("GET", "/ext/health", "")
		if status != 503 || !strings.Contains(body, "not connected to enough stake: connected to 72.972973%; required at least 80.000000%") {
			t.Errorf("health %d: %s", status, body)
		}
	})
}

func TestDisconnectedNodeStillAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		bravo, id := dial(t, net, "bravo"), net.NodeID("bravo")
		net.Disconnect("bravo")
		height := bravo.height("/ext/bc/C/rpc")
		time.Sleep(time.Hour)
		var peers struct{ NumPeers string }
		bravo.must("/ext/info", "info.peers", nil, &peers)
		if peers.NumPeers != "0" || bravo.height("/ext/bc/C/rpc") != height {
			t.Errorf("%s peers, height moved by %d", peers.NumPeers, bravo.height("/ext/bc/C/rpc")-height)
		}
		if own := bravo.validators(net.Chain("P"))[id]; own.Uptime != "100.0000" {
			t.Errorf("own view %+v", own)
		}
		if seen := dial(t, net, "alpha").validators(net.Chain("P"))[id]; seen.Connected {
			t.Errorf("alpha's view %+v", seen)
		}
		net.Reconnect("bravo")
		if bravo.height("/ext/bc/C/rpc") < height+1700 {
			t.Error("node did not catch up")
		}
	})
}

func TestPeersLoseAHungNodeAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, id := dial(t, net, "alpha"), net.NodeID("bravo")
		net.Node("bravo").Inject(simnet.Hung())
		started := time.Now()
		if end := dial(t, net, "bravo").call("/ext/info", "info.getNodeID", nil, nil); !strings.Contains(end, "deadline exceeded") {
			t.Errorf("hung node: %s", end)
		}
		if took := time.Since(started); took != 5*time.Second {
			t.Errorf("timeout after %s", took)
		}
		if !alpha.validators(net.Chain("P"))[id].Connected {
			t.Error("peers lost the node at once")
		}
		time.Sleep(30 * time.Second)
		if alpha.validators(net.Chain("P"))[id].Connected {
			t.Error("peers never lost the node")
		}
		net.Node("bravo").Recover()
		dial(t, net, "bravo").must("/ext/info", "info.getNodeID", nil, nil)
		if !alpha.validators(net.Chain("P"))[id].Connected {
			t.Error("peers did not reconnect")
		}
	})
}

func TestRewardingStakeFollowsObservedUptimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		bravo := dial(t, net, "bravo") // its period began after Helicon: 90 %
		net.Node("bravo").SetObservedUptime(89, "alpha", net.NodeID("charlie"))
		if u := bravo.uptime(); u.Rewarding < 58 || u.Rewarding > 62 {
			t.Errorf("rewarding stake %v %% with two of five below the requirement", u.Rewarding)
		}
		if seen := dial(t, net, "alpha").validators(net.Chain("P"))[net.NodeID("bravo")]; seen.Uptime != "89.0000" {
			t.Errorf("alpha itself answers %s", seen.Uptime)
		}
		net.Node("bravo").SetObservedUptime(-1)
		if u := bravo.uptime(); u.Rewarding != 100 {
			t.Errorf("rewarding stake %v %% with real observations", u.Rewarding)
		}
		alpha := dial(t, net, "alpha") // its period began before: 80 %
		net.Node("alpha").SetObservedUptime(85)
		if u := alpha.uptime(); u.Rewarding != 100 || u.Weighted > 89 {
			t.Errorf("all above the earlier requirement: %+v", u)
		}
	})
}

func TestBalanceChangesOnlyWithBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, l1, charlie := dial(t, net, "alpha"), net.Chain("examplel1"), net.NodeID("charlie")
		net.SetFeePrice(1_000)
		net.SetBalance("examplel1", "charlie", 630_000) // ten and a half minutes
		balance := func() string { return alpha.validators(l1)[charlie].Balance.String() }

		net.SetBlockPeriod("P", 0)
		was := balance()
		time.Sleep(5 * time.Minute)
		if now := balance(); now != was {
			t.Errorf("balance changed from %s to %s without a block", was, now)
		}
		net.SetBlockPeriod("P", 4*time.Second)
		time.Sleep(4 * time.Second)
		if now := balance(); now > "330000" || now < "320000" {
			t.Errorf("balance %s after five minutes", now)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		in := alpha.chainValidators(l1)[charlie]
		if balance() != "0" || in.IsActive || in.Weight != "50" || !in.IsConnected {
			t.Errorf("after it ran out: balance %s, %+v", balance(), in)
		}
		time.Sleep(time.Hour)
		in = alpha.chainValidators(l1)[charlie]
		if in.IsConnected || in.UptimePercentage > 99.9 {
			t.Errorf("inactive validator after an hour: %+v, want disconnected with falling uptime", in)
		}
		var status struct{ Healthy bool }
		_, body, _ := alpha.send("GET", "/ext/health", "")
		if err := json.Unmarshal([]byte(body), &status); err != nil || !status.Healthy {
			t.Errorf("320 of 370 connected: %v %s, want healthy", err, body)
		}
		net.TopUp("examplel1", "charlie", avax)
		time.Sleep(2 * time.Minute)
		if in = alpha.chainValidators(l1)[charlie]; !in.IsActive || !in.IsConnected {
			t.Errorf("after a top-up: %+v", in)
		}
	})
}

func TestLaggingNodeHasBalancesOfItsLastBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, l1 := dial(t, net, "alpha"), net.Chain("examplel1")
		balances := func() string {
			set := alpha.validators(l1)
			return set[net.NodeID("charlie")].Balance.String() + " " + set[net.NodeID("echo")].Balance.String()
		}
		net.SetBalance("examplel1", "echo", 512*90) // a minute and a half
		net.Node("alpha").FallBehind("P")
		was := balances()
		time.Sleep(time.Minute)
		net.TopUp("examplel1", "charlie", avax)
		net.SetFeePrice(1024)
		time.Sleep(time.Minute) // echo's balance runs out
		if now := balances(); now != was {
			t.Errorf("balance changed from %s to %s without a block", was, now)
		}
		net.Node("alpha").CatchUp("P")
		if now := balances(); now == was || !strings.HasSuffix(now, " 0") {
			t.Errorf("with blocks: %s", now)
		}
	})
}

func TestBalancesAdvanceByAYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		time.Sleep(366 * 24 * time.Hour)
		set := dial(t, net, "foxtrot").validators(net.Chain("examplel1"))
		if len(set) != 5 {
			t.Fatalf("%d validators", len(set))
		}
		for id, v := range set {
			if v.Balance != "0" {
				t.Errorf("%s still has %s", id, v.Balance)
			}
		}
	})
}

func TestNewL1ValidatorFailsTheListForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, l1 := dial(t, net, "alpha"), net.Chain("examplel1")
		time.Sleep(10 * time.Second)
		id := net.AddL1Validator("examplel1", "india", 30, avax)
		want := "failed to get uptime for validation ID " + id + ": validationID not found"
		if end := alpha.call("/ext/bc/"+l1.ID+"/validators", "validators.getCurrentValidators", nil, nil); end != want {
			t.Errorf("got %s, want %s", end, want)
		}
		if v := alpha.validators(l1)[net.NodeID("india")]; v.ValidationID != id || v.Balance != "1000000000" {
			t.Errorf("on the P-Chain: %+v, want it at once", v)
		}
		time.Sleep(time.Minute)
		if v := alpha.chainValidators(l1)[net.NodeID("india")]; v.IsConnected || v.UptimePercentage != 100 {
			t.Errorf("initially %+v, want disconnected with full uptime", v)
		}
		time.Sleep(time.Minute)
		if v := alpha.chainValidators(l1)[net.NodeID("india")]; !v.IsConnected {
			t.Errorf("never connected: %+v", v)
		}
		net.RemoveValidator("examplel1", "india")
		if len(alpha.chainValidators(l1)) != 5 {
			t.Error("never removed")
		}
	})
}

func TestConvertedSubnetListsBothValidatorTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, poa := dial(t, net, "alpha"), net.Chain("examplepoa")
		net.AddL1Validator("examplepoa", "foxtrot", 10, avax)
		time.Sleep(2 * time.Minute)
		set := alpha.validators(poa)
		if len(set) != 4 || set[net.NodeID("foxtrot")].Balance == "" || set[net.NodeID("alpha")].TxID == "" {
			t.Errorf("got %+v", set)
		}
	})
}

func TestValidatorsAreAddedAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, p := dial(t, net, "alpha"), net.Chain("P")
		net.AddValidator("india", 5_000*avax, 24*time.Hour)
		net.RemoveValidator("P", "hotel")
		net.SetStakeEnd("delta", time.Now().Add(time.Hour))
		set := alpha.validators(p)
		if set[net.NodeID("india")].Weight != "5000000000000" || set[net.NodeID("hotel")].NodeID != "" || set[net.NodeID("delta")].NodeID == "" {
			t.Errorf("got %+v", set)
		}
		time.Sleep(time.Hour + 4*time.Second)
		if _, ok := alpha.validators(p)[net.NodeID("delta")]; ok {
			t.Error("delta still in the set an hour after its stake ended")
		}
		if end := dial(t, net, "delta").call("/ext/info", "info.uptime", nil, nil); end != "couldn't get node uptime: node is not a validator" {
			t.Errorf("delta's own uptime: %s", end)
		}
		time.Sleep(24 * time.Hour)
		if _, ok := alpha.validators(p)[net.NodeID("india")]; ok {
			t.Error("india still in the set after its stake ended")
		}
	})
}

func TestAutoRenewedValidatorStartsANewPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, p, golf := dial(t, net, "alpha"), net.Chain("P"), net.NodeID("golf")
		was := alpha.validators(p)[golf]
		time.Sleep(10 * 24 * time.Hour)
		now := alpha.validators(p)[golf]
		if now.TxID != was.TxID || now.StartTime != was.EndTime || now.EndTime <= was.EndTime || now.Weight <= was.Weight {
			t.Errorf("period changed from %+v to %+v", was, now)
		}
	})
}

func TestDelegatorsAreListedForOneValidator(t *testing.T) {
	net := simnet.New(simnet.Options{})
	alpha := dial(t, net, "alpha")
	for _, tt := range []struct {
		ids    []string
		listed bool
	}{
		{nil, false},
		{[]string{net.NodeID("alpha")}, true},
		{[]string{net.NodeID("bravo")}, true},
		{[]string{net.NodeID("alpha"), net.NodeID("bravo")}, false},
	} {
		for id, v := range alpha.list("/ext/bc/P", "platform.getCurrentValidators", map[string]any{"nodeIDs": tt.ids}) {
			if (v.Delegators != nil) != tt.listed {
				t.Errorf("%d requested: %s with delegators: %v", len(tt.ids), id, v.Delegators)
			}
		}
	}
}

func TestChainsGrowStallAndFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		alpha, bravo, path := dial(t, net, "alpha"), dial(t, net, "bravo"), "/ext/bc/C/rpc"
		block := func(c client, number uint64) (hash, parent string) {
			var b struct{ Hash, ParentHash string }
			c.must(path, "eth_getBlockByNumber", []any{fmt.Sprintf("0x%x", number), false}, &b)
			return b.Hash, b.ParentHash
		}
		start := alpha.height(path)
		time.Sleep(time.Minute)
		if h := alpha.height(path); h != start+30 {
			t.Errorf("%d blocks in a minute", h-start)
		}
		net.Node("bravo").FallBehind("C")
		time.Sleep(time.Minute)
		if lag := alpha.height(path) - bravo.height(path); lag != 30 {
			t.Errorf("bravo lags by %d", lag)
		}
		net.Node("bravo").CatchUp("C")
		net.Node("bravo").Fork("C")
		time.Sleep(time.Minute)
		head := bravo.height(path)
		ours, _ := block(alpha, head)
		theirs, parent := block(bravo, head)
		if ours == theirs {
			t.Error("no fork")
		}
		if before, _ := block(bravo, head-1); before != parent {
			t.Error("blocks of the fork are not linked")
		}
		if a, _ := block(alpha, start); a == ours {
			t.Error("equal hashes on the fork")
		} else if b, _ := block(bravo, start); a != b {
			t.Error("different hashes before the fork")
		}
		net.SetBlockPeriod("C", 0)
		head = alpha.height(path)
		time.Sleep(time.Hour)
		if alpha.height(path) != head {
			t.Error("stopped chain grew")
		}
		net.SetBlockPeriod("C", time.Second)
		time.Sleep(time.Minute)
		if h := alpha.height(path); h < head+60 || h > head+62 {
			t.Errorf("%d blocks after the stop", h-head)
		}
	})
}

func TestChainStatesAreIndependent(t *testing.T) {
	net := simnet.New(simnet.Options{})
	alpha, l1 := dial(t, net, "alpha"), net.Chain("examplel1")
	status := func() string {
		var s struct{ Status string }
		alpha.must("/ext/bc/P", "platform.getBlockchainStatus", map[string]string{"blockchainID": l1.ID}, &s)
		return s.Status
	}
	for _, tt := range []struct {
		state         simnet.ChainState
		answer, known string
		status        string
	}{
		{simnet.Bootstrapping, "503 API call rejected because chain is not done bootstrapping", "ok", "Validating"},
		{simnet.Failed, "404 404 page not found", "there is no chain with alias/ID '" + l1.ID + "'", "Created"},
		{simnet.Untracked, "404 404 page not found", "there is no chain with alias/ID '" + l1.ID + "'", "Created"},
		{simnet.Running, "ok", "ok", "Validating"},
	} {
		net.Node("alpha").SetChain("examplel1", tt.state)
		if got := alpha.call("/ext/bc/"+l1.ID+"/rpc", "eth_chainId", []any{}, nil); got != tt.answer {
			t.Errorf("%v: rpc: %s", tt.state, got)
		}
		if got := alpha.call("/ext/info", "info.isBootstrapped", map[string]string{"chain": l1.ID}, nil); got != tt.known {
			t.Errorf("%v: isBootstrapped: %s", tt.state, got)
		}
		if got := status(); got != tt.status {
			t.Errorf("%v: status %s", tt.state, got)
		}
	}
	dial(t, net, "bravo").must("/ext/bc/"+l1.ID+"/rpc", "eth_chainId", []any{}, nil)
}

func TestFaultsApplyToNamedCallsUntilRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		node, alpha := net.Node("alpha"), dial(t, net, "alpha")
		for _, tt := range []struct {
			fault simnet.Fault
			want  string // error of info.peers contains it
		}{
			{simnet.Hung(), "deadline exceeded"},
			{simnet.Slow(6 * time.Second), "deadline exceeded"},
			{simnet.Reset(), "connection reset by peer"},
			{simnet.CutOff(), "unexpected EOF"},
			{simnet.RateLimited(7 * time.Second), "429 Too Many Requests"},
			{simnet.Unavailable(), "503 <html>"},
			{simnet.HTML(), "invalid character '<'"},
			{simnet.Refused(-32000, "out of order"), "out of order"},
			{simnet.WrongHost(), "403 invalid host specified"},
		} {
			node.Inject(tt.fault, "info.peers")
			if end := alpha.call("/ext/info", "info.peers", nil, nil); !strings.Contains(end, tt.want) {
				t.Errorf("%s: %s", tt.want, end)
			}
			alpha.must("/ext/info", "info.getNodeID", nil, nil)
			node.Recover()
			alpha.must("/ext/info", "info.peers", nil, nil)
		}

		node.Inject(simnet.Refused(-32601, "no such method"), "eth_baseFee")
		if end := alpha.call("/ext/bc/C/rpc", "eth_baseFee", []any{}, nil); end != "no such method" {
			t.Errorf("error of the EVM: %s", end)
		}
		node.Recover()

		node.Inject(simnet.WrongShape())
		var odd []string
		alpha.must("/ext/info", "info.peers", nil, &odd)
		node.Recover()

		node.Inject(simnet.Slow(2 * time.Second))
		started := time.Now()
		alpha.must("/ext/info", "info.peers", nil, nil)
		if took := time.Since(started); took != 2*time.Second {
			t.Errorf("slow by %s", took)
		}
		node.Recover()

		node.Inject(simnet.RateLimited(7 * time.Second))
		res := must.Get(alpha.http.Post(alpha.url+"/ext/info", "application/json", strings.NewReader("{}")))(t)
		defer res.Body.Close()
		if res.Header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
		}
	})
}

func TestCallsAreRecorded(t *testing.T) {
	net := simnet.New(simnet.Options{})
	alpha := dial(t, net, "alpha")
	alpha.must("/ext/info", "info.peers", map[string]any{"nodeIDs": []string{}}, nil)
	alpha.call("/ext/bc/C/rpc", "eth_feeConfig", []any{"latest"}, nil)
	_, _, _ = alpha.send("POST", "/ext/bc/C/rpc", `[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber"}]`)
	_, _, _ = alpha.send("GET", "/ext/health", "")
	_, _, _ = dial(t, net, "metrics").send("GET", "/v1/avg_tps/99999?pageToken=x", "")
	var got []string
	for _, c := range net.Calls() {
		got = append(got, c.Upstream+" "+c.Method+" "+string(c.Params))
	}
	want := []string{
		`alpha info.peers {"nodeIDs":[]}`,
		`alpha eth_feeConfig ["latest"]`,
		`alpha eth_chainId `,
		`alpha eth_blockNumber `,
		`alpha GET /ext/health ""`,
		`metrics GET /v1/avg_tps/{chainId} "pageToken=x"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	net.ResetCalls()
	if left := net.Calls(); len(left) != 0 {
		t.Errorf("%d calls left", len(left))
	}
}

func TestEqualSeedsGiveEqualNetworks(t *testing.T) {
	answers := func(seed uint64) string {
		now := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
		net := simnet.New(simnet.Options{Seed: seed, Now: func() time.Time { return now }, Validators: 20})
		var all bytes.Buffer
		for _, m := range []string{"info.peers", "info.uptime", "info.acps"} {
			_, body, _ := dial(t, net, "alpha").send("POST", "/ext/info", `{"jsonrpc":"2.0","id":1,"method":"`+m+`"}`)
			all.WriteString(body)
		}
		_, body, _ := dial(t, net, "bravo").send("POST", "/ext/bc/P", `{"jsonrpc":"2.0","id":1,"method":"platform.getCurrentValidators"}`)
		_, messages, _ := dial(t, net, "data").send("GET", "/v1/icm/addresses/"+simnet.Account+"/messages", "")
		return all.String() + body + messages
	}
	one := answers(1)
	if one != answers(1) {
		t.Error("networks of one seed differ")
	}
	if one == answers(2) {
		t.Error("networks of different seeds are equal")
	}
}

func TestListsHaveRandomOrder(t *testing.T) {
	net := simnet.New(simnet.Options{Validators: 10})
	alpha := dial(t, net, "alpha")
	for path, method := range map[string]string{
		"/ext/info": "info.peers", "/ext/bc/P": "platform.getCurrentValidators",
		"/ext/bc/" + net.Chain("examplel1").ID + "/validators": "validators.getCurrentValidators",
	} {
		seen := map[string]bool{}
		for range 5 {
			_, body, _ := alpha.send("POST", path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)
			seen[body] = true
		}
		if len(seen) < 3 {
			t.Errorf("%s: %d orders in 5 answers", method, len(seen))
		}
	}
}

func TestChainsAreServedUnderTheirAliases(t *testing.T) {
	alpha := dial(t, simnet.New(simnet.Options{}), "alpha")
	alpha.must("/ext/admin", "admin.alias", map[string]any{"endpoint": "bc/X", "alias": "myx"}, nil)
	for path, method := range map[string]string{"/ext/myx": "avm.getHeight", "/ext/P": "platform.getHeight"} {
		if end := alpha.call(path, method, nil, nil); end != "ok" {
			t.Errorf("%s: %s", path, end)
		}
	}
}

func TestNetworkChangesDuringCalls(t *testing.T) {
	net := simnet.New(simnet.Options{})
	alpha := dial(t, net, "alpha")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			net.TopUp("examplel1", "echo", 1)
			net.SetVersion("bravo", strconv.Itoa(i))
			net.Node("bravo").Stop()
			net.Node("bravo").Start()
			net.Calls()
		}
	}()
	for range 50 {
		alpha.must("/ext/info", "info.peers", nil, nil)
		alpha.validators(net.Chain("examplel1"))
		_, _, _ = alpha.send("GET", "/ext/health", "")
	}
	cancel()
	<-done
}

// A call in progress gets no answer after the process ended, not even from a node without peers.
func TestStoppedNodeAnswersNoCallInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{Seed: 1})
		alpha := dial(t, net, "alpha")
		net.Node("alpha").Inject(simnet.Slow(3 * time.Second))
		ended := make(chan string, 1)
		go func() { ended <- alpha.call("/ext/info", "info.peers", nil, nil) }()
		time.Sleep(2 * time.Second)
		net.Node("alpha").Stop()
		if end := <-ended; !strings.Contains(end, "reset") {
			t.Errorf("call ended with %q", end)
		}
	})
}
