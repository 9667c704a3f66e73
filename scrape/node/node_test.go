package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

const (
	l1Chain  = "ehHzgg4NQhW9hynVctru7Ls39D3rp9PerfGbehXSZFqUp6Q1r"
	l1       = "2cJveLDAymdrcLAt7nsLsHwA1J59bLUSBzoz3hom7yK5V443wT"
	poaChain = "Ph8BD1x45gWLKj5npRkxfi6zeNEDTbMHZLVLdBsXQ2Khm62qx"
	poa      = "2mDNbxCFPsepy8WJV8r5dsGycXHJnAATaJMtRZ5Gnqqnho7qAT"
)

// replay is a real node in a recorded situation. Any call that is not recorded fails the test.
func replay(t *testing.T, situation string) *node.Client {
	t.Helper()
	recording := must.Get(recorded.NewNode("client_" + situation))(t)
	server := httptest.NewServer(recording)
	t.Cleanup(func() {
		server.Close()
		for _, call := range recording.Unanswered() {
			t.Errorf("not recorded: %s", call)
		}
	})
	u := must.Get(scrape.New(scrape.Options{Name: "local", URL: server.URL}))(t)
	return node.New(u)
}

// got returns the value or the error of a call.
func got[T any](v T, err error) any {
	if err != nil {
		return err.Error()
	}
	return v
}

