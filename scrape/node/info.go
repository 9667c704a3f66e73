package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

func info[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, infoPath, method, params)
}

// ACP holds the votes on one Avalanche Community Proposal. Only validators that are connected to this node are counted. The
// node's own stake counts as abstaining.
type ACP struct {
	SupportWeight wire.NanoAVAX `json:"supportWeight"`
	Supporters    []string      `json:"supporters"` // node IDs
	ObjectWeight  wire.NanoAVAX `json:"objectWeight"`
	Objectors     []string      `json:"objectors"` // node IDs
	AbstainWeight wire.NanoAVAX `json:"abstainWeight"`
}

// ACPs calls info.acps: the current ACPs by number. The result is empty if the node's release has no ACPs to vote on.
func (c *Client) ACPs(ctx context.Context) (map[uint32]ACP, error) {
	answer, err := info[struct {
		ACPs map[uint32]ACP `json:"acps"`
	}](ctx, c, "info.acps", nil)
	return answer.ACPs, err
}

// IsBootstrapped calls info.isBootstrapped for a chain by alias or blockchain ID. A chain that the node does not run is an
// error: see IsNoSuchChain.
func (c *Client) IsBootstrapped(ctx context.Context, chain string) (bool, error) {
	answer, err := info[struct {
		IsBootstrapped bool `json:"isBootstrapped"`
	}](ctx, c, "info.isBootstrapped", map[string]string{"chain": chain})
	return answer.IsBootstrapped, err
}

// BlockchainID calls info.getBlockchainID. An alias that the node does not know is an error: see IsNoSuchChain.
func (c *Client) BlockchainID(ctx context.Context, alias string) (string, error) {
	answer, err := info[struct {
		BlockchainID string `json:"blockchainID"`
	}](ctx, c, "info.getBlockchainID", map[string]string{"alias": alias})
	return answer.BlockchainID, err
}

// NetworkID calls info.getNetworkID: 1 is mainnet, 5 is fuji.
func (c *Client) NetworkID(ctx context.Context) (uint64, error) {
	answer, err := info[struct {
		NetworkID wire.Uint64 `json:"networkID"`
	}](ctx, c, "info.getNetworkID", nil)
	return uint64(answer.NetworkID), err
}

// NetworkName calls info.getNetworkName: mainnet, fuji, or a name such as network-1337.
func (c *Client) NetworkName(ctx context.Context) (string, error) {
	answer, err := info[struct {
		NetworkName string `json:"networkName"`
	}](ctx, c, "info.getNetworkName", nil)
	return answer.NetworkName, err
}

// Identity is the node ID and BLS key of a node.
type Identity struct {
	NodeID string  `json:"nodeID"`
	POP    *Signer `json:"nodePOP"`
}

// Signer is a BLS key and its proof of possession.
type Signer struct {
	PublicKey         string // 48 bytes, hex after 0x
	ProofOfPossession string // 96 bytes, hex after 0x; empty if the answer has none
}

// UnmarshalWire decodes a signer. It accepts proofOfPossession and proofOfPosession, the spelling that is documented for the
// P-Chain.
func (s *Signer) UnmarshalWire(d *wire.Decoder) error {
	var spelled struct {
		PublicKey         string `json:"publicKey"`
		ProofOfPossession string `json:"proofOfPossession,omitzero"`
		ProofOfPosession  string `json:"proofOfPosession,omitzero"`
	}
	err := wire.Decode(d, &spelled)
	s.PublicKey = spelled.PublicKey
	s.ProofOfPossession = spelled.ProofOfPossession + spelled.ProofOfPosession
	return err
}

// NodeID calls info.getNodeID.
func (c *Client) NodeID(ctx context.Context) (Identity, error) {
	return info[Identity](ctx, c, "info.getNodeID", nil)
}

