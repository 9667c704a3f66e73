package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/avax-exporter/avax-exporter/internal/recorded"
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
	recording, err := recorded.NewNode("client_" + situation)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(recording)
	t.Cleanup(func() {
		server.Close()
		for _, call := range recording.Unanswered() {
			t.Errorf("not recorded: %s", call)
		}
	})
	u, err := scrape.New(scrape.Options{Name: "local", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return node.New(u)
}

// sameParams compares as a node does: no params, {} and [] are equal.
func sameParams(a, b any) bool {
	text := func(v any) []byte {
		s, _ := json.Marshal(v)
		if s := string(s); s == "{}" || s == "[]" {
			return []byte("null")
		}
		return s
	}
	return bytes.Equal(text(a), text(b))
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
		ValidationRewardOwner: owner, DelegationRewardOwner: owner, ValidatorAuthority: owner,
		DelegationFee: new(wire.Percent(10)), Uptime: new(wire.Percent(100)), Connected: new(true),
		Signer: &node.Signer{
			PublicKey:         "0xac1de2f50a5fa852e1d27d2f7a8bd58d6947f14f95403e8dcfec3c295bdeade7e6b767ca5d6349d3a04403b20467f938",
			ProofOfPossession: "0x89c5aebbac25adcaf9d42379c4a1b90d1b134085bd01a625eb3b973477151139113893055730851ce06042544257e037045b627b20a3c055b299c45d98d6044a886026e6c3a7d2a649304d962828d95aa7ee83be05236986e0e1d9f3711914b6",
		},
		DelegatorCount: new(wire.Uint64(0)), DelegatorWeight: new(wire.NanoAVAX(0)),
		NextPeriod: &wire.Seconds{Duration: 10 * time.Minute}, AutoCompoundRewardShares: new(wire.Uint64(300000)),
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
			194: {SupportWeight: 8005125000000000, Supporters: []string{"NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu", "NodeID-Ho6t7QEGCEUrRvYNWWToh7h5GW9DAGjhZ"}, Objectors: []string{}, AbstainWeight: 2000350000000000},
			224: {Supporters: []string{}, Objectors: []string{}, AbstainWeight: 10005475000000000},
		}},
		"info.isBootstrapped":             {got(c.IsBootstrapped(ctx, "C")), true},
		"info.isBootstrapped, unknown":    {got(c.IsBootstrapped(ctx, "nope")), "info.isBootstrapped: rejected: there is no chain with alias/ID 'nope'"},
		"info.getBlockchainID":            {got(c.BlockchainID(ctx, "X")), "2huFztbeB4LijVCoLrxP8NwFbRCdtLfUyvx4VXwD5VnVxzxkMX"},
		"info.getBlockchainID, unknown":   {got(c.BlockchainID(ctx, "nope")), "info.getBlockchainID: rejected: there is no ID with alias: nope"},
		"info.getNetworkID":               {got(c.NetworkID(ctx)), uint64(1337)},
		"info.getNetworkName":             {got(c.NetworkName(ctx)), "network-1337"},
		"info.getNodeIP":                  {got(c.NodeIP(ctx)), "127.0.0.1:9651"},
		"info.getVMs":                     {got(c.VMs(ctx)), map[string][]string{"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq": {"avm"}, "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6": {"evm"}, "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT": {"platform"}, "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy": {}}},
		"info.uptime":                     {got(c.Uptime(ctx)), node.Uptime{RewardingStakePercentage: 100, WeightedAveragePercentage: 99.2004}},
		"platform.getHeight":              {got(c.PlatformHeight(ctx)), uint64(14)},
		"platform.getTimestamp":           {got(c.PlatformTimestamp(ctx)), utc("2026-11-20T18:09:07Z")},
		"platform.getValidatorFeeState":   {got(c.PlatformValidatorFeeState(ctx)), node.ValidatorFeeState{Price: 1, Timestamp: wire.PastTime{Time: utc("2026-11-20T18:09:07Z")}}},
		"platform.getBlockchainStatus":    {got(c.PlatformBlockchainStatus(ctx, "C")), "Validating"},
		"platform.getBlockchainStatus, ?": {got(c.PlatformBlockchainStatus(ctx, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof")), "Unknown"},
		"platform.getBlockchainStatus, x": {got(c.PlatformBlockchainStatus(ctx, "nope")), `platform.getBlockchainStatus: rejected: problem parsing blockchainID "nope": input string is smaller than the checksum size`},
		"eth_feeConfig":                   {got(c.EthFeeConfig(ctx, l1Chain, nil)), feeConfig},
		"eth_feeConfig, block 0":          {got(c.EthFeeConfig(ctx, l1Chain, new(uint64(0)))), feeConfig},
		"eth_feeConfig, C-Chain":          {got(c.EthFeeConfig(ctx, "C", nil)), "eth_feeConfig: rejected: the method eth_feeConfig does not exist/is not available"},
		"eth_chainId":                     {got(c.EthChainID(ctx, l1Chain)), uint64(99999)},
		"eth_blockNumber":                 {got(c.EthBlockNumber(ctx, "C")), uint64(55)},
		"info.getNodeID": {got(c.NodeID(ctx)), node.Identity{
			NodeID: "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg",
			POP: &node.Signer{
				PublicKey:         "0x900c9b119b5c82d781d4b49be78c3fc7ae65f2b435b7ed9e3a8b9a03e475edff86d8a64827fec8db23a6f236afbf127d",
				ProofOfPossession: "0x8bfd6d4d2086b2b8115d8f72f94095fefe5a6c07876b2accf51a811adf520f389e74a3d2152a6d90b521e2be58ffe468043dc5ea68b4c44410eb67f8dc24f13ed4f194000764c0e922cd254a3588a4962b1cb4db7de4bb9cda9d9d4d6b03f3d2",
			},
		}},
		"info.getNodeVersion": {got(c.NodeVersion(ctx)), node.Version{
			Version: "avalanchego/1.15.0", DatabaseVersion: "v1.4.5", RPCProtocolVersion: new(wire.Uint64(46)), GitCommit: "1cf1fc3d1711a09fde7319d2b48609c8cba93680",
			VMVersions: map[string]string{"avm": "avalanchego/1.15.0", "evm": "v1.15.0", "platform": "avalanchego/1.15.0", "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy": "v1.15.0"},
		}},
		"info.getTxFee": {got(c.TxFee(ctx)), node.TxFee{
			TxFee: 1000000, CreateAssetTxFee: 1000000,
			CreateSubnetTxFee: new(wire.NanoAVAX(100000000)), TransformSubnetTxFee: new(wire.NanoAVAX(100000000)), CreateBlockchainTxFee: new(wire.NanoAVAX(100000000)),
			AddPrimaryNetworkValidatorFee: new(wire.NanoAVAX(0)), AddPrimaryNetworkDelegatorFee: new(wire.NanoAVAX(0)),
			AddSubnetValidatorFee: new(wire.NanoAVAX(1000000)), AddSubnetDelegatorFee: new(wire.NanoAVAX(1000000)),
		}},
		"info.peers, one": {got(c.Peers(ctx, "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ")), node.Peers{NumPeers: 1, Peers: []node.Peer{{
			NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", IP: "127.0.0.1:44630", PublicIP: "127.0.0.1:9653", Version: "avalanchego/1.15.0",
			UpgradeTime: &wire.UnixTime{Time: time.Unix(1607144400, 0)}, LastSent: wire.PastTime{Time: utc("2026-11-20T18:09:25Z")}, LastReceived: wire.PastTime{Time: utc("2026-11-20T18:09:25Z")},
			ObservedUptime: new(wire.Percent(99)), TrackedSubnets: []string{node.PrimaryNetworkID, l1, poa},
			SupportedACPs: []uint32{194, 236, 267, 273, 283, 285}, ObjectedACPs: []uint32{}, Benched: []string{},
		}}}},
		"info.peers, not connected":                     {got(c.Peers(ctx, "NodeID-111111111111111111116DBWJs")), node.Peers{Peers: []node.Peer{}}},
		"platform.getCurrentValidators, auto-renewed":   {one(c.PlatformCurrentValidators(ctx, "")), []node.Validator{renewed}},
		"platform.getCurrentValidators, not a member":   {got(c.PlatformCurrentValidators(ctx, "", "NodeID-111111111111111111116DBWJs")), []node.Validator{}},
		"platform.getCurrentValidators, no such subnet": {got(c.PlatformCurrentValidators(ctx, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof")), []node.Validator{}},
		"platform.getCurrentValidators, no node ID":     {got(c.PlatformCurrentValidators(ctx, "", "bogus")), "platform.getCurrentValidators: rejected: couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for example calls"},
		"platform.getCurrentValidators, permissioned": {one(c.PlatformCurrentValidators(ctx, poa)), []node.Validator{{
			NodeID: "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", Weight: 20, TxID: "29uAx3KuvcSxASq2CWXPqZy3NVa8pCNro4o1LnToUjQEEAxyX6",
			StartTime: wire.UnixTime{Time: time.Unix(1795197652, 0)}, EndTime: &wire.UnixTime{Time: time.Unix(1797789652, 0)},
		}}},
		"platform.getCurrentValidators, L1": {got(c.PlatformCurrentValidators(ctx, l1)), []node.Validator{
			{
				NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", Weight: 100, StartTime: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				ValidationID: "xmGssfNsHsWji4Nr4KkCrSCTmJ8K1RpkEaVhd2C7pE9jdM6Gz", PublicKey: "0xa058ff27a4c570664bfa28e34939368539a1340867951943d0f56fa8aac13bc09ff64f341acf8cc0cef74202c2d6f9c0",
				RemainingBalanceOwner: owner, DeactivationOwner: owner, MinNonce: new(wire.Uint64(0)), Balance: new(wire.NanoAVAX(99999042)),
			},
			{
				NodeID: "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", Weight: 50, StartTime: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				ValidationID: "KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo", PublicKey: "0xa10b6955a85684a0f5c94b8381f04506f1bee60625927d372323f78b3d30196cc56c8618c77eaf429298e74673d832c3",
				RemainingBalanceOwner: owner, DeactivationOwner: owner, MinNonce: new(wire.Uint64(0)), Balance: new(wire.NanoAVAX(0)),
			},
		}},
		"validators.getCurrentValidators, L1": {got(c.ValidatorsCurrentValidators(ctx, l1Chain)), []node.ChainValidator{
			{
				NodeID: "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", ValidationID: "xmGssfNsHsWji4Nr4KkCrSCTmJ8K1RpkEaVhd2C7pE9jdM6Gz", Weight: 100, StartTimestamp: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				IsActive: true, IsL1Validator: true, IsConnected: true, UptimePercentage: 100, UptimeSeconds: wire.Seconds{Duration: 958 * time.Second},
			},
			{
				NodeID: "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", ValidationID: "KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo", Weight: 50, StartTimestamp: wire.UnixTime{Time: time.Unix(1795197655, 0)},
				IsL1Validator: true, IsConnected: true, UptimePercentage: 93.11065, UptimeSeconds: wire.Seconds{Duration: 892 * time.Second},
			},
		}},
		"validators.getCurrentValidators, C-Chain": {got(c.ValidatorsCurrentValidators(ctx, "C")), "validators.getCurrentValidators: not_found: HTTP 404: no such path: the chain is not tracked or not created yet, or the API is disabled"},
	} {
		if diff := cmp.Diff(check.want, check.got, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}

	if peers, err := c.Peers(ctx); err != nil || len(peers.Peers) != 2 || peers.NumPeers != 2 {
		t.Errorf("info.peers: %d of %d, %v", len(peers.Peers), peers.NumPeers, err)
	}
	if chains, err := c.PlatformBlockchains(ctx); err != nil || len(chains) != 4 || chains[1] != (node.Blockchain{ID: l1Chain, Name: "examplel1", SubnetID: l1, VMID: "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"}) {
		t.Errorf("platform.getBlockchains: %v, %v", chains, err)
	}
	if vs, err := c.ValidatorsCurrentValidators(ctx, l1Chain, "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ"); err != nil || len(vs) != 1 {
		t.Errorf("validators.getCurrentValidators, one: %v, %v", vs, err)
	}
	if vs, err := c.ValidatorsCurrentValidators(ctx, poaChain); err != nil || len(vs) != 3 || vs[0].IsL1Validator || !vs[0].IsActive {
		t.Errorf("validators.getCurrentValidators, permissioned: %v, %v", vs, err)
	}
}

func TestDelegatorsAreListedForOneNodeID(t *testing.T) {
	c := replay(t, "healthy")
	vs, err := c.PlatformCurrentValidators(t.Context(), "", "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg")
	if err != nil || len(vs) != 1 {
		t.Fatalf("%v, %v", vs, err)
	}
	if diff := cmp.Diff([]node.Delegator{
		{
			TxID: "A3MvQNK3LF4ooGGkUgkYovVQK1aEbd4YqJQtwTrPBbJpSVovc", NodeID: "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", Weight: 100000000000, RewardOwner: owner,
			StartTime: wire.UnixTime{Time: time.Unix(1795197987, 0)}, EndTime: wire.UnixTime{Time: time.Unix(1795199787, 0)}, PotentialReward: new(wire.NanoAVAX(567061)),
		},
		{
			TxID: "2q2wN3Fyw2dpkQmVyGJEgbtHDcsZSoLFtUxWETpXjBvQTBgmuq", NodeID: "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", Weight: 250000000000, RewardOwner: owner,
			StartTime: wire.UnixTime{Time: time.Unix(1795197988, 0)}, EndTime: wire.UnixTime{Time: time.Unix(1795219588, 0)}, PotentialReward: new(wire.NanoAVAX(17013987)),
		},
	}, vs[0].Delegators, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
	all, err := c.PlatformCurrentValidators(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Delegators != nil || v.DelegatorCount == nil {
			t.Errorf("%s: %v delegators, count %v", v.NodeID, v.Delegators, v.DelegatorCount)
		}
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
	if u.ApricotPhase4MinPChainHeight == nil || *u.ApricotPhase4MinPChainHeight != 0 || u.CortinaXChainStopVertexID != node.PrimaryNetworkID {
		t.Errorf("got %+v", u)
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
	u, err := scrape.New(scrape.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return node.New(u)
}

func TestEmptyAnswerIsMalformed(t *testing.T) {
	c, ctx := answering(t, `{"jsonrpc":"2.0","result":{},"id":1}`), t.Context()
	for name, answer := range map[string]any{
		"info.acps":                       got(c.ACPs(ctx)),
		"info.isBootstrapped":             got(c.IsBootstrapped(ctx, "P")),
		"info.getBlockchainID":            got(c.BlockchainID(ctx, "P")),
		"info.getNetworkID":               got(c.NetworkID(ctx)),
		"info.getNetworkName":             got(c.NetworkName(ctx)),
		"info.getNodeID":                  got(c.NodeID(ctx)),
		"info.getNodeIP":                  got(c.NodeIP(ctx)),
		"info.getNodeVersion":             got(c.NodeVersion(ctx)),
		"info.getTxFee":                   got(c.TxFee(ctx)),
		"info.getVMs":                     got(c.VMs(ctx)),
		"info.peers":                      got(c.Peers(ctx)),
		"info.uptime":                     got(c.Uptime(ctx)),
		"info.upgrades":                   got(c.Upgrades(ctx)),
		"platform.getCurrentValidators":   got(c.PlatformCurrentValidators(ctx, "")),
		"platform.getBlockchains":         got(c.PlatformBlockchains(ctx)),
		"platform.getBlockchainStatus":    got(c.PlatformBlockchainStatus(ctx, "P")),
		"platform.getTimestamp":           got(c.PlatformTimestamp(ctx)),
		"platform.getHeight":              got(c.PlatformHeight(ctx)),
		"platform.getValidatorFeeState":   got(c.PlatformValidatorFeeState(ctx)),
		"validators.getCurrentValidators": got(c.ValidatorsCurrentValidators(ctx, "x")),
		"eth_feeConfig":                   got(c.EthFeeConfig(ctx, "C", nil)),
		"eth_chainId":                     got(c.EthChainID(ctx, "C")),
		"eth_blockNumber":                 got(c.EthBlockNumber(ctx, "C")),
		"admin.getLoggerLevel":            got(c.AdminLoggerLevel(ctx, "")),
		"admin.getChainAliases":           got(c.AdminChainAliases(ctx, "P")),
		"admin.loadVMs":                   got(c.AdminLoadVMs(ctx)),
		"avm.getAllBalances":              got(c.AVMAllBalances(ctx, "X", "")),
		"avm.getAssetDescription":         got(c.AVMAssetDescription(ctx, "X", "")),
		"avm.getBalance":                  got(c.AVMBalance(ctx, "X", "", "")),
		"avm.getBlock":                    got(c.AVMBlock(ctx, "X", "", "")),
		"avm.getBlockByHeight":            got(c.AVMBlockByHeight(ctx, "X", 0, "")),
		"avm.getHeight":                   got(c.AVMHeight(ctx, "X")),
		"avm.getTx":                       got(c.AVMTx(ctx, "X", "", "")),
		"avm.getTxFee":                    got(c.AVMTxFee(ctx, "X")),
		"avm.getTxStatus":                 got(c.AVMTxStatus(ctx, "X", "")),
		"avm.getUTXOs":                    got(c.AVMUTXOPage(ctx, "X", node.UTXOQuery{}, nil)),
		"platform.getBalance":             got(c.PlatformBalance(ctx)),
		"platform.getBlock":               got(c.PlatformBlock(ctx, "", "")),
		"platform.getBlockByHeight":       got(c.PlatformBlockByHeight(ctx, 0, "")),
		"platform.getCurrentSupply":       got(c.PlatformCurrentSupply(ctx, "")),
		"platform.getFeeState":            got(c.PlatformFeeState(ctx)),
		"eth_baseFee":                     got(c.EthBaseFee(ctx, "C")),
		"eth_getBlockByNumber":            got(c.EthBlockByNumber(ctx, "C", nil)),
		"eth_getBlockByHash":              got(c.EthBlockByHash(ctx, "C", "")),
		"eth_getChainConfig":              got(c.EthChainConfig(ctx, "C")),
		"eth_getActiveRulesAt":            got(c.EthActiveRulesAt(ctx, "C", nil)),
		"GET /ext/health":                 got(c.Health(ctx)),
	} {
		if text, isError := answer.(string); !isError || len(text) < len(name) || text[:len(name)] != name {
			t.Errorf("%s: empty answer decoded as %v", name, answer)
		}
	}
}

func TestBothSpellingsOfProofOfPossessionDecode(t *testing.T) {
	for _, spelling := range []string{"proofOfPossession", "proofOfPosession"} {
		c := answering(t, `{"id":1,"result":{"nodeID":"NodeID-x","nodePOP":{"publicKey":"0x1","`+spelling+`":"0x2"}}}`)
		if id, err := c.NodeID(t.Context()); err != nil || *id.POP != (node.Signer{PublicKey: "0x1", ProofOfPossession: "0x2"}) {
			t.Errorf("%s: %+v, %v", spelling, id.POP, err)
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
			_, err := replay(t, "healthy").EthFeeConfig(t.Context(), "C", nil)
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

func TestEthFeeConfigSendsTheBlock(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
	}))
	defer server.Close()
	u, err := scrape.New(scrape.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for want, block := range map[string]*uint64{`"params":[]`: nil, `"params":["0x0"]`: new(uint64(0)), `"params":["0xff"]`: new(uint64(255))} {
		if _, _ = node.New(u).EthFeeConfig(t.Context(), "C", block); !strings.Contains(asked, want) {
			t.Errorf("sent %s, want %s", asked, want)
		}
	}
}

func TestChainNameIsEscapedInThePath(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.EscapedPath() }))
	defer server.Close()
	u, err := scrape.New(scrape.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = node.New(u).EthChainID(t.Context(), "../../admin?x#y")
	if want := "/ext/bc/..%2F..%2Fadmin%3Fx%23y/rpc"; asked != want {
		t.Errorf("requested %s, want %s", asked, want)
	}
}

// Each method gets a list, which is no method's result.
func TestCallRejectsResultsOfAnotherType(t *testing.T) {
	c := answering(t, `{"jsonrpc":"2.0","result":[1],"id":1}`)
	for _, m := range node.Methods() {
		if answer, err := c.Call(t.Context(), m, "C", nil); scrape.OutcomeOf(err) != scrape.Malformed || !strings.HasPrefix(err.Error(), m.Name+": ") {
			t.Errorf("%s: %s, %v", m.Name, answer, err)
		}
	}
}

func TestCallReturnsWholeBlocksUnchanged(t *testing.T) {
	const block = `{"number":"0x1","hash":"0xa","parentHash":"0xb","timestamp":"0x1","gasLimit":"0x1","gasUsed":"0x0","transactions":[{"hash":"0xc","value":"0x1"}],"other":null}`
	c := answering(t, `{"jsonrpc":"2.0","result":`+block+`,"id":1}`)
	answer, err := c.Call(t.Context(), row(t, "eth_getBlockByNumber"), "C", jsontext.Value(`["latest",true]`))
	if err != nil || string(answer) != block {
		t.Errorf("%s, %v", answer, err)
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