func utc(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

var owner = &node.Owner{Threshold: 1, Addresses: []string{"P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"}}

func TestEveryMethodDecodesRealAnswers(t *testing.T) {
	c, ctx := replay(t, "healthy"), t.Context()
	if c.Name() != "local" || !c.Healthy() {
		t.Errorf("name %q, healthy %v", c.Name(), c.Healthy())
	}
	renewed := node.Validator{
		NodeID: "NodeID-Ho6t7QEGCEUrRvYNWWToh7h5GW9DAGjhZ", Weight: 2000000000000, TxID: "24pZHpyGPQooHNqDrD5RyEtJ42E587uuRAtMFqzeJFhNqXEPj4",
		StartTime: wire.UnixTime{Time: time.Unix(1795198145, 0)}, EndTime: &wire.UnixTime{Time: time.Unix(1795198745, 0)},
		PotentialReward: new(wire.NanoAVAX(3780382)), AccruedDelegateeReward: new(wire.NanoAVAX(0)),
		DelegationFee: new(wire.Percent(10)), Uptime: new(wire.Percent(100)), Connected: new(true),
		DelegatorCount: new(wire.Uint64(0)), DelegatorWeight: new(wire.NanoAVAX(0)),
		ValidationRewardOwner: owner, DelegationRewardOwner: owner,
		NextPeriod: &wire.Seconds{Duration: 10 * time.Minute}, AutoCompoundRewardShares: new(wire.Uint64(300000)),
		ValidatorAuthority: &node.Owner{Threshold: 1, Addresses: []string{"P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"}},
	}
	feeConfig := node.FeeConfig{}
	feeConfig.FeeConfig.GasLimit = 20000000
	feeConfig.FeeConfig.TargetBlockRate = 2
	feeConfig.FeeConfig.MinBaseFee = 1000000000
	feeConfig.FeeConfig.TargetGas = 100000000
	feeConfig.FeeConfig.BaseFeeChangeDenominator = 48
	feeConfig.FeeConfig.MaxBlockGasCost = 10000000
	feeConfig.FeeConfig.BlockGasCostStep = 500000

	one := func(vs []node.Validator, err error) any { return got(vs[:min(1, len(vs))], err) }
	for name, check := range map[string]struct{ got, want any }{
		"info.acps": {got(c.ACPs(ctx)), map[uint32]node.ACP{
			194: {SupportWeight: 8005125000000000, Supporters: []string{"NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu", "NodeID-Ho6t7QEGCEUrRvYNWWToh7h5GW9DAGjhZ"},
				Objectors: []string{}, AbstainWeight: 2000350000000000},
			224: {Supporters: []string{}, Objectors: []string{}, AbstainWeight: 10005475000000000},
		}},
		"info.isBootstrapped":           {got(c.IsBootstrapped(ctx, "C")), true},
		"info.isBootstrapped, unknown":  {got(c.IsBootstrapped(ctx, "nope")), "info.isBootstrapped: rejected: there is no chain with alias/ID 'nope'"},
		"info.getBlockchainID":          {got(c.BlockchainID(ctx, "X")), "2huFztbeB4LijVCoLrxP8NwFbRCdtLfUyvx4VXwD5VnVxzxkMX"},
		"info.getBlockchainID, unknown": {got(c.BlockchainID(ctx, "nope")), "info.getBlockchainID: rejected: there is no ID with alias: nope"},
		"info.getNetworkID":             {got(c.NetworkID(ctx)), uint64(1337)},
		"info.getNetworkName":           {got(c.NetworkName(ctx)), "network-1337"},
		"info.getNodeIP":                {got(c.NodeIP(ctx)), "127.0.0.1:9651"},
		"info.uptime":                   {got(c.Uptime(ctx)), node.Uptime{RewardingStakePercentage: 100, WeightedAveragePercentage: 99.2004}},
		"platform.getHeight":            {got(c.PlatformHeight(ctx)), uint64(14)},
		"platform.getTimestamp":         {got(c.PlatformTimestamp(ctx)), utc("2026-11-20T18:09:07Z")},
		"platform.getValidatorFeeState": {got(c.PlatformValidatorFeeState(ctx)),
			node.ValidatorFeeState{Price: 1, Timestamp: wire.PastTime{Time: utc("2026-11-20T18:09:07Z")}}},
		"platform.getBlockchainStatus":    {got(c.PlatformBlockchainStatus(ctx, "C")), "Validating"},
		"platform.getBlockchainStatus, ?": {got(c.PlatformBlockchainStatus(ctx, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof")), "Unknown"},
		"platform.getBlockchainStatus, x": {got(c.PlatformBlockchainStatus(ctx, "nope")),
			`platform.getBlockchainStatus: rejected: problem parsing blockchainID "nope": input string is smaller than the checksum size`},
		"eth_feeConfig":          {got(c.EthFeeConfig(ctx, l1Chain)), feeConfig},
		"eth_feeConfig, C-Chain": {got(c.EthFeeConfig(ctx, "C")), "eth_feeConfig: not_offered: the method eth_feeConfig does not exist/is not available"},
		"eth_chainId":            {got(c.EthChainID(ctx, l1Chain)), uint64(99999)},
		"info.getNodeVersion": {got(c.NodeVersion(ctx)), node.Version{
			Version: "avalanchego/1.15.0", DatabaseVersion: "v1.4.5", RPCProtocolVersion: new(wire.Uint64(46)), GitCommit: "1cf1fc3d1711a09fde7319d2b48609c8cba93680",
			VMVersions: map[string]string{"avm": "avalanchego/1.15.0", "evm": "v1.15.0", "platform": "avalanchego/1.15.0",
				"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy": "v1.15.0"},
		}},
		"platform.getCurrentValidators, auto-renewed": {one(c.PlatformCurrentValidators(ctx, "")), []node.Validator{renewed}},
		"platform.getCurrentValidators, not a member": {got(c.PlatformCurrentValidators(ctx, "", "NodeID-111111111111111111116DBWJs")), []node.Validator{}},
		"platform.getCurrentValidators, no such subnet": {got(c.PlatformCurrentValidators(ctx, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof")),
			[]node.Validator{}},
		"platform.getCurrentValidators, no node ID": {got(c.PlatformCurrentValidators(ctx, "", "bogus")),
			"platform.getCurrentValidators: rejected: couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for " +
				"example calls"},
		"platform.getCurrentValidators, permissioned": {one(c.PlatformCurrentValidators(ctx, poa)), []node.Validator{{
			NodeID: "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", Weight: 20, TxID: "29uAx3KuvcSxASq2CWXPqZy3NVa8pCNro4o1LnToUjQEEAxyX6",
			StartTime: wire.UnixTime{Time: time.Unix(1795197652, 0)}, EndTime: &wire.UnixTime{Time: time.Unix(1797789652, 0)},
		}}},
		"platform.getCurrentValidators, L1": {got(c.PlatformCurrentValidators(ctx, l1)), []node.Validator{
			{
				NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", Weight: 100, StartTime: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				ValidationID:          "xmGssfNsHsWji4Nr4KkCrSCTmJ8K1RpkEaVhd2C7pE9jdM6Gz",
				RemainingBalanceOwner: owner, DeactivationOwner: owner, Balance: new(wire.NanoAVAX(99999042)),
			},
			{
				NodeID: "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", Weight: 50, StartTime: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				ValidationID:          "KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo",
				RemainingBalanceOwner: owner, DeactivationOwner: owner, Balance: new(wire.NanoAVAX(0)),
			},
		}},
		"validators.getCurrentValidators, L1": {got(c.ValidatorsCurrentValidators(ctx, l1Chain)), []node.ChainValidator{
			{
				NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", ValidationID: "xmGssfNsHsWji4Nr4KkCrSCTmJ8K1RpkEaVhd2C7pE9jdM6Gz", Weight: 100,
				StartTimestamp: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				IsActive:       true, IsL1Validator: true, IsConnected: true, UptimePercentage: 100, UptimeSeconds: wire.Seconds{Duration: 958 * time.Second},
			},
			{
				NodeID: "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", ValidationID: "KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo", Weight: 50,
				StartTimestamp: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				IsL1Validator:  true, IsConnected: true, UptimePercentage: 93.11065, UptimeSeconds: wire.Seconds{Duration: 892 * time.Second},
			},
		}},
		"validators.getCurrentValidators, C-Chain": {got(c.ValidatorsCurrentValidators(ctx, "C")),
			"validators.getCurrentValidators: not_found: HTTP 404: no such path: the chain is not tracked or not created yet, or the API is disabled"},
	} {
		if diff := cmp.Diff(check.want, check.got, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}

	if who, err := c.NodeID(ctx); err != nil || who.NodeID != "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg" ||
		!strings.HasPrefix(who.POP.PublicKey, "0x900c9b119b5c82d7") {
		t.Errorf("info.getNodeID: %+v, %v", who, err)
	}
	peers, err := c.Peers(ctx)
	i := slices.IndexFunc(peers.Peers, func(p node.Peer) bool { return p.NodeID == "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ" })
	if err != nil || len(peers.Peers) != 2 || peers.NumPeers != 2 || i < 0 {
		t.Fatalf("info.peers: %+v, %v", peers, err)
	}
	if diff := cmp.Diff(node.Peer{
		NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", IP: peers.Peers[i].IP, PublicIP: "127.0.0.1:9653", Version: "avalanchego/1.15.0",
		UpgradeTime: &wire.UnixTime{Time: time.Unix(1607144400, 0)}, LastSent: wire.PastTime{Time: utc("2026-11-20T18:09:25Z")},
		LastReceived:   wire.PastTime{Time: utc("2026-11-20T18:09:25Z")},
		ObservedUptime: new(wire.Percent(99)), TrackedSubnets: []string{node.PrimaryNetworkID, l1, poa},
		SupportedACPs: []uint32{194, 236, 267, 273, 283, 285}, ObjectedACPs: []uint32{}, Benched: []string{},
	}, peers.Peers[i], cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
	if chains, err := c.PlatformBlockchains(ctx); err != nil || len(chains) != 4 ||
		chains[1] != (node.Blockchain{ID: l1Chain, Name: "examplel1", SubnetID: l1, VMID: "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"}) {
		t.Errorf("platform.getBlockchains: %v, %v", chains, err)
	}
	if vs, err := c.ValidatorsCurrentValidators(ctx, poaChain); err != nil || len(vs) != 3 || vs[0].IsL1Validator || !vs[0].IsActive {
		t.Errorf("validators.getCurrentValidators, permissioned: %v, %v", vs, err)
	}
}

func TestUpgradesDecodeForAnyRelease(t *testing.T) {
	u, err := replay(t, "healthy").Upgrades(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Times) != 15 || !u.Times["helicon"].Equal(utc("2026-11-20T18:08:04Z")) || !u.Times["apricotPhasePost6"].Equal(utc("2020-12-05T05:00:00Z")) {
		t.Errorf("times: %v", u.Times)
	}

	u, err = answering(t, `{"id":1,"result":{"etnaTime":"2024-12-16T17:00:00Z","nextTime":"9999-12-01T00:00:00Z"}}`).Upgrades(t.Context())
	if err != nil || len(u.Times) != 2 {
		t.Fatalf("%v, %v", u, err)
	}
	if diff := cmp.Diff(map[string]time.Time{"etna": utc("2024-12-16T17:00:00Z")}, u.Scheduled()); diff != "" {
		t.Error(diff)
	}
}

// answering is a node that gives the same answer to every call.
func answering(t *testing.T, body string) *node.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body) }))
	t.Cleanup(server.Close)
	u := must.Get(scrape.New(scrape.Options{URL: server.URL}))(t)
	return node.New(u)
}

// saying is a node in memory that gives the same answer to every call.
type saying string

func (s saying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

func open(t *testing.T, transport http.RoundTripper) *scrape.Upstream {
	t.Helper()
	return must.Get(scrape.New(scrape.Options{URL: "http://node.example.com", Transport: transport, Rate: 1e6}))(t)
}

func method(name string) *scrape.Method {
	return node.Methods()[slices.IndexFunc(node.Methods(), func(m *scrape.Method) bool { return m.Name == name })]
}

// mayBeEmpty are the methods with answers that have no required member.
var mayBeEmpty = []string{"eth_getActivePrecompilesAt", "platform.getValidatorsAt"}

func TestEmptyAnswerIsMalformed(t *testing.T) {
	c := node.New(open(t, saying(`{"jsonrpc":"2.0","result":{},"id":1}`)))
	for _, m := range node.Methods() {
		_, err := c.Call(t.Context(), m, "C", nil)
		if empty := m.Changes != "" || slices.Contains(mayBeEmpty, m.Name); (scrape.OutcomeOf(err) == scrape.Malformed) == empty {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// notRecorded says why there is no recording of a method.
var notRecorded = map[string]string{
	"admin.alias": noCollector, "admin.aliasChain": noCollector, "admin.lockProfile": noCollector, "admin.memoryProfile": noCollector,
	"admin.startCPUProfiler": noCollector, "admin.stopCPUProfiler": noCollector, "avm.getBlock": noCollector, "eth_getBlockByHash": noCollector,
	"eth_getBlockReceipts": fromGeth, "eth_getLogs": fromGeth,
	"platform.getRewardUTXOs": fromSource, "platform.getStakingAssetID": fromSource, "platform.getTx": fromSource, "platform.getUTXOs": fromSource,
}

const fromSource = "the type is written from the source of AvalancheGo"

const fromGeth = "the answer is that of go-ethereum, which the documents of the EVM describe"

const noCollector = "only the command call makes the call"

// Each answer of a real node must decode, or be an error that the node meant.
func TestEveryRecordingOfARealNodeDecodes(t *testing.T) {
	files := must.Get(fs.Glob(recorded.Files, "*.jsonl"))(t)
	decoded := map[string]bool{}
	for _, file := range files {
		answers := must.Get(recorded.Load(strings.TrimSuffix(file, ".jsonl")))(t)
		for _, a := range answers {
			var asked struct{ Method string }
			_ = json.Unmarshal([]byte(a.Request), &asked)
			i := slices.IndexFunc(node.Methods(), func(m *scrape.Method) bool { return m.Name == asked.Method })
			if i < 0 || a.Status != http.StatusOK || strings.HasPrefix(a.Name, "err_") {
				continue
			}
			var answer struct{ Error *struct{ Message string } }
			_ = json.Unmarshal([]byte(a.Response), &answer)
			_, err := node.New(open(t, saying(a.Response))).Call(t.Context(), node.Methods()[i], "C", nil)
			switch {
			case err == nil:
				decoded[asked.Method] = true
			case answer.Error == nil || !strings.HasSuffix(err.Error(), answer.Error.Message):
				t.Errorf("%s: %s: %v", file, a.Name, err)
			}
		}
	}
	for _, m := range node.Methods() {
		switch _, excused := notRecorded[m.Name]; {
		case !decoded[m.Name] && !excused:
			t.Errorf("%s: no recording decodes: record an answer in internal/testworld/recorded, or say in notRecorded why there is none", m.Name)
		case decoded[m.Name] && excused:
			t.Errorf("%s: a recording decodes: remove the method from notRecorded", m.Name)
		}
	}
}

// Counts and sums of an answer with duplicates would be wrong.
func TestAnswersWithDuplicatesAreMalformed(t *testing.T) {
	for name, c := range map[string]struct{ result, item string }{
		"platform.getCurrentValidators": {`{"validators":[%s]}`, `{"nodeID":"NodeID-A","weight":"1","startTime":"1","endTime":"2","txID":"T"}`},
		"validators.getCurrentValidators": {`{"validators":[%s]}`, `{"validationID":"V","nodeID":"NodeID-A","weight":1,"startTimestamp":1,"isActive":true,` +
			`"isL1Validator":true,"isConnected":true,"uptimePercentage":1,"uptimeSeconds":1}`},
		"info.peers": {`{"numPeers":"1","peers":[%s]}`, `{"nodeID":"NodeID-A","ip":"","publicIP":"","version":"v",` +
			`"lastSent":"2026-01-01T00:00:00Z","lastReceived":"2026-01-01T00:00:00Z","benched":[]}`},
		"platform.getBlockchains": {`{"blockchains":[%s]}`, `{"id":"B","name":"n","subnetID":"s","vmID":"v"}`},
	} {
		for _, items := range []string{c.item, c.item + "," + c.item} {
			u := open(t, saying(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`, items)))
			_, err := node.New(u).Call(t.Context(), method(name), "C", nil)
			if twice := items != c.item; !twice && err != nil || twice && (scrape.OutcomeOf(err) != scrape.Malformed || !strings.Contains(err.Error(), "duplicate")) {
				t.Errorf("%s: %s: %v", name, items, err)
			}
		}
	}
}

func TestIsNotServed(t *testing.T) {
	status := func(outcome scrape.Outcome, code int) error {
		return &scrape.Error{Op: "platform.getHeight", Outcome: outcome, Err: &scrape.StatusError{Status: code}}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{status(scrape.Forbidden, 401), true}, {status(scrape.Forbidden, 403), true}, {status(scrape.NotFound, 404), true}, {status(scrape.NotOffered, 405), true},
		{status(scrape.Rejected, 400), false}, {status(scrape.Rejected, 413), false}, {status(scrape.RateLimited, 429), false},
		{status(scrape.Unavailable, 502), false},
		{errors.New("broken"), false},
	} {
		if got := node.IsNotServed(c.err); got != c.want {
			t.Errorf("%v: not served %v, want %v", c.err, got, c.want)
		}
	}
}

func TestErrorPredicates(t *testing.T) {
	type meaning struct{ notOffered, noSuchChain, notValidator, noStartTime, bootstrapping bool }
	uptime := func(c *node.Client) error {
		_, err := c.Uptime(context.Background())
		return err
	}
	refusing := func(message string) func(*testing.T) error {
		return func(t *testing.T) error {
			return uptime(answering(t, `{"jsonrpc":"2.0","error":{"code":-32000,"message":`+message+`,"data":null},"id":1}`))
		}
	}
	for name, c := range map[string]struct {
		err  func(*testing.T) error
		want meaning
	}{
		"untracked chain": {func(t *testing.T) error {
			_, err := replay(t, "untracked").IsBootstrapped(t.Context(), l1Chain)
			return err
		}, meaning{noSuchChain: true}},
		"unknown alias": {func(t *testing.T) error {
			_, err := replay(t, "healthy").BlockchainID(t.Context(), "nope")
			return err
		}, meaning{noSuchChain: true}},
		"endpoint of an untracked chain": {func(t *testing.T) error {
			_, err := replay(t, "untracked").ValidatorsCurrentValidators(t.Context(), l1Chain)
			return err
		}, meaning{}},
		"C-Chain without the method": {func(t *testing.T) error {
			_, err := replay(t, "healthy").EthFeeConfig(t.Context(), "C")
			return err
		}, meaning{notOffered: true}},
		"removed method":              {refusing(`"rpc: can't find method \"info.Uptime\""`), meaning{notOffered: true}},
		"removed service":             {refusing(`"rpc: can't find service \"info.Uptime\""`), meaning{notOffered: true}},
		"node that does not validate": {func(t *testing.T) error { return uptime(replay(t, "isolated")) }, meaning{notValidator: true}},
		"node that just started":      {func(t *testing.T) error { return uptime(replay(t, "starting")) }, meaning{bootstrapping: true}},
		"no sybil protection":         {refusing(`"couldn't get node uptime: start time not found"`), meaning{noStartTime: true}},
		"bootstrapping chain": {func(t *testing.T) error {
			_, err := replay(t, "starting").PlatformHeight(t.Context())
			return err
		}, meaning{bootstrapping: true}},
		"invalid argument": {func(t *testing.T) error {
			_, err := replay(t, "healthy").PlatformCurrentValidators(t.Context(), "", "bogus")
			return err
		}, meaning{}},
		"nothing": {func(*testing.T) error { return nil }, meaning{}},
	} {
		err := c.err(t)
		got := meaning{node.IsNotOffered(err), node.IsNoSuchChain(err), node.IsNotValidator(err), node.IsStartTimeNotFound(err), node.IsStillBootstrapping(err)}
		if got != c.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, c.want)
		}
	}
}

func TestChainNameIsEscapedInThePath(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.EscapedPath() }))
	defer server.Close()
	u := must.Get(scrape.New(scrape.Options{URL: server.URL}))(t)
	_, _ = node.New(u).EthChainID(t.Context(), "../../admin?x#y")
	if want := "/ext/bc/..%2F..%2Fadmin%3Fx%23y/rpc"; asked != want {
		t.Errorf("requested %s, want %s", asked, want)
	}
}

func TestFutureBlocksAreMalformed(t *testing.T) {
	block := func(number, seconds, milliseconds string) string {
		return `{"id":1,"result":{"number":"` + number + `","hash":"0x1","parentHash":"0x0","timestamp":"` + seconds + `",` + milliseconds +
			`"gasLimit":"0x1","gasUsed":"0x0","transactions":[]}}`
	}
	soon := fmt.Sprintf("%#x", time.Now().Add(time.Hour).Unix())
	for body, refused := range map[string]bool{
		block("0x1", soon, ""):                                                      false,
		block("0x1", "0x7fffffffffffffff", ""):                                      true,
		block("0x1", "0xffffffffffffffff", ""):                                      true,
		block("0x1", soon, `"timestampMilliseconds":"0xffffffffffffffff",`):         true,
		block("0xffffffffffffffff", soon, ""):                                       true,
		block("0x1", fmt.Sprintf("%#x", time.Now().Add(9999*time.Hour).Unix()), ""): true,
	} {
		_, err := answering(t, body).EthBlockByNumber(t.Context(), "C", nil)
		if (scrape.OutcomeOf(err) == scrape.Malformed) != refused {
			t.Errorf("%s: %v", body, err)
		}
	}
	if height, err := answering(t, `{"id":1,"result":{"height":"18446744073709551615"}}`).PlatformHeight(t.Context()); scrape.OutcomeOf(err) != scrape.Malformed {
		t.Errorf("height %d: %v, want an error", height, err)
	}
}