// NodeIP calls info.getNodeIP: the address and port that the node announces to its peers.
func (c *Client) NodeIP(ctx context.Context) (string, error) {
	answer, err := info[struct {
		IP string `json:"ip"`
	}](ctx, c, "info.getNodeIP", nil)
	return answer.IP, err
}

// Version is the software of a node.
type Version struct {
	Version            string            `json:"version"` // such as avalanchego/1.15.0
	DatabaseVersion    string            `json:"databaseVersion,omitzero"`
	RPCProtocolVersion *wire.Uint64      `json:"rpcProtocolVersion"` // of the protocol for VM plugins
	GitCommit          string            `json:"gitCommit,omitzero"`
	VMVersions         map[string]string `json:"vmVersions,omitzero"` // by VM name, or by VM ID for a VM without name; a VM that failed is missing
}

// NodeVersion calls info.getNodeVersion with scrape.Ahead: the call decides whether the node is up, and measures its latency.
func (c *Client) NodeVersion(ctx context.Context) (Version, error) {
	return info[Version](scrape.Ahead(ctx), c, "info.getNodeVersion", nil)
}

// TxFee holds fixed fees. Only the first two fields are in use. The other fields are absent or have no meaning.
type TxFee struct {
	TxFee                         wire.NanoAVAX  `json:"txFee"`
	CreateAssetTxFee              wire.NanoAVAX  `json:"createAssetTxFee"`
	CreateSubnetTxFee             *wire.NanoAVAX `json:"createSubnetTxFee"`
	TransformSubnetTxFee          *wire.NanoAVAX `json:"transformSubnetTxFee"`
	CreateBlockchainTxFee         *wire.NanoAVAX `json:"createBlockchainTxFee"`
	AddPrimaryNetworkValidatorFee *wire.NanoAVAX `json:"addPrimaryNetworkValidatorFee"`
	AddPrimaryNetworkDelegatorFee *wire.NanoAVAX `json:"addPrimaryNetworkDelegatorFee"`
	AddSubnetValidatorFee         *wire.NanoAVAX `json:"addSubnetValidatorFee"`
	AddSubnetDelegatorFee         *wire.NanoAVAX `json:"addSubnetDelegatorFee"`
}

// TxFee calls info.getTxFee. It is deprecated since node version 1.12.2, and a release may remove it: see IsNotOffered.
func (c *Client) TxFee(ctx context.Context) (TxFee, error) {
	return info[TxFee](ctx, c, "info.getTxFee", nil)
}

// VMs calls info.getVMs: the aliases of the installed VMs by VM ID. A VM may have no alias.
func (c *Client) VMs(ctx context.Context) (map[string][]string, error) {
	answer, err := info[struct {
		VMs map[string][]string `json:"vms"`
	}](ctx, c, "info.getVMs", nil)
	return answer.VMs, err
}

// Peers are the connected peers of a node, without the node itself, in random order.
type Peers struct {
	NumPeers wire.Uint64 `json:"numPeers"`
	Peers    []Peer      `json:"peers"`
}

// Peer is one connected peer.
type Peer struct {
	NodeID         string         `json:"nodeID"`
	IP             string         `json:"ip,omitzero"`       // of the connection; the port is ephemeral if the peer opened the connection
	PublicIP       string         `json:"publicIP,omitzero"` // announced by the peer
	Version        string         `json:"version,omitzero"`
	UpgradeTime    *wire.UnixTime `json:"upgradeTime"` // of the newest upgrade that the peer knows
	LastSent       wire.PastTime  `json:"lastSent"`
	LastReceived   wire.PastTime  `json:"lastReceived"`
	ObservedUptime *wire.Percent  `json:"observedUptime"` // of this node, as the peer observes it; 0 until the first ping after a reconnect
	TrackedSubnets []string       `json:"trackedSubnets,omitzero"`
	SupportedACPs  []uint32       `json:"supportedACPs,omitzero"`
	ObjectedACPs   []uint32       `json:"objectedACPs,omitzero"`
	Benched        []string       `json:"benched,omitzero"` // aliases or IDs of chains on which this node benched the peer
}

// Peers calls info.peers: the connected peers among the given node IDs, or all.
func (c *Client) Peers(ctx context.Context, nodeIDs ...string) (Peers, error) {
	answer, err := info[Peers](ctx, c, "info.peers", struct {
		NodeIDs []string `json:"nodeIDs,omitempty"`
	}{nodeIDs})
	if err == nil {
		err = distinct("info.peers", slices.Values(answer.Peers), func(p Peer) string { return p.NodeID })
	}
	return answer, err
}

// Uptime is the uptime of this node as the connected validators of the primary network observe it.
type Uptime struct {
	RewardingStakePercentage  wire.Percent `json:"rewardingStakePercentage"`  // share of the stake that observes an uptime above the requirement
	WeightedAveragePercentage wire.Percent `json:"weightedAveragePercentage"` // average of the observed uptimes, weighted by stake
}

// Uptime calls info.uptime for the primary network, because a node ignores the parameter subnetID. A node that does not
// validate, or does not validate yet, returns an error: see IsNotValidator, IsStartTimeNotFound and IsStillBootstrapping. For
// half a minute after a node's start, the values are too low. At first they include only the node's own stake.
func (c *Client) Uptime(ctx context.Context) (Uptime, error) {
	return info[Uptime](ctx, c, "info.uptime", nil)
}

// IsNotValidator reports whether the node has no uptime because it does not validate the primary network.
func IsNotValidator(err error) bool { return refused(err, "node is not a validator") }

// IsStartTimeNotFound reports whether the node has no uptime because it runs without sybil protection.
func IsStartTimeNotFound(err error) bool { return refused(err, "start time not found") }

// IsStillBootstrapping reports whether the node cannot answer yet because the node or the chain is bootstrapping.
func IsStillBootstrapping(err error) bool {
	return scrape.OutcomeOf(err) == scrape.Bootstrapping || refused(err, "still bootstrapping")
}

// Upgrades is the upgrade schedule of a node's release.
type Upgrades struct {
	Times                        map[string]time.Time // by upgrade, such as helicon for heliconTime; releases add upgrades
	ApricotPhase4MinPChainHeight *uint64
	CortinaXChainStopVertexID    string
}

// Scheduled returns Times without the upgrades that have no date. A node reports the year 9999 for these.
func (u Upgrades) Scheduled() map[string]time.Time {
	scheduled := make(map[string]time.Time, len(u.Times))
	for name, at := range u.Times {
		if at.Year() < 9999 {
			scheduled[name] = at
		}
	}
	return scheduled
}

// UnmarshalWire stores every member whose name ends in Time as an upgrade.
func (u *Upgrades) UnmarshalWire(d *wire.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return errors.New("the upgrades are not a JSON object")
	}
	var members map[string]jsontext.Value
	if err := wire.Decode(d, &members); err != nil {
		return err
	}
	u.Times = make(map[string]time.Time)
	for name, value := range members {
		in := d.Sub(value)
		var err error
		upgrade, dated := strings.CutSuffix(name, "Time")
		switch {
		case dated:
			var at wire.Time
			err = wire.Decode(in, &at)
			u.Times[upgrade] = at.Time
		case name == "apricotPhase4MinPChainHeight":
			var height *wire.Uint64
			err = wire.Decode(in, &height)
			u.ApricotPhase4MinPChainHeight = (*uint64)(height)
		case name == "cortinaXChainStopVertexID":
			err = wire.Decode(in, &u.CortinaXChainStopVertexID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(u.Times) == 0 {
		return errors.New("the upgrades have no times")
	}
	return nil
}

// Upgrades calls info.upgrades.
func (c *Client) Upgrades(ctx context.Context) (Upgrades, error) {
	return info[Upgrades](ctx, c, "info.upgrades", nil)
}
